"""`pricing show`: which price a model has at a provider, who stated it, what the others say, and
what the ledger's calls were priced at."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import InputError, add_command, add_db_option, ledger_path, nearest

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from ..pricing import Price
    from ..store.price_history import ChargedPrice, SeenPair, Snapshot
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
# Ids of one vendor have much in common: with less, any two of them are alike.
_ALIKE = 0.75


def add_parser(actions: Commands) -> None:
    """`pricing show MODEL [--provider NAME] [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "show",
        does="show the price of a model, where it comes from, and what its calls were priced at",
        example="gemini-2.5-flash --provider google",
        handler=run,
    )
    parser.add_argument("model", metavar="MODEL", help="the model's id, in upper or lower case")
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
    from ..windows import SYSTEM_CLOCK
    from .price_sources import full_catalog, step_of
    from .pricing_charged import fields, print_charged

    model, provider = namespace.model, namespace.provider
    if not model.strip():
        raise InputError("the MODEL is blank: name one, as `hermes-telemetry stats models` does")
    now = SYSTEM_CLOCK.now()
    path = ledger_path(namespace)
    # Before the first session there is no ledger.
    known = namespace.db or path.exists()
    stored = _stored(path, model, provider) if known else _Stored()
    catalog = full_catalog(path, stored.snapshots, [(model, provider)])
    prices = catalog.steps(model, provider, now)
    answers = [_fields(step_of(price, model), price) for price in prices]
    answer = answers[0] if answers else None
    if namespace.json:
        nothing = dict.fromkeys(["step", "basis", "source", "matched_id", *_RATES])
        content = {
            "model": model,
            "provider": provider,
            **(answer or nothing),
            "tiers": _tiers(prices[0]) if prices else [],
            "periods": _periods(prices[0], now) if prices else [],
            "steps": answers,
            "charged": None if stored.charged is None else [*map(fields, stored.charged)],
        }
        print(strict_json.text(content))
        return 0
    name = f"{model} at {provider}" if provider else model
    if answer is None:
        ids = [*(pair.model for pair in stored.others), *catalog.stated_ids()]
        hint = "" if stored.charged else _meant(model, ids)
        print(f"{name}: no price is known, so its calls stay without a cost{hint}")
        _print_advice(model, path)
    else:
        _print_price(name, answer, prices[0], now)
    at = f" at {now:%H:%M} UTC" if any(price.periods for price in prices) else ""
    print(f"\nUSD per million tokens (request: per call){at} by each step of the lookup:")
    _print_steps(answers)
    if stored.charged is not None:
        hint = _meant(provider, [pair.provider for pair in stored.others])
        print_charged(stored.charged, model, provider, path, hint)
    return 0


def _meant(word: str, known: Iterable[str]) -> str:
    """A question that names what is meant by a word that is not known itself; '' without one."""
    word, words = word.strip().lower(), {each.strip().lower() for each in known if each}
    # Sorted: of two that are as alike the same one is named each time.
    return "" if word in words else nearest(word, sorted(words), _ALIKE)


def _print_advice(model: str, path: Path) -> None:
    """How to get a price. The words in the entry are refused where they are not replaced."""
    from importlib.util import find_spec

    from ..paths import prices_home, pricing_path
    from ..store.files import db_option

    print(
        "to price it, add it with its USD per million tokens to the models of"
        f" {pricing_path(prices_home(path))}:\n"
        f"  {json.dumps(model)}: {{input: INPUT_USD, output: OUTPUT_USD}}\n"
        "then price the calls that are recorded:\n"
        f"  hermes-telemetry pricing fill --apply{db_option(path)}"
    )
    if find_spec("genai_prices") is None:
        print(
            "genai-prices, which knows the list prices of many models, is not installed here"
            " (extra `prices` of this project)"
        )


@dataclass(frozen=True)
class _Stored:
    """What a ledger has: its newest tariffs, what the model's calls were priced at (None if it
    cannot say), and, where there are no such calls, which others there are.
    """

    snapshots: Sequence[Snapshot] = ()
    charged: Sequence[ChargedPrice] | None = None
    others: Sequence[SeenPair] = ()


def _stored(path: Path, model: str, provider: str) -> _Stored:
    """What the ledger has to say; today's price is shown without it, too."""
    import sqlite3
    from contextlib import closing

    from ..store.files import NotALedgerError
    from ..store.maintenance import OldLedgerError, open_current
    from ..store.price_history import charged_prices, newest_snapshots, pairs_seen

    try:
        with closing(open_current(path)) as ledger:
            snapshots = newest_snapshots(ledger)
            if (charged := charged_prices(ledger, model, provider)) is None:
                print(f"shown without its calls: {path} has no price record", file=sys.stderr)
            return _Stored(snapshots, charged, () if charged else pairs_seen(ledger))
    except (NotALedgerError, OldLedgerError, sqlite3.Error) as error:
        print(f"shown without the ledger's prices: {error}", file=sys.stderr)
        return _Stored()


def _rates(price: Price, tier: Any = None) -> dict[str, Any]:
    record = price.record(None if tier is None else tier.min_prompt_tokens)
    return {key: record[key] for key in _RATES}


def _tiers(price: Price) -> list[dict[str, Any]]:
    return [
        {"min_prompt_tokens": tier.min_prompt_tokens, **_rates(price, tier)} for tier in price.tiers
    ]


def _periods(price: Price, now: datetime) -> list[dict[str, Any]]:
    """What is stated of a price that changes with time, in UTC; of what holds the last counts."""
    counts = max((n for n, (when, _) in enumerate(price.periods) if when.holds(now)), default=None)
    return [
        {
            "from": None if when.start is None else when.start.isoformat(),
            "hours": None if when.hours is None else [f"{clock:%H:%M}" for clock in when.hours],
            "counts_now": n == counts,
            **_rates(stated),
            "tiers": _tiers(stated),
        }
        for n, (when, stated) in enumerate(price.periods)
    ]


def _fields(step: int, price: Price) -> dict[str, Any]:
    return {
        "step": step,
        "basis": price.basis,
        "source": price.source,
        "matched_id": price.matched_id,
        **_rates(price),
    }


def _print_price(name: str, answer: dict[str, Any], price: Price, now: datetime) -> None:
    print(f"{name}: {answer['basis']} (step {answer['step']}, {_STEPS[answer['step'] - 1]})")
    print(f"source      {answer['source'] or 'not named'}")
    print(f"matched id  {answer['matched_id']}")
    print(f"rates       {_told(answer)}")
    _print_tiers(_tiers(price))
    if price.periods:
        print("periods     of those that hold when a call is made the last counts")
    for period in _periods(price, now):
        counts = f" (now, {now:%H:%M} UTC)" if period["counts_now"] else ""
        print(f"            {_when(period)}{counts}: {_told(period)}")
        _print_tiers(period["tiers"])


def _print_tiers(tiers: list[dict[str, Any]]) -> None:
    for tier in tiers:
        print(f"            from {tier['min_prompt_tokens']:,} prompt tokens on:")
        print(f"            {_told(tier)}")


def _when(period: dict[str, Any]) -> str:
    words = []
    if period["from"]:
        words.append(f"from {period['from']} on")
    if period["hours"]:
        words.append("{} to {} UTC".format(*period["hours"]))
    return ", ".join(words) or "at any time"


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
