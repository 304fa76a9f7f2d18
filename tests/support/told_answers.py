"""What every query answers about the ledgers of `told_ledgers`, worked out from them by hand."""

from dataclasses import dataclass

from support.ledger import Row, stored
from support.told_ledgers import CHILD, GLM, OPUS, OTHERS, SESSION, TRACE, ZERO


@dataclass(frozen=True)
class Answers:
    """The rows of some columns of a query: as it stands, of everything, of another build's file."""

    columns: str
    recent: list[Row]
    everything: list[Row]
    other_build: list[Row]


WEEK = [f"2026-06-{day}" for day in range(24, 17, -1)]
SIX_MONTHS = [f"2026-0{month}" for month in range(7, 1, -1)]


def growth(tables: dict[str, tuple[str, int]]) -> list[Row]:
    """Six months of tables, each of which got its rows in one: which, and how many."""
    return [
        row
        for shown in SIX_MONTHS
        for row in sorted(
            (
                (shown, rows if shown == month else 0, table)
                for table, (month, rows) in tables.items()
            ),
            key=lambda row: (-row[1], row[2]),
        )
    ]


GROWTH = growth(
    {
        "runs": ("2026-06", 3),
        "llm_calls": ("2026-06", 11),
        "tool_calls": ("2026-06", 2),
        "llm_call_errors": ("2026-06", 5),
        "subagent_edges": ("2026-06", 1),
    }
    | dict.fromkeys(
        (
            "pricing_snapshots",
            "budget_alerts",
            "known_free_models",
            "free_paid_transitions",
            "model_unavailable_alerts",
        ),
        ("2025-06", 1),
    )
)


