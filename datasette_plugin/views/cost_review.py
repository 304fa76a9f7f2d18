"""The cost review: eight figures of one period, their pictures, and all of it as one file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from datasette import Response

from hermes_telemetry.paths import budget_path

from ..charts import drawing, report, review
from ..charts.figure import Figure
from ..charts.reading import Reading
from . import figures, saved_figures
from .frame import Page, RefusedError, view

PATH = "/-/telemetry/charts"


@view(PATH)
async def cost_review(page: Page) -> Response:
    """The page, and its figures as JSON."""
    made = await _review(page)
    saved = await saved_figures.section(page)
    return await page.answer(
        "telemetry_charts.html",
        {**made.said(), "saved": [shown.said() for shown in saved.charts]},
        saved=saved,
        comparison=made.comparison,
        shown=[
            figures.shown(page, figure, figure.name, figures.query_links(page, figure.query))
            for figure in made.figures
        ],
        months={
            words: page.url(since=first.isoformat(), until=last.isoformat())
            for words, (first, last) in page.period.months_beside().items()
        },
        file=page.url(f"{PATH}/review.html"),
        no_pictures=None if drawing.engine() else drawing.MISSING,
    )


@view(PATH)
async def picture(page: Page) -> Response:
    """One of the figures as SVG."""
    name = page.request.url_vars["name"]
    if name not in review.NAMES:
        raise RefusedError(404, f"the cost review has no figure {name!r}")

    async def make() -> Figure:
        names = next(names for names in review.TOGETHER if name in names)
        return review.figure_of((await _parts(page, names))[name])

    return await figures.picture(page, make)


@view(PATH)
async def file(page: Page) -> Response:
    """The review as one HTML file that needs no server."""
    made = await _review(page)
    saved = await saved_figures.section(page)
    more = [shown.figure for shown in saved.charts]
    made = replace(made, figures=(*made.figures, *more))
    drawings = drawing.of(page.datasette)
    pictures = {}
    if drawing.engine():
        for figure in made.figures:
            if figure.wide and figure.narrow:
                _, wide = await drawings.draw(page.database, figure.wide)
                _, narrow = await drawings.draw(page.database, figure.narrow)
                pictures[figure.name] = (wide, narrow)
    html = report.Report(made, page.period, page.database, page.newest.ts).html(pictures)
    name = f"telemetry-{page.period.first or 'all'}-{page.period.last}.html"
    return Response.html(html, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _review(page: Page) -> review.Review:
    """Its parts are read side by side: SQLite leaves the interpreter to others meanwhile."""
    found = await asyncio.gather(*(_parts(page, names) for names in review.TOGETHER))
    return review.assemble({name: part for parts in found for name, part in parts.items()})


async def _parts(page: Page, names: Sequence[str]) -> Mapping[str, review.Part]:
    path = Path(page.ledger.path) if page.ledger.path else None
    reading = Reading(page.ledger.queries, page.period, path, page.now)
    budget = budget_path(path)
    changed = budget.stat().st_mtime_ns if budget.is_file() else None
    return await page.figures(("charts", names, changed), partial(review.parts, names, reading))
