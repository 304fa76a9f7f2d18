/*
title: Retry storms
description: >-
  Bursts of failed attempts, newest first: at least the given number of failures of one model at one
  provider within the given number of minutes. Bursts that share an attempt are one storm, from its
  first to its last attempt in the window.
parameters:
  failures: {kind: number, default: "5"}
  minutes: {kind: number, default: "10"}
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  started_at: utc
  attempts: count
  model: text
  provider: text
  ended_at: utc
  sessions: count
  turns: count
  status_codes: text
  wasted_ms: ms
chart:
  mark: circle
  x: started_at
  x_type: temporal
  y: attempts
  y_type: quantitative
  color: model
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
  asked(failures, minutes) as materialized (
    select
      cast(coalesce(nullif(:failures, ''), 5) as integer),
      cast(coalesce(nullif(:minutes, ''), 10) as integer)
  ),
  failures(model, provider, session_id, turn_id, ts, status_code, duration_ms, place, seconds)
  as materialized (
    select
      model,
      provider,
      session_id,
      turn_id,
      ts,
      status_code,
      duration_ms,
      row_number() over (partition by model, provider order by ts, id),
      cast(strftime('%s', ts) as integer)
    from llm_call_errors
    where ts >= (select since_utc from bounds)
      and ts < (select until_utc from bounds)
      and (
        :profile in ('', (select profile from runs where session_id = llm_call_errors.session_id))
        or session_id in (select session_id from heirs)
      )
  ),
  -- A failure opens a burst when the last of as many as asked for comes soon enough.
  opening(model, provider, place) as materialized (
    select first.model, first.provider, first.place
    from failures as first
    cross join asked
    join failures as last
      on last.model = first.model
      and last.provider = first.provider
      and last.place = first.place + asked.failures - 1
    where last.seconds - first.seconds <= asked.minutes * 60
  ),
  -- A burst that begins behind the end of the one before begins a storm.
  bursts(model, provider, place, begins) as (
    select
      opening.model,
      opening.provider,
      opening.place,
      coalesce(
        opening.place - lag(opening.place) over (
          partition by opening.model, opening.provider order by opening.place
        ) >= asked.failures,
        1
      )
    from opening
    cross join asked
  ),
  numbered(model, provider, place, storm) as (
    select
      model,
      provider,
      place,
      sum(begins) over (partition by model, provider order by place)
    from bursts
  ),
  storms(model, provider, first_place, last_place) as materialized (
    select numbered.model, numbered.provider, min(numbered.place), max(numbered.place)
      + asked.failures - 1
    from numbered
    cross join asked
    group by numbered.model, numbered.provider, numbered.storm
  )
select
  min(failures.ts) as started_at,
  count(*) as attempts,
  storms.model,
  storms.provider,
  max(failures.ts) as ended_at,
  count(distinct failures.session_id) as sessions,
  count(distinct nullif(failures.turn_id, '')) as turns,
  group_concat(distinct failures.status_code) as status_codes,
  sum(failures.duration_ms) as wasted_ms
from storms
cross join failures
  on failures.model = storms.model
  and failures.provider = storms.provider
  and failures.place between storms.first_place and storms.last_place
group by storms.model, storms.provider, storms.first_place
order by started_at desc, storms.model, storms.provider
