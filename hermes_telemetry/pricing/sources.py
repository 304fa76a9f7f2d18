"""Where list prices can be fetched from.

A source answers with entries as ``pricing.yaml`` holds them: USD per million tokens under
``input``, ``output``, ``cache_read``, ``cache_write``, ``reasoning``, ``tiers``; ``request`` in USD
per call. Others register theirs under the entry-point group ``hermes_telemetry.pricing_sources``.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from .editing import is_writable_id
from .entries import charged_apart
from .files import seeded_block

logger = logging.getLogger(__name__)

GROUP = "hermes_telemetry.pricing_sources"
OPENROUTER_URL = "https://openrouter.ai/api/v1/models"
# The day on which the Google block of seeds.yaml was compared with Google's list.
LAST_VERIFIED = "2026-06-05"

DEADLINE_S = 30.0
BYTE_CAP = 20 * 1024 * 1024
_CONNECT_S = 10.0
_READ_S = 10.0
_CHUNK = 8192
_MOST_REDIRECTS = 3
_MILLION = Decimal(1_000_000)
_FIELDS = (
    ("input", "prompt"),
    ("output", "completion"),
    ("cache_read", "input_cache_read"),
    ("cache_write", "input_cache_write"),
    ("reasoning", "internal_reasoning"),
)

Entry = dict[str, Any]
T = TypeVar("T")


class SourceError(Exception):
    """A source that gave no usable list; the text is one line, without addresses or secrets."""


class PricingSource(ABC):
    """A list of prices that a refresh takes over."""

    #: Written into each entry as ``_source``. "openrouter" has a meaning of its own: such entries
    #: serve only calls through the router.
    name: str
    #: Seconds after which a fetch is given up.
    deadline: float = DEADLINE_S

    @abstractmethod
    def fetch(self) -> Mapping[str, Entry]:
        """The current list, id to entry. May take seconds and may raise anything: the caller
        bounds the time and keeps the former prices."""


class OpenRouterSource(PricingSource):
    """The router's own list of models, which needs no key.

    ``url`` can name a proxy or a test server. Redirects are followed on the same host only.
    """

    name = "openrouter"

    def __init__(
        self,
        url: str = OPENROUTER_URL,
        *,
        deadline: float = DEADLINE_S,
        byte_cap: int = BYTE_CAP,
    ) -> None:
        self._url = url
        self.deadline = deadline
        self._byte_cap = byte_cap

    def fetch(self) -> dict[str, Entry]:
        """Raises SourceError."""
        try:
            answer = json.loads(self._body())
        except (ValueError, RecursionError):
            raise SourceError("the answer is not JSON") from None
        models = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(models, list):
            raise SourceError("the answer holds no list of models")
        entries: dict[str, Entry] = {}
        seen: set[str] = set()
        unusable = repeated = 0
        for model in models:
            id = model.get("id") if isinstance(model, dict) else None
            entry = _entry_of(model.get("pricing")) if is_writable_id(id) else None
            if id is None or entry is None:
                unusable += 1
            elif id.lower() in seen:
                repeated += 1
            else:
                seen.add(id.lower())
                entries[id] = entry
        if unusable or repeated:
            logger.warning(
                "%s: of %d models %d have no usable price and %d come again (the first counts)",
                self.name,
                len(models),
                unusable,
                repeated,
            )
        return entries

    def _body(self) -> bytes:
        """The body of the answer. The caller bounds the whole; here the chunks are bounded too, so
        that a thread it gave up does not go on reading."""
        import requests

        until = time.monotonic() + self.deadline
        with requests.Session() as session:
            url = self._url
            for _ in range(_MOST_REDIRECTS):
                try:
                    answer = session.get(
                        url,
                        stream=True,
                        allow_redirects=False,
                        timeout=(_CONNECT_S, _READ_S),
                        headers={"Accept": "application/json"},
                    )
                    if answer.is_redirect:
                        url = _same_host(url, answer.headers.get("Location", ""))
                        answer.close()
                        continue
                    _check_status(answer.status_code, answer.headers.get("Retry-After"))
                    body = bytearray()
                    for chunk in answer.iter_content(_CHUNK):
                        body += chunk
                        if len(body) > self._byte_cap:
                            raise SourceError(f"the answer is longer than {self._byte_cap} bytes")
                        if time.monotonic() > until:
                            raise SourceError("the answer came too slowly")
                    return bytes(body)
                except requests.Timeout:
                    raise SourceError("no answer in time") from None
                except requests.RequestException as fault:
                    # Its text would name the address, which can hold a key.
                    raise SourceError(f"the transfer failed ({type(fault).__name__})") from None
        raise SourceError("too many redirects")


class GoogleAISource(PricingSource):
    """Google's prices, which no address serves in a form for programs: the table that comes with
    the package, as of ``LAST_VERIFIED``."""

    name = "google"

    def fetch(self) -> dict[str, Entry]:
        """Reads no network and does not fail."""
        return {id: dict(entry) for id, entry in seeded_block("google")["models"].items()}


def all_sources(openrouter_url: str | None = None) -> list[PricingSource]:
    """The shipped sources and those that other packages register; a broken one is left out with
    one log line."""
    sources: list[PricingSource] = [
        OpenRouterSource(openrouter_url or OPENROUTER_URL),
        GoogleAISource(),
    ]
    names = {source.name for source in sources}
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    for point in entry_points(group=GROUP):
        try:
            found = point.load()
            source = found() if isinstance(found, type) else found
            if not isinstance(source, PricingSource):
                raise TypeError("it is not a PricingSource")
        except Exception as fault:
            logger.warning("the pricing source %r cannot be used: %s", point.name, fault)
            continue
        if source.name not in names:
            names.add(source.name)
            sources.append(source)
    return sources


def within(deadline: float, action: Callable[[], T]) -> T:
    """``action()``, given up after ``deadline`` seconds by the wall clock.

    A read timeout bounds a silence, not a sum of them: a server that sends a byte now and then
    holds a caller for ever. So the work runs in a thread that is left behind when the time is over.
    Raises SourceError then, or what ``action`` raised.
    """
    outcome: list[T] = []
    fault: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            fault.append(error)

    worker = threading.Thread(target=work, name="telemetry-price-list", daemon=True)
    worker.start()
    worker.join(deadline)
    if worker.is_alive():
        raise SourceError(f"no complete answer within {deadline:g} s")
    if fault:
        raise fault[0]
    return outcome[0]


def _check_status(status: int, retry_after: str | None) -> None:
    if status != 200:
        wait = f", to be asked again in {retry_after} s" if (retry_after or "").isdigit() else ""
        raise SourceError(f"HTTP status {status}{wait}")


def _same_host(url: str, location: str) -> str:
    target = urljoin(url, location)
    here, there = urlsplit(url), urlsplit(target)
    if here.netloc != there.netloc or there.scheme not in (here.scheme, "https"):
        raise SourceError("it redirects to another host")
    return target


def _entry_of(pricing: Any) -> Entry | None:
    """An entry in USD per million from the router's strings in USD per token; None if there is
    no price that could be charged."""
    if not isinstance(pricing, dict):
        return None
    stated = _stated(pricing)
    if any(rate < 0 for rate in stated.values()):
        # "-1": the router decides per call. That is neither a price nor a gift.
        return {"_estimated_price": True}
    if "input" not in stated or "output" not in stated:
        return None
    tiers = []
    overrides = pricing.get("overrides")
    for override in overrides if isinstance(overrides, list) else []:
        threshold = override.get("min_prompt_tokens") if isinstance(override, dict) else None
        if type(threshold) is not int or threshold < 1:
            continue
        own = {key: rate for key, rate in _stated(override).items() if key != "request"}
        if any(rate < 0 for rate in own.values()):
            return {"_estimated_price": True}
        # What a tier does not override goes on as before, except cache rates: an unstated one is
        # the tier's own input rate, an upper bound.
        tier: Entry = {"min_prompt_tokens": threshold}
        tier |= {key: stated[key] for key in ("input", "output", "reasoning") if key in stated}
        tiers.append(tier | own)
    entry: Entry = dict(stated)
    return {**entry, "tiers": tiers} if tiers else entry


def _stated(pricing: Mapping[str, Any]) -> dict[str, Decimal]:
    rates = {}
    for ours, theirs in _FIELDS:
        rate = _number(pricing.get(theirs))
        if rate is not None:
            rates[ours] = rate * _MILLION
    request = _number(pricing.get("request"))
    if request:
        rates["request"] = request
    return charged_apart(rates)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() and abs(number) <= 1000 else None
