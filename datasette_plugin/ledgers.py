"""Which attached databases are telemetry ledgers, and what each file can answer.

A database is a ledger when it has the tables `runs` and `llm_calls`, whatever its file is called.
Hooks that cannot wait read the answers kept here; `refresh` renews them before each request, which
costs one `pragma schema_version` a database.
"""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from collections.abc import ItemsView, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hermes_telemetry import reports

from . import compat, descriptions

if TYPE_CHECKING:
    from datasette.app import Datasette

_NAMED = 5
"""Queries that a note names; the oldest files lack nearly all."""


@dataclass(frozen=True)
class Ledger:
    """What one file can answer.

    `path` is None for a database in memory. `queries` holds those the file can run, by name;
    `left_out` names the others. `columns` maps each table and view that metadata.yml knows to its
    columns in order.
    """

    path: str | None
    queries: Mapping[str, reports.Query]
    left_out: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]

    @property
    def note(self) -> str | None:
        """One line on what is missing and the command that brings it; None when nothing is."""
        if not self.left_out:
            return None
        file = f" --db {shlex.quote(self.path)}" if self.path else ""
        named, more = self.left_out[:_NAMED], len(self.left_out) - _NAMED
        missing = f"{', '.join(named)}{f' and {more} others' if more > 0 else ''}"
        return (
            f"This file lacks tables or columns for {missing}."
            f" To add them: hermes-telemetry migrate{file}"
        )


class Ledgers:
    """The ledgers of one Datasette by database name, in the order they are attached."""

    def __init__(self) -> None:
        self._ledgers: dict[str, Ledger] = {}
        self._seen: dict[str, int] = {}  # schema versions by database
        self._user_metadata: Mapping[str, Any] | None = None
        self._lock = asyncio.Lock()

    def items(self) -> ItemsView[str, Ledger]:
        return self._ledgers.items()

    def get(self, database: str | None) -> Ledger | None:
        """The ledger of that name; None for a database that is none."""
        return self._ledgers.get(database) if database else None

    def queries(self, database: str | None) -> Mapping[str, reports.Query]:
        """The queries that `database` can run, by name; none for what is no ledger."""
        ledger = self.get(database)
        return ledger.queries if ledger else {}

    def user_metadata(self, database: str) -> Mapping[str, Any]:
        """What the user says of `database`, as it was before ours was merged into it."""
        return (self._user_metadata or {}).get(database) or {}

    async def refresh(self, datasette: Datasette) -> None:
        """Look again at the databases that are new, gone or of another schema than last time."""
        if self._lock.locked() and self._seen:
            return  # Behind one request that waits for a locked file the others must not queue.
        async with self._lock:
            if self._user_metadata is None:
                self._user_metadata = compat.user_metadata(datasette)
            for name in self._seen.keys() - datasette.databases.keys():
                await self._replace(datasette, name, None)
                del self._seen[name]
            for name, database in datasette.databases.items():
                seen = self._seen.get(name)
                try:
                    found = await database.execute_fn(partial(look, database.path, seen))
                except sqlite3.Error:
                    # Locked, damaged or gone: what was known stands; its own pages say what it is.
                    continue
                if found:
                    version, ledger = found
                    await self._replace(datasette, name, ledger)
                    self._seen[name] = version

    async def _replace(self, datasette: Datasette, name: str, ledger: Ledger | None) -> None:
        known = {**self._ledgers, name: ledger}
        self._ledgers = {
            attached: found for attached in datasette.databases if (found := known.get(attached))
        }
        await compat.publish(datasette, name, ledger)


_ATTACHED: WeakKeyDictionary[Datasette, Ledgers] = WeakKeyDictionary()


def of(datasette: Datasette) -> Ledgers:
    """The ledgers that `datasette` serves; none before its start."""
    if datasette not in _ATTACHED:
        _ATTACHED[datasette] = Ledgers()
    return _ATTACHED[datasette]


def look(
    path: str | None, known_version: int | None, conn: sqlite3.Connection
) -> tuple[int, Ledger | None] | None:
    """The schema's version and what the file at `path` holds, which has no ledger without `runs`
    and `llm_calls`; None when it still is `known_version`.

    Needs a connection that `reports.prepare_connection` has seen.
    """
    (version,) = conn.execute("pragma schema_version").fetchone()
    if version == known_version:
        return None
    kinds: dict[str, str] = dict(
        conn.execute("select name, type from sqlite_master where type in ('table', 'view')")
    )
    if kinds.get("runs") != "table" or kinds.get("llm_calls") != "table":
        return version, None
    available = {}
    left_out = []
    for name, query in reports.load_queries().items():
        if reports.unavailable(conn, query):
            left_out.append(name)
        else:
            available[name] = query
    columns = {
        name: tuple(
            column for (column,) in conn.execute("select name from pragma_table_info(?)", [name])
        )
        for name in kinds.keys() & descriptions.tables()
    }
    return version, Ledger(path, available, tuple(left_out), columns)
