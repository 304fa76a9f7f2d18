"""The gate: what limits say of a session at its turns, after its calls and before its tools.

It decides by running totals (``store.totals``), which a thread loads at the first session's start.
A limit is noted when a call crosses it, and told when a model hears it, be it that of another
process: the one that crossed it may end with that call.
Where nothing is known, and where budget code fails, the gate is open and the log says so: a budget
must not stop a session that it cannot judge. Without a limit nothing is loaded or opened.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import date
from functools import lru_cache, wraps
from math import inf
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from .. import host
from ..paths import budget_path
from ..payloads import describe
from ..store.alerts import was_paused
from ..store.connection import Ledger
from ..store.files import open_ledger
from ..store.forks import held_off
from ..store.writes import Write
from ..turns import Turns
from ..windows import Clock, local_day, machine_zone, timestamp
from .alerts import Standing, alert, blocked, notice, pause_reason
from .config import Budget, BudgetFile, WindowName
from .headroom import Headroom
from .verdicts import WINDOWS, judge, window_days

if TYPE_CHECKING:
    from ..store.totals import Totals

_log = logging.getLogger("hermes_telemetry")

FIRST_LOAD_S = 0.25
"""How long a hook waits for totals that are being counted for the first time, or by the days of
another zone: a process of one turn would hear no notice. Enough for a million calls.
"""

PAUSE_S = 0.2
"""How long a hook waits for the host to pause a cron job, since its process may leave right
after. What takes longer goes on beside it.
"""

_OF_OWNERS = {"start_run", "set_profile", "start_edge", "stop_edge"}
"""What can let a session belong to others."""

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_Method = Callable[Concatenate["Gate", _Asked], _Answer]


def _stops_no_session(method: _Method[_Asked, _Answer]) -> _Method[_Asked, _Answer | None]:
    @wraps(method)
    def guarded(self: Gate, /, *asked: _Asked.args, **named: _Asked.kwargs) -> _Answer | None:
        try:
            return method(self, *asked, **named)
        except Exception as error:
            if self._turns.first_time("gate fault", type(error).__name__):
                _log.error("the budget gate is open, it failed: %s", describe(error))
            return None

    return guarded


class Gate:
    """The limits of one telemetry home, asked from any thread."""

    def __init__(self, ledger: Ledger, turns: Turns, clock: Clock) -> None:
        self._ledger = ledger
        self._turns = turns
        self._clock = clock
        # A relative one means the folder of now, whatever the host changes to later.
        self._path = budget_path(ledger.path).absolute()
        self._totals: Totals | None = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a forked child locks may be held by threads that it lacks; totals see to their own."""
        self._file = BudgetFile(self._path, self._clock)
        self._changing = threading.Lock()
        self._pausing = threading.Lock()
        self._headroom = Headroom(self._clock)
        self._brought_in = 0

    def wrote(self, writes: Iterable[Write]) -> None:
        """This process has written: the totals are no longer those of the ledger."""
        totals = self._totals
        if totals is None:
            return
        brought_in = self._ledger.batches_brought_in
        if brought_in != self._brought_in or not _OF_OWNERS.isdisjoint(
            write.name for write in writes
        ):
            self._brought_in = brought_in
            self._headroom.forget()
        if totals.is_known:  # a ledger that does not answer is not pressed
            totals.expire()

    @_stops_no_session
    def begin(self) -> None:
        """A session or a turn begins: what its limits will be judged by is loaded beside it."""
        budget = self._file.current()
        if budget.has_limits:
            self._totals_of(budget).refresh()

    @_stops_no_session
    def notices(self, session_id: str) -> str | None:
        """What the session has to hear that nobody has heard in this window, of limits as they are
        now; it counts as heard.
        """
        free = self._turns.last_call_was_free(session_id)
        standings = self._standings(session_id) or ()
        about = [standing for standing in standings if not (standing.blocks and free)]
        # One that the ledger does not take now is for a later turn: only the ledger knows whether
        # another process has told it.
        untold = self._note(about, told=True, keep=False)
        return "\n\n".join(map(notice, untold)) or None

    @_stops_no_session
    def called(self, session_id: str, cost_usd: float | None) -> None:
        """The session has made a call (USD, None = no price known). What that crossed is noted, and
        its cron job paused if it was too much.
        """
        budget = self._file.current()
        if not budget.has_limits or self._headroom.covers(session_id, cost_usd, budget):
            return
        standings = self._standings_of_a_payer(session_id)
        if standings:
            self._note(standings, told=False)
            self._pause_job(session_id, standings)

    @_stops_no_session
    def blocked(self, session_id: str) -> str | None:
        """Why the session may run no tool; None if it may."""
        standings = self._standings_of_a_payer(session_id)
        breaches = [standing for standing in standings if standing.blocks]
        if not breaches:
            return None
        self._note(breaches, told=True)
        self._pause_job(session_id, breaches)
        return blocked(breaches)

    def _standings_of_a_payer(self, session_id: str) -> list[Standing]:
        """The limits that the session has nearly or wholly spent: none if its last call was free.
        None are known where the totals are not; the log says so.
        """
        if self._turns.last_call_was_free(session_id):
            return []
        standings = self._standings(session_id)
        if standings is None:
            if self._turns.first_time("gate open"):
                _log.warning(
                    "the budget gate is open: what was spent so far cannot be read from %s yet",
                    self._ledger.path,
                )
            return []
        return standings

    def _standings(self, session_id: str) -> list[Standing] | None:
        """The limits of the session that are nearly or wholly spent; None where nothing is known of
        them yet.
        """
        budget = self._file.current()
        if not budget.has_limits:
            return []
        spent, left = self._headroom.spent, inf
        totals = self._totals_of(budget)
        answered = totals.refresh()
        if not totals.is_known:
            totals.wait(FIRST_LOAD_S)
            answered = totals.refresh()
        today = local_day(self._clock.now(), totals.zone)
        owners = totals.scopes_of(session_id).items()
        standings = []
        for window in WINDOWS:
            first, last = _ends(window, today)
            for scope, scope_id in owners:
                limit = budget.limit(scope, scope_id, window)
                if limit is None:
                    continue
                try:
                    spend = totals.spend(scope, scope_id, first, last)
                except LookupError:  # not counted yet, or another ledger stands there since
                    return None
                verdict = judge(budget, limit, spend)
                left = min(left, (verdict.soft or 0.0) - spend.spent)
                if verdict.level in ("soft", "hard"):
                    blocks = verdict.level == "hard" and budget.on_breach == "block"
                    standings.append(
                        Standing(
                            scope, scope_id, window, today, totals.zone, spend, verdict, blocks
                        )
                    )
        if answered and not standings:
            self._headroom.note(session_id, budget, spent, left)
        return standings

    def _totals_of(self, budget: Budget) -> Totals:
        """The totals by the local days of the budget's zone."""
        zone = budget.timezone or machine_zone()
        with self._changing:
            if self._totals is None or self._totals.zone != zone:
                from ..store.totals import Totals  # of no use where nothing is limited

                self._totals = Totals(self._ledger.path, zone, self._clock)
            return self._totals

    def _note(
        self, standings: Sequence[Standing], *, told: bool, keep: bool = True
    ) -> list[Standing]:
        """Note in the ledger, once, that limits are nearly or wholly spent, and that the model is
        ``told``. Those that nobody has told yet: none without ``keep`` where the ledger does not
        answer. A limit that was raised is another one.
        """
        step = "told" if told else "noted"
        new = [each for each in standings if not self._turns.has_said(step, *_alert_key(each))]
        if not new:
            return []
        now = timestamp(self._clock.now())
        alerts = [alert(each, str(each.verdict.level), now, told=told) for each in new]
        try:
            results = self._ledger.apply(alerts, keep=keep)
        except Exception as error:  # a table of another build's: the limit holds all the same
            if self._turns.first_time("alert fault", type(error).__name__):
                _log.error("what limits say is not noted in the ledger: %s", describe(error))
            return []
        if results is None and not keep:
            return []
        untold = []
        for each, result in zip(new, results or ["new"] * len(new), strict=True):
            self._turns.first_time(step, *_alert_key(each))
            if result == "new":
                _log.warning("%s", notice(each))
            if result is not None:
                untold.append(each)
        return untold

    def _pause_job(self, session_id: str, standings: Sequence[Standing]) -> None:
        """Pause the session's cron job for those of its own limits that it breaches."""
        breaches = [
            standing
            for standing in standings
            if standing.blocks
            and standing.scope == "cron_job"
            and self._turns.first_time("pause", session_id, *standing.period, standing.limit_usd)
        ]
        if not breaches:
            return
        pausing = threading.Thread(
            target=self._pause, args=(breaches,), name="telemetry-pause", daemon=True
        )
        try:
            pausing.start()
        except RuntimeError as error:  # no thread is to be had: the next run tries again
            _log.error("the cron job %s was not paused: %s", breaches[0].scope_id, error)
        else:
            pausing.join(PAUSE_S)

    def _pause(self, breaches: Sequence[Standing]) -> None:
        """Pause a cron job for the limits that it breaches, once in the window of each. One that
        was raised is another one.

        Noted afterwards, since the process may leave in between: a pause twice does no harm, a job
        noted as paused that goes on spending does.
        """
        job_id = breaches[0].scope_id
        try:
            with self._pausing:
                with held_off, closing(open_ledger(self._ledger.path)) as conn:
                    # Where the job was paused and runs again, somebody has resumed it.
                    new = [
                        breach
                        for breach in breaches
                        if not was_paused(conn, *breach.period, breach.limit_usd)
                    ]
                if new and host.pause_cron_job(job_id, pause_reason(new)):
                    now = timestamp(self._clock.now())
                    self._ledger.apply([alert(breach, "paused", now, told=True) for breach in new])
                    _log.warning("the cron job %s is paused: %s", job_id, pause_reason(new))
        except Exception as error:
            _log.error("the cron job %s was not paused: %s", job_id, describe(error))
        finally:
            self._ledger.close()


def _alert_key(standing: Standing) -> tuple[str | float, ...]:
    return *standing.period, str(standing.verdict.level), standing.limit_usd


@lru_cache(maxsize=8)
def _ends(window: WindowName, day: date) -> tuple[date, date]:
    """The first and the last local day of a window, which is asked for before every tool."""
    days = window_days(window, day)
    return days[0], days[-1]
