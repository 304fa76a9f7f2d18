/*
title: What the host charged, and when that changed
description: >-
  The host's tariffs as intervals, newest first. Each holds until the next one of the same model
  and provider; of two with the same time, the one recorded later counts. change_pct is for the
  rate that changed most since the interval before (at a tie the first of input, output, cache
  read, cache write, request). A rise from 0 has no per cent: change says "from 0". price_changes
  lists each changed rate, free_paid_history the models that were free.
parameters:
  model: {kind: model, default: every model}
units:
  valid_from: utc
  input_usd_per_million: rate
  valid_to: utc
  output_usd_per_million: rate
  cache_read_usd_per_million: rate
  cache_write_usd_per_million: rate
  change_pct: percent
  provider: text
  model: text
  source: text
  pricing_version: text
  change: text
chart:
  mark: circle
  x: valid_from
  x_type: temporal
  y: input_usd_per_million
  y_type: quantitative
  color: model
*/
with
  intervals as materialized (
    select
      *,
      lead(captured_at) over of_pair as valid_to,
      lag(id) over of_pair as former_id
    from pricing_snapshots
    where :model = ''
       or model = :model
    -- Not by id alone: a snapshot that had to wait came in later than it was taken.
    window of_pair as (partition by provider, model order by captured_at, id)
  ),
  rates(id, former_id, place, rate) as (
    select id, former_id, 1, input_cost_per_million from intervals
    union all
    select id, former_id, 2, output_cost_per_million from intervals
    union all
    select id, former_id, 3, cache_read_cost_per_million from intervals
    union all
    select id, former_id, 4, cache_write_cost_per_million from intervals
    union all
    select id, former_id, 5, request_cost from intervals
  ),
  -- From nothing to something there is no part by which a rate changed, and nothing is more.
  changes(id, place, change, kind) as (
    select
      now.id,
      now.place,
      case when now.rate = former.rate then 0.0 else (now.rate - former.rate) / former.rate end,
      case
        when now.rate = former.rate then 'none'
        when former.rate = 0 then 'from 0'
        when now.rate = 0 then 'to 0'
        when now.rate > former.rate then 'rise'
        else 'cut'
      end
    from rates as now
    join rates as former
      on former.id = now.former_id
      and former.place = now.place
    -- Where one of the two did not state the rate, nobody knows by how much it changed.
    where now.rate is not null
      and former.rate is not null
  ),
  ranked(id, pct, kind, choice) as (
    select
      id,
      100.0 * change,
      kind,
      row_number() over (partition by id order by change is null desc, abs(change) desc, place)
    from changes
  )
select
  intervals.captured_at as valid_from,
  intervals.input_cost_per_million as input_usd_per_million,
  intervals.valid_to,
  intervals.output_cost_per_million as output_usd_per_million,
  intervals.cache_read_cost_per_million as cache_read_usd_per_million,
  intervals.cache_write_cost_per_million as cache_write_usd_per_million,
  ranked.pct as change_pct,
  intervals.provider,
  intervals.model,
  intervals.source,
  intervals.pricing_version,
  case when intervals.former_id is null then 'first' else ranked.kind end as change
from intervals
left join ranked
  on ranked.id = intervals.id
  and ranked.choice = 1
order by intervals.captured_at desc, intervals.id desc
