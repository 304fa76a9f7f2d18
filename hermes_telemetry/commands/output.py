"""Rows as text: aligned columns to read, CSV and JSON for programs."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TextIO
from unicodedata import east_asian_width

from .. import strict_json
from ..money import usd
from ..paths import telemetry_home
from .options import Screen

Row = Sequence[Any]

_WORD = re.compile(r"\S+")
_LONGEST_TEXT = 80
# A cron session's id has 33 signs.
_LONGEST_IN_CHAT = 36
# A spreadsheet runs a text cell that opens with one of these as a formula; some skip blanks before.
_FORMULA = re.compile(r" *[=+\-@\t\r\n]")


def say(screen: Screen, text: str) -> None:
    """A paragraph, in lines that fit the screen: a name that is longer than one is cut.

    A chat is given the bare names of files: where they lie is the operator's to know.
    """
    text = _printable(text)
    columns = screen.columns
    if columns is not None:
        text = text.replace(f"{telemetry_home()}{os.sep}", "")
        text = _WORD.sub(lambda word: cut(word[0], columns), text)
        text = fill(text, columns, break_on_hyphens=False)
    screen.to.write(text + "\n")


def write_json(to: TextIO, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """A list of objects, as the web's `_shape=array`."""
    objects = [dict(zip(columns, row, strict=True)) for row in rows]
    to.write(strict_json.text(objects) + "\n")


def write_csv(to: TextIO, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """A header and the rows; NULL is an empty cell, text that would be a formula gets a `'`."""
    # The csv module quotes what stands in the line end: with this one a lone carriage return, too,
    # which readers take for the end of a row.
    writer = csv.writer(_UnixLines(to), lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in row]
        )


class _UnixLines:
    """Takes rows that end in CR LF and passes them on with LF."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, row: str) -> None:
        self._to.write(row.removesuffix("\r\n") + "\n")


def write_table(
    to: TextIO,
    columns: Sequence[str],
    rows: Sequence[Row],
    units: Mapping[str, str],
    unpriced: Mapping[str, str] | None = None,
    width: int | None = None,
) -> list[str]:
    """Aligned columns; `units` says how each is written (`reports.UNITS`).

    An amount with unpriced calls in it is a lower bound and reads "≥ $1.23"; `unpriced` names the
    column that counts them for each amount (`reports.Query.unpriced`), the others are exact.

    Where it would be wider than `width` signs, texts are cut shorter and the last columns that do
    not fit are left out; returns their names.
    """
    if not rows:
        to.write("no rows\n")
        return []
    places = {column: place for place, column in enumerate(columns)}
    counts = [places.get((unpriced or {}).get(column, "")) for column in columns]
    cells = [
        [
            _cell(value, units.get(column, "text"), 0 if count is None else row[count])
            for column, count, value in zip(columns, counts, row, strict=True)
        ]
        for row in rows
    ]
    cells, widths = _cut(columns, cells, _LONGEST_TEXT)
    if len(_fitting(widths, width)) < len(columns):
        cells, widths = _cut(columns, cells, _LONGEST_IN_CHAT)
    shown = _fitting(widths, width)
    for line in [list(columns), ["-" * taken for taken in widths], *cells]:
        padded = (
            line[n] + _blanks(line[n], widths[n])
            if units.get(columns[n], "text") in _LEFT
            else _blanks(line[n], widths[n]) + line[n]
            for n in shown
        )
        to.write("  ".join(padded).rstrip() + "\n")
    return [column for n, column in enumerate(columns) if n not in shown]


def write_on_screen(
    screen: Screen,
    columns: Sequence[str],
    rows: Sequence[Row],
    units: Mapping[str, str],
    unpriced: Mapping[str, str],
) -> None:
    """`write_table` no wider than the screen; a terminal is told which columns it has no room for.

    A file or a pipe gets them all, unless the environment's COLUMNS says how wide it may be.
    """
    width = screen.columns
    # A shell exports COLUMNS only when it is told to; 0 is "not known".
    stated = os.environ.get("COLUMNS", "")
    if width is None and (screen.to.isatty() or (stated.isdecimal() and int(stated) > 0)):
        width = get_terminal_size().columns
    left_out = write_table(screen.to, columns, rows, units, unpriced, width)
    if left_out and screen.columns is None:
        say(screen, f"… no room for {', '.join(left_out)} (--csv and --json have every column)")


def _cut(
    columns: Sequence[str], cells: Sequence[Sequence[str]], longest: int
) -> tuple[list[list[str]], list[int]]:
    """The cells within `longest` places each, and how wide each column is then."""
    shorter = [[cut(cell, longest) for cell in row] for row in cells]
    widths = [
        max(len(column), *(places_taken(row[n]) for row in shorter))
        for n, column in enumerate(columns)
    ]
    return shorter, widths


def _fitting(widths: Sequence[int], width: int | None) -> list[int]:
    """The columns that fit side by side, from the left; the first one is shown in any case."""
    shown: list[int] = []
    taken = 0
    for n, own in enumerate(widths):
        if width is None or taken + own <= width or not shown:
            shown.append(n)
            taken += own + len("  ")
    return shown


def places_taken(text: str) -> int:
    """How many places of a terminal a printable text takes: a Chinese sign takes two."""
    return len(text) + sum(east_asian_width(sign) in "WF" for sign in text if not sign.isascii())


def cut(text: str, longest: int) -> str:
    """The text within `longest` places, with "…" where something is gone."""
    if places_taken(text) <= longest:
        return text
    while places_taken(text) >= longest:
        text = text[:-1]
    return text + "…"


def _blanks(text: str, width: int) -> str:
    return " " * (width - places_taken(text))


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
    return _printable(str(value)[: 2 * _LONGEST_TEXT])


def _printable(text: str) -> str:
    # A stored error text, or a job's name, may hold line ends and terminal codes.
    return "".join(sign if sign.isprintable() else " " for sign in text)


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
    "score": _number,
    "percent": _percent,
    "rate": _rate,
    "utc": _instant,
}
