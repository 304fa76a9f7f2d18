"""Cells: identifiers lead to the query that answers for them, and amounts read as money.

The schema has no foreign keys; and a sum with unpriced calls in it is less than was spent.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from hermes_telemetry.money import usd
from hermes_telemetry.reports import Query

if TYPE_CHECKING:
    from datasette.app import Datasette

_SESSION = (("cost_per_turn", "session_id"), ("delegation_tree", "session_id"))
_DELEGATING_SESSION = (("delegation_tree", "session_id"), ("cost_per_turn", "session_id"))
_TURN = (("turn_timeline", "turn_id"),)
_CRON_JOB = (("cron_runs", "cron_job_id"),)

_USD = ("usd", "usd_at_least", "usd_difference")

# Column -> (query, parameter), the best first: an older file cannot run every query.
_QUERIES_OF = {
    "session_id": _SESSION,
    "child_session_id": _SESSION,
    "parent_session_id": _DELEGATING_SESSION,
    "turn_id": _TURN,
    "parent_turn_id": _TURN,
    "cron_job_id": _CRON_JOB,
}


def link(
    datasette: Datasette, available: Container[str], database: str, column: str, value: object
) -> Markup | None:
    """A link from the cell to its query among those `available`; None to leave the cell alone."""
    if not isinstance(value, str) or not value:
        return None
    for query, parameter in _QUERIES_OF.get(column, ()):
        if query in available:
            path = datasette.urls.query(database, query)
            return Markup('<a href="{}?{}">{}</a>').format(
                path, urlencode({parameter: value}), value
            )
    return None


def amount(available: Mapping[str, Query], row: Any, column: str, value: object) -> Markup | None:
    """US dollars as they read everywhere, with "≥" if calls without a price belong to them, and the
    exact number to be pointed at; None for a cell that holds none.

    A row of a canned query is known by its columns; 0.65 does not tell which query is shown.
    """
    if not isinstance(value, int | float):
        return None
    columns = tuple(row.keys())
    for query in available.values():
        if tuple(query.units) == columns and query.units[column] in _USD:
            count = query.unpriced.get(column)
            lacking = bool(count in columns and row[count])
            words = usd(value, lacking or query.units[column] == "usd_at_least")
            return Markup('<span title="{}">{}</span>').format(value, words)
    return None
