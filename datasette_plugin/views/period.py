"""The period of a page: from the address, in words, and the one that it is compared with."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from hermes_telemetry import reports
from hermes_telemetry.money import BEYOND_ALL_SUMS
from hermes_telemetry.windows import (
    BEGINNING,
    EVERYTHING,
    Window,
    local_day,
    named_days,
    next_month,
)

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """What a reader asked for.

    `since`, `until` and `profile` are texts as the canned queries take them, `since` never empty;
    `window` is the same, half-open. `first` and `last` are its local days, both included, `last`
    not after today but where all of it is; `first` is None for everything. `today` is the reader's.
    """

    since: str
    until: str
    profile: str
    window: Window
    first: date | None
    last: date
    today: date

    @classmethod
    def asked(cls, given: Mapping[str, str], zone: str, now: datetime) -> Period:
        """The period of an address; without one, this month until today.

        `until` alone means its month until then. Raises ValueError, a line for the reader, for a
        bound that is no time and for an end before the beginning.
        """
        faults = reports.unreadable(reports.load_queries()["cost_by_day"], given)
        if faults:
            raise ValueError("; ".join(faults.values()))
        today = local_day(now, zone)
        since, until = _text(given, "since", today), _text(given, "until", today)
        if not since:
            until = until or today.isoformat()
            end = Window.asked(EVERYTHING, until, None, zone, now).end
            since = min(_last_day(end, zone), today).replace(day=1).isoformat()
        window = Window.asked(since, until, None, zone, now)
        first = None if window.start == BEGINNING else local_day(window.start, zone)
        last = max(min(_last_day(window.end, zone), today), first or date.min)
        if window.start >= window.end:
            raise ValueError(f"until: {until!r} lies before since: {since!r}")
        profile = given.get("profile", "").strip()
        return cls(since, until, profile, window, first, last, today)

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
        """Whether today belongs to it: its figures are not yet final."""
        return self.last == self.today

    @property
    def label(self) -> str:
        """In words: "1-22 November 2026, so far"."""
        words = span(self.first, self.last)
        return f"{words}, so far" if self.goes_on else words

    def before(self) -> Period | None:
        """What it is compared with: as many days before it; None where there is nothing before.

        A period from the first of a month is compared with the same days of the month before, as
        far as that has them.
        """
        if self.first is None or not (_is_day(self.since) and _is_day(self.until or "2000-01-01")):
            return None
        if self.first.toordinal() <= 31 or self.days is None:
            return None
        first, last = self.first - self.days * _DAY, self.first - _DAY
        if self.first.day == 1 and self.last.replace(day=1) == self.first:
            first = last.replace(day=1)
            last = min(last, first + (self.days - 1) * _DAY)
        given = {"since": first.isoformat(), "until": last.isoformat(), "profile": self.profile}
        zone = self.window.zone
        window = Window.asked(given["since"], given["until"], None, zone, self.window.start)
        return Period(**given, window=window, first=first, last=last, today=self.today)

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
        """For JSON: the local days as dates, `since` None for everything, and the zone."""
        return {
            "zone": self.window.zone,
            "since": self.first and self.first.isoformat(),
            "until": self.last.isoformat(),
            "profile": self.profile or None,
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


def _text(given: Mapping[str, str], bound: str, today: date) -> str:
    """A bound as it is carried on: a date for a day, or for a name of days, else as given."""
    text = given.get(bound, "").strip()
    days = named_days(text, today)
    return text if days is None else days[bound == "until"].isoformat()


def _last_day(end: datetime, zone: str) -> date:
    """The last local day before an instant."""
    return local_day(end - timedelta(microseconds=1), zone)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
