"""A chart as it is declared, drawn of any query's rows: by the front matter of a query of ours, or
by the fragment in which datasette-vega keeps one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hermes_telemetry.money import usd

from ..views import formats
from . import style
from .figure import LONGEST_TABLE, Figure, Row, Table, Total, as_json, labels, many, nothing, short

MARKS = ("bar", "line", "circle")
TYPES = ("quantitative", "quantitative-bin", "temporal", "temporal-bin", "ordinal", "nominal")
"""datasette-vega's words."""

# As many rows as Datasette gives to datasette-vega.
MOST_ROWS = 1000
_ADD_UP = ("usd", "usd_at_least", "count", "tokens")
_OTHERS = "all others"
# Of labels that lie beside each other below a picture on a telephone.
_SIGNS_IN_A_ROW = 45
_SLANTING_LABELS = 16


def figure(
    name: str,
    title: str,
    query: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    chart: Mapping[str, str],
    units: Mapping[str, str] | None = None,
    unpriced: Mapping[str, str] | None = None,
) -> Figure:
    """The chart with the keys of `reports.Query.chart` and perhaps `size`, of the first 1,000 rows.

    `name` stands in addresses: letters, digits and _. `units` and `unpriced` are those of
    `reports.Query`; without them numbers are plain numbers. Raises ValueError, a line for the
    reader, for a chart that cannot be drawn of these columns.
    """
    _check(chart, columns)
    if not rows:
        return nothing(name, title, query, "The query has no rows.")
    places = {column: columns.index(column) for column in _columns(chart)}
    drawn = [{column: row[n] for column, n in places.items()} for row in rows[:MOST_ROWS]]
    x, y = chart["x"], chart["y"]
    unit = (units or {}).get(y, "")
    counted = columns.index(unpriced[y]) if unpriced and unpriced.get(y) in columns else None
    lacking = sum(row[counted] or 0 for row in rows[:MOST_ROWS]) if counted is not None else 0
    known = [row for row in drawn if _number(row[y]) is not None]
    sentence = f"{many(len(drawn), 'row')}."
    if known:
        highest = max(known, key=lambda row: _number(row[y]) or 0)
        sentence = f"The highest is {_words(highest[x], '')}: {_words(highest[y], unit)}."
    if len(rows) > MOST_ROWS:
        sentence += f" Only the first {formats.number(MOST_ROWS)} rows are drawn."
    total = None
    if known and (unit in _ADD_UP or (not unit and chart["mark"] == "bar")):
        whole = sum(_number(row[y]) or 0 for row in known)
        total = Total(whole, unit or "number", _words(whole, unit, lacking), lacking)
    return Figure(
        name,
        title,
        query,
        total,
        sentence,
        rows=drawn,
        table=_table(list(places), drawn, units or {}),
        wide=as_json(_spec(chart, drawn, units or {}, False)),
        narrow=as_json(_spec(chart, drawn, units or {}, True)),
    )


def _check(chart: Mapping[str, str], columns: Sequence[str]) -> None:
    if chart.get("mark") not in MARKS:
        raise ValueError(f"a chart is one of {', '.join(MARKS)}")
    for channel in ("x", "y"):
        if channel not in chart:
            raise ValueError(f"the chart names no {channel} column")
        if chart.get(f"{channel}_type") not in TYPES:
            raise ValueError(f"{channel} is none of {', '.join(TYPES)}")
    for column in _columns(chart):
        if column not in columns:
            raise ValueError(f"the query has no column {short(column, 60)} (any more)")


def _columns(chart: Mapping[str, str]) -> list[str]:
    """Those that the chart uses, each once."""
    return list(dict.fromkeys(chart[key] for key in ("x", "y", "color", "size") if chart.get(key)))


def _number(value: Any) -> float | None:
    """What can be drawn to a scale and added up; None for NULL, text and what is infinite."""
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return None


def _words(value: Any, unit: str, lacking: int = 0) -> str:
    if unit.startswith("usd"):
        return usd(_number(value), lacking + (unit == "usd_at_least"))
    if unit == "share":
        return formats.share(_number(value))
    if isinstance(value, float):
        return f"{value:,.2f}" if math.isfinite(value) else str(value)
    return f"{value:,}" if isinstance(value, int) else short("–" if value is None else value, 80)


