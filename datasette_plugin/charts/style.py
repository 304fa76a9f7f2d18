"""How the pictures look: colours, sizes, axes and legends, as pieces of Vega-Lite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .figure import Spec

# Those of the pages (static/telemetry.css), told apart with any kind of colour sight.
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00")
OTHER = "#767d8a"
INK, MUTED, RULE = "#111a35", "#595f6e", "#d3dae3"

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_FONT = "Helvetica, Arial, sans-serif"
# A reader's browser may have a wider font for it than the engine that lays the picture out: so many
# CSS pixels have room for a sign of either.
_SIGN = 7.4


def width(narrow: bool) -> int:
    """Of the whole picture in CSS pixels: on a page, or on a telephone of 375."""
    return 340 if narrow else 760


def longest_label(narrow: bool) -> int:
    """How many signs of a name have room beside bars and in a legend."""
    return 20 if narrow else 34


def bars_height(bars: int) -> int:
    """Of a picture of bars that lie one above the other."""
    return 90 + 24 * bars


def picture(parts: Spec, narrow: bool, height: int = 300) -> dict[str, Any]:
    """A whole spec of `parts`: its data and marks, or its layers."""
    axis = {
        "labelFont": _FONT,
        "labelFontSize": 12,
        "labelColor": MUTED,
        "titleFont": _FONT,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleColor": MUTED,
        "domainColor": RULE,
        "tickColor": RULE,
        "gridColor": RULE,
        "labelLimit": 160 if narrow else 260,
        # The first and the last where their ticks are, and none that runs into another.
        "labelFlush": False,
        "labelSeparation": 8,
    }
    return {
        "$schema": _SCHEMA,
        "width": width(narrow),
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": 4, "right": 12, "top": 4, "bottom": 4},
        "background": "#ffffff",
        **parts,
        "config": {
            # The page says in words what is drawn; a label for each bar would treble the picture.
            "aria": False,
            "view": {"stroke": None},
            "axis": axis,
            "legend": {
                "labelFont": _FONT,
                "labelFontSize": 12,
                "labelColor": INK,
                "labelLimit": 280,
                "symbolStrokeWidth": 2,
            },
            "text": {"font": _FONT, "fontSize": 12, "fill": INK},
            "bar": {"discreteBandSize": {"band": 0.8}},
            "title": {"font": _FONT, "subtitleFont": _FONT, "anchor": "start"},
        },
    }


def colours(count: int, *, has_other: bool) -> list[str]:
    """One for each of `count` series, grey for the last one where that is everything else."""
    own = count - has_other
    return [*SERIES[:own], *([OTHER] if has_other else [])]


def legend(names: Sequence[str], narrow: bool, beside: float = 60, **more: Any) -> dict[str, Any]:
    """A legend above the picture, in as many columns as have room right of `beside` pixels."""
    longest = max((len(name) for name in names), default=0)
    room = int((width(narrow) - beside) / (_SIGN * (longest + 5)))
    return {
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "columns": max(1, min(len(names), room)),
        "columnPadding": 10 + 1.2 * longest,
        **more,
    }


def colour(
    field: str, names: Sequence[str], range_: Sequence[str], narrow: bool, **more: Any
) -> dict[str, Any]:
    """The colour channel for a field of few names, in their order."""
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(range_)},
        "legend": legend(names, narrow, **more),
    }


def usd_axis(largest: float, **more: Any) -> dict[str, Any]:
    """An axis of US dollars whose ticks differ, whatever the largest amount is."""
    return {"title": None, "format": usd_format(largest), "tickCount": 5, **more}


def usd_format(largest: float) -> str:
    """d3's format for ticks up to an amount."""
    if largest >= 100_000:
        return "$~s"
    if largest >= 4:
        return "$,.0f"
    if largest >= 0.08 or largest <= 0:
        return "$,.2f"
    return f"$,.{min(9, 2 - math.floor(math.log10(largest)))}f"


def count_axis(largest: float, **more: Any) -> dict[str, Any]:
    """An axis of things that are counted: no half ones."""
    form = "~s" if largest >= 10_000 else ",d"
    return {"title": None, "format": form, "tickMinStep": 1, "tickCount": 5, **more}


SHARE_AXIS: Spec = {"title": None, "format": ".0%", "tickCount": 5}


def room_for(words: Sequence[str]) -> float:
    """How many CSS pixels the longest of these takes beside a bar."""
    return _SIGN * max((len(each) for each in words), default=0) + 8


def domain(
    low: float, high: float, names: Sequence[str], words: Sequence[str], narrow: bool
) -> list[float]:
    """The scale of bars from `low` (0, or below) to `high`, with room for `words` at their ends."""
    room = room_for(words)
    sides = (low < 0) + (high > 0)
    inside = max(60, width(narrow) - 20 - room_for(names) - sides * room)
    more = room * (high - low) / inside
    return [low - more if low < 0 else 0, high + more if high > 0 else 0]


def names_channel(field: str, names: Sequence[str]) -> dict[str, Any]:
    """The y channel of bars that lie one above the other, in the order of the data."""
    axis = {"title": None, "ticks": False, "domain": False, "minExtent": room_for(names)}
    return {"field": field, "type": "nominal", "sort": None, "axis": axis}


def at_the_end(value: str, words: str) -> dict[str, Any]:
    """A layer of texts, each at the end of its bar."""
    return {
        "mark": {"type": "text", "align": "left", "dx": 4},
        "encoding": {"x": {"field": value, "type": "quantitative"}, "text": {"field": words}},
    }
