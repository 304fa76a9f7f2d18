"""Adding tables, columns and indexes where they are missing, inside the caller's transaction."""

from __future__ import annotations

import sqlite3

from .shape import ADDITIONS


def _columns(conn: sqlite3.Connection, table: str) -> set[str]:
    return {row[0] for row in conn.execute("select name from pragma_table_info(?)", (table,))}


def _add_column_if_missing(
    conn: sqlite3.Connection, table: str, column: str, declaration: str
) -> bool:
    """Add a column unless it is there; True when it was added. Any OperationalError propagates."""
    if column in _columns(conn, table):
        return False
    conn.execute(f"alter table {table} add column {column} {declaration}")
    return True


def _add_columns(conn: sqlite3.Connection, version: int) -> None:
    for table, column, declaration in ADDITIONS[version].columns:
        _add_column_if_missing(conn, table, column, declaration)


def _add(conn: sqlite3.Connection, version: int) -> None:
    """Everything that ``version`` brings, where it is missing."""
    addition = ADDITIONS[version]
    for table, columns in addition.tables.items():
        conn.execute(f"create table if not exists {table} ({columns})")
    _add_columns(conn, version)
    for index, target in (addition.indexes or {}).items():
        conn.execute(f"create index if not exists {index} on {target}")
