"""The host's own tariff for a (provider, model), asked before the first call has ended.

The host may need seconds and the network for it. So the question is asked in a thread when a
request begins, and the hook that records the call waits a tenth of a second for the answer at most.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from ..windows import SYSTEM_CLOCK, Clock, timestamp
from .entries import Multipliers, Quote, charged_apart
from .ids import undated
from .price import ZERO, Price

logger = logging.getLogger(__name__)

SECONDS_VALID = 6 * 3600
SECONDS_WAITED = 0.1
_POLL_S = 0.001
_MOST_REMEMBERED = 512

Snapshot = dict[str, str | float | None]


class HostTariff(Protocol):
    """A tariff as the host states it: USD per million tokens, ``request`` in USD per call."""

    @property
    def input(self) -> Decimal | None: ...
    @property
    def output(self) -> Decimal | None: ...
    @property
    def cache_read(self) -> Decimal | None: ...
    @property
    def cache_write(self) -> Decimal | None: ...
    @property
    def request(self) -> Decimal | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def source_url(self) -> str | None: ...
    @property
    def pricing_version(self) -> str | None: ...
    @property
    def fetched_at(self) -> str | None: ...


# (model, provider, base_url) -> tariff, or None if the host has none. May be slow, may raise.
Resolve = Callable[[str, str, str | None], HostTariff | None]


class Tariffs:
    """What the host charges, per (provider, model): asked once in six hours by this process.

    Safe to use from any thread. ``wait`` is how long ``price`` may wait for an answer under way,
    counted from the first call that waits for it: one question costs no session more than that.
    """

    def __init__(
        self,
        resolve: Resolve,
        *,
        clock: Clock = SYSTEM_CLOCK,
        wait: float = SECONDS_WAITED,
    ) -> None:
        self._resolve = resolve
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._questions: dict[tuple[str, str], _Question] = {}

    def begin(
        self,
        model: str | None,
        provider: str | None,
        base_url: str | None = None,
        api_mode: str | None = None,
    ) -> None:
        """Asks the host in a thread, unless it was asked within six hours. Returns at once."""
        if model:
            self._question(model, provider or "", base_url, api_mode)

    def price(self, model: str, provider: str, fill: Multipliers) -> Price | None:
        """The host's price for exactly this pair; None if it has none or has not answered yet.

        ``fill`` gives the cache rates that the host does not state.
        """
        question = self._question(model, provider, None, None)
        if not question.answered and question.known is None:
            if question.wait_until is None:
                question.wait_until = self._clock.monotonic() + self._wait
            while not question.answered and self._clock.monotonic() < question.wait_until:
                self._clock.sleep(_POLL_S)
        known = question.known
        if known is None:
            return None
        priced = question.priced
        if priced is None or priced[0] is not known or priced[1] != fill:
            price = known.quote.price("tariff", known.source, known.matched_id, fill)
            priced = question.priced = (known, fill, price)
        return priced[2]

    def take_snapshot(self, model: str | None, provider: str | None) -> Snapshot | None:
        """The fields of a ``pricing_snapshots`` row for an answer that was not taken yet; later
        and for other answers None. Writing it is the caller's, as is leaving out a repetition."""
        question = self._questions.get((provider or "", model or ""))
        if question is None or question.snapshot is None:
            return None
        with self._lock:
            snapshot, question.snapshot = question.snapshot, None
        return snapshot

    def _question(
        self, model: str, provider: str, base_url: str | None, api_mode: str | None
    ) -> _Question:
        key = (provider, model)
        question = self._questions.get(key)
        now = self._clock.monotonic()
        if question is not None and now - question.asked_at < SECONDS_VALID:
            return question
        with self._lock:
            question = self._questions.get(key)
            if question is not None and now - question.asked_at < SECONDS_VALID:
                return question
            if len(self._questions) >= _MOST_REMEMBERED:
                # The oldest: the dictionary keeps the order of asking.
                del self._questions[next(iter(self._questions))]
            self._questions.pop(key, None)
            # Until the host has answered again its former answer holds.
            known = None if question is None else question.known
            question = _Question(model, provider, now, known)
            self._questions[key] = question
        try:
            threading.Thread(
                target=self._ask,
                args=(question, base_url, api_mode),
                name="telemetry-tariff",
                daemon=True,
            ).start()
        except RuntimeError:  # the interpreter is going down
            question.answered = True
        return question

    def _ask(self, question: _Question, base_url: str | None, api_mode: str | None) -> None:
        try:
            for model in _spellings(question.model):
                tariff = self._resolve(model, question.provider, base_url)
                quote = None if tariff is None else _quote(tariff)
                if tariff is None or quote is None:
                    continue
                question.snapshot = {
                    "provider": question.provider,
                    "model": question.model,
                    "input_cost_per_million": float(quote.input),
                    "output_cost_per_million": float(quote.output),
                    "cache_read_cost_per_million": _float(quote.cache_read),
                    "cache_write_cost_per_million": _float(quote.cache_write),
                    "request_cost": _float(tariff.request),
                    "source": tariff.source,
                    "source_url": tariff.source_url,
                    "pricing_version": tariff.pricing_version,
                    "fetched_at": tariff.fetched_at,
                    "captured_at": timestamp(self._clock.now()),
                    "base_url": base_url,
                    "api_mode": api_mode,
                    "resolved_model": None if model == question.model else model,
                }
                # Last, for who sees it may take the snapshot at once.
                question.known = _Known(quote, tariff.source, model)
                return
        except Exception as fault:
            logger.debug("the host's tariff is not to be had: %s", type(fault).__name__)
        finally:
            question.answered = True


@dataclass(frozen=True, slots=True)
class _Known:
    quote: Quote
    source: str | None
    matched_id: str


@dataclass(slots=True)
class _Question:
    model: str
    provider: str
    asked_at: float
    known: _Known | None = None
    answered: bool = False
    wait_until: float | None = None
    snapshot: Snapshot | None = None
    priced: tuple[_Known, Multipliers, Price] | None = None


def _spellings(model: str) -> list[str]:
    """The id, then the id without its date: hosts list models undated."""
    short = undated(model)
    return [model] if short == model else [model, short]


def _quote(tariff: HostTariff) -> Quote | None:
    """The tariff as rates; None unless every stated one is finite and not negative. A router's -1
    means that it has no fixed price."""
    stated = (tariff.input, tariff.output, tariff.cache_read, tariff.cache_write, tariff.request)
    for rate in stated:
        if rate is not None and not (Decimal(rate).is_finite() and rate >= 0):
            return None
    if tariff.input is None or tariff.output is None:
        return None
    rates = {
        "input": tariff.input,
        "output": tariff.output,
        "cache_read": tariff.cache_read,
        "cache_write": tariff.cache_write,
        "request": tariff.request,
    }
    charged = charged_apart({key: rate for key, rate in rates.items() if rate is not None})
    return Quote(
        tariff.input,
        tariff.output,
        charged.get("cache_read"),
        charged.get("cache_write"),
        request=charged.get("request", ZERO),
    )


def _float(rate: Decimal | None) -> float | None:
    return None if rate is None else float(rate)
