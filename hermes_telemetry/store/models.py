"""Writes about models: gone at the provider, free, no longer free, and what the host charges.

Each runs inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3

from .calls import MESSAGE_LIMIT


def record_model_unavailable(
    conn: sqlite3.Connection,
    *,
    model: str,
    provider: str,
    error_code: int,
    error_message: str,
    ts: str,
) -> None:
    """The provider says a model is gone (404); a repeat raises occurrences and last_seen_at only.

    The message is cut to 500 characters.
    """
    conn.execute(
        """
        insert into model_unavailable_alerts
          (model, provider, error_code, error_message, first_seen_at, last_seen_at)
        values (?, ?, ?, ?, ?, ?)
        on conflict (model, provider) do update
        set last_seen_at = max(last_seen_at, excluded.last_seen_at),
            occurrences = occurrences + 1
        """,
        (model, provider, error_code, error_message[:MESSAGE_LIMIT], ts, ts),
    )


def record_free_model(conn: sqlite3.Connection, *, model: str, provider: str, ts: str) -> None:
    """A model is known to be free at a provider ('' = at any); the first time seen stays."""
    conn.execute(
        "insert or ignore into known_free_models (model, provider, first_seen_at) values (?, ?, ?)",
        (model, provider, ts),
    )


_KNOWN_FREE = """
    select min(first_seen_at)
    from known_free_models
    where lower(model) = lower(:model)
      and lower(provider) in (lower(:provider), '')
"""

_RENAMED_FREE = """
    select min(first_seen_at)
    from known_free_models as free
    where provider <> ''
      and lower(provider) = lower(:provider)
      and substr(lower(free.model), -5) = ':free'
      and substr(lower(:model), -5) <> ':free'
      and length(free.model) > 5
      and substr(lower(:model), 1, length(free.model) - 5) || ':free' = lower(free.model)
      and substr(:model, length(free.model) - 4, 1) in ('', '-', ':', '/', '_')
