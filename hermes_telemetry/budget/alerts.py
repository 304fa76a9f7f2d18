"""What is said of a limit that is nearly or wholly spent, to the model and in the ledger.

A model is never told how its own limit is raised, only to ask the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ..cron_jobs import cron_job_name
from ..money import usd
from ..store.spend import Spend
from ..store.writes import Write
from ..windows import time_zone
from .config import WindowName
from .verdicts import Verdict, period_key, window_of

_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Standing:
    """How a limit of ``scope`` and ``scope_id`` stands in the window that holds ``day``, a local
    day of ``zone``.

    ``verdict`` has a limit. ``blocks``: it is a breach, and breaches block.
    """

    scope: str
    scope_id: str
    window: WindowName
    day: date
    zone: str
    spend: Spend
    verdict: Verdict
    blocks: bool

    @property
    def period(self) -> tuple[str, str, str, str]:
        """The window of the limit, for which an alert is noted at each level."""
        return self.scope, self.scope_id, self.window, period_key(self.window, self.day)

    @property
    def limit_usd(self) -> float:
        """The limit in that window; an alert is given anew when it was raised."""
        assert self.verdict.limit is not None
        return self.verdict.limit


def blocked(breaches: Sequence[Standing]) -> str:
    """What a tool answers instead of running."""
    return (
        f"Blocked by the budget. {_sentences(breaches)} No tool runs until then. Do not try other"
        " tools: say what is done and what is not, and ask the operator."
    )


def notice(standing: Standing) -> str:
    """What the model is told once, at the beginning of a turn."""
    facts = f"Budget: {_facts(standing)}."
    if standing.blocks:
        return f"{facts} No tool runs until then. Tell the user, and ask the operator."
    if standing.verdict.level == "hard":
        return f"{facts} Nothing is blocked. Tell the operator."
    if standing.verdict.degraded:
        return f"{facts} Part of it is estimated, so nothing is blocked. Tell the operator."
    return f"{facts} Be sparing, and tell the operator."


def pause_reason(breaches: Sequence[Standing]) -> str:
    """What the host's list of cron jobs says of a job that is paused."""
    return f"Paused by the budget. {_sentences(breaches)}"


def alert(standing: Standing, level: str, ts: str, *, told: bool) -> Write:
    """The ledger's note of a limit that was crossed or for which a job was paused: ``level`` is
    soft, hard or paused. ``told``: the model hears of it now.
    """
    scope, scope_id, window, period = standing.period
    return Write(
        "record_budget_alert",
        {
            "scope": scope,
            "scope_id": scope_id,
            "window": window,
            "period_key": period,
            "level": level,
            "ts": ts,
            "spent_usd": standing.spend.spent,
            "limit_usd": standing.limit_usd,
            "told": told,
        },
    )


def _sentences(breaches: Sequence[Standing]) -> str:
    return " ".join(f"{facts[0].upper()}{facts[1:]}." for facts in map(_facts, breaches))


def _facts(standing: Standing) -> str:
    spend, verdict = standing.spend, standing.verdict
    spent = usd(spend.spent, spend.unpriced_calls)
    facts = f"{_whom(standing)} has spent {spent} of its {standing.window} limit of "
    facts += usd(verdict.limit)
    if verdict.unpriced_breach:
        if spend.unpriced_calls == 1:
            facts += ", and one call without a known price, which counts as a breach"
        else:
            facts += f", and {spend.unpriced_calls:,} calls without a known price, which count as a"
            facts += " breach"
    elif standing.blocks and verdict.hard != verdict.limit:
        facts += f", which blocks from {usd(verdict.hard)} on"
    resets = _reset(standing.window, standing.day, standing.zone)
    return f"{facts}; the limit resets at {resets} ({standing.zone})"


@lru_cache(maxsize=16)
def _reset(window: WindowName, day: date, zone: str) -> str:
    """The local time at which a window ends; a blocked session asks for it at every tool call."""
    end = window_of(window, day, zone).end.astimezone(time_zone(zone))
    return f"{end:%Y-%m-%d %H:%M}"


def _whom(standing: Standing) -> str:
    if standing.scope == "global":
        return "this agent as a whole"
    name = standing.scope_id
    if standing.scope == "cron_job":
        name = cron_job_name(name) or name
    # Whoever may name a job or a profile is not to write the rest of the message, too.
    name = " ".join(name.split())[:_NAME_CHARACTERS]
    return f"the {standing.scope.replace('_', ' ')} {name}"
