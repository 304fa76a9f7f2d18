"""The saved charts as the cost review shows them: each drawn for the period of the page.

A chart that cannot be drawn is shown by its name, with the reason.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from .. import access, compat, ledgers, saved_charts
from ..charts import saved
from ..charts.figure import Figure, nothing
from ..queries import fragment
from ..saved_charts import NewChart, SavedChart
from . import figures
from .frame import Page


@dataclass(frozen=True)
class Shown:
    """A saved chart and its figure, which says the `error` where it cannot be drawn. `links` lead
    to the rows; there are none where the query is gone.
    """

    page: Page
    chart: SavedChart
    figure: Figure
    links: Sequence[figures.Link] = ()
    error: str | None = None

    def template(self) -> dict[str, Any]:
        """What telemetry_figure.html shows of it."""
        return figures.shown(self.page, self.figure, self.figure.name, list(self.links))

    def said(self) -> dict[str, Any]:
        """For JSON: what is kept, the total of what is drawn, and why nothing is."""
        total = self.figure.total
        return {
            "id": self.chart.id,
            **asdict(self.chart),
            "fragment": fragment(self.chart.chart),
            "total": total and total.value,
            "unit": total and total.unit,
            "unpriced_calls": total and total.unpriced_calls,
            "sentence": self.figure.sentence,
            "error": self.error,
            "rows": list(self.figure.rows),
        }


@dataclass(frozen=True)
class Section:
    """What telemetry_saved_charts.html shows: the ledger's charts that the reader may see, whether
    he may change them, and why there are none where their file cannot be read.
    """

    charts: Sequence[Shown]
    may_change: bool
    broken: str | None


async def section(page: Page) -> Section:
    """The saved charts of the page's ledger."""
    try:
        charts, broken = await saved_charts.saved(page.datasette), None
    except (sqlite3.Error, ValueError) as error:
        charts, broken = [], f"{saved_charts.FILE} cannot be read: {error}"
    drawn = await _drawn(page, [chart for chart in charts if belongs(page, chart)])
    actor = page.request.actor
    may_change = await compat.allowed(page.datasette, actor, access.SAVE_CHART, page.database)
    return Section([shown for shown in drawn if shown], may_change, broken)


def belongs(page: Page, chart: SavedChart) -> bool:
    """Whether the page's ledger shows a chart: its own, and the first ledger those of none."""
    attached = [name for name, _ in ledgers.of(page.datasette).items()]
    return page.database == (chart.database if chart.database in attached else attached[0])


async def one(page: Page, chart: SavedChart) -> Shown | None:
    """A chart that `belongs` to the page; None where the reader may not see its query."""
    return (await _drawn(page, [chart]))[0]


async def _drawn(page: Page, charts: Sequence[SavedChart]) -> Sequence[Shown | None]:
    # Asked once for all of them: each time costs 0.65 some milliseconds.
    sql = await compat.sql_of(page.datasette, page.database, *(chart.query for chart in charts))
    return await asyncio.gather(*(_one(page, chart, sql.get(chart.query)) for chart in charts))


async def _one(page: Page, chart: SavedChart, sql: str | None) -> Shown | None:
    if chart.database != page.database:
        return _undrawn(page, chart, f"Its ledger {chart.database!r} is not attached here.")
    if sql is None:
        return _undrawn(page, chart, f"Its query {chart.query!r} is gone.")
    place = (page.database, chart.query)
    if not await compat.can_view_query(page.datasette, page.request.actor, place):
        return None
    links = _links(page, chart, sql)
    try:
        return Shown(page, chart, await figure(page, chart, sql), links)
    except ValueError as error:
        return _undrawn(page, chart, f"It cannot be drawn: {error}.", links)


def _undrawn(page: Page, chart: SavedChart, why: str, links: Sequence[figures.Link] = ()) -> Shown:
    return Shown(page, chart, nothing(saved.name(chart), chart.title, chart.query, why), links, why)


def _links(page: Page, chart: SavedChart, sql: str) -> list[figures.Link]:
    path = str(page.datasette.urls.query(page.database, chart.query))
    given = saved.given_to(sql, chart, page.period)
    return [
        ("Explore", f"{path}?{urlencode(given)}#{fragment(chart.chart)}"),
        ("CSV", f"{path}.csv?{urlencode(given)}"),
        ("JSON", f"{path}.json?{urlencode({**given, '_shape': 'array'})}"),
        ("SQL", f"{path}?{urlencode({**given, '_show_sql': '1'})}"),
    ]


async def figure(page: Page, chart: NewChart, sql: str) -> Figure:
    """The chart of a query's rows in the page's period. Raises ValueError, a line for the reader,
    when it cannot be drawn.
    """
    ours = page.ledger.queries.get(chart.query)
    draw = partial(
        saved.figure,
        chart=chart,
        sql=sql,
        period=page.period,
        ours=ours if ours and ours.sql == sql else None,  # else the user's own of that name
        limit_ms=page.datasette.setting("sql_time_limit_ms"),
    )
    kept = (saved.name(chart), chart.title, sql, *chart.parameters.items(), *chart.chart.items())
    return await page.figures(kept, draw)
