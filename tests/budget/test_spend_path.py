"""The points that the budget page draws: what was spent, what is expected, the window before."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import pytest

from support.ledger import HandMadeLedger
from support.outlook import budget, path_of

EVERYONE = ("global", "")
KEYS = ["at", "spent_usd", "expected_usd", "low_usd", "high_usd", "previous_usd"]


def days(ledger: HandMadeLedger, first: date, last: date, usd: float, session: str = "s") -> None:
    for number in range((last - first).days + 1):
        ledger.call(session, usd, f"{first + timedelta(days=number)}T09:00")


def by_time(points: list[Mapping[str, Any]]) -> dict[str, tuple[float | None, ...]]:
    """The amounts of each point by its minute: spent, expected, low, high, previous."""
    assert all(list(point) == KEYS for point in points)
    times = [point["at"] for point in points]
    assert times == sorted(set(times))
    return {point["at"][:16]: tuple(point[key] for key in KEYS[1:]) for point in points}


def test_a_month_has_each_midnight_and_now(ledger: HandMadeLedger) -> None:
    days(ledger, date(2026, 1, 1), date(2026, 1, 31), 1.0)
    days(ledger, date(2026, 2, 1), date(2026, 2, 26), 2.0)
    points = by_time(path_of(ledger.path, "2026-02-26T12:00", EVERYONE, "monthly"))
    # 28 days, their beginning and now.
    assert len(points) == 30
    assert points["2026-02-01T00:00"] == (0, None, None, None, 0)
    assert points["2026-02-02T00:00"] == (2, None, None, None, 1)
    assert points["2026-02-26T00:00"] == (50, None, None, None, 25)
    # All comes at nine: nothing more today, a mean day of 2 on the 27th and the 28th.
    assert points["2026-02-26T12:00"] == (52, 52, 52, 52, None)
    for at, total, before in (
        ("2026-02-27T00:00", 52, 26),
        ("2026-02-28T00:00", 54, 27),
        ("2026-03-01T00:00", 56, 28),
    ):
        spent, *expected, previous = points[at]
        assert (spent, previous) == (None, before)
        # Two weekdays of the history had more days of 2 than others: f is not quite 1.
        assert expected == pytest.approx([total] * 3, abs=0.3)


def test_after_a_shorter_month_there_is_nothing_to_compare_with(ledger: HandMadeLedger) -> None:
    days(ledger, date(2026, 2, 1), date(2026, 3, 30), 1.0)
    points = by_time(path_of(ledger.path, "2026-03-30T12:00", EVERYONE, "monthly"))
    assert points["2026-03-29T00:00"] == (28, None, None, None, 28)
    assert points["2026-03-30T00:00"] == (29, None, None, None, None)
    assert points["2026-04-01T00:00"][1] == pytest.approx(31)


def test_a_day_has_each_of_its_hours_and_its_end(ledger: HandMadeLedger) -> None:
    # Madrid's 29 March has 23 hours, from 23:00 to 22:00 UTC; the day before had 24.
    days(ledger, date(2026, 3, 1), date(2026, 3, 29), 4.0)
    ledger.call("s", 1.0, "2026-03-29T11:30")
    points = by_time(path_of(ledger.path, "2026-03-29T12:30", EVERYONE, "daily", "Europe/Madrid"))
    assert len(points) == 25
    # On both days 09:00 UTC is in the 11th hour since midnight; today's ends at 10:00.
    assert points["2026-03-29T09:00"] == (0, None, None, None, 0)
    assert points["2026-03-29T10:00"] == (4, None, None, None, 4)
    assert points["2026-03-29T12:00"] == (5, None, None, None, 4)
    assert points["2026-03-29T12:30"] == (5, 5, 5, 5, None)
    assert points["2026-03-29T13:00"] == (None, None, None, None, 4)
    assert points["2026-03-29T22:00"] == (None, 5, 5, 5, 4)


def test_after_a_day_that_a_zone_left_out_there_is_nothing_to_compare_with(
    ledger: HandMadeLedger,
) -> None:
    # Samoa went from 29 to 31 December 2011, which began at 10:00 UTC of the 30th.
    days(ledger, date(2011, 12, 27), date(2011, 12, 30), 4.0)
    ledger.call("s", 1.0, "2011-12-30T11:00")
    points = by_time(path_of(ledger.path, "2011-12-30T12:00", EVERYONE, "daily", "Pacific/Apia"))
    assert points["2011-12-30T10:00"] == (0, None, None, None, None)
    assert points["2011-12-30T12:00"][0] == 1


def test_the_path_is_of_one_owner(ledger: HandMadeLedger) -> None:
    ledger.run("s", sender_id="ann")
    ledger.run("t", sender_id="bob")
    days(ledger, date(2026, 6, 1), date(2026, 7, 4), 1.0)
    days(ledger, date(2026, 6, 1), date(2026, 7, 4), 8.0, "t")
    limits = budget({"per_sender": {"default": {"daily_usd": 5, "monthly_usd": 50}}})
    for window in ("daily", "monthly"):
        points = by_time(
            path_of(ledger.path, "2026-07-04T12:00", ("sender", "ann"), window, limits=limits)
        )
        assert points["2026-07-04T12:00"][0] == (1 if window == "daily" else 4)
        assert points["2026-07-05T00:00"][4] == (1 if window == "daily" else 4)


def test_with_too_short_a_history_there_is_only_what_was_spent(ledger: HandMadeLedger) -> None:
    days(ledger, date(2026, 7, 1), date(2026, 7, 2), 1.0)
    points = by_time(path_of(ledger.path, "2026-07-02T12:00", EVERYONE, "monthly"))
    assert points["2026-07-02T00:00"] == (1, None, None, None, None)
    assert points["2026-07-02T12:00"] == (2, None, None, None, None)
    assert points["2026-08-01T00:00"] == (None, None, None, None, None)