ANSWERS = {
    "billed_vs_tariff": Answers(
        "model cost_usd tariff_usd calls unpriced_calls tariff_unpriced_calls",
        # Two calls of 15,625 tokens at 2 dollars a million are 2/32; n has no tariff.
        [("m", 1.375, 0.0625, 9, 1, 0), ("n", 0.25, None, 2, 1, 2)],
        [("m", 3.375, 0.09375, 11, 2, 0), ("n", 1.25, None, 3, 1, 3)],
        [(OPUS, 1.0, None, 1, 0, 1), (GLM, 0.5, None, 1, 0, 1), (ZERO, 0.0, None, 1, 0, 1)],
    ),
    "budget_alert_history": Answers(
        "fired_at spent_usd limit_usd scope name level spent_share",
        [(stored("2025-06-30T10:02"), 3.0, 2.0, "global", "everything", "hard", 1.5)],
        [(stored("2025-06-30T10:02"), 3.0, 2.0, "global", "everything", "hard", 1.5)],
        [("2026-05-11T08:04:00+00:00", None, None, "cron", "nightly", "hard", None)],
    ),
    "cache_savings": Answers(
        "day cost_usd kind tokens calls unpriced_calls",
        # One of two calls has no price record: 1/64 for the other.
        [("2026-06-30", 0.015625, "fresh", 31250, 2, 1)],
        [
            ("2026-06-30", 0.015625, "fresh", 31250, 2, 1),
            ("2025-06-30", 0.015625, "fresh", 15625, 1, 0),
        ],
        [("2026-05-11", None, "fresh", 364, 3, 3)],
    ),
    "cost_by_day": Answers(
        "day cost_usd calls unpriced_calls",
        [("2026-06-30", 0.75, 4, 2), *((day, 0.125, 1, 0) for day in WEEK)],
        [
            ("2026-06-30", 0.75, 4, 2),
            *((day, 0.125, 1, 0) for day in WEEK),
            ("2025-06-30", 3.0, 3, 1),
        ],
        [("2026-05-11", 1.5, 3, 0)],
    ),
    "cost_by_day_and_model": Answers(
        "day cost_usd model calls unpriced_calls",
        [
            ("2026-06-30", 0.5, "m", 2, 1),
            ("2026-06-30", 0.25, "n", 2, 1),
            *((day, 0.125, "m", 1, 0) for day in WEEK),
        ],
        [
            ("2026-06-30", 0.5, "m", 2, 1),
            ("2026-06-30", 0.25, "n", 2, 1),
            *((day, 0.125, "m", 1, 0) for day in WEEK),
            ("2025-06-30", 2.0, "m", 2, 1),
            ("2025-06-30", 1.0, "n", 1, 0),
        ],
        [
            ("2026-05-11", 1.0, OPUS, 1, 0),
            ("2026-05-11", 0.5, GLM, 1, 0),
            ("2026-05-11", 0.0, ZERO, 1, 0),
        ],
    ),
    "cost_by_model": Answers(
        "model cost_usd calls unpriced_calls",
        [("m", 1.375, 9, 1), ("n", 0.25, 2, 1)],
        [("m", 3.375, 11, 2), ("n", 1.25, 3, 1)],
        [(OPUS, 1.0, 1, 0), (GLM, 0.5, 1, 0), (ZERO, 0.0, 1, 0)],
    ),
    "cost_by_platform": Answers(
        "platform cost_usd calls unpriced_calls",
        [(None, 0.875, 7, 0), ("cron", 0.5, 2, 1), ("subagent", 0.25, 2, 1)],
        # The subagent of a year ago has no run.
        [("cron", 2.5, 4, 2), (None, 1.875, 8, 0), ("subagent", 0.25, 2, 1)],
        [("cli", 1.5, 2, 0), ("subagent", 0.0, 1, 0)],
    ),
    "cost_by_profile": Answers(
        "profile cost_usd calls unpriced_calls",
        [(None, 0.875, 7, 0), ("work", 0.75, 4, 2)],
        [("home", 3.0, 3, 1), (None, 0.875, 7, 0), ("work", 0.75, 4, 2)],
        [("research", 1.5, 3, 0)],
    ),
    "cost_by_provider": Answers(
        "provider cost_usd calls unpriced_calls",
        [("p", 1.625, 11, 2)],
        [("p", 4.625, 14, 3)],
        [("anthropic", 1.0, 1, 0), ("unheard-of", 0.5, 1, 0), ("openrouter", 0.0, 1, 0)],
    ),
    "cost_by_sender": Answers(
        "sender_id cost_usd calls unpriced_calls",
        [(None, 0.875, 7, 0), ("ann", 0.75, 4, 2)],
        [("bob", 3.0, 3, 1), (None, 0.875, 7, 0), ("ann", 0.75, 4, 2)],
        [(None, 1.5, 3, 0)],
    ),
    "cost_by_session": Answers(
        "session_id cost_usd calls usd_per_call status unpriced_calls",
        [
            ("h", 0.875, 7, 0.125, "ok", 0),
            ("r", 0.5, 2, 0.5, "ok", 1),
            ("c", 0.25, 2, 0.25, "error", 1),
        ],
        [
            ("o", 2.0, 2, 2.0, "error", 1),
            ("oc", 1.0, 1, 1.0, None, 0),
            ("h", 0.875, 7, 0.125, "ok", 0),
            ("r", 0.5, 2, 0.5, "ok", 1),
            ("c", 0.25, 2, 0.25, "error", 1),
        ],
        [(SESSION, 1.5, 2, 0.75, "ok", 0), (CHILD, 0.0, 1, 0.0, "error", 0)],
    ),
    "cost_per_turn": Answers(
        "turn_id session_id cost_usd unpriced_calls delegated_usd total_usd total_unpriced_calls",
        [("u", "c", 0.25, 1, None, 0.25, 1), ("t", "r", 0.5, 1, 0.25, 0.75, 2)],
        [
            ("u", "c", 0.25, 1, None, 0.25, 1),
            ("t", "r", 0.5, 1, 0.25, 0.75, 2),
            (None, "h", 0.875, 0, None, 0.875, 0),
            ("w", "oc", 1.0, 0, None, 1.0, 0),
            ("v", "o", 2.0, 1, 1.0, 3.0, 1),
        ],
        # The one edge with a turn id names a turn that no call carries.
        [(None, CHILD, 0.0, 0, None, 0.0, 0), (None, SESSION, 1.5, 0, None, 1.5, 0)],
    ),
    "cron_attribution": Answers(
        "cron_job_id total_usd own_usd delegated_usd runs failed_runs unpriced_calls",
        [("daily", 0.75, 0.5, 0.25, 1, 0, 2)],
        [("daily", 3.75, 2.5, 1.25, 2, 1, 3)],
        [],
    ),
    "cron_runs": Answers(
        "session_id total_usd own_usd delegated_usd calls unpriced_calls",
        [],
        [("r", 0.75, 0.5, 0.25, 4, 2), ("o", 3.0, 2.0, 1.0, 3, 1)],
        [],
    ),
    "delegation_tree": Answers(
        "session_id subtree_usd own_usd calls unpriced_calls subtree_unpriced_calls",
        [],
        [("r", 0.75, 0.5, 2, 1, 2), ("c", 0.25, 0.25, 2, 1, 1)],
        [(SESSION, 1.5, 1.5, 2, 0, 0), (CHILD, 0.0, 0.0, 1, 0, 0), (TRACE, None, None, 0, 0, 0)],
    ),
    "efficiency": Answers(
        "session_id score status",
        # 40 less 30 for an error; 40 less 1.5 for each of two calls; of seven; less both.
        [("c", 10.0, "error"), ("r", 37.0, "ok"), ("h", 29.5, "ok")],
        [("c", 10.0, "error"), ("r", 37.0, "ok"), ("h", 29.5, "ok"), ("o", 7.0, "error")],
        # 30 tokens out of 300 are 4 more.
        [(CHILD, 10.0, "error"), (SESSION, 41.0, "ok")],
    ),
    "estimated_share": Answers(
        "model cost_usd calls unpriced_calls assumed_calls unexplained_zero_calls listed_calls"
        " unrecorded_calls",
        [("m", 1.375, 9, 1, 0, 0, 8, 7), ("n", 0.25, 2, 1, 0, 0, 1, 1)],
        [("m", 3.375, 11, 2, 0, 0, 9, 7), ("n", 1.25, 3, 1, 0, 0, 2, 2)],
        [
            (OPUS, 1.0, 1, 0, 0, 0, 1, 1),
            (GLM, 0.5, 1, 0, 1, 0, 0, 0),
            (ZERO, 0.0, 1, 0, 0, 1, 0, 0),
        ],
    ),
    "failed_attempts": Answers(
        "day attempts model status_code sessions turns",
        [("2026-06-30", 5, "m", 429, 1, 1)],
        [("2026-06-30", 5, "m", 429, 1, 1), ("2025-06-30", 5, "m", 429, 1, 1)],
        [],
    ),
    "failed_attempts_by_status": Answers(
        "status_code attempts sessions turns",
        [(429, 5, 1, 1)],
        [(429, 10, 2, 2)],
        [],
    ),
    "free_paid_history": Answers(
        "model spend_since_usd status calls_since unpriced_calls",
        [("n", 1.25, "flipped", 3, 1)],
        [("n", 1.25, "flipped", 3, 1)],
        [("llama-local", None, "free", 0, 0)],
    ),
    "latency_percentiles": Answers(
        "name p50_ms p90_ms p99_ms kind calls",
        [("m", 40, 40, 40, "model", 1), ("terminal", 20, 30, 30, "tool", 2)],
        [
            ("m", 40, 80, 80, "model", 2),
            ("terminal", 20, 30, 30, "tool", 2),
            ("patch", 10, 10, 10, "tool", 1),
        ],
        [],
    ),
    "ledger_growth": Answers(
        "month rows table_name",
        GROWTH,
        GROWTH,
        growth(
            {
                "runs": ("2026-05", 2),
                "llm_calls": ("2026-05", 3),
                "tool_calls": ("2026-05", 1),
                "subagent_edges": ("2026-05", 2),
                "budget_alerts": ("2026-05", 1),
                "known_free_models": ("2026-04", 1),
            }
        ),
    ),
    "moa_calls": Answers(
        "at_least_usd moa_preset session_id unpriced_calls",
        [(None, "deep", "r", 1), (0.5, "deep", "r", 0)],
        [
            (None, "deep", "r", 1),
            (0.5, "deep", "r", 0),
            (None, "deep", "o", 1),
            (2.0, "deep", "o", 0),
        ],
        [(1.0, "deep", SESSION, 0)],
    ),
    "models_unavailable": Answers(
        "model occurrences status",
        [("n", 1, "answers again")],
        [("n", 1, "answers again")],
        [],
    ),
    "newest_runs": Answers(
        "session_id cost_usd status calls failed_attempts tool_calls unpriced_calls",
        [
            ("c", 0.25, "error", 2, 0, 0, 1),
            ("r", 0.5, "ok", 2, 5, 2, 1),
            ("h", 0.875, "ok", 7, 0, 0, 0),
        ],
        [
            ("c", 0.25, "error", 2, 0, 0, 1),
            ("r", 0.5, "ok", 2, 5, 2, 1),
            ("h", 0.875, "ok", 7, 0, 0, 0),
            ("o", 2.0, "error", 2, 5, 1, 1),
        ],
        # The other file has the stop of a subagent alone, which is no tool.
        [(CHILD, 0.0, "error", 1, 0, 0, 0), (SESSION, 1.5, "ok", 2, 0, 0, 0)],
    ),
    "price_changes": Answers("model rate change", [], [], []),
    "price_history": Answers(
        "valid_from input_usd_per_million valid_to output_usd_per_million",
        [(stored("2025-06-01"), 2.0, None, 4.0)],
        [(stored("2025-06-01"), 2.0, None, 4.0)],
        [],
    ),
    "reconcile": Answers(
        "session_id difference_usd run_usd calls_usd run_calls calls unpriced_calls",
        # Of the runs of jobs and of the subagent none was told what its calls cost.
        [("r", -0.5, 0.0, 0.5, 2, 2, 1), ("c", -0.25, 0.0, 0.25, 0, 2, 1)],
        [
            ("o", -2.0, 0.0, 2.0, 2, 2, 1),
            ("oc", -1.0, None, 1.0, None, 1, 0),
            ("r", -0.5, 0.0, 0.5, 2, 2, 1),
            ("c", -0.25, 0.0, 0.25, 0, 2, 1),
        ],
        [(CHILD, 0.0, 0.0, 0.0, 0, 1, 0)],
    ),
    "retry_storms": Answers(
        "started_at attempts model sessions",
        [(stored("2026-06-30T10:00:40"), 5, "m", 1)],
        [
            (stored("2026-06-30T10:00:40"), 5, "m", 1),
            (stored("2025-06-30T10:03:00"), 5, "m", 1),
        ],
        [],
    ),
    "smells": Answers(
        "session_id smell severity",
        # One of three sessions, two of four, one of two.
        [("c", "high_error_rate", "high")],
        [("c", "high_error_rate", "high"), ("o", "high_error_rate", "high")],
        [(CHILD, "high_error_rate", "high")],
    ),
    "spend_anomalies": Answers(
        "day cost_usd median_usd over_usd deviation_usd history_days calls unpriced_calls",
        [("2026-06-30", 0.75, 0.125, 0.625, 0.0, 7, 4, 2)],
        [("2026-06-30", 0.75, 0.125, 0.625, 0.0, 7, 4, 2)],
        [],
    ),
    "subagent_join_health": Answers(
        "edges with_turn_id joined unjoined without_turn_id orphans unattributed_usd",
        [(1, 1, 1, 0, 0, 0, 0.0)],
        [(2, 2, 2, 0, 0, 0, 0.0)],
        [(2, 1, 0, 1, 1, 0, 0.0)],
    ),
    "subagent_turns": Answers(
        "child_session_id child_usd parent_turn_id parent_turn_usd unpriced_calls"
        " parent_turn_unpriced_calls",
        [("c", 0.25, "t", 0.5, 1, 1)],
        [("c", 0.25, "t", 0.5, 1, 1), ("oc", 1.0, "v", 2.0, 0, 1)],
        [(TRACE, None, OTHERS["turn_id"], None, 0, 0)],
    ),
    "tool_reliability": Answers(
        "tool_name failure_rate calls failures mean_ms longest_ms",
        [("terminal", 0.5, 2, 1, 25.0, 30)],
        [("terminal", 0.5, 2, 1, 25.0, 30), ("patch", 0.0, 1, 0, 10.0, 10)],
        # The stop of a subagent alone, which is no tool.
        [],
    ),
    "turn_timeline": Answers(
        "cost_usd kind running_usd unpriced_calls",
        [],
        [
            (0.5, "call", 0.5, 0),
            *[(None, "tool", 0.5, 0)] * 2,
            *[(None, "error", 0.5, 0)] * 5,
            (None, "call", 0.5, 1),
        ],
        [],
    ),
}
