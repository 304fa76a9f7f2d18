/*
title: Cost as recorded beside the host's tariff
description: >-
  For each model, what its calls cost as recorded, and what the same tokens cost at the host's
  tariff in force at the time of each call. Where the tariff states no cache rate, its input rate is
  used. The difference is recorded less tariff, over the calls that have both.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  model: text
  cost_usd: usd
  tariff_usd: usd
  difference_usd: usd_difference
  provider: text
  calls: count
  compared_calls: count
  unpriced_calls: count
  tariff_unpriced_calls: count
unpriced: {cost_usd: unpriced_calls, tariff_usd: tariff_unpriced_calls}
chart: {mark: bar, x: model, x_type: nominal, y: cost_usd, y_type: quantitative}
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
  intervals(provider, model, start_utc, stop_utc, input, output, cache_read, cache_write, request)
  as (
    select
      coalesce(provider, ''),
      model,
      substr(captured_at, 1, 19),
      coalesce(lead(substr(captured_at, 1, 19)) over of_pair, '9999-12-31T23:59:59'),
      input_cost_per_million,
      output_cost_per_million,
      -- A cache rate of 0 beside a price is "not billed apart": unstated, as where it is charged.
      coalesce(nullif(cache_read_cost_per_million, 0), input_cost_per_million),
      coalesce(nullif(cache_write_cost_per_million, 0), input_cost_per_million),
      coalesce(request_cost, 0)
    from pricing_snapshots
    window of_pair as (partition by coalesce(provider, ''), model order by captured_at, id)
  ),
  -- Those of the window alone: a call is held against each interval of its model, and history
  -- grows.
  tariffs as materialized (
    select *
    from intervals
    where stop_utc > (select since_utc from bounds)
      and start_utc < (select until_utc from bounds)
  ),
  -- Materialized, else every call there is would be read in the order of the groups. Reasoning is
  -- a part of tokens_out, at the same rate.
  charged(model, provider, cost_usd, tariff_usd) as materialized (
    select
      call.model,
      call.provider,
      call.cost_usd,
      (
        coalesce(call.tokens_in, 0) * tariffs.input
        + coalesce(call.tokens_out, 0) * tariffs.output
        + coalesce(call.cache_read_tokens, 0) * tariffs.cache_read
        + coalesce(call.cache_write_tokens, 0) * tariffs.cache_write
      ) / 1000000.0 + tariffs.request
    from llm_calls as call
    left join tariffs
      on tariffs.model = call.model
      and tariffs.provider = coalesce(call.provider, '')
      and tariffs.start_utc <= call.ts
      and tariffs.stop_utc > call.ts
    where call.ts >= (select since_utc from bounds)
      and call.ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = call.session_id))
        or call.session_id in (select session_id from heirs)
      )
  )
select
  model,
  sum(cost_usd) as cost_usd,
  sum(tariff_usd) as tariff_usd,
  -- To the nano-dollar: what the arithmetic of floats leaves over is no difference.
  round(sum(cost_usd - tariff_usd), 9) as difference_usd,
  provider,
  count(*) as calls,
  count(cost_usd - tariff_usd) as compared_calls,
  count(*) - count(cost_usd) as unpriced_calls,
  count(*) - count(tariff_usd) as tariff_unpriced_calls
from charged
group by model, provider
order by cost_usd desc, model, provider
