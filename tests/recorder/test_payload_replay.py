"""Every captured scenario of the real host, replayed, yields the rows its story means.

``expected/`` holds those rows, written down by hand from the captured calls and the specification:
times of day stand for 1 July 2026 UTC, and a column that is not written is at its default.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import hermes_telemetry
from hermes_telemetry.paths import telemetry_home
from hermes_telemetry.recorder import Recorder
from support.replay import HookCall, hook_calls, replay, scenarios
from support.stopped_clock import StoppedClock

EXPECTED = Path(__file__).parent / "expected"

ORDER = {
    "runs": "started_at",
    "llm_calls": "id",
    "tool_calls": "id",
    "llm_call_errors": "id",
    "model_unavailable_alerts": "model",
    "subagent_edges": "child_session_id",
}

TIMES = {"ts", "started_at", "ended_at", "stopped_at", "first_seen_at", "last_seen_at"}

ZERO_BY_DEFAULT = {
    "runs": {
        "tokens_in",
        "tokens_out",
        "cost_usd",
        "api_calls",
        "tool_calls",
        "estimated_llm_calls",
        "cache_read_tokens",
        "cache_write_tokens",
        "provider_assumed_calls",
        "moa_calls",
    },
    "llm_calls": {
        "tokens_in",
        "tokens_out",
        "cost_usd",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "estimated",
        "provider_assumed",
    },
}

PRICES = """
models:
  fake-model:
    input: 3
    output: 15
    cache_read: 0.30
"""

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A telemetry home whose price list knows the fake provider's model."""
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
    telemetry_home().mkdir(parents=True)
    (telemetry_home() / "pricing.yaml").write_text(PRICES, encoding="utf-8")
    return telemetry_home()


@pytest.mark.parametrize("scenario", scenarios())
def test_a_replayed_scenario_yields_its_rows(scenario: str, home: Path) -> None:
    returned = record(hook_calls(scenario), home)

    assert ledger(home) == expected(scenario)
    assert set(returned) == {None}, "a hook that has nothing to say must not steer the host"


@pytest.mark.parametrize("scenario", scenarios())
def test_replayed_again_calls_with_ids_stay_as_they_are(scenario: str, home: Path) -> None:
    record(hook_calls(scenario), home)
    once = ledger(home)

    record(hook_calls(scenario), home, start=3600)

    twice = ledger(home)
    calls_with_ids = [call for call in once["llm_calls"] if call["api_request_id"]]
    assert [call for call in twice["llm_calls"] if call["api_request_id"]] == calls_with_ids
    # Nothing tells a second delivery from a second call where the host gives no id: all are kept.
    calls_without_ids = len(once["llm_calls"]) - len(calls_with_ids)
    assert len(twice["llm_calls"]) == len(calls_with_ids) + 2 * calls_without_ids
    assert len(twice["tool_calls"]) == 2 * len(once["tool_calls"])
    assert len(twice["llm_call_errors"]) == 2 * len(once["llm_call_errors"])
    assert [alert["occurrences"] for alert in twice["model_unavailable_alerts"]] == [
        2 * alert["occurrences"] for alert in once["model_unavailable_alerts"]
    ]
    assert [edge["started_at"] for edge in twice["subagent_edges"]] == [
        edge["started_at"] for edge in once["subagent_edges"]
    ]


@pytest.mark.parametrize("scenario", scenarios())
@pytest.mark.parametrize("deliveries", [1, 2])
def test_the_totals_of_a_run_are_the_sums_of_its_calls(
    scenario: str, deliveries: int, home: Path
) -> None:
    for _ in range(deliveries):
        record(hook_calls(scenario), home)

    rows = ledger(home)
    for run in rows["runs"]:
        calls = [call for call in rows["llm_calls"] if call["session_id"] == run["session_id"]]
        tools = [
            tool
            for tool in rows["tool_calls"]
            if tool["session_id"] == run["session_id"]
            and tool["tool_name"] != "delegate_task/subagent"
        ]
        assert run["api_calls"] == len(calls)
        assert run["tool_calls"] == len(tools)
        assert run["cost_usd"] == pytest.approx(sum(call["cost_usd"] or 0 for call in calls))
        for count in ("tokens_in", "tokens_out", "cache_read_tokens", "cache_write_tokens"):
            assert run[count] == sum(call[count] for call in calls)
        assert run["estimated_llm_calls"] == sum(call["estimated"] for call in calls)


@pytest.mark.parametrize("scenario", scenarios())
def test_every_priced_call_names_the_rates_that_made_its_cost(scenario: str, home: Path) -> None:
    record(hook_calls(scenario), home)

    priced = select(
        home,
        """
        select llm_calls.id, basis, matched_id, input, output, cache_read, reported_usd, filled_at
        from llm_calls
        left join llm_call_prices on call_id = llm_calls.id
        left join prices_used on prices_used.id = price_id
        where cost_usd is not null
        order by llm_calls.id
        """,
    )
    assert [row["id"] for row in priced] == [
        row["id"] for row in select(home, "select id from llm_calls where model = 'fake-model'")
    ]
    for row in priced:
        del row["id"]
        assert row == {
            "basis": "listed",
            "matched_id": "fake-model",
            "input": 3.0,
            "output": 15.0,
            "cache_read": 0.3,
            "reported_usd": None,
            "filled_at": None,
        }


