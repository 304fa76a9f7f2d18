"""Looking at a file without changing it: is it a ledger, and what does it hold?"""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..paths import database_path

# Every ledger since v1 has them, whatever the file is called and whoever wrote it.
_LEDGER_TABLES = {"runs": {"session_id", "started_at"}, "llm_calls": {"session_id", "ts"}}
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class NotALedgerError(Exception):
    """The file is missing, or it is something else; the text says which, in one line."""


@dataclass(frozen=True)
class Shape:
    """What a ledger holds: schema version (0: none recorded), objects, rows of the tables asked
    for.

    An object is its kind and name: ``index idx_llm_ts``.
    """

    version: int
    objects: frozenset[str]
    rows: dict[str, int]


def file_identity(path: Path | str) -> tuple[int, int] | None:
    """Which file a path names now (device and inode), None when there is none.

    By stat: opening the file by hand would drop the locks that SQLite holds on it.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def open_database(path: Path) -> sqlite3.Connection:
    """A read-only connection to a SQLite file, which is never made. Raises NotALedgerError."""
    if not path.is_file():
        raise NotALedgerError(_missing(path))
    # as_uri() escapes what a URI would otherwise take for its query: ? # %
    uri = path.resolve().as_uri() + "?mode=ro"
    log = path.with_name(path.name + "-wal")
    try:
        return _open(uri)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in _NOT_WRITABLE:
            raise NotALedgerError(f"{path} cannot be read: {error}") from error
        # A file in WAL mode cannot be read in a folder that cannot be written, but for one that
        # nobody can be writing and that has no log.
        if log.exists():
            raise NotALedgerError(
                f"{path} cannot be read where it lies: its log {log.name} needs a folder that can"
                " be written; copy both to one"
            ) from error
    try:
        return _open(uri + "&immutable=1")
    except sqlite3.DatabaseError as error:
        raise NotALedgerError(f"{path} cannot be read: {error}") from error


def _missing(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a folder: name a ledger in it"
    usual = path == database_path()
    # HERMES_TELEMETRY_HOME is the folder above the one called telemetry.
    if usual and (path.parents[1] / path.name).exists():
        advice = f"set HERMES_TELEMETRY_HOME to {path.parents[2]}, the folder above telemetry"
    elif usual:
        advice = "Hermes makes it with its first turn; another one is named by --db FILE"
    else:
        advice = "name a ledger that is there"
    return f"there is no file {path}: {advice}"


def _open(uri: str) -> sqlite3.Connection:
    conn = sqlite3.connect(uri, uri=True, timeout=30)
    try:
        _tables(conn)
    except BaseException:
        conn.close()
        raise
    return conn


def open_ledger(path: Path) -> sqlite3.Connection:
    """A read-only connection to a ledger, left at its version. Raises NotALedgerError."""
    conn = open_database(path)
    if not _tables(conn) >= _LEDGER_TABLES.keys():
        conn.close()
        raise NotALedgerError(
            f"{path} is not a telemetry ledger: it has no runs and llm_calls; name one"
        )
    for table, expected in _LEDGER_TABLES.items():
        columns = {
            name for (name,) in conn.execute("select name from pragma_table_info(?)", (table,))
        }
        if not columns >= expected:
            conn.close()
            missing = ", ".join(sorted(expected - columns))
            raise NotALedgerError(
                f"{path} is not a telemetry ledger: its table {table} has no {missing}; name one"
            )
    return conn


def db_option(path: Path) -> str:
    """What a command that is named in advice needs so as to act on this file: `` --db FILE``.

    '' for the telemetry home's ledger, which it takes by itself.
    """
    return "" if path == database_path() else f" --db {shlex.quote(str(path))}"


def shape(path: Path, counted: Sequence[str] = ()) -> Shape:
    """The ledger's shape, with the row counts of those ``counted`` tables that it has.

    Raises NotALedgerError.
    """
    with closing(open_ledger(path)) as conn:
        tables = _tables(conn)
        version = 0
        if "schema_version" in tables:
            version = conn.execute("select max(version) from schema_version").fetchone()[0] or 0
        objects = conn.execute(
            "select type || ' ' || name from sqlite_master where name not like 'sqlite_%'"
        )
        return Shape(
            version,
            frozenset(row[0] for row in objects),
            {
                table: conn.execute(f"select count(*) from {table}").fetchone()[0]
                for table in counted
                if table in tables
            },
        )


def _tables(conn: sqlite3.Connection) -> set[str]:
    return {row[0] for row in conn.execute("select name from sqlite_master where type = 'table'")}
