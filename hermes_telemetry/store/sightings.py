"""Which of the host's hooks have been seen, and which of them should have been.

Every process notes each hook once, at its first call (``notes.py``). A hook that the host no longer
fires, or fires under another name, shows by its absence only, so each hook of a normal turn has
another one that proves it: once the proof was seen, the hook must have been, too.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..windows import bound

PROVEN_BY = {
    "pre_llm_call": "pre_api_request",
    "pre_api_request": "post_api_request",
    "post_api_request": "post_llm_call",
    "post_llm_call": "post_api_request",
    "on_session_end": "post_llm_call",
    "pre_tool_call": "post_tool_call",
}
"""A turn that dies on an error fires none of the last three: their proofs are of turns that went
well.
"""

OCCASIONAL = (
    "on_session_start",
    "post_tool_call",
    "api_request_error",
    "subagent_start",
    "subagent_stop",
    "on_session_finalize",
    "on_session_reset",
)
"""Hooks that need an occasion (a new session, a tool, an error); older hosts lack some of them."""

GRACE = timedelta(hours=1)
"""A turn whose proof is younger may still be under way."""


@dataclass(frozen=True)
class Sightings:
    """Hooks seen, hooks missing although their proof was seen, hooks that may yet come."""

    seen: tuple[str, ...]
    missing: tuple[str, ...]
    not_yet: tuple[str, ...]


def sightings(conn: sqlite3.Connection, now: datetime) -> Sightings:
    """What the ledger's notes say about the hooks at ``now``. Raises sqlite3.Error."""
    noted = {
        hook: (processes, last)
        for hook, processes, last in conn.execute(
            """
            select cache_key, rows_count, built_at
            from endpoint_payload_cache
            where cache_name = 'hooks'
            """
        )
    }
    # A second process that sees a hook shows that the first one's turn is over, mostly.
    proven = {
        hook
        for hook, (processes, last) in noted.items()
        if processes > 1 or last < bound(now - GRACE)
    }
    known = (*PROVEN_BY, *OCCASIONAL)
    unseen = [hook for hook in known if hook not in noted]
    missing = [hook for hook in unseen if PROVEN_BY.get(hook) in proven]
    return Sightings(
        tuple(hook for hook in known if hook in noted),
        tuple(missing),
        tuple(hook for hook in unseen if hook not in missing),
    )
