"""`pricing`: the group of commands about prices, and `pricing refresh`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .. import strict_json
from . import pricing_audit, pricing_backfill, pricing_drift, pricing_fill, pricing_show
from .options import OneLineParser, add_command

if TYPE_CHECKING:
    from ..pricing.refresh import RefreshReport
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`pricing refresh|show MODEL|fill|backfill|drift|audit`."""
    group = add_command(
        commands,
        "pricing",
        does="prices: where they come from, what they miss, and what changed",
        example="show claude-sonnet-4-5 --provider anthropic",
        handler=None,
    )
    actions = group.add_subparsers(
        metavar="ACTION", dest="pricing_action", required=True, parser_class=OneLineParser
    )
    refresh = add_command(
        actions,
        "refresh",
        does="fetch list prices and take them over into pricing.yaml",
        example="--apply",
        handler=run,
    )
    refresh.add_argument(
        "--apply", action="store_true", help="write pricing.yaml; without it nothing changes"
    )
    refresh.add_argument("--json", action="store_true", help="print one JSON object")
    for module in (pricing_show, pricing_fill, pricing_backfill, pricing_drift, pricing_audit):
        module.add_parser(actions)
    for name, parser in actions.choices.items():
        # What stands before an error's one line on stderr.
        parser.set_defaults(telemetry_name=f"pricing {name}")


def run(namespace: argparse.Namespace) -> int:
    """Refreshes the prices, or shows what that would change; 1 if a source could not be had."""
    from .. import paths
    from .price_sources import prices_home

    home = prices_home()
    report = _refresh(home, apply=namespace.apply)
    if namespace.json:
        content = {
            "file": str(paths.pricing_path(home)),
            "applied": namespace.apply,
            "added": list(report.added),
            "changed": list(report.changed),
            "unchanged": report.unchanged,
            "differences": [
                {
                    "id": difference.id,
                    "source": difference.source,
                    **_rates("own", difference.own),
                    **_rates("listed", difference.listed),
                }
                for difference in report.differences
            ],
            "failures": dict(report.failures),
        }
        print(strict_json.text(content))
    else:
        _print(report, apply=namespace.apply)
    return int(bool(report.failures))


def _refresh(home: Path, *, apply: bool) -> RefreshReport:
    import shutil
    from tempfile import TemporaryDirectory

    from .. import paths
    from ..pricing.refresh import refresh

    if apply:
        return refresh(home)
    # A refresh of a copy: the same work to the last byte, and the file itself stays.
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        if paths.pricing_path(home).exists():
            shutil.copyfile(paths.pricing_path(home), paths.pricing_path(copy))
        return refresh(copy)


def _rates(whose: str, pair: tuple[float, float] | None) -> dict[str, float | None]:
    """A difference's side in USD per million; None where it has no fixed price."""
    tokens_in, tokens_out = pair or (None, None)
    return {f"{whose}_input": tokens_in, f"{whose}_output": tokens_out}


def _print(report: RefreshReport, *, apply: bool) -> None:
    from .output import write_table
    from .price_sources import counts_in_words, failures_in_words

    for line in failures_in_words(report):
        print(line)
    if report.differences:
        print("your own entries that a source prices otherwise (they stay as they are):")
        columns = ["id", "source", "own_input", "own_output", "listed_input", "listed_output"]
        rows = [
            [
                difference.id,
                difference.source,
                *(difference.own or (None, None)),
                *(difference.listed or (None, None)),
            ]
            for difference in report.differences
        ]
        write_table(sys.stdout, columns, rows, dict.fromkeys(columns[2:], "rate"))
    print(counts_in_words(report))
    if not apply:
        print("nothing is written without --apply")
