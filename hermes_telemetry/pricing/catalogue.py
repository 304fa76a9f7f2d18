"""The catalogue of the ``genai-prices`` package, for models that nothing else knows.

The package is optional, takes a quarter of a second to import, and is not ours: it is imported in
a thread, and whatever goes wrong in it means no more than that it does not know the model.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from typing import Any

from ..windows import SYSTEM_CLOCK, Clock
from .asking import SECONDS_WAITED, Question, Questions
from .entries import Multipliers, Quote, minute_of
from .ids import is_variant
from .price import ZERO, Price, When

logger = logging.getLogger(__name__)

_MOST_REMEMBERED = 1024

# The host's names of providers, where the catalogue has another word. Plans and resellers are
# left out on purpose: their prices are not the vendor's list.
_PROVIDERS = {
    "azure-foundry": "azure",
    "bedrock": "aws",
    "copilot": "github-copilot",
    "gemini": "google",
    "kimi-coding": "moonshotai",
    "moonshot": "moonshotai",
    "openai-api": "openai",
    "vertex": "google",
    "xai": "x-ai",
}


def _imported() -> Any:
    return import_module("genai_prices")


class Catalogue:
    """List prices of ``genai-prices`` by (model, provider), at the time of a call.

    Safe to use from any thread; never raises. ``wait`` is how long ``price`` may wait for an
    answer under way, counted from the first call that waits for it.
    """

    def __init__(
        self,
        *,
        clock: Clock = SYSTEM_CLOCK,
        wait: float = SECONDS_WAITED,
        load: Callable[[], Any] = _imported,
    ) -> None:
        self._clock = clock
        self._load = load
        self._loading = threading.Lock()
        self._loaded = False
        self._package: Any = None
        self._questions: Questions[_Question] = Questions(
            "telemetry-catalogue", _MOST_REMEMBERED, clock, wait
        )

    def begin(self, model: str, provider: str) -> None:
        """Looks a model up in a thread, which imports the package if it is the first to. Returns
        at once."""
        if not self._is_absent:
            self._question(model, provider)

    def price(
        self,
        model: str,
        provider: str,
        at: datetime | None,
        fill: Multipliers,
        waited: float = 0.0,
    ) -> Price | None:
        """The price of exactly this model at this provider at ``at`` (default: now); None if there
        is none, or no answer yet. ``waited`` seconds were spent already of what a call may wait.
        """
        if self._is_absent:
            return None
        question = self._question(model, provider)
        self._questions.wait_for(question, waited)
        if question.found is None:
            return None
        at = at or self._clock.now()
        asked = (minute_of(at), fill)
        # Working a price out takes longer than all else about a call, and the next call asks for
        # the same.
        priced = question.priced
        if priced is None or priced[0] != asked:
            priced = question.priced = (asked, _price(question, at, fill))
        return priced[1]

    def is_asking(self, model: str, provider: str) -> bool:
        """True while the package's answer is still to come, also where it was not asked yet."""
        if self._is_absent:
            return False
        question = self._questions.get(_key(model, provider))
        return question is None or not question.answered

    @property
    def _is_absent(self) -> bool:
        """True once the package is known not to be had: no thread need be started to learn that."""
        return self._loaded and self._package is None

    def _question(self, model: str, provider: str) -> _Question:
        key = _key(model, provider)
        return self._questions.ask(key, lambda former: _Question(*key), self._find)

    def _find(self, question: _Question) -> None:
        package = self._opened()
        if package is not None:
            question.found = _find(package, question.model, question.provider)

    def _opened(self) -> Any:
        """The package; None if it cannot be had."""
        with self._loading:
            if not self._loaded:
                try:
                    self._package = self._load()
                except ImportError:
                    pass  # not installed, as is usual
                except BaseException as fault:
                    logger.warning("genai-prices cannot be imported: %s", type(fault).__name__)
                finally:
                    self._loaded = True
            return self._package


@dataclass(slots=True)
class _Question(Question):
    """``found`` is the package's entry of the model, None while or where it has none; ``priced``
    its price in the minute that was asked for last.
    """

    model: str
    provider: str
    found: Any = None
    priced: tuple[tuple[int, Multipliers], Price | None] | None = None


def _key(model: str, provider: str) -> tuple[str, str]:
    return model.strip().lower(), provider.strip().lower()


