"""What was done about a limit, once for each of its windows (``budget_alerts``): crossed softly or
hard, or a cron job paused. Once more for each higher amount that the limit was raised to meanwhile.

A row means that the model was told, too, as it does in other builds, unless its notice still waits
(``endpoint_payload_cache``, cache_name 'untold alerts'): a limit is often crossed by the last call
of a process, of which nobody hears any more.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Literal

_UNTOLD = "untold alerts"


def record_budget_alert(
    conn: sqlite3.Connection,
    *,
    scope: str,
    scope_id: str,
    window: str,
    period_key: str,
    level: str,
    ts: str,
    spent_usd: float,
    limit_usd: float,
    told: bool,
) -> Literal["new", "untold"] | None:
    """Note an alert inside the caller's transaction: "new" where none was noted in this window of a
    limit as high as this one. A process may hold a limit that was raised since.

    ``told``: the caller is about to tell it. Where it was noted it is "untold" for one such caller
    and None for all others; that is how no two processes say the same twice.
    """
    key = (scope, scope_id, window, period_key, level)
    # Without the period: of a limit there is never more than the newest notice to tell.
    limit = json.dumps([scope, scope_id, window, level])
    noted = conn.execute(
        """
        select coalesce(limit_usd, 0)  -- another build may leave it out
        from budget_alerts
        where scope = ?
          and scope_id = ?
          and window = ?
          and period_key = ?
          and level = ?
        """,
        key,
    ).fetchone()
    waits, told_of = _waiting(conn, limit, period_key)
    if noted and not waits:
        told_of = noted[0]
    is_new = (
        conn.execute(
            """
            insert into budget_alerts
              (scope, scope_id, window, period_key, level, fired_at, spent_usd, limit_usd)
            values (?, ?, ?, ?, ?, ?, ?, ?)
            on conflict (scope, scope_id, window, period_key, level) do update
            set fired_at = excluded.fired_at,
                spent_usd = excluded.spent_usd,
                limit_usd = excluded.limit_usd
            where excluded.limit_usd > limit_usd
            """,
            (*key, ts, spent_usd, limit_usd),
        ).rowcount
        == 1
    )
    if not is_new and not (told and waits and (told_of is None or limit_usd > told_of)):
        return None
    if told:
        told_of = limit_usd
    # Told of a lower limit than was crossed, a model has yet to hear of the one that was.
    if told and (is_new or limit_usd >= noted[0]):
        conn.execute(
            """
            delete from endpoint_payload_cache
            where cache_name = ?
              and cache_key = ?
            """,
            (_UNTOLD, limit),
        )
    else:
        conn.execute(
            """
            insert or replace into endpoint_payload_cache
              (cache_name, cache_key, payload_json, rows_count, built_at)
            values (?, ?, ?, 1, ?)
            """,
            (_UNTOLD, limit, json.dumps([period_key, told_of]), ts),
        )
    return "new" if is_new else "untold"


def _waiting(conn: sqlite3.Connection, limit: str, period_key: str) -> tuple[bool, float | None]:
    """Whether a notice of the period waits to be told; the highest limit that one was told of, USD,
    None if none was.
    """
    row = conn.execute(
        """
        select payload_json
        from endpoint_payload_cache
        where cache_name = ?
          and cache_key = ?
        """,
        (_UNTOLD, limit),
    ).fetchone()
    match json.loads(row[0]) if row else None:
        case [period, told_of] if period == period_key:
            return True, told_of
    return False, None


def was_paused(
    conn: sqlite3.Connection,
    scope: str,
    scope_id: str,
    window: str,
    period_key: str,
    limit_usd: float,
) -> bool:
    """Whether a cron job was paused in this window for a limit as high as this one already. Raises
    sqlite3.Error.
    """
    row = conn.execute(
        """
        select 1
        from budget_alerts
        where scope = ?
          and scope_id = ?
          and window = ?
          and period_key = ?
          and level = 'paused'
          and coalesce(limit_usd >= ?, 1)
        """,
        (scope, scope_id, window, period_key, limit_usd),
    ).fetchone()
    return row is not None
