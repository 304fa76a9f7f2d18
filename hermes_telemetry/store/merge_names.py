"""Names that two machines may share by accident: sessions and turns.

Cron sessions are called by their job and second, so two machines with the same jobs have sessions
of one name. The one that comes second gets the number of its ledger behind it, ``NAME@2``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from .merged import make_temporary

_EVENTS = ("llm_calls", "tool_calls", "llm_call_errors")
_KEPT_EVENTS = ("llm_calls", "tool_calls")
"""Those that nobody prunes."""

_MENTIONS = (
    "runs where session_id = {id}",
    *(f"{table} where session_id = {{id}}" for table in _EVENTS),
    "subagent_edges where child_session_id = {id}",
    "subagent_edges where parent_session_id = {id}",
)


def original(schema: str, row: str) -> str:
    """SQL: the session that ``row`` belonged to where it was recorded."""
    return f"""
        coalesce(
          (select session_id from {schema}.merged_sessions where merged_as = {row}.session_id),
          {row}.session_id
        )
    """


def name_sessions(conn: sqlite3.Connection) -> dict[str, str]:
    """``temp.sessions``: what each session of the input is called in ``main`` (``merged_as``).

    Returns those that get another name than they have, from now on.
    """
    make_temporary(
        conn,
        "sessions",
        """
        session_id text primary key,
        ledger integer not null,
        original text not null,
        merged_as text
        """,
    )
    conn.execute("create index temp.idx_sessions_merged_as on sessions (merged_as)")
    conn.execute("create index temp.idx_sessions_original on sessions (original)")
    conn.execute(
        f"""
        insert into temp.sessions (session_id, ledger, original)
        select seen.session_id, origin.ledger, coalesce(mark.session_id, seen.session_id)
        from (
          select session_id from source.runs
          union select parent_session_id from source.runs
          {" ".join(f"union select session_id from source.{table}" for table in _EVENTS)}
          union select child_session_id from source.subagent_edges
          union select parent_session_id from source.subagent_edges
          union select session_id from source.free_paid_transitions
        ) as seen
        left join source.merged_sessions as mark on mark.merged_as = seen.session_id
        join temp.origins as origin on origin.origin = coalesce(mark.ledger, 0)
        where seen.session_id is not null
        """
    )
    for table in _EVENTS:
        # One row in common is proof enough.
        conn.execute(
            f"""
            update temp.sessions as session
            set merged_as = shared.merged_as
            from (
              select theirs.session_id, min(ours.session_id) as merged_as
              from temp.places_{table} as place
              join source.{table} as theirs on theirs.id = place.at
              join main.{table} as ours on ours.id = place.id
              where place.known
              group by theirs.session_id
            ) as shared
            where shared.session_id = session.session_id
              and session.merged_as is null
            """
        )
    conn.execute(
        f"""
        update temp.sessions as session
        set merged_as = original
        where merged_as is null
          and not {_taken("session.original")}
          and not exists (
            select 1
            from temp.sessions as other
            where other.original = session.original
              and other.session_id <> session.session_id
          )
        """
    )
    renamed = {}
    for session_id, ledger, name in conn.execute(
        """
        select session_id, ledger, original
        from temp.sessions
        where merged_as is null
        order by session_id
        """
    ).fetchall():
        merged_as = _seen_before(conn, session_id, ledger, name)
        if merged_as is None:
            merged_as = _free(name, ledger, lambda wanted: _is_taken(conn, wanted))
            if merged_as != name:
                renamed[session_id] = merged_as
        conn.execute(
            "update temp.sessions set merged_as = ? where session_id = ?", (merged_as, session_id)
        )
    # A session of the merged file itself, under its own name, bears no mark.
    conn.execute(
        """
        insert or ignore into main.merged_sessions (merged_as, ledger, session_id)
        select merged_as, ledger, original
        from temp.sessions
        where ledger > 0
           or merged_as <> original
        """
    )
    return renamed


def name_turns(conn: sqlite3.Connection) -> None:
    """``temp.turns``: what each turn of the input is called in ``main`` (``merged_as``)."""
    make_temporary(
        conn,
        "turns",
        """
        turn_id text primary key,
        ledger integer not null,
        original text not null,
        merged_as text
        """,
    )
    events = " union ".join(
        f"""
        select theirs.turn_id, place.ledger
        from source.{table} as theirs
        join temp.places_{table} as place on place.at = theirs.id
        """
        for table in _EVENTS
    )
    conn.execute(
        f"""
        insert or ignore into temp.turns (turn_id, ledger, original)
        select seen.turn_id, seen.ledger, coalesce(mark.turn_id, seen.turn_id)
        from (
          {events}
          union
          select edge.parent_turn_id, session.ledger
          from source.subagent_edges as edge
          join temp.sessions as session on session.session_id = edge.child_session_id
        ) as seen
        left join source.merged_turns as mark on mark.merged_as = seen.turn_id
        where seen.turn_id > ''
        """
    )
    make_temporary(
        conn,
        "taken_turns",
        "turn_id text not null, ledger integer not null, primary key (turn_id, ledger)",
    )
    for table in _EVENTS:
        conn.execute(
            f"""
            insert or ignore into temp.taken_turns
            select ours.turn_id, coalesce(mark.ledger, 0)
            from main.{table} as ours
            left join main.merged_{table} as mark on mark.id = ours.id
            where ours.turn_id in (select original from temp.turns)
            """
        )
    conn.execute(
        """
        update temp.turns as turn
        set merged_as = coalesce(
          (
            select merged_as
            from main.merged_turns
            where turn_id = turn.original
              and ledger = turn.ledger
          ),
          original
        )
        """
    )
    shared = conn.execute(
        """
        select turn_id, ledger, original
        from temp.turns as turn
        where merged_as = original
          and exists (
            select 1
            from temp.taken_turns as taken
            where taken.turn_id = turn.original
              and taken.ledger <> turn.ledger
          )
          and not exists (
            select 1
            from temp.taken_turns as taken
            where taken.turn_id = turn.original
              and taken.ledger = turn.ledger
          )
        """
    ).fetchall()
    for turn_id, ledger, name in shared:
        merged_as = _free(name, ledger, lambda wanted: _is_taken_turn(conn, wanted))
        conn.execute("insert into main.merged_turns values (?, ?, ?)", (merged_as, ledger, name))
        conn.execute("update temp.turns set merged_as = ? where turn_id = ?", (merged_as, turn_id))


def _seen_before(conn: sqlite3.Connection, session_id: str, ledger: int, name: str) -> str | None:
    """What a session is called in ``main`` that came before without a row that tells it by."""
    candidates = [
        candidate
        for (candidate,) in conn.execute(
            "select merged_as from main.merged_sessions where session_id = ? and ledger = ?",
            (name, ledger),
        )
    ]
    own = conn.execute("select 1 from main.merged_sessions where merged_as = ?", (name,))
    if ledger == 0 and own.fetchone() is None and _is_taken(conn, name):
        candidates.append(name)
    return next((each for each in candidates if _may_be(conn, session_id, each)), None)


def _may_be(conn: sqlite3.Connection, theirs: str, ours: str) -> bool:
    """Whether nothing speaks against it: two sessions that both have calls, and none in common, are
    two, and so are those that began at two times.
    """
    for table in _KEPT_EVENTS:
        if all(
            conn.execute(
                f"select 1 from {schema}.{table} where session_id = ? limit 1", (session,)
            ).fetchone()
            for schema, session in (("source", theirs), ("main", ours))
        ):
            return False
    began = {
        row[0]
        for schema, session in (("source", theirs), ("main", ours))
        for row in conn.execute(
            f"select started_at from {schema}.runs where session_id = ?", (session,)
        )
    }
    return len(began) <= 1


def _free(name: str, ledger: int, is_taken: Callable[[str], bool]) -> str:
    if not is_taken(name):
        return name
    numbered, number = f"{name}@{ledger}", 2
    while is_taken(numbered):
        numbered, number = f"{name}@{ledger}.{number}", number + 1
    return numbered


def _taken(session: str) -> str:
    return (
        "("
        + " or ".join(
            f"exists (select 1 from main.{mention.format(id=session)})" for mention in _MENTIONS
        )
        + ")"
    )


def _is_taken(conn: sqlite3.Connection, session_id: str) -> bool:
    row = conn.execute(
        f"""
        select {_taken(":id")}
            or exists (select 1 from temp.sessions where merged_as = :id)
            or exists (select 1 from main.merged_sessions where merged_as = :id)
        """,
        {"id": session_id},
    ).fetchone()
    return bool(row[0])


def _is_taken_turn(conn: sqlite3.Connection, turn_id: str) -> bool:
    row = conn.execute(
        """
        select exists (select 1 from temp.taken_turns where turn_id = :id)
            or exists (select 1 from main.merged_turns where merged_as = :id)
            or exists (select 1 from main.llm_calls where turn_id = :id)
        """,
        {"id": turn_id},
    ).fetchone()
    return bool(row[0])
