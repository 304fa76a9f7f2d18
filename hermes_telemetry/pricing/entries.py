"""Entries of a price file: what someone states about an id, before it becomes a ``Price``.

An entry that holds a rate which cannot be charged (negative, not finite, not a number) is void as
a whole: half a price would be a wrong one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from .price import ZERO, Basis, Price, Rates, Tier, When, price_at

logger = logging.getLogger(__name__)

# Above this (USD per million, or per call) a figure is a slip of the keyboard or of a unit.
_MAX_RATE = Decimal(10) ** 9
_DEFAULT_SOURCE = "pricing.yaml"
ROUTER = "openrouter"

R = TypeVar("R", Decimal, float)


@dataclass(frozen=True, slots=True)
class Multipliers:
    """The user's ``defaults:``: cache rates as shares of the input rate where none is stated.
    None means the input rate itself, an upper bound."""

    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Stated rates, USD per million (``request`` per call); None where nothing is stated."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None
    request: Decimal = ZERO
    tiers: tuple[tuple[int, Quote], ...] = ()

    @property
    def is_zero(self) -> bool:
        """True when every stated rate is 0: an explicit price of nothing."""
        stated = (self.input, self.output, self.cache_read, self.cache_write, self.reasoning)
        return not any(stated) and not self.request and all(q.is_zero for _, q in self.tiers)

    def price(self, basis: Basis, source: str | None, matched_id: str, fill: Multipliers) -> Price:
        """The price these rates make once the missing ones are filled in."""
        return Price(
            basis,
            source,
            matched_id,
            self._rates(fill),
            tuple(
                Tier(threshold, quote._rates(fill, self.request))
                for threshold, quote in sorted(self.tiers, key=lambda tier: tier[0])
            ),
        )

    def _rates(self, fill: Multipliers, request: Decimal | None = None) -> Rates:
        return Rates(
            self.input,
            self.output,
            _filled(self.cache_read, self.input, fill.cache_read),
            _filled(self.cache_write, self.input, fill.cache_write),
            self.reasoning,
            self.request if request is None else request,
        )


def minute_of(at: datetime) -> int:
    """The minute that an aware time lies in: prices change between two of them, if at all."""
    return int(at.timestamp() // 60)


@dataclass(frozen=True, slots=True)
class Period:
    """Rates that hold at some time only."""

    quote: Quote
    when: When


@dataclass(frozen=True, slots=True)
class Entry:
    """One id of a price file.

    ``quote`` is None where the entry answers nothing by itself: it has no fixed price, or only
    prices of particular providers.
    """

    id: str
    quote: Quote | None
    source: str | None = None
    subscription: bool = False
    providers: Mapping[str, Entry] = field(default_factory=dict)
    periods: tuple[Period, ...] = ()

    @property
    def is_routers(self) -> bool:
        """True for the price of the router OpenRouter, which is no one else's."""
        return self.source is not None and self.source.lower() == ROUTER

    def at(self, provider: str) -> Entry:
        """The entry that holds for a provider (lower case): its own price, else the common one."""
        return self.providers.get(provider, self)

    @property
    def is_free(self) -> bool:
        """True if the entry states rates, and all of them are 0 at any time."""
        return bool(self.quotes) and all(quote.is_zero for quote in self.quotes)

    @property
    def quotes(self) -> list[Quote]:
        """Everything the entry states, whenever it holds."""
        return [q for q in (self.quote, *(period.quote for period in self.periods)) if q]

    def price(self, basis: Basis, fill: Multipliers, at: datetime) -> Price | None:
        """The entry's price at an aware time; None if it answers nothing. Where the basis is
        "listed", a declared or free price says so instead."""
        if self.quote is None:
            return None
        stated = [(When(), self.quote), *((period.when, period.quote) for period in self.periods)]
        return price_at([(when, self._priced(quote, basis, fill)) for when, quote in stated], at)

    def _priced(self, quote: Quote, basis: Basis, fill: Multipliers) -> Price:
        if basis == "listed" and self.subscription:
            basis = "declared"
        elif basis == "listed" and quote.is_zero:
            basis = "free"
        return quote.price(basis, self.source or _DEFAULT_SOURCE, self.id, fill)


def charged_apart(rates: Mapping[str, R]) -> dict[str, R]:
    """A feed's or the host's rates without the zeros that are none.

    A "0" beside a price means "not billed apart": reasoning is output there, cached tokens are
    input. Taken as a rate it would make the larger part of a call free.
    """
    if rates.get("input") or rates.get("output"):
        return {key: rate for key, rate in rates.items() if rate or key in ("input", "output")}
    return dict(rates)


