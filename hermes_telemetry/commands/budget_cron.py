"""`budget cron`: the host's cron jobs with what each may spend, has spent, and how to resume it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import add_command, add_inherited_options, ledger_path, screen

if TYPE_CHECKING:
    import sqlite3

    from ..budget.config import Budget
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`budget cron [--json]`."""
    parser = add_command(
        commands,
        "cron",
        does="show each cron job's limits, spend and state, and how to resume it",
        example="--json",
        handler=run,
    )
    add_inherited_options(parser)


def run(namespace: argparse.Namespace) -> int:
    """Prints the jobs that the host has and those that spent something this month."""
    from . import limits, output
    from .figures import asking

    path = ledger_path(namespace)
    file, zone = limits.budget_and_zone(path)
    with asking(path, zone) as ledger:
        jobs = _jobs(ledger, file.current(), zone)
    shown = screen(namespace)
    if namespace.json:
        content = {"timezone": zone, "config_error": file.error, "jobs": jobs}
        shown.to.write(strict_json.text(content) + "\n")
        return 0
    limits.say_fault(shown, file)
    if not jobs:
        output.say(shown, "The host has no cron jobs, and none spent anything this month.")
        return 0
    columns = list(_COLUMNS.values())
    rows = []
    for job in jobs:
        told = job | {"name": output.cut(job["name"], _LONGEST_NAME), "state": _state(job)}
        rows.append(tuple(told[key] for key in _COLUMNS))
    output.write_table(shown.to, columns, rows, _UNITS, _LOWER_BOUNDS, shown.columns)
    for job in jobs:
        if job["paused"]:
            reason = f" ({job['paused_reason'].rstrip('.')})" if job["paused_reason"] else ""
            output.say(shown, f"{job['name']} is paused{reason}. Resume it: {job['resume']}")
    return 0


# With it, the limits of a job fit into a chat.
_LONGEST_NAME = 24
_COLUMNS = {
    "name": "job",
    "state": "state",
    "daily_spent_usd": "today",
    "daily_limit_usd": "a day",
    "monthly_spent_usd": "month",
    "monthly_limit_usd": "a month",
    "cron_job_id": "id",
    "daily_unpriced_calls": "unpriced today",
    "monthly_unpriced_calls": "unpriced",
}
_UNITS = {
    "today": "usd",
    "a day": "usd",
    "month": "usd",
    "a month": "usd",
    "unpriced today": "count",
    "unpriced": "count",
}
_LOWER_BOUNDS = {"today": "unpriced today", "month": "unpriced"}


def _jobs(ledger: sqlite3.Connection, budget: Budget, zone: str) -> list[dict[str, Any]]:
    from ..budget.verdicts import WINDOWS, judge, window_of
    from ..cron_jobs import cron_jobs, resume_command
    from ..store.spend import Spend, span_of, spend_of_each
    from ..windows import SYSTEM_CLOCK, local_day

    today = local_day(SYSTEM_CLOCK.now(), zone)
    known = cron_jobs()
    spent = spend_of_each(ledger, [span_of(window_of(name, today, zone)) for name in WINDOWS])
    spenders = sorted(scope_id for scope, scope_id in spent if scope == "cron_job")
    jobs = []
    for job_id in dict.fromkeys([*known, *spenders]):
        windows = spent.get(("cron_job", job_id), {})
        job = known.get(job_id)
        content: dict[str, Any] = {
            "cron_job_id": job_id,
            "name": job.name if job else job_id,
            # Removed from the host's list since it ran, or of another host.
            "known": job is not None,
            "paused": job is not None and job.paused,
            "paused_reason": job.reason if job else None,
            "resume": resume_command(job_id) if job and job.paused else None,
        }
        for place, name in enumerate(WINDOWS):
            spend = windows[place].spend if place in windows else Spend()
            verdict = judge(budget, budget.limit("cron_job", job_id, name), spend)
            content |= {
                f"{name}_limit_usd": verdict.limit,
                f"{name}_spent_usd": spend.spent,
                f"{name}_unpriced_calls": spend.unpriced_calls,
                f"{name}_verdict": verdict.level,
            }
        jobs.append(content)
    return jobs


def _state(job: Mapping[str, Any]) -> str:
    if job["paused"]:
        return "paused"
    levels = {job["daily_verdict"], job["monthly_verdict"]}
    return next((level for level in ("hard", "soft", "ok") if level in levels), "no limit")
