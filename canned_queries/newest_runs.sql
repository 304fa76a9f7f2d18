/*
title: Newest runs
description: >-
  The runs that began last in the window, newest first, including those without a call, with their
  status and the cost of all their calls, also of calls after the window. Lost: the status is still
  running, but there was no call for six hours. Subagents have runs of their own.
parameters:
  runs: {kind: number, default: "10"}
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  cost_usd: usd
  status: text
  calls: count
  started_at: utc
  duration_ms: ms
  platform: text
  model: text
  failed_attempts: count
  tool_calls: count
  tokens_in: tokens
  tokens_out: tokens
  unpriced_calls: count
unpriced: {cost_usd: unpriced_calls}
chart: {mark: bar, x: session_id, x_type: ordinal, y: cost_usd, y_type: quantitative}
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
  -- Limited before the joins, so that the calls of no other run are read.
  newest as materialized (
    select *
    from runs
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and (
        :profile in ('', profile)
        or session_id in (select session_id from heirs)
      )
    order by started_at desc, session_id
    limit cast(coalesce(nullif(:runs, ''), 10) as integer)
  ),
  spent as materialized (
    select
      newest.session_id,
      sum(call.cost_usd) as usd,
      count(*) as calls,
      count(call.cost_usd) as priced_calls,
      sum(call.tokens_in) as tokens_in,
      sum(call.tokens_out) as tokens_out
    from newest
    cross join llm_calls as call on call.session_id = newest.session_id
    group by newest.session_id
  )
select
  newest.session_id,
  spent.usd as cost_usd,
  -- Whoever killed the process left no other trace.
  case
    when newest.status = 'running'
      and newest.started_at < lost_before_utc()
      and not exists (
        select 1
        from llm_calls
        where session_id = newest.session_id
          and ts >= lost_before_utc()
      )
      then 'lost'
    else newest.status
  end as status,
  coalesce(spent.calls, 0) as calls,
  newest.started_at,
  newest.duration_ms,
  newest.platform,
  newest.model,
  (
    select count(*) from llm_call_errors where session_id = newest.session_id
  ) as failed_attempts,
  (
    select count(*)
    from tool_calls
    where session_id = newest.session_id
      -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
      and tool_name <> 'delegate_task/subagent'
  ) as tool_calls,
  coalesce(spent.tokens_in, 0) as tokens_in,
  coalesce(spent.tokens_out, 0) as tokens_out,
  coalesce(spent.calls - spent.priced_calls, 0) as unpriced_calls
from newest
-- Left join: a run without a call is a run.
left join spent on spent.session_id = newest.session_id
order by newest.started_at desc, newest.session_id
