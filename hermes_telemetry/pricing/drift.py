"""Drift: what the host charges now against what the local price files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..paths import pricing_path
from ..windows import parse_timestamp
from ..yaml_files.editing import set_keys
from .catalog import Catalog
from .editing import edit_pricing
from .entries import ROUTER
from .files import builtin_book, load_mapping
from .tariffs import snapshot_rates

THRESHOLD = 0.01
SOURCE = "core-snapshot"
# The host's word for a route whose calls a plan pays: its zeros are no price of the model.
_INCLUDED = "included-route"

Verdict = Literal["same", "drift", "no local price", "subscription"]


@dataclass(frozen=True, slots=True)
class Drift:
    """A newest snapshot beside the local price: USD per million input and output tokens.
    ``change`` is the larger difference as a share of the local rate, None where one side is 0.
    ``by_hour`` is True where the local price has other rates in some hours of a day: ``local``
    are those of the most expensive hours then, whenever the snapshot was taken."""

    model: str
    provider: str
    verdict: Verdict
    tariff: tuple[float, float]
    local: tuple[float, float] | None = None
    change: float | None = None
    by_hour: bool = False


def drift_of(snapshot: Mapping[str, Any], local: Catalog, threshold: float = THRESHOLD) -> Drift:
    """``snapshot`` is a row of ``pricing_snapshots`` with both rates; ``local`` a catalog without
    the host's tariffs, which would only be compared with themselves."""
    model, provider = snapshot["model"], snapshot["provider"]
    tariff = (snapshot["input_cost_per_million"], snapshot["output_cost_per_million"])
    if snapshot["pricing_version"] == _INCLUDED:
        return Drift(model, provider, "subscription", tariff)
    # As of the same day: some local prices change from a day on.
    captured = parse_timestamp(snapshot["captured_at"])
    price = local.lookup(model, provider, captured)
    if price is None or price.basis == "assumed":
        return Drift(model, provider, "no local price", tariff)
    by_hour = any(when.hours for when, _ in price.periods)
    # A tariff is one rate for the whole day, and with off-peak hours that is the list's full one.
    rates = price.most_expensive(captured.date()).rates
    own = (float(rates.input), float(rates.output))
    if price.basis == "declared":
        return Drift(model, provider, "subscription", tariff, own, by_hour=by_hour)
    pairs = list(zip(tariff, own, strict=True))
    # From or to nothing there is no per cent, and no difference is larger.
    if any((theirs == 0) != (ours == 0) for theirs, ours in pairs):
        return Drift(model, provider, "drift", tariff, own, by_hour=by_hour)
    change = max((abs(theirs - ours) / ours for theirs, ours in pairs if ours), default=0.0)
    verdict: Verdict = "drift" if change > threshold + 1e-9 else "same"
    return Drift(model, provider, verdict, tariff, own, change, by_hour)


def write_back(
    home: Path, snapshots: Iterable[Mapping[str, Any]], drifting: Set[tuple[str, str]]
) -> list[str]:
    """Writes the snapshots of ``drifting`` (model, provider) pairs into ``pricing.yaml`` with
    ``_source: core-snapshot``; returns the ids that were written.

    A plain entry of the user's takes the newest of all the snapshots of its id, whichever provider
    that is of. Where an entry serves others too (it has prices of providers, it is the router's,
    or the built-in table has the id) the rates go below ``providers:``, for that provider alone.
    What a snapshot does not state stays. Raises ConfigFileError or OSError; the file is then as
    before.
    """
    rows = sorted(snapshots, key=lambda row: row["captured_at"])
    ids: dict[str, str] = {}
    for model, _ in sorted(drifting):
        ids.setdefault(model.lower(), model)

    def change(text: str) -> str:
        before = load_mapping(text.encode())
        models = before.get("models") or {}
        written = {str(id).strip().lower(): id for id in models}
        entries: dict[str, Any] = {}
        for key, model in ids.items():
            id = str(written.get(key, model))
            former = models.get(written.get(key))
            own = [row for row in rows if row["model"].lower() == key]
            entries[id] = (
                _merged(former, own[-1])
                if isinstance(former, Mapping) and _is_plain(key, former)
                else _with_providers(
                    former if isinstance(former, Mapping) else {},
                    [row for row in own if (row["model"], row["provider"]) in drifting],
                )
            )
        text = set_keys(text, "models", entries)
        # Else the next refresh would put the former price back.
        automatic = (before.get("_meta") or {}).get("auto_models")
        if isinstance(automatic, list):
            kept = [id for id in automatic if str(id).lower() not in ids]
            if kept != automatic:
                text = set_keys(text, "_meta", {"auto_models": kept})
        return text

    edit_pricing(pricing_path(home), change)
    return sorted(ids.values())


def _is_plain(key: str, entry: Mapping[Any, Any]) -> bool:
    """True for an entry whose one price is the user's, for every provider."""
    return (
        not entry.get("providers")
        and not {"_estimated_price", "_subscription"} & set(entry)
        and str(entry.get("_source")).lower() != ROUTER
        and key not in builtin_book().models
    )


def _with_providers(former: Mapping[Any, Any], rows: Iterable[Mapping[str, Any]]) -> dict[Any, Any]:
    providers = dict(former.get("providers") or {})
    names = {str(name).strip().lower(): name for name in providers}
    for row in rows:
        name = names.setdefault(row["provider"].strip().lower(), row["provider"])
        own = providers.get(name)
        providers[name] = _merged(own if isinstance(own, Mapping) else {}, row)
    return {**former, "providers": providers}


def _merged(former: Mapping[Any, Any], row: Mapping[str, Any]) -> dict[Any, Any]:
    kept = {key: value for key, value in former.items() if key != "_estimated_price"}
    return {**kept, **snapshot_rates(row), "_source": SOURCE}
