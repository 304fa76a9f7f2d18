"""What was spent, asked of the ledger: by the time of each call, per owner, in half-open spans.

A session's start day never counts: a chat that lives a week must not hide what it costs today.
Whom a session belongs to is said in ``tree.py``. Bounds are the 19-character UTC texts of
``windows.bound``. An owner of no scope of `SCOPES` raises ValueError; a ledger older than these
columns sqlite3.OperationalError.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta

from ..windows import BEGINNING, Window, bound, local_instant
from .tree import OWNER_COLUMNS, TREE, members_of, owner_column

SCOPES = ("global", *OWNER_COLUMNS)
"""Whose spend can be asked for. The ``scope_id`` of the first is ''."""

Owner = tuple[str, str]
"""A scope and a ``scope_id`` in it."""

EVERYONE: Owner = ("global", "")

TOLERANCE_USD = 1e-9
"""What a sum of floats may lack of an amount and still have reached it."""


@dataclass(frozen=True, slots=True)
class Spend:
    """A sum over calls. Without a price they add nothing to ``spent``, which is a lower bound then.

    ``spent`` in USD; ``firm`` is the part of it from calls that are not estimated. Of all
    ``calls``, ``estimated_calls`` are estimated and ``unpriced_calls`` have no price.
    """

    spent: float = 0.0
    firm: float = 0.0
    calls: int = 0
    estimated_calls: int = 0
    unpriced_calls: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.spent + other.spent,
            self.firm + other.firm,
            self.calls + other.calls,
            self.estimated_calls + other.estimated_calls,
            self.unpriced_calls + other.unpriced_calls,
        )


@dataclass(frozen=True, slots=True)
class Span:
    """``start <= ts < end``; its tail are the calls from ``tail`` on."""

    start: str
    tail: str
    end: str


@dataclass(frozen=True, slots=True)
class SpanSpend:
    """What a span cost, and ``tail``: the USD of its tail."""

    spend: Spend
    tail: float

    def __add__(self, other: SpanSpend) -> SpanSpend:
        return SpanSpend(self.spend + other.spend, self.tail + other.tail)


def span_of(window: Window) -> Span:
    """A window without a tail."""
    return Span(bound(window.start), bound(window.end), bound(window.end))


def span_of_day(day: date, zone: str, from_time: time) -> Span:
    """A local day; its tail begins at the wall-clock time ``from_time``."""
    window = Window.day(day, zone)
    tail = local_instant(day, from_time, zone)
    return Span(bound(window.start), bound(tail), bound(window.end))


def spend_of(conn: sqlite3.Connection, owner: Owner, spans: Sequence[Span]) -> dict[int, SpanSpend]:
    """What an owner spent in each of ``spans``, by its place among them.

    Spans without a call are left out.
    """
    if owner == EVERYONE:
        return _spend_of_everyone(conn, spans)
    start = min((span.start for span in spans), default="")
    end = max((span.end for span in spans), default="")
    rows = conn.execute(
        f"""
        with recursive
          {_SPANS}
          {_sessions_of(owner)}
        select span.place, {_SUMS_OF_SPAN}
          {_of(owner)}
        group by span.place
        """,
        _values(owner, start, end) | {"spans": spans_as_json(spans)},
    )
    return {place: SpanSpend(Spend(*sums), tail) for place, *sums, tail in rows}


def _spend_of_everyone(conn: sqlite3.Connection, spans: Sequence[Span]) -> dict[int, SpanSpend]:
    found = {}
    for place, span in enumerate(spans):
        # A span at a time: to group the calls of all of them SQLite sorts them first, which takes
        # longer than to read them.
        (row,) = conn.execute(
            f"with {_SPANS} select {_SUMS_OF_SPAN}", {"spans": spans_as_json([span])}
        )
        *sums, tail = row
        spend = Spend(*sums)
        if spend.calls:
            found[place] = SpanSpend(spend, tail)
    return found


def spend_of_each(
    conn: sqlite3.Connection, spans: Sequence[Span]
) -> Mapping[Owner, Mapping[int, SpanSpend]]:
    """As `spend_of` for every owner at once, in one pass over the calls.

    Owners without a call are left out. Where one of them is all that is asked for it takes longer.
    """
    rows = conn.execute(_OF_EACH, {"spans": spans_as_json(spans)})
    found: defaultdict[Owner, dict[int, SpanSpend]] = defaultdict(dict)
    for place, *owners, spent, firm, calls, estimated, unpriced, tail in rows:
        part = SpanSpend(Spend(spent, firm, calls, estimated, unpriced), tail)
        for scope, scope_id in zip(SCOPES, ("", *owners), strict=True):
            if scope_id is not None:
                spends = found[scope, scope_id]
                spends[place] = spends[place] + part if place in spends else part
    return found


def spent_between(conn: sqlite3.Connection, owner: Owner, start: str, end: str) -> Spend:
    """What an owner's calls of ``start <= ts < end`` cost."""
    found = spend_of(conn, owner, [Span(start, end, end)])
    return found[0].spend if found else Spend()


def running_sums(
    conn: sqlite3.Connection, owner: Owner, start: str, end: str
) -> Iterator[tuple[str, Spend]]:
    """Every call of an owner in ``start <= ts < end``, in the order of time: its ``ts``, and what
    was spent since ``start`` when it was made.
    """
    spent = Spend()
    for ts, *sums in conn.execute(
        f"""
        with recursive
          {_SPANS}
          {_sessions_of(owner)}
        select call.ts, {_SUMS_OF_SPAN}
          {_of(owner)}
        group by call.id
        order by call.ts, call.id
        """,
        _values(owner, start, end) | {"spans": spans_as_json([Span(start, end, end)])},
    ):
        spent += Spend(*sums[:-1])
        yield ts, spent


