"""A view streams in full, page by page, as other tools fetch it."""

import csv
import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from support.datasette_site import Site

TURNS = 2500


def test_a_view_streams_beyond_the_rows_that_a_page_may_have(
    sites: Callable[..., Site], ledger: Path
) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.executemany(
            "insert into llm_calls (session_id, ts, model, provider, cost_usd, turn_id)"
            " values (?, '2026-07-01T12:00:00.000000+00:00', 'm', 'p', 0.25, ?)",
            [(f"s{number // 2}", f"t{number}") for number in range(TURNS)],
        )
    site = sites(ledger)
    # 2,500 turns of a quarter; 1,250 sessions of two turns each.
    for view, key, rows in (("turn_costs", "turn_id", 2500), ("session_costs", "session_id", 1250)):
        text = site.get(f"/telemetry/{view}.csv?_stream=on&_size=max").text
        streamed = list(csv.DictReader(io.StringIO(text)))
        assert len({row[key] for row in streamed}) == len(streamed) == rows
        assert sum(float(row["cost_usd"]) for row in streamed) == 625
