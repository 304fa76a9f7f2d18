"""Tables and columns are described with their units, and the newest rows come first."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_telemetry.store import merging
from hermes_telemetry_datasette import descriptions
from support import old_ledger
from support.datasette_site import KEEPS_QUERIES, Site
from support.rows import insert
from support.tree import ROOT

Sites = Callable[..., Site]


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    tables: dict[str, Any] = yaml.safe_load((ROOT / "metadata.yml").read_text("utf-8"))[
        "databases"
    ]["telemetry"]["tables"]
    return tables


def types_of_columns(ledger: Path) -> dict[str, dict[str, str]]:
    """The declared types of the columns of each table and view."""
    with closing(sqlite3.connect(ledger)) as connection:
        names = connection.execute(
            "select name from sqlite_master"
            " where type in ('table', 'view') and name not like 'sqlite_%'"
        ).fetchall()
        return {
            name: {row[1]: row[2] for row in connection.execute(f"pragma table_info({name})")}
            for (name,) in names
        }


@pytest.fixture
def merged(ledger: Path) -> Path:
    """A merged ledger, which has all the tables that there can be."""
    merging.merge(ledger.with_name("merged.db"), [ledger])
    return ledger.with_name("merged.db")


def test_every_table_view_and_column_of_a_ledger_is_described_and_nothing_else(
    merged: Path, described: dict[str, Any]
) -> None:
    assert {table: set(about["columns"]) for table, about in described.items()} == {
        table: set(columns) for table, columns in types_of_columns(merged).items()
    }


def test_amounts_times_and_durations_name_their_unit(
    merged: Path, described: dict[str, Any]
) -> None:
    for table, columns in types_of_columns(merged).items():
        for column, kind in columns.items():
            text = described[table]["columns"][column]
            if kind.lower() == "real" or column.endswith("_usd"):
                assert "(USD" in text, f"{table}.{column}"
            if column == "ts" or column.endswith("_at"):
                assert "(UTC, ISO 8601)" in text, f"{table}.{column}"
            if column.endswith("_ms"):
                assert "(milliseconds)" in text, f"{table}.{column}"


def test_metadata_holds_descriptions_alone() -> None:
    # Queries, allow and settings clash with, or stop, one of the two lines of Datasette.
    content = yaml.safe_load((ROOT / "metadata.yml").read_text("utf-8"))
    assert content.keys() == {"databases"}
    for database in content["databases"].values():
        assert database.keys() == {"description", "tables"}
        for table in database["tables"].values():
            assert table.keys() == {"description", "columns"}
            assert all(isinstance(text, str) for text in table["columns"].values())


def test_the_plugin_ships_the_file_at_the_root() -> None:
    link = ROOT / "datasette_plugin" / "metadata.yml"
    assert link.is_symlink()
    assert link.readlink() == Path("../metadata.yml")


def test_pages_show_what_database_tables_and_columns_mean(sites: Sites, ledger: Path) -> None:
    site = sites(ledger)
    assert "Money is in US dollars at list prices" in site.page("/telemetry").text
    page = site.page("/telemetry/tool_calls")
    assert "One row per tool call." in page.text
    assert "latency_ms Duration of the tool call (milliseconds)" in page.text


def test_a_ledger_is_described_whatever_its_file_is_called(sites: Sites, ledger: Path) -> None:
    renamed = ledger.rename(ledger.with_name("last year's.db"))
    site = sites(renamed)
    address = site.page("/").address_of("last year's")
    assert "One row per tool call." in site.page(f"{address}/tool_calls").text


def test_the_users_own_descriptions_win(sites: Sites, ledger: Path) -> None:
    mine = {"description": "Mine.", "tables": {"runs": {"columns": {"status": "How it went"}}}}
    site = sites(ledger, metadata={"databases": {"telemetry": mine}})
    assert "Mine." in site.page("/telemetry").text
    assert "Money is in US dollars" not in site.page("/telemetry").text
    page = site.page("/telemetry/runs")
    assert "status How it went" in page.text
    assert "sender_id Person who wrote to the agent" in page.text


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Any]:
    """Arguments of a Datasette that goes on with what an earlier one kept, where a line can."""
    return {"internal": str(tmp_path / "internal.db")} if KEEPS_QUERIES else {}


@pytest.fixture
def an_earlier_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Until the end of its block, or `undo`, metadata.yml says other things than today."""
    shipped = deepcopy(descriptions._shipped())
    shipped["description"] = "Earlier words."
    shipped["tables"]["runs"]["description"] = "Earlier words on runs."
    shipped["tables"]["runs"]["columns"]["status"] = "Earlier words on status."
    with monkeypatch.context() as patch:
        patch.setattr(descriptions, "_shipped", lambda: shipped)
        yield patch


