"""`hermes-telemetry doctor`: each fault is really made, and named in one line with what to do."""

import json
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.paths import database_path, spill_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import spill
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.windows import timestamp
from support import old_ledger
from support.doctor import faults_of, record_turn
from support.rows import insert

SESSION = "20261130_144155_132c1e"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")


@pytest.fixture
def path() -> Path:
    """The ledger of one recorded turn with a tool call: two model calls."""
    record_turn(Recorder().hooks())
    return database_path()


@pytest.fixture
def doctor(cli) -> Callable[..., dict[str, str]]:
    """The faults that `doctor` names when it is called with these arguments."""
    return lambda *arguments: faults_of(cli("doctor", *arguments))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def value(path: Path, sql: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def damage(path: Path, name: str, edit: Callable[[bytes], bytes]) -> None:
    """Change the root page of a table or an index in the closed file."""
    change(path, "pragma wal_checkpoint(truncate)")
    size = value(path, "pragma page_size")
    start = size * (value(path, f"select rootpage from sqlite_master where name = '{name}'") - 1)
    content = path.read_bytes()
    page = edit(content[start : start + size])
    assert len(page) == size
    assert page != content[start : start + size]
    path.write_bytes(content[:start] + page + content[start + size :])


def test_a_healthy_ledger_is_named_so_with_what_was_looked_at(cli, path: Path) -> None:
    answer = cli("doctor")
    assert (answer.code, answer.err) == (0, "")
    title, *lines = answer.out.splitlines()
    assert title == str(path)
    looked_at = {line[7:24].strip(): line[24:].strip() for line in lines}
    assert all(line.startswith(("ok ", "note ")) for line in lines)
    assert looked_at["schema"] == "version 18"
    assert looked_at["run totals"] == "1 run as their calls say"
    assert looked_at["calls"] == ("2 in the last 30 days, 100.0% without a price, 0.0% estimated")
    assert looked_at["hooks"] == (
        "seen: pre_llm_call, pre_api_request, post_api_request, post_llm_call, on_session_end,"
        " pre_tool_call, post_tool_call, on_session_start, on_session_finalize;"
        " without an occasion so far: api_request_error, subagent_start, subagent_stop,"
        " on_session_reset"
    )
    assert set(looked_at) == {
        "integrity",
        "schema",
        "pieces",
        "speed",
        "run totals",
        "timestamps",
        "write-ahead log",
        "spill",
        "dropped",
        "hooks",
        "calls",
        "growth",
        "disk",
        "prices",
        "price age",
        "budget",
    }


def test_the_same_as_json(cli, path: Path) -> None:
    change(path, "update runs set api_calls = 7")
    answer = cli("doctor", "--json")
    report = json.loads(answer.out)
    assert answer.code == 1
    assert report.keys() == {"file", "ok", "repaired", "findings"}
    assert (report["file"], report["ok"], report["repaired"]) == (str(path), False, [])
    assert [finding for finding in report["findings"] if finding["state"] == "fault"] == [
        {
            "check": "run totals",
            "state": "fault",
            "text": f"1 run not as their calls say; {SESSION} has $0.00 for 7 calls and 2,468"
            " tokens instead of $0.00 for 2 and 2,468",
            "advice": "run `hermes-telemetry doctor --repair`",
        }
    ]


def test_looking_changes_nothing(cli, path: Path) -> None:
    change(path, "update runs set cost_usd = 3", "pragma wal_checkpoint(truncate)")
    before = path.read_bytes()
    assert cli("doctor").code == 1
    assert path.read_bytes() == before


def test_what_is_no_ledger_is_a_fault_and_never_changed(cli, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    change(other, "create table t (x)")
    before = other.read_bytes()
    for options in ((), ("--repair",)):
        faults = faults_of(cli("doctor", *options, "--db", other))
        text = f"{other} is not a telemetry ledger: it has no runs and llm_calls: name one"
        assert faults == {"ledger": text}
    assert other.read_bytes() == before


@pytest.mark.parametrize("piece", ["llm_calls", "idx_llm_ts"])
def test_a_corrupt_page(doctor, path: Path, piece: str) -> None:
    damage(path, piece, lambda page: b"\xa5" * len(page))
    faults = doctor()
    assert faults["integrity"].startswith("the file is damaged: ")
    assert faults["integrity"].endswith("and put NEW in its place")


def test_a_damaged_beginning_of_the_file(doctor, path: Path) -> None:
    change(path, "pragma wal_checkpoint(truncate)")
    path.write_bytes(b"\xa5" * 100 + path.read_bytes()[100:])
    (check,) = faults = doctor()
    assert check == "integrity"
    assert faults["integrity"].startswith("the file is damaged: file is not a database: ")


def test_a_file_that_cannot_be_opened(doctor, path: Path, tmp_path: Path) -> None:
    change(path, "pragma wal_checkpoint(truncate)")
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    (tmp_path / "copy.db-wal").mkdir()
    for arguments in ([], ["--repair"]):
        (check,) = faults = doctor("--db", copy, *arguments)
        assert check == "access"
        assert ": check the permissions of file and folder, and what else" in faults["access"]


def test_a_damaged_index_can_be_built_again(doctor, path: Path) -> None:
    day = value(path, "select substr(ts, 1, 10) from llm_calls").encode()
    damage(path, "idx_llm_ts", lambda page: page.replace(day, b"1999-01-01"))
    assert doctor()["integrity"].endswith("then `sqlite3 FILE reindex`")
    change(path, "reindex")
    assert doctor() == {}


def test_a_damaged_file_is_not_repaired(doctor, path: Path) -> None:
    change(path, "update runs set cost_usd = 3")
    damage(path, "idx_tool_name", lambda page: b"\xa5" * len(page))
    before = path.read_bytes()
    assert doctor("--repair").keys() == {"integrity", "run totals"}
    assert path.read_bytes() == before


def test_an_older_schema(cli, doctor, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "last year.db", 17)
    assert (
        "could not be looked at: no such table: llm_call_errors" in cli("doctor", "--db", path).out
    )
    assert doctor("--db", path)["schema"] == (
        f"version 17, older than the 18 known here: run `hermes-telemetry migrate --db '{path}'`"
    )
    database_path().parent.mkdir()
    path.replace(database_path())
    assert doctor()["schema"].endswith("run `hermes-telemetry migrate`")


def test_a_newer_schema(doctor, path: Path) -> None:
    change(path, "insert into schema_version values (19, '2026-12-01T00:00:00+00:00')")
    assert doctor() == {
        "schema": "version 19, newer than the 18 known here: what it added stays empty:"
        " upgrade hermes-telemetry"
    }
    assert doctor("--repair").keys() == {"schema"}


def test_a_column_and_an_index_missing_behind_their_recorded_version(doctor, path: Path) -> None:
    change(path, "alter table runs drop column moa_calls", "drop index idx_runs_profile")
    assert doctor() == {
        "pieces": "recorded as made, but missing: runs.moa_calls, idx_runs_profile:"
        " run `hermes-telemetry doctor --repair`"
    }
    assert doctor("--repair") == {}
    assert value(path, "select moa_calls from runs") == 0


def test_run_totals_that_differ(cli, doctor, path: Path) -> None:
    change(
        path,
        "update llm_calls set cost_usd = 0.25, provider_assumed = 1",
        "update runs set cost_usd = 0.75, tokens_in = 5",
    )
    insert(path, "llm_calls", session_id="lost", ts="2024-05-01T00:00:00+00:00", cost_usd=0.125)
    assert doctor() == {
        "run totals": f"2 runs not as their calls say; {SESSION} has $0.75 for 2 calls and 2,073"
        " tokens instead of $0.50 for 2 and 2,468: run `hermes-telemetry doctor --repair`"
    }

    answer = cli("doctor", "--repair")

    assert answer.code == 0
    assert "repaired  runs recomputed from their calls: 2" in answer.out
    with closing(sqlite3.connect(path)) as connection:
        runs = connection.execute(
            "select session_id, cost_usd, api_calls, provider_assumed_calls, tool_calls, started_at"
            " from runs order by started_at"
        ).fetchall()
        assert [run[:5] for run in runs] == [("lost", 0.125, 1, 0, 0), (SESSION, 0.5, 2, 2, 1)]
        assert runs[0][5] == "2024-05-01T00:00:00+00:00"
        tokens = "select sum(tokens_in) from {} where session_id = ?"
        assert (
            connection.execute(tokens.format("runs"), (SESSION,)).fetchone()
            == connection.execute(tokens.format("llm_calls"), (SESSION,)).fetchone()
        )


def test_a_nano_dollar_is_no_difference(doctor, path: Path) -> None:
    change(path, "update runs set cost_usd = 0.0000000009")
    assert doctor() == {}
    change(path, "update runs set cost_usd = 0.0000000011")
    assert doctor().keys() == {"run totals"}


def test_a_log_that_a_reader_keeps_long(cli, doctor, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from runs").fetchone()
        with closing(sqlite3.connect(path)) as writer, writer:
            writer.execute("create table padding (bytes blob)")
            writer.execute("insert into padding values (zeroblob(70000000))")
            writer.execute("drop table padding")
        fault = doctor()["write-ahead log"]
    assert "a reader holds on to it: close what reads the ledger" in fault
    assert fault.endswith("run `hermes-telemetry optimize`")

    assert cli("optimize").code == 0

    assert doctor() == {}


def test_records_that_wait(doctor, path: Path) -> None:
    hooks = Recorder().hooks()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        for number in (1, 2):
            hooks["post_tool_call"](session_id=SESSION, tool_name="ls", tool_call_id=str(number))
    tools = value(path, "select count(*) from tool_calls")
    assert doctor() == {
        "spill": "2 records waiting beside the ledger for the next write:"
        " run `hermes-telemetry doctor --repair` to bring them in"
    }

    assert doctor("--repair") == {}

    assert value(path, "select count(*) from tool_calls") == tools + 2


def test_records_that_were_dropped(doctor, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MEMORY_LINES", 1)
    hooks = Recorder().hooks()
    spill_path(path).mkdir()  # a spill file that cannot be written
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        for _ in range(4):
            hooks["post_tool_call"](session_id=SESSION, tool_name="ls")
    spill_path(path).rmdir()
    hooks["post_tool_call"](session_id=SESSION, tool_name="ls")

    fault = doctor()["dropped"]

    assert fault.startswith("3 records dropped, the last ")
    assert f"check room and permissions of {path.parent}" in fault
    change(path, "update endpoint_payload_cache set built_at = '2024-05-01T00:00:00+00:00'")
    assert "dropped" not in doctor(), "what was long ago is no fault any more"


def test_waiting_records_that_nothing_can_read(doctor, path: Path) -> None:
    spill_path(path).write_text('{"writes": [["no_such_write", {}]]}\nhalf a li\n')
    Recorder().hooks()["post_tool_call"](session_id=SESSION, tool_name="ls")

    (check,) = faults = doctor()

    assert check == "rejected"
    aside = spill_path(path).with_suffix(".rejected")
    assert faults["rejected"].startswith(f"2 records that waited could not be read back: {aside}:")
    aside.unlink()
    assert doctor() == {}


def test_a_disk_that_is_nearly_full(doctor, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Disk:
        total, free = 100_000_000, 4_900_000

    monkeypatch.setattr("shutil.disk_usage", lambda folder: Disk)
    assert doctor() == {
        "disk": "4.9 MB free (4.9%): make room: once it is full, records are dropped"
    }
    Disk.free = 5_000_000
    assert doctor() == {}


def test_rows_from_the_future(doctor, path: Path) -> None:
    now = datetime.now(UTC)
    for table, ahead in (
        ("llm_call_errors", timedelta(days=1)),
        ("tool_calls", timedelta(hours=1)),
    ):
        insert(
            path,
            table,
            session_id=SESSION,
            ts=timestamp(now + ahead),
            **({"tool_name": "ls"} if table == "tool_calls" else {}),
        )
    insert(path, "llm_call_errors", session_id=SESSION, ts=timestamp(now + timedelta(minutes=3)))
    assert doctor() == {
        "timestamps": "rows from the future: 1 in tool_calls, 1 in llm_call_errors:"
        " correct this machine's clock; until then they count on their own days"
    }


def test_a_ledger_that_no_recorder_has_written_says_how_to_begin(cli, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    migrate(path)
    answer = cli("doctor", "--db", path)
    assert answer.code == 0
    assert "no hook of the host was seen yet: name hermes-telemetry under plugins" in answer.out


def test_repair_brings_an_old_ledger_up_to_date_and_deletes_no_row(
    cli, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = old_ledger.build(tmp_path / "old.db", 17)
    with closing(sqlite3.connect(path)) as connection:
        before = old_ledger.contents(connection)

    with caplog.at_level(logging.WARNING):
        answer = cli("doctor", "--repair", "--db", path)

    assert "repaired  schema: applied v18" in answer.out
    assert "older than" not in answer.out
    with closing(sqlite3.connect(path)) as connection:
        after = old_ledger.contents(connection)
    for table, (_, rows) in before.items():
        assert len(after[table][1]) >= len(rows), table


def test_a_run_whose_tokens_differ_from_its_calls(doctor, path: Path) -> None:
    tokens = value(
        path, "select tokens_in + tokens_out + cache_read_tokens + cache_write_tokens from runs"
    )
    for column in ("tokens_in", "tokens_out", "cache_read_tokens", "cache_write_tokens"):
        change(path, f"update runs set {column} = {column} + 5")
        assert doctor() == {
            "run totals": f"1 run not as their calls say; {SESSION} has $0.00 for 2 calls and"
            f" {tokens + 5:,} tokens instead of $0.00 for 2 and {tokens:,}:"
            " run `hermes-telemetry doctor --repair`"
        }
        assert doctor("--repair") == {}


def test_repair_tells_which_rows_an_upgrade_takes_out(cli, tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "old.db", 16)
    lines = cli("doctor", "--repair", "--db", path).out.splitlines()
    assert {
        "repaired  schema: applied v17, v18",
        "repaired  schema: deleted 1 rows of known_free_models without evidence of being free"
        " (v17)",
    } <= set(lines)
