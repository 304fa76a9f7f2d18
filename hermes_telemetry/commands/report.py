"""`report`: the cost review of a month as one HTML file, and its charts as pictures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import periods
from .options import InputError, add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from .options import Commands

_MODE = 0o644


def add_parser(commands: Commands) -> None:
    """`report --month YYYY-MM [--out FILE.html] [--png DIR] [--db FILE]`."""
    parser = add_command(
        commands,
        "report",
        does="write a month's cost review to one HTML file, its charts to pictures",
        example="--month 2026-07 --out review.html --png charts",
        handler=run,
    )
    parser.add_argument(
        "--month",
        metavar="YYYY-MM",
        type=periods.month,
        required=True,
        help="a local month, month (this one) or last-month",
    )
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        type=Path,
        help="(default: telemetry-YYYY-MM.html here, or no such file with --png)",
    )
    parser.add_argument(
        "--png", metavar="DIR", type=Path, help="write each chart to a picture in this folder, too"
    )
    add_db_option(parser)


def run(namespace: argparse.Namespace) -> int:
    """Writes the files, none of which may be there, and names them."""
    from ..reports import configured_zone
    from ..store.spend import has_call_between
    from ..whole_files import write_new
    from ..windows import SYSTEM_CLOCK, Window, bound, local_day
    from . import server
    from .figures import asking

    path = ledger_path(namespace)
    zone, now = configured_zone(database=path), SYSTEM_CLOCK.now()
    month = periods.first_of(namespace.month, zone)
    if month > local_day(now, zone):
        raise InputError(f"{month:%Y-%m} is yet to come")
    drawing = server.plugin_module("charts.drawing")
    report = server.plugin_module("charts.report")
    if namespace.png and drawing.engine() is None:
        raise InputError(f"--png: {drawing.MISSING}")
    out: Path | None = namespace.out
    if out is None and not namespace.png:
        out = Path(f"telemetry-{month:%Y-%m}.html")
    _require_room([place for place in (out, namespace.png) if place], [out] if out else [])
    with asking(path, zone) as ledger:
        made = report.Report.of_month(ledger, path, month, zone, now)
        span = Window.month(month, zone)
        is_empty = not has_call_between(ledger, bound(span.start), bound(span.end))
    files: dict[Path, bytes] = {}
    if out is not None:
        files[out] = made.html(made.pictures()).encode()
    if namespace.png:
        files |= {namespace.png / f"{name}.png": png for name, png in made.pngs().items()}
        _require_room([], files)
        namespace.png.mkdir(exist_ok=True)
    for file, content in files.items():
        if not write_new(file, content, _MODE):
            raise InputError(f"{file} was made by somebody else meanwhile")
        print(file)
    if is_empty:
        print(f"no call of {month:%Y-%m} is recorded: the review is empty", file=sys.stderr)
    return 0


def _require_room(places: Iterable[Path], files: Iterable[Path]) -> None:
    """Raises InputError where no file can be made, or one would be overwritten."""
    for place in places:
        if not place.parent.is_dir():
            raise InputError(f"there is no folder {place.parent}")
    for file in files:
        if os.path.lexists(file):
            raise InputError(f"{file} exists: name another, or move it away")
