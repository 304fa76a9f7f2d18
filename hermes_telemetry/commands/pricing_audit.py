"""`pricing audit`: what each step of the lookup would charge for what was used."""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from ..pricing import Catalog, Price
    from ..store.price_history import SeenPair, SeenUsage
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
    path = ledger_path(namespace)
    models = _audited(path)
    differing = sum(model["differs"] for model in models)
    if namespace.json:
        report = {
            "file": str(path),
            "threshold": THRESHOLD,
            "differing": differing,
            "models": models,
        }
        print(strict_json.text(report))
    else:
        _print(models, differing)
    return int(differing > 0)


def _audited(path: Path) -> list[dict[str, Any]]:
    from contextlib import closing

    from ..store.maintenance import open_current
    from ..store.price_history import pairs_seen, usage_seen
    from .price_sources import historic_catalog, snapshots_by_pair

    with closing(open_current(path)) as ledger:
        # What is recorded meanwhile would be in one of the sums and not in the other.
        ledger.execute("begin")
        pairs = pairs_seen(ledger)
        names = [(pair.model, pair.provider) for pair in pairs]
        catalog = historic_catalog(path, ledger, names)
        tariffs = snapshots_by_pair(ledger)
        borders = {
            name: _Borders.of(
                catalog.steps(*name), [str(row["captured_at"]) for row in tariffs.get(name, ())]
            )
            for name in names
        }
        usages: dict[tuple[str, str], list[SeenUsage]] = {name: [] for name in names}
        for usage in usage_seen(
            ledger, lambda model, provider, ts, prompt: borders[model, provider].alike(ts, prompt)
        ):
            usages[usage.model, usage.provider].append(usage)
    return [
        _model(pair, usages[name], catalog, borders[name])
        for pair, name in zip(pairs, names, strict=True)
    ]


@dataclass(frozen=True)
class _Borders:
    """Where what a model costs may change: at instants and times of day (UTC text, ascending),
    and with the size of the prompt.

    A year has half a million minutes but few prices: calls between the same borders are charged
    alike, and can be summed up first.
    """

    instants: list[str]
    clocks: list[str]
    sizes: list[int]

    @classmethod
    def of(cls, prices: Sequence[Price], captured: Sequence[str]) -> _Borders:
        """The borders of all steps' prices; ``captured`` are the times of the host's tariffs, the
        oldest first: it holds for calls before it, too."""
        from datetime import UTC, datetime, time

        from ..windows import timestamp

        times = [when for price in prices for when, _ in price.periods]
        starts = [datetime.combine(when.start, time(), UTC) for when in times if when.start]
        stated = [*prices, *(own for price in prices for _, own in price.periods)]
        return cls(
            sorted({*map(timestamp, starts), *captured[1:]}),
            sorted({f"{clock:%H:%M:%S}" for when in times for clock in when.hours or ()}),
            sorted({tier.min_prompt_tokens for price in stated for tier in price.tiers}),
        )

    @property
    def are_timed(self) -> bool:
        return bool(self.instants or self.clocks)

    def alike(self, ts: str, prompt: int) -> str | None:
        """What the calls have in common that every step charges at the same rates. None where the
        time counts and nobody can tell it."""
        from ..windows import parse_timestamp, timestamp

        size = bisect_right(self.sizes, prompt)
        if not self.are_timed:
            return str(size)
        try:
            at = timestamp(parse_timestamp(ts))
        except (ValueError, OverflowError):
            return None
        clock = at[len("2026-07-01T") : len("2026-07-01T12:00:00")]
        return f"{bisect_right(self.instants, at)} {bisect_right(self.clocks, clock)} {size}"


@dataclass
class _Step:
    """What one step charges: its latest price, USD, the calls that it has a price for, and what
    the step that counts charges for these calls."""

    price: Price
    declared: bool
    usd: Decimal | int = 0
    answer: Decimal | int = 0
    calls: int = 0


def _model(
    pair: SeenPair, usages: Sequence[SeenUsage], catalog: Catalog, borders: _Borders
) -> dict[str, Any]:
    from ..windows import parse_timestamp
    from .price_sources import step_of

    dated = [usage for usage in usages if usage.alike is not None]
    steps: dict[tuple[int, str | None], _Step] = {}
    for usage in dated:
        at = parse_timestamp(usage.first_ts) if borders.are_timed else None
        prices = catalog.steps(pair.model, pair.provider, at)
        charges = [_charge(usage, price) for price in prices]
        for price, charge in zip(prices, charges, strict=True):
            number = step_of(price, pair.model)
            # Both files may know Google's other spelling; a host's source may change with time.
            key = (number, price.source if number == 4 else None)
            step = steps.setdefault(key, _Step(price, prices[0].basis == "declared"))
            step.price = price
            step.usd += charge
            step.answer += charges[0]
            step.calls += usage.calls
    calls = sum(usage.calls for usage in dated)
    told = [
        {
            "step": number,
            "basis": step.price.basis,
            "source": step.price.source,
            "matched_id": step.price.matched_id,
            "usd": float(step.usd),
            "unpriced_calls": calls - step.calls,
            **_difference(step.usd, step.answer, declared=step.declared),
        }
        # Sorting keeps the order of the lookup within a step.
        for (number, _), step in sorted(steps.items(), key=lambda item: item[0][0])
    ]
    return {
        "model": pair.model,
        "provider": pair.provider,
        "calls": pair.calls,
        "unpriced_calls": pair.unpriced_calls,
        "undated_calls": pair.calls - calls,
        "recorded_usd": pair.cost_usd,
        "differs": any(step["differs"] for step in told),
        "steps": told,
    }


def _charge(usage: SeenUsage, price: Price) -> Decimal:
    """USD for calls that are charged at the same rates."""
    from dataclasses import replace

    from ..pricing import Usage, cost_of

    tokens = Usage(
        usage.tokens_in,
        usage.tokens_out,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    # The sum is larger than any one prompt, which is what tiers go by.
    rates, _ = price.rates_for(usage.prompt_tokens)
    cost, _ = cost_of(tokens, replace(price, rates=rates, tiers=()))
    return cost + (usage.calls - 1) * rates.request


def _difference(charge: Decimal | int, answer: Decimal | int, *, declared: bool) -> dict[str, Any]:
    """By what share of the answer a charge differs (None where the answer is nothing), and if
    that is worth a look. A plan that the user declared is meant to cost less than the list says.
    """
    if not answer:
        return {"difference": None if charge else 0.0, "differs": bool(charge) and not declared}
    share = float((charge - answer) / answer)
    return {"difference": share, "differs": abs(share) > THRESHOLD + 1e-9}


def _print(models: Sequence[dict[str, Any]], differing: int) -> None:
    from ..money import total
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
            charge = total(step["usd"], step["unpriced_calls"])
            rows.append([*start, step["step"], step["basis"], charge, difference])
    units = dict.fromkeys(columns[2:4] + columns[6:], "count") | {"step": "id"}
    write_table(sys.stdout, columns, rows, units)
    undated = sum(model["undated_calls"] for model in models)
    if undated:
        print(f"calls left out because their time cannot be told, and so no price: {undated:,}")
    unknown = sum(not model["steps"] for model in models)
    if unknown:
        print(f"models without a price: {unknown:,}")
    print(f"models whose steps differ by more than {THRESHOLD:.0%} (!): {differing:,}")


def _told(step: dict[str, Any]) -> str:
    share = step["difference"]
    return ("from $0" if share is None else f"{share:+.1%}") + (" !" if step["differs"] else "")