def has_call_between(conn: sqlite3.Connection, start: str, end: str) -> bool:
    """Whether anyone had a call between two bounds, in a ledger of any version."""
    sql = "select exists (select 1 from llm_calls where ts >= ? and ts < ?)"
    (found,) = conn.execute(sql, (start, end)).fetchone()
    return bool(found)


def has_call_before(conn: sqlite3.Connection, owner: Owner, end: str) -> bool:
    """Whether an owner had a call before a bound."""
    # A text that sorts before every time is none, and of no day.
    within = "call.ts >= :beginning and call.ts < :end"
    if owner == EVERYONE:
        sql = f"select exists (select 1 from llm_calls as call where {within})"
    else:
        called = f"""
            exists (
              select 1
              from llm_calls as call
              where call.session_id = one.session_id
                and {within}
            )
        """
        sql = f"""
            with recursive {members_of(owner[0])}
            select
              -- Almost always the owner's oldest session answers, without a walk through its trees.
              case when exists (
                select 1
                from runs as one
                where one.{owner_column(owner[0])} = nullif(:scope_id, '')
                  and {called}
              )
              then 1
              else exists (select 1 from members as one where {called})
              end
        """
    values = {"scope_id": owner[1], "beginning": bound(BEGINNING), "end": end}
    (has,) = conn.execute(sql, values).fetchone()
    return bool(has)


def first_call(conn: sqlite3.Connection) -> str | None:
    """The time of the ledger's first call, as stored; None for an empty ledger."""
    # A text that sorts before every time is none.
    sql = "select min(ts) from llm_calls where ts >= ?"
    first: str | None = conn.execute(sql, [bound(BEGINNING)]).fetchone()[0]
    return first


def has_run(conn: sqlite3.Connection, owner: Owner) -> bool:
    """Whether a run says that it belongs to an owner of a scope other than ``global``."""
    scope, scope_id = owner
    sql = f"select exists (select 1 from runs where {owner_column(scope)} = ?)"
    (has,) = conn.execute(sql, (scope_id,)).fetchone()
    return bool(has)


def first_day(
    conn: sqlite3.Connection, owner: Owner, days: Iterable[date], since: date, zone: str
) -> date | None:
    """The local day of an owner's first call, or the one before ``since`` if it was earlier.

    ``days`` are those of its days with a call that are known, from ``since`` on. None if it made no
    call.
    """
    if has_call_before(conn, owner, bound(Window.day(since, zone).start)):
        return since - timedelta(days=1)
    return min(days, default=None)


def spans_as_json(spans: Iterable[Span]) -> str:
    """The value of ``:spans``, for `BY_SPAN_AND_SESSION`."""
    return json.dumps([[span.start, span.tail, span.end] for span in spans])


_SPANS = """
  -- Taken out of the JSON once a span, not once a call.
  span(place, start_utc, tail_utc, end_utc) as materialized (
    select
      key,
      json_extract(value, '$[0]'),
      json_extract(value, '$[1]'),
      json_extract(value, '$[2]')
    from json_each(:spans)
  )
"""

_SUMS_OF_SPAN = """
  total(call.cost_usd),
  total(call.cost_usd) filter (where coalesce(call.estimated, 0) = 0),
  count(*),
  count(*) filter (where coalesce(call.estimated, 0) <> 0),
  count(*) - count(call.cost_usd),
  total(call.cost_usd) filter (where call.ts >= span.tail_utc)
  -- Cross join: the spans come first, each searches its calls.
  from span
  cross join llm_calls as call
  where call.ts >= span.start_utc
    and call.ts < span.end_utc
"""
"""The fields of a `Spend` in their order, and the tail."""

BY_SPAN_AND_SESSION = f"""
  {_SPANS},
  spent(place, session_id, usd, firm, calls, estimated, unpriced, tail) as materialized (
    select span.place, call.session_id, {_SUMS_OF_SPAN}
    group by span.place, call.session_id
  )
"""
"""Common table expressions that give ``spent``: what each session spent in each of ``:spans``."""

_OF_EACH = f"""
with recursive
  {BY_SPAN_AND_SESSION},
  asked(session_id) as materialized (
    select distinct session_id from spent
  ),
  {TREE}
select
  spent.place,
  {", ".join(f"owners.{scope}" for scope in OWNER_COLUMNS)},
  total(spent.usd),
  total(spent.firm),
  sum(spent.calls),
  sum(spent.estimated),
  sum(spent.unpriced),
  total(spent.tail)
from spent
cross join owners on owners.session_id = spent.session_id
group by spent.place, {", ".join(f"owners.{scope}" for scope in OWNER_COLUMNS)}
"""


def _sessions_of(owner: Owner) -> str:
    """Common table expressions, behind others, that give the owner's sessions with a call in
    ``:start <= ts < :end``; none for everyone.
    """
    if owner == EVERYONE:
        return ""
    owner_column(owner[0])
    return f"""
      -- From the sessions of the window up: from the owner down it would grow with the history.
      , asked(session_id) as materialized (
        select distinct session_id
        from llm_calls
        where ts >= :start
          and ts < :end
      ),
      {TREE},
      sessions_of_owner(session_id) as materialized (
        select session_id
        from owners
        where {owner[0]} = :scope_id
      )
    """


def _of(owner: Owner) -> str:
    """The condition that a call is of the owner."""
    if owner == EVERYONE:
        return ""
    # The sign keeps the search to the times: a session at a time it would be one per span.
    return "and +call.session_id in (select session_id from sessions_of_owner)"


def _values(owner: Owner, start: str, end: str) -> dict[str, str]:
    return {"scope_id": owner[1], "start": start, "end": end}
