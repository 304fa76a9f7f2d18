"""The host's cron jobs, from the file in which it keeps them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .paths import hermes_home


@dataclass(frozen=True, slots=True)
class CronJob:
    """A job as the host has it: its name, its id where it has none; whether it is paused, and the
    reason that was given for it.
    """

    name: str
    paused: bool
    reason: str | None


def cron_job_name(job_id: str | None) -> str | None:
    """The name that the host gives a job, else the id itself."""
    job = cron_jobs().get(job_id or "")
    return job_id if job is None else job.name


def resume_command(job_id: str) -> str:
    """The command of the host that lets a paused job run again."""
    return f"hermes cron resume {shlex.quote(job_id)}"


def cron_job_ids(word: str) -> list[str]:
    """The jobs that a word of the user means: the one whose id it is, else all of that name."""
    jobs = cron_jobs()
    if word in jobs:
        return [word]
    return [id for id, job in jobs.items() if job.name == word]


def cron_jobs() -> Mapping[str, CronJob]:
    """The jobs in the host's ``cron/jobs.json`` by their ids; none where it cannot be read."""
    path = _file(hermes_home())
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError:
        return {}
    return _jobs(path, changed)


@lru_cache(maxsize=4)
def _file(home: Path) -> str:
    """As text, and remembered: names are asked for before each tool."""
    return str(home / "cron" / "jobs.json")


@lru_cache(maxsize=4)
def _jobs(path: str, changed: int) -> Mapping[str, CronJob]:
    """The jobs by id; ``changed`` (the file's mtime) makes an edit a new entry of the cache."""
    try:
        # The host reads the file with a byte order mark and with bare control characters too.
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"), strict=False)
    except (OSError, ValueError):
        return {}
    jobs = content.get("jobs") if isinstance(content, dict) else content
    return {
        str(job["id"]): CronJob(
            str(job.get("name") or job["id"]),
            _is_paused(job),
            str(job["paused_reason"]) if job.get("paused_reason") else None,
        )
        for job in (jobs if isinstance(jobs, list) else [])
        if isinstance(job, dict) and job.get("id")
    }


def _is_paused(job: Mapping[str, Any]) -> bool:
    state = job.get("state")
    # Jobs of older hosts have no state.
    return state == "paused" or (not state and not job.get("enabled", True))
