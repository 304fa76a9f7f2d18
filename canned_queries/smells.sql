/*
title: Sessions that look wrong
description: >-
  Conspicuous sessions among those that started in the window, the worst first, with a row for each
  smell. context_rotation: over 1,000 tokens of input (fresh, cache read and cache write) and output
  below a tenth of it. loop_trap: over 10 tool calls, one tool over 80 % of them. tool_thrashing:
  over 20 tool calls, of which over 30 % failed. high_error_rate: the session ended in an error;
  high if over 30 % of the window's sessions did. massive_session: over 100,000 tokens without cache
  reads, or over 50 calls. Lost: the status is still running, but there was no call for six hours.
  Datasette shows 1,000 rows of a long window; the command line gives all.
parameters:
  since: {kind: since, default: 30 days}
  until: {kind: until, default: no bound}
  profile: {kind: profile, default: every profile}
units:
  session_id: id
  smell: text
  severity: text
  evidence: text
  started_at: utc
  status: text
  platform: text
  model: text
  provider: text
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
  started as materialized (
    select
      session_id,
      coalesce(tokens_in, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
        as input,
      -- What is read from a cache was counted when it was new.
      coalesce(tokens_in, 0) + coalesce(cache_write_tokens, 0) + coalesce(tokens_out, 0) as tokens,
      coalesce(tokens_out, 0) as output,
      coalesce(api_calls, 0) as calls,
      started_at,
      status,
      platform,
      model,
      provider
    from runs
    where started_at >= (select since_utc from bounds)
      and started_at < (select until_utc from bounds)
      and (
        :profile in ('', profile)
        or session_id in (select session_id from heirs)
      )
  ),
  failed(sessions, of_sessions) as materialized (
    select coalesce(sum(status = 'error'), 0), count(*)
    from started
  ),
  -- The rows of a session are counted in the index before one is read: most sessions use few tools.
  tools(session_id, tool_name, calls, failures) as (
    select started.session_id, tool.tool_name, count(*), sum(tool.ok = 0)
    from started
    cross join tool_calls as tool on tool.session_id = started.session_id
    where (select count(*) from tool_calls where session_id = started.session_id) > 10
      -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
      and tool.tool_name <> 'delegate_task/subagent'
    group by started.session_id, tool.tool_name
  ),
  used(session_id, calls, failures, top_tool, top_calls) as materialized (
    -- Beside max() SQLite takes a bare column from the row that holds the maximum.
    select session_id, sum(calls), sum(failures), tool_name, max(calls)
    from tools
    group by session_id
  ),
  -- Each smell is an arm of its own, so that none hides another; whole numbers are compared, so
  -- that a session at a threshold is not above it.
  found(session_id, smell, severity, evidence) as (
    select
      session_id,
      'context_rotation',
      'high',
      printf('%,d tokens in, %,d out', input, output)
    from started
    where input > 1000
      and output * 10 < input
    union all
    select
      session_id,
      'loop_trap',
      'medium',
      printf('%,d of %,d tool calls are %s', top_calls, calls, top_tool)
    from used
    where calls > 10
      and top_calls * 100 > calls * 80
    union all
    select
      session_id,
      'tool_thrashing',
      'high',
      printf('%,d of %,d tool calls failed', failures, calls)
    from used
    where calls > 20
      and failures * 100 > calls * 30
    union all
    select
      started.session_id,
      'high_error_rate',
      case when failed.sessions * 100 > failed.of_sessions * 30 then 'high' else 'warning' end,
      printf(
        'ended in an error, as %,d of %,d sessions did',
        failed.sessions,
        failed.of_sessions
      )
    from started
    cross join failed
    where started.status = 'error'
    union all
    select
      session_id,
      'massive_session',
      'warning',
      printf('%,d tokens, %,d calls', tokens, calls)
    from started
    where tokens > 100000
       or calls > 50
  )
select
  found.session_id,
  found.smell,
  found.severity,
  found.evidence,
  started.started_at,
  -- Whoever killed the process left no other trace.
  case
    when started.status = 'running'
      and started.started_at < lost_before_utc()
      and not exists (
        select 1
        from llm_calls
        where session_id = started.session_id
          and ts >= lost_before_utc()
      )
      then 'lost'
    else started.status
  end as status,
  started.platform,
  started.model,
  started.provider
from found
join started on started.session_id = found.session_id
order by
  case found.severity when 'high' then 1 when 'medium' then 2 else 3 end,
  -- Long chats all have it: first, it would hide the rest.
  found.smell = 'context_rotation',
  started.started_at desc,
  found.session_id,
  found.smell
