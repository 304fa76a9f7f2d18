"""Merging what was merged or copied before: a row that is known comes in no second time."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store.run_totals import differences
from support.hosts import NIGHTLY, changed_by_hand, dump, new_host, nightly_run, rows
from support.ledger import HandMadeLedger

CALLS = "select count(*), sum(cost_usd) from llm_calls"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HandMadeLedger]:
    """A run of the nightly job: 0.25 + 0.5 USD."""
    host = new_host(tmp_path / "host.db")
    nightly_run(host, 0.25, 0.5)
    yield host
    host.close()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "all.db"


def unequal_runs(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        return list(differences(connection))


def copied(host: HandMadeLedger, name: str) -> HandMadeLedger:
    """What somebody else goes on with."""
    path = host.path.with_name(name)
    with closing(sqlite3.connect(host.path)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)
    return HandMadeLedger(path)


def test_a_host_that_went_on_adds_what_is_new(cli, host: HandMadeLedger, out: Path) -> None:
    cli("merge", out, host.path)
    host.call(NIGHTLY, 2.0, "2026-07-01T03:00:09", tokens_in=10)
    host.tool(NIGHTLY, "terminal")
    host.tool(NIGHTLY, "delegate_task/subagent")  # stands for a subagent and counts in no total
    host.edge("child", NIGHTLY)
    with changed_by_hand(host.path) as execute:
        execute(
            "update runs set cost_usd = 2.75, api_calls = 3, tokens_in = 30, tool_calls = 1,"
            " status = 'ok', ended_at = '2026-07-01T03:01:00', duration_ms = 60000"
        )
    cli("merge", out, host.path)
    # Once a subagent has ended, its edge says so.
    with changed_by_hand(host.path) as execute:
        execute("update subagent_edges set stopped_at = '2026-07-01T03:02', child_status = 'ok'")
    cli("merge", out, host.path)
    columns = "cost_usd, api_calls, tokens_in, tool_calls, status, ended_at, duration_ms"
    assert rows(out, f"select {columns} from runs") == [
        (2.75, 3, 30, 1, "ok", "2026-07-01T03:01:00", 60000)
    ]
    assert rows(out, CALLS) == [(3, 2.75)]
    assert rows(out, "select count(*) from tool_calls") == [(2,)]
    assert rows(out, "select child_session_id, stopped_at, child_status from subagent_edges") == [
        ("child", "2026-07-01T03:02", "ok")
    ]


def test_a_backup_from_before_takes_nothing_back(cli, host: HandMadeLedger, out: Path) -> None:
    backup = copied(host, "backup.db")
    host.call(NIGHTLY, 2.0, "2026-07-01T03:00:09", tokens_in=10)
    with changed_by_hand(host.path) as execute:
        execute(
            "update runs set cost_usd = 2.75, api_calls = 3, tokens_in = 30, status = 'ok',"
            " ended_at = '2026-07-01T03:01:00'"
        )
    cli("merge", out, host.path)
    before = dump(out)
    assert "nothing new" in cli("merge", out, backup.path).out
    assert dump(out) == before


def test_a_price_that_was_filled_in_later_comes_along_once(
    cli, host: HandMadeLedger, out: Path
) -> None:
    host.run("late", api_calls=1)
    host.call("late", None)
    cli("merge", out, host.path)
    price = host.price("listed", input=3)
    with changed_by_hand(host.path) as execute:
        execute("update llm_calls set cost_usd = 4, provider_assumed = 1 where cost_usd is null")
        execute(
            "update runs set cost_usd = 4, provider_assumed_calls = 1 where session_id = 'late'"
        )
        execute(f"insert into llm_call_prices values (3, {price}, null, '2026-07-02T00:00:00')")
    for _ in range(2):
        cli("merge", out, host.path)
        assert rows(out, CALLS) == [(3, 4.75)]
        assert rows(
            out, "select cost_usd, provider_assumed_calls from runs where session_id = 'late'"
        ) == [(4.0, 1)]
        assert rows(out, "select basis, filled_at from llm_call_prices join prices_used") == [
            ("listed", "2026-07-02T00:00:00")
        ]


def test_a_price_filled_in_here_and_there_stays_as_it_is_here(
    cli, host: HandMadeLedger, out: Path
) -> None:
    host.run("late", api_calls=1)
    host.call("late", None)
    cli("merge", out, host.path)
    for path, usd in ((out, 8), (host.path, 4)):
        with changed_by_hand(path) as execute:
            execute(f"update llm_calls set cost_usd = {usd} where cost_usd is null")
            execute(f"update runs set cost_usd = {usd} where session_id = 'late'")
            execute("insert into llm_call_prices values (3, 1, null, '2026-07-02T00:00:00')")
    cli("merge", out, host.path)
    assert rows(out, CALLS) == [(3, 8.75)]
    assert unequal_runs(out) == []


def test_pruned_failures_stay_and_do_not_come_twice(cli, host: HandMadeLedger, out: Path) -> None:
    host.failure(NIGHTLY, "2026-07-01T03:00:01")
    host.failure(NIGHTLY, "2026-07-01T03:00:02")
    cli("merge", out, host.path)
    with changed_by_hand(host.path) as execute:
        execute("delete from llm_call_errors where id = 1")
    host.failure(NIGHTLY, "2026-07-01T03:00:03")
    cli("merge", out, host.path)
    assert rows(out, "select substr(ts, 18, 2) from llm_call_errors order by id") == [
        ("01",),
        ("02",),
        ("03",),
    ]


def test_a_machine_set_up_from_a_copy_shares_what_was_before(
    cli, host: HandMadeLedger, out: Path
) -> None:
    twin = copied(host, "twin.db")
    # Both run the job of the next night at the same second, and their rows get the same ids.
    session = "cron_0123456789ab_20260702_030000"
    for machine, usd in ((host, 1.0), (twin, 2.0)):
        machine.run(session, "2026-07-02T03:00:00", cost_usd=usd, api_calls=1)
        machine.call(session, usd, "2026-07-02T03:00:05")
    for _ in range(2):
        cli("merge", out, host.path, twin.path)
        # 0.25 + 0.5 once, 1, and 2.
        assert rows(out, CALLS) == [(4, 3.75)]
        assert rows(
            out, "select session_id, cost_usd from runs where session_id like '%0702%' order by 2"
        ) == [(session, 1.0), (f"{session}@1", 2.0)]
    assert unequal_runs(out) == []


def test_sessions_that_began_alike_and_have_no_call_yet_are_told_apart_by_their_machine(
    cli, out: Path, tmp_path: Path
) -> None:
    one, other = new_host(tmp_path / "one.db"), new_host(tmp_path / "other.db")
    for machine in (one, other):
        machine.run(NIGHTLY, "2026-07-01T03:00:00", cron_job_id="0123456789ab")
    for _ in range(2):
        cli("merge", out, one.path, other.path)
        assert rows(out, "select session_id from runs order by 1") == [
            (NIGHTLY,),
            (f"{NIGHTLY}@2",),
        ]
    # When its calls come, they come to the session that it is.
    other.call(NIGHTLY, 0.5, "2026-07-01T03:00:01")
    cli("merge", out, one.path, other.path)
    assert rows(out, "select session_id, cost_usd from llm_calls") == [(f"{NIGHTLY}@2", 0.5)]


def test_of_twins_too_sessions_that_began_at_two_times_are_two(
    cli, host: HandMadeLedger, out: Path
) -> None:
    twin = copied(host, "twin.db")
    session = "cron_0123456789ab_20260702_030000"
    for machine, began in ((host, "03:00:00.25"), (twin, "03:00:00.5")):
        machine.run(session, f"2026-07-02T{began}0000")
    for _ in range(2):
        cli("merge", out, host.path, twin.path)
        assert rows(
            out, "select session_id from runs where session_id > ? order by 1", NIGHTLY
        ) == [
            (session,),
            (f"{session}@1",),
        ]


def test_a_ledger_without_a_version_is_known_by_its_rows(
    cli, host: HandMadeLedger, out: Path
) -> None:
    with changed_by_hand(host.path) as execute:
        execute("drop table schema_version")
    for _ in range(2):
        assert cli("merge", out, host.path).code == 0
        assert rows(out, CALLS) == [(2, 0.75)]


def test_a_merged_ledger_can_be_merged_and_its_parts_are_known(
    cli, host: HandMadeLedger, out: Path, tmp_path: Path
) -> None:
    other = new_host(tmp_path / "other.db")
    nightly_run(other, 4.0)
    host.gone("old", "2026-06-05", occurrences=3)
    other.gone("old", "2026-06-05", occurrences=4)
    cli("merge", out, host.path, other.path)
    everything = tmp_path / "everything.db"
    cli("merge", everything, out)
    before = dump(everything)
    for inputs in ([host.path], [other.path, out], [host.path, other.path]):
        cli("merge", everything, *inputs)
        assert dump(everything) == before
    assert rows(everything, CALLS) == [(3, 4.75)]
    assert rows(everything, "select occurrences from model_unavailable_alerts") == [(7,)]


def test_a_hosts_own_ledger_can_take_the_others_in(
    cli, host: HandMadeLedger, tmp_path: Path
) -> None:
    host.run("said nothing yet")
    backup = copied(host, "backup.db")
    other = new_host(tmp_path / "other.db")
    nightly_run(other, 4.0)
    cli("merge", host.path, other.path)
    host.run("chat", api_calls=1, cost_usd=8.0)
    host.call("chat", 8.0)
    for inputs in ([backup.path], [other.path, backup.path]):
        cli("merge", host.path, *inputs)
        assert rows(host.path, CALLS) == [(4, 12.75)]  # 0.25 + 0.5 + 4 + 8
        assert rows(host.path, "select count(*) from runs") == [(4,)]
    assert unequal_runs(host.path) == []


def test_a_ledger_is_known_wherever_it_lies(cli, host: HandMadeLedger, out: Path) -> None:
    cli("merge", out, host.path)
    host.close()
    moved = host.path.with_name("moved.db")
    shutil.move(host.path, moved)
    assert "nothing new" in cli("merge", out, moved).out
    # And another one at its place is another one.
    new = new_host(host.path)
    nightly_run(new, 16.0)
    new.close()
    cli("merge", out, host.path)
    assert rows(out, CALLS) == [(3, 16.75)]
