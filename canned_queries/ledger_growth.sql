/*
title: How the ledger grows
description: >-
  The rows added to each table in each of the newest local months, this one included, and the oldest
  row of the table. Empty tables are left out. Rows that a recorder replaces count in the month in
  which they were added. The price record is not listed: it has one small row per call.
parameters:
  months: {kind: number, default: "6"}
units:
  month: text
  rows: count
  table_name: text
  oldest_at: utc
chart:
  mark: bar
  x: month
  x_type: ordinal
  y: rows
  y_type: quantitative
  color: table_name
*/
with recursive
  -- The last day that has begun: the bound's own date is that of UTC.
  today(day) as materialized (
    select max(day)
    from (
      select date(substr(began, 1, 10), step || ' days') as day, began
      from (select window_start_utc('', '', 1, telemetry_zone()) as began)
      cross join (select -1 as step union all select 0 union all select 1)
    )
    where day_start_utc(day, telemetry_zone()) <= began
  ),
  firsts(day, n) as (
    select date(day, 'start of month'), 1
    from today
    union all
    select date(day, '-1 month'), n + 1
    from firsts
    where n < cast(coalesce(nullif(:months, ''), 6) as integer)
      -- No ledger is older, and some months of ancient times SQLite gets wrong.
      and day > '2000'
  ),
  -- Materialized: the function runs once a month, not once a row.
  months(month, start_utc, stop_utc) as materialized (
    select
      substr(day, 1, 7),
      day_start_utc(day, telemetry_zone()),
      day_start_utc(date(day, '+1 month'), telemetry_zone())
    from firsts
  ),
  growth(month, rows, table_name, oldest_at) as (
    select
      months.month,
      (
        select count(*)
        from runs
        where started_at >= start_utc
          and started_at < stop_utc
      ),
      'runs',
      (select min(started_at) from runs)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from llm_calls
        where ts >= start_utc
          and ts < stop_utc
      ),
      'llm_calls',
      (select min(ts) from llm_calls)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from tool_calls
        where ts >= start_utc
          and ts < stop_utc
      ),
      'tool_calls',
      (select min(ts) from tool_calls)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from llm_call_errors
        where ts >= start_utc
          and ts < stop_utc
      ),
      'llm_call_errors',
      (select min(ts) from llm_call_errors)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from subagent_edges
        where started_at >= start_utc
          and started_at < stop_utc
      ),
      'subagent_edges',
      (select min(started_at) from subagent_edges)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from pricing_snapshots
        where captured_at >= start_utc
          and captured_at < stop_utc
      ),
      'pricing_snapshots',
      (select min(captured_at) from pricing_snapshots)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from budget_alerts
        where fired_at >= start_utc
          and fired_at < stop_utc
      ),
      'budget_alerts',
      (select min(fired_at) from budget_alerts)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from known_free_models
        where first_seen_at >= start_utc
          and first_seen_at < stop_utc
      ),
      'known_free_models',
      (select min(first_seen_at) from known_free_models)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from free_paid_transitions
        where detected_at >= start_utc
          and detected_at < stop_utc
      ),
      'free_paid_transitions',
      (select min(detected_at) from free_paid_transitions)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from model_unavailable_alerts
        where first_seen_at >= start_utc
          and first_seen_at < stop_utc
      ),
      'model_unavailable_alerts',
      (select min(first_seen_at) from model_unavailable_alerts)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from endpoint_payload_cache
        where built_at >= start_utc
          and built_at < stop_utc
      ),
      'endpoint_payload_cache',
      (select min(built_at) from endpoint_payload_cache)
    from months
    union all
    select
      months.month,
      (
        select count(*)
        from model_efficiency_cache
        where built_at >= start_utc
          and built_at < stop_utc
      ),
      'model_efficiency_cache',
      (select min(built_at) from model_efficiency_cache)
    from months
  )
select month, rows, table_name, oldest_at
from growth
where oldest_at is not null
order by month desc, rows desc, table_name
