"""Identifiers lead to the query that answers for them, whatever characters they hold."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from support import old_ledger
from support.datasette_site import Site
from support.rows import insert

Sites = Callable[..., Site]

HOSTILE = [
    "20260701_120000_ab12cd:default:0123abcd",
    "a/b?c#d&e=f",
    "100%",
    "%2F",
    "a+b c",
    "tür 日本 🙂",
    "\"quoted\" 'too'",
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "http://elsewhere.example/",
    "line\nbreak",
]


def test_a_turn_leads_to_its_timeline_under_any_base_url(sites: Sites, ledger: Path) -> None:
    for number, identifier in enumerate(HOSTILE):
        insert(
            ledger,
            "llm_calls",
            session_id="s",
            ts="2026-07-01",
            turn_id=identifier,
            model=f"model-{number}.",
        )
    site = sites(ledger, settings={"base_url": "/below/"})
    page = site.page("/telemetry/llm_calls")
    assert "<script>alert" not in page.html
    for number, identifier in enumerate(HOSTILE):
        address = page.address_of(identifier)
        assert address.startswith("/below/telemetry/turn_timeline?turn_id=")
        timeline = site.page(address.removeprefix("/below"))
        others = [f"model-{other}." for other in range(len(HOSTILE)) if other != number]
        assert f"model-{number}." in timeline.text
        assert not [other for other in others if other in timeline.text]


ROWS = {
    "runs": {"session_id": "s", "started_at": "2026-07-01", "cron_job_id": "j"},
    "llm_calls": {"session_id": "s", "ts": "2026-07-01", "turn_id": "t"},
    "tool_calls": {"session_id": "s", "ts": "2026-07-01", "turn_id": "t", "tool_name": "read"},
    "llm_call_errors": {"session_id": "s", "ts": "2026-07-01", "turn_id": "t"},
    "subagent_edges": {
        "child_session_id": "c",
        "parent_session_id": "p",
        "parent_turn_id": "t",
        "started_at": "2026-07-01",
    },
    "free_paid_transitions": {"model": "m", "detected_at": "2026-07-01", "session_id": "s"},
}

LINKS = [
    ("runs", "j", "cron_runs?cron_job_id=j"),
    ("llm_calls", "s", "cost_per_turn?session_id=s"),
    ("llm_calls", "t", "turn_timeline?turn_id=t"),
    ("tool_calls", "s", "cost_per_turn?session_id=s"),
    ("tool_calls", "t", "turn_timeline?turn_id=t"),
    ("llm_call_errors", "s", "cost_per_turn?session_id=s"),
    ("llm_call_errors", "t", "turn_timeline?turn_id=t"),
    ("subagent_edges", "p", "delegation_tree?session_id=p"),
    ("subagent_edges", "t", "turn_timeline?turn_id=t"),
    ("free_paid_transitions", "s", "cost_per_turn?session_id=s"),
]


def test_in_every_table_identifiers_are_links(sites: Sites, ledger: Path) -> None:
    for table, row in ROWS.items():
        insert(ledger, table, **row)
    site = sites(ledger)
    for table, value, query in LINKS:
        page = site.page(f"/telemetry/{table}")
        assert page.address_of(value) == f"/telemetry/{query}", table


def test_on_its_row_a_session_leads_to_its_turns(sites: Sites, ledger: Path) -> None:
    insert(ledger, "runs", session_id="s-1", started_at="2026-07-01")
    page = sites(ledger).page("/telemetry/runs/s-1")
    assert page.address_of("s-1") == "/telemetry/cost_per_turn?session_id=s-1"


def test_in_rows_of_queries_identifiers_are_links(sites: Sites, ledger: Path) -> None:
    insert(ledger, "llm_calls", session_id="s-1", ts="2020-07-01", turn_id="t-1")
    page = sites(ledger).page("/telemetry/cost_per_turn?session_id=s-1")
    assert page.address_of("t-1") == "/telemetry/turn_timeline?turn_id=t-1"


def test_a_call_of_no_turn_has_no_link(sites: Sites, ledger: Path) -> None:
    insert(ledger, "llm_calls", session_id="s", ts="2026-07-01", turn_id=None)
    insert(ledger, "llm_calls", session_id="s", ts="2026-07-01", turn_id="")
    page = sites(ledger).page("/telemetry/llm_calls")
    assert not [address for _, address in page.links if "turn_timeline?" in address]


def test_an_older_file_links_to_what_it_can_run(sites: Sites, tmp_path: Path) -> None:
    old = old_ledger.build(tmp_path / "old.db", 12)
    insert(old, "llm_calls", session_id="s-1", ts="2026-07-01")
    page = sites(old).page("/old/llm_calls")
    assert page.address_of("s-1") == "/old/delegation_tree?session_id=s-1"


def test_in_another_database_the_same_words_are_no_links(sites: Sites, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("create table visits (id integer primary key, session_id text)")
        connection.execute("insert into visits (session_id) values ('visitor')")
    page = sites(tmp_path / "shop.db").page("/shop/visits")
    assert "visitor" in page.text
    assert "visitor" not in [words for words, _ in page.links]


def test_an_amount_with_unpriced_calls_in_it_is_shown_as_a_lower_bound(
    sites: Sites, ledger: Path
) -> None:
    for day, cost in (("2026-07-01", 0.75), ("2026-07-01", None), ("2026-07-02", 0.5)):
        insert(ledger, "llm_calls", session_id="s", ts=f"{day}T12:00:00", cost_usd=cost)
    site = sites(ledger)
    page = site.page("/telemetry/cost_by_day?since=all")
    assert "≥ $0.75" in page.text
    assert "$0.50" in page.text
    assert "≥ $0.50" not in page.text
    assert site.get("/telemetry/cost_by_day.json?_shape=array&since=all").json()[1]["cost_usd"] == (
        0.75
    )


def test_amounts_of_queries_read_as_money_and_are_exact_as_data(sites: Sites, ledger: Path) -> None:
    # As floats 0.1 and 0.2 make 0.30000000000000004.
    for session, cost in (("a", 0.1), ("a", 0.2), ("b", 0.0000125), ("c", 0.0)):
        insert(ledger, "llm_calls", session_id=session, ts="2026-07-01T12:00:00", cost_usd=cost)
    site = sites(ledger)
    page = site.page("/telemetry/cost_by_session?since=all")
    for session, amount in (("a", "$0.30"), ("b", "$0.000013"), ("c", "$0.00")):
        assert f"{session} {amount}" in page.text
    assert '<span title="0.30000000000000004">$0.30</span>' in page.html
    rows = site.get("/telemetry/cost_by_session.json?_shape=array&since=all").json()
    assert [row["cost_usd"] for row in rows] == [0.1 + 0.2, 0.0000125, 0.0]
    assert "0.30000000000000004" in site.get("/telemetry/cost_by_session.csv?since=all").text
    # The rows of a table stay as they are stored.
    assert "1.25e-05" in site.page("/telemetry/llm_calls").text
