"""Every write by name: a transaction is a list of them.

A write has plain values only (str, int, float, bool, None, and dicts of them), so that one that
cannot be made now can wait as a line of JSON in the spill file and be made later, exactly as it
was. Times are ISO-8601 UTC text (``windows.timestamp``), money is USD, durations are milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .alerts import record_budget_alert
from .calls import record_llm_call, record_llm_call_error, record_tool_call
from .edges import start_edge, stop_edge
from .models import (
    note_paid_call,
    record_free_model,
    record_free_paid_transition,
    record_model_unavailable,
    record_pricing_snapshot,
)
from .notes import note_hook
from .runs import end_run, finalize_run, set_profile, start_run, touch_run


class Write(NamedTuple):
    """One named write with its keyword arguments."""

    name: str
    fields: dict[str, Any]


WRITES: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        start_run,
        set_profile,
        touch_run,
        end_run,
        finalize_run,
        record_llm_call,
        record_tool_call,
        record_llm_call_error,
        record_model_unavailable,
        record_free_model,
        note_paid_call,
        record_free_paid_transition,
        record_pricing_snapshot,
        start_edge,
        stop_edge,
        note_hook,
        record_budget_alert,
    )
}
