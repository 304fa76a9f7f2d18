"""The models of the demo ledger, what they cost, and what changed about that on the way.

Prices come from the same catalogue as a real ledger's: the built-in table, and a `pricing.yaml`
that is written for the purpose and changes once. So every way a cost can come about is there:
listed, built-in, free, declared, a family's, the host's tariff, assumed, and none at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..pricing import Catalog, Estimate, Price, Rates, Usage
from ..windows import timestamp
from .demo_time import moment

# When the price file changes and the stealth model begins to cost, as a share of the period.
TURNING_POINT = 0.72
# When the router drops a model's ":free" id: what called it calls the paid id from then on.
_FREE_ID_DROPPED = 0.81

_BEFORE = """
models:
  qwen/qwen3-coder: {input: 0.30, output: 1.20, _source: openrouter}
  stealth/horizon-beta: {input: 0, output: 0, _source: openrouter}
  z-ai/glm-4.5-air: {input: 0.20, output: 1.10, _source: openrouter}
  moonshotai/kimi-k2: {input: 0.55, output: 2.20, cache_read: 0.15, _source: openrouter}
  gpt-5.1-codex: {providers: {openai-codex: {_subscription: true}}}
  llama-3.3-70b-instruct: {input: 0.60, output: 0.60}
"""
_AFTER = _BEFORE.replace("{input: 0, output: 0,", "{input: 0.20, output: 0.80,").replace(
    "{input: 0.30, output: 1.20,", "{input: 0.22, output: 0.95,"
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the host names it, and how it behaves."""

    provider: str
    name: str
    tokens_per_s: int
    caches: bool = True
    bills_cache_writes: bool = False
    # Share of the output that is reasoning.
    reasoning: float = 0.0
    # The provider reports no usage: every call is an estimate.
    silent: bool = False


SONNET = Model("anthropic", "claude-sonnet-4-5", 70, bills_cache_writes=True)
OPUS = Model("anthropic", "claude-opus-4-5", 55, bills_cache_writes=True, reasoning=0.3)
HAIKU = Model("anthropic", "claude-haiku-4-5", 120, bills_cache_writes=True)
FLASH = Model("gemini", "gemini-2.5-flash", 180, reasoning=0.2)
PRO = Model("gemini", "gemini-3.1-pro-preview", 80, reasoning=0.5)
DEEPSEEK = Model("deepseek", "deepseek-chat", 45)
QWEN = Model("openrouter", "qwen/qwen3-coder", 60, caches=False)
STEALTH = Model("openrouter", "stealth/horizon-beta", 90, caches=False)
FREE = Model("openrouter", "z-ai/glm-4.5-air:free", 40, caches=False)
NO_LONGER_FREE = replace(FREE, name=FREE.name.removesuffix(":free"))
GONE = Model("openrouter", "mistralai/devstral-2512:free", 70, caches=False)
CODEX = Model("openai-codex", "gpt-5.1-codex", 65, reasoning=0.6)
NEMOTRON = Model("nvidia", "nvidia/nemotron-3-ultra-550b-a55b", 50, caches=False, reasoning=0.4)
HERMES = Model("nous", "Hermes-4-405B", 35, caches=False)
KIMI = Model("nous", "moonshotai/kimi-k2", 50)
LLAMA = Model("custom", "llama-3.3-70b-instruct", 30, caches=False, silent=True)
HOUSE = Model("custom", "house-llm-7b", 25, caches=False)

INTERACTIVE = {
    SONNET: 30,
    FLASH: 14,
    DEEPSEEK: 11,
    OPUS: 7,
    HAIKU: 7,
    STEALTH: 7,
    QWEN: 6,
    CODEX: 5,
    FREE: 4,
    PRO: 3,
    NEMOTRON: 2,
    HERMES: 2,
    KIMI: 2,
    LLAMA: 2,
    HOUSE: 1,
}
"""How often a person's session uses which model."""

# (share of the period, model, input, output, cache read, cache write, source): what the host's
# own price list said from then on. The local prices of DeepSeek do not follow: that is drift.
_TARIFFS = (
    (0.0, SONNET, 3.0, 15.0, 0.3, 3.75, "anthropic_docs"),
    (0.0, DEEPSEEK, 0.28, 0.42, 0.028, None, "deepseek_docs"),
    (0.0, QWEN, 0.30, 1.20, None, None, "openrouter_api"),
    (0.0, STEALTH, 0.0, 0.0, None, None, "openrouter_api"),
    (0.0, HERMES, 1.0, 3.0, None, None, "nous_portal"),
    (0.58, DEEPSEEK, 0.32, 0.48, 0.032, None, "deepseek_docs"),
    (TURNING_POINT, QWEN, 0.22, 0.95, None, None, "openrouter_api"),
    (TURNING_POINT, STEALTH, 0.20, 0.80, None, None, "openrouter_api"),
    (0.84, DEEPSEEK, 0.27, 0.41, 0.027, None, "deepseek_docs"),
)


class Fleet:
    """Who answers calls and at which price, by their time.

    `begin` and `end` bound the period, in µs since 1970. `folder` takes the two states of the
    price file.
    """

    def __init__(self, folder: Path, begin: int, end: int) -> None:
        self._begin, self._length = begin, end - begin
        self._turning_point = self._at(TURNING_POINT)
        self._catalogs = {}
        for name, text in (("before", _BEFORE), ("after", _AFTER)):
            home = folder / name
            home.mkdir()
            (home / "pricing.yaml").write_text(text, encoding="utf-8")
            self._catalogs[name] = Catalog(home, tariff=_tariff)

    def offered(self, model: Model, at: int) -> Model:
        """What a session that begins at `at` gets where it asks for `model`."""
        return NO_LONGER_FREE if model is FREE and at >= self._at(_FREE_ID_DROPPED) else model

    def estimate(self, model: Model, usage: Usage, at: int) -> Estimate:
        """The cost of a call that ends at `at`."""
        catalog = self._catalogs["after" if at >= self._turning_point else "before"]
        return catalog.estimate_cost(usage, model.name, model.provider, moment(at))

    def tariff_changes(self) -> Iterable[tuple[int, dict[str, Any]]]:
        """When the host resolved which new tariff: (time, fields of the snapshot), in order."""
        for share, model, input, output, cache_read, cache_write, source in _TARIFFS:
            at = self._at(share)
            yield (
                at,
                {
                    "provider": model.provider,
                    "model": model.name,
                    "input_cost_per_million": input,
                    "output_cost_per_million": output,
                    "cache_read_cost_per_million": cache_read,
                    "cache_write_cost_per_million": cache_write,
                    "request_cost": None,
                    "source": source,
                    "source_url": None,
                    "pricing_version": None,
                    "fetched_at": timestamp(moment(at)),
                    "captured_at": timestamp(moment(at)),
                    "base_url": None,
                    "api_mode": "chat_completions",
                    "resolved_model": None,
                },
            )

    def _at(self, share: float) -> int:
        return self._begin + int(share * self._length)


def _tariff(model: str, provider: str, fill: object) -> Price | None:
    if (model, provider) != (HERMES.name, HERMES.provider):
        return None
    rates = Rates(Decimal(1), Decimal(3), Decimal(1), Decimal(1))
    return Price("tariff", "nous_portal", HERMES.name, rates)
