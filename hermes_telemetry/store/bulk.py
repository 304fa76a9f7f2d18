"""Writing a whole ledger at once: the same write functions, thousands to a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from . import extras, migrations
from .connection import LedgerConnection
from .locking import Transaction
from .writes import WRITES, Write

_WRITES_A_TRANSACTION = 2000


def write_all(path: Path, writes: Iterable[Write]) -> None:
    """Makes the ledger at ``path`` if there is none and puts ``writes`` into it, in their order.

    Nobody waits on a hook here, so SQLite checkpoints by itself, and the speed indexes come last:
    building each once takes less than keeping six of them. Raises sqlite3.Error or OSError; the
    transactions before the one that failed stay.
    """
    conn = sqlite3.connect(path, timeout=30, isolation_level=None, factory=LedgerConnection)
    try:
        conn.execute("pragma journal_mode = wal")
        conn.execute("pragma synchronous = normal")
        migrations._ensure_schema(conn)
        extras.ensure_price_record(conn)
        remaining = iter(writes)
        while batch := list(islice(remaining, _WRITES_A_TRANSACTION)):
            with Transaction(conn):
                for write in batch:
                    WRITES[write.name](conn, **write.fields)
        extras.ensure_speed(conn)
    finally:
        conn.close()
