/*
title: Run totals against calls
description: >-
  Sessions started in the window whose totals in runs differ from the sum of their calls, by more
  than a nano-dollar or by a call. On a sound ledger there is none.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  difference_usd: usd
  run_usd: usd
  calls_usd: usd
  run_calls: count
  calls: count
  unpriced_calls: count
*/
with recursive
  default_window(days) as (
    select 30
  ),
  bounds(since_utc, until_utc) as materialized (
    select
      window_start_utc(:since, :until, days, telemetry_zone()),
      window_end_utc(:until, telemetry_zone())
    from default_window
  ),
  -- A session is of its own profile, else of that of the root of its tree; a tree that is
  -- walked down from a session without a parent holds no cycle.
  profile_tree(session_id) as (
    select root.session_id
    from runs as root
    where root.profile = nullif(:profile, '')
      and not exists (
        select 1 from subagent_edges as edge where edge.child_session_id = root.session_id
      )
    union
    select edge.child_session_id
    from profile_tree as parent
    join subagent_edges as edge on edge.parent_session_id = parent.session_id
  ),
  of_profile(session_id) as (
    select session_id
    from runs
    where profile = nullif(:profile, '')
    union
    select member.session_id
    from profile_tree as member
    left join runs as own on own.session_id = member.session_id
    where coalesce(own.profile, '') = ''
  ),
  -- Materialized, so that each sum is made once although it is named often below. A sum for each
  -- run of the window reads less than a grouping of every call.
  compared(session_id, run_usd, calls_usd, run_calls, calls, priced_calls) as materialized (
    select
      run.session_id,
      run.cost_usd,
      (select sum(cost_usd) from llm_calls where session_id = run.session_id),
      run.api_calls,
      (select count(*) from llm_calls where session_id = run.session_id),
      (select count(cost_usd) from llm_calls where session_id = run.session_id)
    from runs as run
    where run.started_at >= (select since_utc from bounds)
      and run.started_at < (select until_utc from bounds)
      and (:profile = '' or run.session_id in (select session_id from of_profile))
  )
select
  session_id,
  coalesce(run_usd, 0) - coalesce(calls_usd, 0) as difference_usd,
  run_usd,
  calls_usd,
  run_calls,
  calls,
  calls - priced_calls as unpriced_calls
from compared
where abs(coalesce(run_usd, 0) - coalesce(calls_usd, 0)) > 1e-9
   or run_calls <> calls
order by abs(coalesce(run_usd, 0) - coalesce(calls_usd, 0)) desc, session_id
