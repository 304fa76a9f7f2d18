"""`hermes-telemetry merge`: the ledgers of several hosts in one."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_telemetry.commands.cli import main
from hermes_telemetry.store.run_totals import differences
from support import old_ledger
from support.hosts import NIGHTLY, changed_by_hand, dump, new_host, nightly_run, rows
from support.ledger import HandMadeLedger
from support.live_recorder import LiveRecorder
from support.locks import write_transaction_elsewhere
from support.processes import running

Refused = Callable[..., str]


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[HandMadeLedger]:
    """0.25 + 0.5 USD in the nightly job's run, and 0.125 USD in a chat with a subagent."""
    host = new_host(tmp_path / "laptop.db")
    nightly_run(host, 0.25, 0.5)
    host.run("chat", api_calls=1, tool_calls=1, cost_usd=0.125, tokens_in=5)
    price = host.price("listed", input=3, output=15)
    host.call("chat", 0.125, turn="t1", price=price, tokens_in=5)
    host.tool("chat", "terminal", turn="t1")
    host.failure("chat", turn="t1")
    host.edge("chat-child", "chat", "t1", stopped_at="2026-07-01T12:05:00.000000+00:00")
    yield host
    host.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HandMadeLedger]:
    """1 USD and a call without a price in the run of the same job, at the same second."""
    host = new_host(tmp_path / "server.db")
    nightly_run(host, 1.0, None)
    yield host
    host.close()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "all.db"


def sums(path: Path) -> tuple[object, ...]:
    (calls,) = rows(path, "select count(*), sum(cost_usd), sum(tokens_in) from llm_calls")
    (runs,) = rows(path, "select count(*), sum(cost_usd), sum(api_calls) from runs")
    return calls + runs


