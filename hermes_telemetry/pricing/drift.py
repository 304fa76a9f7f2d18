"""Drift: what the host charges now against what the local price files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..paths import pricing_path
from ..windows import parse_timestamp
from .catalog import Catalog
from .editing import edit_pricing, set_keys
from .files import load_mapping

THRESHOLD = 0.01
SOURCE = "core-snapshot"

Verdict = Literal["same", "drift", "no local price", "subscription"]


@dataclass(frozen=True, slots=True)
class Drift:
    """A newest snapshot beside the local price: USD per million input and output tokens.
    ``change`` is the larger difference as a share of the local rate, None where one side is 0."""

    model: str
    provider: str
    verdict: Verdict
    tariff: tuple[float, float]
    local: tuple[float, float] | None = None
    change: float | None = None


def drift_of(snapshot: Mapping[str, Any], local: Catalog, threshold: float = THRESHOLD) -> Drift:
    """``snapshot`` is a row of ``pricing_snapshots`` with both rates; ``local`` a catalog without
    the host's tariffs, which would only be compared with themselves."""
    model, provider = snapshot["model"], snapshot["provider"]
    tariff = (snapshot["input_cost_per_million"], snapshot["output_cost_per_million"])
    # As of the same instant: some local prices change by the hour or from a day on.
    price = local.lookup(model, provider, parse_timestamp(snapshot["captured_at"]))
    if price is None or price.basis == "assumed":
        return Drift(model, provider, "no local price", tariff)
    own = (float(price.rates.input), float(price.rates.output))
    if price.basis == "declared":
        return Drift(model, provider, "subscription", tariff, own)
    pairs = list(zip(tariff, own, strict=True))
    # From or to nothing there is no per cent, and no difference is larger.
    if any((theirs == 0) != (ours == 0) for theirs, ours in pairs):
        return Drift(model, provider, "drift", tariff, own)
    change = max((abs(theirs - ours) / ours for theirs, ours in pairs if ours), default=0.0)
    verdict: Verdict = "drift" if change > threshold + 1e-9 else "same"
    return Drift(model, provider, verdict, tariff, own, change)


def write_back(home: Path, snapshots: Iterable[Mapping[str, Any]]) -> list[str]:
    """Writes snapshots into ``pricing.yaml`` as entries with ``_source: core-snapshot``; returns
    their ids. Where several providers share an id the newest snapshot (by ``captured_at``) wins.

    Raises PricingFileError or OSError; the file is then as before.
    """
    newest = {row["model"]: row for row in sorted(snapshots, key=lambda row: row["captured_at"])}

    def change(text: str) -> str:
        models = load_mapping(text.encode()).get("models") or {}
        written = {str(id).lower(): id for id in models}
        entries: dict[str, Any] = {}
        for model, row in newest.items():
            id = str(written.get(model.lower(), model))
            former = models.get(id)
            kept = former.get("providers") if isinstance(former, Mapping) else None
            entries[id] = {
                "input": row["input_cost_per_million"],
                "output": row["output_cost_per_million"],
                **_stated(row, "cache_read", "cache_read_cost_per_million"),
                **_stated(row, "cache_write", "cache_write_cost_per_million"),
                **_stated(row, "request", "request_cost"),
                **({"providers": kept} if kept else {}),
                "_source": SOURCE,
            }
        return set_keys(text, "models", entries)

    edit_pricing(pricing_path(home), change)
    return sorted(newest)


def _stated(row: Mapping[str, Any], key: str, column: str) -> dict[str, float]:
    value = row[column]
    return {} if value is None else {key: value}
