"""A telemetry home, a clock and a router's feed of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import feed as answers
from support.feed import Feed
from support.stopped_clock import StoppedClock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "prices-home"
    home.mkdir()
    return home


@pytest.fixture
def time() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def feed() -> Iterator[Feed]:
    with answers.serve_feed() as feed:
        yield feed
