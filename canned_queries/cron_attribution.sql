/*
title: Cost per cron job
description: >-
  The cost of each cron job, including the subagents that its runs started. A session counts in its
  own job, else in that of the root of its tree. Calls count by their own time, runs by their start.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  cron_job_id: id
  total_usd: usd
  own_usd: usd
  delegated_usd: usd
  runs: count
  delegated_sessions: count
  mean_usd_per_run: usd
  failed_runs: count
  last_run_at: utc
  unpriced_calls: count
  job_name: text
  own_unpriced_calls: count
  delegated_unpriced_calls: count
unpriced:
  total_usd: unpriced_calls
  own_usd: own_unpriced_calls
  delegated_usd: delegated_unpriced_calls
  mean_usd_per_run: unpriced_calls
chart: {mark: bar, x: cron_job_id, x_type: nominal, y: total_usd, y_type: quantitative}
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
  spent(session_id, usd, unpriced_calls) as materialized (
    select session_id, sum(cost_usd), count(*) - count(cost_usd)
    from llm_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = llm_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    group by session_id
  ),
  -- From the sessions of the window up to their roots: from the roots down it would grow with the
  -- whole history. Union ends the walk in a cycle, which has no root.
  lineage(session_id, ancestor_id) as (
    select spent.session_id, edge.parent_session_id
    from spent
    cross join subagent_edges as edge on edge.child_session_id = spent.session_id
    union
    select lineage.session_id, edge.parent_session_id
    from lineage
    cross join subagent_edges as edge on edge.child_session_id = lineage.ancestor_id
  ),
  attributed(cron_job_id, session_id, delegated) as (
    select run.cron_job_id, spent.session_id, 0
    from spent
    cross join runs as run on run.session_id = spent.session_id
    where run.cron_job_id > ''
    union all
    select root.cron_job_id, lineage.session_id, 1
    from lineage
    cross join runs as root on root.session_id = lineage.ancestor_id
    left join runs as own on own.session_id = lineage.session_id
    where root.cron_job_id > ''
      and coalesce(own.cron_job_id, '') = ''
      and not exists (
        select 1 from subagent_edges as edge where edge.child_session_id = lineage.ancestor_id
      )
  ),
  -- The money of the sessions and the runs of the window, apart: joined to each other they would
  -- multiply.
  costs as (
    select
      attributed.cron_job_id,
      sum(spent.usd) as total_usd,
      sum(spent.usd) filter (where not attributed.delegated) as own_usd,
      sum(spent.usd) filter (where attributed.delegated) as delegated_usd,
      sum(attributed.delegated) as delegated_sessions,
      sum(spent.unpriced_calls) as unpriced_calls,
      sum(spent.unpriced_calls) filter (where not attributed.delegated) as own_unpriced_calls,
      sum(spent.unpriced_calls) filter (where attributed.delegated) as delegated_unpriced_calls
    from attributed
    join spent on spent.session_id = attributed.session_id
    group by attributed.cron_job_id
  ),
  started as (
    select
      cron_job_id,
      count(*) as runs,
      sum(status = 'error') as failed_runs,
      max(started_at) as last_run_at
    from runs
    where cron_job_id > ''
      and started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and (
        :profile in ('', profile)
        or session_id in (select session_id from heirs)
      )
    group by cron_job_id
  ),
  jobs(cron_job_id) as (
    select cron_job_id from costs
    union
    select cron_job_id from started
  )
select
  jobs.cron_job_id,
  costs.total_usd,
  costs.own_usd,
  costs.delegated_usd,
  coalesce(started.runs, 0) as runs,
  coalesce(costs.delegated_sessions, 0) as delegated_sessions,
  -- NULL without runs.
  costs.total_usd / started.runs as mean_usd_per_run,
  coalesce(started.failed_runs, 0) as failed_runs,
  started.last_run_at,
  coalesce(costs.unpriced_calls, 0) as unpriced_calls,
  cron_job_name(jobs.cron_job_id) as job_name,
  coalesce(costs.own_unpriced_calls, 0) as own_unpriced_calls,
  coalesce(costs.delegated_unpriced_calls, 0) as delegated_unpriced_calls
from jobs
left join costs on costs.cron_job_id = jobs.cron_job_id
left join started on started.cron_job_id = jobs.cron_job_id
order by costs.total_usd desc, jobs.cron_job_id
