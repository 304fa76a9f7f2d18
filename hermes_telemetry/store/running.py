"""Sums of spend that keep up with a ledger: per owner and local day, moved on by its new rows.

A call is placed by its own time, so rows of the past (out of the spill file, from a merge) land
right. What makes rows of before count elsewhere is looked at too: a new or another edge takes the
sessions below it to another tree, and a sender or profile may be learned after the first call, so
that none is never taken as final. Three changes leave no trace that could be found in time: calls
deleted below the newest, calls priced anew, and owners of a session that has been silent for long.
Whoever holds the sums counts them afresh now and then.

Money is whole femto-dollars here: what is taken from one owner and given to another leaves no
rounding behind, and a sum that should be 0 is.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice, pairwise
from typing import Any, TypeVar

from ..windows import Window, bound, next_month
from .spend import BY_SPAN_AND_SESSION, SCOPES, Span, Spend, spans_as_json
from .tree import TREE

MOST_NEW_ROWS = 2000
"""More are not taken in one by one: a hook would wait for longer than some milliseconds."""

_FEMTO = 10**15
_LARGEST_USD = 1e15
"""An infinite cost, which only a broken file can hold, must not end in an error."""

_RECENT_SESSIONS = 16
"""Of so many sessions that called last it is asked every time whom they belong to by now."""

_MOST_UNSTARTED = 64
"""Edges of subagents that stopped before they started, whose start may yet name another parent."""

_NEWEST = """
    select
      (select coalesce(max(id), 0) from llm_calls),
      (select coalesce(max(rowid), 0) from subagent_edges),
      -- When the last one seen is gone, newer ones do not hide it.
      (select count(*) from llm_calls where id = ?)
"""

_LAST_CALLERS = "select session_id from llm_calls order by id desc limit 256"

_NEW_CALLS = """
    -- + 0.0: text in a cost counts as nothing, as it does in sum().
    select session_id, ts, cost_usd + 0.0, coalesce(estimated, 0) <> 0
    from llm_calls
    where id > ?
    order by id
"""

_EDGE = "select child_session_id, parent_session_id from subagent_edges where rowid = ?"

_UNSTARTED = """
    select rowid, child_session_id, parent_session_id
    from subagent_edges
    where stopped_at = started_at
    order by rowid desc
    limit ?
"""

_EDGES_SINCE = """
    -- From the last one seen: when it goes, the next edge takes its rowid.
    select rowid, child_session_id, parent_session_id, coalesce(stopped_at = started_at, 0)
    from subagent_edges
    where rowid >= ?
    -- Not "or": SQLite would scan the table.
    union
    select rowid, child_session_id, parent_session_id, coalesce(stopped_at = started_at, 0)
    from subagent_edges
    where rowid in (select value from json_each(?))
    order by 1
"""

_BELOW = """
    with recursive below(session_id) as (
      select value from json_each(?)
      union
      select edge.child_session_id
      from below
      cross join subagent_edges as edge on edge.parent_session_id = below.session_id
    )
    select session_id from below
"""

_OWNERS = f"""
    with recursive
      asked(session_id) as (select value from json_each(?)),
      {TREE}
    select session_id, root_id, '', {", ".join(SCOPES[1:])}
    from owners
"""

_SPENT_BY_DAY = f"""
    with {BY_SPAN_AND_SESSION}
    select place, session_id, usd, firm, calls, estimated, unpriced
    from spent
"""

Owners = tuple[str | None, ...]
"""The id, or None, for each scope of `SCOPES`."""

_NOBODY: Owners = (None,) * len(SCOPES)

_OwnersRow = tuple[Any, ...]
"""Session, root or None, and its owners one by one."""

_Edge = tuple[str, str]
"""Child and parent."""

_EdgeRow = tuple[int, str, str, int]
"""rowid, child, parent, and whether the subagent stopped at the instant it started."""

_State = tuple[sqlite3.Connection, int]
"""Of the ledger: a number of the connection's own, which changes whenever another one writes."""

_Key = TypeVar("_Key")


class OutOfStepError(Exception):
    """The ledger changed in a way that only counting afresh can follow."""


@dataclass(slots=True)
class _Session:
    """``days`` are sums by number of the day: the fields of a `Spend`, money in femto-dollars."""

    root: str | None = None
    owners: Owners = _NOBODY
    days: dict[int, list[int]] = field(default_factory=dict)


