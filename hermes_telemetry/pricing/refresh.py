"""Taking prices over from the sources into ``pricing.yaml``.

By itself at most once a day, and never where a session would wait for it: the caller brings a
thread. An id that stands in ``models:`` but not in ``_meta.auto_models`` is the user's own; it is
never changed, and reported when a source says otherwise. An id that a source no longer lists keeps
its last price.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..paths import pricing_path, refresh_mark_path
from ..windows import SYSTEM_CLOCK, Clock, timestamp
from ..yaml_files.editing import locked, set_keys
from .editing import edit_pricing, is_writable_id
from .entries import Quote, parse_entry
from .files import load_mapping
from .sources import Entry, PricingSource, SourceError, all_sources, within

logger = logging.getLogger(__name__)

SECONDS_BETWEEN = 24 * 3600
# A process may be ended in the middle of a refresh: its claim must not count for a day.
_SECONDS_CLAIMED = 600
_SMALLEST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Difference:
    """A user's entry that a source prices otherwise: USD per million input and output tokens,
    None where the entry has no fixed price."""

    id: str
    source: str
    own: tuple[float, float] | None
    listed: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did: ids by what happened to them, and why a source was left out."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: int = 0
    differences: tuple[Difference, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


def refresh_if_due(home: Path, clock: Clock = SYSTEM_CLOCK) -> RefreshReport | None:
    """A refresh, unless one was tried within a day or HERMES_TELEMETRY_NO_SETUP is 1.

    Takes as long as the sources do: run it in a thread of its own. Never raises; None if nothing
    was tried.
    """
    if os.environ.get("HERMES_TELEMETRY_NO_SETUP") == "1":
        return None
    try:
        if not _claim(home, clock):
            return None
        try:
            report = refresh(home, clock=clock)
        finally:
            # A try counts, whatever comes of it: a source in trouble is not asked at every start.
            _mark(home, clock)
        for name, reason in report.failures.items():
            logger.warning("%s: %s; its former prices stay", name, reason)
        return report
    except Exception as fault:
        logger.warning("prices were not refreshed: %s", fault)
        return None


def refresh(
    home: Path,
    sources: Sequence[PricingSource] | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> RefreshReport:
    """Fetches every source and takes its prices over; ``sources`` defaults to all there are.

    A source that fails is left out and named in the report; its former prices stay. Raises
    ConfigFileError if ``pricing.yaml`` is malformed, OSError if it cannot be written.
    """
    path = pricing_path(home)
    before = load_mapping(path.read_bytes()) if path.exists() else {}
    if sources is None:
        url = (before.get("refresh") or {}).get("openrouter_url")
        sources = all_sources(url if isinstance(url, str) else None)
    feeds: dict[str, dict[str, Entry]] = {}
    failures: dict[str, str] = {}
    for source in sources:
        try:
            feeds[source.name] = _usable(source.name, within(source.deadline, source.fetch), before)
        except Exception as fault:
            reason = str(fault) if isinstance(fault, SourceError) else type(fault).__name__
            failures[source.name] = reason
    _mark(home, clock)
    if not feeds:
        return RefreshReport(failures=failures)
    report = RefreshReport()

    def take_over(text: str) -> str:
        nonlocal report
        text, report = _merged(text, feeds, failures, timestamp(clock.now()))
        return text

    edit_pricing(path, take_over)
    return report


def _claim(home: Path, clock: Clock) -> bool:
    """True for the one process that may refresh now; no other may for ten minutes."""
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / ".pricing.lock"):
        try:
            age = clock.now().timestamp() - refresh_mark_path(home).stat().st_mtime
        except FileNotFoundError:
            age = SECONDS_BETWEEN
        # A mark from the future is a clock that was put back.
        if 0 <= age < SECONDS_BETWEEN:
            return False
        _mark(home, clock, SECONDS_BETWEEN - _SECONDS_CLAIMED)
        return True


def _mark(home: Path, clock: Clock, age: float = 0.0) -> None:
    """Notes a refresh as of ``age`` seconds ago: what is left of a day passes before the next."""
    home.mkdir(parents=True, exist_ok=True)
    marker = refresh_mark_path(home)
    marker.touch()
    at = clock.now().timestamp() - age
    os.utime(marker, (at, at))


def _usable(name: str, feed: Any, before: Mapping[Any, Any]) -> dict[str, Entry]:
    """The entries of a feed that can be charged. Raises SourceError for a list that is too short
    to be true."""
    if not isinstance(feed, Mapping):
        raise SourceError("it gave no list of prices")
    entries: dict[str, Entry] = {}
    for id, entry in feed.items():
        try:
            if not is_writable_id(id):
                raise ValueError("the id is not printable")
            tagged = {**entry, "_source": name}
            parse_entry(id, tagged)
            entries[id] = tagged
        except (TypeError, ValueError) as fault:
            logger.warning("%s: the entry of %.100r is ignored: %s", name, id, fault)
    if not entries:
        raise SourceError("the list is empty")
    sizes = (before.get("_meta") or {}).get("feed_sizes")
    last = sizes.get(name) if isinstance(sizes, Mapping) else None
    if type(last) is not int:
        last = sum(
            isinstance(entry, Mapping) and entry.get("_source") == name
            for entry in (before.get("models") or {}).values()
        )
    if len(entries) < last * _SMALLEST_SHARE:
        raise SourceError(
            f"the list shrank from {last} to {len(entries)} prices (if that is right, write"
            f" `feed_sizes: {{{name}: {len(entries)}}}` below `_meta:` in pricing.yaml)"
        )
    return entries


def _merged(
    text: str, feeds: Mapping[str, dict[str, Entry]], failures: Mapping[str, str], now: str
) -> tuple[str, RefreshReport]:
    data = load_mapping(text.encode())
    models: Mapping[Any, Any] = data.get("models") or {}
    meta: Mapping[Any, Any] = data.get("_meta") or {}
    written = {str(id).strip().lower(): id for id in models}
    automatic = {str(id).lower(): str(id) for id in _listed(meta, "auto_models")}
    values: dict[str, Entry] = {}
    added, changed, unchanged = [], [], 0
    differences: list[Difference] = []
    taken: set[str] = set()
    for name, feed in feeds.items():
        for id, entry in feed.items():
            key = id.lower()
            if key in taken:  # an earlier source has it
                continue
            taken.add(key)
            if key not in written:
                values[id] = entry
                automatic[key] = id
                added.append(id)
            elif _same(models[written[key]], entry):
                unchanged += 1
            elif key in automatic and isinstance(written[key], str):
                values[written[key]] = entry
                changed.append(written[key])
            else:
                own, listed = _quote(models[written[key]]), _quote(entry)
                if own != listed:
                    pair = _pair(own), _pair(listed)
                    differences.append(Difference(str(written[key]), name, *pair))
    merged = {**models, **values}
    text = set_keys(text, "models", values)
    text = set_keys(
        text,
        "_meta",
        {
            "auto_models": sorted(automatic.values()),
            "estimated_price_models": _tagged(merged, "_estimated_price"),
            "subscription_models": _tagged(merged, "_subscription"),
            "feed_sizes": {
                **(meta.get("feed_sizes") or {}),
                **{name: len(feed) for name, feed in feeds.items()},
            },
            "last_refresh": now,
        },
    )
    return text, RefreshReport(
        tuple(added), tuple(changed), unchanged, tuple(differences), dict(failures)
    )


def _listed(meta: Mapping[Any, Any], key: str) -> list[Any]:
    value = meta.get(key)
    return value if isinstance(value, list) else []


def _tagged(models: Mapping[Any, Any], tag: str) -> list[str]:
    return sorted(
        str(id)
        for id, entry in models.items()
        if isinstance(entry, Mapping) and entry.get(tag) is True
    )


def _same(old: Any, new: Entry) -> bool:
    """True if an entry as read from the file says what the new one would."""
    try:
        return parse_entry("", old) == parse_entry("", new)
    except ValueError:
        return False


def _quote(raw: Any) -> Quote | None:
    try:
        return parse_entry("", raw).quote
    except ValueError:
        return None


def _pair(quote: Quote | None) -> tuple[float, float] | None:
    return None if quote is None else (float(quote.input), float(quote.output))
