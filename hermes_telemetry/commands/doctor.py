"""`doctor`: looks a ledger and its files over, names what is wrong and what to do about it."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from ..store.health import Finding
    from .options import Commands


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
    findings = health.examine(path)
    if namespace.repair and health.may_be_repaired(findings):
        repaired = repair.repair(path)
        findings = health.examine(path)
    findings += [*_prices(), *_budget(path)]
    faults = sum(finding.state == "fault" for finding in findings)
    if namespace.json:
        report = {
            "file": str(path),
            "ok": not faults,
            "repaired": repaired,
            "findings": [vars(finding) for finding in findings],
        }
        print(json.dumps(report, indent=2))
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


def _prices() -> Iterator[Finding]:
    """Whether pricing.yaml can be read, and how old the prices are."""
    from ..paths import pricing_path
    from ..pricing.files import builtin_book, parse_book
    from ..store.health import Finding
    from ..yaml_files.text import ConfigFileError

    path = pricing_path()
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
        refreshed = datetime.fromtimestamp((path.parent / ".pricing_refresh").stat().st_mtime, UTC)
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
