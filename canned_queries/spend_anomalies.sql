/*
title: Days that cost more than usual
description: >-
  Local days whose cost is above the median of the 28 days before by more than 3 median absolute
  deviations and by more than 20 % of the median, newest first. Days without a priced call are left
  out of those 28, and with fewer than 7 left a day is not judged. Today is judged by its cost so
  far.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  day: day
  cost_usd: usd
  median_usd: usd
  over_usd: usd_difference
  deviation_usd: usd_difference
  history_days: count
  calls: count
  unpriced_calls: count
  history_unpriced_calls: count
unpriced: {cost_usd: unpriced_calls, median_usd: history_unpriced_calls}
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
  -- The window and the days before it, of which there are two more than the 28: a local day is not
  -- one of UTC, and one that the window's edge cuts must not be compared with.
  reach(since_utc, until_utc) as materialized (
    select strftime('%Y-%m-%dT%H:%M:%S', since_utc, '-30 days'), until_utc
    from bounds
  ),
  -- The first ts of each UTC day, found from the one before by the index on ts. Each is a later
  -- text, whatever it says: one that is no time hides no other.
  firsts(ts) as (
    select min(ts)
    from llm_calls
    where ts >= (select since_utc from reach)
      and ts < (select until_utc from reach)
    union all
    select (
      select min(ts)
      from llm_calls
      -- '~' sorts behind whatever follows the date in a time.
      where ts > max(firsts.ts, iif(length(firsts.ts) > 10, substr(firsts.ts, 1, 10) || '~', ''))
        and ts < (select until_utc from reach)
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
      max(day_start_utc(local_days.day, telemetry_zone()), reach.since_utc),
      min(
        coalesce(
          day_start_utc(date(local_days.day, '+1 day'), telemetry_zone()),
          reach.until_utc
        ),
        reach.until_utc
      )
    from local_days
    cross join reach
    -- Neither NULL nor before the calendar begins.
    where local_days.day > '0001'
  ),
  daily as materialized (
    select
      calendar.day,
      calendar.start_utc,
      sum(call.cost_usd) as usd,
      count(*) as calls,
      count(*) - count(call.cost_usd) as unpriced_calls
    from calendar
    -- Cross join: the days first, then one range of the index for each.
    cross join llm_calls as call
      on call.ts >= calendar.start_utc
      and call.ts < calendar.stop_utc
    where :profile in ('', (select profile from runs where session_id = call.session_id))
       or call.session_id in (select session_id from heirs)
    group by calendar.day
  ),
  -- Each day that begins in the window with each day before it.
  history(day, usd, unpriced_calls, place, days) as (
    select
      judged.day,
      past.usd,
      past.unpriced_calls,
      row_number() over (partition by judged.day order by past.usd),
      count(*) over (partition by judged.day)
    from daily as judged
    join daily as past
      on past.day >= date(judged.day, '-28 days')
      and past.day < judged.day
    where judged.start_utc >= (select since_utc from bounds)
      and past.usd is not null
  ),
  -- The median of an even number lies half-way between the two in the middle.
  medians(day, usd, days, unpriced_calls) as materialized (
    select
      day,
      sum(usd) filter (where place in ((days + 1) / 2, days / 2 + 1))
        / count(*) filter (where place in ((days + 1) / 2, days / 2 + 1)),
      days,
      sum(unpriced_calls)
    from history
    group by day
    having days >= 7
  ),
  deviations(day, usd, place, days) as (
    select
      medians.day,
      abs(history.usd - medians.usd),
      row_number() over (partition by medians.day order by abs(history.usd - medians.usd)),
      medians.days
    from medians
    join history on history.day = medians.day
  ),
  spreads(day, usd) as materialized (
    select
      day,
      sum(usd) / count(*)
    from deviations
    where place in ((days + 1) / 2, days / 2 + 1)
    group by day
  )
select
  daily.day,
  daily.usd as cost_usd,
  medians.usd as median_usd,
  -- To the nano-dollar: what the arithmetic of floats leaves over is no difference.
  round(daily.usd - medians.usd, 9) as over_usd,
  round(spreads.usd, 9) as deviation_usd,
  medians.days as history_days,
  daily.calls,
  daily.unpriced_calls,
  medians.unpriced_calls as history_unpriced_calls
from medians
join daily on daily.day = medians.day
join spreads on spreads.day = medians.day
-- A nano-dollar more: sums of the same amounts differ in their last digits.
where daily.usd > medians.usd + max(3 * spreads.usd, 0.2 * medians.usd) + 1e-9
order by daily.day desc
