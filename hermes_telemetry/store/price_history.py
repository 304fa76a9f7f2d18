"""What the ledger knows of prices: the host's tariffs, and the models they are wanted for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..windows import SYSTEM_CLOCK, Clock
from .locking import Transaction, begin_patiently
from .models import record_pricing_snapshot

Snapshot = dict[str, str | float | None]
"""A row of ``pricing_snapshots`` without its id, by column name."""

SNAPSHOT_COLUMNS = (
    "provider",
    "model",
    "input_cost_per_million",
    "output_cost_per_million",
    "cache_read_cost_per_million",
    "cache_write_cost_per_million",
    "request_cost",
    "source",
    "source_url",
    "pricing_version",
    "fetched_at",
    "captured_at",
    "base_url",
    "api_mode",
    "resolved_model",
)


@dataclass(frozen=True)
class SeenPair:
    """A model at a provider as its calls have it, with the sums of their tokens and costs.

    ``tokens_in`` excludes cache tokens, ``tokens_out`` includes reasoning; ``cost_usd`` is what
    the priced ones among ``calls`` were recorded at, None when none is.
    """

    model: str
    provider: str
    calls: int
    unpriced_calls: int
    cost_usd: float | None
    tokens_in: int
    tokens_out: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


def pairs_seen(conn: sqlite3.Connection) -> list[SeenPair]:
    """Every (model, provider) that calls were made on, the one with most calls first.

    A provider that is not known is ''. Calls without a model are left out.
    """
    return [
        SeenPair(*row)
        for row in conn.execute(
            """
            select
              model,
              coalesce(provider, ''),
              count(*),
              count(*) - count(cost_usd),
              sum(cost_usd),
              coalesce(sum(tokens_in), 0),
              coalesce(sum(tokens_out), 0),
              coalesce(sum(cache_read_tokens), 0),
              coalesce(sum(cache_write_tokens), 0),
              coalesce(sum(reasoning_tokens), 0)
            from llm_calls
            where model > ''
            group by model, coalesce(provider, '')
            order by count(*) desc, model, coalesce(provider, '')
            """
        )
    ]


def newest_snapshots(conn: sqlite3.Connection) -> list[Snapshot]:
    """The host's newest tariff of every (provider, model), by name."""
    rows = conn.execute(
        f"""
        select {", ".join(SNAPSHOT_COLUMNS)}
        from (
          select
            *,
            row_number() over (
              partition by provider, model order by captured_at desc, id desc
            ) as place
          from pricing_snapshots
        )
        where place = 1
        order by model, provider
        """
    )
    return [dict(zip(SNAPSHOT_COLUMNS, row, strict=True)) for row in rows]


def all_snapshots(conn: sqlite3.Connection) -> list[Snapshot]:
    """Every tariff of the host that was kept, the oldest first."""
    rows = conn.execute(
        f"select {', '.join(SNAPSHOT_COLUMNS)} from pricing_snapshots order by captured_at, id"
    )
    return [dict(zip(SNAPSHOT_COLUMNS, row, strict=True)) for row in rows]


def record_snapshots(
    conn: sqlite3.Connection, snapshots: Iterable[Mapping[str, Any]], clock: Clock = SYSTEM_CLOCK
) -> int:
    """Add tariffs of the host in one transaction; how many of them were news.

    Waits up to 30 s for the lock. Raises sqlite3.Error, and nothing is written then.
    """
    with Transaction(conn, begin_patiently(clock)):
        return sum(record_pricing_snapshot(conn, **snapshot) for snapshot in snapshots)
