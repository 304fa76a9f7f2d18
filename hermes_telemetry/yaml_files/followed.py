"""A configuration file that takes effect without a restart."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from ..windows import Clock
from .text import ConfigFileError

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 1.0


class FollowedFile(Generic[T]):
    """What a file says now: looked at once a second, read again when it has changed.

    A version that cannot be used leaves the last good one in force, is kept in ``error`` and is
    logged once.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[Path], T],
        *,
        absent: T,
        kept: str,
        none: str,
        log: logging.Logger,
        clock: Clock,
    ) -> None:
        """``read`` raises ConfigFileError or OSError. ``absent`` holds while there is no file and
        before a good one was read. The log line of a bad version ends with ``kept``, or with
        ``none`` where no good one was read before.
        """
        self.path = path
        self.error: str | None = None
        self._read = read
        self._absent = self._value = absent
        self._kept, self._none = kept, none
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._was_good = False
        self._seen: tuple[int, ...] | None = None
        self._next_look: float | None = None

    def current(self) -> T:
        """What is in force: the same object until the file changes. Never raises."""
        due = self._next_look
        if due is not None and self._clock.monotonic() < due:
            return self._value
        # Whoever finds a reload under way goes on with the former version; only at the very first
        # look, when there is none, everyone waits.
        if self._lock.acquire(blocking=due is None):
            try:
                self._look()
            finally:
                self._next_look = self._clock.monotonic() + _SECONDS_BETWEEN_LOOKS
                self._lock.release()
        return self._value

    def _look(self) -> None:
        seen = self._identity()
        if seen == self._seen:
            return
        # Noted before reading: a write in between makes the next look read again, and a faulty
        # version is reported once.
        self._seen = seen
        try:
            self._value = self._read(self.path) if seen else self._absent
            self._was_good = seen is not None
            self.error = None
            return
        except ConfigFileError as fault:
            problem = fault.problem
        except OSError as fault:
            problem = f"cannot be read ({fault.strerror})"
        self.error = f"{self.path.name}: {problem}"
        follows = self._kept if self._was_good else self._none
        self._log.error("%s: %s; %s", self.path, problem, follows)

    def _identity(self) -> tuple[int, ...] | None:
        """What changes when the file does; None while there is no file."""
        try:
            stat = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            return (fault.errno or -1,)
        return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
