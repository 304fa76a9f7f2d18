"""What a merge does beside bringing rows in: their prices, the runs' totals, the edges."""

from __future__ import annotations

import sqlite3

from .calls import PROXY_TOOL
from .extras import PRICE_KEY, RATE_COLUMNS
from .merged import make_temporary, shared_columns

_COUNTERS = (
    "api_calls",
    "tool_calls",
    "tokens_in",
    "tokens_out",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
    "estimated_llm_calls",
    "provider_assumed_calls",
    "moa_calls",
)


def take_prices(conn: sqlite3.Connection) -> None:
    """``temp.prices``: the row of ``prices_used`` in ``main`` for each (``at``) of the input's."""
    price = ["basis", "source", "matched_id", *RATE_COLUMNS, "tier_from"]
    same = f"""
        select id
        from main.prices_used
        where ({PRICE_KEY}) = (select {PRICE_KEY} from source.prices_used where id = theirs.id)
    """
    conn.execute(
        f"""
        insert into main.prices_used ({", ".join(price)}, first_used_at)
        select {", ".join(price)}, first_used_at
        from source.prices_used as theirs
        where not exists ({same})
        order by id
        """
    )
    make_temporary(conn, "prices", "at integer primary key, id integer not null")
    conn.execute(f"insert into temp.prices select id, ({same}) from source.prices_used as theirs")
    conn.execute(
        """
        update main.prices_used as ours
        set first_used_at = theirs.first_used_at
        from temp.prices as price
        join source.prices_used as theirs on theirs.id = price.at
        where price.id = ours.id
          and theirs.first_used_at < ours.first_used_at
        """
    )


def price_calls(conn: sqlite3.Connection) -> None:
    """The price record of new calls, and the price that a known call has been given since; which
    those are is in ``temp.priced``.
    """
    make_temporary(
        conn,
        "priced",
        "id integer primary key, at integer not null, cost_usd real not null, assumed integer,"
        " newly_assumed integer not null",
    )
    conn.execute(
        """
        insert into temp.priced
        select
          place.id,
          place.at,
          theirs.cost_usd,
          theirs.provider_assumed,
          coalesce(theirs.provider_assumed, 0) - coalesce(ours.provider_assumed, 0)
        from temp.places_llm_calls as place
        join main.llm_calls as ours on ours.id = place.id
        join source.llm_calls as theirs on theirs.id = place.at
        where place.known
          and ours.cost_usd is null
          and theirs.cost_usd is not null
        """
    )
    conn.execute(
        """
        update main.llm_calls as ours
        set cost_usd = priced.cost_usd,
            provider_assumed = priced.assumed
        from temp.priced as priced
        where priced.id = ours.id
        """
    )
    conn.execute(
        """
        insert or replace into main.llm_call_prices (call_id, price_id, reported_usd, filled_at)
        select place.id, price.id, record.reported_usd, record.filled_at
        from temp.places_llm_calls as place
        join source.llm_call_prices as record on record.call_id = place.at
        join temp.prices as price on price.at = record.price_id
        where not place.known
           or place.id in (select id from temp.priced)
        """
    )


def merge_runs(conn: sqlite3.Connection) -> None:
    """New runs as they are; known ones learn of the rows that came in, and how they ended."""
    _sum_up_news(conn)
    columns = shared_columns(conn, "runs")
    written = {
        "session_id": "session.merged_as",
        "parent_session_id": "coalesce(parent.merged_as, theirs.parent_session_id)",
    }
    conn.execute(
        f"""
        insert or ignore into main.runs ({", ".join(columns)})
        select {", ".join(written.get(column, f"theirs.{column}") for column in columns)}
        from source.runs as theirs
        join temp.sessions as session on session.session_id = theirs.session_id
        left join temp.sessions as parent on parent.session_id = theirs.parent_session_id
        order by theirs.rowid
        """
    )
    conn.execute(
        f"""
        update main.runs as ours
        set {", ".join(f"{name} = coalesce(ours.{name}, 0) + news.{name}" for name in _COUNTERS)}
        from temp.news as news
        where news.session_id = ours.session_id
        """
    )
    # Of two copies the one with the newer rows, else with the later end, knows how it went on; an
    # older backup must not end a run that has gone on since.
    conn.execute(
        """
        update main.runs as ours
        set platform = coalesce(nullif(ours.platform, ''), theirs.platform),
            cron_job_id = coalesce(nullif(ours.cron_job_id, ''), theirs.cron_job_id),
            sender_id = coalesce(nullif(ours.sender_id, ''), theirs.sender_id),
            profile = coalesce(nullif(ours.profile, ''), theirs.profile),
            started_at = min(ours.started_at, theirs.started_at),
            model = iif(theirs.newer, coalesce(nullif(theirs.model, ''), ours.model), ours.model),
            provider = iif(
              theirs.newer, coalesce(nullif(theirs.provider, ''), ours.provider), ours.provider
            ),
            status = iif(theirs.newer, theirs.status, ours.status),
            ended_at = iif(theirs.newer, theirs.ended_at, ours.ended_at),
            duration_ms = iif(theirs.newer, theirs.duration_ms, ours.duration_ms)
        from (
          select
            run.*,
            session.merged_as,
            news.events > 0 or coalesce(run.ended_at, '') > coalesce(former.ended_at, '') as newer
          from source.runs as run
          join temp.sessions as session on session.session_id = run.session_id
          join main.runs as former on former.session_id = session.merged_as
          left join temp.news as news on news.session_id = session.merged_as
        ) as theirs
        where theirs.merged_as = ours.session_id
        """
    )


