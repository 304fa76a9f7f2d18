"""Names of cron jobs, from the file in which the host keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from .paths import hermes_home


def cron_job_name(job_id: str | None) -> str | None:
    """The name that the host's ``cron/jobs.json`` gives a job, else the id itself."""
    path = hermes_home() / "cron" / "jobs.json"
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return job_id
    return _names(path, changed).get(job_id or "", job_id)


@lru_cache(maxsize=4)
def _names(path: Path, changed: int) -> Mapping[str, str]:
    """Names by id; ``changed`` (the file's mtime) makes an edit a new entry of the cache."""
    try:
        # The host reads the file with a byte order mark and with bare control characters too.
        content = json.loads(path.read_text(encoding="utf-8-sig"), strict=False)
    except (OSError, ValueError):
        return {}
    jobs = content.get("jobs") if isinstance(content, dict) else content
    return {
        str(job["id"]): str(job["name"])
        for job in (jobs if isinstance(jobs, list) else [])
        if isinstance(job, dict) and job.get("id") and job.get("name")
    }
