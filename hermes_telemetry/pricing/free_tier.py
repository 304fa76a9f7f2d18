"""From free to paid: what counts as free, which call can end it, and what the user is told.

Which known free model a paid call ends is looked up in the ledger (``store.models``).

Only stated zeros count: an unknown price is not free, an estimated call proves nothing, and a call
without tokens costs nothing at any price.
"""

from __future__ import annotations

from ..money import usd
from .catalog import Estimate
from .cost import Usage


def is_free_call(usage: Usage, estimate: Estimate) -> bool:
    """True if the call shows that its (model, provider) is free: tokens were really used, and
    someone states that they cost nothing."""
    return (
        not usage.estimated
        and usage.prompt + usage.output > 0
        and estimate.cost_usd == 0
        and estimate.price is not None
        and estimate.price.basis in ("free", "declared")
    )


def is_paid_call(usage: Usage, estimate: Estimate) -> bool:
    """True if the call can end a free time: it was measured, and it cost something by more than
    another source's price."""
    return (
        not usage.estimated
        and (estimate.cost_usd or 0) > 0
        and estimate.price is not None
        and estimate.price.basis != "assumed"
    )


def notice(model: str, provider: str, cost_usd: float, *, declared: bool) -> str:
    """The one-shot notice for the session. ``declared`` tells that the model was free because the
    user's plan covered it."""
    at = f" at {provider}" if provider else ""
    happened = (
        f"{model}{at} left your plan: it was declared as covered, and this call was billed."
        if declared
        else f"{model}{at} was free so far and is not any more."
    )
    return f"{happened} Its first paid call cost {usd(cost_usd)}."
