"""What was spent, by the time of each call: whose it is, and on which day it lies.

Spend is asked for twice wherever both can tell: of the ledger, and of the running totals.
"""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from hermes_telemetry.store.spend import (
    EVERYONE,
    SCOPES,
    Owner,
    SpanSpend,
    Spend,
    first_day,
    has_call_before,
    running_sums,
    span_of,
    span_of_day,
    spend_of,
    spend_of_each,
    spent_between,
)
from hermes_telemetry.store.totals import Totals
from hermes_telemetry.windows import END, Clock, Window, bound, next_month, timestamp
from support.ledger import HandMadeLedger
from support.plain_spend import on_days, plain_spend
from support.random_ledger import scatter

MADRID = "Europe/Madrid"
NOTHING = Spend()
MICROSECOND = timedelta(microseconds=1)
# Of the calls of 1, 2, 4 … 128 USD around the bounds of a day and its month, on the day and in the
# month: 8 + 16 and 2 + … + 64, but for days at the month's own bounds.
INSIDE = (24.0, 126.0)
FIRST = (2.0 + 8 + 16, 2.0 + 8 + 16 + 32 + 64)
LAST = (8.0 + 16 + 64, 2.0 + 4 + 8 + 16 + 64)
JULY = ("2026-07-01T00:00:00", "2026-08-01T00:00:00")
EVER = bound(END)


@pytest.fixture
def conn(ledger: HandMadeLedger) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(ledger.path)) as conn:
        yield conn


def in_window(path: Path, owner: Owner, window: Window) -> Spend:
    with closing(sqlite3.connect(path)) as conn:
        return spent_between(conn, owner, bound(window.start), bound(window.end))


def daily(
    conn: sqlite3.Connection, owner: Owner, days: list[date], zone: str, from_time: time = time.min
) -> dict[date, SpanSpend]:
    """What an owner spent on each of these days; asked alone, and with everyone at once."""
    spans = [span_of_day(day, zone, from_time) for day in days]
    alone = spend_of(conn, owner, spans)
    assert spend_of_each(conn, spans).get(owner, {}) == alone
    return {days[place]: spend for place, spend in alone.items()}


def by_totals(path: Path, owner: Owner, first: date, last: date, zone: str = "UTC") -> Spend:
    """As a process knows it that was started at noon of the first day."""
    noon = datetime.combine(first, time(12), UTC)
    totals = Totals(path, zone, Clock(now=lambda: noon, monotonic=lambda: 0.0, sleep=print))
    assert totals.load()
    return totals.spend(*owner, first, last)


def month_of(day: date) -> list[date]:
    first = day.replace(day=1)
    return [first + timedelta(days=n) for n in range((next_month(first) - first).days)]


