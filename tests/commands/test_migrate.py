"""`hermes-telemetry migrate`: brings an older ledger up to date and says what it did."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store.upgrade import upgrade_lock
from support import old_ledger

Refused = Callable[..., str]


def test_an_older_ledger_is_upgraded_and_each_change_is_named(cli, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "v16.db", 16)
    answer = cli("migrate", "--db", path)
    assert (answer.code, answer.err) == (0, "")
    title, applied, added, *deleted = answer.out.splitlines()
    assert title == f"{path}: schema v16 -> v18"
    assert applied == "applied: v17, v18"
    assert {"table llm_call_errors", "index idx_llm_turn", "view turn_costs"} <= set(
        added.removeprefix("added: ").split(", ")
    )
    assert deleted == [
        "deleted: 1 rows of known_free_models without evidence of being free (v17)",
        "deleted: 1 rows of free_paid_transitions without evidence of being free (v17)",
    ]


def test_the_same_as_json(cli, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "v4.db", 4)
    report = json.loads(cli("migrate", "--db", path, "--json").out)
    assert report["file"] == str(path)
    assert (report["from_version"], report["to_version"]) == (4, 18)
    assert report["applied"] == [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]
    assert "table subagent_edges" in report["added"]
    assert report["deleted_rows"] == {}


def test_an_upgraded_ledger_can_be_queried(cli, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "v12.db", 12)
    before = cli("query", "turn_timeline", "--param", "turn_id=x", "--db", path)
    cli("migrate", "--db", path)
    after = cli("query", "turn_timeline", "--param", "turn_id=x", "--db", path)
    assert (before.code, after.code) == (2, 0)


def test_a_current_ledger_needs_nothing(cli, ledger: Path) -> None:
    answer = cli("migrate", "--db", ledger)
    assert (answer.code, answer.out) == (0, f"{ledger} is at schema v18: nothing to do\n")


def test_a_newer_ledger_is_not_taken_back(cli, ledger: Path) -> None:
    with closing(old_ledger.open_ledger(ledger)) as connection:
        old_ledger.record_version(connection, 19)
    answer = cli("migrate", "--db", ledger)
    assert (answer.code, answer.out) == (0, f"{ledger} is at schema v19: nothing to do\n")


def test_only_one_migrate_is_at_work_where_that_is_asked_for(cli, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "v12.db", 12)
    before = path.read_bytes()
    with upgrade_lock(path, wait=True):
        answer = cli("migrate", "--unless-running", "--db", path)
    assert (answer.code, answer.out) == (0, f"another migrate is at work on {path}\n")
    assert path.read_bytes() == before
    assert cli("migrate", "--unless-running", "--db", path).out.startswith(f"{path}: schema v12")


def test_a_missing_file_is_not_made(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "typo.db"
    line = refused("migrate", "--db", path)
    assert line.startswith(f"hermes-telemetry migrate: there is no file {path}: name a ledger")
    assert not path.exists()


@pytest.mark.parametrize("kind", ["text", "other", "empty"])
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    refused: Refused, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "photos.db"
    if kind == "text":
        path.write_text("not a database, and long enough to tell\n" * 40, encoding="utf-8")
    elif kind == "other":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table photos (id integer)")
    else:
        path.touch()
    before = path.read_bytes()
    assert str(path) in refused("migrate", "--db", path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["photos.db"]


def test_a_folder_that_takes_no_lock_file_is_said_in_a_sentence(
    refused: Refused, tmp_path: Path
) -> None:
    path = old_ledger.build(tmp_path / "v16.db", 16)
    # In the lock's place, since a closed folder is open to the superuser, who may run this.
    path.with_name("v16.db.migrate.lock").mkdir()
    assert refused("migrate", "--db", path) == (
        f"hermes-telemetry migrate: {path} cannot be upgraded where it lies: its lock"
        " v16.db.migrate.lock needs a folder that can be written (Is a directory)"
    )
