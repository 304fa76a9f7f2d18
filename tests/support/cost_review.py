"""A ledger whose cost review is worked out by hand, and the review as JSON tells it."""

from contextlib import closing
from pathlib import Path
from typing import Any

from support.datasette_site import Site
from support.ledger import HandMadeLedger

PATH = "/-/telemetry/charts"
# The first three days of July, compared with those of June.
JULY = "since=2026-07-01&until=2026-07-03"
NAMES = [
    "spend",
    "running_total",
    "changes",
    "cron_jobs",
    "sessions",
    "cache",
    "failures",
    "trust",
]
JOB = "0123456789ab"


def fill(path: Path) -> None:
    """1 July: 0.5 (a), 0.25 (b) and a call of c without a price. 2 July: 1 (a) in a chat; 2 (a) in
    a cron job, whose subagent cost 0.5 (b). 2 June: 0.25 (a) and 1 (d); 15 June: 64 (a).
    """
    with closing(HandMadeLedger(path)) as made:
        made.run("chat-1", "2026-07-01T10:00")
        made.run("chat-2", "2026-07-02T10:00")
        made.run("job", "2026-07-02T03:00", cron_job_id=JOB)
        made.run("sub", "2026-07-02T03:01", platform="subagent")
        made.edge("sub", "job", at="2026-07-02T03:01")
        price = made.price("tariff", input=2.0, cache_read=0.5)
        made.call(
            "chat-1",
            0.5,
            "2026-07-01T10:01",
            model="a",
            price=price,
            tokens_in=1_000_000,
            cache_read_tokens=3_000_000,
        )
        made.call("chat-1", 0.25, "2026-07-01T10:02", model="b")
        made.call("chat-1", None, "2026-07-01T10:03", model="c", provider="q")
        made.call("chat-2", 1.0, "2026-07-02T10:01", model="a")
        made.call("job", 2.0, "2026-07-02T03:02", model="a")
        made.call("sub", 0.5, "2026-07-02T03:03", model="b")
        made.call("june", 0.25, "2026-06-02T10:00", model="a")
        made.call("june", 1.0, "2026-06-02T10:01", model="d")
        made.call("june", 64.0, "2026-06-15T10:00", model="a")
        for at, status in (("01", 429), ("01", 429), ("02", None)):
            made.failure("chat-1", f"2026-07-{at}T12:00", status_code=status, duration_ms=30_000)


def review(site: Site, period: str = JULY) -> dict[str, Any]:
    said: dict[str, Any] = site.get(f"{PATH}.json?{period}").json()
    assert [figure["name"] for figure in said["figures"]] == NAMES
    return said


def figure(site: Site, name: str, period: str = JULY) -> dict[str, Any]:
    found: dict[str, Any] = review(site, period)["figures"][NAMES.index(name)]
    return found
