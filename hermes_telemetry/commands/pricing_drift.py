"""`pricing drift`: the host's newest tariffs against the local prices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from pathlib import Path

    from ..pricing.drift import Drift
    from ..store.price_history import SeenPair, Snapshot
    from .options import Commands


def add_parser(actions: Commands) -> None:
    """`pricing drift [--apply] [--db FILE] [--json]`."""
    parser = add_command(
        actions,
        "drift",
        does="compare the host's newest tariffs with the local prices; exit 1 if one differs",
        example="--apply",
        handler=run,
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the host's rates of what differs into pricing.yaml; without it nothing changes",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Prints a line for each pair; 1 if a local price differs by more than one per cent."""
    from .. import paths
    from ..pricing.drift import THRESHOLD, write_back

    path = ledger_path(namespace)
    snapshots, seen = _read(path)
    drifts = _compared(path, snapshots)
    written: list[str] = []
    if namespace.apply:
        comparable = [
            (row, drift.verdict == "drift")
            for row, drift in zip(snapshots, drifts, strict=True)
            if drift.verdict in ("drift", "same")
        ]
        apart = {
            (str(row["model"]), str(row["provider"])) for row, drifted in comparable if drifted
        }
        if apart:
            rows = [row for row, _ in comparable]
            written = write_back(paths.prices_home(path), rows, apart)
        drifts = _compared(path, snapshots)
    drifting = sum(drift.verdict == "drift" for drift in drifts)
    compared = {(drift.model, drift.provider) for drift in drifts}
    uncompared = [
        {"model": pair.model, "provider": pair.provider, "calls": pair.calls}
        for pair in seen
        if (pair.model, pair.provider) not in compared
    ]
    if namespace.json:
        report = {
            "file": str(path),
            "applied": namespace.apply,
            "threshold": THRESHOLD,
            "drifting": drifting,
            "written": written,
            "pairs": [_fields(drift) for drift in drifts],
            "without_snapshot": uncompared,
        }
        print(strict_json.text(report))
    else:
        _print(drifts, uncompared, written, drifting, apply=namespace.apply)
    return int(drifting > 0)


def _read(path: Path) -> tuple[list[Snapshot], list[SeenPair]]:
    """The newest snapshots that state both rates, and the pairs that calls were made on."""
    from contextlib import closing

    from ..store.maintenance import open_current
    from ..store.price_history import newest_snapshots, pairs_seen

    with closing(open_current(path)) as ledger:
        snapshots = [
            row
            for row in newest_snapshots(ledger)
            if row["input_cost_per_million"] is not None
            and row["output_cost_per_million"] is not None
        ]
        return snapshots, pairs_seen(ledger)


def _compared(path: Path, snapshots: Sequence[Snapshot]) -> list[Drift]:
    from ..pricing.drift import drift_of
    from .price_sources import local_catalog, unwarned

    catalog = local_catalog(path)
    with unwarned():
        return [drift_of(row, catalog) for row in snapshots]


def _fields(drift: Drift) -> dict[str, Any]:
    local_input, local_output = drift.local or (None, None)
    return {
        "model": drift.model,
        "provider": drift.provider,
        "verdict": drift.verdict,
        "tariff_input": drift.tariff[0],
        "tariff_output": drift.tariff[1],
        "local_input": local_input,
        "local_output": local_output,
        "change": drift.change,
        "by_hour": drift.by_hour,
    }


def _print(
    drifts: Sequence[Drift],
    uncompared: Sequence[dict[str, Any]],
    written: Sequence[str],
    drifting: int,
    *,
    apply: bool,
) -> None:
    from .output import write_table

    if drifts:
        rows = [_fields(drift) for drift in drifts]
        columns = [column for column in rows[0] if column != "by_hour"]
        units = {"change": "share", **dict.fromkeys(columns[3:7], "rate")}
        write_table(
            sys.stdout, columns, [[row[column] for column in columns] for row in rows], units
        )
    counts = [
        f"{sum(drift.verdict == verdict for drift in drifts):,} {verdict}"
        for verdict in ("drift", "no local price", "subscription", "same")
    ]
    print(f"tariffs of the host compared: {len(drifts):,} ({', '.join(counts)})")
    by_hour = [drift.model for drift in drifts if drift.by_hour]
    if by_hour:
        print(f"with other rates by the hour, compared at the highest: {', '.join(by_hour)}")
    if uncompared:
        calls = sum(pair["calls"] for pair in uncompared)
        print(
            f"not covered: {len(uncompared):,} models seen in {calls:,} calls have no tariff in"
            " the ledger (`hermes-telemetry pricing backfill` asks the host)"
        )
    if written:
        print(f"written to pricing.yaml: {', '.join(written)}")
    if drifting and apply:
        print(
            "what still differs has another tariff at another provider, or rates of its own by the"
            " hour: state it by hand"
        )
    elif drifting:
        print("nothing is written without --apply")
