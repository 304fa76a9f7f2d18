"""Time as the ledger stores it: UTC text, half-open windows, local days and one injected clock.

Stored instants are UTC text with an offset. Bounds are their first 19 characters
(``YYYY-MM-DDTHH:MM:SS``), because files of other builds hold timestamps with and without a
fraction: a full timestamp compared with such a prefix sorts right in both forms.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as wall_time
from pathlib import Path
from zoneinfo import ZoneInfo

BEGINNING = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)
EVERYTHING = "all"
# Any zone's local time of these can be told.
_EARLIEST = BEGINNING + timedelta(days=2)
_LATEST = END - timedelta(days=2)
_TICK = timedelta(microseconds=1)

PERIODS = ("today", "yesterday", "week", "last-week", "month", "last-month")
"""The names of spans of local days; a week begins on Monday."""

_AGE = re.compile(r"(?P<count>[0-9]+)(?P<unit>[hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True)
class Clock:
    """Where time comes from. ``now`` gives an aware UTC datetime, the others count seconds."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]


SYSTEM_CLOCK = Clock(now=lambda: datetime.now(UTC), monotonic=time.monotonic, sleep=time.sleep)


def timestamp(moment: datetime) -> str:
    """The stored form of an aware datetime: ``2026-07-01T12:00:00.123456+00:00``.

    Always six decimals and always UTC. A naive datetime raises ValueError: reading it as the
    machine's local time would shift rows silently.
    """
    if moment.tzinfo is not UTC:
        if moment.utcoffset() is None:
            raise ValueError(f"{moment!r} has no time zone")
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")


def parse_timestamp(text: str) -> datetime:
    """An aware UTC datetime from ISO-8601 text; text without an offset is UTC, as stored.

    Raises ValueError for anything else, OverflowError where the offset leads out of the calendar.
    """
    # A "+02:00" typed into a URL arrives with a blank where the sign stood.
    moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    if moment.utcoffset() is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def time_zone(name: str) -> tzinfo:
    """The zone of an IANA name; ValueError when this machine does not know it."""
    if name == "UTC":  # must work where no zone database is installed
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name!r}") from error


def local_instant(day: date, at: wall_time, zone: str) -> datetime:
    """The first instant of a local day at which clocks on the wall show ``at`` or later, in UTC.

    Of a time that a clock change repeats it is the first one; of one that it skips, the end of the
    gap. ``at`` has no zone of its own. ValueError for a bad zone.
    """
    return _first_instant(datetime.combine(day, at), time_zone(zone))


def _first_instant(wall: datetime, zone: tzinfo) -> datetime:
    try:
        start = wall.replace(tzinfo=zone).astimezone(UTC)
        if start.astimezone(zone).replace(tzinfo=None) == wall:
            return start
        # Skipped by a clock change: search the second at which the gap ends.
        before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
        while start - before > timedelta(seconds=1):
            middle = before + (start - before) // 2
            if middle.astimezone(zone).replace(tzinfo=None) < wall:
                before = middle
            else:
                start = middle
        return start.replace(microsecond=0)
    except OverflowError:  # the first and the last day of the calendar
        return BEGINNING if wall.year == 1 else END


def _day_start(day: date, zone: tzinfo) -> datetime:
    return _first_instant(datetime.combine(day, wall_time.min), zone)


def local_day(moment: datetime, zone: str) -> date:
    """The local day that an aware datetime lies in; ValueError for a bad zone.

    At the ends of the calendar it is the nearest day that every zone can tell.
    """
    told = min(max(moment, _EARLIEST), _LATEST)
    return told.astimezone(time_zone(zone)).date()


def next_month(day: date) -> date:
    """The first day of the month after a day's; the calendar's last day when there is none."""
    if (day.year, day.month) == (date.max.year, 12):
        return date.max
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _next_day(day: date) -> date:
    return day if day == date.max else day + timedelta(days=1)


def _days_before(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))


def day_start_utc(day: str, zone: str) -> str:
    """The first instant of a local day (``YYYY-MM-DD``) as a 19-character UTC bound.

    Right for days of 23 and 25 hours, for midnights that a clock change skips, and for days that
    a zone left out altogether (they start where the next one starts). ValueError for a bad day or
    zone.
    """
    return bound(_day_start(date.fromisoformat(day), time_zone(zone)))


