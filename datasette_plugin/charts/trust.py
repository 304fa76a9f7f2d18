"""How far to trust it: how the calls of each provider were priced."""

from __future__ import annotations

import sqlite3
from collections import Counter

from ..views import formats
from . import style
from .figure import (
    LONGEST_TABLE,
    Figure,
    Row,
    Spec,
    Table,
    Total,
    as_json,
    labels,
    many,
    nothing,
    short,
)
from .reading import Reading

QUERY = "estimated_share"
NAME, TITLE = "trust", "How far to trust it"
# The query's classes folded to what a reader weighs. A zero that nothing explains is no price.
_CLASSES = {
    "priced": ("tariff", "catalogue", "family", "builtin", "listed"),
    "assumed": ("assumed",),
    "free": ("free", "declared"),
    "estimated": ("estimated",),
    "unpriced": ("unpriced", "unexplained_zero"),
}
_COLOURS = (style.SERIES[0], style.SERIES[1], style.SERIES[2], style.SERIES[3], style.OTHER)


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """The share of each class in the calls of each provider."""
    rows = reading.rows(conn, QUERY)
    if not rows:
        return nothing(NAME, TITLE, QUERY, "No call was recorded in this period.")
    of_provider: dict[str, Counter[str]] = {}
    for row in rows:
        counted = of_provider.setdefault(row["provider"] or "", Counter())
        for words, classes in _CLASSES.items():
            counted[words] += sum(row[f"{name}_calls"] for name in classes)
    lines = _lines(of_provider)
    everyone = sum((counted for _, counted in lines), Counter())
    calls = everyone.total()
    unexplained = sum(row["unexplained_zero_calls"] for row in rows)
    zeros = f", among them {many(unexplained, 'call')} at $0 without an explanation"
    return Figure(
        NAME,
        TITLE,
        QUERY,
        Total(calls, "calls", many(calls, "call")),
        f"{formats.share((everyone['priced'] + everyone['free']) / calls)} of the calls have a"
        f" price of their own or are free; {formats.share(everyone['unpriced'] / calls)} have"
        f" none{zeros if unexplained else ''}.",
        rows=[
            {"provider": name, "class": words, "calls": counted[words]}
            | {"share": counted[words] / counted.total()}
            for name, counted in lines
            for words in _CLASSES
        ],
        table=Table(
            (("Provider", False), *((words.title(), True) for words in _CLASSES), ("Calls", True)),
            tuple(
                Row(
                    (
                        short(name, 60),
                        *(formats.share(counted[words] / counted.total()) for words in _CLASSES),
                        formats.number(counted.total()),
                    )
                )
                for name, counted in lines
            ),
        ),
        wide=as_json(_spec(lines, False)),
        narrow=as_json(_spec(lines, True)),
    )


def _lines(of_provider: dict[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    """The providers with the most calls first; as many as have room, then all others as one."""
    lines = sorted(of_provider.items(), key=lambda line: -line[1].total())
    lines = [(name or "no provider", counted) for name, counted in lines]
    if len(lines) > LONGEST_TABLE:
        rest = lines[LONGEST_TABLE - 1 :]
        together: Counter[str] = sum((counted for _, counted in rest), Counter())
        lines = [*lines[: LONGEST_TABLE - 1], (f"{len(rest)} others", together)]
    return lines


def _spec(lines: list[tuple[str, Counter[str]]], narrow: bool) -> Spec:
    names = labels([name for name, _ in lines], style.longest_label(narrow))
    return style.picture(
        {
            "data": {
                "values": [
                    {
                        "provider": name,
                        "class": words,
                        "place": place,
                        "share": counted[words] / counted.total(),
                    }
                    for name, (_, counted) in zip(names, lines, strict=True)
                    for place, words in enumerate(_CLASSES)
                ]
            },
            "mark": "bar",
            "encoding": {
                "y": style.names_channel("provider", names),
                "x": {
                    "field": "share",
                    "type": "quantitative",
                    "axis": style.SHARE_AXIS,
                    "scale": {"domain": [0, 1]},
                },
                "color": style.colour(
                    "class", tuple(_CLASSES), _COLOURS, narrow, beside=style.room_for(names)
                ),
                "order": {"field": "place"},
            },
        },
        narrow,
        style.bars_height(len(lines)),
    )
