from datetime import date, timedelta

import pytest

from support.ledger import HandMadeLedger

LAST = date(2026, 6, 30)
"""The day that is judged; questions are asked on the day after."""


def spend(ledger: HandMadeLedger, before: list[float | None], last: float) -> None:
    """What the days before the last cost, the oldest first, and what the last did."""
    for back, usd in enumerate([last, *reversed(before)]):
        ledger.call("a", usd, f"{LAST - timedelta(days=back)}T12:00")


@pytest.mark.parametrize(
    ("before", "last", "is_one"),
    [
        # All alike: no deviation, so the floor of 20 % decides.
        ([1.0] * 28, 1.2, False),
        ([1.0] * 28, 1.25, True),
        # Median 8; the deviations are 0 and 1 by turns, their median 0.5: three are 1.5, and 20 %
        # are 1.6.
        ([8.0, 9.0, 8.0, 7.0] * 7, 9.6, False),
        ([8.0, 9.0, 8.0, 7.0] * 7, 9.625, True),
        # Median 8 of 4 and 12, deviations 4 and 4: three are 12.
        ([4.0, 12.0] * 14, 20.0, False),
        ([4.0, 12.0] * 14, 20.5, True),
        # Of an odd number it is the middle one: 4, with deviations of 0, 1, 1, 2, 2, 3, 3, so 2.
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 10.0, False),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 10.5, True),
        # One day far out moves neither.
        ([1.0] * 14 + [1000.0] + [1.0] * 13, 1.25, True),
        # Fewer than seven days judge none.
        ([1.0] * 6, 100.0, False),
        ([1.0] * 7, 100.0, True),
        # Free until then.
        ([0.0] * 7, 0.25, True),
        ([0.0] * 7, 0.0, False),
        # What is cheap is no anomaly.
        ([8.0] * 28, 0.25, False),
    ],
)
def test_a_day_that_cost_more_than_usual(
    before: list[float | None], last: float, is_one: bool, ledger: HandMadeLedger
) -> None:
    spend(ledger, before, last)
    days = ledger.ask("spend_anomalies", "day cost_usd", since=str(LAST))
    assert days == [(str(LAST), last)] * is_one


def test_equal_days_deviate_by_nothing(ledger: HandMadeLedger) -> None:
    # The same 0.3 a day, by turns in one call and in two: 0.1 + 0.2 is more in floats. The median
    # of twice seven days lies between, and so does the deviation of each from it.
    spend(ledger, [0.3, 0.1] * 7, 1.3)
    for back in range(1, 15, 2):
        ledger.call("a", 0.2, f"{LAST - timedelta(days=back)}T13:00")
    show = "over_usd deviation_usd"
    assert ledger.ask("spend_anomalies", show, since=str(LAST)) == [(1.0, 0.0)]


def test_a_row_says_what_is_usual(ledger: HandMadeLedger) -> None:
    spend(ledger, [4.0, 12.0] * 14, 32.0)
    ledger.call("a", None, f"{LAST}T13:00")
    ledger.call("a", None, f"{LAST - timedelta(days=3)}T13:00")
    assert ledger.ask("spend_anomalies", since=str(LAST)) == [
        (str(LAST), 32.0, 8.0, 24.0, 4.0, 28, 2, 1, 1)
    ]


def test_the_29th_day_before_is_too_long_ago(ledger: HandMadeLedger) -> None:
    spend(ledger, [1.0] * 28, 2.0)
    ledger.call("a", 64.0, f"{LAST - timedelta(days=29)}T12:00")
    columns = "median_usd deviation_usd history_days"
    assert ledger.ask("spend_anomalies", columns, since=str(LAST)) == [(1.0, 0.0, 28)]


def test_days_without_a_call_or_a_price_are_no_history(ledger: HandMadeLedger) -> None:
    # Seven days that cost something, spread over two weeks; were the others zeros, or left out of
    # seven, the median would be another.
    spend(ledger, [1.0, None] * 7, 2.0)
    columns = "median_usd history_days history_unpriced_calls"
    assert ledger.ask("spend_anomalies", columns) == [(1.0, 7, 0)]
    ledger.call("a", 1.0, f"{LAST - timedelta(days=20)}T12:00")
    assert ledger.ask("spend_anomalies", columns) == [(1.0, 8, 0)]


def test_history_lies_before_the_window_and_only_days_that_begin_in_it_are_judged(
    ledger: HandMadeLedger,
) -> None:
    spend(ledger, [1.0] * 20 + [4.0], 16.0)
    day_before = str(LAST - timedelta(days=1))
    judged = [
        [day for (day,) in ledger.ask("spend_anomalies", "day", **given)]
        for given in (
            {},
            {"since": "all"},
            {"since": str(LAST)},
            {"since": f"{LAST}T00:00:01Z"},
            {"until": day_before},
            # The day so far: its one call is at noon.
            {"until": f"{LAST}T11:00:00Z"},
            {"until": f"{LAST}T13:00:00Z"},
        )
    ]
    both = [str(LAST), day_before]
    assert judged == [both, both, [str(LAST)], [], [day_before], [day_before], both]


def test_days_are_local(ledger: HandMadeLedger) -> None:
    # Half past ten in the evening, UTC: in Madrid the next day has begun.
    for back in range(1, 9):
        ledger.call("a", 1.0, f"{LAST - timedelta(days=back)}T22:30")
    ledger.call("a", 0.75, f"{LAST}T21:00")
    columns = "day cost_usd history_days"
    assert ledger.ask("spend_anomalies", columns) == []
    assert ledger.ask("spend_anomalies", columns, "Europe/Madrid") == [("2026-06-30", 1.75, 7)]


def test_no_day_is_left_out_where_the_clocks_changed_in_between(ledger: HandMadeLedger) -> None:
    # Madrid set its clocks back on 26 October: days began at 22:00 UTC, and since then at 23:00.
    # 28 local days before 10 November that is half past midnight on 13 October.
    ledger.call("a", 1.0, "2025-10-12T22:30")
    for day in range(1, 28):
        ledger.call("a", 1.0, f"{date(2025, 10, 13) + timedelta(days=day)}T12:00")
    ledger.call("a", 2.0, "2025-11-10T12:00")
    given = {"since": "2025-11-10", "until": "2025-11-10"}
    assert ledger.ask("spend_anomalies", "history_days", "Europe/Madrid", **given) == [(28,)]


def test_a_profile_has_its_own_usual(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    spend(ledger, [1.0] * 10, 2.0)
    for back in range(1, 11):
        ledger.call("b", 8.0, f"{LAST - timedelta(days=back)}T12:00")
    assert ledger.ask("spend_anomalies", "day") == []
    assert ledger.ask("spend_anomalies", "median_usd", profile="work") == [(1.0,)]
