"""`hermes-telemetry demo`: a ledger with one of everything, that adds up and can be made again."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry import reports
from hermes_telemetry.commands.cli import main

CALLS = 2000
UNTIL = "2026-07-15T09:30:00+00:00"
ARGUMENTS = ["--calls", str(CALLS), "--days", "60", "--until", UNTIL]

# Filled by other builds.
LEFT_EMPTY = {"endpoint_payload_cache", "model_efficiency_cache"}


def make(path: Path, *arguments: str) -> Path:
    assert main(["demo", str(path), *arguments]) == 0
    return path


def dump(path: Path) -> list[str]:
    """Every row as SQL; but for when the schema's versions were applied, which is now."""
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if '"schema_version"' not in line]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("demo") / "telemetry.db", *ARGUMENTS)


@pytest.fixture
def demo(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def test_it_holds_exactly_the_calls_asked_for_in_the_days_asked_for(
    demo: sqlite3.Connection,
) -> None:
    calls, first, last = demo.execute("select count(*), min(ts), max(ts) from llm_calls").fetchone()
    assert calls == CALLS
    assert first[:10] in ("2026-05-16", "2026-05-17")
    assert "2026-07-15T09:18" <= last < "2026-07-15T09:30"


def test_nothing_happens_after_its_end(demo: sqlite3.Connection) -> None:
    for table, column in (
        ("runs", "started_at"),
        ("runs", "ended_at"),
        ("tool_calls", "ts"),
        ("llm_call_errors", "ts"),
        ("subagent_edges", "stopped_at"),
        ("budget_alerts", "fired_at"),
    ):
        (last,) = demo.execute(f"select max({column}) from {table}").fetchone()
        assert last < UNTIL


def test_the_file_is_sound_and_every_table_has_rows(demo: sqlite3.Connection) -> None:
    assert demo.execute("pragma integrity_check").fetchall() == [("ok",)]
    tables = {
        name
        for (name,) in demo.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        )
    }
    empty = {t for t in tables if demo.execute(f"select 1 from {t} limit 1").fetchone() is None}
    assert empty == LEFT_EMPTY


def test_the_totals_of_each_run_are_the_sums_of_its_calls(demo: sqlite3.Connection) -> None:
    runs = {
        row[0]: row[1:]
        for row in demo.execute(
            """
            select session_id, cost_usd, api_calls, tokens_in, tokens_out, cache_read_tokens,
              estimated_llm_calls, provider_assumed_calls, moa_calls
            from runs
            """
        )
    }
    sums: dict[str, list[float]] = {session: [0.0] + [0] * 7 for session in runs}
    for session, *values in demo.execute(
        """
        select session_id, coalesce(cost_usd, 0), 1, tokens_in, tokens_out, cache_read_tokens,
          estimated, provider_assumed, moa_preset is not null
        from llm_calls
        """
    ):
        sums[session] = [total + value for total, value in zip(sums[session], values, strict=True)]
    for session, (cost, *counts) in runs.items():
        assert cost == pytest.approx(sums[session][0], abs=1e-9)
        assert counts == sums[session][1:]


def test_every_cost_has_its_rates_and_only_the_unpriced_calls_have_none(
    demo: sqlite3.Connection,
) -> None:
    for tokens, rates, answer_tokens, cost in demo.execute(
        """
        select
          json_array(tokens_in, cache_read_tokens, cache_write_tokens, tokens_out),
          json_array(input, cache_read, cache_write, output),
          tokens_out - reasoning_tokens, cost_usd
        from llm_calls
        join llm_call_prices on call_id = llm_calls.id
        join prices_used on prices_used.id = price_id
        where reasoning is null
        """
    ):
        pairs = zip(json.loads(tokens), json.loads(rates), strict=True)
        assert cost == pytest.approx(sum(n * rate for n, rate in pairs) / 1e6, abs=1e-12)
        assert answer_tokens >= 0
    unpriced = demo.execute(
        """
        select distinct model, cost_usd
        from llm_calls
        where id not in (select call_id from llm_call_prices)
        """
    ).fetchall()
    assert unpriced == [("house-llm-7b", None)]