def parse_entries(section: Mapping[Any, Any], where: str) -> Iterable[Entry]:
    """The usable entries of a section ``{id: entry}``; one line is logged for each void one."""
    for key, raw in section.items():
        try:
            yield parse_entry(str(key), raw)
        except ValueError as fault:
            logger.warning("%s: the entry of %r is ignored: %s", where, str(key), fault)


def parse_entry(id: str, raw: Any) -> Entry:
    """One entry of a price file. Raises ValueError, in one line, if it cannot be charged."""
    if not isinstance(raw, Mapping):
        raise ValueError("it is not a mapping of rates")
    source = raw.get("_source")
    stated = raw.get("providers") or {}
    if not isinstance(stated, Mapping):
        raise ValueError("providers is not a mapping")
    providers = {str(name).strip().lower(): parse_entry(id, own) for name, own in stated.items()}
    subscription = raw.get("_subscription") is True
    quote: Quote | None
    if subscription:
        quote = Quote(ZERO, ZERO)
    elif raw.get("_estimated_price") is True or (providers and not {"input", "output"} & set(raw)):
        quote = None
    else:
        quote = parse_quote(raw)
    periods = raw.get("periods") or []
    if not isinstance(periods, list) or not all(isinstance(item, Mapping) for item in periods):
        raise ValueError("periods is not a list of mappings")
    return Entry(
        id,
        quote,
        None if source is None else str(source),
        subscription,
        providers,
        tuple(_period(item) for item in periods) if quote is not None else (),
    )


def parse_quote(raw: Mapping[Any, Any]) -> Quote:
    """The rates of an entry or of a tier. Raises ValueError if one cannot be charged."""
    tiers = raw.get("tiers") or []
    if not isinstance(tiers, list) or not all(isinstance(tier, Mapping) for tier in tiers):
        raise ValueError("tiers is not a list of mappings")
    return Quote(
        _required(raw, "input"),
        _required(raw, "output"),
        rate(raw, "cache_read"),
        rate(raw, "cache_write"),
        rate(raw, "reasoning"),
        rate(raw, "request") or ZERO,
        tuple((_threshold(tier), parse_quote(tier)) for tier in tiers),
    )


def rate(raw: Mapping[Any, Any], key: str) -> Decimal | None:
    """The number under ``key``; None if absent. Raises ValueError if it cannot be charged."""
    value = raw.get(key)
    if value is None:
        return None
    # YAML reads 1e-6 as text, so numbers in quotes are taken too; yes and no are no numbers.
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise ValueError(f"{key} is not a number")
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError(f"{key} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{key} is not finite")
    if number < 0:
        raise ValueError(f"{key} is negative")
    if number > _MAX_RATE:
        raise ValueError(f"{key} is too large to be a rate in USD")
    # Not -0, which would be stored as a price different from 0.
    return number if number else ZERO


def _required(raw: Mapping[Any, Any], key: str) -> Decimal:
    number = rate(raw, key)
    if number is None:
        raise ValueError(f"{key} is missing")
    return number


def _threshold(tier: Mapping[Any, Any]) -> int:
    value = tier.get("min_prompt_tokens")
    if type(value) is not int or value < 1:
        raise ValueError("min_prompt_tokens of a tier is not a whole number above 0")
    return value


def _period(raw: Mapping[Any, Any]) -> Period:
    start, hours = raw.get("from"), raw.get("hours")
    if start is None and hours is None:
        raise ValueError("a period has neither from nor hours")
    if isinstance(start, datetime) or not isinstance(start, (date, type(None))):
        raise ValueError("from of a period is not a date")
    if hours is None:
        return Period(parse_quote(raw), When(start))
    try:
        # As text: YAML reads an unquoted 01:30 as the number 90.
        begin, end = (datetime.strptime(hour, "%H:%M").time() for hour in hours)
    except (TypeError, ValueError):
        raise ValueError('hours of a period are not like ["01:00", "04:00"]') from None
    return Period(parse_quote(raw), When(start, (begin, end)))


def _filled(stated: Decimal | None, input: Decimal, multiplier: Decimal | None) -> Decimal:
    if stated is not None:
        return stated
    return input if multiplier is None else input * multiplier
