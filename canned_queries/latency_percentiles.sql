/*
title: How long models and tools take
description: >-
  The latency within which 50, 90 and 99 % of the calls of each model and of each tool ended. The
  figures are exact: each is a latency that occurred. Calls without a latency do not count.
parameters:
  since: {kind: since, default: 7 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  name: text
  p50_ms: ms
  p90_ms: ms
  p99_ms: ms
  kind: text
  calls: count
  longest_ms: ms
chart: {mark: bar, x: name, x_type: nominal, y: p50_ms, y_type: quantitative, color: kind}
*/
with recursive
  default_window(days) as (
    select 7
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
  -- Models and tools each by themselves: two short lists are sorted in memory, where a long one would
  -- go through a file. `+model`: else every call there is would be read in the order of the groups.
  models(name, ms) as (
    select +model, latency_ms
    from llm_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and latency_ms is not null
      and (
        :profile in ('', (select profile from runs where session_id = llm_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    order by +model, latency_ms
  ),
  tools(name, ms) as (
    select tool_name, latency_ms
    from tool_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and latency_ms is not null
      -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
      and tool_name <> 'delegate_task/subagent'
      and (
        :profile in ('', (select profile from runs where session_id = tool_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    order by tool_name, latency_ms
  ),
  -- Picked by its place in a sorted list, a percentile takes half the time that ranking every row
  -- does.
  lists(kind, name, ms, calls) as (
    select 'model', name, json_group_array(ms), count(*) from models group by name
    union all
    select 'tool', name, json_group_array(ms), count(*) from tools group by name
  )
select
  name,
  json_extract(ms, '$[' || ((calls * 50 + 99) / 100 - 1) || ']') as p50_ms,
  json_extract(ms, '$[' || ((calls * 90 + 99) / 100 - 1) || ']') as p90_ms,
  json_extract(ms, '$[' || ((calls * 99 + 99) / 100 - 1) || ']') as p99_ms,
  kind,
  calls,
  json_extract(ms, '$[' || (calls - 1) || ']') as longest_ms
from lists
order by kind, p50_ms desc, name
