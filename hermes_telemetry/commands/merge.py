"""`merge`: the ledgers of several hosts in one, as often as one likes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .. import strict_json
from .options import InputError, add_command

if TYPE_CHECKING:
    from ..store.merging import Merged
    from .options import Commands

_NAMED = 3


def add_parser(commands: Commands) -> None:
    """`merge OUT IN… [--json]`."""
    parser = add_command(
        commands,
        "merge",
        does="bring the ledgers of several hosts into one; merged again, only what is new comes in",
        example="all-hosts.db laptop.db server.db",
        handler=run,
    )
    parser.add_argument("out", metavar="OUT", help="the merged ledger, made if there is none")
    parser.add_argument(
        "inputs", metavar="IN", nargs="+", help="a ledger of any version; it is only read"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Merges, and says what each ledger has added."""
    from .. import money
    from ..store import merging

    out = Path(namespace.out)
    inputs = _checked(out, list(dict.fromkeys(Path(name) for name in namespace.inputs)))
    try:
        merged = merging.merge(out, inputs, _show)
    finally:
        _show("", 0, 0)
    total = merging.total(out)
    if namespace.json:
        report = {
            "file": str(out),
            "inputs": [
                {
                    "file": str(each.path),
                    "added": each.added,
                    "renamed": [
                        {"session_id": session, "merged_as": name}
                        for session, name in each.renamed.items()
                    ],
                }
                for each in merged
            ],
            **vars(total),
        }
        print(strict_json.text(report))
        return 0
    for each in merged:
        print(f"{each.path}: {_described(each)}")
    print(f"{out}: {total.calls:,} calls, {money.total(total.cost_usd, total.unpriced_calls)}")
    return 0


def _checked(out: Path, inputs: list[Path]) -> list[Path]:
    """The inputs, all of which are ledgers that can be read; before anything is written."""
    from ..store.merged import require_ledger

    for path in inputs:
        require_ledger(path)
        if out.exists() and out.samefile(path):
            raise InputError(f"{path} is to be read and written: name another file for the result")
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent}")
    for place in (out.parent, out):
        if place.exists() and not os.access(place, os.W_OK):
            raise InputError(f"{place} cannot be written: name a file elsewhere for the result")
    return inputs


def _described(merged: Merged) -> str:
    added = [
        f"{count:,} {table.replace('llm_', '').replace('_', ' ')}"
        for table, count in merged.added.items()
        if count
    ]
    text = ", ".join(added) or "nothing new"
    if merged.renamed:
        named = [f"{old} is {new}" for old, new in list(merged.renamed.items())[:_NAMED]]
        more = ", …" if len(merged.renamed) > _NAMED else ""
        text += f"; session ids already in use: {len(merged.renamed):,} ({', '.join(named)}{more})"
    return text


def _show(words: str, done: int, total: int) -> None:
    """On one line of a terminal, which the next words take over; nothing where nobody looks."""
    if sys.stderr.isatty():
        share = f" {done * 100 // total} %" if total else ""
        sys.stderr.write(f"\r\x1b[K{words}{share}")
        sys.stderr.flush()
