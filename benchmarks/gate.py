"""How long the budget gate takes before a tool call, in real time, and what it does when the ledger
does not answer.

    python benchmarks/gate.py [--calls 1000000] [--asked 2000] [--seconds 60]

The ledger holds so many calls over 365 days; the session that asks is a subagent of a cron job's
run, with a sender and a profile: eight limits in four scopes. Before each question this process has
written, so that no total is still good. One line a case; the exit code is 1 if one fails its goal.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from children import settle
from locked_out import EXCLUSIVELY, IN_A_TRANSACTION, held

os.environ["HERMES_TELEMETRY_NO_SETUP"] = "1"

from hermes_telemetry.paths import database_path, pricing_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.migrations import migrate

Hooks = Mapping[str, Callable[..., Any]]

CRON = "cron_job3_20260101_030000"
CHILD = "subagent of the cron job's run"

CALLS_A_SESSION = 25
SECONDS = 365 * 86400
# Every fourth session is a cron job's, every fifth a subagent of the one before.
FILL = (
    """
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < :sessions)
    insert into runs (session_id, started_at, platform, cron_job_id, sender_id, profile, status)
    select
      's' || i,
      strftime('%Y-%m-%dT%H:%M:%S', :now - :seconds + i * (:seconds / :sessions),
        'unixepoch') || '.000000+00:00',
      iif(i % 4, 'cli', 'cron'),
      iif(i % 4, null, 'job' || (i % 20)),
      iif(i % 3, 'sender' || (i % 50), null),
      'profile' || (i % 3),
      'ok'
    from n
    """,
    """
    with recursive n(i) as (select 4 union all select i + 5 from n where i + 5 < :sessions)
    insert into subagent_edges (child_session_id, parent_session_id, started_at)
    select 's' || i, 's' || (i - 1), '2026-01-01T00:00:00.000000+00:00'
    from n
    """,
    """
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < :calls)
    insert into llm_calls (session_id, ts, model, provider, tokens_in, cost_usd)
    select
      's' || (i / :each),
      strftime('%Y-%m-%dT%H:%M:%S', :now - :seconds + cast(i as real) * :seconds / :calls,
        'unixepoch') || '.000000+00:00',
      'model' || (i % 7),
      'provider',
      1000,
      iif(i % 50, 0.001 * (i % 9), null)
    from n
    """,
)
NEW_CALL = """
    insert into llm_calls (session_id, ts, cost_usd)
    select 's' || (max(id) % 1000), strftime('%Y-%m-%dT%H:%M:%S', 'now') || '.000000+00:00', 0.001
    from llm_calls
"""
NEW_EDGE = """
    insert into subagent_edges (child_session_id, parent_session_id, started_at)
    select 's' || (5 * max(rowid) + 2), 's0', '2026-01-01T00:00:00.000000+00:00'
    from subagent_edges
"""
TOO_MUCH = """
    insert into llm_calls (session_id, ts, cost_usd)
    values (?, strftime('%Y-%m-%dT%H:%M:%S', 'now') || '.000000+00:00', 2000000)
"""
ADOPTION = """
    insert into subagent_edges (child_session_id, parent_session_id, started_at)
    values (?, ?, '2026-01-01T00:00:00.000000+00:00')
