"""`migrate`: brings an older ledger to the current schema and says what it did."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`migrate [--db FILE] [--json]`."""
    parser = add_command(
        commands,
        "migrate",
        does="bring an older ledger to the current schema and say what was done",
        example="--db old-telemetry.db",
        handler=run,
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--unless-running",
        action="store_true",
        help="leave at once if another migrate is at work on the ledger",
    )


def run(namespace: argparse.Namespace) -> int:
    """Upgrades the ledger; one that is current already is left as it is."""
    from ..store.files import open_ledger
    from ..store.upgrade import upgrade_lock

    path = ledger_path(namespace)
    open_ledger(path).close()  # what is no ledger gets no lock file beside it either
    with upgrade_lock(path, wait=not namespace.unless_running) as ours:
        if ours:
            return _upgrade(path, as_json=namespace.json)
        print(f"another migrate is at work on {path}")
        return 0


def _upgrade(path: Path, *, as_json: bool) -> int:
    from ..store import files, migrations
    from ..store.connection import Ledger
    from ..store.upgrade import PRUNED_BY_V17, describe_pruned, pruned

    before = files.shape(path, counted=PRUNED_BY_V17)
    applied = migrations.migrate(path)
    # What recorders had to say meanwhile waits beside the ledger.
    Ledger(path, patient=True).bring_in()
    after = files.shape(path, counted=PRUNED_BY_V17)
    added = sorted(after.objects - before.objects)
    deleted = pruned(before, after)
    if as_json:
        report = {
            "file": str(path),
            "from_version": before.version,
            "to_version": after.version,
            "applied": applied,
            "added": added,
            "deleted_rows": deleted,
        }
        print(strict_json.text(report))
        return 0
    if not applied and not added:
        print(f"{path} is at schema v{after.version}: nothing to do")
        return 0
    print(f"{path}: schema v{before.version} -> v{after.version}")
    if applied:
        print("applied: " + ", ".join(f"v{version}" for version in applied))
    if added:
        print("added: " + ", ".join(added))
    for table, count in deleted.items():
        print(f"deleted: {describe_pruned(table, count)}")
    return 0
