/*
title: Cost per turn
description: >-
  The newest 1,000 turns with a call in the window, newest first. cost_usd is what a turn's own
  calls cost, delegated_usd what the subagents cost that it started, total_usd both. A call counts
  if its own time is in the window. Calls without a turn id are one row per session. The view
  turn_costs has every turn, without subagents.
parameters:
  session_id: {kind: session, default: every session}
  since: {kind: since, default: "7 days, or no bound with a session_id"}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  turn_id: id
  cost_usd: usd
  calls: count
  tool_calls: count
  failed_attempts: count
  tokens_in: tokens
  tokens_out: tokens
  cache_read_tokens: tokens
  cache_write_tokens: tokens
  reasoning_tokens: tokens
  model_ms: ms
  session_id: id
  started_at: utc
  unpriced_calls: count
  delegated_usd: usd
  total_usd: usd
  delegated_unpriced_calls: count
  total_unpriced_calls: count
unpriced:
  cost_usd: unpriced_calls
  delegated_usd: delegated_unpriced_calls
  total_usd: total_unpriced_calls
chart: {mark: bar, x: turn_id, x_type: ordinal, y: cost_usd, y_type: quantitative}
*/
with recursive
  default_window(days) as (
    select case when :session_id = '' then 7 end
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
  -- lone_session names the session of calls without a turn; NULL for a turn, since '' is a session
  -- too.
  turns(turn_id, lone_session) as materialized (
    -- Newest first, a call stands for its turn when no later one does: the walk ends after 1,000
    -- turns, however long the ledger is.
    select *
    from (
      select
        nullif(call.turn_id, ''),
        case when coalesce(call.turn_id, '') = '' then call.session_id end
      from llm_calls as call
      where :session_id = ''
        and call.ts >= (select since_utc from bounds)
        and call.ts < (select until_utc from bounds)
        and (
          :profile in ('', (select profile from runs where session_id = call.session_id))
          or call.session_id in (select session_id from heirs)
        )
        and case
          when call.turn_id > '' then not exists (
            select 1
            from llm_calls as later
            where later.turn_id = call.turn_id
              and (later.ts, later.id) > (call.ts, call.id)
              and later.ts < (select until_utc from bounds)
              -- A turn whose session was split may end in another profile.
              and (
                :profile in ('', (select profile from runs where session_id = later.session_id))
                or later.session_id in (select session_id from heirs)
              )
          )
          else not exists (
            select 1
            from llm_calls as later
            where later.session_id = call.session_id
              and coalesce(later.turn_id, '') = ''
              and (later.ts, later.id) > (call.ts, call.id)
              and later.ts < (select until_utc from bounds)
          )
        end
      order by call.ts desc
      limit 1000
    )
    union all
    -- An arm of its own, because one condition for both would search neither index.
    select *
    from (
      select
        nullif(call.turn_id, ''),
        case when coalesce(call.turn_id, '') = '' then call.session_id end
      from llm_calls as call
      where call.session_id = nullif(:session_id, '')
        and call.ts >= (select since_utc from bounds)
        and call.ts < (select until_utc from bounds)
        and (
          :profile in ('', (select profile from runs where session_id = call.session_id))
          or call.session_id in (select session_id from heirs)
        )
      group by 1, 2
      order by max(call.ts) desc
      limit 1000
    )
  ),
  costs as materialized (
    select
      turns.turn_id,
      turns.lone_session,
      -- Beside min() SQLite takes a bare column from the row that holds the minimum: the session
      -- of the first call, for a turn whose session was split under way.
      call.session_id,
      min(call.ts) as started_at,
      sum(call.cost_usd) as cost_usd,
      count(*) as calls,
      count(*) - count(call.cost_usd) as unpriced_calls,
      sum(call.tokens_in) as tokens_in,
      sum(call.tokens_out) as tokens_out,
      sum(call.cache_read_tokens) as cache_read_tokens,
      sum(call.cache_write_tokens) as cache_write_tokens,
      sum(call.reasoning_tokens) as reasoning_tokens,
      sum(call.latency_ms) as model_ms
    from turns
    cross join llm_calls as call
      on call.turn_id = turns.turn_id
      or (call.session_id = turns.lone_session and coalesce(call.turn_id, '') = '')
    where call.ts >= (select since_utc from bounds)
      and call.ts < (select until_utc from bounds)
      and (:session_id = '' or call.session_id = :session_id)
      and (
        :profile in ('', (select profile from runs where session_id = call.session_id))
        or call.session_id in (select session_id from heirs)
      )
    group by turns.turn_id, turns.lone_session
  ),
  -- Grouped once: the ledger of failures has no index of its own on the turn.
  failures(turn_id, lone_session, attempts) as materialized (
    select
      nullif(turn_id, ''),
      case when coalesce(turn_id, '') = '' then session_id end,
      count(*)
    from llm_call_errors
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and (:session_id = '' or session_id = :session_id)
      and (
        :profile in ('', (select profile from runs where session_id = llm_call_errors.session_id))
        or session_id in (select session_id from heirs)
      )
    group by 1, 2
  ),
  -- The sessions below a turn, as far as edges name it: one without a turn id ('' or NULL) equals
  -- no turn. Union and the conditions on the turn's own session guard against cycles: what that
  -- session spent is not delegated.
  subagents(turn_id, turn_session, session_id) as (
    select parent_turn_id, parent_session_id, child_session_id
    from subagent_edges
    where parent_turn_id in (select turn_id from turns)
      and child_session_id <> parent_session_id
    union
    select parent.turn_id, parent.turn_session, edge.child_session_id
    from subagents as parent
    join subagent_edges as edge on edge.parent_session_id = parent.session_id
    where edge.child_session_id <> parent.turn_session
  ),
  delegated(turn_id, usd, unpriced_calls) as materialized (
    select
      subagents.turn_id,
      sum(call.cost_usd),
      count(*) - count(call.cost_usd)
    -- Once, though two sessions of a split turn may both lead to it.
    from (select distinct turn_id, session_id from subagents) as subagents
    cross join llm_calls as call on call.session_id = subagents.session_id
    where call.ts >= (select since_utc from bounds)
      and call.ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = call.session_id))
        or call.session_id in (select session_id from heirs)
      )
    group by subagents.turn_id
  )
