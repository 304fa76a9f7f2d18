/*
title: Cost per day
description: >-
  The cost of each local day, newest first. A call belongs to the day on which it ended.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  day: day
  cost_usd: usd
  calls: count
  tokens_in: tokens
  tokens_out: tokens
  cache_read_tokens: tokens
  unpriced_calls: count
unpriced: {cost_usd: unpriced_calls}
chart: {mark: bar, x: day, x_type: ordinal, y: cost_usd, y_type: quantitative}
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
  )
select
  calendar.day,
  sum(call.cost_usd) as cost_usd,
  count(*) as calls,
  sum(call.tokens_in) as tokens_in,
  sum(call.tokens_out) as tokens_out,
  sum(call.cache_read_tokens) as cache_read_tokens,
  count(*) - count(call.cost_usd) as unpriced_calls
from calendar
-- Cross join: the days first, then one range of the index for each.
cross join llm_calls as call
  on call.ts >= calendar.start_utc
  and call.ts < calendar.stop_utc
where :profile in ('', (select profile from runs where session_id = call.session_id))
   or call.session_id in (select session_id from heirs)
group by calendar.day
order by calendar.day desc
