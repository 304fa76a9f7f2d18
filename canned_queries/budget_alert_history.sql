/*
title: Budget alerts
description: >-
  The newest 1,000 budget alerts: when a soft or hard limit was crossed or a cron job was paused,
  for which local day or month, with the limit and what had been spent. Calls without a price are
  not in the amount spent, and their number was not recorded, so it is a lower bound.
units:
  fired_at: utc
  spent_usd: usd_at_least
  limit_usd: usd
  scope: text
  scope_id: id
  name: text
  window: text
  period_key: text
  level: text
  spent_share: share
unpriced: {limit_usd: exact}
chart:
  mark: circle
  x: fired_at
  x_type: temporal
  y: spent_usd
  y_type: quantitative
  color: level
*/
select
  fired_at,
  spent_usd,
  limit_usd,
  scope,
  scope_id,
  case scope
    when 'global' then 'everything'
    when 'cron_job' then cron_job_name(scope_id)
    else scope_id
  end as name,
  window,
  period_key,
  level,
  -- NULL where the limit is 0.
  spent_usd / limit_usd as spent_share
from budget_alerts
order by fired_at desc, id desc
limit 1000
