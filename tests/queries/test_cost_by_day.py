"""cost_by_day and cost_by_day_and_model: local days, window bounds, profiles."""

import pytest

from support.ledger import HandMadeLedger
from support.rows import insert

DAY = "day cost_usd calls"


def test_each_day_adds_up_its_calls_newest_first(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5, "2026-06-29T10:00", tokens_in=10, tokens_out=1, cache_read_tokens=100)
    ledger.call("b", 0.25, "2026-06-29T11:00", tokens_in=20, tokens_out=2, cache_read_tokens=200)
    ledger.call("a", 1.0, "2026-07-01T09:00", tokens_in=40, tokens_out=4, cache_read_tokens=400)
    assert ledger.ask("cost_by_day") == [
        ("2026-07-01", 1.0, 1, 40, 4, 400, 0),
        ("2026-06-29", 0.75, 2, 30, 3, 300, 0),
    ]


def test_calls_without_a_price_are_counted_and_a_day_of_them_has_no_cost(
    ledger: HandMadeLedger,
) -> None:
    ledger.call("a", 0.5, "2026-06-29T10:00")
    ledger.call("a", None, "2026-06-29T10:01")
    ledger.call("a", None, "2026-06-30T10:00")
    ledger.call("a", 0.0, "2026-07-01T10:00")
    assert ledger.ask("cost_by_day", "day cost_usd calls unpriced_calls") == [
        ("2026-07-01", 0.0, 1, 0),
        ("2026-06-30", None, 1, 1),
        ("2026-06-29", 0.5, 2, 1),
    ]


# --- bounds


@pytest.mark.parametrize(
    ("last_before", "first", "last", "first_after", "zone", "day"),
    [
        pytest.param(
            "2026-03-28T22:59:59.999999",
            "2026-03-28T23:00:00",
            "2026-03-29T21:59:59.999999",
            "2026-03-29T22:00:00",
            "Europe/Madrid",
            "2026-03-29",
            id="23 hours in Madrid",
        ),
        pytest.param(
            "2026-10-24T21:59:59.999999",
            "2026-10-24T22:00:00",
            "2026-10-25T22:59:59.999999",
            "2026-10-25T23:00:00",
            "Europe/Madrid",
            "2026-10-25",
            id="25 hours in Madrid",
        ),
        pytest.param(
            "2026-06-30T18:14:59.999999",
            "2026-06-30T18:15:00",
            "2026-07-01T18:14:59.999999",
            "2026-07-01T18:15:00",
            "Asia/Kathmandu",
            "2026-07-01",
            id="a quarter of an hour in Kathmandu",
        ),
        pytest.param(
            "2026-03-08T04:59:59.999999",
            "2026-03-08T05:00:00",
            "2026-03-09T03:59:59.999999",
            "2026-03-09T04:00:00",
            "America/New_York",
            "2026-03-08",
            id="23 hours in New York",
        ),
        pytest.param(
            "2018-11-04T02:59:59.999999",
            "2018-11-04T03:00:00",
            "2018-11-05T01:59:59.999999",
            "2018-11-05T02:00:00",
            "America/Sao_Paulo",
            "2018-11-04",
            id="no midnight in Sao Paulo",
        ),
        pytest.param(
            "2026-04-23T21:59:59.999999",
            "2026-04-23T22:00:00",
            "2026-04-24T20:59:59.999999",
            "2026-04-24T21:00:00",
            "Africa/Cairo",
            "2026-04-24",
            id="no midnight in Cairo",
        ),
    ],
)
def test_a_local_day_is_exact_to_the_microsecond(
    ledger: HandMadeLedger,
    last_before: str,
    first: str,
    last: str,
    first_after: str,
    zone: str,
    day: str,
) -> None:
    ledger.call("a", 1.0, last_before)
    ledger.call("a", 2.0, first)
    ledger.call("a", 4.0, last)
    ledger.call("a", 8.0, first_after)
    assert [cost for _, cost, _ in ledger.ask("cost_by_day", DAY, zone, since="all")] == [
        8.0,
        6.0,
        1.0,
    ]
    # As since and until, the day takes in the same two calls.
    assert ledger.ask("cost_by_day", DAY, zone, since=day, until=day) == [(day, 6.0, 2)]
    assert ledger.ask("cost_by_model", "cost_usd", zone, since=day, until=day) == [(6.0,)]


