/*
title: Which prices rose or fell
description: >-
  Every change of a rate in the host's tariffs, newest first, with the rate before (as last stated)
  and after it.
  Rates are per million tokens, "request" is per call. A rise from 0 reads "from 0" and has no per
  cent. price_history has the whole tariffs, free_paid_history the models that were free;
  hermes-telemetry pricing show MODEL shows the prices that calls were recorded at.
parameters:
  model: {kind: model, default: every model}
units:
  model: text
  changed_at: utc
  rate: text
  change: text
  usd_before: rate
  usd_after: rate
  change_pct: percent
  provider: text
  source: text
  pricing_version: text
*/
with
  rates(id, model, provider, captured_at, source, pricing_version, place, name, usd) as (
    select
      tariff.id,
      tariff.model,
      tariff.provider,
      tariff.captured_at,
      tariff.source,
      tariff.pricing_version,
      rate.column1,
      rate.column2,
      case rate.column2
        when 'input' then input_cost_per_million
        when 'output' then output_cost_per_million
        when 'cache read' then cache_read_cost_per_million
        when 'cache write' then cache_write_cost_per_million
        else request_cost
      end
    from pricing_snapshots as tariff
    cross join (
      values (1, 'input'), (2, 'output'), (3, 'cache read'), (4, 'cache write'), (5, 'request')
    ) as rate
    where :model = ''
       or tariff.model = :model
  ),
  -- Not by id alone: a snapshot that had to wait came in later than it was taken.
  changes as (
    select
      *,
      lag(usd) over (partition by provider, model, place order by captured_at, id) as usd_before
    from rates
    -- A tariff that does not state a rate says nothing of it: the last that did is compared with.
    where usd is not null
  )
select
  model,
  captured_at as changed_at,
  name as rate,
  case
    when usd_before = 0 then 'from 0'
    when usd = 0 then 'to 0'
    when usd > usd_before then 'rise'
    else 'cut'
  end as change,
  usd_before,
  usd as usd_after,
  -- From 0 there is no per cent: SQLite divides by 0 to NULL.
  100.0 * (usd - usd_before) / usd_before as change_pct,
  provider,
  source,
  pricing_version
from changes
where usd <> usd_before
order by captured_at desc, id desc, place
