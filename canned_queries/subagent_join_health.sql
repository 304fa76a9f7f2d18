/*
title: Can subagents be joined to turns
description: >-
  The precondition of subagent_turns over all time: edges with a turn id, how many of them a call
  carries, edges whose parent has no run (orphans), and what sessions cost that hang on no tree.
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
with
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
  ),
  unattributed(session_id) as (
    select child_session_id
    from judged
    where orphan
    union all
    select session_id
    from runs as run
    where platform = 'subagent'
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