def _table(columns: list[str], drawn: list[dict[str, Any]], units: Mapping[str, str]) -> Table:
    shown = drawn[:LONGEST_TABLE]
    return Table(
        tuple(
            (short(column, 60), all(_number(row[column]) is not None for row in shown))
            for column in columns
        ),
        tuple(
            Row(tuple(_words(row[column], units.get(column, "")) for column in columns))
            for row in shown
        ),
    )


# --- the picture


def _spec(
    chart: Mapping[str, str], drawn: list[dict[str, Any]], units: Mapping[str, str], narrow: bool
) -> dict[str, Any]:
    # The data get names of our own: in those of columns Vega would read paths.
    data: dict[str, list[Any]] = {}
    encoding: dict[str, Any] = {}
    for channel in ("x", "y"):
        kind = chart[f"{channel}_type"]
        data[channel] = _values([row[chart[channel]] for row in drawn], kind, narrow)
        encoding[channel] = _encoding(
            channel,
            short(chart[channel], 40),
            kind,
            data[channel],
            units.get(chart[channel], ""),
        )
    if chart.get("color"):
        series = _series([row[chart["color"]] for row in drawn], data["y"], narrow)
        data["color"] = series
        names = [name for name in dict.fromkeys(series) if name != _OTHERS]
        has_others = _OTHERS in series
        names += [_OTHERS] * has_others
        palette = style.colours(len(names), has_other=has_others)
        encoding["color"] = style.colour("color", names, palette, narrow)
    if chart.get("size"):
        data["size"] = [_number(row[chart["size"]]) for row in drawn]
        encoding["size"] = {"field": "size", "type": "quantitative", "legend": None}
    mark: dict[str, Any] = {"type": chart["mark"]}
    if "color" not in encoding:
        mark["color"] = style.SERIES[0]
    values = [dict(zip(data, point, strict=True)) for point in zip(*data.values(), strict=True)]
    return style.picture({"data": {"values": values}, "mark": mark, "encoding": encoding}, narrow)


def _values(values: list[Any], kind: str, narrow: bool) -> list[Any]:
    """What is drawn for a column of that type: numbers, times, or names no two of which look
    alike.
    """
    if kind.startswith("quantitative"):
        return [_number(value) for value in values]
    if kind.startswith("temporal"):
        return [value if _is_time(value) else None for value in values]
    different = list(dict.fromkeys(values))
    names = ["–" if value is None else value for value in different]
    shown = dict(zip(different, labels(names, style.longest_label(narrow)), strict=True))
    return [shown[value] for value in values]


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def _encoding(channel: str, column: str, kind: str, values: list[Any], unit: str) -> dict[str, Any]:
    base, _, binned = kind.partition("-")
    said: dict[str, Any] = {"field": channel, "type": base}
    axis: dict[str, Any] = {"labelOverlap": "parity"}
    if binned:
        said["bin"] = {"maxbins": 20}
    if base == "quantitative":
        largest = max((abs(value) for value in values if value is not None), default=0)
        if unit.startswith("usd"):
            axis |= style.usd_axis(largest)
        elif unit == "share":
            axis |= style.SHARE_AXIS
        else:
            axis |= {"format": "~s" if largest >= 10_000 else ",~r", "tickCount": 5}
    elif base == "temporal":
        said["scale"] = {"type": "utc"}
    else:
        # Names in the order of the rows, which says something; labels such as days in their own.
        said["sort"] = None if base == "nominal" else "ascending"
        if channel == "x" and max(map(len, values)) * len(set(values)) > _SIGNS_IN_A_ROW:
            axis["labelAngle"] = -45
            # Slanting ones need as much room as a line is high, which Vega does not know.
            if len(set(values)) <= _SLANTING_LABELS:
                axis["labelOverlap"] = False
    return {**said, "axis": {**axis, "title": column}}


def _series(values: list[Any], heights: list[Any], narrow: bool) -> list[str]:
    """The names of the series with the highest sums, or the most rows; all others have one name."""
    sums: dict[Any, float] = defaultdict(float)
    for value, height in zip(values, heights, strict=True):
        sums[value] += height if isinstance(height, int | float) else 1
    shown = sorted(sums, key=lambda value: -sums[value])[: len(style.SERIES)]
    names = ["–" if value is None else value for value in shown]
    label = dict(zip(shown, labels(names, style.longest_label(narrow)), strict=True))
    return [label.get(value, _OTHERS) for value in values]
