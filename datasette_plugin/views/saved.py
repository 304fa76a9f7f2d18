"""What saves, renames and deletes charts, and the picture of a saved one.

A chart comes as a page of Datasette and its address have it, and is kept as pieces, each checked:
which query of which ledger, with which parameters, and which columns are drawn how.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from datasette import Response

from .. import access, compat, saved_charts, vega_fragments
from ..charts import saved
from ..charts.figure import Figure
from ..saved_charts import NewChart, NotWritableError, SavedChart
from . import figures, saved_figures
from .frame import Page, RefusedError, view

PATH = "/-/telemetry/charts"
_ANCHOR = "tm-saved"
_LONGEST_TITLE = 120
_MOST_PARAMETERS = 20
_LONGEST_PARAMETER = 1000
# The page gives the period.
_PERIOD = ("since", "until")
# Signs that turn the direction of all that follows on the page.
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@view(PATH)
async def picture(page: Page) -> Response:
    """A saved chart as SVG."""
    chart = await _chart(page)

    async def make() -> Figure:
        shown = await saved_figures.one(page, chart)
        if shown is None:
            raise _missing(chart.id)
        return shown.figure

    return await figures.picture(page, make)


@view(PATH)
async def save(page: Page) -> Response:
    """POST, form or JSON, of title, path, parameters and fragment, as the query's page has them."""
    given = await _posted(page, "title", "path", "parameters", "fragment")
    try:
        chart = NewChart(
            title=_title(given["title"]),
            database=page.database,
            query=_query(page, given["path"]),
            parameters=_parameters(given["parameters"]),
            chart=vega_fragments.parse(given["fragment"]),
        )
        sql = await _sql(page, chart.query)
        taken = {name: text for name, text in chart.parameters.items() if saved.takes(sql, name)}
        chart = replace(chart, parameters=taken)
        await saved_figures.figure(page, chart, sql)
    except ValueError as error:
        raise RefusedError(400, f"the chart is not saved: {error}") from error
    try:
        id = await saved_charts.save(page.datasette, chart, page.now)
    except NotWritableError as error:
        raise _unwritable("saved", error) from error
    return await _done(page, f"Saved: {chart.title}", {"id": id, **asdict(chart)}, status=201)


@view(PATH)
async def rename(page: Page) -> Response:
    """POST, form or JSON, of another title for the chart that the address names."""
    given = await _posted(page, "title")
    chart = await _chart(page)
    try:
        title = _title(given["title"])
        await saved_charts.rename(page.datasette, chart.id, title)
    except ValueError as error:
        raise RefusedError(400, f"the chart is not renamed: {error}") from error
    except NotWritableError as error:
        raise _unwritable("renamed", error) from error
    except KeyError as error:
        raise _missing(chart.id) from error
    return await _done(page, f"Renamed: {title}", {"id": chart.id, "title": title})


@view(PATH)
async def delete(page: Page) -> Response:
    """POST: the chart that the address names is forgotten."""
    await _posted(page)
    chart = await _chart(page)
    try:
        await saved_charts.delete(page.datasette, chart.id)
    except NotWritableError as error:
        raise _unwritable("deleted", error) from error
    except KeyError as error:
        raise _missing(chart.id) from error
    return await _done(page, f"Deleted: {chart.title}", {"id": chart.id, "title": chart.title})


async def _posted(page: Page, *names: str) -> dict[str, str]:
    """The fields `names` of a POST by somebody who may change charts of the page's ledger."""
    if page.request.method != "POST":
        raise RefusedError(405, f"{page.request.method} is not supported here", {"Allow": "POST"})
    access.require_same_site(page.datasette, page.request)
    await access.require(page.datasette, page.request, access.SAVE_CHART, page.database)
    body = await page.request.post_body()
    sent = page.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = body.decode("utf-8")
        said = _of_json(text) if sent == "application/json" else _of_form(text)
    except ValueError as error:
        raise RefusedError(400, f"the body cannot be read: {error}") from error
    said.pop("csrftoken", None)
    if unknown := sorted(said.keys() - set(names)):
        raise RefusedError(400, f"{', '.join(unknown)}: not a field of this request")
    if lacking := [name for name in names if name not in said]:
        raise RefusedError(400, f"{', '.join(lacking)}: required")
    return said


