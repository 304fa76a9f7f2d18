/*
title: Timeline of a turn
description: >-
  The calls, tools and failed attempts of one turn in the order in which they ended, with the cost
  so far and the number of calls without a price so far.
parameters:
  turn_id: {kind: turn, default: no rows}
units:
  ts: utc
  cost_usd: usd
  kind: text
  name: text
  status: text
  ms: ms
  tokens_in: tokens
  tokens_out: tokens
  running_usd: usd
  unpriced_calls: count
unpriced: {cost_usd: exact, running_usd: unpriced_calls}
*/
with
  steps(ts, cost_usd, kind, name, status, ms, tokens_in, tokens_out, unpriced, rank, id) as (
    select
      ts,
      cost_usd,
      'call',
      model,
      case when estimated then 'estimated' else 'ok' end,
      latency_ms,
      tokens_in,
      tokens_out,
      cost_usd is null,
      2,
      id
    from llm_calls
    where turn_id = nullif(:turn_id, '')
    union all
    select
      ts,
      null,
      'tool',
      tool_name,
      case when ok then 'ok' else 'failed' end,
      latency_ms,
      null,
      null,
      0,
      3,
      id
    from tool_calls
    where turn_id = nullif(:turn_id, '')
      -- The stop of a subagent is not a tool: its delegate_task call has a row of its own.
      and tool_name <> 'delegate_task/subagent'
    union all
    select
      ts,
      null,
      'error',
      model,
      coalesce(status_code, nullif(error_type, ''), nullif(reason, ''), 'failed'),
      duration_ms,
      null,
      null,
      0,
      1,
      id
    from llm_call_errors
    where turn_id = nullif(:turn_id, '')
  )
select
  ts,
  cost_usd,
  kind,
  name,
  cast(status as text) as status,
  ms,
  tokens_in,
  tokens_out,
  sum(cost_usd) over so_far as running_usd,
  sum(unpriced) over so_far as unpriced_calls
from steps
window so_far as (order by ts, rank, id)
order by ts, rank, id
