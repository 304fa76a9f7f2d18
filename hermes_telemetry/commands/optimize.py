"""`optimize`: what keeps reports on a large ledger fast."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`optimize [--db FILE] [--json]`."""
    parser = add_command(
        commands,
        "optimize",
        does="make the speed indexes and statistics, and empty the write-ahead log",
        example="--db telemetry.db",
        handler=run,
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Optimizes the ledger and says what was missing."""
    from ..store import files, maintenance

    path = ledger_path(namespace)
    optimized = maintenance.optimize(path, _step if sys.stderr.isatty() else None)
    if namespace.json:
        print(strict_json.text({"file": str(path), **vars(optimized)}))
        return 0
    print("made: " + (", ".join(optimized.made) or "nothing, all indexes and views were there"))
    if optimized.markers_removed:
        print(f"removed: markers of spilled batches that came in: {optimized.markers_removed}")
    log = f"write-ahead log: {optimized.log_bytes:,} bytes"
    if not optimized.log_emptied:
        log += (
            ", since a reader holds on to it: close what reads the ledger for long (a browser, a"
            f" stuck query), then run `hermes-telemetry optimize{files.db_option(path)}` again"
        )
    print(log)
    return 0


def _step(words: str) -> None:
    print(f"{words} …", file=sys.stderr)
