"""The ledger: per-thread connections to one SQLite file, and the one way to write to it.

Inside the host a hook may not wait: one deadline holds for everything that it waits for, from
connecting to the lock. What it does with the lock is kept short instead: of an old ledger it
upgrades a small one only (``upgrade.py``), of a backlog it takes a part. SQLite's own busy handler
starves callers and its automatic checkpoint strikes at every ~100th commit, so both are done here:
BEGIN IMMEDIATE is retried every half millisecond, and a thread moves the log in after every 500th
commit (``checkpoint.py``). What cannot be written in time goes to the spill file (``spill.py``),
and the next write that succeeds brings it in.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..windows import SYSTEM_CLOCK, Clock, timestamp
from . import extras, migrations
from .checkpoint import Checkpointer
from .files import file_identity
from .forks import held_off
from .locking import PATIENCE_S, Begin, Transaction, begin_patiently, begin_until, patiently
from .notes import count_dropped
from .spill import Spill, mark_batch, parse_line
from .upgrade import is_large, start_detached
from .writes import WRITES, Write

_log = logging.getLogger("hermes_telemetry")

_schema_lock = threading.Lock()
"""DDL of two threads at once ends in SQLITE_LOCKED, which no timeout retries."""

HOOK_DEADLINE_S = 0.75
"""Of the second that a hook may take, a quarter is left: a tenth of a second for a price that the
host or the catalogue is asked for, the rest for the spill file.
"""

TRIPPED_DEADLINE_S = 0.02
"""How long a write waits while the ledger does not answer, until one succeeds again."""

BRING_IN_S = 0.25
"""How long a hook goes on bringing in spilled batches, or waits for another thread that does,
before its own record.
"""

_left_behind: list[sqlite3.Connection] = []
"""Connections inherited by a forked child. Closing one here would touch the parent's WAL, so
none is.
"""


def leave_behind(conn: sqlite3.Connection | None) -> None:
    """In a forked child: keep a connection of the parent's from ever being closed."""
    if conn is not None:
        _left_behind.append(conn)


_ledgers: weakref.WeakSet[Ledger] = weakref.WeakSet()


class UpgradePending(sqlite3.OperationalError):
    """The ledger is old and large: its upgrade takes longer than the caller may wait."""


