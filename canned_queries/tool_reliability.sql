/*
title: How reliable the tools are
description: >-
  The calls of each tool, how many failed, and how long they took on average and at most; the tool
  with the most failures first.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  tool_name: text
  failure_rate: share
  calls: count
  failures: count
  mean_ms: ms
  longest_ms: ms
chart: {mark: bar, x: tool_name, x_type: nominal, y: failure_rate, y_type: quantitative}
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
  )
select
  tool.tool_name,
  sum(tool.ok = 0) * 1.0 / count(*) as failure_rate,
  count(*) as calls,
  sum(tool.ok = 0) as failures,
  avg(tool.latency_ms) as mean_ms,
  max(tool.latency_ms) as longest_ms
from tool_calls as tool
where tool.ts >= (select since_utc from bounds)
  and tool.ts < (select until_utc from bounds)
  -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
  and tool.tool_name <> 'delegate_task/subagent'
  and (
    :profile in ('', (select profile from runs where session_id = tool.session_id))
    or tool.session_id in (select session_id from heirs)
  )
group by tool.tool_name
order by failures desc, calls desc, tool.tool_name
