"""Another process that holds the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.processes import running

_HOLD = """
import sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("it is mine", flush=True)
sys.stdin.readline()
if connection.in_transaction:
    connection.execute("rollback")
"""


@contextmanager
def write_transaction_elsewhere(path: Path) -> Iterator[None]:
    """Another process stands in the middle of a write: nobody else can begin one."""
    with _held(path, "begin immediate"):
        yield


@contextmanager
def exclusive_mode_elsewhere(path: Path) -> Iterator[None]:
    """Another process has the file for itself: nobody else can even read it.

    SQLite grants that only when nobody else is connected.
    """
    with _held(path, "pragma locking_mode = exclusive", "begin immediate", "commit"):
        yield


@contextmanager
def reader_elsewhere(path: Path) -> Iterator[None]:
    """Another process reads a snapshot: what is written meanwhile stays in the write-ahead log."""
    with _held(path, "begin", "select count(*) from runs"):
        yield


@contextmanager
def _held(path: Path, *statements: str) -> Iterator[None]:
    with running(_HOLD, path, *statements) as process:
        assert process.hear() == "it is mine"
        yield
        process.say("enough")
        assert process.end() == 0
