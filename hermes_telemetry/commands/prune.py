"""`prune`: deletes old failed attempts by a rule; shows what would go unless told to do it."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from typing import TYPE_CHECKING

from .. import strict_json
from .options import InputError, add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from ..store.retention import Preview, PruneRule
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`prune --before AGE|DATE [filters] [--keep-last N] [--apply [--vacuum]] [--json]`."""
    parser = add_command(
        commands,
        "prune",
        does="delete old rows of the ledger of failed attempts, or show which would go",
        example="--before 90d --status 429 --keep-last 100 --apply",
        handler=run,
    )
    parser.add_argument(
        "--before",
        metavar="AGE|DATE",
        required=True,
        help="an age (12h, 90d, 4w), an instant, or a date or a name such as last-week, before the"
        " first instant of it here",
    )
    parser.add_argument(
        "--status",
        metavar="CODE",
        action="append",
        default=[],
        type=_statuses,
        help="only attempts with this status code, 'none' for those without one; several as"
        " 429,500 or by repeating it",
    )
    parser.add_argument(
        "--error-type",
        metavar="TYPE",
        action="append",
        default=[],
        help="only attempts with this error type; may be repeated",
    )
    parser.add_argument("--model", help="only attempts of this model")
    parser.add_argument("--provider", help="only attempts at this provider")
    parser.add_argument(
        "--keep-last",
        metavar="N",
        type=int,
        default=0,
        help="keep the newest N of each model, provider and status code, however old",
    )
    parser.add_argument("--apply", action="store_true", help="delete; without it nothing changes")
    parser.add_argument(
        "--vacuum",
        action="store_true",
        help="with --apply: rewrite the file afterwards, which gives the space back",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Shows what the rule takes, and deletes it with `--apply`."""
    from contextlib import closing

    from ..store import maintenance, retention
    from .progress import Progress

    if namespace.vacuum and not namespace.apply:
        raise InputError("--vacuum needs --apply")
    path = ledger_path(namespace)
    with closing(maintenance.open_current(path)) as ledger:
        rule = _rule(namespace)
        preview = retention.preview(ledger, rule)
    pruned = vacuumed = None
    if namespace.apply:
        with Progress(max(preview.total, 1), "rows") as progress:
            pruned = retention.prune(path, rule, progress)
        if namespace.vacuum:
            if sys.stderr.isatty():
                print("rewriting the file …", file=sys.stderr)
            vacuumed = maintenance.vacuum(path)
    left = pruned or preview
    if namespace.json:
        report = {
            "file": str(path),
            "before": rule.before + "+00:00",
            "applied": namespace.apply,
            "matching": preview.total,
            "groups": [vars(group) for group in preview.groups],
            "deleted": pruned.deleted if pruned else 0,
            "remaining": left.remaining,
            "oldest_remaining": left.oldest_remaining,
            "bytes_before": vacuumed.bytes_before if vacuumed else None,
            "bytes_after": vacuumed.bytes_after if vacuumed else None,
        }
        print(strict_json.text(report))
        return 0
    _print_preview(preview, rule)
    oldest = f", the oldest of {left.oldest_remaining[:19]}Z" if left.oldest_remaining else ""
    if pruned is None:
        print(f"nothing is deleted without --apply; {left.remaining:,} would remain{oldest}")
        return 0
    print(f"deleted {pruned.deleted:,}; {left.remaining:,} remain{oldest}")
    if vacuumed is not None:
        print(f"the file went from {vacuumed.bytes_before:,} to {vacuumed.bytes_after:,} bytes")
        if not vacuumed.settled:
            print("it shrinks further once the programs that read it let go")
    return 0


def _rule(namespace: argparse.Namespace) -> PruneRule:
    from .. import reports
    from ..store.retention import PruneRule, parse_before
    from ..windows import SYSTEM_CLOCK

    zone = reports.configured_zone(database=ledger_path(namespace))
    try:
        return PruneRule(
            before=parse_before(namespace.before, SYSTEM_CLOCK.now(), zone),
            status_codes=tuple(chain.from_iterable(namespace.status)),
            error_types=tuple(namespace.error_type),
            model=namespace.model,
            provider=namespace.provider,
            keep_last=namespace.keep_last,
        )
    except ValueError as error:
        raise InputError(str(error)) from error


def _statuses(text: str) -> list[int | None]:
    from ..store.retention import parse_status

    try:
        return [parse_status(code) for code in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _print_preview(preview: Preview, rule: PruneRule) -> None:
    from .output import write_table

    columns = ["model", "provider", "status_code", "rows"]
    rows = [[vars(group)[column] for column in columns] for group in preview.groups]
    if rows:
        write_table(sys.stdout, columns, rows, {"status_code": "id", "rows": "count"})
    print(f"the rule takes {preview.total:,} failed attempts from before {rule.before}Z")
