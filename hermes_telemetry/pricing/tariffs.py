"""The host's own tariff for a (provider, model), asked before the first call has ended, since the
host may need seconds and the network for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from ..windows import SYSTEM_CLOCK, Clock, timestamp
from .asking import SECONDS_WAITED, Question, Questions
from .entries import Multipliers, Quote, charged_apart
from .ids import undated
from .price import ZERO, Price

SECONDS_VALID = 6 * 3600
_MOST_REMEMBERED = 512

Snapshot = dict[str, str | float | None]


# The columns of a snapshot by the names that rates have in a price file.
_SNAPSHOT_RATES = {
    "input": "input_cost_per_million",
    "output": "output_cost_per_million",
    "cache_read": "cache_read_cost_per_million",
    "cache_write": "cache_write_cost_per_million",
    "request": "request_cost",
}


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
        self._taking = threading.Lock()
        self._questions: Questions[_Question] = Questions(
            "telemetry-tariff", _MOST_REMEMBERED, clock, wait
        )

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
        question = self._questions.get((provider, model))
        if question is None or not self._holds(question):
            question = self._question(model, provider, None, None)
        if question.known is None:
            self._questions.wait_for(question)
        known = question.known
        if known is None:
            return None
        priced = question.priced
        if priced is None or priced[0] is not known or priced[1] != fill:
            price = known.quote.price("tariff", known.source, known.matched_id, fill)
            priced = question.priced = (known, fill, price)
        return priced[2]

    def is_asking(self, model: str, provider: str) -> bool:
        """True while the host's answer for the present six hours is still to come, also where it
        was not asked for yet."""
        question = self._questions.get((provider, model))
        return question is None or not question.answered or not self._holds(question)

    def take_snapshot(self, model: str | None, provider: str | None) -> Snapshot | None:
        """The fields of a ``pricing_snapshots`` row for an answer that was not taken yet; later
        and for other answers None. Writing it is the caller's, as is leaving out a repetition."""
        question = self._questions.get((provider or "", model or ""))
        if question is None or question.snapshot is None:
            return None
        with self._taking:
            snapshot, question.snapshot = question.snapshot, None
        return snapshot

    def _question(
        self, model: str, provider: str, base_url: str | None, api_mode: str | None
    ) -> _Question:
        now = self._clock.monotonic()
        return self._questions.ask(
            (provider, model),
            # Until the host has answered again its former answer holds.
            lambda former: _Question(
                model, provider, now, None if former is None else former.known
            ),
            lambda question: self._find(question, base_url, api_mode),
            self._holds,
        )

    def _holds(self, question: _Question) -> bool:
        return self._clock.monotonic() - question.asked_at < SECONDS_VALID

    def _find(self, question: _Question, base_url: str | None, api_mode: str | None) -> None:
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


@dataclass(frozen=True, slots=True)
class _Known:
    quote: Quote
    source: str | None
    matched_id: str


@dataclass(slots=True)
class _Question(Question):
    model: str
    provider: str
    asked_at: float
    known: _Known | None = None
    snapshot: Snapshot | None = None
    priced: tuple[_Known, Multipliers, Price] | None = None


def snapshot_rates(row: Mapping[str, Any]) -> dict[str, float]:
    """The rates that a row of ``pricing_snapshots`` states, by their names in a price file."""
    stated = {name: row[column] for name, column in _SNAPSHOT_RATES.items()}
    return charged_apart({name: rate for name, rate in stated.items() if rate is not None})


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
