"""What another build, or a hand, put into a ledger: no value of any column takes a page away."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hermes_telemetry.commands.cli import main
from support.datasette_site import Site
from support.ledger import HandMadeLedger
from support.pages import HOSTILE, assert_harmless, assert_no_markup, strict_json

Sites = Callable[..., Site]

PAGES = {
    "overview": "/-/telemetry?since=all",
    "budget": "/-/telemetry/budget?backtest=1&scope=global",
    "prune": "/-/telemetry/prune?before=1h",
    "charts": "/-/telemetry/charts?since=all",
}
# In a column of numbers SQLite keeps a text that is none, and a blob in every column.
ODD = {
    "blob": b"\x00\xff<script>alert(1)</script>",
    "text": "<script>alert(1)</script>",
    "no time": "2026-13-45T99:99:99",
    "negative": -1,
    "empty": "",
    "infinite": float("inf"),
    "minus infinite": float("-inf"),
    # Two of them are more than a float can hold.
    "huge": 1.7e308,
}


def spoil(path: Path, value: object) -> None:
    """Put `value` into each column of each table, but for the keys of rows, each in two rows."""
    with closing(sqlite3.connect(path)) as ledger, ledger:
        tables = ledger.execute(
            "select name from sqlite_master where type = 'table' and name <> 'schema_version'"
        ).fetchall()
        for (table,) in tables:
            rowids = [row[0] for row in ledger.execute(f"select rowid from {table}")]
            columns = ledger.execute("select name from pragma_table_info(?)", [table]).fetchall()
            for number, (column,) in enumerate(columns if rowids else ()):
                # From the newest on, which every page shows; most rows are left as they are.
                for place in (2 * number, 2 * number + 1):
                    rowid = rowids[-1 - place % len(rowids)]
                    with suppress(sqlite3.IntegrityError):
                        ledger.execute(
                            f"update {table} set {column} = ? where rowid = ?", [value, rowid]
                        )


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_every_page_answers(sites: Sites, tmp_path: Path, value: object) -> None:
    ledger = tmp_path / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "600", "--days", "40"]) == 0
    spoil(ledger, value)
    site = sites(ledger)
    for address in PAGES.values():
        assert_no_markup(site.get(address).text)
        strict_json(site.get(address.replace("?", ".json?")).text)
    strict_json(site.get("/-/telemetry/forecast.json").text)
    site.get("/-/telemetry/charts/review.html?since=all")


def test_a_blob_for_a_time_does_not_hide_the_newest(sites: Sites, ledger: Path) -> None:
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 1.0, "2026-07-01T12:00")
        made.call("s", 1.0, "2026-07-01T13:00")
        made.change("update llm_calls set ts = x'ff' where ts < '2026-07-01T13'")
    said = sites(ledger).get("/-/telemetry.json").json()
    assert said["data_to"].startswith("2026-07-01T13:00")


def test_names_do_no_harm_where_they_are_pruned(sites: Sites, ledger: Path) -> None:
    with closing(HandMadeLedger(ledger)) as made:
        for name in HOSTILE.values():
            made.failure("s", "2026-07-01T12:00", model=name, provider=name, status_code=name)
    site = sites(ledger)
    assert_harmless(site.get("/-/telemetry/prune?before=1d").text)
    groups = site.get("/-/telemetry/prune.json?before=1d").json()["groups"]
    assert {group["model"] for group in groups} == set(HOSTILE.values())
    for name in HOSTILE.values():
        asked = site.datasette.client.get(
            "/-/telemetry/prune", params={"before": "1d", "model": name}
        )
        answer = site.run(asked)
        assert answer.status_code == 200
        assert_no_markup(answer.text)
