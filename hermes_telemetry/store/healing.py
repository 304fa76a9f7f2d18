"""Finding and filling holes: what a file's recorded versions promise and the file lacks.

Older builds could record a version whose change had silently failed. What a file should hold is
read off an empty database made by the same additions, so there is no second list to keep true.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from .ddl import _add, _add_column_if_missing
from .locking import Begin, Transaction
from .shape import ADDITIONS


@dataclass(frozen=True)
class _Pieces:
    """What a database holds: "table", ("table", "column") -> declaration, index -> its SQL."""

    tables: frozenset[str]
    columns: dict[tuple[str, str], str]
    indexes: dict[str, str]


def _pieces(conn: sqlite3.Connection) -> _Pieces:
    columns = {}
    for table, column, kind, not_null, default in conn.execute(
        """
        select tables.name, columns.name, columns.type, columns."notnull", columns.dflt_value
        from sqlite_master as tables
        join pragma_table_info(tables.name) as columns
        where tables.type = 'table'
        """
    ):
        columns[table, column] = (
            kind
            + (" not null" if not_null else "")
            + ("" if default is None else f" default {default}")
        )
    indexes = conn.execute("select name, sql from sqlite_master where type = 'index' and sql > ''")
    return _Pieces(frozenset(table for table, _ in columns), columns, dict(indexes.fetchall()))


@lru_cache
def _pieces_of(versions: frozenset[int]) -> _Pieces:
    """What a file that records ``versions`` should hold, by building an empty one."""
    with closing(sqlite3.connect(":memory:")) as conn:
        for version in sorted(versions & ADDITIONS.keys()):
            _add(conn, version)
        return _pieces(conn)


def missing_pieces(conn: sqlite3.Connection, versions: frozenset[int]) -> list[str]:
    """Tables, "table.column"s and indexes that ``versions`` promise and the file lacks."""
    wanted, there = _pieces_of(versions), _pieces(conn)
    return [
        *sorted(wanted.tables - there.tables),
        *(
            f"{table}.{column}"
            for table, column in wanted.columns
            if table in there.tables and (table, column) not in there.columns
        ),
        *sorted(wanted.indexes.keys() - there.indexes.keys()),
    ]


def heal(conn: sqlite3.Connection, begin: Begin, versions: frozenset[int]) -> None:
    """Add what ``versions`` promise and the file lacks, in one transaction.

    Raises sqlite3.OperationalError for a lost column that SQLite cannot give back to existing rows
    (one that must not be NULL and has no default).
    """
    if not missing_pieces(conn, versions):
        return
    wanted = _pieces_of(versions)
    with Transaction(conn, begin):
        for version in sorted(versions & ADDITIONS.keys()):
            for table, columns in ADDITIONS[version].tables.items():
                conn.execute(f"create table if not exists {table} ({columns})")
        for (table, column), declaration in wanted.columns.items():
            _add_column_if_missing(conn, table, column, declaration)
        for index in wanted.indexes.keys() - _pieces(conn).indexes.keys():
            conn.execute(wanted.indexes[index])
