"""Whom a session's spend belongs to: its own cron job, sender and profile, else those of the
session that its tree began with.

The root of a session is the ancestor along ``subagent_edges`` that is nobody's child; for most
sessions that is the session itself. One whose way up leads into a cycle has no root and stands for
itself. The canned queries state the same rule; tests hold both equal.
"""

from __future__ import annotations

OWNER_COLUMNS = {"cron_job": "cron_job_id", "sender": "sender_id", "profile": "profile"}
"""The column of ``runs`` that names the owner, by scope. '' there is as good as NULL."""

_OWNERS = ",\n      ".join(
    f"coalesce(nullif(own.{column}, ''), nullif(root.{column}, '')) as {scope}"
    for scope, column in OWNER_COLUMNS.items()
)

TREE = f"""
  -- Union ends the walk in a cycle.
  lineage(session_id, ancestor_id) as (
    select session_id, session_id from asked
    union
    select lineage.session_id, edge.parent_session_id
    from lineage
    cross join subagent_edges as edge on edge.child_session_id = lineage.ancestor_id
  ),
  -- At most one a session: an edge names one parent.
  rooted(session_id, root_id) as materialized (
    select session_id, ancestor_id
    from lineage
    where not exists (
      select 1 from subagent_edges as edge where edge.child_session_id = lineage.ancestor_id
    )
  ),
  owners as materialized (
    select
      asked.session_id,
      rooted.root_id,
      {_OWNERS}
    from asked
    left join rooted on rooted.session_id = asked.session_id
    left join runs as own on own.session_id = asked.session_id
    left join runs as root on root.session_id = rooted.root_id
  )
"""
"""Common table expressions (after ``with recursive``) that find the owners of sessions.

They read ``asked(session_id)``, each session once, and give ``owners``: session_id, root_id (NULL
below a cycle), and an id or NULL for each scope but ``global``.
"""


def owner_column(scope: str) -> str:
    """The column of ``runs`` behind a scope; ValueError for ``global`` and for what is none."""
    try:
        return OWNER_COLUMNS[scope]
    except KeyError:
        raise ValueError(f"{scope!r} is not a scope of sessions") from None


def members_of(scope: str) -> str:
    """Common table expressions (after ``with recursive``) that give ``members(session_id)``: all
    sessions of the owner ``:scope_id``, each once. ValueError as `owner_column`.
    """
    column = owner_column(scope)
    return f"""
      -- Walked down from a session that is nobody's child, a tree holds no cycle.
      below(session_id) as (
        select edge.child_session_id
        from subagent_edges as edge
        -- Cross join: from the edges, for most sessions have none.
        cross join runs as root on root.session_id = edge.parent_session_id
        where root.{column} = nullif(:scope_id, '')
          and not exists (
            select 1 from subagent_edges as above where above.child_session_id = root.session_id
          )
        union all
        select edge.child_session_id
        from below
        join subagent_edges as edge on edge.parent_session_id = below.session_id
      ),
      members(session_id) as (
        select session_id
        from runs
        where {column} = nullif(:scope_id, '')
        union all
        select below.session_id
        from below
        left join runs as own on own.session_id = below.session_id
        where coalesce(own.{column}, '') = ''
      )
    """
