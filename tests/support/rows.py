"""Single rows, put into a ledger by hand."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def insert(path: Path, table: str, **row: Any) -> None:
    """Add one row to a table of the ledger at ``path``."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))})",
            list(row.values()),
        )
