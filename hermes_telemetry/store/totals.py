"""Running totals of spend, one set for a process: what the gate asks before every tool call.

Asking the ledger takes 70 ms at a million calls, keeping up with it takes microseconds
(``running.py``). Counting is done on a thread and exchanged as a whole. Where the ledger does not
answer in 20 ms the last known totals stand; where nothing is known yet, `is_known` says so.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from ..windows import SYSTEM_CLOCK, Clock, local_day
from .connection import leave_behind
from .files import file_identity
from .forks import held_off
from .locking import is_busy
from .running import OutOfStepError, Owners, RunningSums
from .spend import SCOPES, Spend

_log = logging.getLogger("hermes_telemetry")

PATIENCE_S = 0.02
"""How long the ledger, or another thread that is asking it, may take to answer."""

REFRESH_S = 5.0
"""The age at which totals are refreshed: other processes' rows count within that time."""

RECOUNT_S = 600.0
"""The age at which they are counted afresh, for what leaves no trace in the ledger."""

_totals: weakref.WeakSet[Totals] = weakref.WeakSet()


class Totals:
    """What each owner spent on the days of this month, by the calls in one ledger.

    ``zone`` is the IANA name of local days. For any thread; a forked child begins anew.
    """

    def __init__(self, path: Path, zone: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self.path = path
        self.zone = zone
        self._clock = clock
        self._begin_anew()
        _totals.add(self)

    def _begin_anew(self) -> None:
        """In a forked child too: locks may be held by threads that it lacks, and sums may be half
        changed.
        """
        self._lock = threading.Lock()
        self._counting: threading.Thread | None = None
        self._conn: sqlite3.Connection | None = None
        self._sums: RunningSums | None = None
        self._identity: tuple[int, int] | None = None
        self._counted_at = 0.0
        self._looked_at = 0.0
        self._expired = True
        self._answered = False
        self._trouble = ""

    @property
    def is_known(self) -> bool:
        """Whether there are totals, be they of some seconds ago."""
        return self._sums is not None

    def expire(self) -> None:
        """This process has written: the next refresh reads at once."""
        self._expired = True

    @held_off
    def load(self) -> bool:
        """Count afresh and wait for it; some tenths of a second for a large ledger.

        False when the ledger did not answer or is not there: known totals stay.
        """
        identity = file_identity(self.path)
        started = self._clock.monotonic()
        if identity is None:
            return False
        try:
            with closing(self._open()) as conn:
                sums = RunningSums(conn, self._today(), self.zone)
        except sqlite3.Error as error:
            self._say(error)
            return False
        with self._lock:
            self._sums, self._identity, self._counted_at = sums, identity, started
            self._expired = True
        return True

    @held_off
    def refresh(self) -> bool:
        """Take in what is new, when the totals are five seconds old or expired.

        False when the ledger did not answer (the last known totals stay) or nothing is known; it is
        being counted on a thread then.
        """
        with self._locked() as ours:
            if not ours:
                return False
            now = self._clock.monotonic()
            if self._expired or not 0 <= now - self._looked_at < REFRESH_S:
                self._expired, self._looked_at = False, now
                self._answered = self._look(now)
            return self._answered

    def wait(self, seconds: float) -> None:
        """While they are being counted on a thread, wait for it, but no longer than that."""
        counting = self._counting
        if counting is not None:
            counting.join(seconds)

    def spend(self, scope: str, scope_id: str, first: date, last: date) -> Spend:
        """What an owner spent on the local days from ``first`` to ``last``, both included.

        Raises LookupError when that is not known: nothing is, or not of such days.
        """
        with self._lock:
            if self._sums is None:
                raise LookupError("the totals are not counted yet")
            return self._sums.spend(scope, scope_id, first, last)

    @held_off
    def scopes_of(self, session_id: str) -> dict[str, str]:
        """Whose spend a session adds to: its id by scope. ``global`` is always there, as ''.

        Asked of the ledger each time, for a sender may be learned late; where that did not answer
        it is what was known.
        """
        owners: Owners | None = None
        with self._locked() as ours:
            if ours and self._sums is not None:
                owners = self._sums.owners(session_id)
                if self._answered:
                    try:
                        owners = self._sums.look_up_owners(self._connection(), session_id)
                    except sqlite3.Error as error:
                        self._let_go(error)
        found = zip(SCOPES, owners or ("",), strict=False)
        return {scope: scope_id for scope, scope_id in found if scope_id is not None}

    def _look(self, now: float) -> bool:
        identity = file_identity(self.path)
        if self._sums is not None and (
            identity != self._identity or not self._sums.covers(self._today())
        ):
            # Another ledger, or a month that was never counted: what is known is of something else.
            self._sums = None
            self._close()
        if self._sums is None:
            if identity is not None:
                self._count_on_a_thread()
            return False
        age = RECOUNT_S
        try:
            self._sums.advance(self._connection())
        except OutOfStepError:
            age = REFRESH_S
        except sqlite3.Error as error:
            self._let_go(error)
            return False
        if not 0 <= now - self._counted_at < age:
            self._counted_at = now  # if it fails, it is not tried at every look
            self._count_on_a_thread()
        self._trouble = ""
        return True

    def _count_on_a_thread(self) -> None:
        """Unless one is at it already. It is a daemon: nothing waits for it at exit."""
        if self._counting is not None and self._counting.is_alive():
            return
        thread = threading.Thread(target=self._count, name="telemetry-totals", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no thread is to be had: another refresh tries again
            self._say(error)
        else:
            self._counting = thread

    def _count(self) -> None:
        try:
            self.load()
        except Exception as error:  # a thread has nobody to raise to but the host's terminal
            self._say(error)

    def _today(self) -> date:
        return local_day(self._clock.now(), self.zone)

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Whether the lock could be had in time; it is held in the block then."""
        lock = self._lock
        ours = lock.acquire(timeout=PATIENCE_S)
        try:
            yield ours
        finally:
            if ours:
                lock.release()

    def _connection(self) -> sqlite3.Connection:
        if self._conn is None:
            self._conn = self._open()
        return self._conn

    def _open(self) -> sqlite3.Connection:
        """A connection that changes nothing and makes no file.

        A strictly read-only one that is closed last would leave the log as long as it is.
        """
        conn = sqlite3.connect(
            self.path.resolve().as_uri() + "?mode=rw",
            uri=True,
            timeout=PATIENCE_S,
            isolation_level=None,
            check_same_thread=False,
        )
        conn.execute("pragma query_only = on")
        return conn

    def _let_go(self, error: sqlite3.Error) -> None:
        """After an error: only one of waiting leaves a connection as good as before."""
        self._say(error)
        if not is_busy(error):
            self._close()

    def _close(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()

    def _say(self, error: Exception) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            _log.info("spend cannot be read from the ledger: %s", error)


def _begin_anew_in_child() -> None:
    for totals in _totals:
        leave_behind(totals._conn)
        totals._begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_begin_anew_in_child)
