"""The tables, columns and indexes of the ledger, by the schema version that adds them.

The names, types, defaults and keys are a format shared with other recorders: no version after 18
may be added here. What stands beside the versions (price record, speed indexes, views) is in
``extras.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Addition:
    """What one schema version brings: whole tables, columns of older tables, and indexes.

    ``tables`` maps a name to its column list as that version made it; ``columns`` holds
    (table, column, declaration); ``indexes`` maps a name to "table(columns)".
    """

    tables: dict[str, str]
    columns: tuple[tuple[str, str, str], ...] = ()
    indexes: dict[str, str] | None = None


_COUNT = "integer default 0"

ADDITIONS: dict[int, Addition] = {
    1: Addition(
        tables={
            "runs": """
                session_id text primary key,
                platform text,
                cron_job_id text,
                model text,
                provider text,
                started_at text not null,
                ended_at text,
                status text default 'running',
                tokens_in integer default 0,
                tokens_out integer default 0,
                cost_usd real default 0.0,
                duration_ms integer,
                api_calls integer default 0,
                tool_calls integer default 0
            """,
            "llm_calls": """
                id integer primary key autoincrement,
                session_id text not null,
                ts text not null,
                model text,
                provider text,
                tokens_in integer default 0,
                tokens_out integer default 0,
                cost_usd real default 0.0,
                latency_ms integer
            """,
            "tool_calls": """
                id integer primary key autoincrement,
                session_id text not null,
                ts text not null,
                tool_name text not null,
                ok integer not null default 1,
                latency_ms integer
            """,
        },
        indexes={
            "idx_runs_started": "runs(started_at)",
            "idx_runs_platform": "runs(platform)",
            "idx_runs_cron_job": "runs(cron_job_id)",
            "idx_llm_session": "llm_calls(session_id)",
            "idx_llm_ts": "llm_calls(ts)",
            "idx_tool_session": "tool_calls(session_id)",
            "idx_tool_name": "tool_calls(tool_name)",
        },
    ),
    2: Addition(
        tables={},
        columns=(
            ("llm_calls", "cache_read_tokens", _COUNT),
            ("llm_calls", "cache_write_tokens", _COUNT),
            ("llm_calls", "reasoning_tokens", _COUNT),
            ("llm_calls", "estimated", _COUNT),
            ("runs", "parent_session_id", "text"),
            ("runs", "estimated_llm_calls", _COUNT),
        ),
    ),
    3: Addition(
        tables={
            "budget_alerts": """
                id integer primary key autoincrement,
                scope text not null,
                scope_id text not null default '',
                window text not null,
                period_key text not null,
                level text not null,
                fired_at text not null,
                spent_usd real,
                limit_usd real,
                unique (scope, scope_id, window, period_key, level)
            """,
        },
        columns=(("runs", "sender_id", "text"),),
        indexes={"idx_runs_sender": "runs(sender_id)"},
    ),
    4: Addition(
        tables={},
        columns=(
            ("runs", "cache_read_tokens", _COUNT),
            ("runs", "cache_write_tokens", _COUNT),
        ),
    ),
    5: Addition(
        tables={
            "known_free_models": """
                model text not null,
                provider text not null default '',
                first_seen_at text not null,
                primary key (model, provider)
            """,
        },
    ),
    6: Addition(
        tables={
            "free_paid_transitions": """
                model text not null,
                provider text not null default '',
                detected_at text not null,
                session_id text,
                first_paid_cost_usd real not null default 0.0,
                first_free_seen_at text,
                primary key (model, provider)
            """,
        },
        indexes={"idx_free_paid_detected": "free_paid_transitions(detected_at)"},
    ),
    7: Addition(
        tables={},
        columns=(
            ("llm_calls", "provider_assumed", _COUNT),
            ("runs", "provider_assumed_calls", _COUNT),
        ),
    ),
    8: Addition(
        tables={
            "model_unavailable_alerts": """
                model text not null,
                provider text not null default '',
                error_code integer not null,
                error_message text,
                first_seen_at text not null,
                last_seen_at text not null,
                occurrences integer not null default 1,
                primary key (model, provider)
            """,
        },
        indexes={"idx_model_unavailable_last_seen": "model_unavailable_alerts(last_seen_at)"},
    ),
    10: Addition(
        tables={},
        columns=(
            ("llm_calls", "moa_preset", "text"),
            ("runs", "moa_calls", _COUNT),
        ),
    ),
    11: Addition(
        tables={
            "subagent_edges": """
                child_session_id text primary key,
                parent_session_id text not null,
                parent_turn_id text,
                parent_subagent_id text,
                child_subagent_id text,
                child_role text,
                started_at text not null,
                stopped_at text,
                child_status text
            """,
        },
        indexes={"idx_subagent_edges_parent": "subagent_edges(parent_session_id)"},
    ),
    12: Addition(
        tables={},
        columns=(("runs", "profile", "text"),),
        indexes={"idx_runs_profile": "runs(profile)"},
    ),
    14: Addition(
        tables={
            "pricing_snapshots": """
                id integer primary key autoincrement,
                provider text not null,
                model text not null,
                input_cost_per_million real,
                output_cost_per_million real,
                cache_read_cost_per_million real,
                cache_write_cost_per_million real,
                request_cost real,
                source text,
                source_url text,
                pricing_version text,
                fetched_at text,
                captured_at text not null,
                base_url text,
                api_mode text
            """,
        },
        indexes={"idx_pricing_snapshots_model": "pricing_snapshots(provider, model, id)"},
    ),
    15: Addition(
        tables={},
        columns=(("pricing_snapshots", "resolved_model", "text"),),
    ),
    16: Addition(
        tables={
            "endpoint_payload_cache": """
                cache_name text not null,
                cache_key text not null,
                payload_json text not null,
                rows_count integer not null,
                built_at text not null,
                primary key (cache_name, cache_key)
            """,
            "model_efficiency_cache": """
                cache_key text primary key,
                window_hours integer not null,
                include_deleted integer not null,
                limit_n integer not null,
                payload_json text not null,
                rows_count integer not null,
                built_at text not null
            """,
        },
        indexes={
            "idx_endpoint_payload_cache_name": "endpoint_payload_cache(cache_name, built_at)",
            "idx_me_cache_window": "model_efficiency_cache(window_hours, include_deleted)",
        },
    ),
    18: Addition(
        tables={
            "llm_call_errors": """
                id integer primary key autoincrement,
                session_id text not null,
                ts text not null,
                turn_id text,
                task_id text,
                api_request_id text,
                model text not null default '',
                provider text not null default '',
                status_code integer,
                error_type text not null default '',
                error_message text not null default '',
                reason text not null default '',
                retryable integer,
                retry_count integer,
                max_retries integer,
                duration_ms integer
            """,
        },
        columns=(
            ("llm_calls", "turn_id", "text"),
            ("llm_calls", "task_id", "text"),
            ("llm_calls", "api_request_id", "text"),
            ("tool_calls", "turn_id", "text"),
            ("tool_calls", "tool_call_id", "text"),
        ),
        indexes={
            "idx_llm_turn": "llm_calls(turn_id)",
            "idx_tool_turn": "tool_calls(turn_id)",
            "idx_llm_call_errors_session": "llm_call_errors(session_id)",
        },
    ),
}
