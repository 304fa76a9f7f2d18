/*
title: Calls of Mixture-of-Agents presets
description: >-
  The newest 1,000 calls of the aggregators of Mixture-of-Agents presets in the window. The host's
  hooks do not report the reference models that a preset asks, so the cost is a lower bound.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  ts: utc
  at_least_usd: usd_at_least
  moa_preset: text
  model: text
  provider: text
  session_id: id
  turn_id: id
  tokens_in: tokens
  tokens_out: tokens
  cache_read_tokens: tokens
  cache_write_tokens: tokens
  latency_ms: ms
  unpriced_calls: count
chart:
  mark: circle
  x: ts
  x_type: temporal
  y: at_least_usd
  y_type: quantitative
  color: moa_preset
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
  call.ts,
  call.cost_usd as at_least_usd,
  call.moa_preset,
  call.model,
  call.provider,
  call.session_id,
  call.turn_id,
  call.tokens_in,
  call.tokens_out,
  call.cache_read_tokens,
  call.cache_write_tokens,
  call.latency_ms,
  call.cost_usd is null as unpriced_calls
from llm_calls as call
where call.ts >= (select since_utc from bounds)
  and call.ts < (select until_utc from bounds)
  and call.moa_preset > ''
  and (
    :profile in ('', (select profile from runs where session_id = call.session_id))
    or call.session_id in (select session_id from heirs)
  )
order by call.ts desc, call.id desc
limit 1000
