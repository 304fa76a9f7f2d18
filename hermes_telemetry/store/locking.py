"""Waiting for SQLite's locks by our own clock and patience."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..windows import Clock

RETRY_S = 0.0005

PATIENCE_S = 30.0
"""How long a command waits for other processes."""

Begin = Callable[[sqlite3.Connection], None]
"""Opens a write transaction, waiting as long as its caller can afford."""


def begin_immediate(conn: sqlite3.Connection) -> None:
    """Open a write transaction; the connection's own busy_timeout holds."""
    conn.execute("begin immediate")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock: the one fault that waiting can cure."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def patiently(clock: Clock, deadline: float, action: Callable[[], object]) -> None:
    """Try ``action`` until the database is not busy or ``clock.monotonic()`` reaches ``deadline``.

    SQLite's own handler is not enough: it starves callers under load, and it is not asked at all
    when two connections switch one file to WAL. Raises the last sqlite3.OperationalError.
    """
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or clock.monotonic() >= deadline:
                raise
        clock.sleep(RETRY_S)


@contextmanager
def transaction(conn: sqlite3.Connection, clock: Clock) -> Iterator[None]:
    """One write transaction of a command, which waits up to 30 s for it; what raises undoes it."""
    patiently(clock, clock.monotonic() + PATIENCE_S, lambda: conn.execute("begin immediate"))
    try:
        yield
        conn.execute("commit")
    except BaseException:
        if conn.in_transaction:
            conn.execute("rollback")
        raise