def test_instants_are_half_open_and_may_carry_an_offset(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-30T09:59:59.999999")
    ledger.call("a", 2.0, "2026-06-30T10:00:00")
    ledger.call("a", 4.0, "2026-06-30T10:59:59.999999")
    ledger.call("a", 8.0, "2026-06-30T11:00:00")
    for since, until in [
        ("2026-06-30T10:00:00Z", "2026-06-30T11:00:00Z"),
        ("2026-06-30T10:00", "2026-06-30T11:00"),
        ("2026-06-30T12:00:00+02:00", "2026-06-30T06:30:00-04:30"),
    ]:
        assert ledger.ask("cost_by_day", DAY, since=since, until=until) == [("2026-06-30", 6.0, 2)]


def test_timestamps_without_a_fraction_are_bounded_alike(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-30T09:59:59+00:00")
    ledger.call("a", 2.0, "2026-06-30T10:00:00+00:00")
    ledger.call("a", 4.0, "2026-06-30T11:00:00+00:00")
    assert ledger.ask(
        "cost_by_day", DAY, since="2026-06-30T10:00:00Z", until="2026-06-30T11:00:00Z"
    ) == [("2026-06-30", 2.0, 1)]


def test_a_window_cuts_its_first_and_last_day(ledger: HandMadeLedger) -> None:
    for hour in ("2026-06-29T08:00", "2026-06-29T20:00", "2026-06-30T08:00", "2026-06-30T20:00"):
        ledger.call("a", 1.0, hour)
    assert ledger.ask(
        "cost_by_day", DAY, since="2026-06-29T12:00:00Z", until="2026-06-30T12:00:00Z"
    ) == [("2026-06-30", 1.0, 1), ("2026-06-29", 1.0, 1)]


def test_nothing_said_means_the_last_thirty_local_days(ledger: HandMadeLedger) -> None:
    """At noon of 1 July UTC it is 1 July in Madrid too; 2 June there begins at 22:00 UTC."""
    ledger.call("a", 1.0, "2026-06-01T21:59:59.999999")
    ledger.call("a", 2.0, "2026-06-01T22:00:00")
    ledger.call("a", 4.0, "2026-07-01T11:59:59")
    assert ledger.ask("cost_by_day", DAY, "Europe/Madrid") == [
        ("2026-07-01", 4.0, 1),
        ("2026-06-02", 2.0, 1),
    ]


def test_all_lifts_the_default_window(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2019-02-03T10:00")
    ledger.call("a", 2.0, "2026-07-01T10:00")
    assert ledger.ask("cost_by_day", DAY, since="all") == [
        ("2026-07-01", 2.0, 1),
        ("2019-02-03", 1.0, 1),
    ]
    assert ledger.ask("cost_by_day", DAY, since="all", until="2019-02-03") == [
        ("2019-02-03", 1.0, 1)
    ]


def test_calls_from_a_clock_that_ran_ahead_are_shown(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-07-02T10:00")
    ledger.call("a", 2.0, "9998-12-31T10:00")
    assert ledger.ask("cost_by_day", DAY) == [("9998-12-31", 2.0, 1), ("2026-07-02", 1.0, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-15T10:00:00.123456 +00:00x",
        "2026-06-15",
        "2026-06-15 24:99",
        "2026-06-15\U0010ffff\U0010ffff",
        "2026-06-99T10:00",
        "2026-06-1",
        "2026-06",
        # SQLite's date() would read this as a Julian day.
        "2451545.50",
        "x",
    ],
)
def test_a_time_that_cannot_be_read_hides_no_other_day(ledger: HandMadeLedger, text: str) -> None:
    for at in ("2026-06-10T10:00", "2026-06-15T11:00", "2026-07-01T10:00"):
        ledger.call("a", 1.0, at)
        ledger.failure("a", at)
    for table in ("llm_calls", "llm_call_errors"):
        insert(ledger.path, table, session_id="a", ts=text)
    for query in ("cost_by_day", "cost_by_day_and_model", "failed_attempts"):
        for since in ("2026-06-05", "all"):
            days = {day for (day,) in ledger.ask(query, "day", since=since)}
            assert {"2026-06-10", "2026-06-15", "2026-07-01"} <= days


def test_a_time_of_which_the_day_can_be_read_counts_on_that_day(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-10T10:00")
    insert(ledger.path, "llm_calls", session_id="a", ts="2026-06-15T1x", cost_usd=2.0)
    ledger.call("a", 4.0, "2026-06-20T10:00")
    assert ledger.ask("cost_by_day", DAY) == [
        ("2026-06-20", 4.0, 1),
        ("2026-06-15", 2.0, 1),
        ("2026-06-10", 1.0, 1),
    ]


def test_the_calendars_first_and_last_day_are_days(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "0001-01-01T10:00")
    ledger.call("a", 2.0, "9999-12-31T10:00")
    for zone in ("UTC", "Europe/Madrid", "America/New_York"):
        assert ledger.ask("cost_by_day", DAY, zone, since="all") == [
            ("9999-12-31", 2.0, 1),
            ("0001-01-01", 1.0, 1),
        ]


def test_an_empty_ledger_has_no_days(ledger: HandMadeLedger) -> None:
    for since in ("", "all", "2026-06-01"):
        assert ledger.ask("cost_by_day", since=since) == []
        assert ledger.ask("cost_by_day_and_model", since=since) == []


# --- profiles


def profiles(ledger: HandMadeLedger) -> None:
    """Two roots, with subagents that have no profile, an empty one, and another one."""
    ledger.run("home", profile="home")
    ledger.run("work", profile="work")
    ledger.run("silent")
    ledger.run("empty", profile="")
    ledger.run("below", profile=None)
    ledger.run("visitor", profile="home")
    ledger.edge("silent", "work")
    ledger.edge("empty", "work")
    ledger.edge("visitor", "work")
    ledger.edge("below", "visitor")
    costs = {"home": 1.0, "work": 2.0, "silent": 4.0, "empty": 8.0, "visitor": 16.0, "below": 32.0}
    for session, usd in costs.items():
        ledger.call(session, usd)
    ledger.call("nobody", 64.0)


def test_a_profile_takes_in_the_subagents_that_have_none(ledger: HandMadeLedger) -> None:
    profiles(ledger)
    # work: itself, silent, empty, and below, whose root it is; visitor has a profile of its own.
    assert ledger.ask("cost_by_day", "cost_usd calls", profile="work") == [(46.0, 4)]
    assert ledger.ask("cost_by_day", "cost_usd calls", profile="home") == [(17.0, 2)]
    assert ledger.ask("cost_by_day", "cost_usd calls", profile="absent") == []
    assert ledger.ask("cost_by_day", "cost_usd calls") == [(127.0, 7)]


def test_sessions_in_a_cycle_have_their_own_profile_and_no_other(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b")
    ledger.edge("a", "b")
    ledger.edge("b", "a")
    ledger.call("a", 1.0)
    ledger.call("b", 2.0)
    assert ledger.ask("cost_by_day", "cost_usd", profile="work") == [(1.0,)]


# --- by model


def test_days_are_split_by_model_and_provider_dearest_first(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5, "2026-06-30T10:00", model="small", provider="x")
    ledger.call("a", 0.25, "2026-06-30T11:00", model="small", provider="x")
    ledger.call("a", 4.0, "2026-06-30T12:00", model="large", provider="x")
    ledger.call("a", 1.0, "2026-06-30T13:00", model="small", provider="y")
    ledger.call("a", None, "2026-06-30T14:00", model="odd", provider=None)
    ledger.call("a", 2.0, "2026-07-01T10:00", model="small", provider="x")
    assert ledger.ask("cost_by_day_and_model") == [
        ("2026-07-01", 2.0, "small", "x", 1, 0),
        ("2026-06-30", 4.0, "large", "x", 1, 0),
        ("2026-06-30", 1.0, "small", "y", 1, 0),
        ("2026-06-30", 0.75, "small", "x", 2, 0),
        ("2026-06-30", None, "odd", None, 1, 1),
    ]