def test_a_session_of_nine_days_ago_costs_what_it_calls_for_today(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    ledger.run("long", "2026-06-22T08:00", sender_id="ann", profile="work")
    ledger.call("long", 3.0, "2026-06-22T08:01")
    for hour in range(8, 13):
        ledger.call("long", 2.0, f"2026-07-01T{hour:02}:00")
    today = date(2026, 7, 1)
    for owner in (EVERYONE, ("sender", "ann"), ("profile", "work")):
        expected = Spend(10.0, 10.0, calls=5)
        assert in_window(ledger.path, owner, Window.day(today, "UTC")) == expected
        assert by_totals(ledger.path, owner, today, today) == expected
        assert daily(conn, owner, [today], "UTC") == {today: SpanSpend(expected, 10.0)}


@pytest.mark.parametrize(
    ("zone", "day", "bounds", "on_day", "in_month"),
    [
        # The bounds in UTC: of the month, of the day, of the day, of the month.
        # 23 hours.
        (MADRID, "2026-03-29", "02-28T23:00 03-28T23:00 03-29T22:00 03-31T22:00", *INSIDE),
        # 25 hours.
        (MADRID, "2026-10-25", "09-30T22:00 10-24T22:00 10-25T23:00 10-31T23:00", *INSIDE),
        # The first day of its month: what begins the month, 2, begins the day.
        ("Asia/Kathmandu", "2026-07-01", "06-30T18:15 06-30T18:15 07-01T18:15 07-31T18:15", *FIRST),
        # Half an hour of summer time: 24.5 hours where it ends, 23.5 where it begins.
        (
            "Australia/Lord_Howe",
            "2026-04-05",
            "03-31T13:00 04-04T13:00 04-05T13:30 04-30T13:30",
            *INSIDE,
        ),
        (
            "Australia/Lord_Howe",
            "2026-10-04",
            "09-30T13:30 10-03T13:30 10-04T13:00 10-31T13:00",
            *INSIDE,
        ),
        (
            "America/New_York",
            "2026-03-08",
            "03-01T05:00 03-08T05:00 03-09T04:00 04-01T04:00",
            *INSIDE,
        ),
        (
            "America/New_York",
            "2026-11-01",
            "11-01T04:00 11-01T04:00 11-02T05:00 12-01T05:00",
            *FIRST,
        ),
        # The last day of its month: what ends the month, 64, ends the day.
        (MADRID, "2024-02-29", "01-31T23:00 02-28T23:00 02-29T23:00 02-29T23:00", *LAST),
    ],
)
def test_the_first_and_the_last_microsecond_of_a_day_and_of_a_month_land_right(
    zone: str, day: str, bounds: str, on_day: float, in_month: float, ledger: HandMadeLedger
) -> None:
    """Calls of 1 and 2, 4 and 8, 16 and 32, 64 and 128 USD: each pair ends before a bound and
    begins with it.
    """
    for place, text in enumerate(bounds.split()):
        moment = datetime.fromisoformat(f"{day[:5]}{text}").replace(tzinfo=UTC)
        ledger.call("s", 4.0**place, timestamp(moment - MICROSECOND))
        ledger.call("s", 2 * 4.0**place, timestamp(moment))

    today = date.fromisoformat(day)
    days = month_of(today)
    assert in_window(ledger.path, EVERYONE, Window.day(today, zone)).spent == on_day
    assert in_window(ledger.path, EVERYONE, Window.month(today, zone)).spent == in_month
    assert by_totals(ledger.path, EVERYONE, today, today, zone).spent == on_day
    assert by_totals(ledger.path, EVERYONE, days[0], days[-1], zone).spent == in_month
    one_by_one = [in_window(ledger.path, EVERYONE, Window.day(each, zone)) for each in days]
    assert sum(one_by_one, NOTHING).spent == in_month
    with closing(sqlite3.connect(ledger.path)) as conn:
        listed = daily(conn, EVERYONE, days, zone)
    assert {day: found.spend for day, found in listed.items()} == {
        day: spend for day, spend in zip(days, one_by_one, strict=True) if spend.calls
    }
    assert [by_totals(ledger.path, EVERYONE, each, each, zone) for each in days] == one_by_one


def test_times_without_a_fraction_lie_where_those_with_one_lie(ledger: HandMadeLedger) -> None:
    day = date(2026, 7, 1)
    for usd, ts in [
        (1.0, "2026-06-30T23:59:59+00:00"),
        (2.0, "2026-07-01T00:00:00+00:00"),
        (4.0, "2026-07-01T23:59:59+00:00"),
        (8.0, "2026-07-02T00:00:00+00:00"),
    ]:
        ledger.call("s", usd, ts)
    assert in_window(ledger.path, EVERYONE, Window.day(day, "UTC")).spent == 6.0
    assert by_totals(ledger.path, EVERYONE, day, day).spent == 6.0


def test_rows_that_nobody_can_place_in_time_are_of_no_day(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    for ts in ("", "yesterday", "+00:00", b"2026-07-01T12:00:00"):
        ledger.change("insert into llm_calls (session_id, ts, cost_usd) values ('s', ?, 1)", ts)
    assert not has_call_before(conn, EVERYONE, EVER)
    ledger.call("s", 2.0, "2026-07-03T12:00")
    month = month_of(date(2026, 7, 1))
    assert by_totals(ledger.path, EVERYONE, month[0], month[-1]).spent == 2.0
    assert spent_between(conn, EVERYONE, *JULY).spent == 2.0
    days = daily(conn, EVERYONE, month, "UTC")
    assert first_day(conn, EVERYONE, days, month[0], "UTC") == date(2026, 7, 3)


def test_what_is_known_of_the_calls_is_told_apart(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    ledger.call("s", 1.0)
    ledger.call("s", 2.0, estimated=1)
    ledger.call("s", None)
    # Another build may leave the column empty; what a provider is only assumed to cost is firm.
    ledger.call("s", 4.0, estimated=None)
    ledger.call("s", 8.0, provider_assumed=1)
    expected = Spend(15.0, firm=13.0, calls=5, estimated_calls=1, unpriced_calls=1)
    assert spent_between(conn, EVERYONE, *JULY) == expected
    assert by_totals(ledger.path, EVERYONE, date(2026, 7, 1), date(2026, 7, 1)) == expected


@pytest.fixture
def family(ledger: HandMadeLedger) -> HandMadeLedger:
    """A run of the job "nightly" of ann's, in the profile "work", and what it started."""
    ledger.run("run", cron_job_id="nightly", sender_id="ann", profile="work")
    ledger.run("child", cron_job_id="", sender_id="bob")
    ledger.edge("child", "run")
    # No run row of its own.
    ledger.edge("grandchild", "child")
    # Two that started each other, and one below them.
    ledger.run("one", profile="home")
    ledger.edge("one", "other")
    ledger.edge("other", "one")
    ledger.edge("lost", "one")
    # A parent that the ledger does not know is a root without traits.
    ledger.run("stray", sender_id="cy")
    ledger.edge("stray", "gone")
    names = ("run", "child", "grandchild", "one", "other", "lost", "stray")
    for power, session in enumerate(names):
        ledger.call(session, float(2**power))
    return ledger


@pytest.mark.parametrize(
    ("owner", "usd"),
    [
        (EVERYONE, 127.0),
        # 1 of the run, 2 of the child, 4 of the grandchild.
        (("cron_job", "nightly"), 7.0),
        (("profile", "work"), 7.0),
        # The child has a sender of its own; the grandchild's root is the run.
        (("sender", "ann"), 5.0),
        (("sender", "bob"), 2.0),
        # A cycle has no root: what hangs on it stands for itself.
        (("profile", "home"), 8.0),
        (("sender", "cy"), 64.0),
        (("sender", "nobody"), 0.0),
        (("sender", ""), 0.0),
    ],
)
def test_a_session_is_its_own_owners_else_its_roots(
    owner: Owner, usd: float, family: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    day = date(2026, 7, 1)
    assert spent_between(conn, owner, *JULY).spent == usd
    assert by_totals(family.path, owner, day, day).spent == usd
    listed = daily(conn, owner, [day], "UTC")
    assert (listed[day].spend.spent if listed else 0.0) == usd
    assert first_day(conn, owner, listed, day, "UTC") == (day if usd else None)
    assert has_call_before(conn, owner, EVER) == (usd > 0)
    sums = [spend.spent for _, spend in running_sums(conn, owner, *JULY)]
    assert sums[-1:] == ([usd] if usd else [])


def test_owners_are_those_that_called_in_the_span(
    family: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    family.run("older", sender_id="dee")
    family.call("older", 1.0, "2026-06-30T23:59:59")
    family.run("silent", sender_id="eve")
    july = span_of(Window.month(date(2026, 7, 1), "UTC"))
    assert sorted(spend_of_each(conn, [july])) == [
        ("cron_job", "nightly"),
        EVERYONE,
        ("profile", "home"),
        ("profile", "work"),
        ("sender", "ann"),
        ("sender", "bob"),
        ("sender", "cy"),
    ]


@pytest.mark.parametrize(
    "owner", [("host", "x"), ("", ""), ("global' or 1=1 --", ""), ("global", "x")]
)
def test_what_is_no_scope_is_refused(owner: Owner, conn: sqlite3.Connection) -> None:
    for ask in (
        lambda: spent_between(conn, owner, *JULY),
        lambda: has_call_before(conn, owner, EVER),
        lambda: next(running_sums(conn, owner, *JULY)),
    ):
        with pytest.raises(ValueError, match="not a scope"):
            ask()


@pytest.mark.parametrize("seed", range(6))
def test_every_owner_spends_what_a_plain_sum_says(
    seed: int, ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    scatter(ledger, random.Random(seed))
    first, last = date(2026, 6, 1), date(2026, 6, 30)
    plain = plain_spend(ledger.path, on_days(first, last, MADRID))
    window = Window.month(first, MADRID)
    within = bound(window.start), bound(window.end)
    assert {scope for scope, _ in plain} == set(SCOPES)
    each = spend_of_each(conn, [span_of(window)])
    assert {owner: spans[0].spend for owner, spans in each.items()} == plain
    for owner, spend in plain.items():
        assert spent_between(conn, owner, *within) == spend
        assert by_totals(ledger.path, owner, first, last, MADRID) == spend
        listed = daily(conn, owner, month_of(first), MADRID)
        assert sum((day.spend for day in listed.values()), NOTHING) == spend
        *_, (_, at_last) = running_sums(conn, owner, *within)
        assert at_last == spend


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("scope", "report", "columns"),
    [
        ("cron_job", "cron_attribution", "cron_job_id total_usd unpriced_calls"),
        ("sender", "cost_by_sender", "sender_id cost_usd unpriced_calls"),
        ("profile", "cost_by_profile", "profile cost_usd unpriced_calls"),
    ],
)
def test_an_owner_spends_what_its_report_says(
    scope: str, report: str, columns: str, seed: int, ledger: HandMadeLedger
) -> None:
    scatter(ledger, random.Random(seed))
    first, last = date(2026, 6, 1), date(2026, 6, 30)
    window = Window.month(first, MADRID)
    reported = ledger.ask(report, columns, MADRID, since=str(first), until=str(last))
    # What belongs to none has a row of its own, without an id.
    owners = [row for row in reported if row[0] is not None]
    assert len(owners) == 2
    for scope_id, usd, unpriced in owners:
        for spend in (
            in_window(ledger.path, (scope, scope_id), window),
            by_totals(ledger.path, (scope, scope_id), first, last, MADRID),
        ):
            assert (spend.spent, spend.unpriced_calls) == (usd, unpriced)


def test_the_tail_of_a_day_begins_at_a_time_on_the_wall(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    """Madrid is two hours ahead: 14:30 there is 12:30."""
    for usd, at in [(1.0, "2026-07-01T12:29:59.999999"), (2.0, "2026-07-01T12:30")]:
        ledger.call("s", usd, at)
    # The day of 23 hours: 02:00 is followed by 03:00, 01:00 in UTC.
    ledger.call("s", 4.0, "2026-03-29T00:59:59")
    ledger.call("s", 8.0, "2026-03-29T01:00")
    # The day of 25 hours has 02:30 twice, first at 00:30 in UTC.
    ledger.call("s", 16.0, "2026-10-25T00:29:59")
    ledger.call("s", 32.0, "2026-10-25T00:30")

    def tails(at: time) -> list[float]:
        days = [date(2026, 3, 29), date(2026, 7, 1), date(2026, 10, 25)]
        return [day.tail for day in daily(conn, EVERYONE, days, MADRID, at).values()]

    assert tails(time(14, 30)) == [0.0, 2.0, 0.0]
    assert tails(time(2, 30)) == [8.0, 3.0, 32.0]
    assert tails(time(0)) == [12.0, 3.0, 48.0]


def test_a_sum_grows_with_each_call_in_the_order_of_time(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    for usd, at, estimated in [
        (0.5, "2026-07-01T11:00", 0),
        (None, "2026-07-01T08:30", 0),
        (2.0, "2026-07-01T10:00", 1),
        (8.0, "2026-06-30T23:59:59", 0),
        (0.25, "2026-07-01T09:00", 0),
        (4.0, "2026-07-01T09:00", 0),
    ]:
        ledger.call("s", usd, at, estimated=estimated)
    assert [(ts[11:16], spend) for ts, spend in running_sums(conn, EVERYONE, *JULY)] == [
        ("08:30", Spend(calls=1, unpriced_calls=1)),
        # Two of one instant, in the order of their rows.
        ("09:00", Spend(0.25, 0.25, calls=2, unpriced_calls=1)),
        ("09:00", Spend(4.25, 4.25, calls=3, unpriced_calls=1)),
        ("10:00", Spend(6.25, 4.25, calls=4, estimated_calls=1, unpriced_calls=1)),
        ("11:00", Spend(6.75, 4.75, calls=5, estimated_calls=1, unpriced_calls=1)),
    ]


def test_nothing_was_spent_in_an_empty_ledger(
    ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    day = date(2026, 7, 1)
    for owner in (EVERYONE, *((scope, "x") for scope in SCOPES[1:])):
        assert spent_between(conn, owner, *JULY) == NOTHING
        assert daily(conn, owner, [day], "UTC") == {}
        assert first_day(conn, owner, [], day, "UTC") is None
        assert list(running_sums(conn, owner, *JULY)) == []
        assert by_totals(ledger.path, owner, day, day) == NOTHING


@pytest.mark.parametrize("owner", [EVERYONE, ("sender", "ann")])
def test_the_first_day_is_that_of_the_earliest_call_wherever_its_row_stands(
    owner: Owner, ledger: HandMadeLedger, conn: sqlite3.Connection
) -> None:
    ledger.run("s", sender_id="ann")
    ledger.edge("child", "s")
    ledger.call("s", 1.0, "2026-07-01T12:00")
    ledger.call("child", None, "2026-06-10T22:30")

    def first(since: date, zone: str) -> date | None:
        days = [since + timedelta(days=number) for number in range(30)]
        return first_day(conn, owner, daily(conn, owner, days, zone), since, zone)

    assert first(date(2026, 6, 5), "UTC") == date(2026, 6, 10)
    assert first(date(2026, 6, 5), MADRID) == date(2026, 6, 11)
    # Before the days that were asked for: the last one before them stands for it.
    assert first(date(2026, 6, 11), "UTC") == date(2026, 6, 10)
    assert first(date(2026, 6, 20), "UTC") == date(2026, 6, 19)
    assert first(date(2026, 6, 11), MADRID) == date(2026, 6, 11)