def test_every_kind_of_price_occurs(demo: sqlite3.Connection) -> None:
    bases = {basis for (basis,) in demo.execute("select distinct basis from prices_used")}
    assert bases == {"listed", "builtin", "free", "declared", "family", "tariff", "assumed"}


def test_every_kind_of_session_occurs(demo: sqlite3.Connection) -> None:
    platforms = {row[0] for row in demo.execute("select distinct platform from runs")}
    assert platforms == {"cli", "cron", "telegram", "discord", "subagent"}
    statuses = {row[0] for row in demo.execute("select distinct status from runs")}
    assert statuses == {"ok", "error", "interrupted", "running"}
    profiles = {row[0] for row in demo.execute("select distinct profile from runs")}
    assert profiles == {"default", "work"}
    assert demo.execute("select count(distinct sender_id) from runs").fetchone()[0] >= 4
    jobs = demo.execute(
        "select distinct cron_job_id from runs where platform = 'cron'"
        " and session_id like 'cron_' || cron_job_id || '_%'"
    ).fetchall()
    assert len(jobs) == 4


def test_delegations_are_nested_cut_off_and_orphaned(demo: sqlite3.Connection) -> None:
    def count(condition: str) -> int:
        found: int = demo.execute(
            f"select count(*) from subagent_edges as edge where {condition}"
        ).fetchone()[0]
        return found

    assert count("parent_session_id in (select child_session_id from subagent_edges)") > 0
    assert count("stopped_at is null and parent_session_id in (select session_id from runs)") == 2
    assert count("parent_session_id not in (select session_id from runs)") == 2
    assert count("parent_turn_id = ''") == 1
    assert count("parent_turn_id in (select turn_id from llm_calls)") > 10


@pytest.mark.parametrize(
    ("model", "free_id"),
    [
        pytest.param("stealth/horizon-beta", "stealth/horizon-beta", id="its price changed"),
        pytest.param("z-ai/glm-4.5-air", "z-ai/glm-4.5-air:free", id="its free id was dropped"),
    ],
)
def test_a_free_model_began_to_cost_once_and_after_it_was_seen_free(
    demo: sqlite3.Connection, model: str, free_id: str
) -> None:
    ((detected, first_free, paid),) = demo.execute(
        """
        select detected_at, first_free_seen_at, first_paid_cost_usd
        from free_paid_transitions
        where model = ?
        """,
        (model,),
    )
    assert demo.execute(
        "select first_seen_at from known_free_models where model = ?", (free_id,)
    ).fetchone() == (first_free,)
    assert first_free < detected

    def dearest(name: str, when: str) -> float | None:
        found: float | None = demo.execute(
            "select max(cost_usd) from llm_calls"
            f" where model = ? and estimated = 0 and ts {when} ?",
            (name, detected),
        ).fetchone()[0]
        return found

    assert dearest(free_id, "<") == 0
    assert (dearest(model, ">=") or 0) >= paid > 0


def test_no_other_model_began_to_cost(demo: sqlite3.Connection) -> None:
    assert demo.execute("select count(*) from free_paid_transitions").fetchone() == (2,)


def test_a_storm_of_retries_ends_in_an_error(demo: sqlite3.Connection) -> None:
    attempts = Counter(
        row[0]
        for row in demo.execute("select session_id from llm_call_errors where status_code = 429")
    )
    session, failures = attempts.most_common(1)[0]
    assert failures >= 11
    status = demo.execute("select status from runs where session_id = ?", (session,)).fetchone()
    assert status == ("error",)


def test_a_model_that_is_gone_raises_its_alert_each_time(demo: sqlite3.Connection) -> None:
    errors = demo.execute("select count(*) from llm_call_errors where status_code = 404").fetchone()
    alerts = demo.execute(
        "select occurrences from model_unavailable_alerts where error_code = 404"
    ).fetchall()
    assert alerts == [errors]
    assert errors == (3,)


def test_tariffs_change_on_the_way(demo: sqlite3.Connection) -> None:
    changes = demo.execute(
        """
        select input_cost_per_million
        from pricing_snapshots
        where model = 'deepseek-chat'
        order by id
        """
    ).fetchall()
    assert changes == [(0.28,), (0.32,), (0.27,)]