def _price(question: _Question, at: datetime, fill: Multipliers) -> Price | None:
    try:
        quote = _quote(question.found.get_prices(at))
        if quote is None:
            return None
        id = str(question.found.id)
        price = quote.price("catalogue", "genai-prices", id, fill)
        periods = tuple(
            (when, stated.price("catalogue", "genai-prices", id, fill))
            for when, stated in _periods(question.found)
        )
        return replace(price, periods=periods)
    except Exception as fault:
        logger.debug("genai-prices does not price %r: %s", question.model, type(fault).__name__)
        return None


def _find(package: Any, model: str, provider: str) -> Any:
    slug = _PROVIDERS.get(provider, provider) or None
    usage = package.Usage(input_tokens=1, output_tokens=1)
    answer = package.calc_price(usage, model, provider_id=slug)
    # It also finds providers and models by a part of their name. That is a guess.
    exact = slug in (None, answer.provider.id) and _names(answer.model, model)
    return answer.model if exact else None


def _names(entry: Any, model: str) -> bool:
    """True if the catalogue's entry is of this model rather than of one whose name begins alike."""
    return str(entry.id).lower() == model or _clause_names(entry.match, model)


def _clause_names(clause: Any, model: str) -> bool:
    for parts in (getattr(clause, "or_", None), getattr(clause, "and_", None)):
        if parts is not None:
            return any(_clause_names(part, model) for part in parts)
    if hasattr(clause, "equals"):
        return bool(clause.equals.lower() == model)
    if hasattr(clause, "regex"):
        # Whole-id patterns name a model and its dates; others are loose.
        pattern = clause.regex
        return bool(pattern.startswith("^") and pattern.endswith("$") and clause.is_match(model))
    if hasattr(clause, "ends_with"):
        return _at_boundary(model, clause.ends_with.lower())
    if hasattr(clause, "starts_with"):
        return is_variant(model, clause.starts_with.lower().rstrip("-@"))
    if hasattr(clause, "contains"):
        return _at_boundary(model, clause.contains.lower().rstrip("-@"))
    return False


def _at_boundary(model: str, name: str) -> bool:
    """True if ``model`` is ``name``, or a variant of it, behind a vendor's or region's prefix."""
    start = model.find(name)
    return (
        start >= 0 and (start == 0 or model[start - 1] in "./") and is_variant(model[start:], name)
    )


def _periods(entry: Any) -> Iterator[tuple[When, Quote]]:
    """The entry's prices with the time of each, if they change with time."""
    stated = getattr(entry, "prices", None)
    if not isinstance(stated, list) or len(stated) < 2:
        return
    for place, conditional in enumerate(stated):
        quote = _quote(conditional.prices)
        if quote is not None:
            # It falls back on the first one, whatever that one's condition.
            yield (_when(conditional.constraint) if place else When()), quote


def _when(constraint: Any) -> When:
    if constraint is None:
        return When()
    if hasattr(constraint, "start_date"):
        return When(constraint.start_date)
    return When(None, (_utc(constraint.start_time), _utc(constraint.end_time)))


def _utc(clock: time) -> time:
    if clock.tzinfo is None:
        return clock
    return datetime.combine(date(1970, 1, 1), clock).astimezone(UTC).time()


def _quote(prices: Any) -> Quote | None:
    """The catalogue's prices as rates; None if it has none for text, which does not mean free."""
    tiers = {
        tier.start
        for name in ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
        for tier in getattr(getattr(prices, name, None), "tiers", ())
    }
    base = _at(prices, None)
    if base is None:
        return None
    # "Above n tokens" there is "from n + 1 tokens" here.
    above = [(start + 1, _at(prices, start)) for start in sorted(tiers)]
    return Quote(
        base.input,
        base.output,
        base.cache_read,
        base.cache_write,
        base.reasoning,
        base.request,
        tuple((start, quote) for start, quote in above if quote is not None),
    )


def _at(prices: Any, start: int | None) -> Quote | None:
    def rate(name: str) -> Decimal | None:
        stated: Any = getattr(prices, name, None)
        if hasattr(stated, "base"):
            reached = [
                tier.price for tier in stated.tiers if start is not None and tier.start <= start
            ]
            stated = reached[-1] if reached else stated.base
        if stated is None:
            return None
        number = Decimal(stated)
        if not (number.is_finite() and number >= 0):
            raise ValueError(f"{name} cannot be charged")
        return number

    tokens_in, tokens_out = rate("input_mtok"), rate("output_mtok")
    if tokens_in is None or tokens_out is None:
        return None
    return Quote(
        tokens_in,
        tokens_out,
        rate("cache_read_mtok"),
        rate("cache_write_mtok"),
        rate("output_reasoning_mtok"),
        (rate("requests_kcount") or ZERO) / 1000,
    )
