"""The charts that readers saved, in `saved_charts.db` beside the first ledger.

A database of its own, which Datasette shows as any other: what is saved leaves the ledger's schema
alone. It is made when the first chart is saved, keeps a rollback journal, since a WAL file in a
read-only directory cannot be read, and each row names the ledger's database that it belongs to.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hermes_telemetry.store.locking import begin_immediate, is_busy
from hermes_telemetry.windows import timestamp

from . import ledgers
from .queries import CHART_KEYS

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

FILE = "saved_charts.db"
_TABLE = "saved_charts"
# With autoincrement no id is used again: a form that was open all day changes no other chart.
_SCHEMA = """
create table if not exists saved_charts (
  id integer primary key autoincrement,
  title text not null,
  database text not null,   -- the ledger's name in Datasette
  query text not null,      -- the query's name there
  parameters text not null, -- a JSON object of texts, without the period
  mark text not null,       -- bar, line or circle
  x_column text not null,
  x_type text not null,     -- Vega's types of data, or one of them followed by -bin
  y_column text not null,
  y_type text not null,
  color_column text,
  size_column text,
  saved_at text not null    -- ISO-8601 in UTC
)
"""


class NotWritableError(Exception):
    """Nothing was changed; the text says why, in one line. `is_busy`: waiting can cure it."""

    def __init__(self, why: str, is_busy: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy


@dataclass(frozen=True)
class NewChart:
    """A chart of a query's rows. `database` and `query` are names in Datasette; `chart` is in the
    words of a query's front matter, and may have a `size`.
    """

    title: str
    database: str
    query: str
    parameters: Mapping[str, str]
    chart: Mapping[str, str]


@dataclass(frozen=True)
class SavedChart(NewChart):
    """One that was saved, at `saved_at` (ISO-8601 in UTC)."""

    id: int
    saved_at: str


_ATTACHED: WeakKeyDictionary[Datasette, Database] = WeakKeyDictionary()


async def attach(datasette: Datasette) -> Database | None:
    """The file's database in Datasette, attached now if it was not; None while there is no file.

    Raises sqlite3.Error for a file that cannot be read: attached, it would fail every page.
    """
    file = _file(datasette)
    if file is None or not file.is_file():
        return None
    if _among_attached(datasette, file) is None:
        await asyncio.to_thread(_require_readable, file)
    found = _among_attached(datasette, file)  # or perhaps meanwhile, by another request
    if found is None:
        from datasette.database import Database

        found = datasette.add_database(Database(datasette, path=str(file), is_mutable=True))
    _ATTACHED[datasette] = found
    return found


def attached(datasette: Datasette) -> Database | None:
    """The file's database in Datasette, if it is attached by now."""
    return _ATTACHED.get(datasette)


def _among_attached(datasette: Datasette, file: Path) -> Database | None:
    for database in datasette.databases.values():
        if database.path and Path(database.path).resolve() == file:
            found: Database = database
            return found
    return None


def _require_readable(file: Path) -> None:
    with closing(_open(file)) as conn:
        conn.execute("select count(*) from sqlite_master").fetchone()


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)


async def saved(datasette: Datasette) -> list[SavedChart]:
    """Every saved chart of any database, the oldest first.

    Raises sqlite3.Error, and ValueError for a row that was not written here.
    """
    database = await attach(datasette)
    return await database.execute_fn(_read) if database else []


def of_file(file: Path) -> list[SavedChart]:
    """As `saved`, of a file by itself; none where there is no such file."""
    if not file.is_file():
        return []
    with closing(_open(file)) as conn:
        return _read(conn)


async def save(datasette: Datasette, chart: NewChart, now: datetime) -> int:
    """The id under which `chart` is kept from now on. Raises NotWritableError."""
    row = {
        "title": chart.title,
        "database": chart.database,
        "query": chart.query,
        "parameters": json.dumps(chart.parameters, ensure_ascii=False),
        **{theirs: chart.chart.get(ours) for theirs, ours in CHART_KEYS.items()},
        "saved_at": timestamp(now),
    }
    id = await _write(datasette, lambda table: table.insert(row).last_pk)
    await attach(datasette)
    return id


async def rename(datasette: Datasette, id: int, title: str) -> None:
    """Give a saved chart another title. Raises NotWritableError, KeyError where there is none."""
    await _change(datasette, id, lambda table: table.update(id, {"title": title}))


async def delete(datasette: Datasette, id: int) -> None:
    """Forget a saved chart. Raises as `rename`."""
    await _change(datasette, id, lambda table: table.delete(id))


def _file(datasette: Datasette) -> Path | None:
    """Where charts are kept; None where every ledger is in memory."""
    paths = (ledger.path for _, ledger in ledgers.of(datasette).items())
    return next((Path(path).resolve().with_name(FILE) for path in paths if path), None)


def _read(conn: sqlite3.Connection) -> list[SavedChart]:
    from sqlite_utils import Database

    table = Database(conn).table(_TABLE)
    return [_of_row(row) for row in table.rows_where(order_by="id")] if table.exists() else []


def _of_row(row: Mapping[str, Any]) -> SavedChart:
    try:
        parameters = {name: str(text) for name, text in json.loads(row["parameters"]).items()}
    except (ValueError, AttributeError) as error:
        raise ValueError(f"the parameters of chart {row['id']} are not a JSON object") from error
    chart = {ours: row[theirs] for theirs, ours in CHART_KEYS.items() if row[theirs]}
    return SavedChart(
        id=row["id"],
        title=row["title"],
        database=row["database"],
        query=row["query"],
        parameters=parameters,
        chart=chart,
        saved_at=row["saved_at"],
    )


async def _change(datasette: Datasette, id: int, change: Callable[[Any], object]) -> None:
    from sqlite_utils.db import NotFoundError

    try:
        await _write(datasette, change)
    except NotFoundError as error:
        raise KeyError(id) from error


async def _write(datasette: Datasette, change: Callable[[Any], Any]) -> Any:
    """What `change` makes of the table, in one transaction.

    Not by Datasette's own connection: one that could not be opened once, say while the directory
    was read-only, stays so until the server is started again.
    """
    file = _file(datasette)
    if file is None:
        raise NotWritableError("a ledger in memory has no directory in which charts are kept")

    def write() -> Any:
        from sqlite_utils import Database

        with closing(sqlite3.connect(file)) as conn, conn:
            begin_immediate(conn)
            conn.execute(_SCHEMA)
            return change(Database(conn).table(_TABLE))

    try:
        database = await attach(datasette)
        if database and not database.is_mutable:
            raise NotWritableError(f"{FILE} is served as immutable")
        return await asyncio.to_thread(write)
    except sqlite3.Error as error:
        why = f"{FILE} cannot be written in {file.parent}: {error}"
        raise NotWritableError(why, is_busy(error)) from error
