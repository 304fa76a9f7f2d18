"""Upgrading a large old ledger outside the host: building its indexes takes longer than a hook may.
And what an upgrade deletes, in words.

The recorder starts ``hermes-telemetry migrate`` as a process of its own and lets records wait in
the spill file meanwhile. A lock file beside the database keeps it to one at a time.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..file_locks import hold
from .extras import names
from .files import Shape

_log = logging.getLogger("hermes_telemetry")

PRUNED_BY_V17 = ("known_free_models", "free_paid_transitions")
"""v17 is the one step that deletes: rows of these tables that have no evidence behind them."""

START_AGAIN_S = 600.0
"""How long an upgrade may take before the same process starts another."""

LARGE_LEDGER_ROWS = 100_000
"""From here on building indexes takes longer than a hook may."""

_INDEXED_TABLES = ("llm_calls", "tool_calls", "llm_call_errors")

_started: dict[Path, float] = {}
"""When, by the monotonic clock, this process started an upgrade of which ledger."""


class NoLockFileError(OSError):
    """The lock file cannot be made; the text says where and why, in one line."""


def pruned(before: Shape, after: Shape) -> dict[str, int]:
    """Rows that v17 has deleted, by table, from shapes with ``PRUNED_BY_V17`` counted."""
    return {
        table: count - after.rows[table]
        for table, count in before.rows.items()
        if count > after.rows[table]
    }


def describe_pruned(table: str, count: int) -> str:
    """One of those deletions in words."""
    return f"{count} rows of {table} without evidence of being free (v17)"


def is_large(conn: sqlite3.Connection) -> bool:
    """Whether an upgrade of this file takes longer than a hook may, by its highest ids: counting
    rows would be a scan. Raises sqlite3.OperationalError when the file is locked.
    """
    rows = 0
    for table in names(conn).intersection(_INDEXED_TABLES):
        (newest,) = conn.execute(f"select max(id) from {table}").fetchone()
        rows += newest or 0
    return rows > LARGE_LEDGER_ROWS


@contextmanager
def upgrade_lock(database: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the right to upgrade ``database``; yields False when another process has it.

    ``wait`` blocks until it is free. Raises NoLockFileError.
    """
    path = _lock_path(database)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise NoLockFileError(
            f"{database} cannot be upgraded where it lies: its lock {path.name} needs a folder that"
            f" can be written ({error.strerror})"
        ) from error
    try:
        try:
            hold(lock, wait=wait)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(lock)


def start_detached(database: Path, *, now: float) -> None:
    """Start ``hermes-telemetry migrate`` for ``database`` in a process that outlives this one.

    At most once per process and ten minutes; ``now`` is the monotonic clock in seconds. It runs
    under ``sys.executable`` with this package's own folder in front, so that a git-cloned plugin
    can do it too. Raises OSError when it cannot be started.
    """
    if database in _started and now - _started[database] < START_AGAIN_S:
        return
    _started[database] = now
    package, root = __package__.rpartition(".store")[0], Path(__file__).parents[2]
    # -P: the host works in the user's folders, whose modules are not ours to import.
    command = [sys.executable, "-P", "-m", f"{package.rpartition('.')[2]}.commands.cli", "migrate"]
    search_path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    with _log_path(database).open("ab") as output:
        subprocess.Popen(
            [*command, "--unless-running", "--db", str(database)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": search_path},
        )
    _log.warning(
        "the ledger %s is old and large: it is upgraded in the background, and records wait",
        database,
    )


def _lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".migrate.lock")


def _log_path(database: Path) -> Path:
    return database.with_name(database.name + ".migrate.log")
