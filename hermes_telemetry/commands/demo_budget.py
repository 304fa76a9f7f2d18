"""A budget for the demo ledger, near its limit: amounts that follow from what is in the ledger.

The month that the ledger ends in is at a share of its limit that is worth a notice, and a cron job
has passed its limit on the last day on which one cost something. What a recorder would have noted
about that goes into the ledger. Days are UTC here, for the budget is to be the same everywhere.
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
from ..windows import BEGINNING, END, bound
from ..yaml_files.editing import flow

_ZONE = "UTC"
# What of its limit the month has taken, but for the rounding of the limit.
_TAKEN = 0.9
_TICK = timedelta(microseconds=1)

_TEXT = """\
# The budget of the demo ledger beside this file, made up from what is in it: the month is near its
# limit, and a cron job has passed its own. docs/budgets.md explains every key.
budgets:
  global: {{monthly_usd: {monthly}}}
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


def add_budget(path: Path, until: datetime) -> str:
    """Notes in the demo ledger at `path`, which ends at `until`, what its budget has brought about.

    Returns the text of that budget's file. Raises sqlite3.Error or OSError.
    """
    last_day = (until - _TICK).astimezone(UTC).date()
    with closing(open_ledger(path)) as conn:
        passed = _passed(conn, last_day)
        budget = replace(
            NO_BUDGET,
            limits={
                "global": ScopeLimits(Limits(monthly=_monthly(conn, last_day))),
                "cron_job": ScopeLimits(
                    overrides={passed.job_id: Limits(daily=passed.limit)} if passed else {}
                ),
            },
            timezone=_ZONE,
        )
        alerts = [
            *_alerts(conn, budget, EVERYONE, "monthly", last_day, soft=True),
            *(
                _alerts(conn, budget, ("cron_job", passed.job_id), "daily", passed.day, soft=False)
                if passed
                else ()
            ),
        ]
    write_all(path, sorted(alerts, key=lambda alert: str(alert.fields["ts"])))
    return _text(budget)


def _monthly(conn: sqlite3.Connection, last_day: date) -> float:
    """A limit of two digits of which the month has taken 86 to 95 %. If it has taken nothing yet,
    being minutes old, all that was ever spent is to fit in."""
    month = window_of("monthly", last_day, _ZONE)
    spent = spent_between(conn, EVERYONE, bound(month.start), bound(month.end)).spent
    if not spent:
        spent = spent_between(conn, EVERYONE, bound(BEGINNING), bound(END)).spent
    return float(f"{spent / _TAKEN:.2g}")


def _passed(conn: sqlite3.Connection, last_day: date) -> _Passed | None:
    """The dearest cron job of the last day on which one cost something; None if none ever did.

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
    if found is None:  # a month without any spend
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
        monthly=flow(budget.limit("global", "", "monthly")),
        jobs=jobs,
        soft=flow(budget.soft_pct),
        hard=flow(budget.hard_pct),
        on_breach=budget.on_breach,
        zone=budget.timezone,
    )
