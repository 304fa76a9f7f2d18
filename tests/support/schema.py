"""The shared schema at version 18, written down from its description; the shape of a real file.

This is the tests' own copy: it is compared with what the migrations build and shares nothing with
them.
"""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Shape:
    """Tables as {table: {column: declaration}}, indexes as {name: "table(columns)"}.

    A declaration reads "TYPE", then "nn" for NOT NULL, "=value" for a default, "pkN" for the N-th
    column of the primary key and "ai" for AUTOINCREMENT. ``unique`` holds keys that have no name.
    """

    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    unique: set[str] = field(default_factory=set)

    def pieces(self) -> set[str]:
        """Every table, "table.column" and index by name."""
        columns = {f"{table}.{column}" for table in self.tables for column in self.tables[table]}
        return set(self.tables) | columns | set(self.indexes)


V18 = Shape(
    tables={
        "schema_version": {"version": "INTEGER pk1", "applied_at": "TEXT nn"},
        "runs": {
            "session_id": "TEXT pk1",
            "platform": "TEXT",
            "cron_job_id": "TEXT",
            "model": "TEXT",
            "provider": "TEXT",
            "started_at": "TEXT nn",
            "ended_at": "TEXT",
            "status": "TEXT ='running'",
            "tokens_in": "INTEGER =0",
            "tokens_out": "INTEGER =0",
            "cost_usd": "REAL =0.0",
            "duration_ms": "INTEGER",
            "api_calls": "INTEGER =0",
            "tool_calls": "INTEGER =0",
            "parent_session_id": "TEXT",
            "estimated_llm_calls": "INTEGER =0",
            "sender_id": "TEXT",
            "cache_read_tokens": "INTEGER =0",
            "cache_write_tokens": "INTEGER =0",
            "provider_assumed_calls": "INTEGER =0",
            "moa_calls": "INTEGER =0",
            "profile": "TEXT",
        },
        "llm_calls": {
            "id": "INTEGER pk1 ai",
            "session_id": "TEXT nn",
            "ts": "TEXT nn",
            "model": "TEXT",
            "provider": "TEXT",
            "tokens_in": "INTEGER =0",
            "tokens_out": "INTEGER =0",
            "cost_usd": "REAL =0.0",
            "latency_ms": "INTEGER",
            "cache_read_tokens": "INTEGER =0",
            "cache_write_tokens": "INTEGER =0",
            "reasoning_tokens": "INTEGER =0",
            "estimated": "INTEGER =0",
            "provider_assumed": "INTEGER =0",
            "moa_preset": "TEXT",
            "turn_id": "TEXT",
            "task_id": "TEXT",
            "api_request_id": "TEXT",
        },
        "tool_calls": {
            "id": "INTEGER pk1 ai",
            "session_id": "TEXT nn",
            "ts": "TEXT nn",
            "tool_name": "TEXT nn",
            "ok": "INTEGER nn =1",
            "latency_ms": "INTEGER",
            "turn_id": "TEXT",
            "tool_call_id": "TEXT",
        },
        "budget_alerts": {
            "id": "INTEGER pk1 ai",
            "scope": "TEXT nn",
            "scope_id": "TEXT nn =''",
            "window": "TEXT nn",
            "period_key": "TEXT nn",
            "level": "TEXT nn",
            "fired_at": "TEXT nn",
            "spent_usd": "REAL",
            "limit_usd": "REAL",
        },
        "known_free_models": {
            "model": "TEXT nn pk1",
            "provider": "TEXT nn ='' pk2",
            "first_seen_at": "TEXT nn",
        },
        "free_paid_transitions": {
            "model": "TEXT nn pk1",
            "provider": "TEXT nn ='' pk2",
            "detected_at": "TEXT nn",
            "session_id": "TEXT",
            "first_paid_cost_usd": "REAL nn =0.0",
            "first_free_seen_at": "TEXT",
        },
        "model_unavailable_alerts": {
            "model": "TEXT nn pk1",
            "provider": "TEXT nn ='' pk2",
            "error_code": "INTEGER nn",
            "error_message": "TEXT",
            "first_seen_at": "TEXT nn",
            "last_seen_at": "TEXT nn",
            "occurrences": "INTEGER nn =1",
        },
        "subagent_edges": {
            "child_session_id": "TEXT pk1",
            "parent_session_id": "TEXT nn",
            "parent_turn_id": "TEXT",
            "parent_subagent_id": "TEXT",
            "child_subagent_id": "TEXT",
            "child_role": "TEXT",
            "started_at": "TEXT nn",
            "stopped_at": "TEXT",
            "child_status": "TEXT",
        },
        "pricing_snapshots": {
            "id": "INTEGER pk1 ai",
            "provider": "TEXT nn",
            "model": "TEXT nn",
            "input_cost_per_million": "REAL",
            "output_cost_per_million": "REAL",
            "cache_read_cost_per_million": "REAL",
            "cache_write_cost_per_million": "REAL",
            "request_cost": "REAL",
            "source": "TEXT",
            "source_url": "TEXT",
            "pricing_version": "TEXT",
            "fetched_at": "TEXT",
            "captured_at": "TEXT nn",
            "base_url": "TEXT",
            "api_mode": "TEXT",
            "resolved_model": "TEXT",
        },
        "endpoint_payload_cache": {
            "cache_name": "TEXT nn pk1",
            "cache_key": "TEXT nn pk2",
            "payload_json": "TEXT nn",
            "rows_count": "INTEGER nn",
            "built_at": "TEXT nn",
        },
        "model_efficiency_cache": {
            "cache_key": "TEXT pk1",
            "window_hours": "INTEGER nn",
            "include_deleted": "INTEGER nn",
            "limit_n": "INTEGER nn",
            "payload_json": "TEXT nn",
            "rows_count": "INTEGER nn",
            "built_at": "TEXT nn",
        },
        "llm_call_errors": {
            "id": "INTEGER pk1 ai",
            "session_id": "TEXT nn",
            "ts": "TEXT nn",
            "turn_id": "TEXT",
            "task_id": "TEXT",
            "api_request_id": "TEXT",
            "model": "TEXT nn =''",
            "provider": "TEXT nn =''",
            "status_code": "INTEGER",
            "error_type": "TEXT nn =''",
            "error_message": "TEXT nn =''",
            "reason": "TEXT nn =''",
            "retryable": "INTEGER",
            "retry_count": "INTEGER",
            "max_retries": "INTEGER",
            "duration_ms": "INTEGER",
        },
    },
    indexes={
        "idx_runs_started": "runs(started_at)",
        "idx_runs_platform": "runs(platform)",
        "idx_runs_cron_job": "runs(cron_job_id)",
        "idx_runs_sender": "runs(sender_id)",
        "idx_runs_profile": "runs(profile)",
        "idx_llm_session": "llm_calls(session_id)",
        "idx_llm_ts": "llm_calls(ts)",
        "idx_llm_turn": "llm_calls(turn_id)",
        "idx_tool_session": "tool_calls(session_id)",
        "idx_tool_name": "tool_calls(tool_name)",
        "idx_tool_turn": "tool_calls(turn_id)",
        "idx_free_paid_detected": "free_paid_transitions(detected_at)",
        "idx_model_unavailable_last_seen": "model_unavailable_alerts(last_seen_at)",
        "idx_subagent_edges_parent": "subagent_edges(parent_session_id)",
        "idx_pricing_snapshots_model": "pricing_snapshots(provider, model, id)",
        "idx_endpoint_payload_cache_name": "endpoint_payload_cache(cache_name, built_at)",
        "idx_me_cache_window": "model_efficiency_cache(window_hours, include_deleted)",
        "idx_llm_call_errors_session": "llm_call_errors(session_id)",
    },
    unique={"budget_alerts(scope, scope_id, window, period_key, level)"},
)

