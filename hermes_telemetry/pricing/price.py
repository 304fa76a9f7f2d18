"""A price as one value: the step of the lookup that answered, the source, the id, the rates.

Rates are USD per million tokens, held as ``Decimal``; only ``request`` is USD per call.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Basis = Literal["listed", "builtin", "free", "declared", "family", "tariff", "catalogue", "assumed"]
PriceRecord = dict[str, str | float | int | None]

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Rates:
    """What one call is billed at. A rate that the source did not name is already filled in here,
    so a stored record alone is enough to work a cost out again; only ``reasoning`` may be None,
    which means "as output"."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    reasoning: Decimal | None = None
    request: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates of the whole call once its prompt (input + cache read + cache write) has at least
    ``min_prompt_tokens`` tokens."""

    min_prompt_tokens: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Price:
    """The answer of a lookup.

    ``source`` is who stated the rates (the entry's tag, a vendor's list, the host); ``matched_id``
    is the id under which they were found, which can differ from the id that was asked for.
    ``tiers`` ascend by ``min_prompt_tokens``.
    """

    basis: Basis
    source: str | None
    matched_id: str
    rates: Rates
    tiers: tuple[Tier, ...] = ()

    def rates_for(self, prompt_tokens: int) -> tuple[Rates, int | None]:
        """The rates for a prompt of that size and the tier's threshold (None below the first)."""
        for tier in reversed(self.tiers):
            if prompt_tokens >= tier.min_prompt_tokens:
                return tier.rates, tier.min_prompt_tokens
        return self.rates, None

    def record(self, tier_from: int | None = None) -> PriceRecord:
        """The row of ``prices_used`` that names these rates: floats, USD per million.

        ``tier_from`` is what ``cost_of`` returned for the call: the record holds the rates that
        were charged, not those of the first tier.
        """
        rates = self.rates
        if tier_from is not None:
            rates, tier_from = self.rates_for(tier_from)
        return {
            "basis": self.basis,
            "source": self.source,
            "matched_id": self.matched_id,
            "input": float(rates.input),
            "output": float(rates.output),
            "cache_read": float(rates.cache_read),
            "cache_write": float(rates.cache_write),
            "reasoning": None if rates.reasoning is None else float(rates.reasoning),
            "request": float(rates.request) if rates.request else None,
            "tier_from": tier_from,
        }
