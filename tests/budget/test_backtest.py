"""The backtest: on spend whose end is known by hand, and on four kinds of generated history."""

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from statistics import fmean

import pytest

from hermes_telemetry.budget.backtest import Backtest, backtest

START, END = date(2025, 1, 1), date(2027, 1, 1)


def days(since: date, until: date) -> list[date]:
    return [since + timedelta(days=number) for number in range((until - since).days)]


# --- by hand


def test_equal_days_are_foreseen_exactly() -> None:
    came = backtest(
        dict.fromkeys(days(START, date(2025, 4, 1)), 10.0), START, date(2025, 4, 1), "monthly"
    )
    # 28 complete days after the first end on 29 January: origins on 30 January, 4, 9, 14, 19, 24
    # February, 1, 6, 11, 16, 21, 26, 31 March.
    assert came == Backtest(count=13, wape=pytest.approx(0), wape_ratio=None, coverage=1.0)


def test_the_error_is_counted_against_what_was_still_to_come() -> None:
    spend = dict.fromkeys(days(START, date(2025, 2, 4)), 10.0)
    spend |= {date(2025, 1, 30): 5.0, date(2025, 1, 31): 5.0}
    # One month is over: on 30 January two days of 10 are foreseen where two of 5 came.
    came = backtest(spend, START, date(2025, 2, 4), "monthly")
    assert came == Backtest(count=1, wape=1.0, wape_ratio=1.0, coverage=0.0)
    # The day of 30 January, foreseen as 10, cost 5.
    assert backtest(spend, START, date(2025, 2, 4), "daily") == came


@pytest.mark.parametrize(
    ("today", "window", "count"),
    [
        pytest.param(date(2025, 1, 30), "daily", 0, id="27 days behind yesterday"),
        pytest.param(date(2025, 1, 31), "daily", 1, id="one day to look at"),
        pytest.param(date(2025, 2, 4), "daily", 1, id="the fifth after it is not over"),
        pytest.param(date(2025, 2, 5), "daily", 2, id="the fifth after it"),
        pytest.param(date(2025, 1, 31), "monthly", 0, id="a month that is not over"),
        pytest.param(date(2025, 2, 1), "monthly", 1, id="a month that is"),
    ],
)
def test_only_windows_that_are_over_count_and_28_days_come_before(
    today: date, window: str, count: int
) -> None:
    spend = dict.fromkeys(days(START, today), 10.0)
    assert backtest(spend, START, today, window).count == count  # type: ignore[arg-type]


def test_where_nothing_came_there_is_no_share_of_it() -> None:
    came = backtest({START: 1.0}, START, date(2025, 4, 1), "daily")
    assert (came.wape, came.wape_ratio, came.coverage) == (None, None, 1.0)


# --- on generated histories


def flat(chance: Random, _: date) -> float:
    return chance.uniform(8, 12)


def weekly(chance: Random, day: date) -> float:
    """An office: little on a Saturday, less on a Sunday."""
    return chance.uniform(0.8, 1.2) * (10, 10, 10, 10, 10, 2, 1)[day.weekday()]


def bursty(chance: Random, _: date) -> float:
    """Cents on most days, tens of dollars on one of three."""
    return chance.lognormvariate(2.5, 1) if chance.random() < 1 / 3 else chance.uniform(0, 1)


def doubled(chance: Random, day: date) -> float:
    return weekly(chance, day) * (2 if day >= END - timedelta(days=10) else 1)


@pytest.mark.parametrize(
    ("spend_of", "ratio", "least_covered", "most_covered"),
    [
        pytest.param(flat, 1.02, 0.65, 0.95, id="flat"),
        pytest.param(weekly, 0.85, 0.65, 0.95, id="weekly"),
        pytest.param(bursty, 1.02, 0.55, 1.0, id="bursty"),
        pytest.param(doubled, 1.0, 0.55, 1.0, id="doubled ten days ago"),
    ],
)
def test_projections_of_months_beat_the_plain_mean_where_there_is_a_rhythm(
    spend_of: Callable[[Random, date], float],
    ratio: float,
    least_covered: float,
    most_covered: float,
) -> None:
    ratios, covered = [], []
    for seed in range(3):  # one history alone says little: its luck moves each figure by a tenth
        chance = Random(seed)
        spend = {day: spend_of(chance, day) for day in days(START, END)}
        came = backtest(spend, START, END, "monthly")
        assert came.count == 141  # 30 January 2025 to 31 December 2026
        assert came.wape_ratio is not None
        assert came.coverage is not None
        ratios.append(came.wape_ratio)
        covered.append(came.coverage)
    assert fmean(ratios) <= ratio
    assert least_covered <= fmean(covered) <= most_covered
