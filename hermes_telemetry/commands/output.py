"""Rows as text: aligned columns to read, CSV and JSON for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TextIO

from ..money import usd

Row = Sequence[Any]

_LONGEST_TEXT = 80
# A spreadsheet runs a text cell that opens with one of these as a formula.
_FORMULA = ("=", "+", "-", "@")


def write_json(to: TextIO, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """A list of objects, as the web's `_shape=array`."""
    json.dump([dict(zip(columns, row, strict=True)) for row in rows], to, indent=2)
    to.write("\n")


def write_csv(to: TextIO, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """A header and the rows; NULL is an empty cell, text that would be a formula gets a `'`."""
    writer = csv.writer(to, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            [
                f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
                for value in row
            ]
        )


def write_table(
    to: TextIO,
    columns: Sequence[str],
    rows: Sequence[Row],
    units: Mapping[str, str],
    unpriced: Mapping[str, str] | None = None,
) -> None:
    """Aligned columns; `units` says how each is written (`reports.UNITS`).

    An amount with unpriced calls in it is a lower bound and reads "≥ $1.23"; `unpriced` names the
    column that counts them for each amount (`reports.Query.unpriced`), the others are exact.
    """
    if not rows:
        to.write("no rows\n")
        return
    places = {column: place for place, column in enumerate(columns)}
    counts = [places.get((unpriced or {}).get(column, "")) for column in columns]
    cells = [
        [
            _cell(value, units.get(column, "text"), 0 if count is None else row[count])
            for column, count, value in zip(columns, counts, row, strict=True)
        ]
        for row in rows
    ]
    widths = [max(len(column), *(len(row[n]) for row in cells)) for n, column in enumerate(columns)]
    to_left = [units.get(column, "text") in _LEFT for column in columns]
    for line in [list(columns), ["-" * width for width in widths], *cells]:
        padded = (
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(line, widths, to_left, strict=True)
        )
        to.write("  ".join(padded).rstrip() + "\n")


_LEFT = {"text", "id", "day", "utc"}


def _cell(value: Any, unit: str, unpriced: int | None) -> str:
    if unit == "usd":
        return usd(value, unpriced or 0)
    if unit == "usd_at_least":
        return usd(value, 1)
    if unit == "usd_difference":
        return usd(value)
    if value is None:
        return ""
    return _WRITERS.get(unit, _text)(value)


def _text(value: Any) -> str:
    # A stored error text may hold line ends and terminal codes.
    text = "".join(sign if sign.isprintable() else " " for sign in str(value))
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _share(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else _text(value)


def _percent(value: Any) -> str:
    return f"{value:+.1f}%" if isinstance(value, int | float) else _text(value)


def rate(value: float) -> str:
    """A rate with every digit that counts and none that does not: ``0.075``, ``3``,
    ``0.000001``.
    """
    digits = f"{Decimal(repr(value)):f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _rate(value: Any) -> str:
    return rate(value) if isinstance(value, int | float) else _text(value)


def _instant(value: Any) -> str:
    # Whole seconds are what one reads; all instants in a ledger are UTC.
    return _text(value)[:19] + "Z"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "count": _number,
    "tokens": _number,
    "ms": _number,
    "share": _share,
    "percent": _percent,
    "rate": _rate,
    "utc": _instant,
}
