/*
title: Free models and those that now cost
description: >-
  Every model id that was known to be free, over all time: since when, and if it flipped to paid,
  when, in which session, at which first cost, and what the paid id has cost since. price_changes
  shows which rates of the host's tariffs rose.
units:
  model: text
  spend_since_usd: usd
  provider: text
  status: text
  first_free_seen_at: utc
  flipped_at: utc
  first_paid_cost_usd: usd
  session_id: id
  calls_since: count
  paid_model: text
  unpriced_calls: count
unpriced: {spend_since_usd: unpriced_calls, first_paid_cost_usd: exact}
*/
with
  -- The free id that explains a flip: the same id first, else the ":free" id whose suffix was
  -- dropped or replaced at a token boundary. A free id without a provider is free everywhere, but
  -- tells of no rename anywhere.
  candidates as (
    select
      flip.model as paid_model,
      flip.provider as paid_provider,
      flip.detected_at,
      free.model,
      free.provider,
      row_number() over (
        partition by flip.model, flip.provider
        order by
          lower(free.model) <> lower(flip.model),
          free.provider = '',
          length(free.model) desc,
          free.model
      ) as choice
    from free_paid_transitions as flip
    join known_free_models as free
      on free.provider in (flip.provider, '')
      and (
        lower(free.model) = lower(flip.model)
        or (
          -- The id without ":free" begins the paid id; nothing or a separator follows it there.
          free.provider <> ''
          and substr(lower(free.model), -5) = ':free'
          and substr(lower(flip.model), -5) <> ':free'
          and length(free.model) > 5
          and substr(lower(flip.model), 1, length(free.model) - 5) || ':free' = lower(free.model)
          and substr(flip.model, length(free.model) - 4, 1) in ('', '-', ':', '/', '_')
        )
      )
  ),
  flips as (
    select
      *,
      row_number() over (
        partition by model, provider
        order by detected_at, paid_model, paid_provider
      ) as turn
    from candidates
    where choice = 1
  ),
  history(model, provider, first_free_seen_at, paid_model, flipped_at, first_paid_usd, session_id)
  as materialized (
    select
      free.model,
      free.provider,
      free.first_seen_at,
      flips.paid_model,
      flip.detected_at,
      flip.first_paid_cost_usd,
      flip.session_id
    from known_free_models as free
    -- The first flip alone: one row for each free id.
    left join flips
      on flips.model = free.model
      and flips.provider = free.provider
      and flips.turn = 1
    left join free_paid_transitions as flip
      on flip.model = flips.paid_model
      and flip.provider = flips.paid_provider
    union all
    -- A flip outlives the row of the free id.
    select
      flip.model,
      flip.provider,
      flip.first_free_seen_at,
      flip.model,
      flip.detected_at,
      flip.first_paid_cost_usd,
      flip.session_id
    from free_paid_transitions as flip
    where not exists (
      select 1
      from candidates
      where candidates.paid_model = flip.model
        and candidates.paid_provider = flip.provider
    )
  ),
  -- Two arms, because one condition for both would not search the provider. Bounds are prefixes:
  -- the flip's own call counts. Read flip by flip the calls, which are many, need no sorting into
  -- groups.
  spent(paid_model, provider, usd, calls, priced_calls) as materialized (
    select flip.model, flip.provider, sum(call.cost_usd), count(*), count(call.cost_usd)
    from free_paid_transitions as flip
    cross join llm_calls as call
      on call.model = flip.model
      and call.provider = flip.provider
      and call.ts >= substr(flip.detected_at, 1, 19)
    where flip.provider <> ''
    group by flip.rowid
    union all
    select history.paid_model, '', sum(call.cost_usd), count(*), count(call.cost_usd)
    from history
    cross join llm_calls as call
      on call.model = history.paid_model
      and call.ts >= substr(history.flipped_at, 1, 19)
    where history.provider = ''
    group by history.paid_model
  )
select
  history.model,
  spent.usd as spend_since_usd,
  history.provider,
  case when history.flipped_at is null then 'free' else 'flipped' end as status,
  history.first_free_seen_at,
  history.flipped_at,
  history.first_paid_usd as first_paid_cost_usd,
  history.session_id,
  coalesce(spent.calls, 0) as calls_since,
  history.paid_model,
  coalesce(spent.calls - spent.priced_calls, 0) as unpriced_calls
from history
left join spent
  on spent.paid_model = history.paid_model
  and spent.provider = history.provider
order by history.flipped_at desc, history.first_free_seen_at desc, history.model, history.provider