PRICE_RECORD = {
    "prices_used": {
        "id": "INTEGER pk1 ai",
        "basis": "TEXT nn",
        "source": "TEXT",
        "matched_id": "TEXT",
        "input": "REAL",
        "output": "REAL",
        "cache_read": "REAL",
        "cache_write": "REAL",
        "reasoning": "REAL",
        "request": "REAL",
        "tier_from": "INTEGER",
        "first_used_at": "TEXT nn",
    },
    "llm_call_prices": {
        "call_id": "INTEGER pk1",
        "price_id": "INTEGER nn",
        "reported_usd": "REAL",
        "filled_at": "TEXT",
    },
}
"""What stands beside the versions; its indexes and all named idx_speed_… do so as well."""


def shape(connection: sqlite3.Connection) -> Shape:
    """The shape of a file, without what stands beside the schema versions."""
    found = Shape()
    for table, sql in connection.execute(
        "select name, sql from sqlite_master where type = 'table' and name not like 'sqlite_%'"
    ).fetchall():
        if table in PRICE_RECORD:
            continue
        found.tables[table] = _columns(connection, table, "autoincrement" in sql.lower())
        for _, index, _, origin, _ in connection.execute(f"pragma index_list({table})").fetchall():
            names = [row[2] for row in connection.execute(f"pragma index_info({index})")]
            target = f"{table}({', '.join(names)})"
            if origin == "u":
                found.unique.add(target)
            elif origin == "c" and not index.startswith("idx_speed_"):
                found.indexes[index] = target
    return found


def price_record(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """The tables of the price record that a file has."""
    return {
        table: _columns(connection, table, "autoincrement" in sql.lower())
        for table, sql in connection.execute(
            "select name, sql from sqlite_master where type = 'table'"
        ).fetchall()
        if table in PRICE_RECORD
    }


def shape_of(path: Path) -> Shape:
    """The shape of the file at ``path``."""
    connection = sqlite3.connect(path)
    try:
        return shape(connection)
    finally:
        connection.close()


def _columns(connection: sqlite3.Connection, table: str, autoincrement: bool) -> dict[str, str]:
    columns = {}
    for _, name, kind, not_null, default, key in connection.execute(f"pragma table_info({table})"):
        declaration = [kind.upper()]
        declaration += ["nn"] if not_null else []
        declaration += [f"={default}"] if default is not None else []
        declaration += [f"pk{key}"] if key else []
        declaration += ["ai"] if key and autoincrement else []
        columns[name] = " ".join(declaration)
    return columns
