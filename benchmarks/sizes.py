"""How much larger the file is for what it keeps beside the shared schema."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from figures import Figure, Setting
from ledgers import SMALL, ledger

from hermes_telemetry.store.extras import SPEED_INDEXES


def group(setting: Setting) -> Iterator[Figure]:
    whole = setting.scratch / "whole.db"
    shutil.copyfile(ledger(setting, SMALL), whole)
    bare = setting.scratch / "bare.db"
    shutil.copyfile(whole, bare)
    with closing(sqlite3.connect(bare)) as conn, conn:
        for index in SPEED_INDEXES:
            conn.execute(f"drop index {index}")
        conn.execute("drop table llm_call_prices")
        conn.execute("drop table prices_used")
    ratio = _packed_bytes(whole) / _packed_bytes(bare)
    yield Figure("the file, by the file without speed indexes and prices", ratio, "×", 1.6)


def _packed_bytes(path: Path) -> int:
    packed = path.with_suffix(".packed")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("vacuum into ?", (str(packed),))
    return packed.stat().st_size