select
  costs.turn_id,
  costs.cost_usd,
  costs.calls,
  (
    select count(*)
    from tool_calls as tool
    where (
        tool.turn_id = costs.turn_id
        or (tool.session_id = costs.lone_session and coalesce(tool.turn_id, '') = '')
      )
      and tool.ts >= (select since_utc from bounds)
      and tool.ts < (select until_utc from bounds)
      and (:session_id = '' or tool.session_id = :session_id)
      and (
        :profile in ('', (select profile from runs where session_id = tool.session_id))
        or tool.session_id in (select session_id from heirs)
      )
      -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
      and tool.tool_name <> 'delegate_task/subagent'
  ) as tool_calls,
  coalesce(failures.attempts, 0) as failed_attempts,
  costs.tokens_in,
  costs.tokens_out,
  costs.cache_read_tokens,
  costs.cache_write_tokens,
  costs.reasoning_tokens,
  costs.model_ms,
  costs.session_id,
  costs.started_at,
  costs.unpriced_calls,
  delegated.usd as delegated_usd,
  -- NULL only when neither part has a price.
  coalesce(costs.cost_usd + delegated.usd, costs.cost_usd, delegated.usd) as total_usd,
  coalesce(delegated.unpriced_calls, 0) as delegated_unpriced_calls,
  costs.unpriced_calls + coalesce(delegated.unpriced_calls, 0) as total_unpriced_calls
from costs
left join failures
  on failures.turn_id is costs.turn_id
  and failures.lone_session is costs.lone_session
left join delegated on delegated.turn_id = costs.turn_id
order by costs.started_at desc, costs.turn_id, costs.session_id
