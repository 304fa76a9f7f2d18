"""One figure as every page, file and picture shows it: words, table, drawn rows, pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of exactly what a figure draws.

    `value` is None where nothing is known; `unit` is usd, usd_difference or the name of what is
    counted. With `unpriced_calls` an amount in usd is a lower bound. `words` say all of it.
    """

    value: float | None
    unit: str
    words: str
    unpriced_calls: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, its cells in words. `leads_to` is a canned query with its parameters."""

    cells: tuple[str, ...]
    leads_to: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """At most ten rows in words; each column has a heading, and is of numbers or not."""

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[Row, ...]


LONGEST_TABLE = 10


@dataclass(frozen=True, slots=True)
class Figure:
    """What one figure says and shows.

    `name` stands in addresses and file names. `query` is the canned query whose rows it draws;
    `rows` are what is drawn, its keys documented in docs/json-api.md. `wide` and `narrow` are the
    Vega-Lite specs of the picture for a page and for a telephone as JSON, None when there is
    nothing to draw: `sentence` then says so.
    """

    name: str
    title: str
    query: str
    total: Total | None
    sentence: str
    rows: Sequence[Mapping[str, Any]] = ()
    table: Table | None = None
    wide: str | None = None
    narrow: str | None = None


def nothing(name: str, title: str, query: str, why: str) -> Figure:
    """A figure without anything to draw, which says why."""
    return Figure(name, title, query, None, why)


def many(count: int, thing: str) -> str:
    """``1 run``, ``1,234 runs``."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def as_json(spec: Spec) -> str:
    """A spec as it is kept and drawn: what is equal is the same text."""
    return json.dumps(spec, separators=(",", ":"))


def short(text: object, longest: int) -> str:
    """A name within `longest` signs, its middle left out, printable and on one line.

    Models of a family differ at their ends. Signs that turn the direction of what follows are none
    that a name needs.
    """
    shown = "".join(
        sign if sign.isprintable() else " " for sign in str(text)[: 4 * longest]
    ).strip()
    if len(str(text)) > 4 * longest:
        shown += "…"
    if len(shown) <= longest:
        return shown or "(no name)"
    kept = longest - 1
    return f"{shown[: kept - kept // 3]}…{shown[-(kept // 3) :]}"


def labels(names: Sequence[object], longest: int) -> list[str]:
    """Each name as `short` has it, and no two alike: a chart would take them for one."""
    taken: dict[str, int] = {}
    shown = []
    for name in names:
        label = short(name, longest)
        taken[label] = taken.get(label, 0) + 1
        while taken[label] > 1:
            label = f"{label} ({taken[label]})"
            taken[label] = taken.get(label, 0) + 1
        shown.append(label)
    return shown
