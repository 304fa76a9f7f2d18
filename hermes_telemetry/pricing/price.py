"""A price as one value: the step of the lookup that answered, the source, the id, the rates.

Rates are USD per million tokens, held as ``Decimal``; only ``request`` is USD per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
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
class When:
    """At any time, from a day on, in some hours of each day, or both; all of it is UTC."""

    start: date | None = None
    hours: tuple[time, time] | None = None

    def holds(self, at: datetime) -> bool:
        at = at.astimezone(UTC)
        if self.start is not None and at.date() < self.start:
            return False
        if self.hours is None:
            return True
        begin, end = self.hours
        clock = at.time()
        return begin <= clock < end if begin <= end else clock >= begin or clock < end


@dataclass(frozen=True, slots=True)
class Price:
    """The answer of a lookup.

    ``source`` is who stated the rates (the entry's tag, a vendor's list, the host); ``matched_id``
    is the id under which they were found, which can differ from the id that was asked for.
    ``tiers`` ascend by ``min_prompt_tokens``. ``periods`` are all that is stated about a price that
    changes with time, this one among it: of those that hold the last counts, and the first holds
    at any time. They are empty where the price is always the same.
    """

    basis: Basis
    source: str | None
    matched_id: str
    rates: Rates
    tiers: tuple[Tier, ...] = ()
    periods: tuple[tuple[When, Price], ...] = ()
    _records: dict[int | None, PriceRecord] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def rates_for(self, prompt_tokens: int) -> tuple[Rates, int | None]:
        """The rates for a prompt of that size and the tier's threshold (None below the first)."""
        for tier in reversed(self.tiers):
            if prompt_tokens >= tier.min_prompt_tokens:
                return tier.rates, tier.min_prompt_tokens
        return self.rates, None

    def most_expensive(self, day: date) -> Price:
        """The price in the most expensive hours of a UTC day, by its input, then output rate."""
        if not self.periods:
            return self
        clocks = {time(), *(clock for when, _ in self.periods for clock in when.hours or ())}
        return max(
            (in_force(self.periods, datetime.combine(day, clock, UTC)) for clock in clocks),
            key=lambda price: (price.rates.input, price.rates.output),
        )

    def record(self, tier_from: int | None = None) -> PriceRecord:
        """The row of ``prices_used`` that names these rates: floats, USD per million.

        ``tier_from`` is what ``cost_of`` returned for the call: the record holds the rates that
        were charged, not those of the first tier. Calls share it: it is not to be changed.
        """
        record = self._records.get(tier_from)
        if record is None:
            record = self._records[tier_from] = self._record(tier_from)
        return record

    def _record(self, tier_from: int | None) -> PriceRecord:
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


def in_force(periods: Sequence[tuple[When, Price]], at: datetime) -> Price:
    """The last of the prices that holds at an aware time. The first one must hold at any time."""
    return next(price for when, price in reversed(periods) if when.holds(at))


def price_at(periods: Sequence[tuple[When, Price]], at: datetime) -> Price:
    """The price in force at an aware time, with the others as its ``periods`` if there are any."""
    price = in_force(periods, at)
    return replace(price, periods=tuple(periods)) if len(periods) > 1 else price