class LedgerConnection(sqlite3.Connection):
    """A connection that remembers which price record rows it has already found, and up to which
    state of the table of free models it has looked in vain for one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.price_ids: dict[tuple[Any, ...], int] = {}
        self.not_free: dict[tuple[str, str], tuple[int, int | None]] = {}

    def rollback(self) -> None:
        self.forget()
        super().rollback()

    def forget(self) -> None:
        """Rows are undone: what is remembered may name some of them, or follow from them."""
        self.price_ids.clear()
        self.not_free.clear()


class _Held:
    """A thread's connection, which is closed when the thread ends.

    Python's own closes when garbage is collected, for it is in a cycle with its statements: in a
    large process that is hundreds of threads later, each with two open files and its pages.
    """

    def __init__(self, conn: LedgerConnection) -> None:
        self.conn = conn
        self._process = os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self._process:  # the threads that a forked child lacks end in it, too
            leave_behind(self.conn)
            return
        with held_off, suppress(sqlite3.Error):  # of another thread's, as the process ends
            self.conn.close()


class _Local(threading.local):
    held: _Held | None = None
    identity: tuple[int, int] | None = None

    @property
    def conn(self) -> LedgerConnection | None:
        return None if self.held is None else self.held.conn


_POISON = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    OverflowError,
    TypeError,
)
"""The write itself is wrong, now and at every later try: waiting in the spill file would not
help.
"""


class Ledger:
    """One telemetry database, written from any thread of any process.

    ``patient`` is for commands: they wait up to 30 s where a hook waits less than one, and they
    upgrade a large old ledger themselves. Nothing is opened before the first write.
    """

    def __init__(self, path: Path, *, clock: Clock = SYSTEM_CLOCK, patient: bool = False) -> None:
        self.path = path
        self._path_text = str(path)  # looked at by every write: a Path takes twice as long
        self.spill = Spill(path, clock)
        self.batches_brought_in = 0
        """By this process: how often it has written what others may have left in the spill file."""
        self._clock = clock
        self._patient = patient
        self._deadline_s = PATIENCE_S if patient else HOOK_DEADLINE_S
        self._tripped = False
        self._bringing_in = threading.Lock()
        self._local = _Local()
        # The first thread's stays open when that has ended: with the last of a process SQLite moves
        # in the log and deletes it, which would be each turn's where each has a thread of its own.
        self._anchor: _Held | None = None
        self._checkpointer = Checkpointer(path, clock)
        _ledgers.add(self)

    @held_off
    def apply(self, writes: Sequence[Write], *, keep: bool = True) -> list[Any] | None:
        """Make ``writes`` in one transaction; their results in order.

        None when the ledger did not take them in time or at all, or has not taken older ones yet:
        they are in the spill file then (or, if that cannot be written either, in memory, to be
        tried again). Without ``keep`` they are left out then, for a caller to whom a write is of no
        use without its result. Raises TypeError, OverflowError or sqlite3.IntegrityError for a
        write that no ledger would ever take.
        """
        patience = TRIPPED_DEADLINE_S if self._tripped else self._deadline_s
        deadline = self._clock.monotonic() + patience
        conn = ours = results = None
        try:
            conn = self._get_conn(deadline)
            if self.spill.waiting() and not self._bring_in(conn, deadline):
                # Behind the older ones: a session that ends now is not to be reopened by its past.
                if keep:
                    self.spill.keep(writes)
            else:
                with Transaction(conn, self._begin_by(deadline)) as ours:
                    results = [WRITES[write.name](conn, **write.fields) for write in writes]
        except _POISON:
            raise
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
                # The connection stays so when the file no longer is.
                self.close()
            then = (
                f"they wait {self.spill.keep(writes)}"
                if keep
                else f"others will wait in {self.spill.path}"
            )
            if not self._tripped:
                self._tripped = True
                _log.warning("the ledger takes no records (%s): %s", error, then)
            return None
        except (KeyboardInterrupt, SystemExit):
            # The host is interrupted while we wait or write: not our record's fault.
            if ours is None or not ours.committed:
                if conn is not None:
                    conn.rollback()  # it may strike when a transaction has begun, or before its end
                if keep:
                    self.spill.keep(writes)
            raise
        if self._tripped:
            self._tripped = False
            _log.warning("the ledger takes records again")
        self._checkpointer.committed(conn)
        return results

    @held_off
    def bring_in(self) -> None:
        """Write all that waits in the spill file. Raises sqlite3.Error or OSError when it cannot;
        what came in before has come in.
        """
        deadline = self._clock.monotonic() + self._deadline_s
        conn = self._get_conn(deadline)
        if self.spill.waiting():
            self._bring_in(conn, deadline)

    @held_off
    def close(self) -> None:
        """Close this thread's connection."""
        held, self._local.held = self._local.held, None
        if held is not None:
            if self._anchor is held:
                self._anchor = None
            held.conn.close()

    def _bring_in(self, conn: LedgerConnection, deadline: float) -> bool:
        """Write spilled batches, oldest first. Raises sqlite3.Error when the ledger does not take
        them: they wait on.

        False when there are more of them than a hook has time for.
        """
        enough = self._clock.monotonic() + BRING_IN_S
        if not self._bringing_in.acquire(timeout=BRING_IN_S):
            return False
        try:
            while self.spill.waiting():
                if not self._bring_in_one(conn, deadline):
                    break
                if not self._patient and self._clock.monotonic() >= enough:
                    return not self.spill.waiting()
            dropped = self.spill.dropped
            if dropped:
                with Transaction(conn, self._begin_by(deadline)):
                    count_dropped(conn, dropped=dropped, ts=timestamp(self._clock.now()))
                self.spill.counted(dropped)
        except sqlite3.OperationalError as error:
            if self._patient or error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            # "No such column", in a newer file: they wait for a newer recorder, the others do not.
            _log.info("spilled records cannot come in: %s", error)
        finally:
            self._bringing_in.release()
        return True

    def _bring_in_one(self, conn: LedgerConnection, deadline: float) -> bool:
        """Write the oldest batch and its marker in one transaction; False when none is left."""
        batch = None
        taking_in = Transaction(conn, self._begin_by(deadline))
        try:
            # The lock comes first: without it a file would be renamed for nothing at every try.
            with taking_in:
                batch = self.spill.oldest()
                if batch is None:
                    return False
                ts = timestamp(self._clock.now())
                if batch.path is None or mark_batch(
                    conn, name=batch.name, lines=len(batch.lines), ts=ts
                ):
                    rejected = [line for line in batch.lines if not self._write_line(conn, line)]
                    if rejected:
                        self.spill.set_aside(rejected)
        except BaseException:
            if batch is not None and not taking_in.committed:
                self.spill.put_back(batch)
            raise
        self.batches_brought_in += 1
        self.spill.discard(batch)
        return True

    @staticmethod
    def _write_line(conn: LedgerConnection, line: str) -> bool:
        """One spilled transaction inside the batch's; False for one that no ledger would take."""
        conn.execute("savepoint line")
        try:
            for write in parse_line(line):
                WRITES[write.name](conn, **write.fields)
        except (*_POISON, ValueError, KeyError) as error:
            conn.execute("rollback to line")
            conn.execute("release line")
            conn.forget()
            _log.warning("a spilled record is damaged and is set aside: %s", type(error).__name__)
            return False
        conn.execute("release line")
        return True

    def _begin_by(self, deadline: float) -> Begin:
        """For commands a backlog may take longer than they wait for any one lock."""
        if self._patient:
            return begin_patiently(self._clock)
        return begin_until(self._clock, deadline)

    def _get_conn(self, deadline: float) -> LedgerConnection:
        local = self._local
        if local.conn is not None:
            named = file_identity(self._path_text)
            if named == local.identity:
                return local.conn
            # The file was moved or replaced: what we have open is no longer the ledger.
            if named is None:
                # A new ledger would delete the log that the moved one may have left here.
                self._checkpointer.now(local.conn)
            self.close()
            self._anchor = None
        conn = self._connect(deadline)
        local.held, local.identity = _Held(conn), file_identity(self.path)
        if self._anchor is None:
            self._anchor = local.held
        return conn

    def _begin_anew(self) -> None:
        """In a forked child: locks may be held by threads that it lacks, and what waits in memory
        is the parent's to write.
        """
        leave_behind(self._local.conn)
        self._local = _Local()
        self._anchor = None
        self._bringing_in = threading.Lock()
        self._checkpointer = Checkpointer(self.path, self._clock)
        self.spill = Spill(self.path, self._clock)

    def _connect(self, deadline: float) -> LedgerConnection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        remaining = max(0.0, deadline - self._clock.monotonic())
        if not _schema_lock.acquire(timeout=remaining):
            raise sqlite3.OperationalError("another thread is still preparing the ledger")
        try:
            conn = sqlite3.connect(
                self.path,
                timeout=0,
                isolation_level=None,
                factory=LedgerConnection,
                check_same_thread=False,  # for closing alone, which may be another's task
            )
            try:
                self._prepare(conn, deadline)
            except BaseException:
                conn.close()
                raise
        finally:
            _schema_lock.release()
        self._checkpointer.opened()
        return conn

    def _prepare(self, conn: LedgerConnection, deadline: float) -> None:
        patiently(self._clock, deadline, lambda: conn.execute("pragma journal_mode = wal"))
        conn.execute("pragma synchronous = normal")
        conn.execute("pragma wal_autocheckpoint = 0")
        conn.execute("pragma journal_size_limit = 33554432")
        if not self._patient and patiently(self._clock, deadline, lambda: is_large(conn)):
            lacks = migrations.pending_versions(conn) or migrations.lost_pieces(conn)
            if lacks:
                start_detached(self.path, now=self._clock.monotonic())
                raise UpgradePending(f"the ledger lacks {lacks}: hermes-telemetry migrate adds it")
        begin = self._begin_by(deadline)
        if migrations._ensure_schema(conn, begin):
            extras.ensure_speed(conn, begin)
        extras.ensure_price_record(conn, begin)


def _begin_anew_in_child() -> None:
    global _schema_lock
    _schema_lock = threading.Lock()
    for ledger in _ledgers:
        ledger._begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_begin_anew_in_child)
