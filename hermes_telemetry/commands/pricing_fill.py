"""`pricing fill`: prices the calls that were recorded without a price and have one now."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from datetime import datetime

    from ..pricing import Catalog
    from ..store.filling import Filling, UnpricedCall
    from .options import Commands

# What the calls of one line of the report have in common.
_Group = tuple[str, str, str, str | None, str]


def add_parser(actions: Commands) -> None:
    """`pricing fill [--since DATE] [--apply] [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "fill",
        does="price the calls that have no price yet; exit 1 if some could be and were not",
        example="--since 2026-07-01 --apply",
        handler=run,
    )
    parser.add_argument(
        "--since",
        metavar="DATE|INSTANT",
        default="all",
        help="only calls from a local day, an age (7d) or an instant on (default: all)",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the costs; without it nothing changes. A call with a cost is never touched",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@dataclass
class _Tally:
    """Unpriced calls, those that can be priced by group, those that were, and USD of each."""

    unpriced: int = 0
    calls: Counter[_Group] = field(default_factory=Counter)
    usd: dict[_Group, float] = field(default_factory=dict)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    undated: int = 0
    filled: int = 0

    def add(self, calls: list[UnpricedCall], fillings: list[Filling]) -> None:
        self.unpriced += len(calls)
        for filling in fillings:
            price = filling.price
            group = (
                *(filling.call.model, filling.call.provider),
                *(price["basis"], price["source"], price["matched_id"]),
            )
            self.calls[group] += 1
            self.usd[group] = self.usd.get(group, 0.0) + filling.cost_usd
        priced = {filling.call.id for filling in fillings}
        self.left.update((call.model, call.provider) for call in calls if call.id not in priced)


def run(namespace: argparse.Namespace) -> int:
    """Shows what could be priced, and prices it with `--apply`."""
    from .periods import since_bound
    from .price_sources import unwarned

    path = ledger_path(namespace)
    with unwarned():
        tally = _tally(path, since_bound(namespace.since, path), apply=namespace.apply)
    fillable, usd = sum(tally.calls.values()), sum(tally.usd.values())
    if namespace.json:
        content = {
            "file": str(path),
            "applied": namespace.apply,
            "unpriced": tally.unpriced,
            "undated": tally.undated,
            "fillable": fillable,
            "filled": tally.filled,
            "cost_usd": usd,
            "groups": list(_groups(tally)),
            "left": [
                {"model": model, "provider": provider, "calls": calls}
                for (model, provider), calls in tally.left.most_common()
            ],
        }
        print(strict_json.text(content))
    else:
        _print(tally, fillable, usd, apply=namespace.apply)
    return int(fillable > 0 and not namespace.apply)


def _tally(path: Path, since: str, *, apply: bool) -> _Tally:
    from contextlib import closing

    from ..store import extras, filling, maintenance
    from ..store.retention import PAUSE_S
    from ..windows import SYSTEM_CLOCK
    from .price_sources import historic_catalog

    tally = _Tally()
    with closing(
        maintenance.open_writable(path) if apply else maintenance.open_current(path)
    ) as ledger:
        if apply:
            extras.ensure_price_record(ledger)
        catalog = historic_catalog(path, ledger)
        for calls in filling.unpriced_calls(ledger, since):
            dated = [(call, at) for call in calls if (at := _time_of(call)) is not None]
            fillings = list(_priced(dated, catalog))
            if apply:
                tally.filled += len(filling.fill(ledger, fillings))
                SYSTEM_CLOCK.sleep(PAUSE_S)
            tally.undated += len(calls) - len(dated)
            tally.add([call for call, _ in dated], fillings)
    return tally


def _time_of(call: UnpricedCall) -> datetime | None:
    """When a call was made; None where nobody can tell, and so no price of that time."""
    from ..windows import parse_timestamp

    try:
        return parse_timestamp(call.ts)
    except (ValueError, OverflowError):
        return None


def _priced(calls: list[tuple[UnpricedCall, datetime]], catalog: Catalog) -> Iterator[Filling]:
    """What each of the calls costs by the price that holds for its time, if there is one now."""
    from ..pricing import Usage
    from ..store.filling import Filling

    for call, at in calls:
        usage = Usage(
            call.tokens_in,
            call.tokens_out,
            call.cache_read_tokens,
            call.cache_write_tokens,
            call.reasoning_tokens,
        )
        estimate = catalog.estimate_cost(usage, call.model, call.provider, at)
        if estimate.cost_usd is not None and estimate.record is not None:
            yield Filling(call, estimate.cost_usd, estimate.record)


def _groups(tally: _Tally) -> Iterator[dict[str, Any]]:
    for group, calls in tally.calls.most_common():
        model, provider, basis, source, matched_id = group
        yield {
            "model": model,
            "provider": provider,
            "calls": calls,
            "cost_usd": tally.usd[group],
            "basis": basis,
            "source": source,
            "matched_id": matched_id,
        }


def _print(tally: _Tally, fillable: int, usd: float, *, apply: bool) -> None:
    from ..money import usd as told
    from .output import write_table

    units = {"calls": "count", "cost_usd": "usd"}
    groups = list(_groups(tally))
    if groups:
        write_table(sys.stdout, list(groups[0]), [list(each.values()) for each in groups], units)
    for (model, provider), calls in tally.left.most_common():
        print(f"no price: {model} at {provider or 'no known provider'} ({calls:,} calls)")
    if tally.undated:
        print(f"left out: {tally.undated:,} calls whose time cannot be read")
    print(f"{fillable:,} of {tally.unpriced:,} unpriced calls have a price now: {told(usd)}")
    if apply:
        print(f"filled {tally.filled:,}")
    elif fillable:
        print("nothing is written without --apply")
