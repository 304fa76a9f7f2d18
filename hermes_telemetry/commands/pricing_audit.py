"""`pricing audit`: what each step of the lookup would charge for what was used."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from decimal import Decimal

    from ..pricing import Catalog, Price
    from ..store.price_history import SeenPair
    from .options import Commands

THRESHOLD = 0.05
"""Above this share of what the answering step charges, another step's charge is a difference."""


def add_parser(actions: Commands) -> None:
    """`pricing audit [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "audit",
        does="what each step of the lookup would charge per model seen; exit 1 if steps differ",
        example="--json",
        handler=run,
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Prints a line for each step that knows a model; 1 if two differ by more than 5 per cent."""
    from contextlib import closing

    from ..store.price_history import newest_snapshots, pairs_seen
    from .price_sources import full_catalog, open_current

    path = ledger_path(namespace)
    with closing(open_current(path)) as ledger:
        pairs = pairs_seen(ledger)
        catalog = full_catalog(
            newest_snapshots(ledger), [(pair.model, pair.provider) for pair in pairs]
        )
    models = [_audited(pair, catalog) for pair in pairs]
    differing = sum(model["differs"] for model in models)
    if namespace.json:
        report = {
            "file": str(path),
            "threshold": THRESHOLD,
            "differing": differing,
            "models": models,
        }
        print(json.dumps(report, indent=2))
    else:
        _print(models, differing)
    return int(differing > 0)


def _audited(pair: SeenPair, catalog: Catalog) -> dict[str, Any]:
    from .price_sources import step_of

    prices = catalog.steps(pair.model, pair.provider)
    charges = [_charge(pair, price) for price in prices]
    steps: list[dict[str, Any]] = []
    for price, charge in zip(prices, charges, strict=True):
        steps.append(
            {
                "step": step_of(price, pair.model),
                "basis": price.basis,
                "source": price.source,
                "matched_id": price.matched_id,
                "usd": float(charge),
                **_difference(charge, charges[0], declared=prices[0].basis == "declared"),
            }
        )
    return {
        "model": pair.model,
        "provider": pair.provider,
        "calls": pair.calls,
        "unpriced_calls": pair.unpriced_calls,
        "recorded_usd": pair.cost_usd,
        "differs": any(step["differs"] for step in steps),
        "steps": steps,
    }


def _charge(pair: SeenPair, price: Price) -> Decimal:
    """USD for all tokens of a pair, at the rates below the first tier: calls were summed up, and
    only a call has a size.
    """
    from dataclasses import replace

    from ..pricing import Usage, cost_of

    usage = Usage(
        pair.tokens_in,
        pair.tokens_out,
        pair.cache_read_tokens,
        pair.cache_write_tokens,
        pair.reasoning_tokens,
    )
    cost, _ = cost_of(usage, replace(price, tiers=()))
    return cost + (pair.calls - 1) * price.rates.request


def _difference(charge: Decimal, answer: Decimal, *, declared: bool) -> dict[str, Any]:
    """By what share of the answer a charge differs (None where the answer is nothing), and if
    that is worth a look. A plan that the user declared is meant to cost less than the list says.
    """
    if not answer:
        return {"difference": None if charge else 0.0, "differs": bool(charge) and not declared}
    share = float((charge - answer) / answer)
    return {"difference": share, "differs": abs(share) > THRESHOLD + 1e-9}


def _print(models: Sequence[dict[str, Any]], differing: int) -> None:
    from ..money import total, usd
    from .output import write_table

    columns = ["model", "provider", "calls", "recorded", "step", "basis", "charge", "difference"]
    rows = []
    for model in models:
        recorded = total(model["recorded_usd"], model["unpriced_calls"])
        start = [model["model"], model["provider"], model["calls"], recorded]
        if not model["steps"]:
            rows.append([*start, None, "no price", None, None])
        for step in model["steps"]:
            difference = "" if step is model["steps"][0] else _told(step)
            rows.append([*start, step["step"], step["basis"], usd(step["usd"]), difference])
    units = dict.fromkeys(columns[2:4] + columns[6:], "count") | {"step": "id"}
    write_table(sys.stdout, columns, rows, units)
    unknown = sum(not model["steps"] for model in models)
    if unknown:
        print(f"models without a price: {unknown:,}")
    print(f"models whose steps differ by more than {THRESHOLD:.0%} (!): {differing:,}")


def _told(step: dict[str, Any]) -> str:
    share = step["difference"]
    return ("from $0" if share is None else f"{share:+.1%}") + (" !" if step["differs"] else "")
