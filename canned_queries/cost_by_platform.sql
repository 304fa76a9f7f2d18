/*
title: Cost per platform
description: >-
  The cost of the sessions of each platform and its share of the total. Subagents are a platform of
  their own; NULL is for sessions without one. The cache hit rate is the part of all input (fresh,
  cache read and cache write) that was read from the cache.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  platform: text
  cost_usd: usd
  share: share
  calls: count
  tokens_in: tokens
  tokens_out: tokens
  cache_hit_rate: share
  unpriced_calls: count
unpriced: {cost_usd: unpriced_calls}
chart: {mark: bar, x: platform, x_type: nominal, y: cost_usd, y_type: quantitative}
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
  -- One row a session, so that its run is looked up once.
  spent as materialized (
    select
      session_id,
      sum(cost_usd) as usd,
      count(*) as calls,
      count(cost_usd) as priced_calls,
      sum(tokens_in) as tokens_in,
      sum(tokens_out) as tokens_out,
      sum(cache_read_tokens) as cache_read_tokens,
      sum(cache_write_tokens) as cache_write_tokens
    from llm_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = llm_calls.session_id))
        or session_id in (select session_id from heirs)
      )
    group by session_id
  )
select
  nullif(own.platform, '') as platform,
  sum(spent.usd) as cost_usd,
  -- Division by 0 is NULL: a total of nothing has no shares.
  sum(spent.usd) / sum(sum(spent.usd)) over () as share,
  sum(spent.calls) as calls,
  sum(spent.tokens_in) as tokens_in,
  sum(spent.tokens_out) as tokens_out,
  total(spent.cache_read_tokens) / (
    total(spent.tokens_in) + total(spent.cache_read_tokens) + total(spent.cache_write_tokens)
  ) as cache_hit_rate,
  sum(spent.calls - spent.priced_calls) as unpriced_calls
from spent
left join runs as own on own.session_id = spent.session_id
group by 1
order by cost_usd desc, 1