def test_a_call_without_a_session_is_kept_under_unknown(home: Path) -> None:
    post = next(call for call in hook_calls("02_oneshot_z_text") if call.hook == "post_api_request")
    nobodys = post.kwargs | {"session_id": "", "turn_id": "", "task_id": "", "api_request_id": ""}

    record([HookCall(post.hook, post.thread, post.offset, nobodys)], home)

    (call,) = ledger(home)["llm_calls"]
    assert (call["session_id"], call["turn_id"], call["task_id"], call["api_request_id"]) == (
        "(unknown)",
        None,
        None,
        None,
    )
    (run,) = ledger(home)["runs"]
    assert (run["session_id"], run["status"], run["api_calls"]) == ("(unknown)", "running", 1)
    # Its pre_api_request was never seen: the host's own figure of 4.961 s stands in.
    assert call["latency_ms"] == 4961


def test_the_plugin_as_the_host_loads_it_records_the_same(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process has one recorder for its one home; a test before this one may have had its own.
    monkeypatch.setattr("hermes_telemetry.plugin._shared", None)
    host = FakeHost()

    hermes_telemetry.register(host)
    assert list(home.iterdir()) == [home / "pricing.yaml"], "register itself touches no file"
    hooks = {name: host.call_all(name) for name in host.callbacks}
    replay(hooks, hook_calls("20_delegation_sync"), StoppedClock())

    # The plugin runs by the machine's clock here: everything but the times must agree.
    timing = TIMES | {"latency_ms", "duration_ms"}
    assert without(timing, ledger(home)) == without(timing, expected("20_delegation_sync"))


class FakeHost:
    """What the host hands to ``register``: keeps the callbacks, and the name of the profile."""

    profile_name = "work"

    def __init__(self) -> None:
        self.callbacks: dict[str, list[Callable[..., Any]]] = {}
        self.commands: set[str] = set()

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self.callbacks.setdefault(name, []).append(callback)

    def register_command(self, name: str, handler: Any, **_: Any) -> None:
        self.commands.add(name)

    def register_cli_command(self, name: str, *_: Any, **__: Any) -> None:
        self.commands.add(name)

    def call_all(self, name: str) -> Callable[..., None]:
        def fire(**kwargs: Any) -> None:
            for callback in self.callbacks[name]:
                callback(**kwargs)

        return fire


def record(calls: list[HookCall], home: Path, start: float = 0.0) -> list[Any]:
    """A new process of the host records the calls, ``start`` seconds after noon."""
    time = StoppedClock()
    recorder = Recorder(home=home, clock=time.clock, profile=lambda: "work")
    return replay(recorder.hooks(), calls, time, start=start)


def ledger(home: Path) -> Rows:
    return {
        table: [
            {column: value for column, value in row.items() if column != "id"}
            for row in select(home, f"select * from {table} order by {order}")
        ]
        for table, order in ORDER.items()
    }


def select(home: Path, sql: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(home / "telemetry.db")
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(sql)]
    finally:
        connection.close()


def expected(scenario: str) -> Rows:
    written = yaml.safe_load((EXPECTED / f"{scenario}.yaml").read_text(encoding="utf-8"))
    return {table: [full_row(table, row) for row in written.get(table, [])] for table in ORDER}


def full_row(table: str, written: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS[table].split())
    row |= dict.fromkeys(ZERO_BY_DEFAULT.get(table, ()), 0)
    assert set(written) <= set(row)
    row |= written
    if row.get("cost_usd"):
        row["cost_usd"] = pytest.approx(row["cost_usd"], abs=1e-12)
    for column in TIMES & set(row):
        if row[column]:
            row[column] = f"2026-07-01T{row[column]}000+00:00"
    return row


def without(columns: set[str], rows: Rows) -> Rows:
    return {
        table: [{name: row[name] for name in row if name not in columns} for row in table_rows]
        for table, table_rows in rows.items()
    }


COLUMNS = {
    "runs": """
        session_id platform cron_job_id model provider started_at ended_at status tokens_in
        tokens_out cost_usd duration_ms api_calls tool_calls parent_session_id
        estimated_llm_calls sender_id cache_read_tokens cache_write_tokens
        provider_assumed_calls moa_calls profile
    """,
    "llm_calls": """
        session_id ts model provider tokens_in tokens_out cost_usd latency_ms cache_read_tokens
        cache_write_tokens reasoning_tokens estimated provider_assumed moa_preset turn_id task_id
        api_request_id
    """,
    "tool_calls": "session_id ts tool_name ok latency_ms turn_id tool_call_id",
    "llm_call_errors": """
        session_id ts turn_id task_id api_request_id model provider status_code error_type
        error_message reason retryable retry_count max_retries duration_ms
    """,
    "model_unavailable_alerts": """
        model provider error_code error_message first_seen_at last_seen_at occurrences
    """,
    "subagent_edges": """
        child_session_id parent_session_id parent_turn_id parent_subagent_id child_subagent_id
        child_role started_at stopped_at child_status
    """,
}
