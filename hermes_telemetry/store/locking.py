"""Waiting for SQLite's locks by our own clock and patience, and the one way to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from ..windows import Clock

RETRY_S = 0.0005

PATIENCE_S = 30.0
"""How long a command waits for other processes."""

CHUNK_ROWS = 1000
"""Rows that a command changes in one transaction: it lasts some milliseconds, and a recorder's
hooks wait meanwhile.
"""

Begin = Callable[[sqlite3.Connection], None]
"""Opens a write transaction, waiting as long as its caller can afford."""

_Result = TypeVar("_Result")


def begin_immediate(conn: sqlite3.Connection) -> None:
    """Open a write transaction; the connection's own busy_timeout holds."""
    conn.execute("begin immediate")


def begin_patiently(clock: Clock) -> Begin:
    """The ``Begin`` of commands: each transaction may wait 30 s for other processes."""
    return lambda conn: begin_until(clock, clock.monotonic() + PATIENCE_S)(conn)


def begin_until(clock: Clock, deadline: float) -> Begin:
    """A ``Begin`` that gives up when ``clock.monotonic()`` reaches ``deadline``."""
    return lambda conn: patiently(clock, deadline, lambda: begin_immediate(conn))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock: the one fault that waiting can cure."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def patiently(clock: Clock, deadline: float, action: Callable[[], _Result]) -> _Result:
    """Try ``action`` until the database is not busy or ``clock.monotonic()`` reaches ``deadline``.

    SQLite's own handler is not enough: it starves callers under load, and it is not asked at all
    when two connections switch one file to WAL. Raises the last sqlite3.OperationalError.
    """
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or clock.monotonic() >= deadline:
                raise
        clock.sleep(RETRY_S)


class Transaction:
    """One write transaction: ``with Transaction(conn):``; what raises in the block undoes it.

    ``committed`` stays true to the file even where an interrupt strikes: one that arrives while
    SQLite commits is raised when the rows are in, and those must not be written again.
    """

    def __init__(self, conn: sqlite3.Connection, begin: Begin = begin_immediate) -> None:
        self.committed = False
        self._conn = conn
        self._begin = begin

    def __enter__(self) -> Self:
        self._begin(self._conn)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._conn.rollback()
            return
        try:
            self._conn.execute("commit")
        except BaseException as fault:
            self.committed = not (self._conn.in_transaction or isinstance(fault, sqlite3.Error))
            self._conn.rollback()
            raise
        self.committed = True
