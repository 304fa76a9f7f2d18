"""Bringing a ledger to schema version 18, from blank or from any older version.

Each step commits whole with its ``schema_version`` row or leaves no trace and is tried again at the
next connect; errors are never swallowed. Steps are idempotent, so processes that open one old file
at once apply each of them once.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ..windows import SYSTEM_CLOCK, timestamp
from . import extras
from .ddl import _add, _add_columns
from .healing import heal, missing_pieces
from .locking import PATIENCE_S, Begin, Transaction, begin_immediate, patiently
from .shape import ADDITIONS

_log = logging.getLogger("hermes_telemetry")

_SCHEMA_VERSION = 18

_warned_newer: set[str] = set()


def _versions(conn: sqlite3.Connection) -> set[int]:
    """The versions the file says it has; empty for a file without ``schema_version``."""
    exists = conn.execute(
        "select 1 from sqlite_master where type = 'table' and name = 'schema_version'"
    ).fetchone()
    if not exists:
        return set()
    return {row[0] for row in conn.execute("select version from schema_version")}


def _step(
    version: int,
) -> Callable[[Callable[[sqlite3.Connection], None]], Callable[..., bool]]:
    """Make a change one transaction that also records ``version``; a recorded version is not run
    again.
    """

    def wrap(change: Callable[[sqlite3.Connection], None]) -> Callable[..., bool]:
        def migrate(conn: sqlite3.Connection, begin: Begin = begin_immediate) -> bool:
            if version in _versions(conn):
                return False
            with Transaction(conn, begin):
                conn.execute(
                    "create table if not exists schema_version"
                    " (version integer primary key, applied_at text not null)"
                )
                # Another process may have taken this step while we waited for the lock.
                fresh = version not in _versions(conn)
                if fresh:
                    change(conn)
                    conn.execute(
                        "insert into schema_version (version, applied_at) values (?, ?)",
                        (version, timestamp(datetime.now(UTC))),
                    )
            return fresh

        migrate.__name__ = migrate.__qualname__ = change.__name__
        migrate.__doc__ = change.__doc__
        return migrate

    return wrap


@_step(1)
def _migrate_v1(conn: sqlite3.Connection) -> None:
    """Runs, calls, tool calls."""
    _add(conn, 1)


@_step(2)
def _migrate_v2(conn: sqlite3.Connection) -> None:
    """Cache and reasoning tokens, estimated calls."""
    _add(conn, 2)


@_step(3)
def _migrate_v3(conn: sqlite3.Connection) -> None:
    """Who asked; the ledger of budget alerts."""
    _add(conn, 3)


@_step(4)
def _migrate_v4(conn: sqlite3.Connection) -> None:
    """Cache tokens per run."""
    _add(conn, 4)


@_step(5)
def _migrate_v5(conn: sqlite3.Connection) -> None:
    """Models known to be free."""
    _add(conn, 5)


@_step(6)
def _migrate_v6(conn: sqlite3.Connection) -> None:
    """Free models that began to cost."""
    _add(conn, 6)


@_step(7)
def _migrate_v7(conn: sqlite3.Connection) -> None:
    """Calls priced by another provider's price."""
    _add(conn, 7)


@_step(8)
def _migrate_v8(conn: sqlite3.Connection) -> None:
    """Models the provider no longer has."""
    _add(conn, 8)


@_step(9)
def _migrate_v9(conn: sqlite3.Connection) -> None:
    """Repair: columns that an older build recorded as added and did not add."""
    for version in (2, 3, 4, 7):
        _add_columns(conn, version)


@_step(10)
def _migrate_v10(conn: sqlite3.Connection) -> None:
    """Mixture-of-Agents calls."""
    _add(conn, 10)


@_step(11)
def _migrate_v11(conn: sqlite3.Connection) -> None:
    """Delegation edges."""
    _add(conn, 11)


@_step(12)
def _migrate_v12(conn: sqlite3.Connection) -> None:
    """The host's profile per run."""
    _add(conn, 12)


@_step(13)
def _migrate_v13(conn: sqlite3.Connection) -> None:
    """Repair: edges for files whose version 11 was something else."""
    _add(conn, 11)


@_step(14)
def _migrate_v14(conn: sqlite3.Connection) -> None:
    """History of the host's tariffs."""
    _add(conn, 14)


@_step(15)
def _migrate_v15(conn: sqlite3.Connection) -> None:
    """The catalogue name under which a dated model id was found."""
    _add(conn, 15)


