"""How a figure stands in a page: its links, and its pictures at addresses of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from datasette import Response

from ..charts import drawing
from ..charts.figure import Figure
from .frame import Page, RefusedError

Link = tuple[str, str]
"""Words and an address."""

# A picture that is opened by itself is a document: nothing in it may run or load.
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def shown(page: Page, figure: Figure, path: str, links: list[Link]) -> dict[str, Any]:
    """What the template telemetry_figure.html shows of `figure`.

    `path` is where `picture` answers for it, below the path of the page.
    """
    return {
        "figure": figure,
        "links": links,
        "pictures": _addresses(page, figure, path),
        "leads_to": [row.leads_to and _address(page, *row.leads_to) for row in figure.table.rows]
        if figure.table
        else [],
    }


def query_links(page: Page, query: str, **parameters: str) -> list[Link]:
    """Where the rows of a canned query are had, with the page's period."""
    if query not in page.ledger.queries:
        return []
    formats = {"Explore": "", "CSV": "csv", "JSON": "json", "SQL": "sql"}
    return [
        (words, page.query_url(query, format, **parameters)) for words, format in formats.items()
    ]


async def picture(page: Page, make: Callable[[], Awaitable[Figure]]) -> Response:
    """The SVG that `drawing` in the address names; where it is no longer known, of what `make`
    makes. RefusedError 404 where there is nothing to draw, or nothing to draw it with.
    """
    drawings = drawing.of(page.datasette)
    if drawing.engine() is None:
        raise RefusedError(404, drawing.MISSING)
    name = page.given.get("drawing", "")
    headers = {
        # Asked again each time, for who may see it can change; the answer then is 304.
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": PICTURE_POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    try:
        svg = await drawings.svg(page.database, name)
        if svg is None:
            figure = await make()
            spec = figure.narrow if page.given.get("narrow") else figure.wide
            if spec is None:
                raise RefusedError(404, figure.sentence)
            name, svg = await drawings.draw(page.database, spec)
    except ValueError as error:
        raise RefusedError(500, f"the chart cannot be drawn: {error}") from error
    headers["ETag"] = f'"{name}"'
    if page.request.headers.get("if-none-match") == headers["ETag"]:
        return Response("", status=304, headers=headers, content_type="image/svg+xml")
    return Response(svg, headers=headers, content_type="image/svg+xml")


def _addresses(page: Page, figure: Figure, path: str) -> dict[str, str] | None:
    if figure.wide is None or figure.narrow is None or drawing.engine() is None:
        return None
    drawings = drawing.of(page.datasette)
    wide, narrow = (drawings.offer(page.database, spec) for spec in (figure.wide, figure.narrow))
    return {
        "wide": page.url(f"{page.path}/{path}", "svg", drawing=wide),
        "narrow": page.url(f"{page.path}/{path}", "svg", drawing=narrow, narrow="1"),
    }


def _address(page: Page, query: str, parameters: Mapping[str, str]) -> str | None:
    return page.query_url(query, **parameters) if query in page.ledger.queries else None
