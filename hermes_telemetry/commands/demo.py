"""`demo`: a made-up ledger to look around in, the same for the same seed and end."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .options import InputError, add_command

if TYPE_CHECKING:
    from .options import Commands

_CALLS, _DAYS, _SEED = 9000, 90, 1
# Fewer cannot hold one of each thing that the ledger is there to show.
_FEWEST_CALLS = 500
_FILE = "telemetry-demo.db"


def add_parser(commands: Commands) -> None:
    """`demo [FILE] [--calls N] [--days N] [--seed N] [--until WHEN]`."""
    parser = add_command(
        commands,
        "demo",
        does="make up a realistic ledger to look around in",
        example="demo.db --calls 20000 --days 120",
        handler=run,
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help=f"the new ledger (default: {_FILE})"
    )
    parser.add_argument("--db", metavar="FILE", help="the same")
    parser.add_argument(
        "--calls",
        type=_at_least(_FEWEST_CALLS),
        default=_CALLS,
        help=f"model calls in it (default: {_CALLS}, at least {_FEWEST_CALLS})",
    )
    parser.add_argument(
        "--days", type=_at_least(1), default=_DAYS, help=f"days they span (default: {_DAYS})"
    )
    parser.add_argument("--seed", type=int, default=_SEED, help="another seed, another ledger")
    parser.add_argument(
        "--until", help="its end, a date or an instant in UTC (default: now); makes it repeatable"
    )


def run(namespace: argparse.Namespace) -> int:
    """Makes the ledger and says where it is."""
    if namespace.file and namespace.db:
        raise InputError("name the file once: as FILE or by --db")
    path = Path(namespace.file or namespace.db or _FILE)
    budget = write(
        path,
        calls=namespace.calls,
        days=namespace.days,
        seed=namespace.seed,
        until=namespace.until,
    )
    print(f"{path}: {namespace.calls:,} calls in {namespace.days} days")
    print(budget)
    print(f"look at it: hermes-telemetry serve {shlex.quote(str(path))}")
    return 0


def write(
    path: Path,
    *,
    calls: int = _CALLS,
    days: int = _DAYS,
    seed: int = _SEED,
    until: str | None = None,
) -> str:
    """Makes a demo ledger at `path`, with its progress on the terminal, and a budget beside it.

    Returns a line on the budget. Raises InputError when there is a ledger already or `until` is no
    time.
    """
    from datetime import UTC, datetime

    from ..windows import parse_timestamp
    from .demo_ledger import write_demo
    from .progress import Progress

    if path.exists():
        raise InputError(f"{path} exists: a demo ledger is always a new file")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"nothing can be written in {path.parent}: name a file elsewhere")
    try:
        end = parse_timestamp(until) if until else datetime.now(UTC)
    except ValueError as error:
        raise InputError(f"--until {until}: neither a date nor an instant") from error
    with Progress(calls, "calls") as progress:
        text = write_demo(path, calls=calls, days=days, seed=seed, until=end, progress=progress)
    return _write_budget(path.with_name("budget.yaml"), text)


def _write_budget(path: Path, text: str) -> str:
    """Puts the demo's budget beside it, unless one stands there or would be enforced there."""
    from ..paths import telemetry_home
    from ..whole_files import write_new

    if path.parent.resolve() == telemetry_home().resolve():
        return f"no {path} was written: in the telemetry home it would be enforced"
    if not write_new(path, text.encode(), 0o644):
        return f"{path} was there before and is left as it is"
    return f"{path}: limits close to what was spent"


def _at_least(smallest: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= smallest):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {smallest} on")
        return int(text)

    return number
