"""Writes of delegation edges: which turn started which subagent. Each runs inside the caller's
transaction.
"""

from __future__ import annotations

import sqlite3


def start_edge(
    conn: sqlite3.Connection,
    *,
    child_session_id: str,
    parent_session_id: str,
    ts: str,
    parent_turn_id: str | None = None,
    parent_subagent_id: str | None = None,
    child_subagent_id: str | None = None,
    child_role: str | None = None,
) -> None:
    """A subagent starts under a turn. The first start of a child wins.

    Only where the row came from a stop that overtook it (out of the spill file, say) does a start
    fill it in; by an update, since readers follow edges by rowid.
    """
    conn.execute(
        """
        insert into subagent_edges (
            child_session_id, parent_session_id, parent_turn_id, parent_subagent_id,
            child_subagent_id, child_role, started_at
        ) values (?, ?, ?, ?, ?, ?, ?)
        on conflict (child_session_id) do update
        set parent_turn_id = coalesce(parent_turn_id, excluded.parent_turn_id),
            parent_subagent_id = coalesce(parent_subagent_id, excluded.parent_subagent_id),
            child_subagent_id = coalesce(child_subagent_id, excluded.child_subagent_id),
            child_role = coalesce(child_role, excluded.child_role),
            started_at = min(started_at, excluded.started_at)
        where stopped_at = started_at
          and parent_session_id = excluded.parent_session_id
        """,
        (
            child_session_id,
            parent_session_id,
            parent_turn_id,
            parent_subagent_id,
            child_subagent_id,
            child_role,
            ts,
        ),
    )


def stop_edge(
    conn: sqlite3.Connection,
    *,
    child_session_id: str,
    parent_session_id: str,
    ts: str,
    parent_turn_id: str | None = None,
    parent_subagent_id: str | None = None,
    child_role: str | None = None,
    child_status: str | None = None,
) -> None:
    """A subagent stops: stopped_at and child_status of the first stop, and what the start left
    NULL.

    A stop without a start makes the row, started and stopped at one instant.
    """
    conn.execute(
        """
        insert into subagent_edges (
            child_session_id, parent_session_id, parent_turn_id, parent_subagent_id,
            child_role, started_at, stopped_at, child_status
        ) values (?, ?, ?, ?, ?, ?, ?, ?)
        on conflict (child_session_id) do update
        set parent_turn_id = coalesce(nullif(parent_turn_id, ''), excluded.parent_turn_id),
            parent_subagent_id = coalesce(parent_subagent_id, excluded.parent_subagent_id),
            child_role = coalesce(child_role, excluded.child_role),
            stopped_at = coalesce(stopped_at, excluded.stopped_at),
            child_status = coalesce(child_status, excluded.child_status)
        where parent_session_id = excluded.parent_session_id
        """,
        (
            child_session_id,
            parent_session_id,
            parent_turn_id,
            parent_subagent_id,
            child_role,
            ts,
            ts,
            child_status,
        ),
    )
