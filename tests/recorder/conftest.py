"""A recorder of each test's own, on a ledger of its own, with a clock that only the test moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_telemetry.paths import pricing_path, telemetry_home
from support.hook_payloads import PRICES
from support.recording import Recording


@pytest.fixture
def recording(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
    telemetry_home().mkdir(exist_ok=True)
    pricing_path().write_text(PRICES, encoding="utf-8")
    recording = Recording(telemetry_home())
    yield recording
    recording.close()
