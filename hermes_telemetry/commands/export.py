"""`export`: the ledger as files for other tools, one for each table and view, in full."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .. import strict_json
from . import periods
from .options import InputError, add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    import sqlite3

    from .options import Commands

_FORMATS = ("csv", "ndjson")
_ROWS_BETWEEN_SIGNS = 1000


def add_parser(commands: Commands) -> None:
    """`export DIR [--since WHEN] [--format csv|ndjson] [--db FILE] [--json]`."""
    parser = add_command(
        commands,
        "export",
        does="write all tables and views to files that other tools read",
        example="ledger --since last-month --format ndjson",
        handler=run,
    )
    parser.add_argument(
        "folder", metavar="DIR", help="where the files go; none that is there is overwritten"
    )
    parser.add_argument(
        "--since",
        "--from",
        metavar="WHEN",
        default="all",
        help=f"only what was recorded from then on: {periods.WHEN} (default: all)",
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="csv", help="csv, or one JSON object a line"
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Writes the files, all of them or none, and says how many rows each has."""
    from contextlib import closing

    from ..store import exporting, maintenance
    from .progress import Progress

    if not namespace.folder:  # as a variable that is not set makes it; Path("") is this folder
        raise InputError("name a folder for the files")
    path, folder = ledger_path(namespace), Path(namespace.folder)
    with closing(maintenance.open_current(path)) as ledger:
        ledger.execute("begin")  # one moment for all files, whatever is recorded meanwhile
        since = periods.since_bound(namespace.since, path)
        selects = exporting.selects(ledger)
        targets = {name: folder / f"{name}.{namespace.format}" for name in selects}
        _claim(folder, targets.values())
        with Progress(max(exporting.count(ledger, since), 1), "rows") as progress:
            rows = _write_all(ledger, selects, since, targets, progress)
    if namespace.json:
        report = {
            "file": str(path),
            "folder": str(folder),
            "format": namespace.format,
            "since": since,
            "files": [{"file": targets[name].name, "rows": count} for name, count in rows.items()],
        }
        print(strict_json.text(report))
        return 0
    for name, count in rows.items():
        print(f"{targets[name]}: {count:,} rows")
    return 0


def _claim(folder: Path, targets: Iterable[Path]) -> None:
    """Makes the folder if it is not there. Raises InputError where a file would be overwritten."""
    if not folder.parent.is_dir():
        raise InputError(f"there is no folder {folder.parent}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    place = folder if folder.exists() else folder.parent
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"nothing can be written in {place}: name a folder elsewhere")
    for target in targets:
        if os.path.lexists(target):
            raise InputError(f"{target} exists: name another folder, or move it away")
    folder.mkdir(exist_ok=True)


def _write_all(
    ledger: sqlite3.Connection,
    selects: Mapping[str, str],
    since: str,
    targets: Mapping[str, Path],
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Rows by name. The files get their names when all are complete."""
    from tempfile import TemporaryDirectory

    rows: dict[str, int] = {}

    def counted(name: str, cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
        before, rows[name] = sum(rows.values()), 0
        for row in cursor:
            rows[name] += 1
            if rows[name] % _ROWS_BETWEEN_SIGNS == 0:
                progress(before + rows[name])
            yield row

    folder = next(iter(targets.values())).parent
    with TemporaryDirectory(dir=folder, prefix=".export-") as unfinished:
        for name, select in selects.items():
            cursor = ledger.execute(select, {"since": since})
            columns = [column[0] for column in cursor.description]
            made = Path(unfinished, targets[name].name)
            with made.open("w", encoding="utf-8", newline="") as to:
                _WRITERS[made.suffix](to, columns, counted(name, cursor))
        _publish(Path(unfinished), targets.values())
    return rows


def _publish(unfinished: Path, targets: Iterable[Path]) -> None:
    from ..whole_files import publish

    published: list[Path] = []
    try:
        for target in targets:
            publish(unfinished / target.name, target)
            published.append(target)
    except BaseException as error:
        for done in published:
            done.unlink()
        if isinstance(error, FileExistsError):
            raise InputError(f"{target} was made by somebody else meanwhile") from error
        raise


def _write_csv(to: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from .output import write_csv

    write_csv(to, columns, rows)


def _write_ndjson(to: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        to.write(strict_json.line(dict(zip(columns, row, strict=True))) + "\n")


_WRITERS = {".csv": _write_csv, ".ndjson": _write_ndjson}
