"""Ledgers bring their queries: shown, explained, right, and given up to the user's own."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import reports
from hermes_telemetry.store import migrations
from support import old_ledger
from support.datasette_site import KEEPS_QUERIES, QUERIES, Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

ALL_DAYS = "/telemetry/cost_by_day.json?_shape=array&since=all"


def users_own(**queries: dict[str, Any]) -> dict[str, Any]:
    """The arguments by which a user configures queries of the database telemetry."""
    databases = {"databases": {"telemetry": {"queries": queries}}}
    return {"config": databases} if KEEPS_QUERIES else {"metadata": databases}


def zone(name: str) -> dict[str, Any]:
    """The arguments by which a user sets the plugin's time zone."""
    return {"metadata": {"plugins": {"hermes-telemetry": {"timezone": name}}}}


def call(ledger: Path, at: str, usd: float | None) -> None:
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", usd, at)


# --- shown


def test_every_query_is_listed_with_title_description_and_parameters(
    sites: Sites, ledger: Path
) -> None:
    listed = sites(ledger).queries("telemetry")
    known = reports.load_queries()
    assert listed.keys() == known.keys()
    for name, query in known.items():
        shown = listed[name]
        assert (shown["title"], shown["description"]) == (query.title, query.description)


def test_queries_are_there_before_the_first_request(sites: Sites, ledger: Path) -> None:
    site = sites(ledger)
    datasette = site.datasette
    site.run(datasette.invoke_startup())
    found = (
        datasette.get_query("telemetry", "cost_by_day")
        if KEEPS_QUERIES
        else datasette.get_canned_query("telemetry", "cost_by_day", actor=None)
    )
    assert site.run(found) is not None


def test_the_page_of_a_query_explains_it_and_asks_for_its_parameters(
    sites: Sites, ledger: Path
) -> None:
    site = sites(ledger)
    for name, query in reports.load_queries().items():
        page = site.page(f"/telemetry/{name}")
        assert query.title in page.text
        assert query.description in page.text
        assert page.inputs == [parameter.name for parameter in query.parameters]
        for parameter in query.parameters:
            assert f"empty means {parameter.default}" in page.text


def test_the_page_names_the_units_of_columns(sites: Sites, ledger: Path) -> None:
    page = sites(ledger).page("/telemetry/cost_by_day")
    assert "tokens_in , tokens_out , cache_read_tokens : tokens" in page.text
    assert "cost_usd : US dollars; NULL when no call in it has a price" in page.text


def test_a_query_with_a_chart_opens_as_that_chart(sites: Sites, ledger: Path) -> None:
    assert sites(ledger).page(f"/telemetry{QUERIES}").address_of("Cost per day") == (
        "/telemetry/cost_by_day#g.mark=bar&g.x_column=day&g.x_type=ordinal"
        "&g.y_column=cost_usd&g.y_type=quantitative"
    )


def test_a_charts_colour_is_part_of_its_address(sites: Sites, ledger: Path) -> None:
    chart = sites(ledger).queries("telemetry")["cost_by_day_and_model"]["fragment"]
    assert chart.endswith("&g.color_column=model")


def test_long_sql_is_folded_and_one_click_away(sites: Sites, ledger: Path) -> None:
    site = sites(ledger)
    folded = site.page("/telemetry/cost_by_day")
    assert '<pre id="sql-query">' not in folded.html
    assert '<pre id="sql-query">' in site.page(folded.address_of("show")).html


# --- right


def test_the_days_add_up_to_the_calls(sites: Sites, ledger: Path) -> None:
    call(ledger, "2025-12-31T23:59:59.999999+00:00", 0.25)
    call(ledger, "2026-01-01T00:00:00.000000+00:00", 0.5)
    call(ledger, "2026-03-29T01:30:00+00:00", 2.0)
    call(ledger, "2026-07-01T12:00:00.000001+00:00", None)
    call(ledger, "2026-07-01T12:00:00.000001+00:00", 0.125)
    rows = sites(ledger, **zone("UTC")).rows(ALL_DAYS)
    assert [(row["day"], row["cost_usd"], row["unpriced_calls"]) for row in rows] == [
        ("2026-07-01", 0.125, 1),
        ("2026-03-29", 2.0, 0),
        ("2026-01-01", 0.5, 0),
        ("2025-12-31", 0.25, 0),
    ]


def test_without_since_a_query_answers_for_its_default_window(sites: Sites, ledger: Path) -> None:
    call(ledger, "2020-01-01T00:00:00+00:00", 1.0)
    site = sites(ledger)
    assert site.rows("/telemetry/cost_by_day.json?_shape=array") == []
    assert len(site.rows(ALL_DAYS)) == 1


# 22:30 UTC is half past midnight of the next day in Madrid, half past six in New York.
LATE_EVENING = "2026-06-30T22:30:00+00:00"


