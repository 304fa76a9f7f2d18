"""Standings and paths asked of a ledger made by hand, with limits written as in budget.yaml."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from hermes_telemetry.budget.answers import outlooks, standing, standings
from hermes_telemetry.budget.config import BudgetFile, parse_budget
from hermes_telemetry.budget.spend_path import spend_path
from hermes_telemetry.store.files import open_ledger
from hermes_telemetry.windows import parse_timestamp


def moment(text: str) -> datetime:
    return parse_timestamp(text)


def budget(budgets: Any = None, **rules: Any) -> Any:
    """A budget of these limits; ``soft_pct`` and ``hard_pct`` are thresholds, other rules modes."""
    thresholds = {rule: rules.pop(rule) for rule in ("soft_pct", "hard_pct") if rule in rules}
    modes = {rule: {"mode": mode} for rule, mode in rules.items()}
    content = {"budgets": budgets or {}, "thresholds": thresholds, **modes}
    return parse_budget(json.dumps(content).encode(), "budget.yaml")


def ask(
    path: Path,
    now: str,
    limits: Any = None,
    *,
    scope: str = "global",
    scope_id: str = "",
    window: Any = "monthly",
    zone: str = "UTC",
) -> dict[str, Any]:
    """Where one owner stands; ``limits`` are what `budget` gives."""
    with closing(open_ledger(path)) as conn:
        return standing(conn, limits or budget(), scope, scope_id, window, zone, moment(now))


def ask_all(path: Path, now: str, budget_path: Path, zone: str = "UTC") -> dict[str, Any]:
    """Where everyone stands, by a budget.yaml."""
    with closing(open_ledger(path)) as conn:
        return standings(conn, BudgetFile(budget_path), "telemetry", zone, moment(now))


def path_of(
    path: Path, now: str, owner: tuple[str, str], window: str, zone: str = "UTC", limits: Any = None
) -> list[Mapping[str, Any]]:
    """The points of one owner's chart."""
    with closing(open_ledger(path)) as conn:
        (outlook,) = (
            each
            for each in outlooks(conn, limits or budget(), zone, moment(now))
            if (each.owner, each.window) == (owner, window)
        )
        return list(spend_path(conn, outlook))
