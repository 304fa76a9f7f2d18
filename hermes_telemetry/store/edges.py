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
    fill it in, and names the parent; by an update, since readers follow edges by rowid.
    """
    conn.execute(
        """
        insert into subagent_edges (
            child_session_id, parent_session_id, parent_turn_id, parent_subagent_id,
            child_subagent_id, child_role, started_at
        ) values (?, ?, ?, ?, ?, ?, ?)
        on conflict (child_session_id) do update
        set parent_session_id = excluded.parent_session_id,
            parent_turn_id = coalesce(nullif(excluded.parent_turn_id, ''), parent_turn_id),
            parent_subagent_id =
              coalesce(nullif(parent_subagent_id, ''), excluded.parent_subagent_id),
            child_subagent_id =
              coalesce(nullif(child_subagent_id, ''), excluded.child_subagent_id),
            child_role = coalesce(nullif(child_role, ''), excluded.child_role),
            started_at = min(started_at, excluded.started_at)
        where stopped_at = started_at
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
    parent_session_id: str | None,
    ts: str,
    parent_turn_id: str | None = None,
    parent_subagent_id: str | None = None,
    child_role: str | None = None,
    child_status: str | None = None,
) -> None:
    """A subagent stops: stopped_at and child_status of the first stop, and what the start left
    open.

    The child alone says which edge it is: the host names the session that the parent is in by now,
    another one after `/new`, or none. A stop without a start makes the row, started and stopped at
    one instant, if it names a parent.
    """
    edge = {
        "child": child_session_id,
        "parent": parent_session_id,
        "turn": parent_turn_id,
        "subagent": parent_subagent_id,
        "role": child_role,
        "ts": ts,
        "status": child_status,
    }
    # A turn of another session than the edge's parent is not the one that started the child.
    known = conn.execute(
        """
        update subagent_edges
        set parent_turn_id =
              coalesce(nullif(parent_turn_id, ''), iif(parent_session_id = :parent, :turn, null)),
            parent_subagent_id = coalesce(nullif(parent_subagent_id, ''), :subagent),
            child_role = coalesce(nullif(child_role, ''), :role),
            stopped_at = coalesce(nullif(stopped_at, ''), :ts),
            child_status = coalesce(nullif(child_status, ''), :status)
        where child_session_id = :child
        """,
        edge,
    ).rowcount
    if known or parent_session_id is None:
        return
    conn.execute(
        """
        insert into subagent_edges (
            child_session_id, parent_session_id, parent_turn_id, parent_subagent_id,
            child_role, started_at, stopped_at, child_status
        ) values (:child, :parent, :turn, :subagent, :role, :ts, :ts, :status)
        """,
        edge,
    )
