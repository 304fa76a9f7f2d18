"""A ledger's tables and views in full, as SELECTs with the parameter ``:since``, a bound."""

from __future__ import annotations

import sqlite3

from .extras import VIEWS, names

_SINCE = {
    # A run that began earlier belongs to what is exported of it.
    "runs": """
        started_at >= :since
        or session_id in (
          select session_id from llm_calls where ts >= :since
          union
          select session_id from tool_calls where ts >= :since
          union
          select session_id from llm_call_errors where ts >= :since
        )
    """,
    "llm_calls": "ts >= :since",
    "tool_calls": "ts >= :since",
    "llm_call_errors": "ts >= :since",
    "llm_call_prices": "call_id in (select id from llm_calls where ts >= :since)",
    "subagent_edges": "started_at >= :since or stopped_at >= :since",
    "budget_alerts": "fired_at >= :since",
}
"""What is exported of each table; of the others, which are small and say what holds, all."""

TABLES = (
    *_SINCE,
    "prices_used",
    "pricing_snapshots",
    "known_free_models",
    "free_paid_transitions",
    "model_unavailable_alerts",
)
"""All but the schema's versions and the caches, which speak of the file and not of the host."""


def selects(conn: sqlite3.Connection) -> dict[str, str]:
    """A SELECT for each table that the file has, in the order of its rows, and for each view.

    A view sums up those calls that are exported, also in a file that lacks it.
    """
    there = names(conn)
    tables = {
        table: f"select * from {table} where {_SINCE.get(table, 'true')} order by rowid"
        for table in TABLES
        if table in there
    }
    views = {
        name: f"with llm_calls as (select * from main.llm_calls where ts >= :since) {body}"
        for name, body in VIEWS.items()
    }
    return tables | views


def count(conn: sqlite3.Connection, since: str) -> int:
    """How many rows of tables are exported; ``since`` is a bound, 19 characters."""
    return sum(
        conn.execute(f"select count(*) from ({select})", {"since": since}).fetchone()[0]
        for name, select in selects(conn).items()
        if name not in VIEWS
    )
