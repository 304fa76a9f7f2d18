"""The projection, each figure worked out by hand from its formulas.

f(weekday) = (its sum in the history + 2a) / ((its days + 2) a), a the mean day
level      = spend of the last 14 days / their f
rest       = their spend from this time of the day on / their spend
projected  = spent + level f(today) rest + level f(each full day left)
"""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from hermes_telemetry.budget.forecast import (
    WEEKDAYS_ALIKE,
    WEEKDAYS_DIFFER,
    PastDay,
    Projection,
    burn_rate_projection,
    daily_spend_series,
    mean_daily_usd,
)


def before(today: date, days: int, usd: Callable[[date], float], rest: float) -> list[PastDay]:
    """A history of so many days, each with the share ``rest`` of its spend still to come."""
    past = (today - timedelta(days=number) for number in range(days, 0, -1))
    return [PastDay(day, usd(day), usd(day) * rest) for day in past]


def to(last: date, today: date) -> list[date]:
    return [today + timedelta(days=number) for number in range((last - today).days + 1)]


def projected(history: list[PastDay], spent: float, days_left: list[date]) -> Projection:
    projection = burn_rate_projection(history, spent, days_left)
    assert projection is not None
    return projection


JULY_31 = date(2026, 7, 31)


def test_of_equal_days_each_one_left_costs_the_same() -> None:
    today = date(2026, 7, 10)
    history = before(today, 56, lambda _: 10.0, rest=0.5)
    # f = (80 + 20) / (10 * 10) = 1. 9 days and a half are spent; 5 today and 21 days are to come.
    projection = projected(history, 95, to(JULY_31, today))
    assert projection.usd == pytest.approx(310)
    assert projection.interval == pytest.approx((310, 310))
    assert projection.expected[:2] == pytest.approx((100, 110))
    assert projection.method == WEEKDAYS_DIFFER
    assert mean_daily_usd(history) == pytest.approx(10)


def office(day: date) -> float:
    return 14.0 if day.weekday() < 5 else 0.0


def test_a_weekend_is_expected_to_be_as_cheap_as_weekends_are() -> None:
    friday = date(2026, 7, 24)
    history = before(friday, 56, office, rest=0.5)
    # a = 8 * 70 / 56 = 10; on a weekday f = (112 + 20) / 100 = 1.32, else f = (0 + 20) / 100 = 0.2.
    # level = 140 / (10 * 1.32 + 4 * 0.2) = 10. Half of Friday is left: 6.6; two days of 2, five of
    # 13.2.
    projection = projected(history, 100, to(JULY_31, friday))
    assert projection.expected == pytest.approx(
        (106.6, 108.6, 110.6, 123.8, 137, 150.2, 163.4, 176.6)
    )
    assert projection.usd == pytest.approx(176.6)


@pytest.mark.parametrize(
    ("rest", "spent"),
    [pytest.param(1, 29 * 8, id="at 01:00"), pytest.param(0, 30 * 8, id="at noon")],
)
def test_a_job_at_three_is_expected_before_it_ran_and_not_again_after(
    rest: float, spent: float
) -> None:
    today = date(2026, 7, 30)
    history = before(today, 56, lambda _: 8.0, rest)
    # Either way the month has 31 runs of 8.
    assert projected(history, spent, to(JULY_31, today)).usd == pytest.approx(248)


def test_spend_that_doubled_ten_days_ago_goes_on_between_the_old_and_the_new() -> None:
    wednesday = date(2026, 7, 29)
    since = wednesday - timedelta(days=10)  # a Sunday
    history = before(wednesday, 56, lambda day: 20.0 if day >= since else 10.0, rest=1)
    # a = (46 * 10 + 10 * 20) / 56 = 165/14. Sunday to Tuesday doubled twice, the others once:
    # f(Wed) = (90 + 165/7) / (10 * 165/14) = 159/165, f(Sun) = (100 + 165/7) / (825/7) = 173/165.
    # Two whole weeks of f are 14, so level = (4 * 10 + 10 * 20) / 14 = 120/7; three days of it,
    # Wednesday to Friday: 3 * 120/7 * 159/165 = 3816/77.
    projection = projected(history, 0, to(JULY_31, wednesday))
    assert projection.usd == pytest.approx(3816 / 77)
    assert mean_daily_usd(history) == pytest.approx(240 / 14)


