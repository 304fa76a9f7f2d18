"""Sessions by cost: how many cost about how much, and which cost most."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections import Counter
from typing import Any

from hermes_telemetry.money import usd

from ..views import formats
from . import style
from .figure import LONGEST_TABLE, Figure, Row, Spec, Table, Total, as_json, many, nothing, short
from .reading import Reading, priced, unpriced

QUERY = "cost_by_session"
NAME, TITLE = "sessions", "Sessions by cost"
# Where bins of cost begin, USD; each about three times above the one before.
_EDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
_NO_PRICE, _FREE = -2, -1


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """All sessions of the period by what they cost, and the ten most expensive."""
    # Once more: the query has a session with an infinite cost first, which here is unknown.
    sessions = sorted(reading.rows(conn, QUERY), key=lambda session: -(session["cost_usd"] or 0))
    if not sessions:
        return nothing(NAME, TITLE, QUERY, "No session had a call in this period.")
    amount, lacking = priced(sessions), unpriced(sessions)
    bins = _bins([session["cost_usd"] for session in sessions])
    dearest = sessions[: max(1, round(len(sessions) / 10))]
    first = sessions[0]
    sentence = f"None of the calls of {many(len(sessions), 'session')} has a known cost."
    if amount:
        of_all = many(len(sessions), "session")
        made = formats.share((priced(dearest) or 0) / amount)
        cost = usd(first["cost_usd"], first["unpriced_calls"])
        sentence = f"The most expensive of {of_all} cost {cost}, {made} of it."
        if len(dearest) > 1:
            sentence = (
                f"The {len(dearest):,} most expensive of {of_all} made {made} of it;"
                f" the most expensive cost {cost}."
            )
    return Figure(
        NAME,
        TITLE,
        QUERY,
        Total(amount, "usd", usd(amount, lacking), lacking),
        sentence,
        rows=bins,
        table=Table(
            (("Session", False), ("USD", True), ("Calls", True), ("Model", False)),
            tuple(
                Row(
                    (
                        short(session["session_id"], 60),
                        usd(session["cost_usd"], session["unpriced_calls"]),
                        formats.number(session["calls"]),
                        short(session["model"] or "–", 40),
                    ),
                    ("cost_per_turn", {"session_id": session["session_id"]}),
                )
                for session in sessions[:LONGEST_TABLE]
            ),
        ),
        wide=as_json(_spec(bins, False)),
        narrow=as_json(_spec(bins, True)),
    )


def _bins(costs: list[float | None]) -> list[dict[str, Any]]:
    """How many of the costs lie in each bin, from the cheapest that has one to the dearest."""
    counts = Counter(map(_place, costs))
    paid = [place for place in counts if place >= 0]
    places = sorted(place for place in counts if place < 0)
    places += range(min(paid), max(paid) + 1) if paid else []
    return [{**_bin(place), "sessions": counts[place]} for place in places]


def _place(cost: float | None) -> int:
    if cost is None:
        return _NO_PRICE
    return bisect_right(_EDGES, cost) if cost > 0 else _FREE


def _bin(place: int) -> dict[str, Any]:
    """From `from_usd` up to below `below_usd`, None for no bound; both None: no price."""
    if place == _NO_PRICE:
        return {"from_usd": None, "below_usd": None, "label": "no price"}
    if place == _FREE:
        return {"from_usd": 0, "below_usd": 0, "label": "$0"}
    if place == 0:
        return {"from_usd": 0, "below_usd": _EDGES[0], "label": f"< ${_EDGES[0]:g}"}
    low = _EDGES[place - 1]
    if place == len(_EDGES):
        return {"from_usd": low, "below_usd": None, "label": f"≥ ${low:,g}"}
    high = _EDGES[place]
    return {"from_usd": low, "below_usd": high, "label": f"${low:g}–{high:,g}"}


def _spec(bins: list[dict[str, Any]], narrow: bool) -> Spec:
    most = max(bin["sessions"] for bin in bins)
    return style.picture(
        {
            "data": {"values": [{"bin": bin["label"], "count": bin["sessions"]} for bin in bins]},
            "encoding": {
                "x": {
                    "field": "bin",
                    "type": "nominal",
                    "sort": None,
                    "axis": {"title": "USD a session", "labelAngle": -45},
                },
                "y": {
                    "field": "count",
                    "type": "quantitative",
                    "axis": style.count_axis(most, title="sessions"),
                },
            },
            "layer": [
                {"mark": {"type": "bar", "color": style.SERIES[0]}},
                {
                    "mark": {"type": "text", "dy": -7},
                    "encoding": {"text": {"field": "count", "format": ",d"}},
                },
            ],
        },
        narrow,
    )
