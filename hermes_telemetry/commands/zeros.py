"""Why a zero is one: calls that are free, that were declared so, or that nobody has a price for."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from ..reports import load_queries, unavailable
from .figures import ask
from .options import Screen
from .output import say

_QUERY = "estimated_share"
_SHOWN = 5
# Columns of the query that no call is in twice.
_REASONS = {
    "free_calls": "free",
    "declared_calls": "declared free",
    "cost_unpriced_calls": "without a price",
    "unexplained_zero_calls": "at 0 for no recorded reason",
}


def say_why(
    shown: Screen, ledger: sqlite3.Connection, path: Path, window: Mapping[str, str]
) -> None:
    """A line for each model that cost nothing in the window, none if there is no such model.

    `ledger` is one that `figures.asking` opened, `window` has since, until and perhaps profile. A
    ledger of another build has no record of reasons, and nothing is said.
    """
    if unavailable(ledger, load_queries()[_QUERY]) is not None:
        return
    zeros = [row for row in ask(ledger, path, _QUERY, window).objects() if not row["cost_usd"]]
    if not zeros:
        return
    shown.to.write("\n")
    say(shown, "Models that cost nothing, or nothing that is known:")
    for row in zeros[:_SHOWN]:
        counts = {words: row[column] for column, words in _REASONS.items()}
        counts["priced at 0"] = row["calls"] - sum(counts.values())
        why = [f"{n:,} {'call' if n == 1 else 'calls'} {words}" for words, n in counts.items() if n]
        name = f"{row['model'] or '(no model)'} ({row['provider'] or 'no provider'})"
        say(shown, f"- {name}: {', '.join(why)}")
    if len(zeros) > _SHOWN:
        say(shown, f"- and {len(zeros) - _SHOWN:,} more")
