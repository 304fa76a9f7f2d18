"""Locks on files that processes of this project agree upon."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # not on Windows: SQLite's own locks are all that is left there
    fcntl = None  # type: ignore[assignment]


def hold(descriptor: int, *, wait: bool) -> None:
    """Lock an open file against other processes until it is closed.

    Raises BlockingIOError when another process has it and we do not ``wait``.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
