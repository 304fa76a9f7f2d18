"""A report as Datasette's canned query: its texts, its parameters and its chart's fragment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from hermes_telemetry.reports import UNITS, Parameter, Query

# Longer SQL would push the rows off the first screen; the page has a link that shows it.
_LINES_SHOWN = 20

_KINDS = {
    "since": "first local day (2026-07-01, yesterday), age (24h, 7d), ISO instant, or all",
    "until": "last local day; age or ISO instant before which it ends; or all",
    "profile": "name of a profile",
    "model": "identifier of a model",
    "session": "identifier of a session",
    "turn": "identifier of a turn",
    "cron_job": "identifier or name of a cron job",
    "number": "a whole number from 1",
}
_SELF_EVIDENT = {"text", "id", "count"}

# datasette-vega's names, in the order in which it writes them itself.
CHART_KEYS = {
    "mark": "mark",
    "x_column": "x",
    "x_type": "x_type",
    "y_column": "y",
    "y_type": "y_type",
    "color_column": "color",
    "size_column": "size",
}


def canned(query: Query) -> dict[str, Any]:
    """The canned query in the keys of Datasette's metadata, a new object each time."""
    return {
        "sql": query.sql,
        "title": query.title,
        "description": query.description,
        "description_html": _explanation(
            query.description, query.parameters, tuple(query.units.items())
        ),
        "params": [parameter.name for parameter in query.parameters],
        "hide_sql": query.sql.count("\n") >= _LINES_SHOWN,
        "fragment": fragment(query.chart) if query.chart else None,
    }


def fragment(chart: Mapping[str, str]) -> str:
    """The URL fragment by which datasette-vega draws `chart`."""
    return "&".join(
        f"g.{theirs}={quote(chart[ours], safe='')}"
        for theirs, ours in CHART_KEYS.items()
        if ours in chart
    )


@cache  # 0.65 asks for every query whenever it asks who may see one of them
def _explanation(
    description: str,
    parameters_taken: tuple[Parameter, ...],
    columns_and_units: tuple[tuple[str, str], ...],
) -> str:
    """What the query's page says above its form: description, parameters, units of columns."""
    parameters = [
        Markup("<li><code>{}</code>: {}; empty means {}</li>").format(
            parameter.name, _KINDS[parameter.kind], parameter.default
        )
        for parameter in parameters_taken
    ]
    columns = defaultdict(list)
    for column, unit in columns_and_units:
        if unit not in _SELF_EVIDENT:
            columns[unit].append(Markup("<code>{}</code>").format(column))
    units = [
        Markup("<li>{}: {}</li>").format(Markup(", ").join(names), UNITS[unit])
        for unit, names in columns.items()
    ]
    html = Markup(
        "<p>{}</p><details><summary>Parameters and units</summary><ul>{}</ul></details>"
    ).format(description, Markup().join(parameters + units))
    return str(html)
