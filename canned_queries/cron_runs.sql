/*
title: Runs of a cron job
description: >-
  The runs of one job that started in the window, newest first, each with the whole cost of itself
  and of the subagents below it; a subagent that is a run of a job itself counts there.
parameters:
  cron_job_id: {kind: cron_job, default: no rows}
  since: {kind: since, default: no bound}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  total_usd: usd
  own_usd: usd
  delegated_usd: usd
  started_at: utc
  status: text
  calls: count
  unpriced_calls: count
chart: {mark: bar, x: session_id, x_type: ordinal, y: total_usd, y_type: quantitative}
*/
with recursive
  default_window(days) as (
    select null
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
  -- Union ends the walk in a cycle and counts a session once.
  members(run_id, started_at, status, session_id) as (
    select session_id, started_at, status, session_id
    from runs
    where cron_job_id = nullif(:cron_job_id, '')
      and started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and (:profile = '' or session_id in (select session_id from of_profile))
    union
    select members.run_id, members.started_at, members.status, edge.child_session_id
    from members
    join subagent_edges as edge on edge.parent_session_id = members.session_id
  )
select
  members.run_id as session_id,
  sum(call.cost_usd) as total_usd,
  sum(call.cost_usd) filter (where members.session_id = members.run_id) as own_usd,
  sum(call.cost_usd) filter (where members.session_id <> members.run_id) as delegated_usd,
  members.started_at,
  members.status,
  count(call.id) as calls,
  count(call.id) - count(call.cost_usd) as unpriced_calls
from members
left join runs as run on run.session_id = members.session_id
-- Left join: a run without a call is a run.
left join llm_calls as call on call.session_id = members.session_id
where members.session_id = members.run_id
   or coalesce(run.cron_job_id, '') = ''
group by members.run_id
order by members.started_at desc, members.run_id
