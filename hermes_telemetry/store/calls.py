"""Writes of model calls, failed attempts and tool calls. Each runs inside the caller's
transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from .extras import PRICE_KEY, RATE_COLUMNS
from .runs import _ensure_run_row, end_run

PROXY_TOOL = "delegate_task/subagent"
"""The tool row that stands for a finished subagent; the host reports the delegate_task call
itself too.
"""

MESSAGE_LIMIT = 500
"""Characters of an error message that are kept."""

_PRICE_KEYS = ("basis", "source", "matched_id", *RATE_COLUMNS, "tier_from")


def price_id(conn: sqlite3.Connection, price: Mapping[str, Any], ts: str) -> int:
    """The row of ``prices_used`` for these rates (USD per million tokens), made on first use."""
    key = tuple(map(price.get, _PRICE_KEYS))
    cache: dict[tuple[Any, ...], int] = getattr(conn, "price_ids", {})
    known = cache.get(key)
    if known is not None:
        return known
    wanted = ", ".join(
        ["?", "coalesce(?, '')", "coalesce(?, '')"] + ["coalesce(?, -1)"] * (len(RATE_COLUMNS) + 1)
    )
    select = f"select id from prices_used where ({PRICE_KEY}) = ({wanted})"
    row = conn.execute(select, key).fetchone()
    if row is None:
        cursor = conn.execute(
            f"""
            insert into prices_used
              (basis, source, matched_id, {", ".join(RATE_COLUMNS)}, tier_from, first_used_at)
            values ({", ".join("?" * (len(key) + 1))})
            """,
            (*key, ts),
        )
        row = (cursor.lastrowid,)
    cache[key] = row[0]
    return int(row[0])


_TWIN = "select 1 from llm_calls where turn_id = ? and api_request_id = ?"
# Not a condition of the insert: that would have SQLite pass the row through a temporary table.

_INSERT_CALL = """
    insert into llm_calls (
        session_id, ts, model, provider, tokens_in, tokens_out, cost_usd, latency_ms,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated,
        provider_assumed, moa_preset, turn_id, task_id, api_request_id
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_COUNT_CALL = """
    update runs
    set tokens_in = coalesce(tokens_in, 0) + ?1,
        tokens_out = coalesce(tokens_out, 0) + ?2,
        cache_read_tokens = coalesce(cache_read_tokens, 0) + ?3,
        cache_write_tokens = coalesce(cache_write_tokens, 0) + ?4,
        cost_usd = coalesce(cost_usd, 0) + coalesce(?5, 0),
        api_calls = coalesce(api_calls, 0) + 1,
        estimated_llm_calls = coalesce(estimated_llm_calls, 0) + ?6,
        provider_assumed_calls = coalesce(provider_assumed_calls, 0) + ?7,
        moa_calls = coalesce(moa_calls, 0) + ?8,
        model = iif(coalesce(api_calls, 0) = 0, coalesce(?9, model), model),
        provider = iif(coalesce(api_calls, 0) = 0, coalesce(?10, provider), provider),
        status = iif(?11 and status = 'error', 'running', status),
        ended_at = iif(?11 and status = 'error', null, ended_at),
        duration_ms = iif(?11 and status = 'error', null, duration_ms)
    where session_id = ?12
"""


def record_llm_call(
    conn: sqlite3.Connection,
    *,
    session_id: str,
    ts: str,
    model: str | None,
    provider: str | None,
    tokens_in: int,
    tokens_out: int,
    cache_read_tokens: int,
    cache_write_tokens: int,
    reasoning_tokens: int,
    cost_usd: float | None,
    latency_ms: int | None,
    estimated: int = 0,
    provider_assumed: int = 0,
    moa_preset: str | None = None,
    turn_id: str | None = None,
    task_id: str | None = None,
    api_request_id: str | None = None,
    price: Mapping[str, Any] | None = None,
    reopen: bool = True,
) -> int | None:
    """One answered model call: its row, its price record and the run's counters; the call's id.

    tokens_in excludes cache tokens, tokens_out includes reasoning. ``cost_usd`` None = no price
    known; the run's total does not move then. ``price`` names the rates (``Price.record()``). With
    ``reopen`` a run in error is running again: the session went on. Returns None, and changes
    nothing, for a call that is already there (same turn_id and api_request_id).

    The session's first call decides its run's model and provider, both at once: what a session was
    started with may be a preset or a model that a fallback has replaced.
    """
    if turn_id and api_request_id and conn.execute(_TWIN, (turn_id, api_request_id)).fetchone():
        return None
    call_id = conn.execute(
        _INSERT_CALL,
        (
            session_id,
            ts,
            model,
            provider,
            tokens_in,
            tokens_out,
            cost_usd,
            latency_ms,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
            estimated,
            provider_assumed,
            moa_preset,
            turn_id,
            task_id,
            api_request_id,
        ),
    ).lastrowid
    if price is not None:
        conn.execute(
            "insert into llm_call_prices (call_id, price_id) values (?, ?)",
            (call_id, price_id(conn, price, ts)),
        )
    counted = (
        tokens_in,
        tokens_out,
        cache_read_tokens,
        cache_write_tokens,
        cost_usd,
        estimated,
        provider_assumed,
        1 if moa_preset else 0,
        model,
        provider,
        reopen,
        session_id,
    )
    # Nearly every call's run is there: looking first would cost each of them a statement.
    if not conn.execute(_COUNT_CALL, counted).rowcount:
        _ensure_run_row(conn, session_id, ts)
        conn.execute(_COUNT_CALL, counted)
    return call_id


def record_tool_call(
    conn: sqlite3.Connection,
    *,
    session_id: str,
    ts: str,
    tool_name: str,
    ok: int,
    latency_ms: int | None,
    turn_id: str | None = None,
    tool_call_id: str | None = None,
) -> None:
    """One finished tool call (``ok`` 0 or 1). The proxy row of a subagent moves no counter."""
    _ensure_run_row(conn, session_id, ts)
    conn.execute(
        """
        insert into tool_calls (session_id, ts, tool_name, ok, latency_ms, turn_id, tool_call_id)
        values (?, ?, ?, ?, ?, ?, ?)
        """,
        (session_id, ts, tool_name, ok, latency_ms, turn_id, tool_call_id),
    )
    if tool_name != PROXY_TOOL:
        conn.execute(
            "update runs set tool_calls = coalesce(tool_calls, 0) + 1 where session_id = ?",
            (session_id,),
        )


def record_llm_call_error(
    conn: sqlite3.Connection,
    *,
    session_id: str,
    ts: str,
    turn_id: str | None = None,
    task_id: str | None = None,
    api_request_id: str | None = None,
    model: str = "",
    provider: str = "",
    status_code: int | None = None,
    error_type: str = "",
    error_message: str = "",
    reason: str = "",
    retryable: int | None = None,
    retry_count: int | None = None,
    max_retries: int | None = None,
    duration_ms: int | None = None,
    final: bool = False,
) -> None:
    """One failed attempt, never merged with another; the message is cut to 500 characters here.

    ``final``: no attempt follows, so the run ends in error (the host then fires no session end).
    """
    _ensure_run_row(conn, session_id, ts)
    conn.execute(
        """
        insert into llm_call_errors (
            session_id, ts, turn_id, task_id, api_request_id, model, provider, status_code,
            error_type, error_message, reason, retryable, retry_count, max_retries, duration_ms
        ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            session_id,
            ts,
            turn_id,
            task_id,
            api_request_id,
            model,
            provider,
            status_code,
            error_type,
            error_message[:MESSAGE_LIMIT],
            reason,
            retryable,
            retry_count,
            max_retries,
            duration_ms,
        ),
    )
    if final:
        end_run(conn, session_id=session_id, ts=ts, status="error")
