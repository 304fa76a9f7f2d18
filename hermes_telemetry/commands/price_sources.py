"""The prices that the `pricing` commands look at: the same chain as the recorder's, without its
haste.

A hook gives the host a tenth of a second to name its tariff; a command has time. Where the host is
absent or silent, its newest tariff in the ledger stands in for it.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import host, paths
from ..pricing import Catalog, Price, Tariffs, catalog
from ..pricing.catalogue import Catalogue
from ..pricing.entries import Multipliers, parse_quote
from ..pricing.files import load_mapping
from ..pricing.tariffs import snapshot_rates
from ..store.price_history import all_snapshots
from ..windows import timestamp
from ..yaml_files.text import ConfigFileError
from .options import InputError

if TYPE_CHECKING:
    from ..pricing.refresh import RefreshReport

PATIENCE_S = 20.0
"""How long a command waits for the host to name one tariff, and for a package to be imported."""

Snapshot = Mapping[str, Any]


def prices_home(database: Path | None = None) -> Path:
    """The folder of the pricing.yaml that counts for a ledger (None: the telemetry home), the file
    looked over. Raises InputError when that is malformed.

    The recorder goes on with the last good prices; a command has none to go on with.
    """
    home = paths.prices_home(database)
    path = paths.pricing_path(home)
    try:
        load_mapping(path.read_bytes() if path.exists() else b"")
    except ConfigFileError as error:
        raise InputError(f"{path}: {error}") from error
    return home


def local_catalog(database: Path) -> Catalog:
    """The chain for a ledger without the host's tariffs."""
    return Catalog(prices_home(database), catalogue=Catalogue(wait=PATIENCE_S))


def full_catalog(
    database: Path, snapshots: Iterable[Snapshot], pairs: Sequence[tuple[str, str]]
) -> Catalog:
    """The whole chain for a ledger, with its newest tariffs, whose ids are matched regardless of
    case. ``pairs`` are (model, provider) to be asked for: the host looks them up at the same time.
    """
    tariffs = Tariffs(host.resolve_tariff, wait=PATIENCE_S)
    for model, provider in pairs:
        tariffs.begin(model, provider)
    stored = {_folded(str(row["model"]), str(row["provider"])): row for row in snapshots}

    def tariff(model: str, provider: str, fill: Multipliers) -> Price | None:
        price = tariffs.price(model, provider, fill)
        row = stored.get(_folded(model, provider))
        return price if price is not None or row is None else snapshot_price(row, fill)

    return Catalog(prices_home(database), tariff=tariff, catalogue=Catalogue(wait=PATIENCE_S))


def _folded(model: str, provider: str) -> tuple[str, str]:
    return model.strip().lower(), provider.strip().lower()


def historic_catalog(
    database: Path, ledger: sqlite3.Connection, pairs: Sequence[tuple[str, str]] = ()
) -> Catalog:
    """The whole chain for calls of the past: of a model's tariffs in the ledger the newest that is
    not younger than the call counts, else the earliest; the host is asked where there is none,
    at the same time for all of ``pairs``, which are (model, provider).
    """
    kept = snapshots_by_pair(ledger)

    def history(model: str, provider: str, fill: Multipliers, at: datetime) -> Price | None:
        rows = kept.get((model, provider))
        if rows is None:
            return None
        place = bisect_right(rows, timestamp(at), key=lambda row: row["captured_at"])
        return snapshot_price(rows[max(place - 1, 0)], fill)

    tariffs = Tariffs(host.resolve_tariff, wait=PATIENCE_S)
    for model, provider in pairs:
        if (model, provider) not in kept:
            tariffs.begin(model, provider)
    return Catalog(
        prices_home(database),
        tariff=tariffs.price,
        history=history,
        catalogue=Catalogue(wait=PATIENCE_S),
    )


def snapshots_by_pair(ledger: sqlite3.Connection) -> dict[tuple[str, str], list[Snapshot]]:
    """The host's tariffs in a ledger by (model, provider), the oldest of each first."""
    kept: dict[tuple[str, str], list[Snapshot]] = {}
    for row in all_snapshots(ledger):
        kept.setdefault((str(row["model"]), str(row["provider"] or "")), []).append(row)
    return kept


def snapshot_price(row: Snapshot, fill: Multipliers) -> Price | None:
    """The price that a stored tariff makes; None if it is none that could be charged."""
    try:
        quote = parse_quote(snapshot_rates(row))
    except ValueError:
        return None
    return quote.price("tariff", row["source"], row["resolved_model"] or row["model"], fill)


@contextmanager
def unwarned() -> Iterator[None]:
    """Lookups do not log what the command's own output says: models without a price."""
    catalog.logger.disabled = True
    try:
        yield
    finally:
        catalog.logger.disabled = False


def failures_in_words(report: RefreshReport) -> Iterator[str]:
    """A line for each source that a refresh could not use."""
    for name, reason in report.failures.items():
        yield f"{name} could not be used: {reason}; its former prices stay"


def counts_in_words(report: RefreshReport) -> str:
    """How many prices a refresh has taken over, in a line."""
    return (
        f"prices: {len(report.added):,} added, {len(report.changed):,} changed,"
        f" {report.unchanged:,} as before"
    )


def step_of(price: Price, model: str) -> int:
    """The number of the lookup's step that gave a price for ``model``: 1 to 8."""
    later = {"tariff": 5, "family": 6, "catalogue": 7, "assumed": 8}
    if price.basis in later:
        return later[price.basis]
    if price.matched_id.strip().lower() != model.strip().lower():
        return 4
    if price.basis == "builtin":
        return 2
    return 3 if price.basis == "free" and price.source == ":free" else 1
