"""How running totals are drawn: lines of sums, the band of what is expected, limits as rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hermes_telemetry.money import usd

from . import style
from .figure import Spec

_COLOURS = {"this": style.SERIES[0], "before": style.OTHER, "expected": style.SERIES[0]}
_DASHES = {"this": [1, 0], "before": [1, 0], "expected": [5, 4]}
_LIMIT = style.SERIES[4]
# A limit so much higher than the highest sum would press the lines to the ground.
_LIMIT_WITHIN = 3


@dataclass(frozen=True)
class Point:
    """`usd` spent from the start until the time `at`, which clocks on the wall show; of what is
    expected 4 in 5 cases lie from `low` to `high`.
    """

    at: datetime
    usd: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """`name` is this, before or expected, `words` what the legend says. With `unpriced_calls` its
    sums are lower bounds.
    """

    name: str
    words: str
    points: Sequence[Point]
    unpriced_calls: int = 0

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "line": self.name,
                "at": point.at.isoformat(timespec="seconds"),
                "usd": point.usd,
                "low_usd": point.low,
                "high_usd": point.high,
            }
            for point in self.points
        ]


def spec(lines: Sequence[Line], limits: Mapping[str, float], narrow: bool) -> Spec:
    """The picture; `limits` are amounts in USD by what is written on their rules."""
    highest = max(point.high or point.usd for line in lines for point in line.points)
    rules = {words: limit for words, limit in limits.items() if limit <= _LIMIT_WITHIN * highest}
    x = {"field": "at", "type": "temporal", "scale": {"type": "utc"}, "axis": _days(lines, narrow)}
    words = [line.words for line in lines]
    axis = style.usd_axis(max([highest, *rules.values()]))
    return style.picture(
        {
            "layer": [
                {
                    "data": {
                        "values": [
                            {"at": _utc(point.at), "low": point.low, "high": point.high}
                            for line in lines
                            for point in line.points
                            if point.low is not None
                        ]
                    },
                    "mark": {"type": "area", "color": _COLOURS["expected"], "opacity": 0.18},
                    "encoding": {
                        "x": x,
                        "y": {"field": "low", "type": "quantitative", "axis": axis},
                        "y2": {"field": "high"},
                    },
                },
                {
                    "data": {
                        "values": [
                            {"at": _utc(point.at), "line": line.words, "usd": point.usd}
                            for line in lines
                            for point in line.points
                        ]
                    },
                    "mark": {"type": "line", "strokeWidth": 2.5, "strokeJoin": "round"},
                    "encoding": {
                        "x": x,
                        "y": {"field": "usd", "type": "quantitative", "axis": axis},
                        "color": style.colour(
                            "line",
                            words,
                            [_COLOURS[line.name] for line in lines],
                            narrow,
                            symbolType="stroke",
                            symbolSize=300,
                        ),
                        "strokeDash": {
                            "field": "line",
                            "scale": {
                                "domain": words,
                                "range": [_DASHES[line.name] for line in lines],
                            },
                            "legend": style.legend(words, narrow),
                        },
                    },
                },
                *_rules(rules),
            ]
        },
        narrow,
    )


def _rules(rules: Mapping[str, float]) -> list[Spec]:
    if not rules:
        return []
    data = {
        "values": [
            {"limit": limit, "words": f"{words} {usd(limit)}"} for words, limit in rules.items()
        ]
    }
    y = {"field": "limit", "type": "quantitative"}
    text = {"type": "text", "align": "left", "dx": 4, "dy": -7}
    return [
        {"data": data, "mark": {"type": "rule", "color": _LIMIT}, "encoding": {"y": y}},
        {
            "data": data,
            "mark": text,
            "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "words"}},
        },
    ]


def _days(lines: Sequence[Line], narrow: bool) -> dict[str, Any]:
    moments = [point.at for line in lines for point in line.points]
    long = max(moments) - min(moments)
    form = "%-d %b"
    if long <= timedelta(days=2):
        form = "%-d %b %H:%M"
    elif long > timedelta(days=366):
        form = "%b %Y"
    return {
        "title": None,
        "format": form,
        "tickCount": 4 if narrow else 8,
        "grid": False,
        "labelOverlap": "parity",
    }


def _utc(at: datetime) -> str:
    """For a scale in UTC, on which local days have 24 hours whatever clocks do."""
    return at.isoformat(timespec="seconds") + "Z"
