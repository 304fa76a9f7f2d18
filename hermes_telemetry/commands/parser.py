"""The one argparse tree. Each command module contributes its own sub-parser.

`hermes-telemetry` builds it whole; inside the host `hermes telemetry` hands its own parser to
`add_subcommands`. The command modules import what they need inside their handlers, so that the
tree costs argparse and nothing else.
"""

from __future__ import annotations

import argparse

from .. import __version__
from . import (
    bill,
    budget,
    demo,
    doctor,
    export,
    forecast,
    merge,
    migrate,
    optimize,
    pricing,
    prune,
    query,
    report,
    serve,
    setup,
    stats,
    sync_profiles,
)
from .options import OneLineParser


def build_parser() -> OneLineParser:
    """The parser of the console script."""
    parser = OneLineParser(
        prog="hermes-telemetry",
        description="What a Hermes Agent's turns, cron jobs and subagents did, and what it cost.",
        epilog="example:\n  hermes-telemetry query cost_by_day --since 2026-07-01",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_subcommands(parser)
    return parser


def add_subcommands(parser: argparse.ArgumentParser) -> None:
    """Adds every command below `parser`, which may be the host's."""
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="telemetry_name", required=True, parser_class=OneLineParser
    )
    for module in (
        query,
        stats,
        budget,
        forecast,
        migrate,
        serve,
        demo,
        prune,
        optimize,
        doctor,
        pricing,
        bill,
        export,
        merge,
        report,
        setup,
        sync_profiles,
    ):
        module.add_parser(commands)
