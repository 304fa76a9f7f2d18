"""`datasette` as users start it: its own command, files on disk, answers over HTTP."""

import hashlib
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from support import old_ledger
from support.datasette_site import QUERIES, Page, bound_by_permissions, served
from support.ledger import HandMadeLedger
from support.tree import ROOT


def page(client: httpx.Client, path: str) -> Page:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


@pytest.fixture
def three_calls(ledger: Path) -> Path:
    """A ledger in which three calls of two turns cost 0.25, 0.5 and an unknown amount."""
    with closing(HandMadeLedger(ledger)) as made:
        made.run("s", cost_usd=0.75)
        made.call("s", 0.25, turn="t-1")
        made.call("s", None, turn="t-1")
        made.call("s", 0.5, turn="t-2")
    return ledger


def test_a_ledger_alone_answers_what_each_turn_and_day_cost(three_calls: Path) -> None:
    with served(three_calls) as client:
        assert "Cost per day" in [words for words, _ in page(client, f"/telemetry{QUERIES}").links]
        assert "t-1" in page(client, "/telemetry/cost_per_turn?since=all").text
        turns = client.get("/telemetry/cost_per_turn.json?_shape=array&since=all").json()
        assert {turn["turn_id"]: (turn["cost_usd"], turn["calls"]) for turn in turns} == {
            "t-1": (0.25, 2),
            "t-2": (0.5, 1),
        }
        days = client.get("/telemetry/cost_by_day.json?_shape=array&since=all").json()
        assert sum(day["cost_usd"] for day in days) == 0.75
        assert sum(day["unpriced_calls"] for day in days) == 1
        lines = client.get("/telemetry/cost_by_day.csv?since=all").text.splitlines()
        assert lines[0].startswith("day,cost_usd,calls")
        assert len(lines) == 1 + len(days)


def test_beside_a_database_of_another_kind_each_shows_its_own(
    three_calls: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("create table visits (id integer primary key, session_id text)")
        connection.execute("insert into visits (session_id) values ('visitor')")
    with served(tmp_path / "shop.db", three_calls) as client:
        assert "visitor" in page(client, "/shop/visits").text
        assert client.get("/shop/cost_by_day").status_code == 404
        assert page(client, "/shop").address_of("Telemetry") == "/-/telemetry"
        assert "Cost per day" in page(client, f"/telemetry{QUERIES}").text


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A ledger of schema version 12 with rows, which nobody may write, nor beside it."""
    path = tmp_path / "read-only" / "old.db"
    path.parent.mkdir()
    old_ledger.build(path, 12)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    return path


def test_an_older_read_only_file_shows_what_it_can_and_says_the_rest(read_only: Path) -> None:
    writes = f"open({str(read_only)!r}, 'a')"
    refused = subprocess.run(
        bound_by_permissions("-c", writes), capture_output=True, text=True, check=False
    )
    assert "PermissionError" in refused.stderr
    before = hashlib.sha256(read_only.read_bytes()).digest()

    with served(read_only) as client:
        text = page(client, "/old").text
        assert f"hermes-telemetry migrate --db {read_only}" in text
        assert "cost_per_turn" in text
        assert "One row per session" in page(client, "/old/runs").text
        days = client.get("/old/cost_by_day.json?_shape=array&since=all")
        assert days.status_code == 200
        assert client.get("/old/cost_per_turn").status_code == 404

    assert hashlib.sha256(read_only.read_bytes()).digest() == before
    assert list(read_only.parent.iterdir()) == [read_only]


def test_a_current_read_only_file_is_shown_as_immutable(three_calls: Path) -> None:
    # In WAL mode SQLite wants to write beside the file, unless it is told that nobody writes.
    three_calls.parent.chmod(0o555)
    with served("-i", three_calls) as client:
        days = client.get("/telemetry/cost_by_day.json?_shape=array&since=all").json()
        assert [day["cost_usd"] for day in days] == [0.75]


def test_metadata_given_by_hand_changes_nothing(three_calls: Path) -> None:
    with served(three_calls, "-m", ROOT / "metadata.yml") as client:
        text = page(client, "/telemetry/llm_calls").text
        assert text.count("One row per successful model call.") == 1
        assert "sorted by id descending" in text
        days = client.get("/telemetry/cost_by_day.json?_shape=array&since=all").json()
        assert [day["cost_usd"] for day in days] == [0.75]
