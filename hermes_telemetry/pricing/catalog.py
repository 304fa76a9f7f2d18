"""The lookup chain: which price holds for a model at a provider.

The first answer wins: the user's entry, the built-in table, a ``:free`` id, Google's other
spelling of the id, the host's own tariff, a declared family, the ``genai-prices`` catalogue, and
last an entry of another source, as an assumption. Nothing is ever guessed from a similar name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ..paths import pricing_path
from ..windows import SYSTEM_CLOCK, Clock
from .catalogue import Catalogue
from .cost import Usage, cost_of
from .entries import ROUTER, Entry, Multipliers, minute_of
from .files import PriceBook, PriceFile, builtin_book
from .ids import is_free_id, is_variant
from .price import ZERO, Price, PriceRecord, Rates

logger = logging.getLogger(__name__)

# (model, provider, what fills missing cache rates) -> the host's price, or None. May wait a little.
TariffLookup = Callable[[str, str, Multipliers], Price | None]
# The same, with the time of the call: what the host charged then.
TariffHistory = Callable[[str, str, Multipliers, datetime], Price | None]
# (model, provider) -> True while the host's answer is still to come, asked for or not.
TariffAwaited = Callable[[str, str], bool]

_MOST_REMEMBERED = 4096

_NO_PRICE = "has no price that is known: its calls stay without a cost"
_NO_PRICE_YET = (
    "has no price yet, it is still being looked up: calls until then stay without a cost"
    " (`hermes-telemetry pricing fill --apply` prices them)"
)


class Estimate(NamedTuple):
    """A call's cost in USD (None: no price is known) with the price record that explains it."""

    cost_usd: float | None
    price: Price | None = None
    record: PriceRecord | None = None


