"""Moving the write-ahead log into the database at moments of our choosing.

A checkpoint has the disk write all of the log, about 0.6 ms per megabyte. No hook waits for that: a
thread does it after every 500th commit of this process. What is written meanwhile stays in the log,
which then would never begin anew where writing does not pause; so that little, 1,000 frames at
most, is moved by the next hook, right behind its own commit, when no other is likely to write (some
2 ms where the disk is quick). Of a log of more than 64 MB it moves the rest however much that is:
where writing never pauses and the disk is slow, a thread alone would never come to its end. Where
readers leave no gap the log grows, and the next try follows soon.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..windows import Clock
from .forks import held_off

_log = logging.getLogger("hermes_telemetry")

COMMITS_BETWEEN = 500

LEFT_OVER_BYTES = 8 * 1024 * 1024

PINNED_PAUSE_S = 0.2
"""How long a log that readers keep from beginning anew is left alone, at least; always for 20 times
as long as a try took, which goes through all of it.
"""

_FEW_FRAMES = 1000
"""So many are left to a hook."""

_LONG_BYTES = 64 * 1024 * 1024

_MOST_ROUNDS = 6
"""In one of them nothing may come, where writing has pauses: then no hook has to do anything."""

_WITHOUT_PAUSE = 5
"""Commits of this process during one checkpoint: with more there is no use in waiting for none."""

_HOOKS_TO_TRY = 5


class _Moved(NamedTuple):
    """What a checkpoint has done: ``moved`` of the log's ``frames`` are in the database now.

    ``is_done`` is False where it met a lock. A passive one counts a reader's hold on the log as
    none.
    """

    is_done: bool
    frames: int
    moved: int


class Checkpointer:
    """Counts this process's commits to one ledger and checkpoints between them."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._clock = clock
        self._commits = 0
        self._not_before = 0.0
        self._hooks_to_try = 0
        self._has_looked = False
        self._working = threading.Lock()

    def opened(self) -> None:
        """A connection was made. At the first of this process a log that earlier ones left long is
        moved in, since this one may make no 500 commits; the next commit begins it anew.
        """
        if not self._has_looked:
            self._has_looked = True
            if self._size() > LEFT_OVER_BYTES:
                self._begin()

    def now(self, conn: sqlite3.Connection) -> None:
        """Move the log into the database, however long it is."""
        _checkpoint(conn, "passive")

    def committed(self, conn: sqlite3.Connection) -> None:
        """A transaction was committed on ``conn``."""
        self._commits += 1
        if self._hooks_to_try > 0:
            self._begin_log_anew(conn)
        elif self._commits % COMMITS_BETWEEN == 0:
            self._begin()

    def _begin_log_anew(self, conn: sqlite3.Connection) -> None:
        """Move the rest, so that the next commit is the first of the log."""
        self._hooks_to_try -= 1
        # Takes the write lock: other threads may be writing, and then it would never all be in.
        if _checkpoint(conn, "restart").is_done:
            self._hooks_to_try = 0
        elif self._hooks_to_try <= 0:
            self._not_before = self._clock.monotonic() + PINNED_PAUSE_S

    def _size(self) -> int:
        try:
            # stat only: opening and closing the file by hand would drop SQLite's locks on it.
            return self._wal.stat().st_size
        except OSError:
            return 0

    def _begin(self) -> None:
        if self._clock.monotonic() < self._not_before or self._working.locked():
            return
        thread = threading.Thread(target=self._work, name="telemetry-checkpoint", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the process ends, or may have no more threads
            _log.info("checkpoint skipped: %s", error)

    @held_off
    def _work(self) -> None:
        if not self._working.acquire(blocking=False):
            return
        try:
            began = self._clock.monotonic()
            # Never made: an empty file that takes the place of a ledger that was moved just now
            # would have SQLite delete the log beside it.
            uri = self._path.absolute().as_uri() + "?mode=rw"
            with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as conn:
                is_nearly_in = self._move_nearly_all(conn)
            if not is_nearly_in:
                ended = self._clock.monotonic()
                self._not_before = ended + max(PINNED_PAUSE_S, 20 * (ended - began))
        except sqlite3.Error as error:
            _log.info("checkpoint skipped: %s", error)
        finally:
            self._working.release()

    def _move_nearly_all(self, conn: sqlite3.Connection) -> bool:
        """Move the log into the database until little comes meanwhile; False where a reader or
        another checkpoint is in the way.
        """
        before = came = None
        for _ in range(_MOST_ROUNDS):
            commits = self._commits
            done = _checkpoint(conn, "passive")
            if not done.is_done or done.frames - done.moved > _FEW_FRAMES:
                return False
            if before is not None:
                # A log that began anew has fewer.
                came = done.moved - (before if before <= done.moved else 0)
                if came == 0 and done.moved == done.frames:
                    return True  # the next commit begins the log anew by itself
                if came <= _FEW_FRAMES and self._commits - commits > _WITHOUT_PAUSE:
                    break
            before = done.moved
        if came is None or (came > _FEW_FRAMES and self._size() <= _LONG_BYTES):
            return False
        self._hooks_to_try = _HOOKS_TO_TRY
        return True


def _checkpoint(conn: sqlite3.Connection, mode: str) -> _Moved:
    try:
        busy, frames, moved = conn.execute(f"pragma wal_checkpoint({mode})").fetchone()
    except sqlite3.Error as error:
        _log.info("checkpoint skipped: %s", error)
        return _Moved(False, 0, 0)
    return _Moved(not busy, frames, moved)
