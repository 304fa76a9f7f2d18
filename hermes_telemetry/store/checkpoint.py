"""Moving the write-ahead log into the database at moments of our choosing.

A checkpoint costs about 0.6 ms per megabyte. While the log is short one runs in place after every
150th commit of this process; a long log (a reader pins it, or a process left without closing) is
worked on by a thread, at most every 10 s.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from ..windows import Clock
from .forks import held_off

_log = logging.getLogger("hermes_telemetry")

COMMITS_BETWEEN = 150
IN_PLACE_BYTES = 32 * 1024 * 1024
"""Up to here a checkpoint keeps a hook for no more than 20 ms."""

LEFT_OVER_BYTES = 8 * 1024 * 1024
LONG_LOG_PAUSE_S = 10.0
_CUT_TRIES = 200
_CUT_PAUSE_S = 0.001
_FRAMES_LEFT_TO_CUT = 2000
"""Moving so much takes some 5 ms, for which other writers can wait."""


class Checkpointer:
    """Counts this process's commits to one ledger and checkpoints between them."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._clock = clock
        self._commits = 0
        self._next_long = 0.0
        self._lock = threading.Lock()

    def opened(self, conn: sqlite3.Connection) -> None:
        """A connection was made: a log that earlier processes left long is shortened."""
        if self._size() > LEFT_OVER_BYTES:
            self._run(conn)

    def now(self, conn: sqlite3.Connection) -> None:
        """Move the log into the database, however long it is."""
        _checkpoint(conn, "passive")

    def committed(self, conn: sqlite3.Connection) -> None:
        """A transaction was committed on ``conn``."""
        self._commits += 1
        if self._commits % COMMITS_BETWEEN == 0:
            self._run(conn)

    def _size(self) -> int:
        try:
            # stat only: opening and closing the file by hand would drop SQLite's locks on it.
            return self._wal.stat().st_size
        except OSError:
            return 0

    def _run(self, conn: sqlite3.Connection) -> None:
        if self._size() > IN_PLACE_BYTES:
            with self._lock:
                now = self._clock.monotonic()
                if now < self._next_long:
                    return
                self._next_long = now + LONG_LOG_PAUSE_S
            thread = threading.Thread(
                target=self._in_background, name="telemetry-checkpoint", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # the process ends, or may have no more threads
                _log.info("checkpoint skipped: %s", error)
            return
        _checkpoint(conn, "passive")

    @held_off
    def _in_background(self) -> None:
        try:
            conn = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            _log.info("checkpoint skipped: %s", error)
            return
        with closing(conn):
            for _ in range(_CUT_TRIES):
                _, left = _checkpoint(conn, "passive")
                if left > _FRAMES_LEFT_TO_CUT:
                    return  # a reader pins the log: next time
                # Under steady writing the log is never all in, so this takes the write lock, for
                # the little that is left. Without waiting: the wait would be for readers, too,
                # with the lock in hand.
                is_cut, _ = _checkpoint(conn, "truncate")
                if is_cut:
                    return
                self._clock.sleep(_CUT_PAUSE_S)


def _checkpoint(conn: sqlite3.Connection, mode: str) -> tuple[bool, int]:
    """Whether nobody stood in its way, and how many frames of the log are not in yet."""
    try:
        busy, frames, moved = conn.execute(f"pragma wal_checkpoint({mode})").fetchone()
    except sqlite3.Error as error:
        _log.info("checkpoint skipped: %s", error)
        return False, 0
    return not busy, frames - moved
