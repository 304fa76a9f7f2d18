"""What the overview says, part by part; each is read by itself, several at once.

A part that this file cannot answer, being older, is None. Amounts are USD.
"""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from statistics import median
from typing import Any

from hermes_telemetry.budget.answers import Outlook, outlooks_of
from hermes_telemetry.budget.config import Budget
from hermes_telemetry.budget.verdicts import period_key
from hermes_telemetry.store.spend import EVERYONE
from hermes_telemetry.windows import Window, parse_timestamp

from ..charts.steps import Steps
from .frame import Page
from .period import Period

Rows = list[dict[str, Any]]

SPEND = "cost_by_day_and_model"
"""The query without which there is no overview."""

SHOWN = 5
"""Rows of a list, and models that have a colour of their own."""

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
# One Sunday alone says nothing about Sundays.
_LEAST_WEEKS = 2

Part = Callable[[Page, sqlite3.Connection], Any]


def _of(page: Page, conn: sqlite3.Connection, name: str, most: int | None = None) -> Rows | None:
    """The first `most` rows of a query for the period; None where the file lacks what it needs."""
    return page.rows(conn, name, most) if name in page.ledger.queries else None


# --- what was spent


def spend(page: Page, conn: sqlite3.Connection) -> dict[str, Any]:
    """Totals, models and days of the period, beside those of the period before."""
    query = page.ledger.queries[SPEND]
    period, before = page.period, page.period.before()
    rows = period.rows(conn, query)
    rows_before = before.rows(conn, query) if before else []
    total = _sum(rows)
    models = _models(rows, rows_before if before else None)
    top = [model["model"] for model in models[:SHOWN]]
    others = models[SHOWN:]
    steps = Steps.over(period, [row["day"] for row in rows])
    return {
        "total": total,
        "before": before
        and {
            **before.bounds(),
            **_sum(rows_before),
        },
        "step": steps.kind,
        "spend": _bars(page, steps, rows, rows_before if before else None, top),
        "models": models[:SHOWN],
        "other_models": {"models": len(others), **_sum(others)} if others else None,
        "unpriced_models": [
            {"model": model["model"], "unpriced_calls": model["unpriced_calls"]}
            for model in sorted(models, key=lambda model: -model["unpriced_calls"])
            if model["unpriced_calls"]
        ],
    }


