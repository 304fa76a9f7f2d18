"""From a call as its hooks tell it to the row that is written: usage, estimates, price, cost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import host
from .payloads import AnsweredCall, Attempt, identifier
from .pricing import Catalog, Estimate, Usage, usage_from_host
from .pricing.free_tier import is_free_call, is_paid_call, notice
from .pricing.refresh import refresh_if_due
from .pricing.tariffs import Tariffs
from .store.writes import Write
from .turns import Turns
from .windows import Clock, timestamp

_log = logging.getLogger("hermes_telemetry")

_CHARS_PER_TOKEN = 4
_PAID = "note_paid_call"


class _Served(NamedTuple):
    """Who answered a call: not whom the host named, where it called a preset of models."""

    model: str | None
    provider: str | None
    moa_preset: str | None = None
    listed_model: str | None = None


class Accounting:
    """Works out what calls cost by the prices of one telemetry home. Nothing is opened before the
    first call.
    """

    def __init__(self, home: Path, turns: Turns, clock: Clock) -> None:
        self._home = home
        self._turns = turns
        self._clock = clock
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all prices. A forked child has to: locks may be held, and answers be expected, by
        threads that it lacks.
        """
        self._tariffs = Tariffs(host.resolve_tariff, clock=self._clock)
        self._catalog = Catalog(
            self._home,
            clock=self._clock,
            tariff=self._tariffs.price,
            tariff_awaited=self._tariffs.is_asking,
        )

    def begun(self, attempt: Attempt) -> None:
        """A call is on its way: what its price needs is fetched meanwhile, by threads."""
        served = _served(attempt, None)
        self._catalog.prepare(served.model, served.provider)
        # The address of a preset is the preset's, not that of the provider which serves it.
        at = (None, None) if served.moa_preset else (attempt.base_url, attempt.api_mode)
        self._tariffs.begin(served.model, served.provider, *at)

    def prepare(self) -> list[Write]:
        """What a process does once, on a thread that nobody waits for: reads the price files,
        renews list prices that are older than a day, and says which models are free by the user's
        own word.
        """
        self._catalog.warm()
        refresh_if_due(self._home, self._clock)
        now = timestamp(self._clock.now())
        return [
            Write("record_free_model", {"model": model, "provider": "", "ts": now})
            for model in self._catalog.free_ids()
        ]

    def answered(
        self,
        call: AnsweredCall,
        begun: Attempt | None,
        *,
        ts: str,
        latency_ms: int | None,
        reopen: bool,
    ) -> list[Write]:
        """The row of a call that was answered, and what it says of its model. ``begun`` is what
        pre_api_request told of it: it alone knows the size of a prompt whose usage the provider
        does not report.
        """
        attempt = call.attempt
        usage = usage_from_host(call.usage)
        if usage is None:
            output = -(-call.content_chars // _CHARS_PER_TOKEN)  # rounded up
            usage = self._estimated_usage(begun or attempt, output)
            if self._turns.first_time("no usage", attempt.provider):
                _log.warning(
                    "provider %r reports no usage: its calls are estimated", attempt.provider
                )
        else:
            self._turns.remember_cache(attempt, usage.input, usage.cache_read)
        return self._writes(attempt, usage, ts, latency_ms, call.response_model, reopen)

    def unanswered(self, attempt: Attempt, *, ts: str) -> list[Write]:
        """The row of a call whose answer was cut at its length: the host goes on without reporting
        it, so input and output are estimated (0 output where no limit was given).
        """
        usage = self._estimated_usage(attempt, attempt.max_tokens or 0)
        return self._writes(attempt, usage, ts, None, None, reopen=False)

    def _estimated_usage(self, attempt: Attempt, output: int) -> Usage:
        fresh, cached = self._turns.split_input(attempt, attempt.approx_input_tokens)
        return Usage(input=fresh, output=output, cache_read=cached, estimated=True)

    def _writes(
        self,
        attempt: Attempt,
        usage: Usage,
        ts: str,
        latency_ms: int | None,
        response_model: str | None,
        reopen: bool,
    ) -> list[Write]:
        served = _served(attempt, response_model)
        model, provider = served.model, served.provider
        # Routers answer with dated ids that no list has; the preset names the listed one, whose
        # price was begun to be asked for before the call.
        priced = served.listed_model or model
        estimate = self._catalog.estimate_cost(usage, priced, provider)
        if estimate.price is None and self._catalog.is_explicitly_priced(model, provider):
            priced = model
            estimate = self._catalog.estimate_cost(usage, priced, provider)
        # Without tokens, or a price for the request itself, any model would cost nothing.
        if usage.prompt + usage.output > 0 or estimate.cost_usd:
            self._turns.remember_cost(attempt.session_id, estimate.cost_usd)
        assumed = estimate.price is not None and estimate.price.basis == "assumed"
        call = Write(
            "record_llm_call",
            {
                "session_id": attempt.session_id,
                "ts": ts,
                "model": model,
                "provider": provider,
                "tokens_in": usage.input,
                "tokens_out": usage.output,
                "cache_read_tokens": usage.cache_read,
                "cache_write_tokens": usage.cache_write,
                "reasoning_tokens": usage.reasoning,
                "cost_usd": estimate.cost_usd,
                "latency_ms": latency_ms,
                "estimated": int(usage.estimated),
                "provider_assumed": int(assumed),
                "moa_preset": served.moa_preset,
                "turn_id": attempt.turn_id,
                "task_id": attempt.task_id,
                "api_request_id": attempt.api_request_id,
                "price": estimate.record,
                "reopen": reopen,
            },
        )
        findings = self._findings(served, usage, estimate, attempt.session_id, ts)
        snapshot = self._tariffs.take_snapshot(priced, provider)
        if snapshot is not None:
            findings.append(Write("record_pricing_snapshot", dict(snapshot)))
        return [call, *findings]

    def _findings(
        self, served: _Served, usage: Usage, estimate: Estimate, session_id: str, ts: str
    ) -> list[Write]:
        """What a call shows of its model: that it is free, or free no longer."""
        # No known provider is not every provider, which is what '' says there.
        found: dict[str, Any] = {
            "model": served.model,
            "provider": served.provider or "",
            "ts": ts,
        }
        if is_paid_call(usage, estimate):
            found |= {"session_id": session_id, "cost_usd": estimate.cost_usd}
            return [Write(_PAID, found)]
        if (
            is_free_call(usage, estimate)
            and served.provider
            and self._turns.first_time("free", served.model, served.provider)
        ):
            return [Write("record_free_model", found)]
        return []

    @staticmethod
    def notices(writes: Sequence[Write], results: Sequence[Any]) -> list[str]:
        """What the user is to be told of written calls: a model that was free and now costs."""
        return [
            notice(
                write.fields["model"],
                write.fields["provider"],
                write.fields["cost_usd"],
                declared=result == "declared",
            )
            for write, result in zip(writes, results, strict=False)
            if result is not None and write.name == _PAID
        ]


def _served(attempt: Attempt, response_model: str | None) -> _Served:
    if attempt.provider != "moa":
        return _Served(attempt.model, attempt.provider)
    # The model field names a preset: the call itself went to the preset's aggregator.
    by, listed = host.moa_aggregator(attempt.model or "") or (None, None)
    listed_model = identifier(listed)
    return _Served(
        model=response_model or listed_model or attempt.model,
        provider=identifier(by) or attempt.provider,
        moa_preset=attempt.model,
        listed_model=listed_model,
    )
