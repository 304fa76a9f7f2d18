"""Writes to ``runs``: a session's life as its hooks tell it. Each runs inside the caller's
transaction.
"""

from __future__ import annotations

import sqlite3


def _ensure_run_row(conn: sqlite3.Connection, session_id: str, ts: str) -> None:
    """Insert a running row unless there is one: sessions older than the recorder never announce
    themselves.
    """
    conn.execute(
        "insert or ignore into runs (session_id, started_at, status) values (?, ?, 'running')",
        (session_id, ts),
    )


def start_run(
    conn: sqlite3.Connection,
    *,
    session_id: str,
    ts: str,
    platform: str | None = None,
    cron_job_id: str | None = None,
    model: str | None = None,
    sender_id: str | None = None,
    profile: str | None = None,
    reopen: bool = True,
) -> None:
    """A session or a turn begins: the run exists and is running, and learns what it did not know.

    platform, cron_job_id, model, sender_id, profile: the first value that is neither NULL nor ''
    stays. With ``reopen`` false (background review) status and ended_at are left alone.
    """
    _ensure_run_row(conn, session_id, ts)
    conn.execute(
        """
        update runs
        set platform = coalesce(nullif(platform, ''), ?),
            cron_job_id = coalesce(nullif(cron_job_id, ''), ?),
            model = coalesce(nullif(model, ''), ?),
            sender_id = coalesce(nullif(sender_id, ''), ?),
            profile = coalesce(nullif(profile, ''), ?),
            started_at = min(started_at, ?)
        where session_id = ?
        """,
        (platform, cron_job_id, model, sender_id, profile, ts, session_id),
    )
    if reopen:
        conn.execute(
            """
            update runs
            set status = 'running', ended_at = null, duration_ms = null
            where session_id = ? and (status is not 'running' or ended_at is not null)
            """,
            (session_id,),
        )


def set_profile(conn: sqlite3.Connection, *, session_id: str, profile: str) -> None:
    """Name the host's profile of a run that has none yet."""
    conn.execute(
        "update runs set profile = coalesce(nullif(profile, ''), ?) where session_id = ?",
        (profile, session_id),
    )


_ENDED = """
    ended_at = :ts,
    duration_ms = max(
        0, cast(round((julianday(:ts) - julianday(started_at)) * 86400000) as integer)
    )
"""
# max(0, …): the wall clock may have been set back since the run began.


def touch_run(conn: sqlite3.Connection, *, session_id: str, ts: str) -> None:
    """A turn's last answer is out: ended_at keeps up, the status stays."""
    _ensure_run_row(conn, session_id, ts)
    conn.execute(
        f"update runs set {_ENDED} where session_id = :session_id",
        {"session_id": session_id, "ts": ts},
    )


def end_run(
    conn: sqlite3.Connection, *, session_id: str, ts: str, status: str, keep_ok: bool = False
) -> None:
    """A turn ended with ``status`` (ok, error, interrupted).

    ``keep_ok``: an ``ok`` run stays as it is (the second on_session_end of a clean terminal close).
    """
    _ensure_run_row(conn, session_id, ts)
    conn.execute(
        f"""
        update runs
        set status = :status, {_ENDED}
        where session_id = :session_id and not (:keep_ok and status is 'ok')
        """,
        {"session_id": session_id, "ts": ts, "status": status, "keep_ok": keep_ok},
    )


def finalize_run(conn: sqlite3.Connection, *, session_id: str, ts: str) -> None:
    """The session is torn down: a run still running is ok; error and interrupted stay."""
    conn.execute(
        f"""
        update runs
        set status = 'ok', {_ENDED}
        where session_id = :session_id and status is 'running'
        """,
        {"session_id": session_id, "ts": ts},
    )