@_step(16)
def _migrate_v16(conn: sqlite3.Connection) -> None:
    """Payload caches of other tools."""
    _add(conn, 16)


@_step(17)
def _migrate_v17(conn: sqlite3.Connection) -> None:
    """Repair of data: forget "free" models that no call shows to have been free, and their
    transitions.

    Evidence is a call of the same model and provider that cost 0 (NULL is unknown, not 0) with
    tokens; wildcard rows (provider '') come from the price list and need none.
    """
    conn.execute(
        """
        create temp table unproven_free as
        select model, provider
        from known_free_models
        where provider <> ''
        except  -- one scan of the calls, however many models there are
        select model, provider
        from llm_calls
        where cost_usd = 0
          and coalesce(tokens_in, 0) + coalesce(tokens_out, 0) > 0
        """
    )
    for table in ("known_free_models", "free_paid_transitions"):
        conn.execute(
            f"delete from {table}"
            " where (model, provider) in (select model, provider from unproven_free)"
        )
    conn.execute("drop table unproven_free")


@_step(18)
def _migrate_v18(conn: sqlite3.Connection) -> None:
    """Turn identity, and the ledger of failed attempts."""
    _add(conn, 18)


_STEPS: tuple[Callable[..., bool], ...] = (
    _migrate_v1,
    _migrate_v2,
    _migrate_v3,
    _migrate_v4,
    _migrate_v5,
    _migrate_v6,
    _migrate_v7,
    _migrate_v8,
    _migrate_v9,
    _migrate_v10,
    _migrate_v11,
    _migrate_v12,
    _migrate_v13,
    _migrate_v14,
    _migrate_v15,
    _migrate_v16,
    _migrate_v17,
    _migrate_v18,
)


def pending_versions(conn: sqlite3.Connection) -> list[int]:
    """Versions of 1 to 18 that the file does not record, in order; none where it is newer."""
    versions = _versions(conn)
    if _is_newer(versions):
        return []
    return sorted(set(range(1, _SCHEMA_VERSION + 1)) - versions)


def lost_pieces(conn: sqlite3.Connection) -> list[str]:
    """Tables, "table.column"s and indexes behind recorded versions that the file lacks.

    None where it is newer than v18: what it lacks a later version may have taken away.
    """
    versions = _versions(conn)
    if _is_newer(versions):
        return []
    return missing_pieces(conn, frozenset(versions & ADDITIONS.keys()))


def _is_newer(versions: set[int]) -> bool:
    return max(versions, default=0) > _SCHEMA_VERSION


def _ensure_schema(conn: sqlite3.Connection, begin: Begin = begin_immediate) -> list[int]:
    """Bring the open file to v18 and heal holes behind recorded versions; the versions it applied.

    A file newer than v18 is used as it is, with one warning. ``conn`` must be in autocommit mode.
    Raises sqlite3.Error when a step fails; that step is then not recorded.
    """
    versions = _versions(conn)
    if _is_newer(versions):
        _warn_of_newer(conn, max(versions))
        return []
    pending = pending_versions(conn)
    if pending:
        # A step may alter what an earlier one was to make: holes are filled before it, too.
        heal(conn, begin, frozenset(versions))
    applied = [version for version in pending if _STEPS[version - 1](conn, begin)]
    heal(conn, begin, frozenset(ADDITIONS))
    return applied


def _warn_of_newer(conn: sqlite3.Connection, newest: int) -> None:
    file = conn.execute("select file from pragma_database_list where name = 'main'").fetchone()[0]
    if file not in _warned_newer:
        _warned_newer.add(file)
        _log.warning(
            "the ledger has schema version %s, newer than the %s known here: used as it is",
            newest,
            _SCHEMA_VERSION,
        )


def migrate(path: Path) -> list[int]:
    """Create or upgrade the ledger at ``path`` with everything beside the versions; versions
    applied.

    Waits up to 30 s for other processes. Raises sqlite3.Error or OSError.
    """
    conn = sqlite3.connect(path, isolation_level=None)
    try:
        # Before the switch to WAL: that needs an exclusive lock for a moment.
        conn.execute(f"pragma busy_timeout = {PATIENCE_S * 1000:.0f}")
        deadline = SYSTEM_CLOCK.monotonic() + PATIENCE_S
        patiently(SYSTEM_CLOCK, deadline, lambda: conn.execute("pragma journal_mode = wal"))
        conn.execute("pragma synchronous = normal")
        applied = _ensure_schema(conn)
        extras.ensure_price_record(conn)
        extras.ensure_speed(conn)
        return applied
    finally:
        conn.close()
