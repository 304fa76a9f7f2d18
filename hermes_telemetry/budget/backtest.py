"""How far off past projections would have been: each is made again, and compared with the spend."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta

from ..money import BEYOND_ALL_SUMS
from ..store.spend import Owner, first_day, span_of_day, spend_of
from .config import WindowName
from .forecast import burn_rate_projection, daily_spend_series, mean_daily_usd
from .verdicts import window_days

LEAST_DAYS_BEHIND = 28
_EVERY = 5
_LOOKS_BACK_DAYS = 730


@dataclass(frozen=True, slots=True)
class Backtest:
    """What came of ``count`` projections, made at every fifth local midnight.

    ``wape`` is the sum of the absolute errors over the sum of what was still to be spent (0 is
    exact), ``wape_ratio`` the same sum over that of the plain 14-day mean (below 1 is better than
    it), ``coverage`` the share, 0 to 1, of windows that ended within their 80 % interval. None
    where there is nothing to divide by.
    """

    count: int
    wape: float | None
    wape_ratio: float | None
    coverage: float | None


def backtest(
    spend: Mapping[date, float], first_recorded: date, today: date, window: WindowName
) -> Backtest:
    """Projects ``window`` (daily, monthly) from midnights that have 28 complete days behind them.

    ``spend`` is in USD per local day (a day that is not in it cost nothing), ``first_recorded`` the
    first day with a call. Only windows that were over when ``today`` began are counted.
    """
    at_midnight = {day: (usd, usd) for day, usd in spend.items()}
    count = covered = 0
    errors = errors_of_mean = to_come = 0.0
    origin = first_recorded + timedelta(days=1 + LEAST_DAYS_BEHIND)
    while origin < today:
        days = window_days(window, origin)
        history = daily_spend_series(at_midnight, first_recorded, origin)
        mean = mean_daily_usd(history)
        left = [day for day in days if day >= origin]
        spent = sum(spend.get(day, 0.0) for day in days if day < origin)
        came = sum(spend.get(day, 0.0) for day in left)
        if left[-1] < today and mean is not None and abs(spent + came) < BEYOND_ALL_SUMS:
            projection = burn_rate_projection(history, spent, left)
            assert projection is not None
            count += 1
            to_come += came
            errors += abs(projection.usd - spent - came)
            errors_of_mean += abs(mean * len(left) - came)
            low, high = projection.interval
            covered += low <= spent + came <= high
        origin += timedelta(days=_EVERY)
    return Backtest(
        count=count,
        wape=errors / to_come if to_come else None,
        wape_ratio=errors / errors_of_mean if errors_of_mean else None,
        coverage=covered / count if count else None,
    )


def backtest_of(
    conn: sqlite3.Connection, owner: Owner, window: WindowName, zone: str, today: date
) -> Backtest:
    """The backtest of what an owner spent in the last two years; ``today`` is the local day of now.

    Reads all of these days: about a second for a million calls.
    """
    days = [today - timedelta(days=number) for number in range(_LOOKS_BACK_DAYS, -1, -1)]
    found = spend_of(conn, owner, [span_of_day(day, zone, time.min) for day in days])
    spend = {days[place]: of_day.spend.spent for place, of_day in found.items()}
    first = first_day(conn, owner, spend, days[0], zone) or today
    return backtest(spend, first, today, window)
