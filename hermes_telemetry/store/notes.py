"""Small facts about the recorder itself, kept in ``endpoint_payload_cache`` under names of ours.

cache_name 'hooks': when each of the host's hooks was first and last seen by a process. cache_name
'spill', cache_key 'dropped': how many transactions were lost for good (``rows_count``).
"""

from __future__ import annotations

import sqlite3


def note_hook(conn: sqlite3.Connection, *, hook: str, ts: str) -> None:
    """A process saw the host fire ``hook``."""
    _count(conn, "hooks", hook, 1, ts)


def count_dropped(conn: sqlite3.Connection, *, dropped: int, ts: str) -> None:
    """``dropped`` transactions could be kept nowhere."""
    _count(conn, "spill", "dropped", dropped, ts)


def _count(conn: sqlite3.Connection, name: str, key: str, more: int, ts: str) -> None:
    conn.execute(
        """
        insert into endpoint_payload_cache
          (cache_name, cache_key, payload_json, rows_count, built_at)
        values (?, ?, '{}', ?, ?)
        on conflict (cache_name, cache_key) do update
        set rows_count = rows_count + excluded.rows_count,
            built_at = excluded.built_at
        """,
        (name, key, more, ts),
    )
