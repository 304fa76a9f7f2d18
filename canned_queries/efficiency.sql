/*
title: Efficiency of finished sessions
description: >-
  A score of 0 to 100 for every session that started in the window and is neither running nor lost,
  newest first. It starts at 40, gains up to 60 for output relative to fresh input (40 if they are
  equal), and loses 30 for an error or 10 for an interruption, and 1.5 for each call, at most 30.
  Input read from or written to a cache does not count. Datasette shows 1,000 rows of a long window;
  the command line gives all.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  started_at: utc
  score: score
  session_id: id
  status: text
  tokens_in: tokens
  tokens_out: tokens
  calls: count
  platform: text
  model: text
  provider: text
chart:
  mark: circle
  x: started_at
  x_type: temporal
  y: score
  y_type: quantitative
  color: status
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
  efficiency_runs as (
    select
      *,
      -- 40.0, because whole numbers would divide to whole numbers.
      min(60, coalesce(tokens_out, 0) * 40.0 / max(coalesce(tokens_in, 0), 1)) as gain,
      case status when 'error' then 30 when 'interrupted' then 10 else 0 end as failure,
      min(30, 1.5 * coalesce(api_calls, 0)) as effort
    from runs
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and status <> 'running'
      and (
        :profile in ('', profile)
        or session_id in (select session_id from heirs)
      )
  )
select
  started_at,
  max(0.0, min(100.0, 40 + gain - failure - effort)) as score,
  session_id,
  status,
  tokens_in,
  tokens_out,
  api_calls as calls,
  platform,
  model,
  provider
from efficiency_runs
order by started_at desc, session_id
