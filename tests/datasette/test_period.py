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
        # 48 hours before 00:30 of the 22nd: a part of its first day is all that belongs to it.
        ({"since": "48h"}, *("2026-11-20", "2026-11-22"))
        + ("20 November 2026 00:30 - 22 November 2026, so far",),
        # 24 hours before 00:30, which is 23:30 in UTC; 20:00 and 22:30 in UTC are 21:00 and 23:30.
        ({"since": "24h", "until": "2026-11-21T20:00:00Z"}, "2026-11-21", "2026-11-21")
        + ("21 November 2026, 00:30-21:00",),
        ({"since": "2026-11-21T22:30:00Z", "until": "yesterday"}, "2026-11-21", "2026-11-21")
        + ("21 November 2026 from 23:30",),
        ({"since": "yesterday", "until": "2026-11-21T20:00:00Z"}, "2026-11-21", "2026-11-21")
        + ("21 November 2026 until 21:00",),
        ({"since": "2026-11-03", "until": "2026-11-21T20:00:00Z"}, "2026-11-03", "2026-11-21")
        + ("3-21 November 2026 until 21:00",),
        ({"since": "2026-11-03T04:05Z", "until": "2026-11-21T20:00:00Z"}, *("2026-11-03",))
        + ("2026-11-21", "3 November 2026 05:05 - 21 November 2026 21:00"),
        # It is the 22nd, but its first hour has an end that is past.
        ({"since": "today", "until": "2026-11-21T23:10:00Z"}, "2026-11-22", "2026-11-22")
        + ("22 November 2026 until 00:10",),
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
        ({"since": "1h", "until": "2h"}, "until: '2h' lies before since: '1h'"),
        ({"since": "2027-01-05"}, "since: '2027-01-05' lies in the future: give a day up to today"),
        ({"since": "2026-11-21T23:30:01Z"}, "lies in the future: .* today, 2026-11-22"),
    ],
)
def test_a_period_that_is_none_is_refused_by_name(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        asked(**given)


@pytest.mark.parametrize(
    ("given", "before"),
    [
        # The same days of the month before; of today only its first half hour is over.
        ({}, "1-22 October 2026 until 00:30"),
        ({"until": "yesterday"}, "1-21 October 2026"),
        ({"since": "2026-10-01", "until": "2026-10-31"}, "1-30 September 2026"),
        ({"since": "2026-03-01", "until": "2026-03-31"}, "1-28 February 2026"),
        ({"since": "2026-01-01", "until": "2026-01-05"}, "1-5 December 2025"),
        # 12:00 in UTC is 13:00 in Madrid in winter.
        ({"since": "2026-11-01", "until": "2026-11-09T12:00Z"}, "1-9 October 2026 until 13:00"),
        # As many days, up to the day before, and no farther into its last one.
        ({"since": "2026-11-16", "until": "2026-11-22"}, "9-15 November 2026 until 00:30"),
        ({"since": "2026-11-16"}, "9-15 November 2026 until 00:30"),
        ({"since": "2026-11-15", "until": "2026-11-21"}, "8-14 November 2026"),
        ({"since": "2026-10-24"}, "24 September - 23 October 2026 until 00:30"),
        ({"since": "2026-11-22", "until": "2026-11-22"}, "21 November 2026 until 00:30"),
        ({"since": "2026-09-01", "until": "2026-10-31"}, "2 July - 31 August 2026"),
        ({"since": "yesterday", "until": "yesterday"}, "20 November 2026"),
        # As many hours: seven days before 00:30, and seven before that.
        ({"since": "7d"}, "8 November 2026 00:30 - 15 November 2026 00:30"),
        ({"since": "12h"}, "21 November 2026, 00:30-12:30"),
        ({"since": "12h", "until": "6h"}, "21 November 2026, 06:30-12:30"),
        # From 11:00 of the 20th on it is 37 and a half hours: before that they began at 21:30.
        ({"since": "2026-11-20T10:00:00Z"}, "18 November 2026 21:30 - 20 November 2026 11:00"),
        ({"since": "all"}, None),
        ({"since": "0h"}, None),
        ({"since": "0001-01-02", "until": "2026-11-22"}, None),
        ({"since": "1000-01-01"}, None),
        ({"since": "1000-01-01T01:00"}, None),
    ],
)
def test_it_is_compared_with(given: dict[str, str], before: str | None) -> None:
    found = asked(**given).before()
    assert (found and found.words) == before


def test_a_month_longer_than_the_one_before_is_compared_with_all_of_that() -> None:
    noon = datetime(2026, 3, 30, 12, tzinfo=ZoneInfo("Europe/Madrid"))
    before = asked(noon).before()
    assert (before and before.words) == "1-28 February 2026"


def test_of_a_day_with_another_length_it_takes_as_much_by_the_clock() -> None:
    # On 25 October 2026 clocks in Madrid are put back at 3:00: noon is 13 hours after midnight.
    noon = datetime(2026, 10, 26, 12, tzinfo=ZoneInfo("Europe/Madrid"))
    before = asked(noon, since="today").before()
    assert before is not None
    assert before.window.start.isoformat() == "2026-10-24T22:00:00+00:00"
    assert before.window.end.isoformat() == "2026-10-25T11:00:00+00:00"
    # On 29 March there is no 2:30: at that time it was 3:00, two hours after midnight.
    early = datetime(2026, 3, 30, 2, 30, tzinfo=ZoneInfo("Europe/Madrid"))
    before = asked(early, since="today").before()
    assert before is not None
    assert before.window.end.isoformat() == "2026-03-29T01:00:00+00:00"


def test_what_it_is_compared_with_can_be_asked_for() -> None:
    for given in ({}, {"since": "7d"}, {"since": "yesterday", "until": "2026-11-21T20:00:00Z"}):
        before = asked(**given).before()
        assert before is not None
        assert asked(**before.arguments) == before


def test_an_age_is_carried_on_as_an_instant_of_a_full_minute() -> None:
    # 00:30:59 in Madrid is 23:30 in UTC.
    period = asked(NOW.replace(second=59), since="7d", until="24h")
    assert period.arguments == {"since": "2026-11-14T23:30:00Z", "until": "2026-11-20T23:30:00Z"}


def test_what_it_is_compared_with_is_of_the_same_profile_and_zone() -> None:
    before = asked(profile=" work ").before()
    assert before is not None
    # 00:30 in Madrid, in summer.
    until = "2026-10-21T22:30:00Z"
    assert before.arguments == {"since": "2026-10-01", "until": until, "profile": "work"}
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
        "window_start": None,
        "window_end": None,
        "profile": None,
    }


def test_json_says_the_exact_window_as_well() -> None:
    said = asked(since="7d", until="yesterday").said()
    assert (said["since"], said["until"]) == ("2026-11-15", "2026-11-21")
    assert said["window_start"] == "2026-11-14T23:30:00.000000+00:00"
    assert said["window_end"] == "2026-11-21T23:00:00.000000+00:00"


def test_a_part_of_it_has_no_more_than_it() -> None:
    period = asked(since="48h", until="2026-11-21T20:00:00Z")
    first, last = date(2026, 11, 20), date(2026, 11, 21)
    assert period.part(first, first) == {"since": "2026-11-19T23:30:00Z", "until": "2026-11-20"}
    assert period.part(last, last) == {"since": "2026-11-21", "until": "2026-11-21T20:00:00Z"}


def test_words_are_said_once() -> None:
    assert span(date(2026, 2, 3), date(2026, 2, 3)) == "3 February 2026"
