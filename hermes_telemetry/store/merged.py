"""Where the rows of a merged ledger came from: tables beside the schema, in such files only.

A ledger has no name of its own, and its path says nothing: files are copied, and two machines keep
theirs at the same place. What tells one from another are the times at which its schema versions
were applied, which a copy takes along. Ledgers that share such a time are taken for one, and are
numbered (``ledger``; 0 is the merged file itself). What came in keeps its number and the id that it
had, so that it is known when it comes again, also by way of another merged file.

A copy that was continued on another machine shares those times, too: there a row is known only if
all that it says is the same, and else comes in beside the other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from . import extras, files, migrations
from .healing import missing_pieces

MARKED = ("llm_calls", "tool_calls", "llm_call_errors", "pricing_snapshots")
"""The tables whose rows are known again by the id that they had."""

_NAMED = 3
"""Missing columns that a refusal names; of another program's tables nearly all are missing."""

_TABLES = (
    """
    create table if not exists merged_ledgers (
        ledger integer not null,
        version integer not null,
        applied_at text not null,
        primary key (ledger, version, applied_at)
    ) without rowid
    """,
    *(
        statement
        for table in MARKED
        for statement in (
            f"""
            create table if not exists merged_{table} (
                id integer primary key,
                ledger integer not null,
                source_id integer not null
            )
            """,
            f"""
            create index if not exists idx_merged_{table}
            on merged_{table} (source_id, ledger)
            """,
        )
    ),
    *(
        statement
        for noun in ("session", "turn")
        for statement in (
            f"""
            create table if not exists merged_{noun}s (
                merged_as text primary key,
                ledger integer not null,
                {noun}_id text not null
            ) without rowid
            """,
            f"""
            create index if not exists idx_merged_{noun}s
            on merged_{noun}s ({noun}_id, ledger)
            """,
        )
    ),
    # A count that a host goes on raising: what it stood at when it was last added.
    """
    create table if not exists merged_occurrences (
        ledger integer not null,
        model text not null,
        provider text not null,
        occurrences integer not null,
        primary key (ledger, model, provider)
    ) without rowid
    """,
)


def require_ledger(path: Path) -> None:
    """Raises NotALedgerError for a file that only looks like a ledger: it records no schema version
    and lacks what the first one brought. Behind a recorded version the copy makes good what is
    lost.
    """
    with closing(files.open_ledger(path)) as conn:
        if migrations._versions(conn):
            return
        missing = missing_pieces(conn, frozenset({1}))
    lacks = [piece for piece in missing if piece.startswith(("runs.", "llm_calls."))]
    if lacks:
        raise files.NotALedgerError(
            f"{path} is not a telemetry ledger: it has no {', '.join(lacks[:_NAMED])}; name one"
        )


def ensure_marks(conn: sqlite3.Connection) -> None:
    """Make the tables where they are missing, and note when this file's own versions were applied;
    in the caller's transaction.
    """
    for statement in _TABLES:
        conn.execute(statement)
    if "schema_version" in extras.names(conn):
        conn.execute(
            "insert or ignore into merged_ledgers select 0, version, applied_at from schema_version"
        )
    conn.execute(
        """
        insert into merged_ledgers
        select 0, 0, ''
        where not exists (select 1 from merged_ledgers where ledger = 0)
        """
    )


def copy_up_to_date(path: Path, copy: Path) -> None:
    """Make ``copy``, what the ledger at ``path`` holds at one moment, at the newest schema.

    The ledger is only read, and may be written meanwhile. Raises NotALedgerError or sqlite3.Error.
    """
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        with closing(files.open_ledger(path)) as ledger:
            ledger.backup(conn)
        # A file to be thrown away need not reach the disk, nor be read beside its log.
        conn.execute("pragma journal_mode = delete")
        conn.execute("pragma journal_mode = memory")
        conn.execute("pragma synchronous = off")
        # Before the upgrade, whose versions would bear another time at every merge.
        ensure_marks(conn)
        migrations._ensure_schema(conn)
        extras.ensure_price_record(conn)


def make_temporary(conn: sqlite3.Connection, name: str, columns: str) -> None:
    """An empty temporary table, in place of the one that the input before had."""
    conn.execute(f"drop table if exists temp.{name}")
    conn.execute(f"create table temp.{name} ({columns})")


def shared_columns(conn: sqlite3.Connection, table: str) -> list[str]:
    """The columns that ``main`` and ``source`` both have, in the order of ``main``."""
    ours, theirs = (
        [name for (name,) in conn.execute("select name from pragma_table_info(?, ?)", (table, at))]
        for at in ("main", "source")
    )
    return [column for column in ours if column in theirs]