def test_two_weeks_are_needed_to_tell_weekdays_apart() -> None:
    saturday = date(2026, 7, 25)
    known = before(saturday, 14, office, rest=1)
    # a = 10, f(Sat) = (0 + 20) / (4 * 10) = 0.5, of a weekday (28 + 20) / 40 = 1.2; so level is
    # 140 / (10 * 1.2 + 4 * 0.5) = 10.
    assert projected(known, 0, [saturday]).usd == pytest.approx(5)
    # Of the last 13, 10 are weekdays; all days count alike.
    unknown = projected(known[1:], 0, [saturday])
    assert unknown.usd == pytest.approx(10 * 14 / 13)
    assert unknown.method == WEEKDAYS_ALIKE


def test_three_days_are_needed_for_a_projection() -> None:
    today = date(2026, 7, 4)
    days = [PastDay(date(2026, 7, day), usd, usd / 2) for day, usd in ((1, 3), (2, 6), (3, 9))]
    # A mean day of 6: half of it today, one full day.
    assert projected(days, 20, to(date(2026, 7, 5), today)).usd == pytest.approx(20 + 3 + 6)
    assert burn_rate_projection(days[1:], 20, [today]) is None
    assert burn_rate_projection([], 20, [today]) is None
    assert mean_daily_usd([]) is None


def test_only_the_last_two_weeks_say_how_much_a_day_costs() -> None:
    today = date(2026, 7, 29)
    history = before(today, 56, lambda day: 1.0 if day >= today - timedelta(days=14) else 0.0, 1)
    # f is 1 for all weekdays, for each has two of the days that cost.
    assert projected(history, 0, [today]).usd == pytest.approx(1)


def test_where_nothing_was_spent_nothing_is_expected() -> None:
    today = date(2026, 7, 29)
    projection = projected(before(today, 56, lambda _: 0.0, 0), 5, to(JULY_31, today))
    assert (projection.usd, projection.interval) == (5, (5, 5))


@pytest.mark.parametrize(
    ("rest", "left", "expected"),
    [
        pytest.param(0.5, [date(2028, 2, 29)], 290, id="noon of 29 February"),
        pytest.param(1, to(date(2028, 2, 29), date(2028, 2, 28)), 305, id="as 28 February begins"),
        pytest.param(0, [date(2026, 7, 31)], 285, id="the month's last second"),
        pytest.param(0, [], 285, id="the window's end"),
    ],
)
def test_the_days_that_are_left_are_those_of_the_calendar(
    rest: float, left: list[date], expected: float
) -> None:
    today = left[0] if left else date(2026, 8, 1)
    history = before(today, 56, lambda _: 10.0, rest)
    assert projected(history, 285, left).usd == pytest.approx(expected)


def test_at_its_end_a_window_holds_what_was_spent() -> None:
    over = projected(before(date(2026, 8, 1), 56, office, 1), 7, [])
    assert (over.usd, over.interval, over.band()) == (7, (7, 7), [])
    assert over.share(lambda total: total >= 7) == 1
    assert over.share(lambda total: total >= 8) == 0


# --- how sure it is


def test_the_interval_and_the_chance_of_a_breach_are_those_of_the_draws() -> None:
    today = date(2026, 7, 4)
    days = [PastDay(date(2026, 7, day), usd, usd) for day, usd in ((1, 0.0), (2, 0.0), (3, 9.0))]
    projection = projected(days, 0, [today])
    # A total is the mean of three days drawn from {0, 0, 9} (0, 3, 6, 9 with 8, 12, 6, 1 in 27) and
    # a deviation drawn from {-3, -3, 6}. -3 in all comes in 2/3 * 8/27 = 20 % of draws: the 10th
    # percentile, and less than what is spent. 12 or more come in 1/3 * 7/27 = 9 %, 9 or more in
    # 1/3 * 19/27 = 23 %: the 90th is 9.
    assert projection.usd == pytest.approx(3)
    assert projection.interval == pytest.approx((0, 9))
    assert projection.share(lambda total: total >= 8.5) == pytest.approx(19 / 81, abs=0.03)
    assert projection.share(lambda total: total >= 0.5) == pytest.approx(
        2 / 3 * 7 / 27 + 1 / 3, abs=0.03
    )


def test_the_deviation_of_today_is_that_of_the_rest_of_a_day() -> None:
    today = date(2026, 7, 4)
    # All comes in the morning or all in the evening; a day is 8 whichever, and half is to come.
    days = [PastDay(date(2026, 6, day), 8, 8 * (day % 2)) for day in range(21, 29)]
    projection = projected(days, 0, [today])
    # Level 8 in every draw: 8 * 0.5 and a deviation of 4 or -4, one as often as the other.
    assert projection.usd == pytest.approx(4)
    assert projection.interval == pytest.approx((0, 8))
    assert projection.share(lambda total: total > 7) == pytest.approx(1 / 2, abs=0.04)


