"""Retention of ``llm_call_errors``: which failed attempts a rule takes away, and taking them away.

The recorder only ever adds to that table, and one retry storm adds more than a month of work. A
rule deletes by age; ``keep_last`` holds the newest of each group back, so that a failure seen once
a year is not forgotten. Deleting goes by chunks of a thousand rows, each a transaction of its own
that lasts some milliseconds, because a recorder's hooks want to write in between.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..windows import (
    SYSTEM_CLOCK,
    Clock,
    bound,
    day_start_utc,
    local_day,
    named_days,
    parse_age,
    parse_timestamp,
)
from .locking import CHUNK_ROWS, PATIENCE_S, Transaction, patiently
from .maintenance import open_writable

PAUSE_S = 0.005
"""Between two chunks: as long as it takes a waiting recorder to try again ten times."""

Group = tuple[str, str, int | None]
"""model, provider and status code (None: the host gave none)."""

_Edge = tuple[str, int]
"""(ts, id): of a group, the rows below it may go."""

_KEEP_ALL: _Edge = ("", 0)


@dataclass(frozen=True)
class PruneRule:
    """Which failed attempts go: those from before ``before`` that match every given filter.

    ``before`` is what ``parse_before`` gives. Empty ``status_codes`` and ``error_types`` and None
    mean any; a status code None means rows without one. Of each whole (model, provider, status
    code) group, counted over the table and not over what matches, the newest ``keep_last`` stay.
    Raises ValueError for a ``before`` that is no instant and a ``keep_last`` that is no count.
    """

    before: str
    status_codes: tuple[int | None, ...] = ()
    error_types: tuple[str, ...] = ()
    model: str | None = None
    provider: str | None = None
    keep_last: int = 0

    def __post_init__(self) -> None:
        # Compared as text: a slip such as "z" would be later than everything.
        if bound(parse_timestamp(self.before)) != self.before:
            raise ValueError(f"{self.before!r} is not a bound in UTC")
        if not 0 <= self.keep_last < 2**63:
            raise ValueError(f"{self.keep_last} is not a number of rows to keep")

    def covers(self, group: Group) -> bool:
        """Whether rows of the group may go at all."""
        model, provider, status_code = group
        return (
            self.model in (None, model)
            and self.provider in (None, provider)
            and (not self.status_codes or status_code in self.status_codes)
        )


@dataclass(frozen=True)
class PreviewGroup:
    """How many ``rows`` of one group a rule would delete."""

    model: str
    provider: str
    status_code: int | None
    rows: int


@dataclass(frozen=True)
class Preview:
    """What a rule would do: the groups it would take rows from, largest first, and what is left.

    ``oldest_remaining`` is the ``ts`` of the oldest row left; None when no row is.
    """

    groups: tuple[PreviewGroup, ...]
    total: int
    remaining: int
    oldest_remaining: str | None


@dataclass(frozen=True)
class Pruned:
    """What was done: rows deleted, rows that are left and the ``ts`` of the oldest of them."""

    deleted: int
    remaining: int
    oldest_remaining: str | None


def parse_before(text: str, now: datetime, zone: str) -> str:
    """The UTC bound (19 characters) that an age, a date or an instant stands for.

    An age is hours, days or weeks before ``now`` (``12h``, ``90d``, ``4w``); a date, or a name of
    `windows.PERIODS`, is the first instant of those local days in ``zone``; an instant without an
    offset is UTC. Raises ValueError, in one line for the user, for an empty, an unreadable or a
    future one.
    """
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 5:
        raise ValueError(f"{text!r} has no unit: {text}d is an age in days (or {text}h, {text}w)")
    if not text:
        raise ValueError("say before when: an age such as 90d, a date or an instant")
    try:
        before = _before(text, now, zone)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is not an age (12h, 90d, 4w), date (2026-07-01) or instant"
            " (2026-07-01T12:00:00+00:00)"
        ) from error
    if before > bound(now):
        raise ValueError(f"{text!r} lies in the future")
    return before


def _before(text: str, now: datetime, zone: str) -> str:
    aged = parse_age(text, now)
    if aged is not None:
        return bound(aged)
    days = named_days(text, local_day(now, zone))
    if days is None:
        return bound(parse_timestamp(text))
    return day_start_utc(days[0].isoformat(), zone)


def parse_status(text: str) -> int | None:
    """A status code as a user writes it; ``none`` is a failure without one. Raises ValueError."""
    text = text.strip()
    if text.lower() == "none":
        return None
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    raise ValueError(f"{text!r} is not a status code (a number, or none)")


_OF_GROUP = "model is ? and provider is ? and status_code is ?"
_OF_TYPE = "error_type in (select value from json_each(?))"


def _types(rule: PruneRule) -> list[str]:
    """What ``_OF_TYPE`` is bound to; empty when the rule takes any type."""
    return [json.dumps(rule.error_types)] if rule.error_types else []


def _edges(conn: sqlite3.Connection, rule: PruneRule) -> dict[Group, _Edge]:
    """Of every group, the (ts, id) below which the rule takes rows.

    Rows that come in later cannot make an edge wrong: what is at or above it are already as many
    as are to stay. With the speed index on the groups one edge costs microseconds, without it a
    scan.
    """
    edges = {}
    # Unpacked, because a caller's connection may give rows that are no tuples.
    for model, provider, status_code in conn.execute(
        "select distinct model, provider, status_code from llm_call_errors"
    ).fetchall():
        group = (model, provider, status_code)
        edge = (rule.before, 0) if rule.covers(group) else _KEEP_ALL
        if rule.keep_last and edge != _KEEP_ALL:
            last_kept = conn.execute(
                f"""
                select ts, id
                from llm_call_errors
                where {_OF_GROUP}
                order by ts desc, id desc
                limit 1 offset ?
                """,
                (*group, rule.keep_last - 1),
            ).fetchone()
            edge = min(edge, tuple(last_kept) if last_kept else _KEEP_ALL)
        edges[group] = edge
    return edges


def preview(conn: sqlite3.Connection, rule: PruneRule) -> Preview:
    """What ``rule`` would delete now; nothing is changed. Raises sqlite3.Error."""
    goes, stays = "(ts, id) < (?, ?)", "(ts, id) >= (?, ?)"
    types = _types(rule)
    if types:
        goes, stays = f"{goes} and {_OF_TYPE}", f"({stays} or not {_OF_TYPE})"
    groups, oldest = [], []
    for group, edge in _edges(conn, rule).items():
        found = (*group, *edge, *types)
        rows = conn.execute(
            f"select count(*) from llm_call_errors where {_OF_GROUP} and {goes}", found
        ).fetchone()[0]
        if rows:
            groups.append(PreviewGroup(*group, rows))
        oldest.append(
            conn.execute(
                f"select min(ts) from llm_call_errors where {_OF_GROUP} and {stays}", found
            ).fetchone()[0]
        )
    total = sum(group.rows for group in groups)
    return Preview(
        tuple(sorted(groups, key=lambda group: -group.rows)),
        total,
        conn.execute("select count(*) from llm_call_errors").fetchone()[0] - total,
        min((ts for ts in oldest if isinstance(ts, str)), default=None),
    )


class Pruning:
    """One pruning under way: ``chunk`` deletes a bit, until ``finished``.

    ``conn`` may be a read-only one, and each chunk may be given another. Between two chunks the
    caller pauses (``PAUSE_S``).
    """

    def __init__(self, conn: sqlite3.Connection, rule: PruneRule) -> None:
        self.deleted = 0
        self.finished = False
        self._edges = _edges(conn, rule)
        self._last_id = 0
        self._next: tuple[list[int], int, bool] | None = None
        self._filters = [rule.before, *_types(rule)]
        self._walk = f"""
            select id, ts, model, provider, status_code
            from llm_call_errors
            where id > ?
              and ts < ?
              {f"and {_OF_TYPE}" if rule.error_types else ""}
            order by id
        """

    def chunk(self, conn: sqlite3.Connection) -> None:
        """Delete the next rows, at most 1,000, in one transaction or in the one that is open.

        Raises sqlite3.OperationalError when the ledger is locked; the same chunk can be tried
        again then.
        """
        if self._next is None:
            # Before the transaction begins, so that it lasts no longer than the deletion. Ids are
            # never used twice: what was found can wait.
            self._next = self._find(conn)
        ids, last_id, finished = self._next
        if ids:
            _delete(conn, ids)
        self._next = None
        self._last_id, self.finished = last_id, finished
        self.deleted += len(ids)

    def outcome(self, conn: sqlite3.Connection) -> Pruned:
        """The rows deleted so far and what the table holds now."""
        remaining, oldest = conn.execute("select count(*), min(ts) from llm_call_errors").fetchone()
        return Pruned(self.deleted, remaining, oldest)

    def _find(self, conn: sqlite3.Connection) -> tuple[list[int], int, bool]:
        """The ids to delete next, the id up to which the table was looked at, and if that is all.

        The table is walked by id, which no missing index makes slow.
        """
        ids: list[int] = []
        last_id = self._last_id
        with closing(conn.execute(self._walk, (last_id, *self._filters))) as rows:
            for last_id, ts, *group in rows:
                if (ts, last_id) < self._edges.get(tuple(group), _KEEP_ALL):
                    ids.append(last_id)
                    if len(ids) == CHUNK_ROWS:
                        return ids, last_id, False
        return ids, last_id, True


def _delete(conn: sqlite3.Connection, ids: list[int]) -> None:
    with nullcontext() if conn.in_transaction else Transaction(conn):
        conn.execute(
            "delete from llm_call_errors where id in (select value from json_each(?))",
            (json.dumps(ids),),
        )


def prune(
    path: Path,
    rule: PruneRule,
    progress: Callable[[int], None] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Pruned:
    """Delete what ``rule`` takes, chunk by chunk; ``progress`` is told the rows deleted so far.

    Waits up to 30 s for the lock of each chunk. Whatever stops it half-way, only rows that were to
    go are gone. Raises NotALedgerError, OldLedgerError or sqlite3.Error.
    """
    with closing(open_writable(path)) as conn:
        pruning = Pruning(conn, rule)
        while not pruning.finished:
            patiently(clock, clock.monotonic() + PATIENCE_S, lambda: pruning.chunk(conn))
            if progress is not None:
                progress(pruning.deleted)
            clock.sleep(PAUSE_S)
        return pruning.outcome(conn)
