"""The newest record of a ledger: how far its figures reach, and whether they changed since."""

from __future__ import annotations

import sqlite3
from collections.abc import Container
from dataclasses import dataclass

_TIMED = ("llm_calls", "tool_calls", "llm_call_errors")
_COUNTED = (*_TIMED, "runs", "subagent_edges", "budget_alerts")


@dataclass(frozen=True)
class Newest:
    """``ts`` is the time of the newest call, attempt or tool call; None for an empty ledger.

    ``rowids`` holds the highest of each table: equal ones mean that no row came in. What was
    updated in place or deleted does not show.
    """

    ts: str | None
    rowids: tuple[int | None, ...]


def newest(conn: sqlite3.Connection, tables: Container[str]) -> Newest:
    """Of the ``tables`` that the file has; others are not looked at. Raises sqlite3.Error."""
    times = [
        # Less than a blob is all that is none: another build's, it would hide every time.
        conn.execute(f"select max(ts) from {table} where ts < x''").fetchone()[0]
        for table in _TIMED
        if table in tables
    ]
    rowids = [
        conn.execute(f"select max(rowid) from {table}").fetchone()[0]
        for table in _COUNTED
        if table in tables
    ]
    return Newest(
        max((ts for ts in times if ts and isinstance(ts, str)), default=None), tuple(rowids)
    )
