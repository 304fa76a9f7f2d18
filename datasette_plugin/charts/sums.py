"""The rows that a declared chart draws: each by itself, or those that share a place added up.

Whoever draws two rows of one day as one bar has to name that bar's height, not one of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_telemetry.money import BEYOND_ALL_SUMS


@dataclass(frozen=True, slots=True)
class Drawn:
    """A row by its columns; `lacking` is how many calls, or rows, in it have no known value."""

    row: Mapping[str, Any]
    lacking: int = 0


def number(value: Any) -> float | None:
    """What can be drawn to a scale and added up; None for NULL, text and what is too large."""
    if isinstance(value, int | float) and abs(value) < BEYOND_ALL_SUMS:
        return value
    return None


def read(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], measure: str, unpriced: str | None
) -> list[Drawn]:
    """The rows as a chart of the column `measure` takes them. `unpriced` is the column that counts
    what its amounts lack; without one, each row without a number lacks it. What is infinite, or too
    large to be added up, is unknown.
    """
    drawn = []
    for cells in rows:
        row = {
            column: None if isinstance(cell, float) and number(cell) is None else cell
            for column, cell in zip(columns, cells, strict=True)
        }
        missing = int(number(row[measure]) is None)
        counted = number(row[unpriced]) if unpriced else None
        drawn.append(Drawn(row, missing if counted is None else max(int(counted), missing)))
    return drawn


def total(drawn: Sequence[Drawn], column: str) -> Any:
    """The sum of what is known; None where nothing is."""
    known = [value for one in drawn if (value := number(one.row[column])) is not None]
    if not known:
        return None
    return sum(known) if all(isinstance(value, int) for value in known) else math.fsum(known)


def by_place(drawn: Sequence[Drawn], keys: Sequence[str], measure: str) -> list[Drawn]:
    """One for each combination of the columns `keys`, in the order of the first row of each, with
    the sum of `measure`. No other columns are left.
    """
    places: dict[tuple[Any, ...], list[Drawn]] = {}
    for one in drawn:
        places.setdefault(tuple(one.row[key] for key in keys), []).append(one)
    return [
        Drawn(
            {**dict(zip(keys, place, strict=True)), measure: total(of, measure)},
            sum(one.lacking for one in of),
        )
        for place, of in places.items()
    ]


def telling(drawn: Sequence[Drawn], shown: Sequence[str], measure: str) -> list[str]:
    """The columns beside `measure` by which a reader tells the rows apart: those of `shown`, then
    as many others as help, in their order.
    """
    found = [column for column in shown if column != measure]
    different = _different(drawn, found)
    for column in drawn[0].row:
        if different == len(drawn):
            break
        if column not in found and column != measure:
            more = _different(drawn, [*found, column])
            if more > different:
                found, different = [*found, column], more
    return found


def _different(drawn: Sequence[Drawn], columns: Sequence[str]) -> int:
    return len({tuple(one.row[column] for column in columns) for one in drawn})