def test_ids_grow_with_time(demo: sqlite3.Connection) -> None:
    for table in ("llm_calls", "tool_calls", "llm_call_errors"):
        times = [row[0] for row in demo.execute(f"select ts from {table} order by id")]
        assert times == sorted(times)


def test_no_turn_of_a_recorded_call_is_without_its_session(demo: sqlite3.Connection) -> None:
    strays = demo.execute(
        "select turn_id from llm_calls"
        " where turn_id is not null and substr(turn_id, 1, length(session_id)) <> session_id"
    ).fetchall()
    assert strays == []


def test_every_canned_query_has_rows_and_reconcile_none(demo: sqlite3.Connection) -> None:
    reports.prepare_connection(demo, "UTC")
    (turn_id,) = demo.execute(
        "select turn_id from llm_calls where turn_id is not null limit 1"
    ).fetchone()
    (session_id,) = demo.execute("select parent_session_id from subagent_edges limit 1").fetchone()
    (job_id,) = demo.execute(
        "select cron_job_id from runs where cron_job_id is not null limit 1"
    ).fetchone()
    subject = {
        "turn_timeline": {"turn_id": turn_id},
        "delegation_tree": {"session_id": session_id},
        "cron_runs": {"cron_job_id": job_id, "since": "all"},
    }
    empty = []
    for name, query in reports.load_queries().items():
        window = {each.name: "all" for each in query.parameters if each.kind == "since"}
        _, rows = reports.run(demo, query, subject.get(name, window))
        if not rows:
            empty.append(name)
    assert empty == ["reconcile"]


def test_the_same_seed_and_end_give_the_same_rows(path: Path, tmp_path: Path) -> None:
    again = make(tmp_path / "again.db", *ARGUMENTS)
    assert dump(again) == dump(path)


def test_another_seed_gives_other_rows(path: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other.db", *ARGUMENTS, "--seed", "2")
    assert dump(other) != dump(path)


def test_the_smallest_ledger_has_everything_too(tmp_path: Path) -> None:
    small = make(tmp_path / "small.db", "--calls", "500", "--days", "1", "--until", UNTIL)
    with closing(sqlite3.connect(small)) as connection:
        assert connection.execute("select count(*) from llm_calls").fetchone() == (500,)
        assert connection.execute("select count(*) from free_paid_transitions").fetchone() == (2,)
        assert connection.execute("select count(*) from llm_call_errors").fetchone()[0] > 40


def test_without_an_end_it_reaches_up_to_now(cli, tmp_path: Path) -> None:
    cli("demo", tmp_path / "now.db", "--calls", "500", "--days", "2")
    answer = cli("query", "cost_by_day", "--db", tmp_path / "now.db", "--json")
    assert sum(day["calls"] for day in json.loads(answer.out)) == 500


def test_it_says_where_the_ledger_is_and_how_to_look_at_it(cli, tmp_path: Path) -> None:
    path = tmp_path / "said.db"
    answer = cli("demo", path, "--calls", "500", "--days", "3")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        f"{path}: 500 calls in 3 days",
        f"{tmp_path / 'budget.yaml'}: limits close to what was spent",
        f"look at it: hermes-telemetry serve {path}",
    ]


def test_no_file_is_overwritten(refused: Callable[..., str], ledger: Path) -> None:
    before = ledger.read_bytes()
    assert refused("demo", ledger) == (
        f"hermes-telemetry demo: {ledger} exists: a demo ledger is always a new file"
    )
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--calls", "499"], "'499' is not a whole number from 500 on"),
        (["--days", "0"], "'0' is not a whole number from 1 on"),
        (["--until", "tomorrow"], "--until tomorrow: neither a date nor an instant"),
        (["--db", "twice.db"], "name the file once: as FILE or by --db"),
    ],
)
def test_what_it_cannot_do_is_one_line(
    refused: Callable[..., str], tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    assert complaint in refused("demo", tmp_path / "never.db", *arguments)
    assert list(tmp_path.glob("*.db")) == []


def test_a_missing_folder_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    line = refused("demo", tmp_path / "no" / "demo.db")
    assert line == f"hermes-telemetry demo: there is no folder {tmp_path / 'no'}"
