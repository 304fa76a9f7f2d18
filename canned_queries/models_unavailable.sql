/*
title: Models that providers no longer serve
description: >-
  Every model for which a provider answered "no such model", over all time, the latest first: how
  often, since when, and when the model last answered a call. If that is later, it answers again.
units:
  model: text
  occurrences: count
  provider: text
  status: text
  error_code: id
  first_seen_at: utc
  last_seen_at: utc
  last_answered_at: utc
  error_message: text
chart: {mark: bar, x: model, x_type: nominal, y: occurrences, y_type: quantitative}
*/
with
  alerts as materialized (
    select
      *,
      -- Two arms, because one condition for both would not search the provider: where there is
      -- none an alert has '', a call NULL.
      (
        select max(ts)
        from (
          select max(ts) as ts
          from llm_calls as call
          where call.model = alert.model
            and call.provider = alert.provider
          union all
          select max(ts)
          from llm_calls as call
          where call.model = alert.model
            and call.provider is null
            and alert.provider = ''
        )
      ) as last_answered_at
    from model_unavailable_alerts as alert
  )
select
  model,
  occurrences,
  provider,
  case when last_answered_at > last_seen_at then 'answers again' else 'gone' end as status,
  error_code,
  first_seen_at,
  last_seen_at,
  last_answered_at,
  error_message
from alerts
order by last_seen_at desc, model, provider
