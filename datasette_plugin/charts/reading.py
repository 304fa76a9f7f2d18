"""What the figures of a review are read from: one ledger, one period."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_telemetry.reports import Query
from hermes_telemetry.store.spend import first_call
from hermes_telemetry.windows import Window, local_day, next_month, parse_timestamp

from ..views import period as periods
from .steps import day_in_words

if TYPE_CHECKING:
    from ..views.period import Period

Rows = list[dict[str, Any]]

COSTS = "cost_by_day_and_model"
"""The query of which every figure of a period's spend is made: the calls are read once for all."""


@dataclass(frozen=True)
class Earlier:
    """The `period` that another is compared with, and `compared`, the rows of `COSTS` for it.

    `drawn` begins with it and consists of whole days beside a period that goes on, of all of its
    month beside a month, to see where that one went; `costs` are the rows for it. `recorded_from`
    is the ledger's first local day where that lies within the period, else None.
    """

    period: Period
    compared: Rows
    drawn: Period
    costs: Rows
    recorded_from: date | None

    @property
    def words(self) -> str:
        """``1-3 June 2026 until 12:00 (recorded from 2 June)``."""
        words = self.period.words
        if self.recorded_from is None:
            return words
        return f"{words} (recorded from {day_in_words(self.recorded_from.isoformat())})"


@dataclass(frozen=True)
class Reading:
    """`queries` are those that the file can answer, by name. `path` is the ledger's, by which its
    budget.yaml is found; None for a database in memory. `now` is aware.
    """

    queries: Mapping[str, Query]
    period: Period
    path: Path | None
    now: datetime
    _read: dict[tuple[str, Period], Rows] = field(default_factory=dict, init=False, repr=False)

    def rows(self, conn: sqlite3.Connection, name: str, period: Period | None = None) -> Rows:
        """What a canned query answers for the period, or for another one; it is asked once, and
        what it answered is not to be changed.
        """
        key = (name, period or self.period)
        if key not in self._read:
            self._read[key] = key[1].rows(conn, self.queries[name])
        return self._read[key]

    def earlier(self, conn: sqlite3.Connection) -> Earlier | str:
        """What the period is compared with, or in a sentence why there is nothing."""
        before = self.period.before()
        if before is None or before.first is None:
            return "There is no period of the same length before it."
        began = self._first_day(conn)
        if began is not None and began > before.last:
            return f"Nothing is recorded before {periods.span(began, began)}."
        drawn = before
        if self.period.goes_on and self.period.begins_with_a_day:
            last = next_month(before.first) - timedelta(days=1) if self.is_month else before.last
            given = {**before.arguments, "until": last.isoformat()}
            drawn = periods.Period.asked(given, before.window.zone, self.now)
        costs = compared = self.rows(conn, COSTS, drawn)
        if drawn != before:
            # The calls of whole days are read once; the last day may belong to it in part.
            of_last = self.rows(conn, COSTS, before.last_day)
            compared = [row for row in costs if row["day"] < before.last.isoformat()] + of_last
        part = began if began is not None and began > before.first else None
        return Earlier(before, compared, drawn, costs, part)

    @property
    def is_month(self) -> bool:
        """Whether the period begins with a month and does not go beyond that."""
        month = Window.month(self.period.last, self.period.window.zone)
        return self.period.window.start == month.start

    def _first_day(self, conn: sqlite3.Connection) -> date | None:
        ts = first_call(conn)
        try:
            return None if ts is None else local_day(parse_timestamp(ts), self.period.window.zone)
        except (ValueError, OverflowError):  # a file of other builds may hold anything
            return None


def priced(rows: Rows, column: str = "cost_usd") -> float | None:
    """The sum of the amounts that are known, whatever their order; None where none is."""
    known = [row[column] for row in rows if row[column] is not None]
    return fsum(known) if known else None


def unpriced(rows: Rows, column: str = "unpriced_calls") -> int:
    """How many calls of the rows have no price."""
    return sum(row[column] or 0 for row in rows)


def by_model(rows: Rows) -> dict[str, Rows]:
    """Rows of `COSTS` by their model, which is '' for calls without one."""
    of_model: dict[str, Rows] = defaultdict(list)
    for row in rows:
        of_model[row["model"] or ""].append(row)
    return of_model