def bound(moment: datetime) -> str:
    """The 19-character UTC text that stored timestamps are compared with."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def named_days(text: str, today: date) -> tuple[date, date] | None:
    """The first and last local day that a date or one of `PERIODS` names; None for another text.

    The week and the month of today end with today.
    """
    monday, first = _days_before(today, today.weekday()), today.replace(day=1)
    named = {
        "today": (today, today),
        "yesterday": (_days_before(today, 1), _days_before(today, 1)),
        "week": (monday, today),
        "last-week": (_days_before(monday, 7), _days_before(monday, 1)),
        "month": (first, today),
        "last-month": (_days_before(first, 1).replace(day=1), _days_before(first, 1)),
    }.get(text.lower())
    if named is not None:
        return named
    try:
        return date.fromisoformat(text), date.fromisoformat(text)
    except ValueError:
        return None


def parse_age(text: str, now: datetime) -> datetime | None:
    """The instant (UTC) that lies an age before ``now``: ``12h``, ``90d`` of 24 hours each, ``4w``.

    None for a text that is no age, OverflowError for an age from before the calendar.
    """
    age = _AGE.fullmatch(text)
    if age is None:
        return None
    # In UTC, where every hour counts: a local clock that is changed would lose or repeat one.
    return now.astimezone(UTC) - int(age["count"]) * _UNITS[age["unit"]]


@dataclass(frozen=True)
class Window:
    """A half-open span of time, ``start <= t < end``, both aware UTC; local days are of
    ``zone``.
    """

    start: datetime
    end: datetime
    zone: str

    @classmethod
    def day(cls, day: date, zone: str) -> Window:
        """A local day: 23 or 25 hours where clocks change. ValueError for a bad zone."""
        local = time_zone(zone)
        return cls(_day_start(day, local), _day_start(_next_day(day), local), zone)

    @classmethod
    def month(cls, day: date, zone: str) -> Window:
        """The local calendar month that ``day`` lies in. ValueError for a bad zone."""
        local = time_zone(zone)
        return cls(_day_start(day.replace(day=1), local), _day_start(next_month(day), local), zone)

    @classmethod
    def asked(
        cls, since: str, until: str, default_days: int | None, zone: str, now: datetime
    ) -> Window:
        """The window that the texts ``since`` and ``until`` ask for.

        A date is a local day and a name (`PERIODS`) some of them: ``since`` begins with their
        first, ``until`` includes their last. An ISO instant is exact and half-open, and so is an
        age, counted back from ``now``; ``all`` is no bound. An empty ``until`` is no bound. An
        empty ``since`` means the ``default_days`` local days that end with the day of ``until``,
        else with today (``default_days`` None: no bound).
        ValueError, in one line for the user, for other texts.
        """
        local = time_zone(zone)
        since, until = since.strip(), until.strip()
        today = last_day = now.astimezone(local).date()
        end = END
        if until and until.lower() != EVERYTHING:
            days = named_days(until, today)
            if days is not None:
                last_day = days[1]
                end = _day_start(_next_day(last_day), local)
            else:
                end = _instant(until, now)
                # Half-open: an end at midnight belongs to the day before.
                told = min(max(end, _EARLIEST), _LATEST)
                last_day = (told - _TICK).astimezone(local).date()
        if since.lower() == EVERYTHING or (not since and default_days is None):
            start = BEGINNING
        elif not since and default_days is not None:
            start = _day_start(_days_before(last_day, default_days - 1), local)
        else:
            days = named_days(since, today)
            start = _day_start(days[0], local) if days is not None else _instant(since, now)
        return cls(start, end, zone)


def _instant(text: str, now: datetime) -> datetime:
    """Of an age or an instant; what lies beyond the calendar bounds nothing, as its ends do."""
    try:
        return parse_age(text, now) or parse_timestamp(text)
    except OverflowError:
        return BEGINNING if _AGE.fullmatch(text) or text.startswith("0001") else END
    except ValueError as error:
        raise ValueError(
            f"{text!r} is neither a date (2026-07-01), an ISO instant (2026-07-01T12:00:00Z),"
            f" {', '.join(PERIODS)}, an age (24h, 7d, 4w) nor all"
        ) from error


def machine_zone(environ: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """The machine's IANA zone name: TZ, the /etc/localtime link, /etc/timezone, else ``UTC``."""
    for candidate in (
        environ.get("TZ", "").removeprefix(":"),
        _localtime_link(etc / "localtime"),
        _first_line(etc / "timezone"),
    ):
        name = candidate.rpartition("zoneinfo/")[2]
        if name and not name.startswith("/"):
            try:
                time_zone(name)
            except ValueError:
                continue
            return name
    return "UTC"


def _localtime_link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return ""
