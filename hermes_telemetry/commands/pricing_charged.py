"""What a ledger's own calls of a model were priced at: how `pricing show` explains the past."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from ..store.price_history import ChargedPrice

_UNITS = {
    "first_call": "utc",
    "last_call": "utc",
    "calls": "count",
    "cost_usd": "usd",
    "input": "rate",
    "output": "rate",
    "cache_read": "rate",
    "cache_write": "rate",
    "reasoning": "rate",
    "request": "rate",
    "from_prompt_tokens": "count",
}
# Few prices have them, and the table is wide.
_IF_STATED = {"reasoning", "request", "from_prompt_tokens", "why"}


def fields(price: ChargedPrice) -> dict[str, Any]:
    """A price with its calls as one JSON object; ``why`` is None for a cost above 0."""
    return {
        "provider": price.provider,
        "calls": price.calls,
        "cost_usd": price.cost_usd,
        "first_call": price.first_call,
        "last_call": price.last_call,
        "basis": price.basis,
        **price.rates,
        "from_prompt_tokens": price.tier_from,
        "source": price.source,
        "matched_id": price.matched_id,
        "why": _why(price),
    }


def print_charged(
    charged: Sequence[ChargedPrice], model: str, provider: str, path: Path, hint: str
) -> None:
    """A table with a row for each price that calls were recorded at, the oldest first. ``hint``
    ends the line that says there are none.
    """
    from .output import write_table

    at = f" at {provider}" if provider else ""
    if not charged:
        print(f"\n{path} has no calls of {model}{at}{hint}")
        return
    calls = sum(price.calls for price in charged)
    print(f"\nThe {calls:,} calls of {model}{at} in {path} were priced at:")
    rows = [fields(price) for price in charged]
    columns = [
        column
        for column in rows[0]
        if column != "matched_id" and (column not in _IF_STATED or any(row[column] for row in rows))
    ]
    write_table(sys.stdout, columns, [[row[column] for column in columns] for row in rows], _UNITS)


def _why(price: ChargedPrice) -> str | None:
    """Why the calls cost nothing, in the words of docs/concepts.md; None if they cost something."""
    if price.cost_usd is None:
        return "unpriced: no price was known, so the cost is NULL and not 0"
    if price.cost_usd:
        return None if price.basis else "its price is not in the price record"
    if price.basis is None:
        return "unexplained: another program wrote 0" if price.has_tokens else "no tokens were used"
    if any(price.rates.values()):
        if price.has_tokens:
            return "priced at 0: the rates of the tokens used are 0"
        return "no tokens were used"
    if price.basis == "declared":
        return "declared free: pricing.yaml says that a plan covers it (_subscription)"
    if price.basis == "free" and price.source == ":free":
        return "free: the id ends in :free"
    if price.basis == "free":
        return f"free: its entry in pricing.yaml says 0 (source {price.source})"
    if price.basis == "tariff" and price.source == "none":
        return "priced at 0: the host says that a subscription includes it"
    return f"priced at 0: the rates of the {price.basis} price are 0"
