"""`budget`: the limits, what is spent of them, and changing one; in chat, `/budget`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import strict_json
from . import budget_cron
from .options import (
    SCOPES,
    WINDOWS,
    InputError,
    Screen,
    add_command,
    add_db_option,
    add_inherited_options,
    ledger_path,
    screen,
)

if TYPE_CHECKING:
    import sqlite3

    from ..budget.config import BudgetFile
    from .options import Commands

_UNKNOWN = {
    "cron_job": "no cron job with the id or name {!r} is known{}",
    "sender": "no sender {!r} is recorded{}",
    "profile": "no profile {!r} is recorded{}",
}


def add_parser(commands: Commands) -> Commands:
    """`budget`, `budget cron`, `budget check` and `budget set`; returns the commands below it."""
    group = add_command(
        commands,
        "budget",
        does="show the limits and what is spent of them; check them; set one",
        example="set cron_job nightly-report daily 3",
        handler=run,
    )
    group.add_argument("--json", action="store_true", help="print one JSON object")
    add_db_option(group)
    actions: Commands = group.add_subparsers(metavar="ACTION", dest="budget_action")
    budget_cron.add_parser(actions)
    check = add_command(
        actions,
        "check",
        does="exit 1 if a limit is reached, and name it",
        example="--scope cron_job",
        handler=run_check,
    )
    check.add_argument("--scope", choices=SCOPES, help="only the limits of this scope")
    add_inherited_options(check)
    change = add_command(
        actions,
        "set",
        does="set a limit in budget.yaml; what else stands there stays as it is",
        example="cron_job nightly-report daily 3",
        handler=run_set,
    )
    change.add_argument("scope", metavar="SCOPE", choices=SCOPES, help=", ".join(SCOPES))
    change.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default=argparse.SUPPRESS,
        help="a job's id or name, a sender, a profile; without it, all that have no own limit",
    )
    change.add_argument("--id", metavar="ID", default=None, help="the same")
    change.add_argument("window", metavar="WINDOW", choices=WINDOWS, help=" or ".join(WINDOWS))
    change.add_argument(
        "usd", metavar="USD", type=_amount, help="the limit, 0 or more; none: no limit"
    )
    add_db_option(change, argparse.SUPPRESS)
    change.set_defaults(telemetry_writes=True)
    for name, parser in actions.choices.items():
        # What stands before an error's one line on stderr.
        parser.set_defaults(telemetry_name=f"budget {name}")
    return actions


def run(namespace: argparse.Namespace) -> int:
    """Prints the limits that are in force and where each of them stands."""
    from . import limits, zeros

    shown = screen(namespace)
    with _standings(namespace) as (answer, file, ledger):
        if namespace.json:
            shown.to.write(strict_json.text(answer) + "\n")
            return 0
        limits.say_fault(shown, file)
        if file.error is None:
            _say_limits(shown, file)
        limits.write_standings(shown, answer["budgets"])
        if not all(each["spent_usd"] for each in answer["budgets"]):
            (month,) = (each for each in answer["budgets"][:2] if each["window"] == "monthly")
            since = {"since": month["window_start"]}
            zeros.say_why(shown, ledger, ledger_path(namespace), since)
    return 0


def run_check(namespace: argparse.Namespace) -> int:
    """Names the limits that are reached; 1 if there are any."""
    from ..budget.config import load_budget
    from ..paths import budget_path
    from . import limits, output

    # A file that cannot be used limits nothing, which is no answer to this question.
    load_budget(budget_path(ledger_path(namespace)))
    with _standings(namespace) as (answer, _, _):
        rows = [row for row in answer["budgets"] if namespace.scope in (None, row["scope"])]
    breaches = [row for row in rows if row["verdict"] == "hard"]
    shown = screen(namespace)
    if namespace.json:
        shown.to.write(strict_json.text({"ok": not breaches, "breaches": breaches}) + "\n")
    elif breaches:
        limits.write_standings(shown, breaches)
    elif any(row["enabled"] for row in rows):
        output.say(shown, "no limit is reached")
    else:
        output.say(shown, "nothing is limited")
    return int(bool(breaches))


def run_set(namespace: argparse.Namespace) -> int:
    """Writes a limit and says where."""
    from ..budget.editing import set_limit
    from ..budget.owners import is_known
    from ..paths import budget_path, database_path
    from . import limits, output

    if namespace.scope == "global" and namespace.id is not None:
        raise InputError("global is one limit for all that is spent, it takes no id")
    if namespace.id is not None and not namespace.id.strip():
        raise InputError(f"an empty ID names no {namespace.scope}")
    ledger = ledger_path(namespace)
    path = budget_path(ledger)
    set_limit(path, namespace.scope, namespace.id, namespace.window, namespace.usd)
    shown = screen(namespace)
    output.say(
        shown,
        f"{path}: {limits.whose(namespace.scope, namespace.id)}:"
        f" {limits.in_words(namespace.usd, namespace.window)}",
    )
    # A chat has no other place for it.
    beside = shown if shown.columns is not None else Screen(sys.stderr)
    if path.parent.resolve() != ledger.parent.resolve():
        output.say(
            beside,
            f"no budget.yaml lies beside {ledger}: the limit holds for {database_path()} and every"
            " other ledger without one, too",
        )
    if namespace.id is not None and not is_known(ledger, namespace.scope, namespace.id):
        waits = "" if namespace.usd is None else ": the limit applies once there is one"
        output.say(beside, _UNKNOWN[namespace.scope].format(namespace.id, waits))
    return 0


@contextmanager
def _standings(
    namespace: argparse.Namespace,
) -> Iterator[tuple[dict[str, Any], BudgetFile, sqlite3.Connection]]:
    """The object of `budget --json`, the file it was judged by, and the ledger."""
    from ..budget.answers import standings
    from ..windows import SYSTEM_CLOCK
    from .figures import asking
    from .limits import budget_and_zone

    path = ledger_path(namespace)
    file, zone = budget_and_zone(path)
    with asking(path, zone) as ledger:
        yield standings(ledger, file, path, zone, SYSTEM_CLOCK.now()), file, ledger


def _say_limits(shown: Screen, file: BudgetFile) -> None:
    from . import limits, output

    output.say(shown, f"Limits in {file.path}:")
    for line in list(limits.in_force(file.current())) or ["nothing is limited"]:
        output.say(shown, f"- {line}")
    shown.to.write("\n")


def _amount(text: str) -> float | None:
    from ..money import HIGHEST_LIMIT

    if text == "none":
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (0 <= amount <= HIGHEST_LIMIT):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an amount in USD: write a number from 0 to {HIGHEST_LIMIT:,.0f},"
            " or none"
        )
    return amount
