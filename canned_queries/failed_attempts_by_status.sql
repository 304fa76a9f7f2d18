/*
title: Failed attempts by status
description: >-
  Failed requests to a model by status (NULL: no answer), with the number of sessions and turns
  affected, each counted once, and the time spent.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  status_code: id
  attempts: count
  sessions: count
  turns: count
  wasted_ms: ms
  last_seen_at: utc
chart: {mark: bar, x: status_code, x_type: nominal, y: attempts, y_type: quantitative}
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
  )
select
  error.status_code,
  count(*) as attempts,
  count(distinct error.session_id) as sessions,
  count(distinct nullif(error.turn_id, '')) as turns,
  sum(error.duration_ms) as wasted_ms,
  max(error.ts) as last_seen_at
from llm_call_errors as error
where error.ts >= (select since_utc from bounds)
  and error.ts < (select until_utc from bounds)
  and (
    :profile in ('', (select profile from runs where session_id = error.session_id))
    or error.session_id in (select session_id from heirs)
  )
group by error.status_code
order by attempts desc, error.status_code
