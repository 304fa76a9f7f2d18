"""What a ledger holds, read through a connection of one's own."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def ask_ledger(path: Path, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of one question."""
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        return connection.execute(sql, parameters).fetchall()


def tool_call_ids(path: Path) -> list[str]:
    """Every tool row's id, as often as it stands there, in order."""
    rows = ask_ledger(path, "select tool_call_id from tool_calls order by tool_call_id")
    return [tool_call_id for (tool_call_id,) in rows]


def api_request_ids(path: Path) -> list[str]:
    """Every answered call's id, as often as it stands there, in order."""
    rows = ask_ledger(path, "select api_request_id from llm_calls order by api_request_id")
    return [api_request_id for (api_request_id,) in rows]


def faults(path: Path) -> list[Any]:
    """Damaged pages, and sessions whose totals are not the sums of their calls; [] when sound."""
    damage = ask_ledger(path, "pragma integrity_check")
    differing = ask_ledger(
        path,
        """
        select runs.session_id, runs.cost_usd, sum(llm_calls.cost_usd), runs.api_calls, count(id)
        from runs
        left join llm_calls on llm_calls.session_id = runs.session_id
        group by runs.session_id
        having abs(coalesce(sum(llm_calls.cost_usd), 0) - coalesce(runs.cost_usd, 0)) > 1e-9
           or count(id) <> runs.api_calls
        """,
    )
    unrelated = ask_ledger(
        path,
        "select session_id from llm_calls where session_id not in (select session_id from runs)",
    )
    return [row for row in damage if row != ("ok",)] + differing + unrelated


def marked_batches(path: Path) -> int:
    """How many batches of spilled records came in."""
    return int(
        ask_ledger(
            path,
            "select count(*) from endpoint_payload_cache"
            " where cache_name = 'spill' and cache_key <> 'dropped'",
        )[0][0]
    )


def dropped_records(path: Path) -> int:
    """How many records the ledger says were lost for good."""
    return int(
        ask_ledger(
            path,
            "select coalesce(sum(rows_count), 0) from endpoint_payload_cache"
            " where cache_name = 'spill' and cache_key = 'dropped'",
        )[0][0]
    )


def waiting_files(path: Path) -> list[str]:
    """Names of spill file and batches beside the ledger."""
    return sorted(file.name for file in path.parent.glob("telemetry.spill*.ndjson"))
