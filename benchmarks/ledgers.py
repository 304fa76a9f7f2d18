"""The ledgers to measure on: made up once by the demo's writer, kept, copied to be written to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from figures import Setting

from hermes_telemetry.commands.demo import write
from hermes_telemetry.store.extras import SPEED_INDEXES
from hermes_telemetry.store.maintenance import optimize
from hermes_telemetry.windows import Clock, parse_timestamp

_STALE = timedelta(days=2)


@dataclass(frozen=True)
class Size:
    """So many calls in so many days; ``small`` is how many a small run makes do with."""

    calls: int
    days: int
    small: int = 2_000

    def of(self, setting: Setting) -> int:
        """The calls of a full or of a small run."""
        return setting.size(self.calls, self.small)


SMALL = Size(100_000, 365)
LARGE = Size(1_000_000, 365)
OLD = Size(5_000_000, 5 * 365, small=4_000)
"""The same calls a day as `LARGE`, five times the history."""


def ledger(setting: Setting, size: Size, *, fresh: bool = False) -> Path:
    """A ledger of that size to read, made if there is none.

    ``fresh``: its end must be no more than two days ago, for what asks for today or for this month.
    """
    calls = size.of(setting)
    path = setting.ledgers / f"{calls}-in-{size.days}-days" / "telemetry.db"
    if path.exists() and not (fresh and datetime.now(UTC) - end(path) > _STALE):
        _bring_up_to_date(path)
        return path
    shutil.rmtree(path.parent, ignore_errors=True)
    making = path.parent.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    print(f"making {path}: {calls:,} calls in {size.days} days", file=sys.stderr)
    write(making / path.name, calls=calls, days=size.days)
    making.rename(path.parent)
    return path


def _bring_up_to_date(path: Path) -> None:
    """What was made before an index was thought of is optimized, as its user is told to."""
    with closing(sqlite3.connect(path)) as conn:
        present = {name for (name,) in conn.execute("select name from sqlite_master")}
    if not present.issuperset(SPEED_INDEXES):
        print(f"optimizing {path}", file=sys.stderr)
        optimize(path)


def copy(setting: Setting, size: Size, name: str) -> Path:
    """The telemetry home of a copy that may be written to; it has no budget.

    The copy is on the disk: the first checkpoint would else have to wait for all of it.
    """
    home = setting.scratch / name
    home.mkdir()
    source = ledger(setting, size)
    shutil.copyfile(source, home / source.name)
    with (home / source.name).open("rb+") as made:
        os.fsync(made.fileno())
    return home


def end(path: Path) -> datetime:
    """When the ledger's newest call was made."""
    with closing(sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True)) as conn:
        (newest,) = conn.execute("select max(ts) from llm_calls").fetchone()
    return parse_timestamp(newest)


def clock_at_end(path: Path) -> Clock:
    """A clock that stands at the ledger's newest call, so that "30 days" mean its last ones."""
    now = end(path)
    return Clock(now=lambda: now, monotonic=lambda: 0.0, sleep=lambda _: None)
