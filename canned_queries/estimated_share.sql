/*
title: How far the costs can be trusted
description: >-
  For each provider and model, how its calls were priced. Each call is in one class, the first from
  the left that fits. Estimated: no usage was reported. Assumed: the price is another provider's.
  Free and declared zeros were stated; an unexplained zero has tokens but no price record. The last
  class, listed, includes calls without a price record that have a cost, or neither cost nor tokens
  (unrecorded_calls).
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  provider: text
  cost_usd: usd
  model: text
  calls: count
  estimated_calls: count
  unpriced_calls: count
  assumed_calls: count
  free_calls: count
  declared_calls: count
  unexplained_zero_calls: count
  tariff_calls: count
  catalogue_calls: count
  family_calls: count
  builtin_calls: count
  listed_calls: count
  unrecorded_calls: count
  cost_unpriced_calls: count
unpriced: {cost_usd: cost_unpriced_calls}
chart: {mark: bar, x: provider, x_type: nominal, y: cost_usd, y_type: quantitative, color: model}
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
  -- Few groups are left for the questions below: calls share prices. Each column more to group by
  -- takes its time, so the price and what a call says of itself are one number: 8 times the price's
  -- id, and 1 to 4 for the classes below. A zero for nothing needs no explanation.
  kinds(kind, model, provider, cost_usd) as (
    select
      8 * coalesce(record.price_id, 0) + case
        when call.estimated <> 0 then 1
        when call.cost_usd is null then 2
        when call.provider_assumed <> 0 then 3
        when call.cost_usd = 0
          and (
            call.tokens_in > 0
            or call.tokens_out > 0
            or call.cache_read_tokens > 0
            or call.cache_write_tokens > 0
          )
          then 4
        else 0
      end,
      call.model,
      call.provider,
      call.cost_usd
    from llm_calls as call
    left join llm_call_prices as record on record.call_id = call.id
    where call.ts >= (select since_utc from bounds)
      and call.ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = call.session_id))
        or call.session_id in (select session_id from heirs)
      )
    -- No limit: what has one is worked out before it is grouped, and the columns that only the
    -- classes need are not sorted along.
    limit -1
  ),
  alike as materialized (
    select
      kind,
      model,
      provider,
      sum(cost_usd) as usd,
      count(*) as calls,
      count(*) - count(cost_usd) as unpriced_calls
    from kinds
    group by kind, model, provider
  ),
  classed(provider, model, usd, calls, unpriced_calls, basis, class) as (
    select
      alike.provider,
      alike.model,
      alike.usd,
      alike.calls,
      alike.unpriced_calls,
      price.basis,
      case
        when alike.kind % 8 = 1 then 'estimated'
        when alike.kind % 8 = 2 then 'unpriced'
        when alike.kind % 8 = 3 then 'assumed'
        when price.basis in ('assumed', 'free', 'declared') then price.basis
        when price.basis is null and alike.kind % 8 = 4 then 'unexplained zero'
        when price.basis in ('tariff', 'catalogue', 'family', 'builtin') then price.basis
        else 'listed'
      end
    from alike
    left join prices_used as price on price.id = alike.kind / 8
  )
select
  provider,
  sum(usd) as cost_usd,
  model,
  sum(calls) as calls,
  sum(calls * (class = 'estimated')) as estimated_calls,
  sum(calls * (class = 'unpriced')) as unpriced_calls,
  sum(calls * (class = 'assumed')) as assumed_calls,
  sum(calls * (class = 'free')) as free_calls,
  sum(calls * (class = 'declared')) as declared_calls,
  sum(calls * (class = 'unexplained zero')) as unexplained_zero_calls,
  sum(calls * (class = 'tariff')) as tariff_calls,
  sum(calls * (class = 'catalogue')) as catalogue_calls,
  sum(calls * (class = 'family')) as family_calls,
  sum(calls * (class = 'builtin')) as builtin_calls,
  sum(calls * (class = 'listed')) as listed_calls,
  sum(calls * (class = 'listed' and basis is null)) as unrecorded_calls,
  sum(unpriced_calls) as cost_unpriced_calls
from classed
group by provider, model
order by cost_usd desc, provider, model