def _sum_up_news(conn: sqlite3.Connection) -> None:
    """``temp.news``: by session of ``main`` that has a run there already, what the rows add to it
    that were not known.
    """
    make_temporary(
        conn,
        "news",
        "session_id text primary key, events integer, "
        + ", ".join(f"{name} numeric" for name in _COUNTERS),
    )
    conn.execute(
        f"""
        insert into temp.news (session_id, events, {", ".join(_COUNTERS)})
        select
          event.session_id,
          sum(is_new),
          {", ".join(f"sum(event.{name})" for name in _COUNTERS)}
        from (
          select
            ours.session_id,
            1 as is_new,
            1 as api_calls,
            0 as tool_calls,
            coalesce(tokens_in, 0) as tokens_in,
            coalesce(tokens_out, 0) as tokens_out,
            coalesce(cache_read_tokens, 0) as cache_read_tokens,
            coalesce(cache_write_tokens, 0) as cache_write_tokens,
            coalesce(cost_usd, 0) as cost_usd,
            coalesce(estimated, 0) as estimated_llm_calls,
            coalesce(provider_assumed, 0) as provider_assumed_calls,
            coalesce(moa_preset, '') > '' as moa_calls
          from temp.places_llm_calls as place
          join main.llm_calls as ours on ours.id = place.id
          where not place.known
          union all
          select ours.session_id, 0, 0, 0, 0, 0, 0, 0, priced.cost_usd, 0, newly_assumed, 0
          from temp.priced as priced
          join main.llm_calls as ours on ours.id = priced.id
          union all
          select ours.session_id, 1, 0, ours.tool_name <> ?, 0, 0, 0, 0, 0, 0, 0, 0
          from temp.places_tool_calls as place
          join main.tool_calls as ours on ours.id = place.id
          where not place.known
          union all
          select ours.session_id, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
          from temp.places_llm_call_errors as place
          join main.llm_call_errors as ours on ours.id = place.id
          where not place.known
        ) as event
        join main.runs as run on run.session_id = event.session_id
        group by event.session_id
        """,
        (PROXY_TOOL,),
    )


def merge_edges(conn: sqlite3.Connection) -> None:
    """New edges; a known one learns what it lacks, its end above all."""
    open_ones = (
        "parent_turn_id",
        "parent_subagent_id",
        "child_subagent_id",
        "child_role",
        "stopped_at",
        "child_status",
    )
    conn.execute(
        f"""
        insert into main.subagent_edges (
          child_session_id, parent_session_id, started_at, {", ".join(open_ones)}
        )
        select
          child.merged_as,
          parent.merged_as,
          theirs.started_at,
          coalesce(turn.merged_as, theirs.parent_turn_id),
          {", ".join(f"theirs.{column}" for column in open_ones[1:])}
        from source.subagent_edges as theirs
        join temp.sessions as child on child.session_id = theirs.child_session_id
        join temp.sessions as parent on parent.session_id = theirs.parent_session_id
        left join temp.turns as turn on turn.turn_id = theirs.parent_turn_id
        where true
        order by theirs.rowid
        on conflict (child_session_id) do update
        set {", ".join(f"{c} = coalesce(nullif({c}, ''), excluded.{c})" for c in open_ones)}
        """
    )