def _sum(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    rows = list(rows)
    return {
        "cost_usd": math.fsum(row["cost_usd"] or 0 for row in rows),
        "calls": sum(row["calls"] for row in rows),
        "unpriced_calls": sum(row["unpriced_calls"] for row in rows),
    }


def _cost(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """What rows cost together; None when nothing in them has a price."""
    amounts = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return math.fsum(amounts) if amounts else None


def _models(rows: Rows, before: Rows | None) -> Rows:
    """A row a model, the dearest first; a model is one at whatever provider."""
    now, then = _grouped(rows, "model"), _grouped(before or [], "model")
    total = _sum(rows)["cost_usd"]
    models = []
    for model, of_model in now.items():
        cost = _cost(of_model)
        models.append(
            {
                "model": model,
                **_sum(of_model),
                "cost_usd": cost,
                "share": None if cost is None or not total else cost / total,
                "before_usd": None if before is None else _cost(then.get(model, [])) or 0.0,
                "before_unpriced_calls": _sum(then.get(model, []))["unpriced_calls"],
            }
        )
    return sorted(models, key=lambda one: (-(one["cost_usd"] or 0), str(one["model"])))


def _grouped(rows: Rows, column: str) -> defaultdict[Any, Rows]:
    groups: defaultdict[Any, Rows] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def _bars(page: Page, steps: Steps, rows: Rows, before: Rows | None, top: list[Any]) -> Rows:
    """Each day of the period, or each longer step of a long one, with what its models cost."""
    period, earlier = page.period, page.period.before()
    firsts = [date.fromisoformat(step) for step in steps.all]
    by_step: dict[str, Rows] = defaultdict(list)
    for row in rows:
        by_step[steps.of(row["day"])].append(row)
    before_by_day = _grouped(before or [], "day")
    by = _apart(steps, period, earlier)
    bars = []
    for step, first, following in zip(steps.all, firsts, [*firsts[1:], None], strict=True):
        last = following - _DAY if following else max(period.last, first)
        compared = None
        if by is not None and earlier and first - by <= earlier.last:
            compared = _cost(before_by_day[(first - by).isoformat()]) or 0.0
        of_models = _grouped(by_step[step], "model")
        of_top = [_cost(of_models.pop(model, [])) for model in top]
        bars.append(
            {
                "since": max(first, period.first or first).isoformat(),
                "until": last.isoformat(),
                **_sum(by_step[step]),
                "cost_usd": _cost(by_step[step]) if by_step[step] else 0.0,
                "models_usd": of_top,
                "others_usd": _cost(row for group in of_models.values() for row in group),
                "before_usd": compared,
            }
        )
    return bars


def _apart(steps: Steps, period: Period, earlier: Period | None) -> timedelta | None:
    """How far the days that are compared lie apart; None where days are not comparable.

    Two months have weeks of other days. A period that begins within a day has a part of that.
    """
    if steps.kind != "day" or not period.begins_with_a_day:
        return None
    if earlier is None or earlier.first is None or period.first is None:
        return None
    return period.first - earlier.first


def anomalies(page: Page, conn: sqlite3.Connection) -> Rows | None:
    """The days that cost more than usual."""
    return _of(page, conn, "spend_anomalies")


def cron_jobs(page: Page, conn: sqlite3.Connection) -> Rows | None:
    """The dearest cron jobs."""
    rows = _of(page, conn, "cron_attribution")
    if rows is None:
        return None
    return sorted(rows, key=lambda row: -(row["total_usd"] or 0))[:SHOWN]


def sessions(page: Page, conn: sqlite3.Connection) -> Rows | None:
    """The most expensive sessions."""
    # A month has ten thousand, and to make rows of them takes as long as to find them.
    return _of(page, conn, "cost_by_session", SHOWN)


def failed_attempts(page: Page, conn: sqlite3.Connection) -> Rows | None:
    """Failed attempts by status, the most first."""
    return _of(page, conn, "failed_attempts_by_status")


# --- where it goes


def owner(page: Page) -> tuple[str, str]:
    """Whose day and month it is: everyone's, or those of the profile that was asked for."""
    return ("profile", page.period.profile) if page.period.profile else EVERYONE


def day_and_month(page: Page, conn: sqlite3.Connection, budget: Budget) -> list[Outlook]:
    """The outlooks of today and of this month."""
    return outlooks_of(conn, budget, owner(page), page.zone, page.now)


def today(outlook: Outlook) -> dict[str, Any]:
    """What today has cost, beside the median of the last weeks' same weekdays by this time."""
    weeks = outlook.history_days // 7
    usual = []
    for number in range(1, weeks + 1):
        day = outlook.days.get(outlook.today - number * _WEEK)
        usual.append(0.0 if day is None else day.spend.spent - day.tail)
    enough = len(usual) >= _LEAST_WEEKS
    return {
        "day": outlook.today.isoformat(),
        # Infinite in a broken file only, and then as good as unknown.
        "cost_usd": outlook.spend.spent if math.isfinite(outlook.spend.spent) else None,
        "calls": outlook.spend.calls,
        "unpriced_calls": outlook.spend.unpriced_calls,
        "usual_usd": max(0.0, median(usual)) if enough else None,
        "usual_days": len(usual) if enough else 0,
    }


# --- what to look at


def notices(page: Page, conn: sqlite3.Connection) -> dict[str, Any]:
    """What happened in the period that is worth a look; each None, or empty, where it did not."""
    window = page.period.window

    def happened(rows: Rows | None, column: str) -> Rows:
        return [row for row in rows or [] if _is_in(window, row[column])]

    edges = _of(page, conn, "subagent_join_health")
    keys = {period_key(window, page.period.today) for window in ("daily", "monthly")}
    return {
        "free_models_that_cost": happened(_of(page, conn, "free_paid_history"), "flipped_at"),
        "price_changes": happened(_changes(_of(page, conn, "price_history")), "valid_from"),
        "retry_storms": _of(page, conn, "retry_storms") or [],
        "edges": edges[0]
        if edges and (edges[0]["edges"] or edges[0]["unattributed_usd"])
        else None,
        "budget_alerts": [
            row
            for row in _of(page, conn, "budget_alert_history") or []
            if page.period.goes_on
            and row["period_key"] in keys
            # Of one profile what others have reached says nothing.
            and (not page.period.profile or (row["scope"], row["scope_id"]) == owner(page))
        ],
    }


def _is_in(window: Window, ts: Any) -> bool:
    """Whether a stored instant lies there; what a file of another build holds may be none."""
    try:
        return window.start <= parse_timestamp(ts) < window.end
    except (TypeError, ValueError, OverflowError):
        return False


_RATES = ("input", "output", "cache_read", "cache_write")


def _changes(rows: Rows | None) -> Rows | None:
    """The intervals of `price_history` that began with other rates than those before them."""
    if rows is None:
        return None
    changed: Rows = []
    newer: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:  # the newest first
        of = (row["provider"], row["model"])
        later = newer.get(of)
        if later and (later["change_pct"] or _differ(row, later)):
            changed.append(later)
        newer[of] = row
    return changed


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(
        one[f"{rate}_usd_per_million"] != other[f"{rate}_usd_per_million"] for rate in _RATES
    )


# --- how far to trust it


def estimates(page: Page, conn: sqlite3.Connection) -> dict[str, Any] | None:
    """How many calls have an estimated, an assumed, or no price."""
    rows = _of(page, conn, "estimated_share")
    return (
        rows
        if rows is None
        else {
            "calls": sum(row["calls"] for row in rows),
            "estimated_calls": sum(row["estimated_calls"] for row in rows),
            "assumed_calls": sum(row["assumed_calls"] for row in rows),
            "unpriced_calls": sum(row["cost_unpriced_calls"] for row in rows),
        }
    )


def unreconciled(page: Page, conn: sqlite3.Connection) -> int | None:
    """Sessions whose totals are not those of their calls."""
    rows = _of(page, conn, "reconcile")
    return rows if rows is None else len(rows)


def preset_calls(page: Page, conn: sqlite3.Connection) -> int | None:
    """Calls of presets, whose reference models no hook shows; 1,000 stands for as many or more."""
    rows = _of(page, conn, "moa_calls")
    return rows if rows is None else len(rows)