"""


def is_known_free_model(conn: sqlite3.Connection, model: str, provider: str) -> str | None:
    """Since when this id is known to be free at a provider or at any; None when it is not."""
    return _since(conn, _KNOWN_FREE, model, provider)


def is_free_tier_transition(conn: sqlite3.Connection, model: str, provider: str) -> str | None:
    """Since when a ``:free`` id is known whose model a provider may now call ``model``: the same
    without ``:free``, or with more behind one of ``- : / _``. None when there is none.

    Only a free call at this very provider tells of a rename there.
    """
    return _since(conn, _RENAMED_FREE, model, provider)


_FREE_SO_FAR = f"select coalesce(({_KNOWN_FREE}), ({_RENAMED_FREE}))"


def _free_so_far(conn: sqlite3.Connection, model: str, provider: str) -> str | None:
    """Since when a model or the one that it renames is known to be free.

    Asked at every call that costs something, so a no is remembered until the table has grown.
    """
    grown_to = conn.execute("select count(*), max(rowid) from known_free_models").fetchone()
    not_free: dict[tuple[str, str], tuple[int, int | None]] = getattr(conn, "not_free", {})
    if not_free.get((model, provider)) == grown_to:
        return None
    since = _since(conn, _FREE_SO_FAR, model, provider)
    if since is None:
        not_free[model, provider] = grown_to
    return since


def _since(conn: sqlite3.Connection, question: str, model: str, provider: str) -> str | None:
    row = conn.execute(question, {"model": model, "provider": provider}).fetchone()
    since: str | None = row[0]
    return since


def was_paid_before(conn: sqlite3.Connection, model: str, provider: str, ts: str) -> bool:
    """True when a call of this model at this provider had cost something before ``ts``: what
    costs then as it did is no news. Another source's price, assumed, is no such call.
    """
    row = conn.execute(
        """
        select 1
        from llm_calls
        where ts < ?
          and lower(model) = lower(?)
          and lower(coalesce(provider, '')) = lower(?)
          and cost_usd > 0
          and coalesce(provider_assumed, 0) = 0
        order by ts desc
        limit 1
        """,
        (ts, model, provider),
    ).fetchone()
    return row is not None


def newest_free_basis(conn: sqlite3.Connection, model: str, provider: str) -> str | None:
    """Why the newest call of a model at $0 cost nothing: the basis of its price record.

    None when there is no such call, or it has no record.
    """
    row = conn.execute(
        """
        select price.basis
        from llm_calls as call
        left join llm_call_prices as record on record.call_id = call.id
        left join prices_used as price on price.id = record.price_id
        where call.model = ?
          and call.provider is nullif(?, '')
          and call.cost_usd = 0
        order by call.ts desc
        limit 1
        """,
        (model, provider),
    ).fetchone()
    return None if row is None else row[0]


def note_paid_call(
    conn: sqlite3.Connection,
    *,
    model: str,
    provider: str,
    session_id: str,
    cost_usd: float,
    ts: str,
) -> str | None:
    """A call has cost something: if its model was free, the transition is recorded.

    Returns 'free', or 'declared' where the model was free by the user's own declaration, for the
    first such call of the model; None for all others.
    """
    since = _free_so_far(conn, model, provider)
    if since is None or _has_flipped(conn, model, provider):
        return None
    if was_paid_before(conn, model, provider, since):
        return None
    record_free_paid_transition(
        conn,
        model=model,
        provider=provider,
        session_id=session_id,
        first_paid_cost_usd=cost_usd,
        first_free_seen_at=since,
        ts=ts,
    )
    return "declared" if newest_free_basis(conn, model, provider) == "declared" else "free"


def record_free_paid_transition(
    conn: sqlite3.Connection,
    *,
    model: str,
    provider: str,
    session_id: str | None,
    first_paid_cost_usd: float,
    first_free_seen_at: str | None,
    ts: str,
) -> bool:
    """A call of a model that was free has cost something; True when it is the first such call.

    Later ones change nothing, nor do those of the same id in another case.
    """
    if _has_flipped(conn, model, provider):
        return False
    cursor = conn.execute(
        """
        insert or ignore into free_paid_transitions
          (model, provider, detected_at, session_id, first_paid_cost_usd, first_free_seen_at)
        values (?, ?, ?, ?, ?, ?)
        """,
        (model, provider, ts, session_id, first_paid_cost_usd, first_free_seen_at),
    )
    return cursor.rowcount == 1


def _has_flipped(conn: sqlite3.Connection, model: str, provider: str) -> bool:
    row = conn.execute(
        """
        select 1
        from free_paid_transitions
        where lower(model) = lower(?)
          and lower(provider) = lower(?)
        """,
        (model, provider),
    ).fetchone()
    return row is not None


SNAPSHOT_NEWS = (
    "input_cost_per_million",
    "output_cost_per_million",
    "cache_read_cost_per_million",
    "cache_write_cost_per_million",
    "request_cost",
    "source",
    "pricing_version",
)
"""The columns that make a tariff another one than the newest of its model and provider."""

_NEWS_OF_A_TARIFF = f"""
    insert into pricing_snapshots (
        provider, model, input_cost_per_million, output_cost_per_million,
        cache_read_cost_per_million, cache_write_cost_per_million, request_cost,
        source, source_url, pricing_version, fetched_at, captured_at, base_url, api_mode,
        resolved_model
    )
    select
        :provider, :model, :input_cost_per_million, :output_cost_per_million,
        :cache_read_cost_per_million, :cache_write_cost_per_million, :request_cost,
        :source, :source_url, :pricing_version, :fetched_at, :captured_at, :base_url, :api_mode,
        :resolved_model
    where not exists (
        select 1
        from (
            select *
            from pricing_snapshots
            where provider = :provider
              and model = :model
            order by id desc
            limit 1
        )
        where {" and ".join(f"{column} is :{column}" for column in SNAPSHOT_NEWS)}
    )
"""


def record_pricing_snapshot(
    conn: sqlite3.Connection,
    *,
    provider: str,
    model: str,
    input_cost_per_million: float | None,
    output_cost_per_million: float | None,
    cache_read_cost_per_million: float | None,
    cache_write_cost_per_million: float | None,
    request_cost: float | None,
    source: str | None,
    source_url: str | None,
    pricing_version: str | None,
    fetched_at: str | None,
    captured_at: str,
    base_url: str | None,
    api_mode: str | None,
    resolved_model: str | None,
) -> bool:
    """The host's tariff for a model (USD per million tokens, per request); True when it is news.

    Nothing is written where rates, source and version are those of the pair's newest row.
    """
    fields = {
        "provider": provider,
        "model": model,
        "input_cost_per_million": input_cost_per_million,
        "output_cost_per_million": output_cost_per_million,
        "cache_read_cost_per_million": cache_read_cost_per_million,
        "cache_write_cost_per_million": cache_write_cost_per_million,
        "request_cost": request_cost,
        "source": source,
        "source_url": source_url,
        "pricing_version": pricing_version,
        "fetched_at": fetched_at,
        "captured_at": captured_at,
        "base_url": base_url,
        "api_mode": api_mode,
        "resolved_model": resolved_model,
    }
    cursor = conn.execute(_NEWS_OF_A_TARIFF, fields)
    return cursor.rowcount == 1
