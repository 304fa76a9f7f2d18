"""A budget for the demo ledger, close to its limits: amounts that follow from what is in it.

The more expensive of the last two days came near the daily limit, and a cron job has passed its own
on the last day on which one cost something. Both hold on the first of a month and just after
midnight, too. The monthly limit is what 30 usual days need. What a recorder would have noted goes
into the ledger. Days are UTC here, for the budget is to be the same everywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

from ..budget.config import NO_BUDGET, Budget, Limits, ScopeLimits, WindowName
from ..budget.verdicts import period_key, reaches, window_of
from ..store.bulk import write_all
from ..store.files import open_ledger
from ..store.spend import (
    EVERYONE,
    Owner,
    has_call_before,
    running_sums,
    span_of,
    spend_of_each,
    spent_between,
)
from ..store.writes import Write
from ..windows import BEGINNING, Window, bound
from ..yaml_files.editing import flow

_ZONE = "UTC"
# What of its limit that day has taken, and 30 usual days take, but for the rounding.
_TAKEN = 0.9
_USUAL_DAYS = 30
_TICK = timedelta(microseconds=1)

_TEXT = """\
# Budget of the demo ledger beside this file. The limits are computed from that ledger: today or
# yesterday came near the daily limit, and a cron job exceeded its own.
# See docs/budgets.md for every key.
budgets:
  global: {{daily_usd: {daily}, monthly_usd: {monthly}}}
{jobs}thresholds: {{soft_pct: {soft}, hard_pct: {hard}}}
on_breach: {{mode: {on_breach}}}
timezone: {zone}
"""
_JOB = """\
  per_cron_job:
    overrides:
      "{id}": {{daily_usd: {daily}}}
"""


@dataclass(frozen=True, slots=True)
class _Passed:
    """A cron job, the day on which it passes its limit, and that limit in USD."""

    job_id: str
    day: date
    limit: float


def add_budget(path: Path, until: datetime, days: int) -> str:
    """Notes in the demo ledger at `path`, of the `days` before `until`, what its budget has brought
    about.

    Returns the text of that budget's file. Raises sqlite3.Error or OSError.
    """
    last_day = (until - _TICK).astimezone(UTC).date()
    with closing(open_ledger(path)) as conn:
        passed = _passed(conn, last_day)
        budget = replace(
            NO_BUDGET,
            limits={
                "global": ScopeLimits(_limits(conn, last_day, days)),
                "cron_job": ScopeLimits(
                    overrides={passed.job_id: Limits(daily=passed.limit)} if passed else {}
                ),
            },
            timezone=_ZONE,
        )
        alerts = [
            *_alerts(conn, budget, EVERYONE, "monthly", last_day, soft=True),
            *(
                alert
                for day in _last_two(last_day)
                for alert in _alerts(conn, budget, EVERYONE, "daily", day, soft=True)
            ),
            *(
                _alerts(conn, budget, ("cron_job", passed.job_id), "daily", passed.day, soft=False)
                if passed
                else ()
            ),
        ]
    write_all(path, sorted(alerts, key=lambda alert: str(alert.fields["ts"])))
    return _text(budget)


def _last_two(last_day: date) -> tuple[date, date]:
    return last_day - timedelta(days=1), last_day


def _limits(conn: sqlite3.Connection, last_day: date, days: int) -> Limits:
    """Limits for everything: of the daily one the higher of the last two days, for the last alone
    may have begun a minute ago, has taken 86 to 95 %; the monthly one covers the last 30 days and
    the month so far.

    Where a ledger is shorter, or empty for so long, the average of all its days stands for them.
    """
    until = Window.day(last_day, _ZONE).end
    usual = Window(until - timedelta(days=_USUAL_DAYS), until, _ZONE)
    spent = _spent(conn, usual)
    if days < _USUAL_DAYS or not spent:
        spent = _spent(conn, Window(BEGINNING, until, _ZONE)) * _USUAL_DAYS / days
    higher = max(_spent(conn, Window.day(day, _ZONE)) for day in _last_two(last_day))
    month = _spent(conn, Window.month(last_day, _ZONE))
    return Limits(
        daily=_rounded((higher or spent / _USUAL_DAYS) / _TAKEN),
        monthly=_rounded(max(spent, month) / _TAKEN),
    )


def _spent(conn: sqlite3.Connection, window: Window) -> float:
    return spent_between(conn, EVERYONE, bound(window.start), bound(window.end)).spent


def _rounded(usd: float) -> float:
    """To two digits, as one would write a limit."""
    return float(f"{usd:.2g}")


def _passed(conn: sqlite3.Connection, last_day: date) -> _Passed | None:
    """The cron job that cost most on the last day on which one cost something; None if none ever
    did.

    Its limit is what it spent, cut to three digits: it passed it at the end of its last run, so
    nothing ran after it was paused.
    """
    day = last_day
    while True:
        span = span_of(window_of("daily", day, _ZONE))
        if not has_call_before(conn, EVERYONE, span.end):
            return None
        firm, job_id = max(
            (
                (spans[0].spend.firm, scope_id)
                for (scope, scope_id), spans in spend_of_each(conn, [span]).items()
                if scope == "cron_job"
            ),
            default=(0.0, ""),
        )
        if firm > 0:
            amount = Decimal(repr(firm))
            digits = Decimal(1).scaleb(amount.adjusted() - 2)
            return _Passed(job_id, day, float(amount.quantize(digits, ROUND_FLOOR)))
        day -= timedelta(days=1)


def _alerts(
    conn: sqlite3.Connection,
    budget: Budget,
    owner: Owner,
    window: WindowName,
    day: date,
    *,
    soft: bool,
) -> Iterator[Write]:
    """What was noted when the threshold was reached: the soft notice, or the hard one and the
    pause of the job."""
    limit = budget.limit(*owner, window) or 0.0
    of = window_of(window, day, _ZONE)
    threshold = limit * (budget.soft_pct if soft else budget.hard_pct)
    sums = running_sums(conn, owner, bound(of.start), bound(of.end))
    reached = (
        (ts, spend) for ts, spend in sums if reaches(spend.spent if soft else spend.firm, threshold)
    )
    found = next(reached, None)
    if found is None:  # it has not come that far
        return
    ts, spend = found
    for level in ("soft",) if soft else ("hard", "paused"):
        yield Write(
            "record_budget_alert",
            {
                "scope": owner[0],
                "scope_id": owner[1],
                "window": window,
                "period_key": period_key(window, day),
                "level": level,
                "ts": ts,
                "spent_usd": spend.spent,
                "limit_usd": limit,
                "told": True,
            },
        )


def _text(budget: Budget) -> str:
    jobs = "".join(
        _JOB.format(id=id, daily=flow(limits.daily))
        for id, limits in budget.limits["cron_job"].overrides.items()
    )
    return _TEXT.format(
        daily=flow(budget.limit("global", "", "daily")),
        monthly=flow(budget.limit("global", "", "monthly")),
        jobs=jobs,
        soft=flow(budget.soft_pct),
        hard=flow(budget.hard_pct),
        on_breach=budget.on_breach,
        zone=budget.timezone,
    )