class Catalog:
    """The prices of one telemetry home. Safe to use from any thread; no method raises for what a
    price file, the host or a model's name holds."""

    def __init__(
        self,
        home: Path,
        *,
        clock: Clock = SYSTEM_CLOCK,
        tariff: TariffLookup | None = None,
        tariff_awaited: TariffAwaited = lambda model, provider: False,
        history: TariffHistory | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        self._clock = clock
        self._file = PriceFile(pricing_path(home), clock)
        self._tariff = tariff
        self._tariff_awaited = tariff_awaited
        self._history = history
        self._catalogue = catalogue or Catalogue(clock=clock)
        # Answers hold for one state of the file, so the two are replaced together.
        self._answers: tuple[PriceBook | None, dict[tuple[str, str], _Answer]] = (None, {})
        self._warned: set[tuple[str, str, str]] = set()

    def warm(self) -> None:
        """Reads the price files now (a tenth of a second for a router's thousand models), for a
        thread that nobody waits for."""
        self._file.current()
        builtin_book()

    def prepare(self, model: str | None, provider: str | None) -> None:
        """Gets ready what a lookup would have to wait for. For a hook that knows the model before
        the call is made; returns at once."""
        if model:
            answer = self._answer(model, provider or "")
            if not answer.explicit and answer.family is None:
                self._catalogue.begin(model, provider or "")

    def lookup(
        self, model: str | None, provider: str | None, at: datetime | None = None
    ) -> Price | None:
        """The price of a model at a provider for a call at ``at`` (aware; default: now).

        None means unknown, which is not free. ``provider`` is the host's own word for it; empty
        if unknown.
        """
        if not model:
            return None
        provider = provider or ""
        answer = self._answer(model, provider, at)
        if answer.explicit:
            return answer.explicit[0]
        awaited = self._is_awaited(model, provider)
        price = next(self._steps(answer, model, provider, at), None)
        if price is None and awaited and not self._is_awaited(model, provider):
            # An answer that came since the steps looked for it counts, and belies the warning.
            price = next(self._steps(answer, model, provider, at), None)
        if price is None or price.basis == "assumed":
            self._warn(model, provider, price)
        return price

    def steps(self, model: str, provider: str | None, at: datetime | None = None) -> list[Price]:
        """Each step's own answer, the one that counts first: what the others would charge."""
        provider = provider or ""
        return list(self._steps(self._answer(model, provider, at), model, provider, at))

    def _steps(
        self, answer: _Answer, model: str, provider: str, at: datetime | None
    ) -> Iterator[Price]:
        fill = self._file.current().fill
        yield from answer.explicit
        asked_at = self._clock.monotonic()
        tariff = self._tariff_at(model, provider, fill, at)
        # Host and catalogue are asked at the same time, and waited for no longer than one of them.
        waited = self._clock.monotonic() - asked_at
        if tariff is not None:
            yield tariff
        if answer.family is not None:
            yield answer.family
        listed = self._catalogue.price(model, provider, at, fill, waited)
        if listed is not None:
            yield listed
        if answer.assumed is not None:
            yield answer.assumed

    def _tariff_at(
        self, model: str, provider: str, fill: Multipliers, at: datetime | None
    ) -> Price | None:
        if self._history is not None:
            price = self._history(model, provider, fill, at or self._clock.now())
            if price is not None:
                return price
        return None if self._tariff is None else self._tariff(model, provider, fill)

    def is_explicitly_priced(self, model: str | None, provider: str | None) -> bool:
        """True if someone stated a price for exactly this id: what tells free from unknown."""
        return bool(model) and bool(self._answer(model or "", provider or "").explicit)

    def stated_ids(self) -> list[str]:
        """The ids that have an entry in the user's file or the built-in table, in lower case."""
        return [*self._file.current().models, *builtin_book().models]

    def free_ids(self) -> list[str]:
        """The ids that the user's file prices at an explicit 0, at every provider and with no
        other price beside it: what may be taken for free before the first call is seen."""
        return [
            entry.id
            for form, entry in self._file.current().models.items()
            if entry.is_free and not entry.subscription
            # What a router gives away costs money elsewhere; and a ":free" id says of itself that
            # it is free, nothing of a provider whose first call is still to come.
            if not entry.is_routers and not is_free_id(form)
            if not any(_is_paid(own) for own in entry.providers.values())
            if not any(_is_paid(builtin_book().models.get(id)) for id in _forms(form))
            if not any(_is_paid(self._file.current().models.get(id)) for id in _forms(form))
        ]

    def estimate_cost(
        self,
        usage: Usage,
        model: str | None,
        provider: str | None,
        at: datetime | None = None,
    ) -> Estimate:
        """What a call costs by the price that holds for it."""
        price = self.lookup(model, provider, at)
        if price is None:
            return Estimate(None)
        cost, tier_from = cost_of(usage, price)
        return Estimate(float(cost), price, price.record(tier_from))

    def _answer(self, model: str, provider: str, at: datetime | None = None) -> _Answer:
        book = self._file.current()
        known, answers = self._answers
        if book is not known or len(answers) >= _MOST_REMEMBERED:
            answers = {}
            self._answers = (book, answers)
        key = (model, provider)
        answer = answers.get(key)
        if answer is None or answer.minute is not None:
            at = at or self._clock.now()
            if answer is None or answer.minute != minute_of(at):
                answer = answers[key] = _resolve_pricing(book, model, provider, at)
        return answer

    def _is_awaited(self, model: str, provider: str) -> bool:
        return self._tariff_awaited(model, provider) or self._catalogue.is_asking(model, provider)

    def _warn(self, model: str, provider: str, price: Price | None) -> None:
        if price is not None:
            message = f"is priced by an entry of source {price.source!r}: an assumption"
        else:
            message = _NO_PRICE_YET if self._is_awaited(model, provider) else _NO_PRICE
        key = (model, provider, message)
        if key in self._warned or len(self._warned) >= _MOST_REMEMBERED:
            return
        self._warned.add(key)
        logger.warning("model %r at provider %r %s", model, provider, message)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What price files say of one (model, provider): each a step's own answer."""

    explicit: tuple[Price, ...] = ()
    family: Price | None = None
    assumed: Price | None = None
    # Where prices change by the day or the hour: the minute for which this is the answer.
    minute: int | None = None


def _resolve_pricing(book: PriceBook, model: str, provider: str, at: datetime) -> _Answer:
    model_lc, provider_lc = model.strip().lower(), provider.strip().lower()
    forms = _forms(model_lc)
    builtin = builtin_book()
    explicit = tuple(_lookup_base(book, forms, provider_lc, at))
    asked = [book.models[form] for form in forms if form in book.models]
    family: Price | None = None
    for prefix, entry in sorted(
        book.families + builtin.families, key=lambda pair: len(pair[0]), reverse=True
    ):
        if family is None and any(is_variant(form, prefix) for form in forms):
            asked.append(entry)
            entry = entry.at(provider_lc)
            if _source_eligible(entry, provider_lc):
                family = entry.price("family", book.fill, at)
    refused = (
        e
        for e in (entry.at(provider_lc) for entry in asked)
        if not _source_eligible(e, provider_lc)
    )
    assumed = next(filter(None, (entry.price("assumed", book.fill, at) for entry in refused)), None)
    asked += [builtin.models[form] for form in forms if form in builtin.models]
    timed = any(entry.at(provider_lc).periods for entry in asked)
    return _Answer(explicit, family, assumed, minute_of(at) if timed else None)


def _lookup_base(book: PriceBook, forms: list[str], provider: str, at: datetime) -> Iterator[Price]:
    """Steps 1 to 4: the id as it is, then Google's twin of it."""
    for form in forms:
        yield from _lookup_form(book, form, provider, at)


def _lookup_form(book: PriceBook, form: str, provider: str, at: datetime) -> Iterator[Price]:
    entry = book.models.get(form)
    if entry is not None:
        entry = entry.at(provider)
        if _source_eligible(entry, provider):
            price = entry.price("listed", book.fill, at)
            if price is not None:
                yield price
    entry = builtin_book().models.get(form)
    price = None if entry is None else entry.price("builtin", book.fill, at)
    if price is not None:
        yield price
    if is_free_id(form):
        yield Price("free", ":free", form, Rates(ZERO, ZERO, ZERO, ZERO))


def _forms(model_lc: str) -> list[str]:
    twin = _google_alt_form(model_lc)
    return [model_lc] if twin is None else [model_lc, twin]


def _google_alt_form(model_lc: str) -> str | None:
    """Google's other spelling of an id. Only Google's: elsewhere the prefix changes the price."""
    if model_lc.startswith("google/gemini-"):
        return model_lc.removeprefix("google/")
    return f"google/{model_lc}" if model_lc.startswith("gemini-") else None


def _source_eligible(entry: Entry, provider: str) -> bool:
    """A router's price is the router's: it serves its own calls and those of no known provider."""
    return not entry.is_routers or not provider or ROUTER in provider


def _is_paid(entry: Entry | None) -> bool:
    return entry is not None and bool(entry.quotes) and not entry.is_free
