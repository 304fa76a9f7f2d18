"""Which of the host's hooks have been seen, and which of them should have been.

Every process notes each hook once, at its first call (``notes.py``). A hook that the host no longer
fires, or fires under another name, shows by its absence only, so each hook of a normal turn has
another one that proves it: where the proof was seen, and seen lately, the hook must have been, too.
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
    "post_tool_call": "pre_tool_call",
}
"""A turn that dies on an error may fire neither post_api_request, post_llm_call nor
on_session_end: their proofs are of turns that went well.
"""

_AFTER_ITS_PROOF = frozenset({"post_llm_call", "on_session_end", "post_tool_call"})
"""Hooks that may still come when their proof has just been seen; the others come before theirs."""

OCCASIONAL = (
    "on_session_start",
    "api_request_error",
    "subagent_start",
    "subagent_stop",
    "on_session_finalize",
    "on_session_reset",
)
"""Hooks that need an occasion (a new session, an error); older hosts lack some of them."""

GRACE = timedelta(hours=1)
"""A turn whose proof is younger may still be under way."""

LONGEST_LAG_DAYS = 1.0
"""How long after a hook a process may first see its proof: a turn is long, or many fail first."""


@dataclass(frozen=True)
class Gone:
    """A hook that was seen once and no longer, and its proof: when either was seen last."""

    hook: str
    last: str
    proof_last: str


@dataclass(frozen=True)
class Sightings:
    """Hooks seen, hooks gone or missing although their proof was seen, hooks that may yet come."""

    seen: tuple[str, ...]
    gone: tuple[Gone, ...]
    missing: tuple[str, ...]
    not_yet: tuple[str, ...]


@dataclass(frozen=True)
class _Note:
    """How many processes saw a hook, and when the last did: as text and as a Julian day."""

    processes: int
    last: str
    day: float


def sightings(conn: sqlite3.Connection, now: datetime) -> Sightings:
    """What the ledger's notes say about the hooks at ``now``. Raises sqlite3.Error."""
    noted = {
        hook: _Note(processes, last, day)
        for hook, processes, last, day in conn.execute(
            """
            select cache_key, rows_count, built_at, coalesce(julianday(built_at), 0)
            from endpoint_payload_cache
            where cache_name = 'hooks'
            """
        )
    }
    settled = bound(now - GRACE)
    # A second process that sees a hook shows that the first one's turn is over, mostly.
    proven = {hook for hook, note in noted.items() if note.processes > 1 or note.last < settled}
    gone = tuple(
        Gone(hook, noted[hook].last, noted[proof].last)
        for hook, proof in PROVEN_BY.items()
        if hook in noted
        and proof in noted
        and noted[proof].day - noted[hook].day > LONGEST_LAG_DAYS
        and (hook not in _AFTER_ITS_PROOF or noted[proof].last < settled)
    )
    known = (*PROVEN_BY, *OCCASIONAL)
    unseen = [hook for hook in known if hook not in noted]
    missing = [hook for hook in unseen if PROVEN_BY.get(hook) in proven]
    return Sightings(
        tuple(hook for hook in known if hook in noted.keys() - {each.hook for each in gone}),
        gone,
        tuple(missing),
        tuple(hook for hook in unseen if hook not in missing),
    )
