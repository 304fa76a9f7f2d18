"""The prices that the `pricing` commands look at: the same chain as the recorder's, without its
haste.

A hook gives the host a tenth of a second to name its tariff; a command has time. Where the host is
absent or silent, its newest tariff in the ledger stands in for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import host, paths
from ..pricing import Catalog, Price, Tariffs, catalog
from ..pricing.catalogue import Catalogue
from ..pricing.entries import Multipliers, parse_quote
from ..pricing.files import PricingFileError, load_mapping
from ..store.files import open_ledger
from ..store.maintenance import require_current
from ..store.price_history import newest_snapshots
from .options import InputError

PATIENCE_S = 20.0
"""How long a command waits for the host to name one tariff, and for a package to be imported."""

Snapshot = Mapping[str, Any]


def prices_home() -> Path:
    """The telemetry home, its pricing.yaml looked over. Raises InputError when that is malformed.

    The recorder goes on with the last good prices; a command has none to go on with.
    """
    home = paths.telemetry_home()
    path = paths.pricing_path(home)
    try:
        load_mapping(path.read_bytes() if path.exists() else b"")
    except PricingFileError as error:
        raise InputError(f"{path}: {error}") from error
    return home


def open_current(path: Path) -> sqlite3.Connection:
    """A read-only connection to a ledger of today's schema. Raises NotALedgerError or
    OldLedgerError.
    """
    ledger = open_ledger(path)
    try:
        require_current(ledger, path)
    except BaseException:
        ledger.close()
        raise
    return ledger


def local_catalog() -> Catalog:
    """The chain without the host's tariffs."""
    return Catalog(prices_home(), catalogue=Catalogue(wait=PATIENCE_S))


def full_catalog(ledger: sqlite3.Connection | None, pairs: Sequence[tuple[str, str]]) -> Catalog:
    """The whole chain. ``pairs`` are (model, provider) to be asked for: the host looks them up at
    the same time.
    """
    tariffs = Tariffs(host.resolve_tariff, wait=PATIENCE_S)
    for model, provider in pairs:
        tariffs.begin(model, provider)
    stored = {
        (row["model"], row["provider"]): row
        for row in (newest_snapshots(ledger) if ledger is not None else ())
    }

    def tariff(model: str, provider: str, fill: Multipliers) -> Price | None:
        price = tariffs.price(model, provider, fill)
        row = stored.get((model, provider))
        return price if price is not None or row is None else snapshot_price(row, fill)

    return Catalog(prices_home(), tariff=tariff, catalogue=Catalogue(wait=PATIENCE_S))


def snapshot_price(row: Snapshot, fill: Multipliers) -> Price | None:
    """The price that a stored tariff makes; None if it is none that could be charged."""
    stated = {
        "input": row["input_cost_per_million"],
        "output": row["output_cost_per_million"],
        "cache_read": row["cache_read_cost_per_million"],
        "cache_write": row["cache_write_cost_per_million"],
        "request": row["request_cost"],
    }
    try:
        quote = parse_quote(stated)
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
