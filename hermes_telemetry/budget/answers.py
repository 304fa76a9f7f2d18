"""Where each limit stands and where its spend goes: the one object that the command line, the web's
JSON and the page show.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from ..cron_jobs import cron_job_ids, cron_job_name
from ..store.spend import (
    EVERYONE,
    Owner,
    SpanSpend,
    Spend,
    first_day,
    running_sums,
    span_of_day,
    spend_of,
    spend_of_each,
)
from ..store.tree import OWNER_COLUMNS
from ..windows import Window, bound, local_day, parse_timestamp, time_zone, timestamp
from .config import Budget, BudgetFile, WindowName
from .forecast import (
    HISTORY_DAYS,
    Projection,
    burn_rate_projection,
    daily_spend_series,
    mean_daily_usd,
)
from .verdicts import WINDOWS, Verdict, judge, reaches, window_days, window_of

INSUFFICIENT_HISTORY = "insufficient_history"

_NOTHING = SpanSpend(Spend(), 0.0)


@dataclass(frozen=True, slots=True)
class Outlook:
    """One owner's window: what is spent of its limit, and what it will have cost at its end.

    ``days`` holds the spend of the local days that have a call, from before the previous window on.
    ``now`` is aware, ``today`` its local day in ``zone``. ``projection`` is None with too short a
    history.
    """

    owner: Owner
    window: WindowName
    zone: str
    now: datetime
    today: date
    days: Mapping[date, SpanSpend]
    history_days: int
    mean_daily_usd: float | None
    spend: Spend
    verdict: Verdict
    projection: Projection | None
    status: str | None
    breach_probability: float | None
    breach_at: str | None

    def answer(self) -> dict[str, Any]:
        """The object of ``forecast --json``; its keys are documented in docs/commands.md."""
        scope, scope_id = self.owner
        limit = self.verdict.limit
        window = window_of(self.window, self.today, self.zone)
        low, high = (None, None) if self.projection is None else self.projection.interval
        return {
            "scope": scope,
            "scope_id": scope_id,
            "scope_name": cron_job_name(scope_id) if scope == "cron_job" else scope_id,
            "window": self.window,
            "timezone": self.zone,
            "limit_usd": limit,
            "spent_usd": self.spend.spent,
            "firm_usd": self.spend.firm,
            "spent_pct": self.verdict.spent_pct,
            "verdict": self.verdict.level,
            "degraded": self.verdict.degraded,
            "based_on_estimates": self.spend.estimated_calls > 0,
            "estimated_calls": self.spend.estimated_calls,
            "unpriced_calls": self.spend.unpriced_calls,
            "over_by_usd": None if limit is None else self.verdict.over_by,
            "window_start": timestamp(window.start),
            "window_end": timestamp(window.end),
            "elapsed_fraction": (self.now - window.start) / (window.end - window.start),
            "history_days": self.history_days,
            "mean_daily_usd": self.mean_daily_usd,
            "projected_usd": None if self.projection is None else self.projection.usd,
            "projected_low_usd": low,
            "projected_high_usd": high,
            "breach_probability": self.breach_probability,
            "breach_at": self.breach_at,
            "status": self.status,
            "method": None if self.projection is None else self.projection.method,
            "enabled": limit is not None,
        }


def outlook(
    conn: sqlite3.Connection,
    budget: Budget,
    owner: Owner,
    window: WindowName,
    zone: str,
    now: datetime,
) -> Outlook:
    """Where an owner stands in the window that holds ``now``, and where it goes.

    The ledger is only read; without this project's tables it raises sqlite3.OperationalError.
    """
    return _Reading(conn, zone, now, [owner]).outlook(budget, owner, window)


def outlooks_of(
    conn: sqlite3.Connection, budget: Budget, owner: Owner, zone: str, now: datetime
) -> list[Outlook]:
    """As `outlook`, for both windows of one owner, day and month, from one reading."""
    reading = _Reading(conn, zone, now, [owner])
    return [reading.outlook(budget, owner, window) for window in WINDOWS]


def standing(
    conn: sqlite3.Connection,
    budget: Budget,
    scope: str,
    scope_id: str,
    window: WindowName,
    zone: str,
    now: datetime,
) -> dict[str, Any]:
    """The `outlook` of an owner as one object; amounts in USD.

    ``scope`` is global (with the ``scope_id`` ''), cron_job, sender or profile. Raises as
    `outlook`.
    """
    return outlook(conn, budget, (scope, scope_id), window, zone, now).answer()


def standings(
    conn: sqlite3.Connection,
    budget_file: BudgetFile,
    database: Path | str,
    zone: str,
    now: datetime,
) -> dict[str, Any]:
    """The object of ``budget --json``: as `standing` for each of `outlooks`.

    ``database`` names the ledger to the reader. A faulty file is told in ``config_error``; the
    limits are those in force.
    """
    budget = budget_file.current()
    return {
        "ok": True,
        "database": str(database),
        "generated_at": timestamp(now),
        "timezone": zone,
        "config_path": str(budget_file.path),
        "config_error": budget_file.error,
        "budgets": [each.answer() for each in outlooks(conn, budget, zone, now)],
    }


def outlooks(conn: sqlite3.Connection, budget: Budget, zone: str, now: datetime) -> list[Outlook]:
    """Everyone's day and month, with or without a limit, then whoever else has a limit: those that
    budget.yaml names, and of a scope that has a default all with a call in the window.
    """
    all_together = not any(scope in budget.limits for scope in OWNER_COLUMNS)
    reading = _Reading(conn, zone, now, [EVERYONE] if all_together else None)
    found = [reading.outlook(budget, EVERYONE, window) for window in WINDOWS]
    for scope in OWNER_COLUMNS:
        if scope in budget.limits:
            named = _named(budget, scope)
            seen = {window: named | reading.seen(scope, window) for window in WINDOWS}
            for scope_id in sorted(set().union(*seen.values())):
                for window in WINDOWS:
                    limit = budget.limit(scope, scope_id, window)
                    if scope_id in seen[window] and limit is not None:
                        found.append(reading.outlook(budget, (scope, scope_id), window))
    return found


def _named(budget: Budget, scope: str) -> set[str]:
    """The ids that a budget has limits of their own for; a cron job's name stands for its ids."""
    named: set[str] = set()
    for override in budget.overridden(scope):
        ids = cron_job_ids(override) if scope == "cron_job" else ()
        named.update(ids or (override,))
    return named


