/*
title: Delegation tree of a session
description: >-
  A session and every subagent below it, depth first in the order in which they started, each with
  its own cost and that of its subtree. An edge without an end is open.
parameters:
  session_id: {kind: session, default: no rows}
units:
  path: text
  subtree_usd: usd
  own_usd: usd
  depth: count
  session_id: id
  child_role: text
  child_status: text
  calls: count
  unpriced_calls: count
  subtree_unpriced_calls: count
unpriced: {subtree_usd: subtree_unpriced_calls, own_usd: unpriced_calls}
chart: {mark: bar, x: path, x_type: ordinal, y: subtree_usd, y_type: quantitative}
*/
with recursive
  -- A child has one parent, so a walk down can meet no session twice but the one it began with:
  -- the last condition ends it in a cycle.
  tree(session_id, parent_id, depth, path, place, child_role, child_status) as materialized (
    select
      :session_id,
      null,
      0,
      :session_id,
      '',
      null,
      null
    where :session_id in (
      select session_id from runs where session_id = :session_id
      union all
      select session_id from llm_calls where session_id = :session_id
      union all
      select parent_session_id from subagent_edges where parent_session_id = :session_id
      union all
      select child_session_id from subagent_edges where child_session_id = :session_id
    )
      and :session_id <> ''
    union all
    select
      edge.child_session_id,
      edge.parent_session_id,
      parent.depth + 1,
      parent.path || ' > ' || edge.child_session_id,
      parent.place || ' > ' || edge.started_at || edge.child_session_id,
      edge.child_role,
      coalesce(edge.child_status, case when edge.stopped_at is null then 'open' end)
    from tree as parent
    join subagent_edges as edge on edge.parent_session_id = parent.session_id
    where edge.child_session_id <> :session_id
  ),
  costs(session_id, usd, calls, priced_calls) as materialized (
    select tree.session_id, sum(call.cost_usd), count(call.id), count(call.cost_usd)
    from tree
    left join llm_calls as call on call.session_id = tree.session_id
    group by tree.session_id
  ),
  -- Each session with every one at or below it, along the tree alone.
  below(top_id, session_id) as (
    select session_id, session_id
    from tree
    union all
    select below.top_id, tree.session_id
    from below
    join tree on tree.parent_id = below.session_id
  ),
  subtrees(session_id, usd, unpriced_calls) as materialized (
    select below.top_id, sum(costs.usd), sum(costs.calls - costs.priced_calls)
    from below
    join costs on costs.session_id = below.session_id
    group by below.top_id
  )
select
  tree.path,
  subtrees.usd as subtree_usd,
  costs.usd as own_usd,
  tree.depth,
  tree.session_id,
  tree.child_role,
  tree.child_status,
  costs.calls,
  costs.calls - costs.priced_calls as unpriced_calls,
  subtrees.unpriced_calls as subtree_unpriced_calls
from tree
join costs on costs.session_id = tree.session_id
join subtrees on subtrees.session_id = tree.session_id
order by tree.place
