"""What budget.yaml says: limits per scope, thresholds, and what follows when one is reached.

A file is used as a whole or not at all: a limit that could not be read would be one that silently
does not hold. The one fault that a file has is named with its key, its line and its column.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from ..cron_jobs import cron_job_ids, cron_job_name
from ..money import HIGHEST_LIMIT
from ..windows import SYSTEM_CLOCK, Clock, time_zone
from ..yaml_files.followed import FollowedFile
from ..yaml_files.text import ConfigFileError, compose, fault_at, load

_log = logging.getLogger("hermes_telemetry")

WindowName = Literal["daily", "monthly"]
OnBreach = Literal["block", "notify"]
OnEstimated = Literal["warn_only", "enforce"]
OnUnpriced = Literal["warn", "block"]

# The part of "budgets" that holds a scope's limits.
SECTIONS = {
    "global": "global",
    "cron_job": "per_cron_job",
    "sender": "per_sender",
    "profile": "per_profile",
}
# The key that holds the limit of a window.
KEYS: Mapping[WindowName, str] = {"daily": "daily_usd", "monthly": "monthly_usd"}

# The modes of each, the one that holds by default first.
_MODES: Mapping[str, tuple[str, ...]] = {
    "on_breach": get_args(OnBreach),
    "on_estimated": get_args(OnEstimated),
    "on_unpriced": get_args(OnUnpriced),
}
_SOFT, _HARD = 0.8, 1.0
_SHOWN = 60  # characters of a value that is at fault
_MERGE = "tag:yaml.org,2002:merge"
_NULL = "tag:yaml.org,2002:null"
_INFINITE = re.compile(r"[-+]?\.inf|\.nan", re.IGNORECASE)
# Written out, for YAML takes 010 for eight, 1:30 for ninety and 1e2 for a text.
_NUMBER = re.compile(r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class BudgetFileError(ConfigFileError):
    """A budget.yaml that cannot be used: one line with file, line, column and key."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Amounts in USD for a local day and a local month; None is no limit."""

    daily: float | None = None
    monthly: float | None = None

    def of(self, window: WindowName) -> float | None:
        return self.daily if window == "daily" else self.monthly


@dataclass(frozen=True, slots=True)
class ScopeLimits:
    """The limits of a scope: those of every id, and those of the ids and names that have others.

    An override is complete: the windows it did not mention hold the default's limit.
    """

    default: Limits = Limits()
    overrides: Mapping[str, Limits] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """A budget.yaml as it was read; without arguments one that limits nothing.

    ``limits`` is keyed by scope (global, cron_job, sender, profile). ``soft_pct`` and ``hard_pct``
    are shares of a limit, 0 < soft <= hard <= 1. ``timezone`` is an IANA name, None where the file
    has none.
    """

    limits: Mapping[str, ScopeLimits] = field(default_factory=dict)
    soft_pct: float = _SOFT
    hard_pct: float = _HARD
    on_breach: OnBreach = "block"
    on_estimated: OnEstimated = "warn_only"
    on_unpriced: OnUnpriced = "warn"
    timezone: str | None = None

    def limit(self, scope: str, scope_id: str, window: WindowName) -> float | None:
        """USD that an id may spend in a window; None if it has no limit.

        A cron job's override may name its id or its name in the host; the id goes first.
        """
        limits = self.limits.get(scope)
        if limits is None:
            return None
        own = limits.overrides.get(scope_id)
        if own is None and scope == "cron_job" and limits.overrides:
            name = cron_job_name(scope_id) or ""
            if scope_id in cron_job_ids(name):  # else the name is another job's id
                own = limits.overrides.get(name)
        return (limits.default if own is None else own).of(window)

    def overridden(self, scope: str) -> tuple[str, ...]:
        """The ids and names that have limits of their own, in the file's order."""
        limits = self.limits.get(scope)
        return () if limits is None else tuple(limits.overrides)

    @cached_property
    def has_limits(self) -> bool:
        """True if anything is limited at all: asked after every call."""
        nothing = Limits()
        return any(
            limits != nothing
            for scope in self.limits.values()
            for limits in (scope.default, *scope.overrides.values())
        )


NO_BUDGET = Budget()


class BudgetFile(FollowedFile[Budget]):
    """``budget.yaml`` as it is now; a faulty version leaves the last good budget in force."""

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(
            path,
            load_budget,
            absent=NO_BUDGET,
            kept="the budget read before stays in force",
            none="nothing is enforced",
            log=_log,
            clock=clock,
        )


def load_budget(path: Path) -> Budget:
    """The budget in a file; `NO_BUDGET` where there is none or nothing is in it.

    Raises BudgetFileError if the file cannot be read or used.
    """
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return NO_BUDGET
    except OSError as fault:
        raise BudgetFileError(f"cannot be read ({fault.strerror})", path.name) from None
    return parse_budget(text, path.name)


def parse_budget(text: bytes, name: str) -> Budget:
    """The budget in the text of a file that is called ``name``. Raises BudgetFileError."""
    try:
        return _budget(compose(text))
    except ConfigFileError as fault:
        raise BudgetFileError(fault.problem, name) from None
    except RecursionError:  # a mapping that merges itself
        raise BudgetFileError("line 1, column 1: nested too deeply", name) from None


def configured_time_zone(path: Path) -> str | None:
    """The IANA name under ``timezone`` in budget.yaml; None when there is none that can be used.

    Asks for no more of the file than that: a bad limit must not move the days that are shown. An
    unreadable file or an unknown zone is logged, in one line that names the file.
    """
    try:
        content = load(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ConfigFileError) as error:
        _log.warning("%s cannot be read: %s", path, error)
        return None
    name = content.get("timezone") if isinstance(content, dict) else None
    if name is None:
        return None
    try:
        time_zone(str(name))
    except ValueError as error:
        _log.warning("%s: timezone: %s", path, error)
        return None
    return str(name)


