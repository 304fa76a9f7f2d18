"""The totals in ``runs`` against the calls they count.

A call and its run move in one transaction, so on a sound ledger they agree at any moment. Older
builds, merges by hand and rows deleted by hand break that.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A session whose run and calls disagree: USD, calls and tokens of all kinds, by each."""

    session_id: str
    run_usd: float
    calls_usd: float
    run_calls: int
    calls: int
    run_tokens: int
    calls_tokens: int


def differences(conn: sqlite3.Connection) -> list[Difference]:
    """Runs that differ from their calls by more than a nano-dollar, by a call or by a token of any
    kind, most expensive first.

    Calls without a run count as a run of nothing. One statement, so a recorder that writes
    meanwhile cannot make a difference appear.
    """
    return [
        Difference(*row)
        for row in conn.execute(
            """
            select
              session_id,
              sum(run_usd),
              sum(calls_usd),
              sum(run_calls),
              sum(calls),
              sum(run_in + run_out + run_read + run_written),
              sum(calls_in + calls_out + calls_read + calls_written)
            from (
              select
                session_id,
                coalesce(cost_usd, 0) as run_usd,
                0 as calls_usd,
                coalesce(api_calls, 0) as run_calls,
                0 as calls,
                coalesce(tokens_in, 0) as run_in,
                coalesce(tokens_out, 0) as run_out,
                coalesce(cache_read_tokens, 0) as run_read,
                coalesce(cache_write_tokens, 0) as run_written,
                0 as calls_in,
                0 as calls_out,
                0 as calls_read,
                0 as calls_written
              from runs
              union all
              select
                session_id,
                0,
                total(cost_usd),
                0,
                count(*),
                0,
                0,
                0,
                0,
                coalesce(sum(tokens_in), 0),
                coalesce(sum(tokens_out), 0),
                coalesce(sum(cache_read_tokens), 0),
                coalesce(sum(cache_write_tokens), 0)
              from llm_calls
              group by session_id
            )
            group by session_id
            having abs(sum(run_usd) - sum(calls_usd)) > 1e-9
                or sum(run_calls) <> sum(calls)
                or sum(run_in) <> sum(calls_in)
                or sum(run_out) <> sum(calls_out)
                or sum(run_read) <> sum(calls_read)
                or sum(run_written) <> sum(calls_written)
            order by abs(sum(run_usd) - sum(calls_usd)) desc, session_id
            """
        )
    ]


_CALLS = "from llm_calls where session_id = :session_id"


def recompute(conn: sqlite3.Connection, session_id: str) -> None:
    """Set what a run says of its model calls to what its calls say, in the caller's transaction.

    A session that has calls and no run gets one, begun with its first call. What ``runs`` says of
    tools, status and times is left alone.
    """
    session = {"session_id": session_id}
    conn.execute(
        f"""
        insert or ignore into runs (session_id, started_at, status)
        select session_id, min(ts), 'running'
        {_CALLS}
        group by session_id
        """,
        session,
    )
    conn.execute(
        f"""
        update runs
        set (cost_usd, api_calls, tokens_in, tokens_out, cache_read_tokens, cache_write_tokens,
             estimated_llm_calls, provider_assumed_calls, moa_calls) = (
          select
            total(cost_usd),
            count(*),
            coalesce(sum(tokens_in), 0),
            coalesce(sum(tokens_out), 0),
            coalesce(sum(cache_read_tokens), 0),
            coalesce(sum(cache_write_tokens), 0),
            coalesce(sum(estimated), 0),
            coalesce(sum(provider_assumed), 0),
            count(nullif(moa_preset, ''))
          {_CALLS}
        )
        where session_id = :session_id
        """,
        session,
    )
