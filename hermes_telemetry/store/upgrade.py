"""Upgrading a large old ledger outside the host: building its indexes takes longer than a hook may.

The recorder starts ``hermes-telemetry migrate`` as a process of its own and lets records wait in
the spill file meanwhile. A lock file beside the database keeps it to one at a time.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: SQLite's own lock still lets one step run at a time
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger("hermes_telemetry")

RETRY_S = 600.0
"""How long an upgrade may take before the same process starts another."""

_started: dict[Path, float] = {}
"""When, by the monotonic clock, this process started an upgrade of which ledger."""


@contextmanager
def upgrade_lock(database: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the right to upgrade ``database``; yields False when another process has it.

    ``wait`` blocks until it is free. Raises OSError when the lock file cannot be made.
    """
    lock = os.open(_lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
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
    if database in _started and now - _started[database] < RETRY_S:
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