def _budget(root: Any) -> Budget:
    top = _mapping(root, "", ("budgets", "thresholds", *_MODES, "timezone"))
    budgets = _mapping(top.get("budgets"), "budgets", SECTIONS.values())
    soft, hard = _thresholds(top.get("thresholds"))
    return Budget(
        {
            scope: _scope_limits(scope, budgets[section], f"budgets.{section}")
            for scope, section in SECTIONS.items()
            if section in budgets
        },
        soft,
        hard,
        _mode(top.get("on_breach"), "on_breach"),
        _mode(top.get("on_estimated"), "on_estimated"),
        _mode(top.get("on_unpriced"), "on_unpriced"),
        _zone(top.get("timezone")),
    )


def _scope_limits(scope: str, node: Any, where: str) -> ScopeLimits:
    if scope == "global":
        return ScopeLimits(_limits(node, where, Limits()))
    parts = _mapping(node, where, ("default", "overrides"))
    default = _limits(parts.get("default"), f"{where}.default", Limits())
    overrides = _mapping(parts.get("overrides"), f"{where}.overrides")
    return ScopeLimits(
        default,
        {id: _limits(own, f"{where}.overrides.{id}", default) for id, own in overrides.items()},
    )


def _limits(node: Any, where: str, default: Limits) -> Limits:
    stated = _mapping(node, where, KEYS.values())
    return Limits(
        **{
            window: _amount(stated[key], f"{where}.{key}") if key in stated else default.of(window)
            for window, key in KEYS.items()
        }
    )


def _amount(node: Any, where: str) -> float | None:
    if _is_null(node):
        return None
    amount = _number(node, where)
    if amount > HIGHEST_LIMIT:
        raise _fault(node, f"{where} is above {HIGHEST_LIMIT:,.0f} USD")
    return amount


def _thresholds(node: Any) -> tuple[float, float]:
    stated = _mapping(node, "thresholds", ("soft_pct", "hard_pct"))
    hard = _share(stated.get("hard_pct"), "thresholds.hard_pct", _HARD)
    # Who wants breaches at 70 % has said all that is needed for them.
    soft = _share(stated.get("soft_pct"), "thresholds.soft_pct", min(_SOFT, hard))
    if soft > hard:
        problem = f"thresholds.soft_pct {soft:g} is above hard_pct {hard:g}"
        raise fault_at(stated["soft_pct"].start_mark, problem)
    return soft, hard


def _share(node: Any, where: str, default: float) -> float:
    if _is_null(node):
        return default
    share = _number(node, where)
    if not 0 < share <= 1:
        raise _fault(node, f"{where} is not a share of the limit, above 0 and up to 1")
    return share


def _mode(node: Any, where: str) -> Any:
    allowed = _MODES[where]
    mode: Any = _mapping(node, where, ("mode",)).get("mode")
    if _is_null(mode):
        return allowed[0]
    if mode.value not in allowed:
        raise _fault(mode, f"{where}.mode is neither {' nor '.join(allowed)}")
    return mode.value


def _zone(node: Any) -> str | None:
    if _is_null(node):
        return None
    if not isinstance(node, yaml.ScalarNode):
        raise _fault(node, "timezone is not the name of a zone")
    try:
        time_zone(node.value)
    except ValueError:
        raise _fault(node, "timezone is not a zone that this machine knows") from None
    return str(node.value)


def _number(node: Any, where: str) -> float:
    if not isinstance(node, yaml.ScalarNode) or node.style:
        raise _fault(node, f"{where} is not a number")
    if _INFINITE.fullmatch(node.value):
        raise _fault(node, f"{where} is not finite")
    if not _NUMBER.fullmatch(node.value):
        raise _fault(node, f"{where} is not a number")
    number = float(node.value)
    if not math.isfinite(number):
        raise _fault(node, f"{where} is not finite")
    if number < 0:
        raise _fault(node, f"{where} is negative")
    return number or 0.0  # not -0


def _mapping(node: Any, where: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    """The nodes of a mapping by their keys, as the file has them: 001122334455 is no number.

    Nothing, or null, is an empty mapping. ``known`` are the keys that mean something.
    """
    if _is_null(node):
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise _fault(node, f"{where or 'the file'} is not a mapping")
    own: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, value in node.value:
        if key.tag == _MERGE:
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in sources:
                merged = _mapping(source, f"{where}.<<", known) | merged
            continue
        if not isinstance(key, yaml.ScalarNode):
            raise fault_at(key.start_mark, f"a key of {where or 'the file'} is not a text")
        name = f"{where}.{key.value}".lstrip(".")
        if key.value in own:
            raise fault_at(key.start_mark, f"{name} stands there twice")
        if known is not None and key.value not in known:
            problem = f"{name} means nothing, known here: {', '.join(known)}"
            raise fault_at(key.start_mark, problem)
        own[key.value] = value
    return merged | own


def _is_null(node: Any) -> bool:
    return node is None or (node.tag == _NULL and isinstance(node, yaml.ScalarNode))


def _fault(node: Any, problem: str) -> ConfigFileError:
    if not isinstance(node, yaml.ScalarNode):
        return fault_at(node.start_mark, problem)
    shown = " ".join(node.value.split())[:_SHOWN]
    return fault_at(node.start_mark, f"{problem}: {repr(shown) if node.style else shown}")
