"""What each schema version brings, one test a version: the history of the shared format."""

from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.windows import parse_timestamp, timestamp
from support.old_ledger import build, open_ledger
from support.schema import V18, shape_of


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def added(version: int) -> set[str]:
    """New tables, indexes, and "table.column"s of older tables that ``version`` brings."""
    old = shape_of(build(Path("old.db"), version - 1))
    new = shape_of(build(Path("new.db"), version))
    fresh_tables = set(new.tables) - set(old.tables)
    for table in fresh_tables:
        late = set(V18.tables[table]) - set(new.tables[table])
        assert late == ADDED_LATER.get(table, set()), f"{table} misses columns of its own version"
    assert old.pieces() <= new.pieces(), "no version takes anything away"
    return {
        piece
        for piece in new.pieces() - old.pieces()
        if piece.partition(".")[0] not in fresh_tables or "." not in piece
    }


ADDED_LATER = {
    "runs": {
        "parent_session_id",
        "estimated_llm_calls",
        "sender_id",
        "cache_read_tokens",
        "cache_write_tokens",
        "provider_assumed_calls",
        "moa_calls",
        "profile",
    },
    "llm_calls": {
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "estimated",
        "provider_assumed",
        "moa_preset",
        "turn_id",
        "task_id",
        "api_request_id",
    },
    "tool_calls": {"turn_id", "tool_call_id"},
    "pricing_snapshots": {"resolved_model"},
}


def test_schema_v1_columns() -> None:
    assert added(1) == {
        "schema_version",
        "runs",
        "llm_calls",
        "tool_calls",
        "idx_runs_started",
        "idx_runs_platform",
        "idx_runs_cron_job",
        "idx_llm_session",
        "idx_llm_ts",
        "idx_tool_session",
        "idx_tool_name",
    }


def test_schema_v2_columns() -> None:
    assert added(2) == {
        "llm_calls.cache_read_tokens",
        "llm_calls.cache_write_tokens",
        "llm_calls.reasoning_tokens",
        "llm_calls.estimated",
        "runs.parent_session_id",
        "runs.estimated_llm_calls",
    }


def test_schema_v3_columns() -> None:
    assert added(3) == {"runs.sender_id", "idx_runs_sender", "budget_alerts"}


def test_schema_v4_columns() -> None:
    assert added(4) == {"runs.cache_read_tokens", "runs.cache_write_tokens"}


def test_schema_v5_columns() -> None:
    assert added(5) == {"known_free_models"}


def test_schema_v6_columns() -> None:
    assert added(6) == {"free_paid_transitions", "idx_free_paid_detected"}


def test_schema_v7_columns() -> None:
    assert added(7) == {"llm_calls.provider_assumed", "runs.provider_assumed_calls"}


def test_schema_v8_columns() -> None:
    assert added(8) == {"model_unavailable_alerts", "idx_model_unavailable_last_seen"}


def test_schema_v9_columns() -> None:
    assert added(9) == set()


def test_schema_v10_columns() -> None:
    assert added(10) == {"llm_calls.moa_preset", "runs.moa_calls"}


def test_schema_v11_columns() -> None:
    assert added(11) == {"subagent_edges", "idx_subagent_edges_parent"}


def test_schema_v12_columns() -> None:
    assert added(12) == {"runs.profile", "idx_runs_profile"}


def test_schema_v13_columns() -> None:
    assert added(13) == set()


def test_schema_v14_columns() -> None:
    assert added(14) == {"pricing_snapshots", "idx_pricing_snapshots_model"}


def test_schema_v15_columns() -> None:
    assert added(15) == {"pricing_snapshots.resolved_model"}


def test_schema_v16_columns() -> None:
    assert added(16) == {
        "endpoint_payload_cache",
        "idx_endpoint_payload_cache_name",
        "model_efficiency_cache",
        "idx_me_cache_window",
    }


def test_schema_v17_columns() -> None:
    assert added(17) == set()


def test_schema_v18_columns() -> None:
    assert added(18) == {
        "llm_calls.turn_id",
        "llm_calls.task_id",
        "llm_calls.api_request_id",
        "idx_llm_turn",
        "tool_calls.turn_id",
        "tool_calls.tool_call_id",
        "idx_tool_turn",
        "llm_call_errors",
        "idx_llm_call_errors_session",
    }


@pytest.mark.parametrize("version", range(1, 19))
def test_schema_vN_recorded(version: int) -> None:  # noqa: N802 - the name the format's notes use
    with closing(open_ledger(build(Path("ledger.db"), version))) as connection:
        recorded = connection.execute(
            "select version, applied_at from schema_version order by version"
        ).fetchall()

    assert [number for number, _ in recorded] == list(range(1, version + 1))
    for _, applied_at in recorded:
        assert timestamp(parse_timestamp(applied_at)) == applied_at
