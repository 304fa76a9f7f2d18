"""Token arithmetic: the host's usage of one call, times a price, in USD."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, localcontext
from typing import Any, NamedTuple

from ..payloads.values import COUNT_LIMIT, count, each, get, number
from .price import Price

logger = logging.getLogger(__name__)

_MILLION = Decimal(1_000_000)
# Own context: another plugin in this process may have lowered the precision or set traps.
_EXACT = Context(prec=60)

_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
_reported: set[str] = set()


class Usage(NamedTuple):
    """Tokens of one call. ``input`` excludes both cache classes; ``output`` contains ``reasoning``.

    ``estimated`` is True when a count had to be inferred. A tuple, as every call makes one.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def prompt(self) -> int:
        """Size of the context that was sent: what tiers are measured by, never priced itself."""
        return self.input + self.cache_read + self.cache_write


def usage_from_host(usage: Mapping[str, Any] | None) -> Usage | None:
    """The host's ``usage`` as counts that are safe to store and to price.

    Returns None when there is no usage: none of the counts that are priced is one. That is
    different from a call that used nothing. Beside a count others that are negative, not finite,
    boolean or not numbers count as 0.
    """
    if type(usage) is not dict and not isinstance(usage, Mapping):
        return None
    stated = each(usage, _FIELDS)
    # The host subtracts the cache classes from the provider's prompt count. Below zero, that count
    # excluded them already, so it is itself the uncached input.
    inferred = False
    if _is_negative(stated[0]):
        prompt = count(get(usage, "prompt_tokens"))
        if prompt is not None:
            stated[0], inferred = prompt, True
    counts = list(map(count, stated))
    if None in counts:
        _report(stated, counts)
        if counts.count(None) == len(counts):
            return None
    tokens_in, tokens_out, cache_read, cache_write, reasoning = [tokens or 0 for tokens in counts]
    return Usage(tokens_in, tokens_out, cache_read, cache_write, reasoning, inferred)


def cost_of(usage: Usage, price: Price) -> tuple[Decimal, int | None]:
    """What the call costs, in USD and exact, and the threshold of the tier it was charged at."""
    rates, tier_from = price.rates_for(usage.prompt)
    fresh, output, cache_read, cache_write, reasoning, _ = usage
    visible = output - reasoning
    if visible < 0:
        # More reasoning than output contradicts itself; the output count is what is billed.
        visible, reasoning = output, 0
    with localcontext(_EXACT):
        tokens = (
            fresh * rates.input
            + cache_read * rates.cache_read
            + cache_write * rates.cache_write
            + visible * rates.output
            + reasoning * (rates.output if rates.reasoning is None else rates.reasoning)
        )
        return tokens / _MILLION + rates.request, tier_from


def _report(stated: Sequence[Any], counts: Sequence[int | None]) -> None:
    for name, value, tokens in zip(_FIELDS, stated, counts, strict=True):
        if tokens is None and value is not None and name not in _reported:
            _reported.add(name)
            logger.warning("usage field %s holds no token count (%s): 0", name, _fault(value))


def _is_negative(value: Any) -> bool:
    exact = number(value)
    return exact is not None and -COUNT_LIMIT <= exact < 0


def _fault(value: Any) -> str:
    # The value itself is not logged: it is unbounded, and may be anything.
    return "negative" if _is_negative(value) else f"unusable {type(value).__name__}"
