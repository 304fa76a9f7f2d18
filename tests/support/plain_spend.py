"""Spend as it ought to be: every row is read, and each call is counted in plain Python."""

import math
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from hermes_telemetry.store.spend import Spend
from support.ledger_facts import ask_ledger
from support.lineage import root_of

Owner = tuple[str, str]
"""Scope and id."""


def plain_spend(path: Path, counts: Callable[[str], bool]) -> dict[Owner, Spend]:
    """The spend of every owner, over the calls whose ``ts`` counts."""
    parents = dict(
        ask_ledger(path, "select child_session_id, parent_session_id from subagent_edges")
    )
    traits = {
        session: {"cron_job": job, "sender": sender, "profile": profile}
        for session, job, sender, profile in ask_ledger(
            path, "select session_id, cron_job_id, sender_id, profile from runs"
        )
    }
    calls: defaultdict[Owner, list[tuple[float | None, bool]]] = defaultdict(list)
    for session, ts, usd, estimated in ask_ledger(
        path, "select session_id, ts, cost_usd, estimated from llm_calls"
    ):
        if not counts(ts):
            continue
        own, ancestor = traits.get(session, {}), root_of(session, parents)
        root = {} if ancestor is None else traits.get(ancestor, {})  # an id may be empty
        calls["global", ""].append((usd, bool(estimated)))
        for scope in ("cron_job", "sender", "profile"):
            owner = own.get(scope) or root.get(scope)
            if owner:
                calls[scope, owner].append((usd, bool(estimated)))
    return {
        owner: Spend(
            spent=math.fsum(usd or 0 for usd, _ in each),
            firm=math.fsum(usd or 0 for usd, estimated in each if not estimated),
            calls=len(each),
            estimated_calls=sum(estimated for _, estimated in each),
            unpriced_calls=sum(usd is None for usd, _ in each),
        )
        for owner, each in calls.items()
    }


def on_days(first: date, last: date, zone: str) -> Callable[[str], bool]:
    """Whether a ``ts`` lies on the local days from ``first`` to ``last``."""

    def counts(ts: str) -> bool:
        moment = datetime.fromisoformat(ts).replace(tzinfo=UTC)
        return first <= moment.astimezone(ZoneInfo(zone)).date() <= last

    return counts