def test_nothing_but_the_ledger_is_left_beside_it(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    for _ in range(2):
        assert cli("merge", out, laptop.path, server.path).code == 0
        assert [file.name for file in out.parent.glob("all.db*")] == ["all.db"]


def test_two_hosts_become_one_ledger_whose_sums_are_theirs(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    answer = cli("merge", out, laptop.path, server.path)
    assert (answer.code, answer.err) == (0, "")
    # Calls: 2 + 1 and 2; USD 0.25 + 0.5 + 0.125 + 1; tokens 10 + 10 + 5 + 10 + 10. Runs: 2 and 1.
    assert sums(out) == (5, 1.875, 45, 3, 1.875, 5)
    assert answer.out.splitlines() == [
        f"{laptop.path}: 2 runs, 3 calls, 1 tool calls, 1 subagent edges, 1 call errors",
        f"{server.path}: 1 runs, 2 calls; session ids already in use: 1 ({NIGHTLY} is {NIGHTLY}@2)",
        f"{out}: 5 calls, ≥ $1.88 (1 unpriced)",
    ]


def test_cron_sessions_of_one_second_on_two_machines_stay_two(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    cli("merge", out, laptop.path, server.path)
    assert rows(
        out,
        """
        select runs.session_id, runs.cost_usd, sum(calls.cost_usd), count(*)
        from runs
        join llm_calls as calls using (session_id)
        where cron_job_id = '0123456789ab'
        group by 1
        order by 1
        """,
    ) == [(NIGHTLY, 0.75, 0.75, 2), (f"{NIGHTLY}@2", 1.0, 1.0, 2)]


def test_merged_again_nothing_changes(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    cli("merge", out, laptop.path, server.path)
    before = dump(out)
    answer = cli("merge", out, server.path, laptop.path, laptop.path)
    assert dump(out) == before
    assert answer.out.splitlines() == [
        f"{server.path}: nothing new",
        f"{laptop.path}: nothing new",
        f"{out}: 5 calls, ≥ $1.88 (1 unpriced)",
    ]


def test_the_same_as_json(cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path) -> None:
    cli("merge", out, laptop.path)
    report = json.loads(cli("merge", out, laptop.path, server.path, "--json").out)
    first, second = report.pop("inputs")
    assert report == {"file": str(out), "calls": 5, "unpriced_calls": 1, "cost_usd": 1.875}
    assert (first["file"], set(first["added"].values()), first["renamed"]) == (
        str(laptop.path),
        {0},
        [],
    )
    assert second["added"]["llm_calls"] == 2
    assert second["renamed"] == [{"session_id": NIGHTLY, "merged_as": f"{NIGHTLY}@2"}]


def test_an_input_is_left_as_it_is(cli, laptop: HandMadeLedger, out: Path) -> None:
    laptop.close()
    laptop.path.chmod(0o444)
    before = laptop.path.read_bytes()
    assert cli("merge", out, laptop.path).code == 0
    assert laptop.path.read_bytes() == before


def test_names_of_files_need_not_be_utf_8(cli, laptop: HandMadeLedger, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    laptop.close()
    own = laptop.path.rename(folder / "\udcfe.db")
    answer = cli("merge", folder / "all.db", own)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1].endswith("all.db: 3 calls, $0.88")


def test_turns_that_two_machines_call_the_same_stay_two(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    server.run("other-chat")
    server.call("other-chat", 2.0, turn="t1")
    server.edge("other-child", "other-chat", "t1")
    for _ in range(2):
        cli("merge", out, laptop.path, server.path)
        assert rows(
            out, "select turn_id, sum(cost_usd) from llm_calls where turn_id > '' group by 1"
        ) == [("t1", 0.125), ("t1@2", 2.0)]
    assert rows(out, "select child_session_id, parent_turn_id from subagent_edges") == [
        ("chat-child", "t1"),
        ("other-child", "t1@2"),
    ]


def test_the_price_record_comes_along(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    # Its row has another id there than the same rates have on the laptop, and is used once.
    server.price("free", input=0, output=0)
    same = server.price("listed", input=3, output=15)
    server.run("s")
    server.call("s", 0.5, price=same)
    cli("merge", out, laptop.path, server.path)
    assert rows(
        out,
        """
        select call.session_id, basis, input, output
        from llm_calls as call
        join llm_call_prices as record on record.call_id = call.id
        join prices_used as price on price.id = record.price_id
        order by 1
        """,
    ) == [("chat", "listed", 3.0, 15.0), ("s", "listed", 3.0, 15.0)]
    assert rows(out, "select count(*) from prices_used") == [(2,)]


def test_what_hosts_found_out_comes_along(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    laptop.free("m:free", "p", "2026-05-02")
    server.free("m:free", "p", "2026-05-01")
    laptop.flip("m", "p", "2026-06-02", 0.5, "chat")
    server.flip("m", "p", "2026-06-03", 0.25, NIGHTLY)
    laptop.gone("old", "2026-06-05", occurrences=3, first_seen_at="2026-06-01")
    server.gone("old", "2026-06-04", occurrences=4, first_seen_at="2026-05-30")
    laptop.tariff(3, 15, "2026-06-01")
    server.tariff(4, 16, "2026-06-02")
    for host, fired in ((laptop, "2026-07-01T09"), (server, "2026-07-01T08")):
        with changed_by_hand(host.path) as execute:
            execute(
                "insert into budget_alerts (scope, window, period_key, level, fired_at, spent_usd)"
                f" values ('global', 'daily', '2026-07-01', 'soft', '{fired}', 4)"
            )
    for order in ((laptop, server), (server, laptop)):
        cli("merge", out, *(host.path for host in order))
    # The first time seen; the first flip; both hosts' counts; both tariffs; the first alert.
    assert rows(out, "select model, substr(first_seen_at, 1, 10) from known_free_models") == [
        ("m:free", "2026-05-01")
    ]
    assert rows(out, "select session_id, first_paid_cost_usd from free_paid_transitions") == [
        ("chat", 0.5)
    ]
    assert rows(
        out,
        """
        select occurrences, substr(first_seen_at, 1, 10), substr(last_seen_at, 1, 10)
        from model_unavailable_alerts
        """,
    ) == [(7, "2026-05-30", "2026-06-05")]
    assert rows(out, "select input_cost_per_million from pricing_snapshots order by id") == [
        (3.0,),
        (4.0,),
    ]
    assert rows(out, "select fired_at from budget_alerts") == [("2026-07-01T08",)]


def test_an_alert_of_a_limit_that_was_raised_takes_the_place_of_the_first(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    for host, fired in ((laptop, "08"), (server, "09")):
        with changed_by_hand(host.path) as execute:
            execute(
                "insert into budget_alerts"
                " (scope, window, period_key, level, fired_at, spent_usd, limit_usd) values"
                f" ('global', 'daily', '2026-07-01', 'hard', '2026-07-01T{fired}', 6, 1)"
            )
    cli("merge", out, laptop.path, server.path)
    assert rows(out, "select fired_at, limit_usd from budget_alerts") == [("2026-07-01T08", 1)]
    with changed_by_hand(server.path) as execute:
        execute("update budget_alerts set fired_at = '2026-07-01T10', limit_usd = 5")
    for order in ((laptop, server), (server, laptop)):
        cli("merge", out, *(host.path for host in order))
        assert rows(out, "select fired_at, limit_usd from budget_alerts") == [("2026-07-01T10", 5)]


def test_a_count_that_grew_adds_what_it_grew_by(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    laptop.gone("old", "2026-06-05", occurrences=3)
    server.gone("old", "2026-06-05", occurrences=4)
    cli("merge", out, laptop.path, server.path)
    with changed_by_hand(server.path) as execute:
        execute("update model_unavailable_alerts set occurrences = 6")
    cli("merge", out, laptop.path, server.path)
    assert rows(out, "select occurrences from model_unavailable_alerts") == [(9,)]  # 3 + 6


@pytest.mark.parametrize("version", range(1, 18))
def test_an_older_ledger_is_brought_up_on_a_copy(
    cli, laptop: HandMadeLedger, out: Path, tmp_path: Path, version: int
) -> None:
    old = old_ledger.build(tmp_path / "old.db", version)
    before = old.read_bytes()
    (own,) = rows(old, "select count(*), sum(cost_usd) from llm_calls")
    for _ in range(2):
        assert cli("merge", out, laptop.path, old).code == 0
        assert rows(out, "select count(*), sum(cost_usd) from llm_calls") == [
            (3 + own[0], 0.875 + own[1])  # 0.25 + 0.5 + 0.125 USD of the laptop's
        ]
    assert old.read_bytes() == before


@pytest.mark.parametrize("version", old_ledger.OF_ANOTHER_BUILD)
def test_a_ledger_of_another_build_comes_in_once(
    cli, out: Path, tmp_path: Path, version: int
) -> None:
    other = old_ledger.build_of_another(tmp_path / "other.db", version)
    own = rows(other, "select count(*), sum(cost_usd) from llm_calls")
    for _ in range(2):
        assert cli("merge", out, other).code == 0
        assert rows(out, "select count(*), sum(cost_usd) from llm_calls") == own


def test_a_ledger_may_be_recorded_into_meanwhile(cli, out: Path, hermes_home: Path) -> None:
    live = hermes_home / "telemetry" / "telemetry.db"
    with LiveRecorder() as recorder:
        for _ in range(3):
            assert cli("merge", out, live).code == 0
    assert recorder.report.worst_ms < 1000  # a hook's deadline
    cli("merge", out, live)
    ids = "select api_request_id from llm_calls order by 1"
    assert rows(out, ids) == rows(live, ids)
    assert rows(out, "select api_calls from runs") == [(recorder.report.calls,)]


_INTERRUPTED = """
import os, sys
from pathlib import Path
from hermes_telemetry.store import merge_facts, merging
def killed(conn):
    os.kill(os.getpid(), 9)
merge_facts.merge_runs = killed  # the calls are in by then, their runs are not
merging.merge(Path(sys.argv[1]), [Path(sys.argv[2])])
"""


def test_a_merge_that_is_killed_leaves_all_or_nothing_of_an_input(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    cli("merge", out, laptop.path)
    before = dump(out)
    with running(_INTERRUPTED, out, server.path) as process:
        assert process.end() == -9
    assert dump(out) == before
    cli("merge", out, server.path)
    assert sums(out) == (5, 1.875, 45, 3, 1.875, 5)


def test_merges_at_the_same_time_take_turns(
    laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    program = "import sys; from hermes_telemetry.commands.cli import main; sys.exit(main())"
    main(["merge", str(out), str(laptop.path)])
    with (
        running(_as_arguments(program), "merge", out, server.path) as one,
        running(_as_arguments(program), "merge", out, server.path) as other,
    ):
        assert (one.end(), other.end()) == (0, 0)
    assert sums(out) == (5, 1.875, 45, 3, 1.875, 5)


def _as_arguments(program: str) -> str:
    return f"import sys; sys.argv[0] = 'hermes-telemetry'; {program}"


def test_reports_on_the_merged_ledger_add_both_hosts_up(
    cli, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    cli("merge", out, laptop.path, server.path)
    (job,) = json.loads(
        cli("query", "cron_attribution", "--since", "all", "--db", out, "--json").out
    )
    assert (job["runs"], job["total_usd"], job["unpriced_calls"]) == (2, 1.75, 1)
    assert cli("query", "reconcile", "--since", "all", "--db", out).out == "no rows\n"


def test_input_errors_are_one_line_and_nothing_is_made(
    refused: Refused, laptop: HandMadeLedger, out: Path, tmp_path: Path
) -> None:
    program = "hermes-telemetry merge"
    missing, text = tmp_path / "missing.db", tmp_path / "text.db"
    text.write_text("no database")
    assert f"{program}: there is no file {missing}" in refused("merge", out, laptop.path, missing)
    assert str(text) in refused("merge", out, text)
    assert refused("merge", laptop.path, laptop.path) == (
        f"{program}: {laptop.path} is to be read and written: name another file for the result"
    )
    nowhere = tmp_path / "nowhere" / "all.db"
    assert (
        refused("merge", nowhere, laptop.path) == f"{program}: there is no folder {nowhere.parent}"
    )
    assert "required: IN" in refused("merge", out)
    assert not out.exists()


def damage(host: HandMadeLedger) -> None:
    """Spoil the first page of its calls."""
    host.close()
    ((page,),) = rows(host.path, "select rootpage from sqlite_master where name = 'llm_calls'")
    ((size,),) = rows(host.path, "pragma page_size")
    with host.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_a_merge_of_which_nothing_comes_in_leaves_no_new_ledger_behind(
    cli, refused: Refused, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    damage(server)
    assert f"{server.path} could not be merged: " in refused("merge", out, server.path)
    assert list(out.parent.glob(f"*{out.name}*")) == []
    # One that was there stays.
    cli("merge", out, laptop.path)
    before = dump(out)
    assert f"{server.path} could not be merged: " in refused("merge", out, server.path)
    assert dump(out) == before


def test_a_damaged_input_is_named_and_leaves_what_came_before_it(
    cli, refused: Refused, laptop: HandMadeLedger, server: HandMadeLedger, out: Path
) -> None:
    damage(server)
    assert refused("merge", out, laptop.path, server.path).startswith(
        f"hermes-telemetry merge: {server.path} could not be merged: database disk image is "
    )
    assert rows(out, "select count(*) from llm_calls") == [(3,)]
    assert [name for name in os.listdir(out.parent) if name.startswith(".")] == []


def test_a_result_that_another_program_writes_is_named_and_not_the_input(
    cli, refused: Refused, laptop: HandMadeLedger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("merge", out, laptop.path)
    monkeypatch.setattr("hermes_telemetry.store.locking.PATIENCE_S", 0.05)  # half a minute, else
    with write_transaction_elsewhere(out):
        assert refused("merge", out, laptop.path) == (
            f"hermes-telemetry merge: the ledger {out} is locked by another program:"
            " try again when that is done"
        )


@pytest.mark.parametrize("table", ["runs", "llm_calls"])
def test_a_column_that_was_lost_behind_its_version_is_no_reason_to_refuse(
    cli, laptop: HandMadeLedger, out: Path, table: str
) -> None:
    with changed_by_hand(laptop.path) as execute:
        for (index,) in rows(
            laptop.path,
            f"select name from sqlite_master where tbl_name = '{table}' and sql like '%index%'"
            " and type = 'index'",
        ):
            execute(f"drop index {index}")
        for (view,) in rows(laptop.path, "select name from sqlite_master where type = 'view'"):
            execute(f"drop view {view}")
        execute(f"alter table {table} drop column model")
    assert cli("merge", out, laptop.path).code == 0
    assert sums(out)[:2] == (3, 0.875)


def test_an_older_result_is_sent_to_migrate(
    refused: Refused, laptop: HandMadeLedger, tmp_path: Path
) -> None:
    old = old_ledger.build(tmp_path / "v12.db", 12)
    assert f"run `hermes-telemetry migrate --db {old}` first" in refused("merge", old, laptop.path)


def test_nothing_is_left_beside_the_result(cli, laptop: HandMadeLedger, out: Path) -> None:
    cli("merge", out, laptop.path)
    assert [name for name in os.listdir(out.parent) if name.startswith(".")] == []
    with changed_by_hand(out) as execute:
        assert differences(execute.__self__) == []
