"""What a merge does with what hosts have found out: models that are free, or gone, and alerts.

Several may have found out the same. What says when is said by the first; what counts, by all.
"""

from __future__ import annotations

import sqlite3

from .merged import make_temporary


def merge_models(conn: sqlite3.Connection) -> None:
    """Free models since when the first host knew, first flips, and models that are gone."""
    conn.execute(
        """
        insert into main.known_free_models (model, provider, first_seen_at)
        select model, provider, first_seen_at
        from source.known_free_models
        where true
        order by rowid
        on conflict (model, provider) do update
        set first_seen_at = min(first_seen_at, excluded.first_seen_at)
        """
    )
    conn.execute(
        """
        insert into main.free_paid_transitions (
          model, provider, detected_at, session_id, first_paid_cost_usd, first_free_seen_at
        )
        select
          theirs.model,
          theirs.provider,
          theirs.detected_at,
          session.merged_as,
          theirs.first_paid_cost_usd,
          theirs.first_free_seen_at
        from source.free_paid_transitions as theirs
        left join temp.sessions as session on session.session_id = theirs.session_id
        where true
        order by theirs.rowid
        on conflict (model, provider) do update
        set detected_at = excluded.detected_at,
            session_id = excluded.session_id,
            first_paid_cost_usd = excluded.first_paid_cost_usd,
            first_free_seen_at = excluded.first_free_seen_at
        where excluded.detected_at < detected_at
        """
    )
    _merge_unavailable(conn)


def _merge_unavailable(conn: sqlite3.Connection) -> None:
    """Each ledger's count of a model's 404s goes in once; as it grows, what it has grown by."""
    make_temporary(
        conn,
        "occurrences",
        """
        ledger integer not null,
        model text not null,
        provider text not null,
        occurrences integer not null,
        more integer not null default 0,
        primary key (ledger, model, provider)
        """,
    )
    conn.execute(
        """
        insert into temp.occurrences (ledger, model, provider, occurrences)
        select origin.ledger, told.model, told.provider, sum(told.occurrences)
        from (
          select ledger as origin, model, provider, occurrences
          from source.merged_occurrences
          union all
          select 0, model, provider, occurrences - coalesce((
            select sum(occurrences)
            from source.merged_occurrences as part
            where part.model = whole.model
              and part.provider = whole.provider
          ), 0)
          from source.model_unavailable_alerts as whole
        ) as told
        join temp.origins as origin using (origin)
        group by origin.ledger, told.model, told.provider
        """
    )
    # The merged file's own count is in it; a backup of it has nothing to add.
    conn.execute(
        """
        update temp.occurrences as told
        set more = max(0, told.occurrences - coalesce((
          select occurrences
          from main.merged_occurrences
          where ledger = told.ledger
            and model = told.model
            and provider = told.provider
        ), 0))
        where ledger > 0
           or not exists (
             select 1
             from main.model_unavailable_alerts
             where model = told.model
               and provider = told.provider
           )
        """
    )
    conn.execute(
        """
        insert into main.model_unavailable_alerts (
          model, provider, error_code, error_message, first_seen_at, last_seen_at, occurrences
        )
        select
          theirs.model,
          theirs.provider,
          theirs.error_code,
          theirs.error_message,
          theirs.first_seen_at,
          theirs.last_seen_at,
          coalesce(sum(told.more), 0)
        from source.model_unavailable_alerts as theirs
        left join temp.occurrences as told
          on told.model = theirs.model
         and told.provider = theirs.provider
        group by theirs.model, theirs.provider
        order by theirs.rowid
        on conflict (model, provider) do update
        set first_seen_at = min(first_seen_at, excluded.first_seen_at),
            last_seen_at = max(last_seen_at, excluded.last_seen_at),
            occurrences = occurrences + excluded.occurrences
        """
    )
    conn.execute(
        """
        insert into main.merged_occurrences (ledger, model, provider, occurrences)
        select ledger, model, provider, occurrences
        from temp.occurrences
        where ledger > 0
        on conflict (ledger, model, provider) do update
        set occurrences = max(occurrences, excluded.occurrences)
        """
    )


def merge_alerts(conn: sqlite3.Connection) -> None:
    """One alert for each limit, window and level: that of the highest amount, for a host notes a
    limit again once it was raised, and of those the one that was fired first.
    """
    same = """
        ours.scope = theirs.scope
        and ours.scope_id = theirs.scope_id
        and ours.window = theirs.window
        and ours.period_key = theirs.period_key
        and ours.level = theirs.level
    """
    conn.execute(
        f"""
        update main.budget_alerts as ours
        set fired_at = theirs.fired_at,
            spent_usd = theirs.spent_usd,
            limit_usd = theirs.limit_usd
        from source.budget_alerts as theirs
        where {same}
          and (coalesce(theirs.limit_usd, -1), ours.fired_at)
            > (coalesce(ours.limit_usd, -1), theirs.fired_at)
        """
    )
    conn.execute(
        f"""
        insert into main.budget_alerts (
          scope, scope_id, window, period_key, level, fired_at, spent_usd, limit_usd
        )
        select scope, scope_id, window, period_key, level, fired_at, spent_usd, limit_usd
        from source.budget_alerts as theirs
        where not exists (select 1 from main.budget_alerts as ours where {same})
        order by id
        """
    )
