"""The one module that imports the host (``hermes_cli``, ``agent``, ``cron``): lazily, and never
failing.

Each function answers None (or False, where it answers yes or no) when the host is absent, older, or
raises.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from .payloads import describe

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


def pause_cron_job(job_id: str, reason: str) -> bool:
    """Keep the host from starting a cron job again until somebody resumes it; whether it will.

    May wait half a minute for another process that holds the host's list of jobs, so it belongs on
    a thread.
    """
    try:
        from cron.jobs import pause_job

        # None: there is no such job (any more), as after the last run of one that runs once.
        return pause_job(job_id, reason=reason) is not None
    except Exception as error:
        _log.warning("the cron job %s cannot be paused: %s", job_id, describe(error))
        return False


def is_own_cli() -> bool:
    """True in the process of the host's interactive command line, whose user is the operator.

    The host says so for this process alone: its environment variables reach a gateway that was
    started from there, too. A gateway, the TUI's server and hosts that do not say are False.
    """
    try:
        from hermes_cli.plugins import get_plugin_manager

        return get_plugin_manager()._cli_ref is not None
    except Exception as error:
        _log.debug("the host does not say what process this is: %s", type(error).__name__)
        return False
