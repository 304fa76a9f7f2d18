/*
title: Run totals against calls
description: >-
  Sessions that started in the window and whose totals in runs differ from the sum of their calls,
  by more than a nano-dollar or by a call. For calls without a run the totals count as 0, and the
  first call as the start. A sound ledger has no rows here.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  difference_usd: usd_difference
  run_usd: usd
  calls_usd: usd
  run_calls: count
  calls: count
  unpriced_calls: count
unpriced: {run_usd: exact, calls_usd: unpriced_calls}
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
  -- A session is of its own profile, else of that of the root of its tree: the heirs. A tree that
  -- is walked down from a session without a parent holds no cycle.
  profile_tree(session_id) as (
    select edge.child_session_id
    from subagent_edges as edge
    -- Cross join: from the edges, for most sessions have none.
    cross join runs as root on root.session_id = edge.parent_session_id
    where root.profile = nullif(:profile, '')
      and not exists (
        select 1 from subagent_edges as above where above.child_session_id = root.session_id
      )
    union all
    select edge.child_session_id
    from profile_tree as parent
    join subagent_edges as edge on edge.parent_session_id = parent.session_id
  ),
  heirs(session_id) as (
    select member.session_id
    from profile_tree as member
    left join runs as own on own.session_id = member.session_id
    where coalesce(own.profile, '') = ''
  ),
  started(session_id, run_usd, run_calls) as (
    select session_id, cost_usd, api_calls
    from runs
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
    union all
    select session_id, null, null
    from (
      select distinct session_id
      from llm_calls
      where ts >= (select since_utc from bounds)
        and ts < (select until_utc from bounds)
    ) as seen
    where not exists (
      select 1 from runs where session_id = seen.session_id
    )
      and not exists (
        select 1
        from llm_calls
        where session_id = seen.session_id
          and ts < (select since_utc from bounds)
      )
  ),
  -- Materialized, so that each sum is made once although it is named often below. A sum for each
  -- session of the window reads less than a grouping of every call.
  compared(session_id, run_usd, calls_usd, run_calls, calls) as materialized (
    select
      session_id,
      run_usd,
      (select sum(cost_usd) from llm_calls where session_id = started.session_id),
      run_calls,
      (select count(*) from llm_calls where session_id = started.session_id)
    from started
    where :profile in ('', (select profile from runs where session_id = started.session_id))
       or session_id in (select session_id from heirs)
  )
select
  session_id,
  -- To the nano-dollar: what the arithmetic of floats leaves over is no difference.
  round(coalesce(run_usd, 0) - coalesce(calls_usd, 0), 9) as difference_usd,
  run_usd,
  calls_usd,
  run_calls,
  calls,
  (
    select count(*)
    from llm_calls
    where session_id = compared.session_id
      and cost_usd is null
  ) as unpriced_calls
from compared
where abs(coalesce(run_usd, 0) - coalesce(calls_usd, 0)) > 1e-9
   or coalesce(run_calls, 0) <> calls
order by abs(coalesce(run_usd, 0) - coalesce(calls_usd, 0)) desc, session_id