def test_days_are_those_of_the_zone_in_the_plugins_settings(sites: Sites, ledger: Path) -> None:
    call(ledger, LATE_EVENING, 1.0)
    (ledger.parent / "budget.yaml").write_text("timezone: America/New_York")
    assert sites(ledger, **zone("Europe/Madrid")).rows(ALL_DAYS)[0]["day"] == "2026-07-01"


def test_without_a_setting_days_are_those_of_budget_yaml(
    sites: Sites, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    call(ledger, LATE_EVENING, 1.0)
    (ledger.parent / "budget.yaml").write_text("timezone: Europe/Madrid")
    assert sites(ledger).rows(ALL_DAYS)[0]["day"] == "2026-07-01"


@pytest.mark.parametrize(
    ("machine", "day"), [("Europe/Madrid", "2026-07-01"), ("America/New_York", "2026-06-30")]
)
def test_without_either_days_are_the_machines(
    machine: str, day: str, sites: Sites, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", machine)
    call(ledger, LATE_EVENING, 1.0)
    assert sites(ledger).rows(ALL_DAYS)[0]["day"] == day


def test_a_setting_that_is_no_zone_stops_the_start_and_is_named(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, **zone("Mars/Phobos"))
    with pytest.raises(Exception, match=r"hermes-telemetry: timezone: .*Mars/Phobos"):
        site.run(site.datasette.invoke_startup())


def test_one_start_keeps_to_one_zone(sites: Sites, ledger: Path) -> None:
    call(ledger, LATE_EVENING, 1.0)
    budget = ledger.parent / "budget.yaml"
    budget.write_text("timezone: Europe/Madrid")
    site = sites(ledger, settings={"num_sql_threads": 20})
    site.rows(ALL_DAYS)
    budget.write_text("timezone: America/New_York")

    async def at_once() -> list[Any]:
        # Many threads, and so connections that are opened after the edit.
        return await asyncio.gather(*[site.datasette.client.get(ALL_DAYS) for _ in range(20)])

    assert {answer.json()[0]["day"] for answer in site.run(at_once())} == {"2026-07-01"}


def test_each_of_several_ledgers_answers_for_itself(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    migrations.migrate(other)
    call(ledger, "2026-07-01T00:00:00+00:00", 1.0)
    call(other, "2026-07-01T00:00:00+00:00", 2.0)
    site = sites(ledger, other, **zone("UTC"))
    assert [row["cost_usd"] for row in site.rows(ALL_DAYS)] == [1.0]
    others = site.rows(ALL_DAYS.replace("telemetry", "other"))
    assert [row["cost_usd"] for row in others] == [2.0]


# --- the user's own


def test_the_users_query_of_the_same_name_wins(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, **users_own(cost_by_day={"sql": "select 'mine' as whose"}))
    # Twice: on 0.65 the first answer merges ours into the user's metadata.
    for _ in range(2):
        assert site.rows(ALL_DAYS) == [{"whose": "mine"}]
    assert site.queries("telemetry").keys() == reports.load_queries().keys()


def test_the_users_query_keeps_its_allow(sites: Sites, ledger: Path) -> None:
    mine = {"sql": "select 'mine' as whose", "allow": {"id": "ann"}}
    site = sites(ledger, **users_own(cost_by_day=mine))
    for _ in range(2):
        site.get(ALL_DAYS, status=403)
        assert site.get(ALL_DAYS, actor="ann").json() == [{"whose": "mine"}]
    assert "cost_by_day" not in site.queries("telemetry")
    assert "cost_by_day" in site.queries("telemetry", actor="ann")


def test_the_users_other_queries_stay(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, **users_own(mine={"sql": "select 1 as one"}))
    assert site.rows("/telemetry/mine.json?_shape=array") == [{"one": 1}]
    assert site.queries("telemetry").keys() == {*reports.load_queries(), "mine"}


def test_who_may_not_see_a_ledger_may_not_run_its_queries(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, metadata={"databases": {"telemetry": {"allow": {"id": "ann"}}}})
    site.get(ALL_DAYS, status=403)
    assert site.get(ALL_DAYS, actor="ann").json() == []


def test_who_may_run_no_sql_may_still_run_the_queries(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, settings={"default_allow_sql": False})
    assert site.rows(ALL_DAYS) == []


@pytest.mark.skipif(not KEEPS_QUERIES, reason="Datasette 0.65 keeps no queries")
class TestKeptQueries:
    def test_a_restart_neither_doubles_nor_keeps_stale_ones(
        self, sites: Sites, ledger: Path, tmp_path: Path
    ) -> None:
        internal = str(tmp_path / "internal.db")
        first = sites(ledger, internal=internal)
        first.queries("telemetry")
        for database, name in (("telemetry", "withdrawn"), ("detached", "cost_by_day")):
            first.run(
                first.datasette.add_query(database, name, "select 1", source="hermes-telemetry")
            )
        first.run(first.datasette.update_query("telemetry", "cost_by_day", sql="select 'stale'"))
        first.datasette.close()

        again = sites(ledger, internal=internal)
        assert again.queries("telemetry").keys() == reports.load_queries().keys()
        assert again.rows(ALL_DAYS) == []
        assert again.run(again.datasette.get_query("detached", "cost_by_day")) is None

    def test_a_query_that_a_user_stored_wins_and_stays(
        self, sites: Sites, ledger: Path, tmp_path: Path
    ) -> None:
        internal = str(tmp_path / "internal.db")
        first = sites(ledger, internal=internal)
        first.queries("telemetry")
        first.run(
            first.datasette.add_query(
                "telemetry", "cost_by_day", "select 1", source="user", owner_id="ann"
            )
        )
        first.datasette.close()

        again = sites(ledger, internal=internal)
        again.queries("telemetry")
        kept = again.run(again.datasette.get_query("telemetry", "cost_by_day"))
        assert (kept.sql, kept.owner_id) == ("select 1", "ann")


# --- files that come, go and grow


def test_a_database_without_the_tables_has_no_queries(sites: Sites, tmp_path: Path) -> None:
    # One table of the two is another program's.
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("create table runs (session_id text)")
    assert sites(tmp_path / "shop.db").queries("shop") == {}


def test_a_ledger_that_gets_its_tables_later_is_found(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table unrelated (x)")
    site = sites(path)
    assert site.queries("telemetry") == {}
    migrations.migrate(path)
    assert site.queries("telemetry").keys() == reports.load_queries().keys()
    assert "One row per tool call." in site.page("/telemetry/tool_calls").text


def test_a_ledger_that_is_attached_later_is_found_and_one_detached_is_gone(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    from datasette.database import Database

    site = sites(ledger)
    site.queries("telemetry")
    late = tmp_path / "late.db"
    migrations.migrate(late)
    site.datasette.add_database(Database(site.datasette, path=str(late)), name="late")
    # By address: Datasette 1.0 needs up to a second until it lists what is new.
    assert site.rows("/late/cost_by_day.json?_shape=array") == []
    site.datasette.remove_database("late")
    site.get("/late/cost_by_day", status=404)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger of schema version 12: no turns, no failed attempts, no price record."""
    return old_ledger.build(tmp_path / "old.db", 12)


def test_an_older_file_offers_what_it_can_run(sites: Sites, old: Path) -> None:
    site = sites(old)
    offered = site.queries("old")
    assert {"cost_by_day", "reconcile"} <= offered.keys()
    assert not offered.keys() & {"cost_per_turn", "turn_timeline", "failed_attempts"}
    for name in offered:
        site.get(f"/old/{name}.json?_shape=array")
    site.get("/old/turn_timeline", status=404)


def test_one_line_names_what_is_left_out_and_the_command_that_brings_it(
    sites: Sites, old: Path
) -> None:
    site = sites(old)
    text = site.page("/old").text
    assert "cost_per_turn" in text
    assert text.count(f"hermes-telemetry migrate --db {old}") == 1
    assert "hermes-telemetry migrate" not in site.page("/old/cost_by_day").text


def test_the_command_can_be_pasted_whatever_the_file_is_called(sites: Sites, old: Path) -> None:
    renamed = old.rename(old.with_name("last year.db"))
    site = sites(renamed)
    text = site.page(site.page("/").address_of("last year")).text
    assert f"hermes-telemetry migrate --db '{renamed}'" in text


def test_the_line_stands_beside_the_users_own_description(sites: Sites, old: Path) -> None:
    mine = {"databases": {"old": {"description_html": "<p>Mine.</p>"}}}
    text = sites(old, metadata=mine).page("/old").text
    assert "Mine." in text
    assert "hermes-telemetry migrate" in text


def test_a_current_file_has_no_such_line(sites: Sites, ledger: Path) -> None:
    assert "hermes-telemetry migrate" not in sites(ledger).page("/telemetry").text


def test_an_upgrade_brings_the_rest_without_a_restart(sites: Sites, old: Path) -> None:
    site = sites(old)
    assert "cost_per_turn" not in site.queries("old")
    migrations.migrate(old)
    assert site.queries("old").keys() == reports.load_queries().keys()
    page = site.page("/old")
    assert "hermes-telemetry migrate" not in page.text


def test_a_file_damaged_while_it_is_served_is_left_to_datasettes_own_error_page(
    sites: Sites, old: Path
) -> None:
    site = sites(old)
    site.queries("old")
    old.write_bytes(b"no database" * 1000)
    answer = site.get("/old/runs", status=500)
    assert "file is not a database" in answer.text


def test_requests_do_not_queue_behind_a_locked_file(sites: Sites, old: Path) -> None:
    site = sites(old, settings={"num_sql_threads": 1})
    site.queries("old")
    wait = "pragma busy_timeout = 300"
    site.run(site.datasette.get_database("old").execute_fn(lambda conn: conn.execute(wait)))

    async def ten_at_once() -> None:
        get = site.datasette.client.get
        await asyncio.gather(*[get("/-/static/app.css") for _ in range(10)])

    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("begin exclusive")
        start = time.monotonic()
        site.run(ten_at_once())
    # One wait of 0.3 s; ten in a row would take 3 s.
    assert time.monotonic() - start < 2
