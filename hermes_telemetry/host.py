"""The one module that imports the host (``hermes_cli``, ``agent``): lazily, and never failing.

Each function answers None when the host is absent, older, or raises.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

_log = logging.getLogger("hermes_telemetry")


def moa_aggregator(preset: str) -> tuple[str | None, str | None] | None:
    """(provider, model) of the aggregator of a Mixture-of-Agents preset, as the host's config
    has it.
    """
    try:
        from hermes_cli.config import load_config
        from hermes_cli.moa_config import resolve_moa_preset

        resolved = resolve_moa_preset(load_config().get("moa") or {}, preset)
        aggregator: Any = resolved.get("aggregator") or {}
        return aggregator.get("provider"), aggregator.get("model")
    except Exception as error:
        _log.debug("the preset %r cannot be resolved: %s", preset, type(error).__name__)
        return None


@dataclass(frozen=True, slots=True)
class Tariff:
    """What the host says a model costs: USD per million tokens, ``request`` in USD per call.

    None = the host does not say. ``fetched_at`` is ISO-8601 text.
    """

    input: Decimal | None
    output: Decimal | None
    cache_read: Decimal | None
    cache_write: Decimal | None
    request: Decimal | None
    source: str | None
    source_url: str | None
    pricing_version: str | None
    fetched_at: str | None


def resolve_tariff(model: str, provider: str, base_url: str | None) -> Tariff | None:
    """The host's own tariff for exactly this model and provider. May take seconds and use the
    network, so it belongs on a thread.
    """
    try:
        from agent.usage_pricing import get_pricing_entry

        entry = get_pricing_entry(model, provider=provider or None, base_url=base_url)
        if entry is None:
            return None
        fetched = entry.fetched_at
        return Tariff(
            input=entry.input_cost_per_million,
            output=entry.output_cost_per_million,
            cache_read=entry.cache_read_cost_per_million,
            cache_write=entry.cache_write_cost_per_million,
            request=entry.request_cost,
            source=entry.source,
            source_url=entry.source_url,
            pricing_version=entry.pricing_version,
            fetched_at=fetched.isoformat() if isinstance(fetched, datetime) else None,
        )
    except Exception as error:
        _log.debug("the host has no tariff for %r: %s", model, type(error).__name__)
        return None