def _of_form(text: str) -> dict[str, str]:
    pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=20)
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field is given twice")
    return dict(pairs)


def _of_json(text: str) -> dict[str, str]:
    said = json.loads(text) if text else {}
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise ValueError("it is not a JSON object of texts")
    for value in said.values():
        value.encode("utf-8")  # JSON can spell half a character, which no database takes
    return said


async def _chart(page: Page) -> SavedChart:
    """The saved chart that the address names, if it is one of the page's ledger."""
    id = int(page.request.url_vars["id"])
    try:
        charts = await saved_charts.saved(page.datasette)
    except (sqlite3.Error, ValueError) as error:
        why = f"{saved_charts.FILE} cannot be read: {error}"
        raise RefusedError(403, why) from error
    for chart in charts:
        if chart.id == id and saved_figures.belongs(page, chart):
            return chart
    raise _missing(id)


def _unwritable(what: str, error: NotWritableError) -> RefusedError:
    why = f"the chart is not {what}: {error}"
    if error.is_busy:
        return RefusedError(503, why, RefusedError.locked().headers)
    return RefusedError(403, why)


def _missing(id: int) -> RefusedError:
    return RefusedError(404, f"there is no saved chart {id} of this ledger")


async def _done(page: Page, message: str, said: dict[str, Any], status: int = 200) -> Response:
    """For a script what was done; for a form the cost review again, at the saved charts."""
    if page.wants_json:
        return await page.answer("telemetry_charts.html", said, period=False, status=status)
    page.datasette.add_message(page.request, message)
    return Response.redirect(f"{page.bare_url()}#{_ANCHOR}")


# --- the pieces of a chart, each checked: ValueError, a line for the reader


def _title(text: str) -> str:
    title = " ".join(text.split())
    if not title:
        raise ValueError("it needs a title")
    if len(title) > _LONGEST_TITLE:
        raise ValueError(f"its title has more than {_LONGEST_TITLE} characters")
    for sign in title:
        # Joiners between letters are format signs (Cf) that some scripts need.
        if sign in _TURNING or not (sign.isprintable() or unicodedata.category(sign) == "Cf"):
            raise ValueError(f"its title contains the character {sign!a}")
    return title


def _query(page: Page, path: str) -> str:
    """The name of the query at a path of this server, one of the page's ledger."""
    from datasette.utils import tilde_decode

    base = page.datasette.setting("base_url")
    parts = urlsplit(path)
    if parts.path != path or not path.startswith(base):
        raise ValueError(f"{path[:200]!r} is not a path of this server")
    database, _, query = path.removeprefix(base).partition("/")
    try:
        named = page.datasette.get_database(route=tilde_decode(database)).name
    except KeyError:
        named = None
    if named != page.database:
        raise ValueError(f"{path[:200]!r} is not a query of the ledger {page.database}")
    return str(tilde_decode(query))


async def _sql(page: Page, query: str) -> str:
    actor = page.request.actor
    sql = (await compat.sql_of(page.datasette, page.database, query)).get(query)
    if sql is None or not await compat.can_view_query(
        page.datasette, actor, (page.database, query)
    ):
        raise ValueError(f"{page.database} has no query {query[:200]!r}")
    return sql


def _parameters(text: str) -> dict[str, str]:
    pairs = parse_qsl(text.removeprefix("?"), errors="strict", max_num_fields=_MOST_PARAMETERS)
    for name, value in pairs:
        if len(name) + len(value) > _LONGEST_PARAMETER:
            raise ValueError(
                f"the parameter {name[:60]!r} is longer than {_LONGEST_PARAMETER} characters"
            )
    # Datasette takes the first of several; a name that begins with _ is one of its own.
    return {
        name: value
        for name, value in reversed(pairs)
        if name not in _PERIOD and not name.startswith("_")
    }
