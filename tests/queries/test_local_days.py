"""Where a local day begins, what a window is, and how an instant is written."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_telemetry.windows import (
    Window,
    bound,
    day_start_utc,
    local_day,
    local_instant,
    machine_zone,
    next_month,
    parse_timestamp,
    timestamp,
)

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "day", "start"),
    [
        ("UTC", "2026-07-01", "2026-07-01T00:00:00"),
        # 23 hours: clocks go from 02:00 to 03:00.
        ("Europe/Madrid", "2026-03-29", "2026-03-28T23:00:00"),
        ("Europe/Madrid", "2026-03-30", "2026-03-29T22:00:00"),
        # 25 hours: clocks go from 03:00 to 02:00.
        ("Europe/Madrid", "2026-10-25", "2026-10-24T22:00:00"),
        ("Europe/Madrid", "2026-10-26", "2026-10-25T23:00:00"),
        # 5 h 45 min ahead.
        ("Asia/Kathmandu", "2026-07-01", "2026-06-30T18:15:00"),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00"),
        ("America/New_York", "2026-03-09", "2026-03-09T04:00:00"),
        # No midnight: 23:59:59 is followed by 01:00:00.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00"),
        ("America/Sao_Paulo", "2018-11-05", "2018-11-05T02:00:00"),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00"),
        ("Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00"),
        # The gap begins before midnight: 23:30 is followed by 00:30.
        ("America/Toronto", "1919-03-31", "1919-03-31T04:30:00"),
        # Midnight twice: at 01:00 clocks go back to 00:00. The first one counts.
        ("America/Havana", "2026-11-01", "2026-11-01T04:00:00"),
        # A day the zone left out starts, empty, where the next one starts.
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00"),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00"),
        ("Asia/Tokyo", "0001-01-01", "0001-01-01T00:00:00"),
    ],
)
def test_a_local_day_begins_at(zone: str, day: str, start: str) -> None:
    assert day_start_utc(day, zone) == start


@pytest.mark.parametrize(
    "zone",
    [
        "Europe/Madrid",
        "America/Sao_Paulo",
        "America/St_Johns",
        "Africa/Cairo",
        "Asia/Beirut",
        "Pacific/Apia",
        "Antarctica/Troll",
        "Australia/Lord_Howe",
    ],
)
def test_no_instant_lies_outside_the_days_around_its_utc_day(zone: str) -> None:
    """What the calendar of the queries rests on, in steps of 5 h 30 min over two years."""
    instant = datetime(2010, 12, 31, tzinfo=UTC)
    while instant < datetime(2013, 1, 1, tzinfo=UTC):
        neighbours = [
            (instant.date() + timedelta(days=shift)).isoformat() for shift in range(-1, 3)
        ]
        starts = [day_start_utc(day, zone) for day in neighbours]
        assert starts == sorted(starts)
        assert starts[0] <= bound(instant) < starts[3]
        instant += timedelta(hours=5, minutes=30)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "America", "../etc/passwd", "", "CET-1CEST"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        day_start_utc("2026-07-01", zone)


@pytest.mark.parametrize("day", ["2026-02-30", "yesterday", "2026-7-1"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    with pytest.raises(ValueError, match=r"day|isoformat"):
        day_start_utc(day, "UTC")


@pytest.mark.parametrize(
    ("since", "until", "days", "start", "end"),
    [
        # Dates are local days, the last one included: 23 hours here.
        ("2026-03-29", "2026-03-29", 30, "2026-03-28T23:00:00", "2026-03-29T22:00:00"),
        # Instants are exact, whatever offset they carry.
        (
            "2026-03-29T10:00:00+02:00",
            "2026-03-29T12:00:00Z",
            30,
            "2026-03-29T08:00:00",
            "2026-03-29T12:00:00",
        ),
        # Without an offset an instant is UTC, as the ledger writes it.
        ("2026-03-29T10:00", "all", 30, "2026-03-29T10:00:00", "9999-12-31T23:59:59"),
        # A plus sign typed into a URL arrives as a blank.
        ("2026-03-29T10:00:00 02:00", "", 30, "2026-03-29T08:00:00", "9999-12-31T23:59:59"),
        # Nothing said: today and the 29, or 6, local days before it.
        ("", "", 30, "2026-06-01T22:00:00", "9999-12-31T23:59:59"),
        ("", "", 7, "2026-06-24T22:00:00", "9999-12-31T23:59:59"),
        ("", "all", 7, "2026-06-24T22:00:00", "9999-12-31T23:59:59"),
        # The default window ends with the last day asked for.
        ("", "2026-02-07", 7, "2026-01-31T23:00:00", "2026-02-07T23:00:00"),
        ("", "2026-02-07T12:00:00Z", 7, "2026-01-31T23:00:00", "2026-02-07T12:00:00"),
        # Local midnight, half-open: the day before is the last.
        ("", "2026-02-07T23:00:00Z", 7, "2026-01-31T23:00:00", "2026-02-07T23:00:00"),
        ("all", "", 30, "0001-01-01T00:00:00", "9999-12-31T23:59:59"),
        ("ALL", "2026-03-29", 30, "0001-01-01T00:00:00", "2026-03-29T22:00:00"),
        # No default window.
        ("", "", None, "0001-01-01T00:00:00", "9999-12-31T23:59:59"),
        # The ends of the calendar.
        ("0001-01-01", "9999-12-31", 30, "0001-01-01T00:14:44", "9999-12-30T23:00:00"),
        ("", "0001-01-01T00:00:00", 30, "0001-01-01T00:14:44", "0001-01-01T00:00:00"),
        ("", "9999-12-31T23:59:59Z", 7, "9999-12-23T23:00:00", "9999-12-31T23:59:59"),
        # An offset that leads out of it.
        (
            "0001-01-01T00:00:00+05:00",
            "9999-12-31T23:59:59-05:00",
            30,
            "0001-01-01T00:00:00",
            "9999-12-31T23:59:59",
        ),
        # It is Wednesday noon in UTC, 14:00 in Madrid, two hours ahead: days begin at 22:00 UTC.
        ("today", "", 30, "2026-06-30T22:00:00", "9999-12-31T23:59:59"),
        ("yesterday", "yesterday", 30, "2026-06-29T22:00:00", "2026-06-30T22:00:00"),
        ("Yesterday", "TODAY", 30, "2026-06-29T22:00:00", "2026-07-01T22:00:00"),
        # Weeks begin on Monday, 29 June; last week is that of the 22nd. This one ends today.
        ("week", "week", 30, "2026-06-28T22:00:00", "2026-07-01T22:00:00"),
        ("last-week", "Last-Week", 30, "2026-06-21T22:00:00", "2026-06-28T22:00:00"),
        ("month", "month", 30, "2026-06-30T22:00:00", "2026-07-01T22:00:00"),
        ("last-month", "last-month", 30, "2026-05-31T22:00:00", "2026-06-30T22:00:00"),
        # The 29, or 6, days before it.
        ("", "yesterday", 7, "2026-06-23T22:00:00", "2026-06-30T22:00:00"),
        # An age is hours back from now, 24 of them a day; as an end it is half-open.
        ("24h", "", 30, "2026-06-30T12:00:00", "9999-12-31T23:59:59"),
        (" 7d ", "1d", 30, "2026-06-24T12:00:00", "2026-06-30T12:00:00"),
        ("2w", "0h", 30, "2026-06-17T12:00:00", "2026-07-01T12:00:00"),
        # 13 hours before 14:00 is still that day: the last of seven.
        ("", "13h", 7, "2026-06-24T22:00:00", "2026-06-30T23:00:00"),
        # 14 hours before is its midnight: the day before is the last.
        ("", "14h", 7, "2026-06-23T22:00:00", "2026-06-30T22:00:00"),
        # Older than the calendar, and older than what a computer counts in days.
        ("999999d", "", 30, "0001-01-01T00:00:00", "9999-12-31T23:59:59"),
        ("99999999999d", "", 30, "0001-01-01T00:00:00", "9999-12-31T23:59:59"),
        ("", "0001-01-01T00:00:00+05:00", 7, "0001-01-01T00:14:44", "0001-01-01T00:00:00"),
        ("", "9999-12-31T23:59:59-05:00", 7, "9999-12-23T23:00:00", "9999-12-31T23:59:59"),
    ],
)
def test_the_window_in_madrid_asked_for_by(
    since: str, until: str, days: int | None, start: str, end: str
) -> None:
    window = Window.asked(since, until, days, "Europe/Madrid", NOW)
    assert (bound(window.start), bound(window.end)) == (start, end)


@pytest.mark.parametrize(
    ("zone", "day", "hours_of_day", "hours_of_month"),
    [
        # March has 31 days less the hour that is skipped, October one hour more.
        ("Europe/Madrid", date(2026, 3, 29), 23, 31 * 24 - 1),
        ("Europe/Madrid", date(2026, 10, 25), 25, 31 * 24 + 1),
        ("Asia/Kathmandu", date(2028, 2, 29), 24, 29 * 24),
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5, 30 * 24 + 0.5),
        ("America/New_York", date(2026, 12, 31), 24, 31 * 24),
        # The zone left this day out.
        ("Pacific/Apia", date(2011, 12, 30), 0, 30 * 24),
    ],
)
def test_days_and_months_last_as_long_as_they_really_do(
    zone: str, day: date, hours_of_day: float, hours_of_month: float
) -> None:
    of_day, of_month = Window.day(day, zone), Window.month(day, zone)
    assert of_day.end - of_day.start == timedelta(hours=hours_of_day)
    assert of_month.end - of_month.start == timedelta(hours=hours_of_month)


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        # 5 h 45 min ahead.
        ("2026-06-30T18:14:59.999999", "Asia/Kathmandu", date(2026, 6, 30)),
        ("2026-06-30T18:15", "Asia/Kathmandu", date(2026, 7, 1)),
        # The hour that comes twice is of one day.
        ("2026-11-01T05:30", "America/New_York", date(2026, 11, 1)),
        ("2026-11-01T06:30", "America/New_York", date(2026, 11, 1)),
        # The ends of the calendar, where a zone's own time cannot be told.
        ("0001-01-01T00:00", "America/New_York", date(1, 1, 2)),
        ("9999-12-31T23:59:59", "Asia/Tokyo", date(9999, 12, 30)),
    ],
)
def test_an_instant_lies_on_a_local_day(moment: str, zone: str, day: date) -> None:
    assert local_day(parse_timestamp(moment), zone) == day


@pytest.mark.parametrize(
    ("day", "at", "instant"),
    [
        # Two hours ahead of UTC in summer, one in winter.
        (date(2026, 7, 1), time(14, 30), "2026-07-01T12:30:00"),
        # 02:30 is skipped: the gap ends at 03:00.
        (date(2026, 3, 29), time(2, 30), "2026-03-29T01:00:00"),
        (date(2026, 3, 29), time(3), "2026-03-29T01:00:00"),
        # 02:30 comes twice: the first one.
        (date(2026, 10, 25), time(2, 30), "2026-10-25T00:30:00"),
    ],
)
def test_a_time_on_the_wall_in_madrid_comes_first_at(day: date, at: time, instant: str) -> None:
    assert bound(local_instant(day, at, "Europe/Madrid")) == instant


def test_a_month_is_followed_by_the_next() -> None:
    assert next_month(date(2026, 1, 31)) == date(2026, 2, 1)
    assert next_month(date(2026, 12, 1)) == date(2027, 1, 1)
    assert next_month(date(9999, 12, 1)) == date(9999, 12, 31)


def test_yesterday_lasts_as_long_as_it_did_where_clocks_changed() -> None:
    # In the night to 29 March clocks go forward: that day has 23 hours.
    now = datetime(2026, 3, 30, 5, tzinfo=UTC)
    window = Window.asked("yesterday", "yesterday", 30, "Europe/Madrid", now)
    assert window.end - window.start == timedelta(hours=23)


def test_an_age_counts_the_hours_that_passed_where_clocks_changed() -> None:
    # 12:00 of the day that lost an hour is 10:00 UTC; a day before it was 11:00 there.
    noon = datetime(2026, 3, 29, 12, tzinfo=ZoneInfo("Europe/Madrid"))
    window = Window.asked("1d", "", None, "Europe/Madrid", noon)
    assert bound(window.start) == "2026-03-28T10:00:00"


@pytest.mark.parametrize(
    "text",
    ["tomorrow", "2026-13-01", "30", "2026-07-01T25:00", "7 d", "-7d", "1.5d", "7m", "٣d", "d"],
)
def test_a_bound_that_is_no_time_is_refused(text: str) -> None:
    for since, until in ((text, ""), ("", text)):
        with pytest.raises(ValueError, match=r"neither a date \(2026-07-01\), .* nor all$"):
            Window.asked(since, until, 30, "UTC", NOW)


def test_instants_are_stored_in_utc_with_six_decimals() -> None:
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    assert (
        timestamp(datetime(2026, 7, 1, 17, 45, tzinfo=kathmandu))
        == "2026-07-01T12:00:00.000000+00:00"
    )
    assert timestamp(NOW + timedelta(microseconds=1)) == "2026-07-01T12:00:00.000001+00:00"


def test_a_time_without_a_zone_is_not_stored() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        timestamp(datetime(2026, 7, 1, 12))


def test_stored_instants_are_read_back() -> None:
    assert parse_timestamp("2026-07-01T12:00:00.000000+00:00") == NOW
    assert parse_timestamp("2026-07-01T12:00:00") == NOW
    assert parse_timestamp("2026-07-01T14:00:00+02:00") == NOW


def etc(tmp_path: Path, localtime: str | None = None, timezone: str | None = None) -> Path:
    if localtime:
        (tmp_path / "localtime").symlink_to(localtime)
    if timezone:
        (tmp_path / "timezone").write_text(timezone)
    return tmp_path


def test_the_machines_zone_is_the_one_in_tz(tmp_path: Path) -> None:
    files = etc(tmp_path, "/usr/share/zoneinfo/Asia/Tokyo", "Europe/Paris\n")
    assert machine_zone({"TZ": "Europe/Madrid"}, files) == "Europe/Madrid"
    assert machine_zone({"TZ": ":Europe/Madrid"}, files) == "Europe/Madrid"
    assert machine_zone({"TZ": ":/usr/share/zoneinfo/Europe/Madrid"}, files) == "Europe/Madrid"


def test_without_tz_it_is_the_one_that_localtime_points_to(tmp_path: Path) -> None:
    files = etc(tmp_path, "/usr/share/zoneinfo/Asia/Tokyo", "Europe/Paris\n")
    assert machine_zone({}, files) == "Asia/Tokyo"
    # A rule in TZ has no IANA name.
    assert machine_zone({"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}, files) == "Asia/Tokyo"


def test_without_a_link_it_is_the_one_written_in_timezone(tmp_path: Path) -> None:
    assert machine_zone({}, etc(tmp_path, timezone="Europe/Paris\n")) == "Europe/Paris"


def test_a_machine_that_says_nothing_is_in_utc(tmp_path: Path) -> None:
    assert machine_zone({}, etc(tmp_path, timezone="nonsense\n")) == "UTC"
    assert machine_zone({}, tmp_path / "absent") == "UTC"
