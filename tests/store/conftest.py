"""A recorder on a ledger of its own, and running totals of one made by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_telemetry.store.totals import Totals
from support.ledger import HandMadeLedger
from support.ledger_fixtures import blank_ledger, ledger
from support.looking_on import Watch
from support.recording import Recording

__all__ = ["blank_ledger", "ledger"]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(tmp_path)
    yield recording
    recording.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def totals(ledger: HandMadeLedger, watch: Watch) -> Totals:
    """Of an empty ledger, counted and refreshed."""
    totals = Totals(ledger.path, "UTC", watch.clock)
    assert totals.load()
    assert totals.refresh()
    return totals
