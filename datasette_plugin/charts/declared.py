"""A chart as it is declared, drawn of any query's rows: by the front matter of a query of ours, or
by the fragment in which datasette-vega keeps one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hermes_telemetry.money import usd

from ..views import formats
from . import style, sums
from .figure import LONGEST_TABLE, Figure, Row, Table, Total, as_json, labels, many, nothing, short
from .sums import Drawn

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
    `reports.Query`; without them numbers are plain numbers. Where no row has a known number there
    is no picture. Raises ValueError, a line for the reader, for a chart that cannot be drawn of
    these columns.
    """
    _check(chart, columns)
    if not rows:
        return nothing(name, title, query, "The query has no rows.")
    measure, along = _axes(chart)
    unit = (units or {}).get(measure, "")
    counted = (unpriced or {}).get(measure)
    all_drawn = sums.read(
        columns, rows[:MOST_ROWS], measure, counted if counted in columns else None
    )
    known = [one for one in all_drawn if sums.number(one.row[measure]) is not None]
    adds_up = unit in _ADD_UP or (not unit and chart["mark"] == "bar")
    shown = _columns(chart)
    if stacked := adds_up and _shares_places(chart, measure, along):
        drawn = sums.by_place(all_drawn, [column for column in shown if column != measure], measure)
    else:
        told_by = sums.telling(all_drawn, shown, measure)
        shown += [column for column in told_by if column not in shown]
        drawn = all_drawn
    drawn = [Drawn({column: one.row[column] for column in shown}, one.lacking) for one in drawn]
    pictured = _with_few_colours(chart, drawn, measure, stacked)
    is_drawn = bool(known) or not _is_measured(chart, measure)
    sentence = f"{many(len(all_drawn), 'row')}."
    if not is_drawn:
        sentence = f"Nothing to draw: {short(measure, 60)} is unknown in {sentence}"
    if known:
        sentence = _highest(chart, pictured if stacked else drawn, measure, along, unit, stacked)
    if adds_up and known and len(known) < len(all_drawn):
        unknown = formats.number(len(all_drawn) - len(known))
        sentence += f" {short(measure, 60)} is unknown in {unknown} of"
        sentence += f" {many(len(all_drawn), 'row')}."
    if len(rows) > MOST_ROWS:
        sentence += f" Only the first {formats.number(MOST_ROWS)} rows are drawn."
    total = None
    if known and adds_up:
        whole = sums.total(all_drawn, measure)
        lacking = sum(one.lacking for one in all_drawn)
        total = Total(whole, unit or "number", _words(whole, unit, lacking), lacking)
    wide, narrow = (
        as_json(_spec(chart, pictured, units or {}, stacked, narrow)) if is_drawn else None
        for narrow in (False, True)
    )
    return Figure(
        name,
        title,
        query,
        total,
        sentence,
        rows=[one.row for one in drawn],
        table=_table(shown, measure, drawn, units or {}),
        wide=wide,
        narrow=narrow,
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


def _axes(chart: Mapping[str, str]) -> tuple[str, str]:
    """The column that is measured and the one along which it is: y and x, or bars that lie."""
    lies = chart["x_type"] == "quantitative" and not chart["y_type"].startswith("quantitative")
    return (chart["x"], chart["y"]) if lies else (chart["y"], chart["x"])


def _is_measured(chart: Mapping[str, str], measure: str) -> bool:
    """Whether the column is drawn to a scale of numbers."""
    types = {chart["x"]: chart["x_type"], chart["y"]: chart["y_type"]}
    return types[measure].startswith("quantitative")


def _shares_places(chart: Mapping[str, str], measure: str, along: str) -> bool:
    """Whether rows with the same x are drawn as one height: not points, not bins, of which Vega
    alone knows the bounds, and not a column against itself.
    """
    types = {chart["x"]: chart["x_type"], chart["y"]: chart["y_type"]}
    return (
        chart["mark"] in ("bar", "line")
        and types[measure] == "quantitative"
        and not types[along].endswith("-bin")
        and measure not in (along, chart.get("color"), chart.get("size"))
    )


def _with_few_colours(
    chart: Mapping[str, str], drawn: list[Drawn], measure: str, stacked: bool
) -> list[Drawn]:
    """The rows as they are pictured: the series with the highest sums, or the most rows of what is
    no number, keep their names, and all others have one and are added up where the chart does that.
    """
    colour = chart.get("color")
    if not colour:
        return drawn
    heights: dict[Any, float] = defaultdict(float)
    is_measured = _is_measured(chart, measure)
    for one in drawn:
        heights[one.row[colour]] += (sums.number(one.row[measure]) or 0) if is_measured else 1
    kept = sorted(heights, key=lambda name: -heights[name])[: len(style.SERIES)]
    if len(kept) == len(heights):
        return drawn
    few = [
        one if one.row[colour] in kept else Drawn({**one.row, colour: _OTHERS}, one.lacking)
        for one in drawn
    ]
    keys = [column for column in _columns(chart) if column != measure]
    return sums.by_place(few, keys, measure) if stacked else few


def _highest(
    chart: Mapping[str, str],
    drawn: list[Drawn],
    measure: str,
    along: str,
    unit: str,
    stacked: bool,
) -> str:
    """The sentence that names the highest place as it is drawn: all of a stack of bars, one point
    of a line; where rows are not added up, the highest of them.
    """
    told_by = [along]
    if stacked and chart["mark"] == "bar":
        drawn = sums.by_place(drawn, told_by, measure)
    elif len({one.row[along] for one in drawn}) < len(drawn):
        told_by = [column for column in drawn[0].row if column != measure]
    highest = max(
        (one for one in drawn if sums.number(one.row[measure]) is not None),
        key=lambda one: one.row[measure],
    )
    where = ", ".join(_words(highest.row[column], "") for column in told_by)
    what = "The highest" if stacked or len(told_by) == 1 else "The highest row"
    return f"{what} is {where}: {_words(highest.row[measure], unit, highest.lacking)}."


def _words(value: Any, unit: str, lacking: int = 0) -> str:
    if unit.startswith("usd"):
        return usd(sums.number(value), lacking + (unit == "usd_at_least"))
    if unit == "share":
        return formats.share(sums.number(value))
    bound = "≥ " if lacking and unit in ("", *_ADD_UP) else ""
    if isinstance(value, float):
        return f"{bound}{value:,.2f}"
    return (
        f"{bound}{value:,}"
        if isinstance(value, int)
        else short("–" if value is None else value, 80)
    )


def _table(columns: list[str], measure: str, drawn: list[Drawn], units: Mapping[str, str]) -> Table:
    shown = drawn[:LONGEST_TABLE]

    def cell(one: Drawn, column: str) -> str:
        lacking = one.lacking if column == measure else 0
        return _words(one.row[column], units.get(column, ""), lacking)

    return Table(
        tuple(
            (short(column, 60), all(sums.number(one.row[column]) is not None for one in shown))
            for column in columns
        ),
        tuple(Row(tuple(cell(one, column) for column in columns)) for one in shown),
    )


# --- the picture


def _spec(
    chart: Mapping[str, str],
    pictured: list[Drawn],
    units: Mapping[str, str],
    stacked: bool,
    narrow: bool,
) -> dict[str, Any]:
    drawn = [one.row for one in pictured]
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
        series = _series([row[chart["color"]] for row in drawn], narrow)
        data["color"] = series
        names = [name for name in dict.fromkeys(series) if name != _OTHERS]
        has_others = _OTHERS in series
        names += [_OTHERS] * has_others
        palette = style.colours(len(names), has_other=has_others)
        encoding["color"] = style.colour("color", names, palette, narrow)
    if chart.get("size"):
        data["size"] = [sums.number(row[chart["size"]]) for row in drawn]
        encoding["size"] = {"field": "size", "type": "quantitative", "legend": None}
    has_bins = "-bin" in chart["x_type"] + chart["y_type"]
    if chart["mark"] == "bar" and not stacked and not has_bins:
        # Shares, or times that something took, do not add up: each bar begins at nothing.
        encoding["x" if _axes(chart)[0] == chart["x"] else "y"]["stack"] = None
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
        return [sums.number(value) for value in values]
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


def _series(values: list[Any], narrow: bool) -> list[str]:
    """The names of the series, no two alike; `_OTHERS` is that of all others."""
    different = [value for value in dict.fromkeys(values) if value is not _OTHERS]
    names = ["–" if value is None else value for value in different]
    label = dict(zip(different, labels(names, style.longest_label(narrow)), strict=True))
    return [label.get(value, _OTHERS) for value in values]