def test_the_interval_is_from_the_10th_to_the_90th_percentile() -> None:
    # Days of 7 with tails of 0 to 7: half of a day is to come, and a total is one of the tails.
    # Each is an eighth of the draws: 0 are the lowest 12.5 %, 7 the highest.
    days = [PastDay(date(2026, 7, day + 1), 7, day) for day in range(8)]
    assert projected(days, 0, [date(2026, 7, 9)]).interval == pytest.approx((0, 7))


def test_the_band_widens_day_by_day_to_the_interval() -> None:
    today = date(2026, 7, 25)
    history = before(today, 56, lambda day: float(day.day % 7), rest=0.3)
    projection = projected(history, 60, to(JULY_31, today))
    band = projection.band()
    assert band[-1] == pytest.approx(projection.interval)
    widths = [high - low for low, high in band]
    assert widths == sorted(widths)
    assert all(
        60 <= low <= expected <= high
        for (low, high), expected in zip(band, projection.expected, strict=True)
    )


def test_another_process_draws_the_same_figures() -> None:
    today = date(2026, 7, 25)
    history = before(today, 20, lambda day: float(day.day % 7), rest=0.3)
    interval = projected(history, 60, to(JULY_31, today)).interval
    there = f"""
import datetime
from hermes_telemetry.budget.forecast import PastDay, burn_rate_projection
print(burn_rate_projection({history!r}, 60, {to(JULY_31, today)!r}).interval)
"""
    printed = subprocess.run(
        [sys.executable, "-c", there], capture_output=True, text=True, check=True
    ).stdout
    assert printed == f"{interval}\n"


# --- when a limit is met


@pytest.mark.parametrize(
    ("limit", "meets"),
    [
        (95, datetime(2026, 7, 10, 12, tzinfo=UTC)),
        (100, datetime(2026, 7, 11, tzinfo=UTC)),
        (105, datetime(2026, 7, 11, 12, tzinfo=UTC)),
        (309, datetime(2026, 7, 31, 21, 36, tzinfo=UTC)),
        (310, None),
        (311, None),
    ],
)
def test_the_path_is_even_within_a_day_and_meets_a_limit_within_the_window(
    limit: float, meets: datetime | None
) -> None:
    now = datetime(2026, 7, 10, tzinfo=UTC)
    projection = projected(before(now.date(), 56, lambda _: 10.0, 1), 90, to(JULY_31, now.date()))
    # 10 a day from 90 on: 310 is met as August begins, which is another window.
    found = projection.meets(limit, now, "UTC")
    assert (found and found.replace(microsecond=0)) == meets


def test_a_day_of_23_hours_passes_faster() -> None:
    now = datetime(2026, 3, 28, 23, tzinfo=UTC)  # midnight in Madrid
    today = date(2026, 3, 29)
    projection = projected(before(today, 56, lambda _: 10.0, 1), 0, to(date(2026, 3, 31), today))
    # Half of 23 hours, and the end of the day.
    assert projection.meets(5, now, "Europe/Madrid") == datetime(2026, 3, 29, 10, 30, tzinfo=UTC)
    assert projection.meets(15, now, "Europe/Madrid") == datetime(2026, 3, 30, 10, tzinfo=UTC)


def test_a_limit_of_nothing_is_met_as_soon_as_something_is_expected() -> None:
    now = datetime(2026, 7, 10, 12, tzinfo=UTC)
    # The job has run today; the next one is on the 11th, at any time of the day.
    projection = projected(before(now.date(), 56, lambda _: 10.0, 0), 0, to(JULY_31, now.date()))
    assert projection.meets(0, now, "UTC") == datetime(2026, 7, 11, tzinfo=UTC)


# --- which days a projection learns from


def test_the_first_day_of_a_ledger_and_today_are_no_complete_days() -> None:
    spend = {date(2026, 7, day): (float(day), 1.0) for day in (1, 2, 4, 5)}
    assert daily_spend_series(spend, date(2026, 7, 1), date(2026, 7, 5)) == [
        PastDay(date(2026, 7, 2), 2, 1),
        PastDay(date(2026, 7, 3), 0, 0),
        PastDay(date(2026, 7, 4), 4, 1),
    ]


@pytest.mark.parametrize("first", [date(2026, 7, 5), date(2026, 7, 4), None])
def test_a_ledger_that_began_yesterday_or_today_has_no_complete_day(first: date | None) -> None:
    assert daily_spend_series({}, first, date(2026, 7, 5)) == []


def test_no_more_than_56_days_are_looked_at() -> None:
    series = daily_spend_series({}, date(2020, 1, 1), date(2026, 7, 31))
    assert (len(series), series[0].day, series[-1].day) == (56, date(2026, 6, 5), date(2026, 7, 30))
