"""A provider's usage export: what it charged per day and model, read from CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import TextIO

from ..windows import time_zone
from .options import InputError

NO_MODEL = "(no model)"
# "$1,234.50", "-0.25", "1.2e-05"
_AMOUNT = re.compile(
    r"(?P<sign>-?)\$?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d*\.?\d+(?:[eE][+-]?\d{1,3})?|\d+\.)"
)


@dataclass(frozen=True)
class Charge:
    """One line of the export: a day (YYYY-MM-DD), a model as the provider names it (`NO_MODEL` for
    a fee that is of none), and USD."""

    day: str
    model: str
    usd: Decimal


@dataclass(frozen=True)
class Columns:
    """The names of the three columns that count; compared without regard to case."""

    date: str
    model: str
    cost: str


def read_export(path: Path, columns: Columns, zone: str) -> list[Charge]:
    """The charges of an export, in its order.

    A time with an offset falls on its day in ``zone``; a date, and a time without an offset, is on
    the day that it names. Raises InputError, naming line and column, for what cannot be read.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path.name}, line {line}: it is not in UTF-8") from error
    return list(_charges(StringIO(text, newline=""), path, columns, zone))


def _charges(file: TextIO, path: Path, columns: Columns, zone: str) -> Iterator[Charge]:
    lines = csv.reader(file, strict=True)
    try:
        header: list[str] = next(lines, [])
        names = [name.strip().lower() for name in header]
        places = [_place(names, name, path) for name in (columns.date, columns.model, columns.cost)]
        for row in lines:
            if not any(cell.strip() for cell in row):
                continue
            day, model, usd = (row[at].strip() if at < len(row) else "" for at in places)
            where = f"{path.name}, line {lines.line_num}, column"
            date_at, _, cost_at = (f"{where} {header[place].strip()!r}" for place in places)
            yield Charge(_day(day, zone, date_at), model or NO_MODEL, _usd(usd, cost_at))
    except csv.Error as error:
        raise InputError(f"{path.name}, line {lines.line_num}: {error}") from error


def _place(names: Sequence[str], wanted: str, path: Path) -> int:
    try:
        return names.index(wanted.strip().lower())
    except ValueError:
        known = ", ".join(repr(name) for name in names) or "none"
        raise InputError(f"{path.name} has no column {wanted!r} (it has: {known})") from None


def _day(text: str, zone: str, where: str) -> str:
    if not text:
        raise InputError(f"{where}: it is empty")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{where}: {text!r} is neither a date (2026-07-01) nor a time (2026-07-01T12:00:00Z)"
        ) from None
    if moment.utcoffset() is not None:
        moment = moment.astimezone(time_zone(zone))
    return moment.date().isoformat()


def _usd(text: str, where: str) -> Decimal:
    if not text:
        raise InputError(f"{where}: it is empty")
    amount = _AMOUNT.fullmatch(text)
    if amount is None:
        raise InputError(f"{where}: {text!r} is not an amount in USD (1.25)")
    return Decimal(amount["sign"] + amount["digits"].replace(",", ""))
