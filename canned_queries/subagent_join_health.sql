/*
title: Can subagents be joined to turns
description: >-
  Whether subagent_turns can be relied on: of the edges that began in the window, how many have a
  turn id, how many of those turns have a call, how many have a parent without a run (orphans), and
  the cost of subagent sessions of the window that belong to no tree.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  edges: count
  with_turn_id: count
  joined: count
  unjoined: count
  without_turn_id: count
  orphans: count
  unattributed_usd: usd
  unpriced_calls: count
unpriced: {unattributed_usd: unpriced_calls}
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
  judged(child_session_id, with_turn_id, joined, orphan) as materialized (
    select
      child_session_id,
      coalesce(parent_turn_id, '') <> '',
      parent_turn_id > '' and exists (
        select 1 from llm_calls where turn_id = edge.parent_turn_id
      ),
      not exists (
        select 1 from runs where session_id = edge.parent_session_id
      )
    from subagent_edges as edge
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = edge.child_session_id))
        or child_session_id in (select session_id from heirs)
      )
  ),
  unattributed(session_id) as (
    select child_session_id
    from judged
    where orphan
    union all
    select session_id
    from runs as run
    where platform = 'subagent'
      and started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and :profile in ('', profile)
      and not exists (
        select 1 from subagent_edges where child_session_id = run.session_id
      )
  ),
  spent(usd, unpriced_calls) as (
    select coalesce(sum(call.cost_usd), 0), count(*) - count(call.cost_usd)
    from unattributed
    cross join llm_calls as call on call.session_id = unattributed.session_id
  )
select
  count(*) as edges,
  coalesce(sum(with_turn_id), 0) as with_turn_id,
  coalesce(sum(joined), 0) as joined,
  coalesce(sum(with_turn_id), 0) - coalesce(sum(joined), 0) as unjoined,
  count(*) - coalesce(sum(with_turn_id), 0) as without_turn_id,
  coalesce(sum(orphan), 0) as orphans,
  (select usd from spent) as unattributed_usd,
  (select unpriced_calls from spent) as unpriced_calls
from judged
