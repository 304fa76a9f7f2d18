"""How the spend of a window grew and how it is expected to grow, for a chart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import Any

from ..store.spend import span_of, spend_of
from ..windows import Window, timestamp
from .answers import Outlook
from .verdicts import window_days


@dataclass(slots=True)
class _Point:
    spent_usd: float | None = None
    expected_usd: float | None = None
    low_usd: float | None = None
    high_usd: float | None = None
    previous_usd: float | None = None


def spend_path(conn: sqlite3.Connection, outlook: Outlook) -> list[dict[str, Any]]:
    """The points of the chart in the order of ``at`` (UTC), all sums of USD since the start.

    Up to now there is ``spent_usd``; from now on ``expected_usd`` with the 80 % band ``low_usd`` to
    ``high_usd``; ``previous_usd`` is the window before, as far into it. None where there is nothing
    to say. A month has a point at each local midnight, a day at each full hour of its own; both
    have one at their start, now and at their end.
    """
    days = window_days(outlook.window, outlook.today)
    spent = _sums(conn, outlook, days)
    before = _sums(conn, outlook, window_days(outlook.window, days[0] - timedelta(days=1)))
    start = Window.day(days[0], outlook.zone).start
    # Nothing at all is more often a ledger that had not begun than a window that was free.
    previous = iter([0.0, *before.values()] if any(before.values()) else [])
    points = {start: _Point(spent_usd=0.0, previous_usd=next(previous, None))}
    for at, so_far in spent.items():
        points[at] = _Point(
            spent_usd=so_far if at <= outlook.now else None, previous_usd=next(previous, None)
        )
    now = points.setdefault(outlook.now, _Point())
    now.spent_usd = outlook.spend.spent
    if outlook.projection is not None:
        now.expected_usd = now.low_usd = now.high_usd = outlook.spend.spent
        for day, expected, (low, high) in zip(
            outlook.projection.days,
            outlook.projection.expected,
            outlook.projection.band(),
            strict=True,
        ):
            point = points[Window.day(day, outlook.zone).end]
            point.expected_usd, point.low_usd, point.high_usd = expected, low, high
    return [
        {
            "at": timestamp(at),
            "spent_usd": point.spent_usd,
            "expected_usd": point.expected_usd,
            "low_usd": point.low_usd,
            "high_usd": point.high_usd,
            "previous_usd": point.previous_usd,
        }
        for at, point in sorted(points.items())
    ]


def _sums(
    conn: sqlite3.Connection, outlook: Outlook, days: Sequence[date]
) -> dict[datetime, float]:
    """What was spent from the first of ``days`` to the end of each part, USD, by that end."""
    parts = [Window.day(day, outlook.zone) for day in days]
    if outlook.window == "monthly":
        usd = [outlook.days[day].spend.spent if day in outlook.days else 0.0 for day in days]
    else:
        parts = [hour for day in parts for hour in _hours(day)]
        spent = spend_of(conn, outlook.owner, [span_of(part) for part in parts])
        usd = [spent[n].spend.spent if n in spent else 0.0 for n in range(len(parts))]
    return dict(zip((part.end for part in parts), accumulate(usd), strict=True))


def _hours(day: Window) -> Iterator[Window]:
    start = day.start
    while start < day.end:
        end = min(start + timedelta(hours=1), day.end)
        yield Window(start, end, day.zone)
        start = end
