"""Ledgers for tests that write rows by hand; a conftest.py takes the fixtures from here."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_telemetry.store.migrations import migrate
from support.ledger import HandMadeLedger


@pytest.fixture(scope="session")
def blank_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file at the newest schema, made once: the migrations take longer than a test."""
    path = tmp_path_factory.mktemp("blank") / "telemetry.db"
    migrate(path)
    return path


@pytest.fixture
def ledger(blank_ledger: Path, tmp_path: Path) -> Iterator[HandMadeLedger]:
    """An empty ledger at the newest schema."""
    ledger = HandMadeLedger(Path(shutil.copy(blank_ledger, tmp_path)))
    yield ledger
    ledger.close()
