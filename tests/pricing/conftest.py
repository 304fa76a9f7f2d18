"""A telemetry home and a clock of the test's own."""

from pathlib import Path

import pytest

from support.stopped_clock import StoppedClock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "prices-home"
    home.mkdir()
    return home


@pytest.fixture
def time() -> StoppedClock:
    return StoppedClock()