"""
ELSEWHERE = "of no job, sender or profile so far"

OPEN = "the budget gate is open"
TWO_MILLIONS = 2_000_000.0
ENOUGH, SPENT = TWO_MILLIONS / 2, 0.001
"""Limits in USD: one that a call of `TOO_MUCH` exceeds, one that one of a cent does, too."""

LOOKED_AT_S = 1.1
"""budget.yaml is looked at once a second."""


@dataclass(frozen=True)
class Answers:
    """How many tools were blocked, and the milliseconds that each question took: of time, and of
    this process's work, which is what other processes cannot lengthen.
    """

    blocked: int
    times: list[float]
    work: list[float]


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls in the ledger")
    parser.add_argument("--asked", type=int, default=2000, help="questions per case")
    parser.add_argument("--seconds", type=float, default=60, help="how long the ledger is held")
    asked = parser.parse_args()
    # What the recorder says belongs into no list of figures.
    logging.getLogger("hermes_telemetry").addHandler(logging.NullHandler())
    columns = ("p50 ms", "p99 ms", "worst", "CPU p99")
    print(f"{'case':34} {' '.join(f'{column:>8}' for column in columns)}   goal")
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        passed += loaded(Path(folder), asked)
    with tempfile.TemporaryDirectory() as folder:
        passed += [new_under_exclusive_lock(Path(folder), asked)]
    return 0 if all(passed) else 1


def loaded(home: Path, asked: argparse.Namespace) -> Iterator[bool]:
    """The cases in which the totals are known: whether each reached its goal."""
    fill(home, asked.calls)
    set_limits(home, ENOUGH)
    hooks = begin(home)
    few = max(1, asked.asked // 10)
    answers = ask(hooks, asked.asked)
    yield report("limits far away", answers, 1, "no tool is blocked", answers.blocked == 0)

    with closing(sqlite3.connect(database_path(home), timeout=30, isolation_level=None)) as other:
        answers = ask(hooks, few, before=lambda: other.execute(NEW_CALL))
        # What no job, sender or profile has spent counts once its session is a subagent of one.
        other.execute(TOO_MUCH, (ELSEWHERE,))
        unmoved = ask(hooks, 1).blocked == 0
        other.execute(TOO_MUCH, (CHILD,))
        seen = answers.blocked == 0 and unmoved and ask(hooks, 1).blocked == 1
        yield report("a new call of another process", answers, 1, "seen", seen)

        set_limits(home, 1.5 * TWO_MILLIONS)
        time.sleep(LOOKED_AT_S)
        answers = ask(hooks, few, before=lambda: other.execute(NEW_EDGE))
        other.execute(ADOPTION, (ELSEWHERE, CHILD))
        seen = answers.blocked == 0 and ask(hooks, 1).blocked == 1
        yield report("an edge moves a session", answers, 1, "seen", seen)

    set_limits(home, SPENT)
    time.sleep(LOOKED_AT_S)
    spend_a_cent(hooks)
    answers = ask(hooks, asked.asked)
    yield report("all limits spent", answers, 1, "all blocked", answers.blocked == asked.asked)

    with held(database_path(home), IN_A_TRANSACTION):
        answers = ask(hooks, few, asked.seconds)
    name = f"the same, ledger held {asked.seconds:g} s"
    yield report(name, answers, 50, "all blocked", answers.blocked == few)


def new_under_exclusive_lock(home: Path, asked: argparse.Namespace) -> bool:
    """A recorder that starts while another process does not even let it read."""
    fill(home, calls=1000)
    set_limits(home, SPENT)
    said: list[str] = []
    ear = logging.Handler()
    ear.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("hermes_telemetry").addHandler(ear)
    with held(database_path(home), EXCLUSIVELY):
        answers = ask(begin(home), max(1, asked.asked // 10))
    once = sum(line.startswith(OPEN) for line in said) == 1
    name = "new under locking_mode=EXCLUSIVE"
    return report(name, answers, 50, "open, said once", answers.blocked == 0 and once)


def report(name: str, answers: Answers, goal_ms: float, promise: str, kept: bool) -> bool:
    p50, p99, worst = (quantile(answers.times, share) for share in (0.5, 0.99, 1))
    figures = (p50, p99, worst, quantile(answers.work, 0.99))
    result = "WRONG" if not kept else "pass" if p99 <= goal_ms else "SLOW"
    print(
        f"{name:34} {' '.join(f'{figure:8.3f}' for figure in figures)}"
        f"   p99 <= {goal_ms:g} ms, {promise}: {result}",
        flush=True,
    )
    return result == "pass"


def begin(home: Path) -> Hooks:
    """A process's hooks, in which the session that will ask has begun and totals are loaded."""
    hooks = Recorder(home, profile=lambda: "profile1").hooks()
    hooks["on_session_start"](session_id=CRON, platform="cron")
    hooks["pre_llm_call"](session_id=CRON, platform="cron", sender_id="sender1")
    hooks["subagent_start"](child_session_id=CHILD, parent_session_id=CRON)
    settle()
    return hooks


def ask(
    hooks: Hooks, count: int, seconds: float = 0, before: Callable[[], object] = lambda: None
) -> Answers:
    """Ask so often, spread over so many seconds; ``before`` happens before each question."""
    times, works, blocked = [], [], 0
    until = time.monotonic() + seconds
    for number in range(count):
        before()
        # A write of our own, after which no total counts as good.
        hooks["post_tool_call"](session_id=CHILD, tool_name="terminal", status="ok")
        began, work = time.perf_counter(), time.thread_time()
        answer = hooks["pre_tool_call"](session_id=CHILD, tool_name="terminal", args={})
        works.append((time.thread_time() - work) * 1000)
        times.append((time.perf_counter() - began) * 1000)
        blocked += answer is not None
        left = until - time.monotonic()
        if left > 0:
            time.sleep(left / (count - number))
    return Answers(blocked, times, works)


def spend_a_cent(hooks: Hooks) -> None:
    hooks["post_api_request"](
        session_id=CHILD,
        turn_id="t",
        api_request_id="t:api:1",
        model="paid",
        provider="custom",
        usage={"input_tokens": 1000},
    )


def set_limits(home: Path, usd: float) -> None:
    """Limit a job, a sender and a profile to so much, and all together to ten times that."""
    limits = {"daily_usd": usd, "monthly_usd": usd}
    overall = {"daily_usd": 10 * usd, "monthly_usd": 10 * usd}
    scopes = {f"per_{scope}": {"default": limits} for scope in ("cron_job", "sender", "profile")}
    text = json.dumps({"budgets": {"global": overall, **scopes}, "timezone": "Europe/Madrid"})
    (home / "budget.yaml").write_text(text)  # JSON is YAML


def fill(home: Path, calls: int) -> None:
    """Make the ledger, and prices for one model."""
    pricing_path(home).write_text("models: {paid: {input: 10, output: 0}}\n")
    migrate(database_path(home))
    values = {
        "calls": calls,
        "each": CALLS_A_SESSION,
        "sessions": max(5, calls // CALLS_A_SESSION),
        "now": int(time.time()),
        "seconds": SECONDS,
    }
    with closing(sqlite3.connect(database_path(home))) as conn, conn:
        for statement in FILL:
            conn.execute(statement, values)


if __name__ == "__main__":
    sys.exit(main())
