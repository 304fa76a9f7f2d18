"""The period of a page: from the address, in words, and the one that it is compared with."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hermes_telemetry import reports
from hermes_telemetry.money import BEYOND_ALL_SUMS
from hermes_telemetry.windows import (
    BEGINNING,
    END,
    EVERYTHING,
    Window,
    bound,
    local_day,
    local_instant,
    named_days,
    next_month,
    parse_age,
    time_zone,
    timestamp,
)

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """What a reader asked for.

    `since`, `until` and `profile` are texts as the canned queries take them, `since` never empty;
    `window` is the same, half-open. `first` and `last` are its local days, both included, `last`
    not after today but where all of it is; `first` is None for everything. `today` is the reader's,
    and `now` (UTC) the last full minute: figures are kept by their period, and what it is compared
    with ends at the time of day that the page names.
    """

    since: str
    until: str
    profile: str
    window: Window
    first: date | None
    last: date
    today: date
    now: datetime

    @classmethod
    def asked(cls, given: Mapping[str, str], zone: str, now: datetime) -> Period:
        """The period of an address; without one, this month until today.

        `until` alone means its month until then. Raises ValueError, a line for the reader, for a
        bound that is no time, an end before the beginning and a beginning in the future.
        """
        faults = reports.unreadable(reports.load_queries()["cost_by_day"], given)
        if faults:
            raise ValueError("; ".join(faults.values()))
        today, minute = local_day(now, zone), now.astimezone(UTC).replace(second=0, microsecond=0)
        since, until = (_text(given, name, today, minute) for name in ("since", "until"))
        if not since:
            until = until or today.isoformat()
            end = Window.asked(EVERYTHING, until, None, zone, minute).end
            since = min(_last_day(end, zone), today).replace(day=1).isoformat()
        window = Window.asked(since, until, None, zone, minute)
        first = None if window.start == BEGINNING else local_day(window.start, zone)
        last = max(min(_last_day(window.end, zone), today), first or date.min)
        asked = {"since": given.get("since") or since, "until": given.get("until") or until}
        if window.start >= window.end:
            raise ValueError(f"until: {asked['until']!r} lies before since: {asked['since']!r}")
        if window.start > now:
            why = f"lies in the future: give a day up to today, {today}"
            raise ValueError(f"since: {asked['since']!r} {why}")
        profile = given.get("profile", "").strip()
        return cls(since, until, profile, window, first, last, today, minute)

    @property
    def arguments(self) -> dict[str, str]:
        """What a link carries, and a canned query is given."""
        given = {"since": self.since, "until": self.until, "profile": self.profile}
        return {name: text for name, text in given.items() if text}

    @property
    def days(self) -> int | None:
        """Local days from the first to the last; None for everything."""
        return None if self.first is None else (self.last - self.first).days + 1

    @property
    def goes_on(self) -> bool:
        """Whether it is not over: its figures are not yet final."""
        return self.now < self.window.end

    @property
    def begins_with_a_day(self) -> bool:
        """Whether it begins where a local day does, as dates do; everything does too."""
        return self.first is None or self._is_midnight(self.window.start)

    @property
    def words(self) -> str:
        """Its days, with times of day where it begins or ends within one: "1-22 November 2026",
        "15 November 2026 09:30 - 22 November 2026", "22 November 2026 until 12:00".
        """
        days = span(self.first, self.last)
        start = "" if self.begins_with_a_day else self._time_of_day(self.window.start)
        ends_within = not (self.goes_on or self._is_midnight(self.window.end))
        end = self._time_of_day(self.window.end) if ends_within else ""
        if self.first is None or not start:
            return f"{days} until {end}" if end else days
        if self.first == self.last:
            return f"{days}, {start}-{end}" if end else f"{days} from {start}"
        first, last = span(self.first, self.first), span(self.last, self.last)
        return f"{first} {start} - {last} {end}".rstrip()

    @property
    def label(self) -> str:
        """As `words`, and whether it goes on: "1-22 November 2026, so far"."""
        return f"{self.words}, so far" if self.goes_on else self.words

    def before(self) -> Period | None:
        """What it is compared with: the same length of time before it; None where there is none.

        Of a period that begins with a day it is as many local days, and of one from the first of a
        month the same days of the month before, as far as that has them. Where the period goes on,
        or ends within a day, so does what it is compared with, at the same local time.
        """
        end = min(self.window.end, self.now)
        if self.first is None or end <= self.window.start:
            return None
        try:
            return self._days_before(end) if self.begins_with_a_day else self._time_before(end)
        except OverflowError:  # before the calendar's first day
            return None

    def _days_before(self, end: datetime) -> Period:
        assert self.first is not None
        zone = self.window.zone
        within = _last_day(end, zone)
        days = (within - self.first).days + 1
        first, last = self.first - days * _DAY, self.first - _DAY
        is_shorter = False
        if self.first.day == 1 and within.replace(day=1) == self.first:
            first, days_there = last.replace(day=1), last.day
            is_shorter = days > days_there
            last = first + (min(days, days_there) - 1) * _DAY
        # Its first day in UTC may be another one.
        if first.toordinal() <= 2:
            raise OverflowError(first)
        start, until = Window.day(first, zone).start, Window.day(last, zone).end
        if not (is_shorter or self._is_midnight(end)):
            time_of_day = end.astimezone(time_zone(zone)).time().replace(microsecond=0)
            until = local_instant(last, time_of_day, zone)
        return self._other(Window(start, until, zone), first, last)

    def _time_before(self, end: datetime) -> Period:
        start, zone = self.window.start, self.window.zone
        window = Window(start - (end - start), start, zone)
        return self._other(window, local_day(window.start, zone), _last_day(start, zone))

    @property
    def last_day(self) -> Period:
        """Its last local day, as far as it belongs to it."""
        return self._other(self._cut(self.last, self.last), self.last, self.last)

    def part(self, first: date, last: date) -> dict[str, str]:
        """What a link to some of its days carries: no more of them than belongs to it."""
        since, until = self._texts(self._cut(first, last))
        return {"since": since, "until": until}

    def _cut(self, first: date, last: date) -> Window:
        zone = self.window.zone
        start, end = Window.day(first, zone).start, Window.day(last, zone).end
        return Window(max(start, self.window.start), min(end, self.window.end), zone)

    def _other(self, window: Window, first: date, last: date) -> Period:
        since, until = self._texts(window)
        return replace(self, since=since, until=until, window=window, first=first, last=last)

    def _texts(self, window: Window) -> tuple[str, str]:
        """`since` and `until` of a window: dates where it begins or ends with a day."""
        since, until = local_day(window.start, window.zone), _last_day(window.end, window.zone)
        starts, ends = map(self._is_midnight, (window.start, window.end))
        return (
            since.isoformat() if starts else _instant(window.start),
            until.isoformat() if ends else _instant(window.end),
        )

    def _is_midnight(self, moment: datetime) -> bool:
        zone = self.window.zone
        return moment in (END, Window.day(local_day(moment, zone), zone).start)

    def _time_of_day(self, moment: datetime) -> str:
        return f"{moment.astimezone(time_zone(self.window.zone)):%H:%M}"

    def months_beside(self) -> dict[str, tuple[date, date]]:
        """The month before that of the first day, and the one after that of the last unless it is
        yet to come, by their names: first and last day.
        """
        months = []
        if self.first is not None and self.first.toordinal() > 31:
            months.append((self.first.replace(day=1) - _DAY).replace(day=1))
        if next_month(self.last) <= self.today:
            months.append(next_month(self.last))
        return {f"{first:%B %Y}": (first, next_month(first) - _DAY) for first in months}

    def rows(
        self, conn: sqlite3.Connection, query: reports.Query, most: int | None = None
    ) -> list[dict[str, Any]]:
        """What `query` answers for this period; of its rows the first `most`, None for all.

        A number that is infinite, or too large to be added up, is None; of an amount a call, at
        least, then has no price.
        """
        taken = {parameter.name for parameter in query.parameters}
        given = {key: text for key, text in self.arguments.items() if key in taken}
        columns, rows = reports.run(conn, query, given, most)
        return [_known(dict(zip(columns, row, strict=True)), query) for row in rows]

    def said(self) -> dict[str, Any]:
        """For JSON: the zone, `bounds` and the profile."""
        return {"zone": self.window.zone, **self.bounds(), "profile": self.profile or None}

    def bounds(self) -> dict[str, Any]:
        """For JSON: the local days as dates, `since` None for everything; and its exact window,
        half-open, as instants in UTC, None where it has no bound.
        """
        start, end = self.window.start, self.window.end
        return {
            "since": self.first and self.first.isoformat(),
            "until": self.last.isoformat(),
            "window_start": None if start == BEGINNING else timestamp(start),
            "window_end": None if end == END else timestamp(end),
        }


def _known(row: dict[str, Any], query: reports.Query) -> dict[str, Any]:
    for column, value in row.items():
        if isinstance(value, float) and not abs(value) < BEYOND_ALL_SUMS:
            row[column] = None
            counted = query.unpriced.get(column)
            if counted in row:
                row[counted] = row[counted] or 1
    return row


def presets(today: date) -> dict[str, dict[str, str]]:
    """The periods that a reader chooses by a click: what their links carry, by name."""
    month = today.replace(day=1)
    before = month - _DAY
    spans = {
        "this month": (month, today),
        "last month": (before.replace(day=1), before),
        "30 days": (today - 29 * _DAY, today),
        "7 days": (today - 6 * _DAY, today),
        "today": (today, today),
    }
    return {
        name: {"since": first.isoformat(), "until": last.isoformat()}
        for name, (first, last) in spans.items()
    }


def span(first: date | None, last: date) -> str:
    """Days in words, each part said once: "1-22 November 2026", "28 December 2025 - 3 …"."""
    end = f"{last.day} {last:%B %Y}"
    if first is None:
        return f"all time to {end}"
    if first == last:
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}-{end}"
    start = f"{first.day} {first:%B}" if first.year == last.year else f"{first.day} {first:%B %Y}"
    return f"{start} - {end}"


def _text(given: Mapping[str, str], name: str, today: date, minute: datetime) -> str:
    """A bound as it is carried on: a date for a day, or for a name of days; an instant for an age,
    so that what a link leads to has the same bounds; else as given.
    """
    text = given.get(name, "").strip()
    if (days := named_days(text, today)) is not None:
        return days[name == "until"].isoformat()
    try:
        moment = parse_age(text, minute)
    except OverflowError:  # before the calendar
        return text
    return text if moment is None else _instant(moment)


def _instant(moment: datetime) -> str:
    return f"{bound(moment)}Z"


def _last_day(end: datetime, zone: str) -> date:
    """The last local day before an instant."""
    return local_day(end - timedelta(microseconds=1), zone)
