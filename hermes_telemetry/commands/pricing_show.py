"""`pricing show`: which price a model has at a provider, who stated it, and what the others say."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from pathlib import Path

    from ..pricing import Price
    from ..store.price_history import Snapshot
    from .options import Commands

_STEPS = (
    "pricing.yaml",
    "built-in table",
    "a :free id",
    "Google's other spelling",
    "the host's tariff",
    "a family",
    "genai-prices",
    "another source's entry",
)
_RATES = ("input", "output", "cache_read", "cache_write", "reasoning", "request")


def add_parser(actions: Commands) -> None:
    """`pricing show MODEL [--provider NAME] [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "show",
        does="show the price of a model, which step of the lookup answered, and what others say",
        example="gemini-2.5-flash --provider google",
        handler=run,
    )
    parser.add_argument("model", metavar="MODEL", help="the model's id, as the host has it")
    parser.add_argument(
        "--provider",
        metavar="NAME",
        default="",
        help="the provider, in the host's own word (default: of no known provider)",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Prints the price; a model without one is told so."""
    from .price_sources import full_catalog, step_of

    model, provider = namespace.model, namespace.provider
    path = ledger_path(namespace)
    # Before the first session there is no ledger.
    snapshots = _stored(path) if namespace.db or path.exists() else []
    prices = full_catalog(snapshots, [(model, provider)]).steps(model, provider)
    answers = [_fields(step_of(price, model), price) for price in prices]
    answer = answers[0] if answers else None
    if namespace.json:
        nothing = dict.fromkeys(["step", "basis", "source", "matched_id", *_RATES])
        content = {
            "model": model,
            "provider": provider,
            **(answer or nothing),
            "tiers": [
                {"min_prompt_tokens": tier.min_prompt_tokens, **_rates(prices[0], tier)}
                for tier in (prices[0].tiers if prices else ())
            ],
            "steps": answers,
        }
        print(json.dumps(content, indent=2))
        return 0
    name = f"{model} at {provider}" if provider else model
    if answer is None:
        print(f"{name}: no price is known, so its calls stay without a cost")
    else:
        _print_price(name, answer, prices[0])
    print("\nUSD per million tokens (request: per call) by each step of the lookup:")
    _print_steps(answers)
    return 0


def _stored(path: Path) -> list[Snapshot]:
    """The ledger's newest tariffs. They only stand in for the host's, so a price is shown without
    them too."""
    import sqlite3
    from contextlib import closing

    from ..store.files import NotALedgerError
    from ..store.maintenance import OldLedgerError
    from ..store.price_history import newest_snapshots
    from .price_sources import open_current

    try:
        with closing(open_current(path)) as ledger:
            return newest_snapshots(ledger)
    except (NotALedgerError, OldLedgerError, sqlite3.Error) as error:
        print(f"shown without the ledger's tariffs: {error}", file=sys.stderr)
        return []


def _rates(price: Price, tier: Any = None) -> dict[str, Any]:
    record = price.record(None if tier is None else tier.min_prompt_tokens)
    return {key: record[key] for key in _RATES}


def _fields(step: int, price: Price) -> dict[str, Any]:
    return {
        "step": step,
        "basis": price.basis,
        "source": price.source,
        "matched_id": price.matched_id,
        **_rates(price),
    }


def _print_price(name: str, answer: dict[str, Any], price: Price) -> None:
    print(f"{name}: {answer['basis']} (step {answer['step']}, {_STEPS[answer['step'] - 1]})")
    print(f"source      {answer['source'] or 'not named'}")
    print(f"matched id  {answer['matched_id']}")
    print(f"rates       {_told(answer)}")
    for tier in price.tiers:
        print(f"            from {tier.min_prompt_tokens:,} prompt tokens on:")
        print(f"            {_told(_rates(price, tier))}")


def _told(rates: dict[str, Any]) -> str:
    from .output import rate

    words = [
        f"{key.replace('_', ' ')} {rate(rates[key])}"
        for key in _RATES
        if key != "request" and rates[key] is not None
    ]
    if rates["request"]:
        words.append(f"and {rate(rates['request'])} a call")
    return ", ".join(words)


def _print_steps(answers: list[dict[str, Any]]) -> None:
    from .output import write_table

    columns = ["step", "asks", "basis", *_RATES, "source", "matched_id"]
    rows = []
    for step, asks in enumerate(_STEPS, 1):
        # Google's other spelling is looked up in both files, so a step may have two answers.
        answered = [answer for answer in answers if answer["step"] == step] or [{}]
        rows += [
            [step, asks, answer.get("basis", "–"), *(answer.get(key) for key in columns[3:])]
            for answer in answered
        ]
    write_table(sys.stdout, columns, rows, {"step": "id", **dict.fromkeys(_RATES, "rate")})
