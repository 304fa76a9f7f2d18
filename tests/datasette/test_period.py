"""The period of a page: what an address asks for, in words, and what it is compared with."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from hermes_telemetry_datasette.views.period import Period, presets, span

# 00:30 on Sunday 22 November 2026 in Madrid; still the 21st in UTC.
NOW = datetime(2026, 11, 22, 0, 30, tzinfo=ZoneInfo("Europe/Madrid"))


def asked(now: datetime = NOW, **given: str) -> Period:
    return Period.asked(given, "Europe/Madrid", now)


def days(period: Period | None) -> tuple[str, str] | None:
    return period and (str(period.first), str(period.last))


def test_without_a_word_it_is_this_month_until_today() -> None:
    period = asked()
    assert (period.since, period.until, period.profile) == ("2026-11-01", "2026-11-22", "")
    # Midnights in Madrid, an hour before those of UTC in winter.
    assert period.window.start.isoformat() == "2026-10-31T23:00:00+00:00"
    assert period.window.end.isoformat() == "2026-11-22T23:00:00+00:00"
    assert period.label == "1-22 November 2026, so far"
    assert period.days == 22


@pytest.mark.parametrize(
    ("given", "first", "last", "label"),
    [
        ({"since": "2026-10-01", "until": "2026-10-31"}, *("2026-10-01", "2026-10-31"))
        + ("1-31 October 2026",),
        ({"until": "2026-10-09"}, "2026-10-01", "2026-10-09", "1-9 October 2026"),
        ({"since": "2026-11-20"}, "2026-11-20", "2026-11-22", "20-22 November 2026, so far"),
        ({"since": "2026-11-22", "until": "2026-11-22"}, "2026-11-22", "2026-11-22")
        + ("22 November 2026, so far",),
        ({"since": "2026-10-24", "until": "2026-11-22"}, "2026-10-24", "2026-11-22")
        + ("24 October - 22 November 2026, so far",),
        ({"since": "2025-12-28", "until": "2026-01-03"}, "2025-12-28", "2026-01-03")
        + ("28 December 2025 - 3 January 2026",),
        ({"since": "all"}, "None", "2026-11-22", "all time to 22 November 2026, so far"),
        ({"since": "ALL", "until": "2026-05-01"}, "None", "2026-05-01", "all time to 1 May 2026"),
        # An end at midnight belongs to the day before it.
        ({"since": "2026-11-01", "until": "2026-11-10T23:00:00Z"}, "2026-11-01", "2026-11-10")
        + ("1-10 November 2026",),
        # Days that have not come yet do not count.
        ({"since": "2026-11-01", "until": "2026-11-30"}, "2026-11-01", "2026-11-22")
        + ("1-22 November 2026, so far",),
        # In Madrid it is the 22nd: a day that is named is carried on as its date.
        ({"since": "today"}, "2026-11-22", "2026-11-22", "22 November 2026, so far"),
        ({"since": "yesterday", "until": "yesterday"}, "2026-11-21", "2026-11-21")
        + ("21 November 2026",),
        ({"until": "yesterday"}, "2026-11-01", "2026-11-21", "1-21 November 2026"),
        # 48 hours before 00:30 of the 22nd.
        ({"since": "48h"}, "2026-11-20", "2026-11-22", "20-22 November 2026, so far"),
        ({"since": "2027-01-05"}, "2027-01-05", "2027-01-05", "5 January 2027"),
    ],
)
def test_an_address_says_which(given: dict[str, str], first: str, last: str, label: str) -> None:
    period = asked(**given)
    assert (days(period), period.label) == ((first, last), label)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"since": "tomorrow"}, "since: 'tomorrow' is neither a date"),
        ({"until": "30"}, "until: '30' is neither a date"),
        ({"since": "2026-11-02", "until": "2026-11-01"}, "until: '2026-11-01' lies before since"),
    ],
)
def test_a_period_that_is_none_is_refused_by_name(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        asked(**given)


@pytest.mark.parametrize(
    ("given", "before"),
    [
        # The same days of the month before.
        ({}, ("2026-10-01", "2026-10-22")),
        ({"since": "2026-10-01", "until": "2026-10-31"}, ("2026-09-01", "2026-09-30")),
        ({"since": "2026-03-01", "until": "2026-03-31"}, ("2026-02-01", "2026-02-28")),
        ({"since": "2026-01-01", "until": "2026-01-05"}, ("2025-12-01", "2025-12-05")),
        # As many days, up to the day before.
        ({"since": "2026-11-16", "until": "2026-11-22"}, ("2026-11-09", "2026-11-15")),
        ({"since": "2026-10-24", "until": "2026-11-22"}, ("2026-09-24", "2026-10-23")),
        ({"since": "2026-11-22", "until": "2026-11-22"}, ("2026-11-21", "2026-11-21")),
        ({"since": "2026-09-01", "until": "2026-10-31"}, ("2026-07-02", "2026-08-31")),
        ({"since": "yesterday", "until": "yesterday"}, ("2026-11-20", "2026-11-20")),
        ({"since": "all"}, None),
        ({"since": "7d"}, None),
        ({"since": "2026-11-20T10:00:00Z"}, None),
        ({"since": "0001-01-02", "until": "2026-11-22"}, None),
    ],
)
def test_it_is_compared_with(given: dict[str, str], before: tuple[str, str] | None) -> None:
    assert days(asked(**given).before()) == before


def test_what_it_is_compared_with_is_of_the_same_profile_and_zone() -> None:
    before = asked(profile=" work ").before()
    assert before is not None
    assert before.arguments == {"since": "2026-10-01", "until": "2026-10-22", "profile": "work"}
    # Midnight in Madrid, in summer.
    assert before.window.start.isoformat() == "2026-09-30T22:00:00+00:00"


def test_the_presets_are_those_of_the_readers_day() -> None:
    assert presets(date(2026, 3, 1)) == {
        "this month": {"since": "2026-03-01", "until": "2026-03-01"},
        "last month": {"since": "2026-02-01", "until": "2026-02-28"},
        "30 days": {"since": "2026-01-31", "until": "2026-03-01"},
        "7 days": {"since": "2026-02-23", "until": "2026-03-01"},
        "today": {"since": "2026-03-01", "until": "2026-03-01"},
    }


def test_json_says_it_as_dates() -> None:
    assert asked(since="all").said() == {
        "zone": "Europe/Madrid",
        "since": None,
        "until": "2026-11-22",
        "profile": None,
    }


def test_words_are_said_once() -> None:
    assert span(date(2026, 2, 3), date(2026, 2, 3)) == "3 February 2026"