class _Reading:
    """The daily spend of some owners, read once for all that is told of it."""

    def __init__(
        self, conn: sqlite3.Connection, zone: str, now: datetime, owners: Sequence[Owner] | None
    ) -> None:
        """Of each of ``owners``; None is all that there are."""
        self._conn, self._zone, self._now = conn, zone, now
        self._today = local_day(now, zone)
        month = window_days("monthly", self._today)
        before = window_days("monthly", month[0] - timedelta(days=1))
        # To the end of the month: a clock that goes ahead belongs to the window as well.
        first = min(before[0], self._today - timedelta(days=HISTORY_DAYS))
        self._days = [
            first + timedelta(days=number) for number in range((month[-1] - first).days + 1)
        ]
        time_of_day = now.astimezone(time_zone(zone)).time().replace(microsecond=0)
        spans = [span_of_day(day, zone, time_of_day) for day in self._days]
        self._spend = (
            spend_of_each(conn, spans)
            if owners is None
            else {owner: spend_of(conn, owner, spans) for owner in owners}
        )

    def seen(self, scope: str, window: WindowName) -> set[str]:
        """The ids of a scope that have a call in a window; what is not a text is nobody's id."""
        days = set(window_days(window, self._today))
        places = {place for place, day in enumerate(self._days) if day in days}
        return {
            scope_id
            for (of, scope_id), spend in self._spend.items()
            if of == scope and isinstance(scope_id, str) and not places.isdisjoint(spend)
        }

    def outlook(self, budget: Budget, owner: Owner, window: WindowName) -> Outlook:
        spend_by_place = self._spend.get(owner, {})
        days = {self._days[place]: spend for place, spend in sorted(spend_by_place.items())}
        history = daily_spend_series(
            {day: (spend.spend.spent, spend.tail) for day, spend in days.items()},
            first_day(self._conn, owner, days, self._days[0], self._zone),
            self._today,
        )
        in_window = window_days(window, self._today)
        spend = sum((days.get(day, _NOTHING).spend for day in in_window), Spend())
        projection = burn_rate_projection(
            history, spend.spent, [day for day in in_window if day >= self._today]
        )
        limit = budget.limit(*owner, window)
        verdict = judge(budget, limit, spend)
        probability, breach_at = None, None
        if verdict.hard is not None:
            hard = verdict.hard
            if verdict.level == "hard" or verdict.degraded:
                probability = 1.0
                breach_at = self._crossing(budget, owner, verdict, in_window, days)
            elif projection is not None:
                probability = projection.share(lambda total: reaches(total, hard))
                meets = projection.meets(hard, self._now, self._zone)
                breach_at = None if meets is None else timestamp(meets)
        status: str | None = INSUFFICIENT_HISTORY
        if projection is not None:
            # Estimated or not, what is only expected blocks nothing. A call without a price stays.
            expected = Spend(projection.usd, projection.usd, unpriced_calls=spend.unpriced_calls)
            status = judge(budget, limit, expected).level
        return Outlook(
            owner=owner,
            window=window,
            zone=self._zone,
            now=self._now,
            today=self._today,
            days=days,
            history_days=len(history),
            mean_daily_usd=mean_daily_usd(history),
            spend=spend,
            verdict=verdict,
            projection=projection,
            status=status,
            breach_probability=probability,
            breach_at=breach_at,
        )

    def _crossing(
        self,
        budget: Budget,
        owner: Owner,
        verdict: Verdict,
        in_window: list[date],
        days: Mapping[date, SpanSpend],
    ) -> str | None:
        """When the call was made that made ``verdict``, which is hard or degraded."""

        def is_made(spend: Spend) -> bool:
            then = judge(budget, verdict.limit, spend)
            return then.level == "hard" if verdict.level == "hard" else then.degraded

        before = Spend()
        for day in in_window:
            after = before + days.get(day, _NOTHING).spend
            if is_made(after):
                break
            before = after
        window = Window.day(day, self._zone)
        at = None
        for ts, since in running_sums(self._conn, owner, bound(window.start), bound(window.end)):
            at = ts
            if is_made(before + since):
                break
        # Where sums of floats differ by their order, the day's last call has made it. Other builds
        # store a time without fraction or zone.
        return None if at is None else timestamp(parse_timestamp(at))
