"""`doctor`: looks a ledger and its files over, names what is wrong and what to do about it.

Where there is no ledger that is the first finding, and all the rest is looked at.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from ..store.health import Finding
    from .options import Commands


_PLUGIN = "hermes-telemetry"
_LISTS = ("enabled", "disabled")


def add_parser(commands: Commands) -> None:
    """`doctor [--repair] [--db FILE] [--json]`."""
    parser = add_command(
        commands,
        "doctor",
        does="check the ledger and its files; exit 1 if something is wrong",
        example="--repair",
        handler=run,
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="add what the schema lacks, bring in waiting records, correct run totals",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Prints a line for each thing that was looked at; 1 if one of them is at fault."""
    from ..store import health, repair

    path = ledger_path(namespace)
    repaired: list[str] = []
    if sys.stderr.isatty():
        print("reading every page …", file=sys.stderr)
    findings = _of_ledger(path)
    if namespace.repair and _is_there(findings) and health.may_be_repaired(findings):
        repaired = repair.repair(path)
        findings = _of_ledger(path)
    findings += [*_prices(path), *_budget(path)]
    faults = sum(finding.state == "fault" for finding in findings)
    if namespace.json:
        report = {
            "file": str(path),
            "ok": not faults,
            "repaired": repaired,
            "findings": [vars(finding) for finding in findings],
        }
        print(strict_json.text(report))
        return int(faults > 0)
    print(path)
    for line in repaired:
        print(f"repaired  {line}")
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        advice = f": {finding.advice}" if finding.advice else ""
        print(f"{finding.state:<5}  {finding.check:<{width}}  {finding.text}{advice}")
    if faults:
        print(f"{faults} at fault")
    return int(faults > 0)


def _of_ledger(path: Path) -> list[Finding]:
    """What is found in the ledger; where there is none, that, and whether Hermes would make one."""
    from ..paths import database_path
    from ..store.files import NotALedgerError
    from ..store.health import Finding, examine

    try:
        return examine(path)
    except NotALedgerError as error:
        text, _, advice = str(error).rpartition(": " if not path.is_file() else "; ")
        missing = [Finding("ledger", "fault", text or str(error), advice if text else "")]
    return [*missing, *(_plugin() if path == database_path() else ())]


def _is_there(findings: list[Finding]) -> bool:
    return all(finding.check != "ledger" for finding in findings)


def _plugin() -> Iterator[Finding]:
    """Whether Hermes is to load the plugin, by its config.yaml."""
    import yaml

    from ..paths import hermes_home
    from ..store.health import Finding

    config = hermes_home() / "config.yaml"
    enable = f"run `hermes plugins enable {_PLUGIN}`, then any `hermes` command"
    try:
        content = yaml.safe_load(config.read_bytes())
    except FileNotFoundError:
        advice = "set HERMES_HOME to Hermes's home if that is elsewhere, else " + enable
        yield Finding("plugin", "fault", f"there is no {config}", advice)
        return
    except OSError as error:
        advice = "make it readable for this user, or look as the user that runs Hermes"
        yield Finding("plugin", "fault", f"{config} cannot be read: {error.strerror}", advice)
        return
    except yaml.YAMLError:
        yield Finding("plugin", "fault", f"{config} is not YAML", "correct it")
        return
    plugins = content.get("plugins") if isinstance(content, dict) else None
    lists = {key: plugins.get(key) for key in _LISTS} if isinstance(plugins, dict) else {}
    # Of a text the name might be a part: only a list counts.
    named = {key: isinstance(names := lists.get(key), list) and _PLUGIN in names for key in _LISTS}
    if named["enabled"] and not named["disabled"]:
        text = f"{_PLUGIN} is enabled in {config}: the next turn is recorded"
        yield Finding("plugin", "ok", text)
    else:
        yield Finding("plugin", "fault", f"{_PLUGIN} is not enabled in {config}", enable)


def _prices(database: Path) -> Iterator[Finding]:
    """Whether pricing.yaml can be read, and how old the prices are."""
    from ..paths import prices_home, pricing_path, refresh_mark_path
    from ..pricing.files import builtin_book, parse_book
    from ..store.health import Finding
    from ..yaml_files.text import ConfigFileError

    path = pricing_path(prices_home(database))
    edit = f"correct {path}; until then its last good prices hold, or none"
    try:
        with _warnings() as ignored:
            book = parse_book(path.read_bytes(), path.name)
    except FileNotFoundError:
        yield Finding("prices", "ok", f"no {path}: the built-in table holds")
    except OSError as error:
        yield Finding("prices", "fault", f"{path.name} cannot be read: {error.strerror}", edit)
    except ConfigFileError as error:
        yield Finding("prices", "fault", f"{path.name}: {error}", edit)
    else:
        for line in ignored:
            yield Finding("prices", "fault", line, f"correct {path}")
        yield Finding("prices", "ok", f"models in {path.name}: {len(book.models):,}")
    verified = max(
        (entry.source or "").rpartition(", ")[2] for entry in builtin_book().models.values()
    )
    age = f"built-in table verified {verified}"
    try:
        refreshed = datetime.fromtimestamp(refresh_mark_path(path.parent).stat().st_mtime, UTC)
        age += f", last refresh {refreshed:%Y-%m-%d}"
    except FileNotFoundError:
        age += ", never refreshed"
    yield Finding("price age", "ok", age)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collects what reading prices has to complain about instead of logging it."""
    from .. import pricing

    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, collector = logging.getLogger(pricing.__name__), Collector(logging.WARNING)
    logger.addHandler(collector)
    try:
        yield lines
    finally:
        logger.removeHandler(collector)


def _budget(database: Path) -> Iterator[Finding]:
    """Whether budget.yaml can be used, and what it limits."""
    from ..budget.config import BudgetFileError, load_budget
    from ..paths import budget_path
    from ..store.health import Finding

    path = budget_path(database)
    try:
        budget = load_budget(path)
    except BudgetFileError as error:
        follows = "until then a process that has read a good one keeps it, others enforce nothing"
        yield Finding("budget", "fault", str(error), f"correct {path}; {follows}")
        return
    if not path.exists():
        text = f"no {path}: nothing is enforced"
    elif not budget.has_limits:
        text = f"no limit in {path.name}: nothing is enforced"
    else:
        text = f"limits in {path.name}: on a breach {budget.on_breach}"
    yield Finding("budget", "ok", text)
