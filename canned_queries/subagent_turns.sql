/*
title: Subagents and the turns that started them
description: >-
  The newest 1,000 subagents with a turn id that started in the window: the cost of each, and that
  of its parent's turn (NULL if no call has that turn id).
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  child_session_id: id
  child_usd: usd
  parent_turn_id: id
  parent_turn_usd: usd
  parent_session_id: id
  child_role: text
  child_status: text
  child_calls: count
  started_at: utc
  unpriced_calls: count
  child_subtree_usd: usd
  child_subtree_unpriced_calls: count
  parent_turn_unpriced_calls: count
unpriced:
  child_usd: unpriced_calls
  parent_turn_usd: parent_turn_unpriced_calls
  child_subtree_usd: child_subtree_unpriced_calls
chart: {mark: bar, x: child_session_id, x_type: ordinal, y: child_usd, y_type: quantitative}
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
  edges as materialized (
    select edge.*
    from subagent_edges as edge
    where edge.started_at >= (select since_utc from bounds)
      and edge.started_at < (select until_utc from bounds)
      -- An empty turn id can join no call: counted in subagent_join_health.
      and edge.parent_turn_id > ''
      and (
        :profile in ('', (select profile from runs where session_id = edge.child_session_id))
        or edge.child_session_id in (select session_id from heirs)
      )
    order by edge.started_at desc, edge.child_session_id
    limit 1000
  ),
  -- Union ends the walk in a cycle and counts a session once.
  members(child_session_id, session_id) as (
    select child_session_id, child_session_id
    from edges
    union
    select members.child_session_id, edge.child_session_id
    from members
    join subagent_edges as edge on edge.parent_session_id = members.session_id
  ),
  children(child_session_id, usd, subtree_usd, calls, unpriced_calls, subtree_unpriced_calls)
  as materialized (
    select
      members.child_session_id,
      sum(call.cost_usd) filter (where members.session_id = members.child_session_id),
      sum(call.cost_usd),
      count(*) filter (where members.session_id = members.child_session_id),
      sum(call.cost_usd is null) filter (where members.session_id = members.child_session_id),
      sum(call.cost_usd is null)
    from members
    cross join llm_calls as call on call.session_id = members.session_id
    where :profile in ('', (select profile from runs where session_id = call.session_id))
       or call.session_id in (select session_id from heirs)
    group by members.child_session_id
  ),
  -- Summed before the join: a turn has many calls and would repeat the edge.
  parent_turns(turn_id, usd, unpriced_calls) as materialized (
    select turn_id, sum(cost_usd), count(*) - count(cost_usd)
    from llm_calls
    where turn_id in (select parent_turn_id from edges)
      and (
        :profile in ('', (select profile from runs where session_id = llm_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    group by turn_id
  )
select
  edges.child_session_id,
  children.usd as child_usd,
  edges.parent_turn_id,
  parent_turns.usd as parent_turn_usd,
  edges.parent_session_id,
  edges.child_role,
  coalesce(edges.child_status, case when edges.stopped_at is null then 'open' end) as child_status,
  coalesce(children.calls, 0) as child_calls,
  edges.started_at,
  coalesce(children.unpriced_calls, 0) as unpriced_calls,
  children.subtree_usd as child_subtree_usd,
  coalesce(children.subtree_unpriced_calls, 0) as child_subtree_unpriced_calls,
  coalesce(parent_turns.unpriced_calls, 0) as parent_turn_unpriced_calls
from edges
left join children on children.child_session_id = edges.child_session_id
left join parent_turns on parent_turns.turn_id = edges.parent_turn_id
order by edges.started_at desc, edges.child_session_id