def test_todays_words_replace_those_of_an_earlier_release(
    sites: Sites, ledger: Path, kept: dict[str, Any], an_earlier_release: pytest.MonkeyPatch
) -> None:
    page = sites(ledger, **kept).page("/telemetry/runs")
    assert "Earlier words on runs." in page.text
    assert "status Earlier words on status." in page.text
    an_earlier_release.undo()
    site = sites(ledger, **kept)
    assert "Money is in US dollars at list prices" in site.page("/telemetry").text
    page = site.page("/telemetry/runs")
    assert "One row per session" in page.text
    assert "status running, ok, error or interrupted" in page.text
    assert "Earlier words" not in page.text


def test_the_users_words_outlast_a_release(
    sites: Sites, ledger: Path, kept: dict[str, Any], an_earlier_release: pytest.MonkeyPatch
) -> None:
    sites(ledger, **kept).page("/telemetry/runs")
    mine = {"tables": {"runs": {"description": "Mine.", "columns": {"status": "How it went"}}}}
    kept["metadata"] = {"databases": {"telemetry": mine}}
    sites(ledger, **kept).page("/telemetry/runs")
    an_earlier_release.undo()
    page = sites(ledger, **kept).page("/telemetry/runs")
    assert "Mine." in page.text
    assert "status How it went" in page.text


def test_an_older_file_is_described_by_the_columns_it_has(sites: Sites, tmp_path: Path) -> None:
    old = old_ledger.build(tmp_path / "old.db", 12)
    page = sites(old).page("/old/llm_calls")
    assert "latency_ms Duration of the successful attempt alone (milliseconds)" in page.text
    assert "Task within the session" not in page.text


def test_a_newer_file_is_described_as_far_as_it_is_known(sites: Sites, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("alter table runs add column mood text")
        connection.execute("create table moods (mood text)")
    site = sites(ledger)
    assert "status running, ok, error or interrupted" in site.page("/telemetry/runs").text
    site.get("/telemetry/moods")


def test_another_database_is_left_alone(sites: Sites, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("create table runs (session_id text, started_at text)")
    page = sites(tmp_path / "shop.db").page("/shop/runs")
    assert "One row per session" not in page.text


NEWEST_FIRST = [
    pytest.param(
        "runs",
        {"session_id": "z", "started_at": "2026-07-01T00:00:00+00:00"},
        {"session_id": "a", "started_at": "2026-07-02T00:00:00+00:00"},
        id="runs",
    ),
    pytest.param(
        "llm_calls",
        {"session_id": "older", "ts": "2026-07-01T00:00:00+00:00"},
        {"session_id": "newer", "ts": "2026-07-02T00:00:00+00:00"},
        id="llm_calls",
    ),
    pytest.param(
        "subagent_edges",
        {"child_session_id": "z", "parent_session_id": "p", "started_at": "2026-07-01T00:00"},
        {"child_session_id": "a", "parent_session_id": "p", "started_at": "2026-07-02T00:00"},
        id="subagent_edges",
    ),
]


@pytest.mark.parametrize(("table", "older", "newer"), NEWEST_FIRST)
def test_the_newest_rows_come_first(
    table: str, older: dict[str, Any], newer: dict[str, Any], sites: Sites, ledger: Path
) -> None:
    insert(ledger, table, **older)
    insert(ledger, table, **newer)
    rows = sites(ledger).rows(f"/telemetry/{table}.json?_shape=array")
    assert [row | newer == row for row in rows] == [True, False]


def test_every_table_of_a_ledger_has_an_order(sites: Sites, ledger: Path) -> None:
    site = sites(ledger)
    for table, columns in types_of_columns(ledger).items():
        if "day_utc" not in columns and not table.endswith("_costs"):
            assert "descending" in site.page(f"/telemetry/{table}?_size=0").text, table


@pytest.mark.parametrize("order", ["sort", "sort_desc"])
def test_the_users_own_order_wins(order: str, sites: Sites, ledger: Path) -> None:
    for session in ("b", "a", "c"):
        insert(ledger, "runs", session_id=session, started_at=f"2026-07-0{ord(session) - 96}")
    mine = {"tables": {"runs": {order: "session_id"}}}
    site = sites(ledger, metadata={"databases": {"telemetry": mine}})
    sessions = [row["session_id"] for row in site.rows("/telemetry/runs.json?_shape=array")]
    assert sessions == (["a", "b", "c"] if order == "sort" else ["c", "b", "a"])


def test_the_model_of_a_call_is_the_one_that_was_asked(described: dict[str, Any]) -> None:
    for table in ("llm_calls", "daily_costs_utc"):
        text = described[table]["columns"]["model"]
        assert " made to, as the host names it" in text
        assert "served" not in text
