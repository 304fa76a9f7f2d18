/*
title: Cost per session
description: >-
  Every session with a call in the window, the most expensive first. Cost, calls and cost per call
  with a price cover the calls in the window; duration and status cover the whole session. Lost: the
  status is still running, but there was no call for six hours. Subagents are sessions of their own.
  Datasette shows 1,000 rows of a long window; the command line gives all.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  cost_usd: usd
  calls: count
  usd_per_call: usd
  started_at: utc
  duration_ms: ms
  status: text
  platform: text
  model: text
  tokens_in: tokens
  tokens_out: tokens
  unpriced_calls: count
unpriced: {cost_usd: unpriced_calls, usd_per_call: exact}
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
  -- Grouped before the join, so that a run is looked up once.
  spent as materialized (
    select
      session_id,
      min(ts) as first_call_at,
      sum(cost_usd) as usd,
      count(*) as calls,
      count(cost_usd) as priced_calls,
      sum(tokens_in) as tokens_in,
      sum(tokens_out) as tokens_out
    from llm_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = llm_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    group by session_id
  )
select
  spent.session_id,
  spent.usd as cost_usd,
  spent.calls,
  -- Of the calls that have a price alone: the others would make it too small.
  spent.usd / spent.priced_calls as usd_per_call,
  -- A session without a run began with its first call.
  coalesce(run.started_at, spent.first_call_at) as started_at,
  run.duration_ms,
  -- Whoever killed the process left no other trace.
  case
    when run.status = 'running'
      and run.started_at < lost_before_utc()
      and not exists (
        select 1
        from llm_calls
        where session_id = run.session_id
          and ts >= lost_before_utc()
      )
      then 'lost'
    else run.status
  end as status,
  run.platform,
  run.model,
  spent.tokens_in,
  spent.tokens_out,
  spent.calls - spent.priced_calls as unpriced_calls
from spent
left join runs as run on run.session_id = spent.session_id
order by spent.usd desc, spent.session_id
