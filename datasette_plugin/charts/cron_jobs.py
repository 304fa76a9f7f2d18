"""Cron jobs: what each cost by itself and by the subagents below its runs."""

from __future__ import annotations

import sqlite3
from typing import Any

from hermes_telemetry.money import usd

from ..views import formats
from . import style
from .figure import (
    LONGEST_TABLE,
    Figure,
    Row,
    Spec,
    Table,
    Total,
    as_json,
    labels,
    many,
    nothing,
    short,
)
from .reading import Reading, Rows, priced, unpriced

QUERY = "cron_attribution"
NAME, TITLE = "cron_jobs", "Cron jobs, own and delegated"
_PARTS = ("own", "delegated")


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """The ten most expensive jobs."""
    # Once more: the query has a job with an infinite cost first, which here is unknown.
    jobs = sorted(reading.rows(conn, QUERY), key=lambda job: -(job["total_usd"] or 0))
    if not jobs:
        return nothing(NAME, TITLE, QUERY, "No cron job ran in this period.")
    dearest = jobs[:LONGEST_TABLE]
    amount, lacking = priced(dearest, "total_usd"), unpriced(dearest)
    total = Total(amount, "usd", usd(amount, lacking), lacking)
    of_how_many = (
        f" The {len(dearest)} most expensive of {len(jobs)} jobs." if len(jobs) > 10 else ""
    )
    if not amount:
        why = f"No run of a cron job has a known cost above $0.{of_how_many}"
        return Figure(NAME, TITLE, QUERY, total, why)
    first = jobs[0]
    share = (first["delegated_usd"] or 0) / first["total_usd"] if first["total_usd"] else None
    each = f", {usd(first['mean_usd_per_run'], first['unpriced_calls'])} a run" * bool(
        first["runs"]
    )
    return Figure(
        NAME,
        TITLE,
        QUERY,
        total,
        f"{short(first['job_name'], 60)} cost most:"
        f" {usd(first['total_usd'], first['unpriced_calls'])}"
        f" in {many(first['runs'], 'run')}{each}, {formats.share(share)} of it by"
        f" subagents.{of_how_many}",
        rows=[
            {
                "cron_job_id": job["cron_job_id"],
                "job_name": job["job_name"],
                "part": part,
                "cost_usd": _known(job, part),
            }
            for job in dearest
            for part in _PARTS
        ],
        table=Table(
            tuple(
                (words, words not in ("Job",))
                for words in ("Job", "Total", "Own", "Delegated", "Runs", "A run", "Failed")
            ),
            tuple(_line(job) for job in dearest),
        ),
        wide=as_json(_spec(dearest, False)),
        narrow=as_json(_spec(dearest, True)),
    )


def _known(job: dict[str, Any], part: str) -> float | None:
    """What a part cost: nothing where it has no calls, None where none of them has a price."""
    cost: float | None = job[f"{part}_usd"]
    return 0.0 if cost is None and not job[f"{part}_unpriced_calls"] else cost


def _line(job: dict[str, Any]) -> Row:
    return Row(
        (
            short(job["job_name"], 60),
            usd(job["total_usd"], job["unpriced_calls"]),
            *(usd(_known(job, part), job[f"{part}_unpriced_calls"]) for part in _PARTS),
            formats.number(job["runs"]),
            usd(job["mean_usd_per_run"], job["unpriced_calls"]),
            formats.number(job["failed_runs"]),
        ),
        ("cron_runs", {"cron_job_id": job["cron_job_id"]}),
    )


def _spec(jobs: Rows, narrow: bool) -> Spec:
    jobs = [job for job in jobs if job["total_usd"]]
    names = labels([job["job_name"] for job in jobs], style.longest_label(narrow))
    most = max(job["total_usd"] for job in jobs)
    words = [usd(job["total_usd"], job["unpriced_calls"]) for job in jobs]
    return style.picture(
        {
            "encoding": {"y": style.names_channel("job", names)},
            "layer": [
                {
                    "data": {
                        "values": [
                            {"job": name, "part": part, "place": place, "usd": job[f"{part}_usd"]}
                            for name, job in zip(names, jobs, strict=True)
                            for place, part in enumerate(_PARTS)
                        ]
                    },
                    "mark": "bar",
                    "encoding": {
                        "x": {
                            "field": "usd",
                            "type": "quantitative",
                            "axis": style.usd_axis(most),
                            "scale": {"domain": style.domain(0, most, names, words, narrow)},
                        },
                        "color": style.colour(
                            "part", _PARTS, style.SERIES[:2], narrow, beside=style.room_for(names)
                        ),
                        "order": {"field": "place"},
                    },
                },
                {
                    "data": {
                        "values": [
                            {"job": name, "usd": job["total_usd"], "words": told}
                            for name, job, told in zip(names, jobs, words, strict=True)
                        ]
                    },
                    **style.at_the_end("usd", "words"),
                },
            ],
        },
        narrow,
        style.bars_height(len(jobs)),
    )
