"""What metadata.yml says of tables and columns, and the order that shows newest rows first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from .ledgers import Ledger

# The column whose highest value is the newest row. Big tables go by an indexed column: sorting a
# million rows by another would meet Datasette's time limit.
_NEWEST_BY = {
    "runs": "started_at",
    "llm_calls": "id",
    "tool_calls": "id",
    "llm_call_errors": "id",
    "subagent_edges": "started_at",
    "known_free_models": "first_seen_at",
    "free_paid_transitions": "detected_at",
    "model_unavailable_alerts": "last_seen_at",
    "budget_alerts": "fired_at",
    "pricing_snapshots": "id",
    "prices_used": "id",
    "llm_call_prices": "call_id",
    "endpoint_payload_cache": "built_at",
    "model_efficiency_cache": "built_at",
    "schema_version": "version",
}


def tables() -> Set[str]:
    """The tables and views that metadata.yml knows."""
    return _shipped()["tables"].keys()


def of_ledger(ledger: Ledger) -> dict[str, Any]:
    """Datasette's metadata of one ledger: `description` and `tables`, of what the file holds alone.

    Always a new object, since Datasette merges the user's metadata into it.
    """
    shipped = _shipped()
    return {
        "description": shipped["description"],
        "tables": {
            table: _of_table(shipped["tables"][table], columns)
            for table, columns in ledger.columns.items()
        },
    }


def newest_first(ledger: Ledger) -> dict[str, str]:
    """The column to sort by, descending, of each table that has it."""
    return {
        table: column
        for table, column in _NEWEST_BY.items()
        if column in ledger.columns.get(table, ())
    }


def _of_table(shipped: Mapping[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    return {
        "description": shipped["description"],
        "columns": {
            column: shipped["columns"][column] for column in columns if column in shipped["columns"]
        },
    }


@cache
def _shipped() -> Mapping[str, Any]:
    """What metadata.yml says of a ledger."""
    text = (Path(__file__).parent / "metadata.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["databases"]["telemetry"]
