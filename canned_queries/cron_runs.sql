/*
title: Runs of a cron job
description: >-
  The newest 1,000 runs of one job (its id or its name) that started in the window, each with its
  cost including the subagents below it. As in cron_attribution, a session counts once: in its own
  job, else in the run at the root of its tree. Lost: the status is still running, but there was no
  call for six hours.
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
  own_unpriced_calls: count
  delegated_unpriced_calls: count
unpriced:
  total_usd: unpriced_calls
  own_usd: own_unpriced_calls
  delegated_usd: delegated_unpriced_calls
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
  -- Whether a run has to do with a profile is known when its tree has been walked.
  newest(run_id) as materialized (
    select session_id
    -- Given by its id or by its name; several jobs may have that. Cross join: from the jobs, or all
    -- runs of the window were read to find that there is none.
    from json_each(cron_job_ids(:cron_job_id)) as wanted
    cross join runs on cron_job_id = wanted.value
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
    order by started_at desc, session_id
    limit iif(:profile = '', 1000, -1)
  ),
  -- A run pays for the tree below it when it is that tree's root, else for itself alone. Walked
  -- down from a root, a tree holds no cycle.
  members(run_id, session_id) as (
    select run_id, run_id
    from newest
    union all
    select members.run_id, edge.child_session_id
    from members
    join subagent_edges as edge on edge.parent_session_id = members.session_id
    where not exists (
      select 1 from subagent_edges as above where above.child_session_id = members.run_id
    )
  )
select
  members.run_id as session_id,
  sum(call.cost_usd) as total_usd,
  sum(call.cost_usd) filter (where members.session_id = members.run_id) as own_usd,
  sum(call.cost_usd) filter (where members.session_id <> members.run_id) as delegated_usd,
  run.started_at,
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
  count(call.id) as calls,
  count(call.id) - count(call.cost_usd) as unpriced_calls,
  count(call.id) filter (
    where call.cost_usd is null and members.session_id = members.run_id
  ) as own_unpriced_calls,
  count(call.id) filter (
    where call.cost_usd is null and members.session_id <> members.run_id
  ) as delegated_unpriced_calls
from members
join runs as run on run.session_id = members.run_id
left join runs as own on own.session_id = members.session_id
-- Left join: a run without a call is a run.
left join llm_calls as call on call.session_id = members.session_id
where (members.session_id = members.run_id or coalesce(own.cron_job_id, '') = '')
  and (
    :profile in ('', (select profile from runs where session_id = members.session_id))
    or members.session_id in (select session_id from heirs)
  )
group by members.run_id
order by run.started_at desc, members.run_id
limit 1000
