/*
title: What the host charged, and when that changed
description: >-
  The host's tariffs as intervals, newest first: each holds until the next one of the same model
  and provider. The change is that of the rate that changed most against the interval before;
  from nothing to something there is no per cent.
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
  rates(id, former_id, kind, rate) as (
    select id, former_id, 'input', input_cost_per_million from intervals
    union all
    select id, former_id, 'output', output_cost_per_million from intervals
    union all
    select id, former_id, 'cache read', cache_read_cost_per_million from intervals
    union all
    select id, former_id, 'cache write', cache_write_cost_per_million from intervals
    union all
    select id, former_id, 'request', request_cost from intervals
  ),
  changes(id, change, from_nothing) as (
    select
      now.id,
      case when now.rate = former.rate then 0.0 else (now.rate - former.rate) / former.rate end,
      former.rate = 0 and now.rate > 0
    from rates as now
    join rates as former
      on former.id = now.former_id
      and former.kind = now.kind
    -- Where one of the two did not state the rate, nobody knows by how much it changed.
    where now.rate is not null
      and former.rate is not null
  ),
  largest(id, pct, size) as (
    select
      id,
      -- Beside max() SQLite takes a bare column from the row that holds the maximum.
      case when total(from_nothing) = 0 then 100.0 * change end,
      max(abs(change))
    from changes
    group by id
  )
select
  intervals.captured_at as valid_from,
  intervals.input_cost_per_million as input_usd_per_million,
  intervals.valid_to,
  intervals.output_cost_per_million as output_usd_per_million,
  intervals.cache_read_cost_per_million as cache_read_usd_per_million,
  intervals.cache_write_cost_per_million as cache_write_usd_per_million,
  largest.pct as change_pct,
  intervals.provider,
  intervals.model,
  intervals.source,
  intervals.pricing_version
from intervals
left join largest on largest.id = intervals.id
order by intervals.captured_at desc, intervals.id desc
