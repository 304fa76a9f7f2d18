"""A recorder of each test's own, on a ledger of its own, with a clock that only the test moves."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_telemetry.paths import pricing_path, telemetry_home
from support import budgets
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


@pytest.fixture
def known_prices(recording: Recording) -> None:
    """Calls cost what a test of limits says."""
    (recording.home / "pricing.yaml").write_text(json.dumps(budgets.PRICES), encoding="utf-8")
    budgets.read_prices(recording)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, hermes_home: Path) -> budgets.Jobs:
    """The host's cron jobs: one, which is called nightly-report."""
    (hermes_home / "cron").mkdir()
    budgets.name_job(hermes_home, "nightly-report")
    return budgets.Jobs(monkeypatch)
