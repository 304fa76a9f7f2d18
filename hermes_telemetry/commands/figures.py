"""Asks canned queries of a ledger, which is opened read-only, and answers faults in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import reports
from ..store.files import db_option, open_ledger
from .options import InputError


@dataclass(frozen=True)
class Figure:
    """What a query answered: its column names and its rows."""

    query: reports.Query
    columns: list[str]
    rows: list[tuple[Any, ...]]

    def objects(self) -> list[dict[str, Any]]:
        """The rows by column name, as the web's `_shape=array`."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@contextmanager
def asking(path: Path, zone: str) -> Iterator[sqlite3.Connection]:
    """The ledger at `path`, ready for `ask`; local days are those of `zone`.

    Raises NotALedgerError; InputError where what is asked needs more than an older file has.
    """
    with closing(open_ledger(path)) as ledger:
        reports.prepare_connection(ledger, zone)
        try:
            yield ledger
        except sqlite3.OperationalError as error:
            if not str(error).startswith("no such"):
                raise
            raise InputError(
                f"this file is older ({error}): bring it up to date with hermes-telemetry"
                f" migrate{db_option(path)}"
            ) from error


def ask(ledger: sqlite3.Connection, path: Path, name: str, given: Mapping[str, str]) -> Figure:
    """The rows of the query `name` for the parameters that are `given`.

    InputError where the file lacks what the query needs, and for a parameter that the query does
    not take or cannot read.
    """
    query = reports.load_queries()[name]
    reason = reports.unavailable(ledger, query)
    if reason is not None:
        raise InputError(f"{name}: {reason}{db_option(path)}")
    try:
        return Figure(query, *reports.run(ledger, query, given))
    except ValueError as error:
        raise InputError(str(error)) from error
