"""The running total: this period beside the one before it, the budget, and where it is going."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from hermes_telemetry.budget.answers import Outlook, outlook
from hermes_telemetry.budget.config import NO_BUDGET, BudgetFileError, load_budget
from hermes_telemetry.budget.forecast import LEAST_DAYS
from hermes_telemetry.money import usd
from hermes_telemetry.paths import budget_path
from hermes_telemetry.store.spend import EVERYONE
from hermes_telemetry.windows import (
    local_day,
    next_month,
    parse_timestamp,
    time_zone,
)

from .figure import Figure, Row, Table, Total, as_json, nothing
from .reading import COSTS, Earlier, Reading, Rows, priced, unpriced
from .running_lines import Line, Point, spec
from .steps import day_in_words

QUERY = "cost_by_day"
NAME, TITLE = "running_total", "Running total, budget and the period before"
_DAY = timedelta(days=1)


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """A line for the period, one for that before it and, while its month goes on, one for what is
    expected; a month's limits.
    """
    rows = reading.rows(conn, COSTS)
    if not rows:
        return nothing(NAME, TITLE, QUERY, "No call was recorded in this period.")
    amount, lacking = priced(rows), unpriced(rows)
    total = Total(amount, "usd", usd(amount, lacking), lacking)
    if amount is None:
        return Figure(NAME, TITLE, QUERY, total, "No call in this period has a price.")
    period = reading.period
    first = period.first or date.fromisoformat(rows[-1]["day"])
    lines = [Line("this", period.words, _sums(rows, first, period.last, _now(reading)), lacking)]
    earlier = reading.earlier(conn)
    if isinstance(earlier, str):
        sentence = earlier
    else:
        if period.begins_with_a_day:  # else its days are not those of the period before
            lines.append(_line_before(reading, earlier))
        cost = usd(priced(earlier.compared) or 0, unpriced(earlier.compared))
        sentence = f"{earlier.words} cost {cost}."
    ahead = _look_ahead(reading, conn) if reading.is_month else _Ahead({}, [], "")
    lines += ahead.lines
    return Figure(
        NAME,
        TITLE,
        QUERY,
        total,
        ahead.sentence or sentence,
        rows=[
            *(row for line in lines for row in line.rows()),
            *(
                {"line": name, "at": None, "usd": limit, "low_usd": None, "high_usd": None}
                for name, limit in ahead.limits.items()
            ),
        ],
        table=_table(lines, ahead.limits),
        wide=as_json(spec(lines, ahead.limits, False)),
        narrow=as_json(spec(lines, ahead.limits, True)),
    )


# --- what was spent


def _sums(rows: Rows, first: date, last: date, now: datetime) -> list[Point]:
    """Sums at both ends of each day that has a call, and at the end of the last day, or now."""
    spent: dict[str, float] = defaultdict(float)
    for row in reversed(rows):
        spent[row["day"]] += row["cost_usd"] or 0
    points = [Point(_midnight(first), 0.0)]
    sum_so_far = 0.0
    for text, cost in spent.items():
        day = date.fromisoformat(text)
        start, end = _midnight(day), _end(day)
        if start > points[-1].at:
            points.append(Point(start, sum_so_far))
        sum_so_far += cost
        points.append(Point(now if start < now < end else end, sum_so_far))
    end = min(now, _end(last))
    if end > points[-1].at:
        points.append(Point(end, sum_so_far))
    return points


def _line_before(reading: Reading, earlier: Earlier) -> Line:
    """The period before as far into this one, and not beyond its end."""
    period, drawn = reading.period, earlier.drawn
    assert period.first is not None
    assert drawn.first is not None
    sums = _sums(earlier.costs, drawn.first, drawn.last, _now(reading))
    by = period.first - drawn.first
    end = _end(next_month(period.last) - _DAY if reading.is_month else period.last)
    moved = [Point(point.at + by, point.usd) for point in sums if point.at + by <= end]
    return Line("before", drawn.words, moved, unpriced(earlier.costs))


# --- what is to come


@dataclass(frozen=True)
class _Ahead:
    """`limits` in USD by what they are called; a line of what is expected, if it can be told."""

    limits: dict[str, float]
    lines: list[Line]
    sentence: str


def _look_ahead(reading: Reading, conn: sqlite3.Connection) -> _Ahead:
    """For a month: its limits, and where it goes unless it is over."""
    period = reading.period
    owner = ("profile", period.profile) if period.profile else EVERYONE
    fault = ""
    try:
        budget = load_budget(budget_path(reading.path))
    except BudgetFileError as error:
        budget, fault = NO_BUDGET, f" The limit is unknown: {error}."
    limit = budget.limit(*owner, "monthly")
    limits = {}
    if limit is not None:
        limits = {"limit": budget.hard_pct * limit, "soft limit": budget.soft_pct * limit}
    if not period.goes_on:
        return _Ahead(limits, [], fault.strip())
    zone = period.window.zone
    looked = outlook(conn, budget, owner, "monthly", zone, reading.now)
    if looked.projection is None:
        days = f"{looked.history_days} of the {LEAST_DAYS} complete days"
        return _Ahead(
            limits, [], f"There is no forecast yet: the ledger has {days} it needs.{fault}"
        )
    spent = looked.spend.spent
    points = [Point(_now(reading), spent, spent, spent)]
    for day, expected, (low, high) in zip(
        looked.projection.days, looked.projection.expected, looked.projection.band(), strict=True
    ):
        points.append(Point(_end(day), expected, low, high))
    line = Line(
        "expected",
        "expected, 4 in 5 cases in the band",
        points,
        looked.spend.unpriced_calls,
    )
    return _Ahead(limits, [line], f"{_expectation(looked, zone)}{fault}")


def _expectation(looked: Outlook, zone: str) -> str:
    said = looked.answer()
    low, high = usd(said["projected_low_usd"]), usd(said["projected_high_usd"])
    words = (
        f"{looked.today:%B} is expected to cost"
        f" {usd(said['projected_usd'], looked.spend.unpriced_calls)}"
        f" (4 in 5 cases: {low} to {high})"
    )
    hard = looked.verdict.hard
    if hard is None:
        return f"{words}; no limit is set."
    if looked.breach_at is None:
        return f"{words}, within the limit of {usd(hard)}."
    day = day_in_words(local_day(parse_timestamp(looked.breach_at), zone).isoformat())
    was = (
        "was reached on"
        if looked.breach_probability == 1 and _is_past(looked)
        else "is reached about"
    )
    return f"{words}; the limit of {usd(hard)} {was} {day}."


def _is_past(looked: Outlook) -> bool:
    return looked.breach_at is not None and parse_timestamp(looked.breach_at) <= looked.now


# --- words and times


def _table(lines: list[Line], limits: dict[str, float]) -> Table:
    rows = []
    for line in lines:
        end = line.points[-1]
        rows.append(Row((line.words, usd(end.usd, line.unpriced_calls))))
        if end.low is not None and end.high is not None:
            rows += [
                Row(("lowest of 4 in 5 cases", usd(end.low))),
                Row(("highest of 4 in 5 cases", usd(end.high))),
            ]
    rows += [Row((name, usd(limit))) for name, limit in limits.items()]
    return Table((("At its end", False), ("USD", True)), tuple(rows))


def _now(reading: Reading) -> datetime:
    """What clocks on the wall show now."""
    return reading.now.astimezone(time_zone(reading.period.window.zone)).replace(tzinfo=None)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)


def _end(day: date) -> datetime:
    """The midnight after a day; of the calendar's last day its last moment."""
    return datetime.max if day == date.max else _midnight(day + _DAY)
