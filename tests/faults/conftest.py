"""A telemetry home that knows what the calls of these tests cost."""

from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, pricing_path, telemetry_home
from hermes_telemetry.recorder import Recorder
from support.hook_payloads import PRICES, answered
from support.threads import wait_for_threads


@pytest.fixture(scope="session", autouse=True)
def warmed_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a process does once (importing, reading the built-in prices) is done before a fork."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
        recorder = Recorder(tmp_path_factory.mktemp("warm"))
        recorder.hooks()["post_api_request"](**answered("warm", 0))
        # Its thread looks at the environment when it comes to it, so it is waited for here.
        wait_for_threads("telemetry-prices")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
    telemetry_home().mkdir(parents=True)
    pricing_path().write_text(PRICES, encoding="utf-8")
    return telemetry_home()


@pytest.fixture
def path(home: Path) -> Path:
    """The ledger, which does not exist yet."""
    return database_path(home)
