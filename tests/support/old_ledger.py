"""Ledgers of older schema versions, with rows in every table."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_telemetry.store import migrations

Rows = list[tuple[Any, ...]]

FREE_WITH_PROOF = ("free-model", "openrouter")
FREE_WITHOUT_PROOF = ("mistaken-model", "custom")
FREE_BY_WILDCARD = ("listed-model", "")

OF_ANOTHER_BUILD = (1, 8, 12)
"""Versions of which there is a file that another build made, written out as SQL."""

_SCRIPTS = Path(__file__).parents[1] / "old_ledgers"

_RECORDED = "2026-05-01T08:30:00+00:00"


def open_ledger(path: Path) -> sqlite3.Connection:
    """A connection as the store opens it: autocommit, so that each step is its own transaction."""
    return sqlite3.connect(path, isolation_level=None)


def step(version: int) -> Callable[[sqlite3.Connection], object]:
    """The migration that brings a ledger to ``version``."""
    migration: Callable[[sqlite3.Connection], object] = getattr(migrations, f"_migrate_v{version}")
    return migration


def build(path: Path, version: int) -> Path:
    """A ledger at ``version``, made by the migrations up to it, with rows; an empty file for 0."""
    with closing(open_ledger(path)) as connection:
        for number in range(1, version + 1):
            step(number)(connection)
        if version:
            fill(connection)
    return path


def build_of_another(path: Path, version: int) -> Path:
    """A ledger at ``version`` that owes nothing to this project's migrations."""
    with closing(open_ledger(path)) as connection:
        connection.executescript((_SCRIPTS / f"v{version}.sql").read_text(encoding="utf-8"))
    return path


def record_version(connection: sqlite3.Connection, version: int) -> None:
    """Write down a version whose change never happened, as a build with a bug did."""
    connection.execute("insert into schema_version values (?, ?)", (version, _RECORDED))


def tables(connection: sqlite3.Connection) -> list[str]:
    return [
        name
        for (name,) in connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            " order by name"
        )
    ]


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"pragma table_info({table})")]


def fill(connection: sqlite3.Connection) -> None:
    """Three rows in every table, each column its own value; the free models as v17 judges them."""
    connection.execute("begin")
    for table in tables(connection):
        if table not in ("schema_version", "known_free_models", "free_paid_transitions"):
            for number in (1, 2, 3):
                _insert(connection, table, number)
    _insert_call(connection, FREE_WITH_PROOF, cost=0.0, tokens=7)
    # No proof: an unknown price, a call without tokens, a call of another provider.
    _insert_call(connection, FREE_WITHOUT_PROOF, cost=None, tokens=7)
    _insert_call(connection, FREE_WITHOUT_PROOF, cost=0.0, tokens=0)
    _insert_call(connection, ("mistaken-model", "openrouter"), cost=0.0, tokens=7)
    for table in ("known_free_models", "free_paid_transitions"):
        if table in tables(connection):
            for number, pair in enumerate(
                (FREE_WITH_PROOF, FREE_WITHOUT_PROOF, FREE_BY_WILDCARD), 1
            ):
                _insert(connection, table, number, model=pair[0], provider=pair[1])
    connection.execute("commit")


def contents(connection: sqlite3.Connection) -> dict[str, tuple[list[str], Rows]]:
    """Every table's columns and rows as they stand."""
    return {
        table: (
            columns(connection, table),
            connection.execute(f"select * from {table} order by rowid").fetchall(),
        )
        for table in tables(connection)
    }


def _insert(connection: sqlite3.Connection, table: str, number: int, **given: Any) -> None:
    values: dict[str, Any] = {}
    for position, name, kind, *_, key in connection.execute(f"pragma table_info({table})"):
        if kind.upper() == "INTEGER":
            values[name] = number if key else 100 * position + number
        elif kind.upper() == "REAL":
            values[name] = position + number / 8
        else:
            values[name] = f"{table}.{name} {number}"
    values |= given
    connection.execute(
        f"insert into {table} ({', '.join(values)}) values ({', '.join('?' * len(values))})",
        list(values.values()),
    )


def _insert_call(
    connection: sqlite3.Connection, pair: tuple[str, str], cost: float | None, tokens: int
) -> None:
    connection.execute(
        "insert into llm_calls (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd)"
        " values ('free-session', ?, ?, ?, ?, 0, ?)",
        (_RECORDED, *pair, tokens, cost),
    )
