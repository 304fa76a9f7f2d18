"""What the ledger knows of prices: the host's tariffs, the models they are wanted for, and what
calls were priced at."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..windows import SYSTEM_CLOCK, Clock
from .extras import RATE_COLUMNS, has_price_record
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
    """A model at a provider as its calls have it. ``cost_usd`` is what the priced ones among
    ``calls`` were recorded at, None when none is.
    """

    model: str
    provider: str
    calls: int
    unpriced_calls: int
    cost_usd: float | None


@dataclass(frozen=True)
class SeenUsage:
    """The tokens of a pair's calls that are charged alike: ``alike`` is what they have in common.

    ``tokens_in`` excludes cache tokens, ``tokens_out`` includes reasoning. ``first_ts`` is the time
    of the first call, ``prompt_tokens`` the size of the smallest prompt, cache included.
    """

    model: str
    provider: str
    alike: str | None
    calls: int
    first_ts: str
    prompt_tokens: int
    tokens_in: int
    tokens_out: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True)
class ChargedPrice:
    """Calls of one model at one provider ('' if not known) that were recorded at the same price.

    ``rates``, and what follows ``basis``, are of the price record: None where the calls have none.
    Rates are USD per million tokens by name (``request`` per call), ``tier_from`` is the number of
    prompt tokens from which they hold. ``cost_usd`` is None for calls without a price.
    """

    rates: dict[str, float | None]
    provider: str
    calls: int
    cost_usd: float | None
    has_tokens: bool
    first_call: str
    last_call: str
    basis: str | None
    source: str | None
    matched_id: str | None
    tier_from: int | None


def charged_prices(
    conn: sqlite3.Connection, model: str, provider: str
) -> list[ChargedPrice] | None:
    """Every price that the calls of a model were recorded at, the one used first first; provider ''
    means every provider. Their case does not count, as in lookups of prices. None for a ledger
    without a price record.
    """
    if not has_price_record(conn):
        return None
    rates = ", ".join(f"price.{column}" for column in RATE_COLUMNS)
    return [
        ChargedPrice(dict(zip(RATE_COLUMNS, row, strict=False)), *row[len(RATE_COLUMNS) :])
        for row in conn.execute(
            f"""
            select
              {rates},
              coalesce(call.provider, '') as provider,
              count(*),
              sum(call.cost_usd),
              max(
                coalesce(call.tokens_in, 0)
                  + coalesce(call.tokens_out, 0)
                  + coalesce(call.cache_read_tokens, 0)
                  + coalesce(call.cache_write_tokens, 0)
              ) > 0,
              min(call.ts),
              max(call.ts),
              price.basis,
              price.source,
              price.matched_id,
              price.tier_from
            from llm_calls as call
            left join llm_call_prices as record on record.call_id = call.id
            left join prices_used as price on price.id = record.price_id
            -- The spellings first, which leaves the calls to the index.
            where call.model in (
                select distinct model
                from llm_calls
                where lower(trim(model)) = lower(trim(:model))
              )
              and lower(trim(:provider)) in ('', lower(trim(call.provider)))
            group by
              coalesce(call.provider, ''),
              price.id,
              call.cost_usd is null,
              -- Without a record a zero and a cost have different explanations.
              price.id is null and call.cost_usd = 0
            order by min(call.ts), provider, price.id
            """,
            {"model": model, "provider": provider},
        )
    ]


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
              sum(cost_usd)
            from llm_calls
            where model > ''
            group by model, coalesce(provider, '')
            order by count(*) desc, model, coalesce(provider, '')
            """
        )
    ]


def usage_seen(
    conn: sqlite3.Connection, alike: Callable[[str, str, str, int], str | None]
) -> list[SeenUsage]:
    """The tokens of every pair of `pairs_seen`, summed over the calls that are charged alike.

    ``alike`` is asked for each call: (model, provider, ts, prompt tokens) to what those that it is
    to be summed with have in common. It must not raise. Within a pair the earliest come first.
    """
    conn.create_function("charged_alike", 4, alike, deterministic=True)
    return [
        SeenUsage(*row)
        for row in conn.execute(
            """
            select
              model,
              provider,
              charged_alike(model, provider, ts, prompt_tokens) as alike,
              count(*),
              min(ts),
              min(prompt_tokens),
              sum(tokens_in),
              sum(tokens_out),
              sum(cache_read_tokens),
              sum(cache_write_tokens),
              -- Where there is more of it than output, a call is billed for its output alone.
              sum(case when reasoning_tokens > tokens_out then 0 else reasoning_tokens end)
            from (
              select
                model,
                coalesce(provider, '') as provider,
                ts,
                coalesce(tokens_in, 0) as tokens_in,
                coalesce(tokens_out, 0) as tokens_out,
                coalesce(cache_read_tokens, 0) as cache_read_tokens,
                coalesce(cache_write_tokens, 0) as cache_write_tokens,
                coalesce(reasoning_tokens, 0) as reasoning_tokens,
                coalesce(tokens_in, 0)
                  + coalesce(cache_read_tokens, 0)
                  + coalesce(cache_write_tokens, 0) as prompt_tokens
              from llm_calls
              where model > ''
            )
            group by model, provider, alike
            order by model, provider, min(ts)
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
