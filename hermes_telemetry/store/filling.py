"""Prices for calls that were recorded without one.

Row, run total and price record move in one transaction, and only rows without a cost are touched:
what a call was once said to have cost does not change behind anyone's back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..windows import SYSTEM_CLOCK, Clock, timestamp
from .calls import price_id
from .locking import CHUNK_ROWS, Transaction, begin_patiently


@dataclass(frozen=True)
class UnpricedCall:
    """A call whose cost is not known. ``tokens_in`` excludes cache tokens, ``tokens_out`` includes
    reasoning; counts that an older file lacks are 0.
    """

    id: int
    session_id: str
    ts: str
    model: str
    provider: str
    tokens_in: int
    tokens_out: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    provider_assumed: int


@dataclass(frozen=True)
class Filling:
    """What a call is to cost in USD, and the rates that make it (``Price.record()``)."""

    call: UnpricedCall
    cost_usd: float
    price: Mapping[str, Any]


def unpriced_calls(conn: sqlite3.Connection, since: str = "") -> Iterator[list[UnpricedCall]]:
    """Calls without a cost from ``since`` (a 19-character UTC bound) on, a thousand at a time.

    Walked by id, so calls may be filled between two lots. Calls without a model are left out:
    nothing can price them.
    """
    last_id = 0
    while True:
        calls = [
            UnpricedCall(*row)
            for row in conn.execute(
                """
                select
                  id,
                  session_id,
                  ts,
                  model,
                  coalesce(provider, ''),
                  coalesce(tokens_in, 0),
                  coalesce(tokens_out, 0),
                  coalesce(cache_read_tokens, 0),
                  coalesce(cache_write_tokens, 0),
                  coalesce(reasoning_tokens, 0),
                  coalesce(provider_assumed, 0)
                from llm_calls
                where id > ?
                  and cost_usd is null
                  and model > ''
                  and ts >= ?
                order by id
                limit ?
                """,
                (last_id, since, CHUNK_ROWS),
            )
        ]
        if not calls:
            return
        yield calls
        last_id = calls[-1].id


def fill(
    conn: sqlite3.Connection, fillings: Sequence[Filling], clock: Clock = SYSTEM_CLOCK
) -> list[Filling]:
    """Write the costs of calls that still have none, in one transaction; those that were written.

    At most a thousand at a time. Waits up to 30 s for the lock; raises sqlite3.Error, and nothing
    is written then.
    """
    if not fillings:
        return []
    ts = timestamp(clock.now())
    with Transaction(conn, begin_patiently(clock)):
        return [filling for filling in fillings if _fill(conn, filling, ts)]


def _fill(conn: sqlite3.Connection, filling: Filling, ts: str) -> bool:
    call, cost = filling.call, filling.cost_usd
    assumed = int(filling.price["basis"] == "assumed")
    cursor = conn.execute(
        """
        update llm_calls
        set cost_usd = ?,
            provider_assumed = ?
        where id = ?
          and cost_usd is null
        """,
        (cost, assumed, call.id),
    )
    if not cursor.rowcount:
        return False
    conn.execute(
        """
        update runs
        set cost_usd = coalesce(cost_usd, 0) + ?,
            provider_assumed_calls = coalesce(provider_assumed_calls, 0) + ?
        where session_id = ?
        """,
        (cost, assumed - call.provider_assumed, call.session_id),
    )
    conn.execute(
        """
        insert into llm_call_prices (call_id, price_id, filled_at)
        values (?, ?, ?)
        on conflict (call_id) do update
        set price_id = excluded.price_id,
            filled_at = excluded.filled_at
        """,
        (call.id, price_id(conn, filling.price, ts), ts),
    )
    return True