class RunningSums:
    """What was spent on the days of the month that ``today`` lies in, and of the month after.

    Older days are not read, which makes counting a matter of the month and not of the history.
    Not for two threads at once.
    """

    def __init__(self, conn: sqlite3.Connection, today: date, zone: str) -> None:
        """Count what the ledger holds. Raises sqlite3.Error; ValueError for a bad zone."""
        self._first = today.replace(day=1)
        self._end = next_month(next_month(today))
        self._starts = [
            bound(Window.day(self._first + timedelta(days=number), zone).start)
            for number in range((self._end - self._first).days + 1)
        ]
        self._sessions: dict[str, _Session] = {}
        self._below_root: defaultdict[str, set[str]] = defaultdict(set)
        self._spent: dict[tuple[str, str], dict[int, list[int]]] = {}
        self._recent: dict[str, None] = {}
        self._unstarted: dict[int, _Edge] = {}
        self._seen: _State | None = None
        self._owners_seen: dict[str, Owners] = {}
        with _snapshot(conn):
            self._last_call, self._last_edge_id, _ = conn.execute(_NEWEST, (0,)).fetchone()
            self._last_edge = conn.execute(_EDGE, (self._last_edge_id,)).fetchone()
            for rowid, child, parent in conn.execute(_UNSTARTED, (_MOST_UNSTARTED,)):
                self._unstarted[rowid] = (child, parent)
            days = spans_as_json(Span(start, end, end) for start, end in pairwise(self._starts))
            spent = conn.execute(_SPENT_BY_DAY, {"spans": days}).fetchall()
            for found in _owners(conn, {session for _, session, *_ in spent}):
                self._settle(found)
            callers = conn.execute(_LAST_CALLERS).fetchall()
        self._note_callers(session for (session,) in reversed(callers))
        for day, session, usd, firm, *counts in spent:
            self._count(session, day, (_femto(usd), _femto(firm), *counts))

    def covers(self, today: date) -> bool:
        """Whether all days of the month of ``today`` are counted."""
        return self._first <= today and next_month(today) <= self._end

    def spend(self, scope: str, scope_id: str, first: date, last: date) -> Spend:
        """What an owner spent from ``first`` to ``last``, both included.

        Raises LookupError for days that are not counted.
        """
        if first < self._first or last >= self._end:
            raise LookupError(f"{first} to {last} is not counted")
        low, high = (first - self._first).days, (last - self._first).days
        days = self._spent.get((scope, scope_id), {}).items()
        within = [sums for day, sums in days if low <= day <= high]
        usd, firm, *counts = map(sum, zip(_nothing(), *within, strict=True))
        return Spend(usd / _FEMTO, firm / _FEMTO, *counts)

    def owners(self, session_id: str) -> Owners | None:
        """The owners of a session as last seen; None when it made no call in these months."""
        session = self._sessions.get(session_id)
        return None if session is None else session.owners

    def look_up_owners(self, conn: sqlite3.Connection, session_id: str) -> Owners:
        """The owners of a session as the ledger has them now. Raises sqlite3.Error."""
        # Before they are asked for: a write in between must not pass for seen.
        nobody_wrote = _state(conn) == self._seen
        if nobody_wrote and session_id in self._owners_seen:
            return self._owners_seen[session_id]
        rows = self._look_up(conn, {session_id})
        for row in rows:
            if row[0] in self._sessions:
                self._settle(row)
        owners = tuple(rows[0][2:])
        if nobody_wrote:
            self._owners_seen[session_id] = owners
        return owners

    def advance(self, conn: sqlite3.Connection) -> None:
        """Take in what is new: at once when nobody has written since ``conn`` was last given.

        Raises sqlite3.Error, or OutOfStepError when all has to be counted afresh; the sums are what
        they were then.
        """
        seen = _state(conn)
        if seen == self._seen:
            return
        with _snapshot(conn):
            last_call, last_edge_id, is_there = conn.execute(_NEWEST, (self._last_call,)).fetchone()
            if last_edge_id < self._last_edge_id or not (is_there or self._last_call == 0):
                raise OutOfStepError("rows are gone")
            if max(last_call - self._last_call, last_edge_id - self._last_edge_id) > MOST_NEW_ROWS:
                raise OutOfStepError("too many rows are new")
            edges = self._changed_edges(conn)
            calls = conn.execute(_NEW_CALLS, (self._last_call,)).fetchall()
            placed = [(day, call) for call in calls if (day := self._day(call[1])) is not None]
            callers = dict.fromkeys(session for _, (session, *_) in placed)
            found = self._owners_to_settle(conn, edges, callers)
        self._follow_edges(edges, last_edge_id)
        for row in found:
            self._settle(row)
        for day, (session, _, usd, estimated) in placed:
            amount = 0 if usd is None else _femto(usd)
            self._count(
                session, day, (amount, 0 if estimated else amount, 1, estimated, usd is None)
            )
        self._note_callers(callers)
        self._last_call, self._seen = last_call, seen
        self._owners_seen = {session: tuple(owners) for session, _, *owners in found}

    def _note_callers(self, sessions: Iterable[str]) -> None:
        for session in sessions:
            if session in self._sessions:
                self._recent.pop(session, None)
                self._recent[session] = None
        _keep_last(self._recent, _RECENT_SESSIONS)

    def _day(self, ts: Any) -> int | None:
        """The number of the day that a call counts on, as SQL would place it; None for no day."""
        day = bisect_right(self._starts, ts) - 1 if isinstance(ts, str) else -1
        return day if 0 <= day < len(self._starts) - 1 else None

    def _changed_edges(self, conn: sqlite3.Connection) -> list[_EdgeRow]:
        """Edges that are new, or that are another one than when they were last seen."""
        rows: list[_EdgeRow] = conn.execute(
            _EDGES_SINCE, (self._last_edge_id, json.dumps(list(self._unstarted)))
        ).fetchall()
        return [
            (rowid, child, parent, unstarted)
            for rowid, child, parent, unstarted in rows
            if (child, parent)
            != (self._last_edge if rowid == self._last_edge_id else self._unstarted.get(rowid))
            or unstarted != (rowid in self._unstarted)
        ]

    def _follow_edges(self, edges: list[_EdgeRow], last_edge_id: int) -> None:
        for rowid, child, parent, unstarted in edges:
            self._unstarted.pop(rowid, None)
            if unstarted:
                self._unstarted[rowid] = (child, parent)
            if rowid == last_edge_id:
                self._last_edge = (child, parent)
        _keep_last(self._unstarted, _MOST_UNSTARTED)
        self._last_edge_id = last_edge_id

    def _owners_to_settle(
        self, conn: sqlite3.Connection, edges: list[_EdgeRow], callers: Iterable[str]
    ) -> list[_OwnersRow]:
        """Whom the sessions belong to whose owners are not known yet or may be others now."""
        asked = {*callers, *self._recent}
        if edges:
            # The child of an edge that another one has replaced has lost its parent.
            lost = self._last_edge[:1] if self._last_edge else ()
            children = json.dumps([*lost, *(child for _, child, _, _ in edges)])
            asked.update(
                session
                for (session,) in conn.execute(_BELOW, (children,))
                if session in self._sessions
            )
        return self._look_up(conn, asked)

    def _look_up(self, conn: sqlite3.Connection, asked: set[str]) -> list[_OwnersRow]:
        """Whom sessions belong to, and then those whose root is one of them that has changed."""
        found = _owners(conn, asked)
        inheriting: set[str] = set()
        for session, _, *owners in found:
            if self.owners(session) != tuple(owners):
                inheriting.update(self._below_root.get(session, ()))
        return found + _owners(conn, inheriting - asked)

    def _settle(self, found: _OwnersRow) -> None:
        """Let a session belong to the root and the owners that were found."""
        session_id, root, *owners = found
        session = self._sessions.setdefault(session_id, _Session())
        if (root, tuple(owners)) == (session.root, session.owners):
            return  # as nearly always
        if root != session.root:
            # Not of itself, as most are: a set for each session is a third of what all take.
            if session.root is not None and session.root != session_id:
                self._below_root[session.root].discard(session_id)
            if root is not None and root != session_id:
                self._below_root[root].add(session_id)
            session.root = root
        before, session.owners = session.owners, tuple(owners)
        for scope, old, new in zip(SCOPES, before, session.owners, strict=True):
            if old != new:
                for day, sums in session.days.items():
                    self._give(scope, old, day, [-amount for amount in sums])
                    self._give(scope, new, day, sums)

    def _count(self, session_id: str, day: int, sums: Sequence[int]) -> None:
        """Add to a settled session and to its owners."""
        session = self._sessions[session_id]
        _add(session.days.setdefault(day, _nothing()), sums)
        for scope, scope_id in zip(SCOPES, session.owners, strict=True):
            self._give(scope, scope_id, day, sums)

    def _give(self, scope: str, scope_id: str | None, day: int, sums: Sequence[int]) -> None:
        if scope_id is not None:
            _add(self._spent.setdefault((scope, scope_id), {}).setdefault(day, _nothing()), sums)


def _state(conn: sqlite3.Connection) -> _State:
    return (conn, *conn.execute("pragma data_version").fetchone())


def _nothing() -> list[int]:
    return [0, 0, 0, 0, 0]


def _add(total: list[int], sums: Sequence[int]) -> None:
    for place, amount in enumerate(sums):
        total[place] += amount


def _femto(usd: float) -> int:
    return round(min(max(usd, -_LARGEST_USD), _LARGEST_USD) * _FEMTO)


def _owners(conn: sqlite3.Connection, sessions: set[str]) -> list[_OwnersRow]:
    if not sessions:
        return []
    return conn.execute(_OWNERS, (json.dumps(list(sessions)),)).fetchall()


def _keep_last(entries: dict[_Key, Any], most: int) -> None:
    for key in list(islice(entries, max(0, len(entries) - most))):
        del entries[key]


@contextmanager
def _snapshot(conn: sqlite3.Connection) -> Iterator[None]:
    """One state of the ledger for all that is read in the block, held no longer than that."""
    conn.execute("begin")
    try:
        yield
    finally:
        conn.rollback()
