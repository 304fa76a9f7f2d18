"""hermes-telemetry: what each turn, cron job, subagent, model and user of a Hermes Agent cost."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

__all__ = ["__version__", "register"]


def register(ctx: Any) -> None:
    """Hook the recorder into the host; ``ctx`` is the host's plugin context.

    Touches no file, database, thread or network, and never raises: a plugin that fails here would
    be left half loaded.
    """
    from .plugin import register as register_hooks

    register_hooks(ctx)
