/*
title: What the prompt cache saved
description: >-
  For each local day, the input tokens of each kind (fresh, cache read, cache write), their cost at
  the rates that each call was charged, and how much less that is than at the input rate. Writing to
  the cache can cost more. A call whose rates are not recorded counts as unpriced here. Datasette
  shows 1,000 rows of a long window; the command line gives all.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  day: day
  cost_usd: usd
  kind: text
  tokens: tokens
  saved_usd: usd_difference
  calls: count
  unpriced_calls: count
unpriced: {cost_usd: unpriced_calls}
chart: {mark: bar, x: day, x_type: ordinal, y: cost_usd, y_type: quantitative, color: kind}
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
  -- The first ts of each UTC day, found from the one before by the index on ts. Each is a later
  -- text, whatever it says: one that is no time hides no other.
  firsts(ts) as (
    select min(ts)
    from llm_calls
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
    union all
    select (
      select min(ts)
      from llm_calls
      -- '~' sorts behind whatever follows the date in a time.
      where ts > max(firsts.ts, iif(length(firsts.ts) > 10, substr(firsts.ts, 1, 10) || '~', ''))
        and ts < (select until_utc from bounds)
    )
    from firsts
    where firsts.ts is not null
  ),
  -- The local day of an instant is its UTC day or a neighbour of it.
  local_days(day) as (
    select date(substr(ts, 1, 10), '-1 day') from firsts
    union
    select date(substr(ts, 1, 10)) from firsts
    union
    select date(substr(ts, 1, 10), '+1 day') from firsts
  ),
  -- Materialized: the function runs once a day, not once a row.
  calendar(day, start_utc, stop_utc) as materialized (
    select
      local_days.day,
      max(day_start_utc(local_days.day, telemetry_zone()), bounds.since_utc),
      min(
        coalesce(
          day_start_utc(date(local_days.day, '+1 day'), telemetry_zone()),
          bounds.until_utc
        ),
        bounds.until_utc
      )
    from local_days
    cross join bounds
    -- Neither NULL nor before the calendar begins.
    where local_days.day > '0001'
  ),
  -- Few groups are left to be multiplied: calls share prices.
  counted(day, price_id, fresh, fresh_calls, read, read_calls, written, written_calls)
  as materialized (
    select
      calendar.day,
      record.price_id,
      sum(call.tokens_in),
      sum(call.tokens_in > 0),
      sum(call.cache_read_tokens),
      sum(call.cache_read_tokens > 0),
      sum(call.cache_write_tokens),
      sum(call.cache_write_tokens > 0)
    from calendar
    -- Cross join: the days first, then one range of the index for each.
    cross join llm_calls as call
      on call.ts >= calendar.start_utc
      and call.ts < calendar.stop_utc
    left join llm_call_prices as record on record.call_id = call.id
    where :profile in ('', (select profile from runs where session_id = call.session_id))
       or call.session_id in (select session_id from heirs)
    group by calendar.day, record.price_id
  ),
  kinds(day, place, kind, tokens, calls, rate, input_rate) as (
    select counted.day, 1, 'fresh', fresh, fresh_calls, price.input, price.input
    from counted
    left join prices_used as price on price.id = counted.price_id
    union all
    select
      counted.day,
      2,
      'cache read',
      read,
      read_calls,
      coalesce(price.cache_read, price.input),
      price.input
    from counted
    left join prices_used as price on price.id = counted.price_id
    union all
    select
      counted.day,
      3,
      'cache write',
      written,
      written_calls,
      coalesce(price.cache_write, price.input),
      price.input
    from counted
    left join prices_used as price on price.id = counted.price_id
  )
select
  day,
  sum(tokens * rate) / 1000000.0 as cost_usd,
  kind,
  sum(tokens) as tokens,
  -- To the nano-dollar: what the arithmetic of floats leaves over is no saving.
  round(sum(tokens * (input_rate - rate)) / 1000000.0, 9) as saved_usd,
  sum(calls) as calls,
  sum(calls * (rate is null)) as unpriced_calls
from kinds
where calls > 0
group by day, place
order by day desc, place
