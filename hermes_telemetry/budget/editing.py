"""Changing one limit in budget.yaml; everything else the user wrote there stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..cron_jobs import cron_job_ids, cron_job_name
from ..yaml_files.editing import edit_file, set_keys
from ..yaml_files.text import ConfigFileError
from .config import KEYS, SECTIONS, Budget, BudgetFileError, WindowName, parse_budget

HEADER = """\
# Spending limits of hermes-telemetry, in USD. docs/budgets.md explains every key.
# Changes apply within a second. Anything without a limit here is not limited.
"""


def set_limit(
    path: Path, scope: str, scope_id: str | None, window: WindowName, usd: float | None
) -> None:
    """Writes what a scope may spend in a window, into a new file if there is none; None is no
    limit, for an id not that of the default either.

    ``scope_id`` None is the scope's default, that of every id without an own limit ("global" has
    no other); else it is an id, or a cron job's name. The former file stays beside the new one as
    ``budget.yaml.bak``. Raises BudgetFileError if the file is at fault or would be with the new
    limit, OSError if it cannot be read or written; the file is then as before.
    """
    if usd is not None and not (math.isfinite(usd) and usd >= 0):
        raise BudgetFileError(f"a limit is 0 USD or more, not {usd}", path.name)

    def change(text: str) -> str:
        budget = parse_budget(text.encode(), path.name)
        text = text or HEADER
        for way, amounts in _changes(budget, scope, scope_id, window, usd):
            text = set_keys(text, way, amounts)
        return text

    try:
        edit_file(path, change, lambda text: parse_budget(text, path.name))
    except BudgetFileError:
        raise
    except ConfigFileError as fault:
        raise BudgetFileError(fault.problem, path.name) from None


_Change = tuple[tuple[str, ...], Mapping[str, float | None]]
"""The keys that lead to a mapping, and what is to stand in it."""


def _changes(
    budget: Budget, scope: str, scope_id: str | None, window: WindowName, usd: float | None
) -> Iterator[_Change]:
    section = ("budgets", SECTIONS[scope])
    amounts = {KEYS[window]: usd}
    if scope == "global":
        yield section, amounts
    elif scope_id is None:
        yield (*section, "default"), amounts
    elif scope == "cron_job":
        for key, of_job in _of_cron_jobs(budget, scope_id, window):
            yield (*section, "overrides", key), of_job | amounts
    else:
        yield (*section, "overrides", scope_id), amounts


def _of_cron_jobs(
    budget: Budget, word: str, window: WindowName
) -> Iterator[tuple[str, dict[str, float | None]]]:
    """The overrides that hold a limit of the jobs that ``word`` means, and what else must stand in
    them.

    A job's override may stand under its name: another one under its id would take its other window
    away. And where an id has one, what is written under the name means nothing for that job.
    """
    present = budget.overridden("cron_job")
    jobs = cron_job_ids(word)
    if word not in jobs:  # a name, or of no job that is known here
        own = [id for id in jobs if id in present]
        for key in own if own and own == jobs else [*own, word]:
            yield key, {}
        return
    name = cron_job_name(word) or ""
    of_name = cron_job_ids(name)
    if word in present or name not in present or word not in of_name:
        yield word, {}
    elif of_name == [word]:
        yield name, {}
    else:  # the limits of the others with this name stay as they are
        limits = budget.limits["cron_job"]
        other: WindowName = "monthly" if window == "daily" else "daily"
        amount = limits.overrides[name].of(other)
        yield word, {} if amount == limits.default.of(other) else {KEYS[other]: amount}
