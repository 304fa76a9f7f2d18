"""`pricing backfill`: the host's tariffs of all models seen, for the history of prices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from .options import Commands

State = Literal["new", "changed", "as before", "no tariff"]

_SHOWN = ("input_cost_per_million", "output_cost_per_million", "source")


def add_parser(actions: Commands) -> None:
    """`pricing backfill [--apply] [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "backfill",
        does="ask the host for its tariff of every model seen and keep what is new as history",
        example="--apply",
        handler=run,
    )
    parser.add_argument(
        "--apply", action="store_true", help="write the snapshots; without it nothing changes"
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Shows the host's tariffs beside the newest ones stored, and stores news with `--apply`."""
    from contextlib import closing

    from ..store.maintenance import open_current
    from ..store.price_history import newest_snapshots, pairs_seen

    path = ledger_path(namespace)
    with closing(open_current(path)) as ledger:
        pairs = [(pair.model, pair.provider) for pair in pairs_seen(ledger)]
        stored = {(row["model"], row["provider"]): row for row in newest_snapshots(ledger)}
    tariffs = dict(zip(pairs, _asked(pairs), strict=True))
    states = {pair: _state(tariff, stored.get(pair)) for pair, tariff in tariffs.items()}
    news = [
        tariff
        for pair, tariff in tariffs.items()
        if tariff is not None and states[pair] in ("new", "changed")
    ]
    written = _write(path, news) if namespace.apply and news else 0
    rows = [
        {
            "model": model,
            "provider": provider,
            "state": states[model, provider],
            **{column: (tariff or {}).get(column) for column in _SHOWN},
        }
        for (model, provider), tariff in tariffs.items()
    ]
    if namespace.json:
        report = {
            "file": str(path),
            "applied": namespace.apply,
            "written": written,
            "pairs": rows,
        }
        print(strict_json.text(report))
    else:
        _print(rows, written if namespace.apply else len(news), apply=namespace.apply)
    return 0


def _asked(pairs: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any] | None]:
    """The host's tariff of each (model, provider) as fields of a snapshot; None if it has none."""
    from .. import host
    from ..pricing import Tariffs
    from ..pricing.entries import Multipliers
    from .price_sources import PATIENCE_S
    from .progress import Progress

    tariffs = Tariffs(host.resolve_tariff, wait=PATIENCE_S)
    with Progress(max(len(pairs), 1), "models") as progress:
        for done, (model, provider) in enumerate(pairs):
            progress(done)
            tariffs.price(model, provider, Multipliers())  # waits until the host has answered
            yield tariffs.take_snapshot(model, provider)


def _state(tariff: Mapping[str, Any] | None, stored: Mapping[str, Any] | None) -> State:
    from ..store.models import SNAPSHOT_NEWS

    if tariff is None:
        return "no tariff"
    if stored is None:
        return "new"
    return "as before" if all(tariff[key] == stored[key] for key in SNAPSHOT_NEWS) else "changed"


def _write(path: Path, snapshots: Sequence[Mapping[str, Any]]) -> int:
    from contextlib import closing

    from ..store.maintenance import open_writable
    from ..store.price_history import record_snapshots

    with closing(open_writable(path)) as ledger:
        return record_snapshots(ledger, snapshots)


def _print(rows: Sequence[Mapping[str, Any]], count: int, *, apply: bool) -> None:
    from .output import write_table

    columns = ["model", "provider", "state", "input", "output", "source"]
    units = {"input": "rate", "output": "rate"}
    write_table(sys.stdout, columns, [list(row.values()) for row in rows], units)
    silent = sum(row["state"] == "no tariff" for row in rows)
    if silent:
        print(
            f"the host has no tariff for {silent:,} of them;"
            " outside the host, run this as `hermes telemetry pricing backfill`"
        )
    print(f"{'written' if apply else 'to be written'}: {count:,} snapshots")
    if count and not apply:
        print("nothing is written without --apply")
