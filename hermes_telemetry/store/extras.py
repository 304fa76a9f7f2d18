"""What this project keeps beside the shared schema: price record, speed indexes, views.

It stands outside the schema versions and is made with IF NOT EXISTS; a ledger is right without it.
The price record says which rates made each cost: ``prices_used`` holds each distinct set of rates
once, ``llm_call_prices`` one small row a call.
"""

from __future__ import annotations

import sqlite3

from .locking import Begin, Transaction, begin_immediate

RATE_COLUMNS = ("input", "output", "cache_read", "cache_write", "reasoning", "request")

PRICE_KEY = ", ".join(
    # SQLite takes two NULLs as distinct in a unique index; -1 and '' cannot be real values here.
    ["basis", "coalesce(source, '')", "coalesce(matched_id, '')"]
    + [f"coalesce({column}, -1)" for column in RATE_COLUMNS]
    + ["coalesce(tier_from, -1)"]
)

_PRICE_RECORD = (
    """
    create table if not exists prices_used (
        id integer primary key autoincrement,
        basis text not null,
        source text,
        matched_id text,
        input real,
        output real,
        cache_read real,
        cache_write real,
        reasoning real,
        request real,
        tier_from integer,
        first_used_at text not null
    )
    """,
    f"create unique index if not exists idx_prices_used on prices_used ({PRICE_KEY})",
    """
    create table if not exists llm_call_prices (
        call_id integer primary key,
        price_id integer not null,
        reported_usd real,
        filled_at text
    )
    """,
)

SPEED_INDEXES = {
    "idx_speed_calls_ts": "llm_calls(ts, model, provider, cost_usd, tokens_in, tokens_out,"
    " cache_read_tokens, cache_write_tokens, latency_ms, session_id, estimated, provider_assumed)",
    "idx_speed_calls_session": "llm_calls(session_id, ts, cost_usd, estimated)",
    "idx_speed_tools_ts": "tool_calls(ts, tool_name, ok, latency_ms)",
    "idx_speed_errors_ts": "llm_call_errors(ts, model, provider, status_code)",
    "idx_speed_errors_group": "llm_call_errors(model, provider, status_code, ts)",
    "idx_speed_calls_model": "llm_calls(model, provider, ts, cost_usd)",
    # A call without a preset adds no row here, and few turns start a subagent.
    "idx_speed_calls_preset": "llm_calls(ts) where moa_preset > ''",
    "idx_speed_edges_started": "subagent_edges(started_at)",
    "idx_speed_edges_turn": "subagent_edges(parent_turn_id)",
    "idx_speed_runs_subagents": "runs(platform, started_at, session_id)"
    " where platform = 'subagent'",
}

_SUMS = """
    sum(cost_usd) as cost_usd,
    count(*) as calls,
    sum(cost_usd is null) as unpriced_calls,
    sum(tokens_in) as tokens_in,
    sum(tokens_out) as tokens_out,
    sum(cache_read_tokens) as cache_read_tokens,
    sum(cache_write_tokens) as cache_write_tokens,
    sum(reasoning_tokens) as reasoning_tokens,
    sum(latency_ms) as model_ms
"""

VIEWS = {
    # Beside min() SQLite takes a bare column from the row that holds the minimum: the session of
    # the first call, for a turn whose session was split under way.
    "turn_costs": f"""
        select turn_id, session_id, min(ts) as started_at, {_SUMS}
        from llm_calls
        where turn_id > ''
        group by turn_id
    """,
    "session_costs": f"""
        select session_id, min(ts) as started_at, max(ts) as last_call_at, {_SUMS}
        from llm_calls
        group by session_id
    """,
    # UTC days: a view may use no function that other SQLite shells lack.
    "daily_costs_utc": f"""
        select substr(ts, 1, 10) as day_utc, model, provider, {_SUMS}
        from llm_calls
        group by day_utc, model, provider
    """,
}


def names(conn: sqlite3.Connection) -> set[str]:
    """What is in a file: the names of its tables, indexes and views."""
    return {row[0] for row in conn.execute("select name from sqlite_master")}


def _run(
    conn: sqlite3.Connection,
    statements: list[str],
    begin: Begin,
) -> None:
    if not statements:
        return
    with Transaction(conn, begin):
        for statement in statements:
            conn.execute(statement)


def has_price_record(conn: sqlite3.Connection) -> bool:
    """False for a ledger that only other programs have written."""
    return names(conn) >= {"prices_used", "idx_prices_used", "llm_call_prices"}


def ensure_price_record(conn: sqlite3.Connection, begin: Begin = begin_immediate) -> None:
    """Create the two tables of the price record where they are missing (cheap)."""
    if not has_price_record(conn):
        _run(conn, list(_PRICE_RECORD), begin)


def ensure_speed(conn: sqlite3.Connection, begin: Begin = begin_immediate) -> None:
    """Create the speed indexes and the three export views where they are missing.

    On a ledger of a million calls the indexes take some seconds: one transaction for each.
    """
    present = names(conn)
    for name, target in SPEED_INDEXES.items():
        if name not in present:
            _run(conn, [f"create index if not exists {name} on {target}"], begin)
    _run(
        conn,
        [
            f"create view if not exists {name} as {body}"
            for name, body in VIEWS.items()
            if name not in present
        ],
        begin,
    )
