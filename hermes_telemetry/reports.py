"""The figures of all reports, each from its one definition: a file in ``canned_queries/``.

A file holds one read-only SELECT behind a front matter: a YAML document in a leading SQL comment
that says what the query answers, its parameters, the unit of each column, where each amount's calls
without a price are counted, and a chart if it has one. The command line, the slash commands and the
Datasette pages all run these files.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from .budget.config import configured_time_zone
from .cron_jobs import cron_job_ids, cron_job_name
from .paths import budget_path
from .windows import SYSTEM_CLOCK, Clock, Window, bound, day_start_utc, machine_zone, time_zone

_FRONT_MATTER = re.compile(r"\A/\*\n(?P<yaml>.*?)\n\*/\n(?P<sql>.*)\Z", re.DOTALL)
# SQLite names a column with its table's alias in the query, which means nothing to a reader.
_MISSING = re.compile(r"no such (table|column): (?:\w+\.)?(\w+)")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}\Z")

LOST_AFTER = timedelta(hours=6)
"""Nobody waits so long between two calls of a turn: the process was killed."""

EXACT = "exact"
"""In `Query.unpriced`: the amount is what it says, however many calls have no price."""

UNITS = {
    "usd": "US dollars; NULL when no call in it has a price",
    "usd_at_least": "US dollars, a lower bound whatever is priced",
    "usd_difference": "US dollars, one amount less another, to the nano-dollar",
    "rate": "US dollars per million tokens",
    "count": "a number",
    "tokens": "tokens",
    "ms": "milliseconds",
    "share": "0 to 1",
    "score": "0 to 100",
    "percent": "per cent",
    "utc": "ISO-8601 instant in UTC",
    "day": "local day, YYYY-MM-DD",
    "id": "identifier",
    "text": "text",
}


@dataclass(frozen=True)
class Parameter:
    """A named parameter of a query. Its value is text; '' is a parameter that is not given.

    ``kind`` says what it holds: since, until, profile, model, session, turn, cron_job or number.
    ``default`` says what '' means, for people: "30 days", "every profile", "no rows".
    """

    name: str
    kind: str
    default: str


@dataclass(frozen=True)
class Query:
    """One figure: its SQL and what its front matter says about it.

    ``units`` has every column, in the order of the SELECT, with a key of `UNITS`. ``unpriced`` has
    every column in ``usd`` with the column that counts its calls without a price, which make it a
    lower bound, or with `EXACT`. ``chart`` holds mark, x, x_type, y, y_type and perhaps color
    (datasette-vega's words), or is None. ``sql`` takes every parameter by name, on a connection
    that `prepare_connection` has seen.
    """

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    units: Mapping[str, str]
    unpriced: Mapping[str, str]
    chart: Mapping[str, str] | None
    sql: str


def parse_query(name: str, text: str) -> Query:
    """A query from the text of its file.

    ``parameters``, ``unpriced`` and ``chart`` may be left out. Raises ValueError when the text does
    not open with a front matter, TypeError when that is no mapping, lacks a key or has one that
    means nothing.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise ValueError(f"{name}: no front matter")
    left_out: dict[str, Any] = {"parameters": {}, "unpriced": {}, "chart": None}
    about = left_out | yaml.safe_load(match["yaml"])
    about["parameters"] = tuple(
        Parameter(parameter, **words) for parameter, words in about["parameters"].items()
    )
    return Query(name=name, sql=match["sql"].strip(), **about)


def _folder() -> Traversable:
    try:
        return resources.files(f"{__package__}.canned_queries")
    except ModuleNotFoundError:  # a clone of the repository: the folder stands beside the package
        return Path(__file__).parent.parent / "canned_queries"


@cache
def load_queries() -> Mapping[str, Query]:
    """Every canned query by name, in the order of their names."""
    files = sorted(file.name for file in _folder().iterdir() if file.name.endswith(".sql"))
    return {
        name: parse_query(name, (_folder() / f"{name}.sql").read_text(encoding="utf-8"))
        for name in (file.removesuffix(".sql") for file in files)
    }


def prepare_connection(conn: sqlite3.Connection, zone: str, clock: Clock = SYSTEM_CLOCK) -> None:
    """Register the SQL functions that the queries call. ``zone`` is the IANA name of local days.

    - ``telemetry_zone()``: that name
    - ``day_start_utc(day, zone)``: first instant of a local day, as a 19-character UTC bound
    - ``window_start_utc(since, until, default_days, zone)`` and ``window_end_utc(until, zone)``:
      the half-open window that two parameters ask for, likewise; unreadable text is an error, for
      an empty answer would look like no spend
    - ``lost_before_utc()``: a run that says ``running`` is lost when its start and its last call
      lie before this bound, `LOST_AFTER` ago
    - ``cron_job_name(id)``: the name the host gave a cron job, else its id
    - ``cron_job_ids(word)``: the ids of the jobs that a reader's word means, its own where the host
      knows none, as a JSON array; empty for ''

    Declared deterministic, which SQLite takes as "within one statement".
    """

    def window_start_utc(since: str, until: str, default_days: int | None, zone: str) -> str:
        return bound(Window.asked(since, until, default_days, zone, clock.now()).start)

    def window_end_utc(until: str, zone: str) -> str:
        return bound(Window.asked("all", until, None, zone, clock.now()).end)

    def start_of_day(day: str | None, zone: str) -> str | None:
        return None if day is None else day_start_utc(day, zone)

    def ids_of(word: str | None) -> str:
        return json.dumps((cron_job_ids(word) or [word]) if word else [])

    def lost_before_utc() -> str:
        return bound(clock.now() - LOST_AFTER)

    conn.create_function("telemetry_zone", 0, lambda: zone, deterministic=True)
    conn.create_function("day_start_utc", 2, start_of_day, deterministic=True)
    conn.create_function("window_start_utc", 4, window_start_utc, deterministic=True)
    conn.create_function("window_end_utc", 2, window_end_utc, deterministic=True)
    conn.create_function("lost_before_utc", 0, lost_before_utc, deterministic=True)
    conn.create_function("cron_job_name", 1, cron_job_name, deterministic=True)
    conn.create_function("cron_job_ids", 1, ids_of, deterministic=True)


def unavailable(conn: sqlite3.Connection, query: Query) -> str | None:
    """Why a query cannot run on this file, None if it can.

    Needs a prepared connection. Files of other builds and of older versions lack tables and
    columns; the reason names the command that adds them.
    """
    try:
        conn.execute(f"explain {query.sql}", _values(query, {}))
    except sqlite3.OperationalError as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        kind, name = missing.groups()
        return f"this file has no {kind} {name}: bring it up to date with hermes-telemetry migrate"
    return None


def _values(query: Query, given: Mapping[str, str]) -> dict[str, str]:
    return {parameter.name: given.get(parameter.name, "") for parameter in query.parameters}


def run(
    conn: sqlite3.Connection,
    query: Query,
    parameters: Mapping[str, str],
    most: int | None = None,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query, the first ``most`` or all; parameters not given are ''.

    Raises ValueError for a parameter that the query does not take and for what `unreadable` finds.
    """
    values = _values(query, parameters)
    for name in parameters:
        if name not in values:
            known = ", ".join(values) or "none"
            raise ValueError(f"{query.name} takes no parameter {name!r} (it takes: {known})")
    faults = unreadable(query, values)
    if faults:
        raise ValueError("; ".join(faults.values()))
    with closing(conn.execute(query.sql, values)) as cursor:
        rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
        return [column[0] for column in cursor.description], rows


def unreadable(query: Query, parameters: Mapping[str, str]) -> dict[str, str]:
    """Which bounds and numbers a query could not read, and what they ought to be, by parameter.

    SQLite keeps to itself what a function raised, so this is asked before a query is run.
    """
    faults = {}
    for parameter in query.parameters:
        text = parameters.get(parameter.name, "")
        if parameter.kind in ("since", "until"):
            try:
                Window.asked(text, "", None, "UTC", SYSTEM_CLOCK.now())
            except ValueError as error:
                faults[parameter.name] = f"{parameter.name}: {error}"
        elif parameter.kind == "number" and text and not _NUMBER.match(text):
            faults[parameter.name] = f"{parameter.name}: {text!r} is not a number from 1 to 999,999"
    return faults


def configured_zone(explicit: str | None = None, database: Path | None = None) -> str:
    """The IANA name of the zone whose local days are shown.

    ``explicit`` (a setting; ValueError when it is no zone), else the ``timezone`` of the
    budget.yaml that belongs to ``database``, else the machine's.
    """
    if explicit:
        time_zone(explicit)
        return explicit
    return configured_time_zone(budget_path(database)) or machine_zone()
