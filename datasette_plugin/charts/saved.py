"""A saved chart as a figure: what its query answers for a period, drawn as the chart says."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_telemetry import reports
from hermes_telemetry.store.locking import is_busy

from .. import saved_charts
from ..saved_charts import NewChart, SavedChart
from . import declared
from .figure import Figure, nothing

if TYPE_CHECKING:
    from ..views.period import Period

# One more row than is drawn tells that there are more.
_MOST_ROWS = declared.MOST_ROWS + 1


def name(chart: NewChart) -> str:
    """What its figure is called in addresses and files."""
    return f"saved_{chart.id}" if isinstance(chart, SavedChart) else "new"


def takes(sql: str, parameter: str) -> bool:
    """Whether a query reads a parameter of that name."""
    return re.search(rf":{re.escape(parameter)}(?!\w)", sql) is not None


def given_to(sql: str, chart: NewChart, period: Period) -> dict[str, str]:
    """The parameters of the chart's query: those of the period, else the chart's own."""
    everything = {**chart.parameters, **period.arguments}
    return {name: text for name, text in everything.items() if takes(sql, name)}


def figure(
    conn: sqlite3.Connection,
    chart: NewChart,
    sql: str,
    period: Period,
    ours: reports.Query | None,
    limit_ms: int | None = None,
) -> Figure:
    """The figure of what `sql` answers; `ours` is the query of ours whose SQL that is, if any.

    Raises ValueError, a line for the reader, when it cannot be drawn or takes longer than
    `limit_ms`; sqlite3.OperationalError while another program holds the file.
    """
    given = given_to(sql, chart, period)
    if ours and (faults := reports.unreadable(ours, given)):
        raise ValueError("; ".join(faults.values()))
    columns, rows = _rows(conn, sql, given, limit_ms)
    return declared.figure(
        name(chart),
        chart.title,
        chart.query,
        columns,
        rows,
        chart.chart,
        ours.units if ours else None,
        ours.unpriced if ours else None,
    )


def of_ledger(
    conn: sqlite3.Connection, path: Path, queries: Mapping[str, reports.Query], period: Period
) -> list[Figure]:
    """Those that belong to the ledger at `path`, without a Datasette: it is known there by its
    file's name, and a user's own query is not known at all.
    """
    try:
        charts = saved_charts.of_file(path.with_name(saved_charts.FILE))
    except (sqlite3.Error, ValueError) as error:
        why = f"{saved_charts.FILE} cannot be read: {error}."
        return [nothing("saved", "Saved charts", "", why)]
    return [_drawn(conn, chart, queries, period) for chart in charts if chart.database == path.stem]


def _drawn(
    conn: sqlite3.Connection,
    chart: SavedChart,
    queries: Mapping[str, reports.Query],
    period: Period,
) -> Figure:
    query = queries.get(chart.query)
    try:
        if query:
            return figure(conn, chart, query.sql, period, query)
        why = f"Its query {chart.query!r} is not one that comes with the ledger."
    except ValueError as error:
        why = f"It cannot be drawn: {error}."
    return nothing(name(chart), chart.title, chart.query, why)


class _Given(dict[str, str]):
    """Parameters as Datasette gives them to a query: what is not given is empty."""

    def __missing__(self, parameter: str) -> str:
        if parameter.startswith("_"):
            raise KeyError(parameter)  # A magic one: it would differ from reader to reader.
        return ""


def _rows(
    conn: sqlite3.Connection, sql: str, given: Mapping[str, str], limit_ms: int | None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    from datasette.utils import sqlite_timelimit

    limit: AbstractContextManager[None] = nullcontext()
    if limit_ms is not None:
        limit = sqlite_timelimit(conn, limit_ms)
    try:
        with limit:
            cursor = conn.execute(sql, _Given(given))
            rows = cursor.fetchmany(_MOST_ROWS)
    except sqlite3.Error as error:
        if is_busy(error):
            raise
        if str(error) == "interrupted":
            raise ValueError(f"its query takes longer than {limit_ms:,} ms") from error
        raise ValueError(f"its query fails: {error}") from error
    columns = [column for column, *_ in cursor.description or ()]
    return columns, [tuple(map(_without_bytes, row)) for row in rows]


def _without_bytes(value: Any) -> Any:
    return f"{len(value):,} bytes" if isinstance(value, bytes) else value
