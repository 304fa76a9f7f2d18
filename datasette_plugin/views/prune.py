"""Deleting old failed attempts: GET shows what a rule takes, POST and DELETE take it.

The page's form carries the instant that its preview was made for, so that what goes is what was
shown, however long it stood there.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from datasette import Response

from hermes_telemetry.store.locking import is_busy
from hermes_telemetry.store.maintenance import OldLedgerError, require_current
from hermes_telemetry.store.retention import (
    PAUSE_S,
    Preview,
    PruneRule,
    Pruning,
    parse_before,
    parse_status,
    preview,
)

from .. import access, compat
from .frame import Page, RefusedError, forget, view

PATH = "/-/telemetry/prune"
_TEMPLATE = "telemetry_prune.html"
_RULE = ("before", "status", "error_type", "model", "provider", "keep_last")
# What an address or a form carries beside the rule.
_BESIDE = ("database", "csrftoken", "since", "until", "profile")

Given = dict[str, list[Any]]


@view(PATH)
async def prune(page: Page) -> Response:
    """The preview for GET, the deletion for POST (form or JSON) and DELETE."""
    method = page.request.method
    if method in ("GET", "HEAD"):
        return await _show(page)
    if method not in ("POST", "DELETE"):
        allow = {"Allow": "GET, HEAD, POST, DELETE"}
        raise RefusedError(405, f"{method} is not supported here", allow)
    access.require_same_site(page.datasette, page.request)
    await access.require(page.datasette, page.request, access.PRUNE, page.database)
    if not _database(page).is_mutable:
        raise RefusedError(403, f"{page.database} is served as immutable: nothing can be deleted")
    given = await _given(page)
    try:
        rule = await _rule(page, given)
    except RefusedError as refusal:
        return await _refused(page, refusal, given)
    pruned = await _delete(page, rule)
    forget(page.datasette)
    shown: dict[str, Any] = {"form": _form(given), "may_prune": True}
    return await page.answer(_TEMPLATE, vars(pruned), period=False, **shown)


async def _show(page: Page) -> Response:
    given: Given = parse_qs(page.request.query_string, keep_blank_values=True)
    shown: dict[str, Any] = {"form": _form(given), "may_prune": await _may_prune(page)}
    if not page.wants_json and "before" not in given:
        return await page.answer(_TEMPLATE, {}, period=False, **shown)
    try:
        rule = await _rule(page, given)
    except RefusedError as refusal:
        return await _refused(page, refusal, given)
    found = await page.read(partial(preview, rule=rule))
    return await page.answer(
        _TEMPLATE, _previewed(rule, found), period=False, rule=_carried(rule), **shown
    )


async def _refused(page: Page, refusal: RefusedError, given: Given) -> Response:
    """The form again with what is wrong about it, where a person filled it in."""
    if page.wants_json:
        raise refusal
    shown: dict[str, Any] = {
        "form": _form(given),
        "error": str(refusal),
        "may_prune": await _may_prune(page),
    }
    return await page.answer(_TEMPLATE, {}, period=False, status=refusal.status, **shown)


async def _may_prune(page: Page) -> bool:
    allowed = await compat.allowed(page.datasette, page.request.actor, access.PRUNE, page.database)
    return allowed and _database(page).is_mutable


def _database(page: Page) -> Any:
    return page.datasette.get_database(page.database)


async def _delete(page: Page, rule: PruneRule) -> Any:
    """What was done, chunk by chunk with a pause in which recorders write."""
    pruning = await page.read(partial(Pruning, rule=rule))
    try:
        while not pruning.finished:
            await compat.write(_database(page), pruning.chunk)
            await asyncio.sleep(PAUSE_S)
    except sqlite3.OperationalError as error:
        if is_busy(error):
            raise RefusedError.locked(f"; {pruning.deleted:,} rows were deleted before") from error
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
            raise RefusedError(403, f"{page.database} cannot be written: {error}") from error
        raise
    return await page.read(pruning.outcome)


# --- the rule, out of an address, a form or JSON


async def _given(page: Page) -> Given:
    """What the body says, or for a DELETE without one the address; by name, in lists of texts.

    What a script leaves empty is refused, since a variable without a value would widen the rule;
    in a form it is a field that nobody filled in.
    """
    address: Given = parse_qs(page.request.query_string, keep_blank_values=True)
    body = await page.request.post_body()
    sent = page.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if page.request.method == "DELETE" and not body:
        return _filled(address)
    if twice := sorted(set(_RULE) & address.keys()):
        raise RefusedError(
            400, f"{', '.join(twice)}: give the rule in the body only, not in the address"
        )
    if sent == "application/json":
        return _filled(_of_json(body))
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True)
    except UnicodeDecodeError as error:
        raise RefusedError(400, "the body is not a form in UTF-8") from error


def _of_json(body: bytes) -> Given:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:  # the latter where lists stand in lists in …
        raise RefusedError(400, f"the body is not JSON: {error}") from error
    if not isinstance(said, dict):
        raise RefusedError(400, "the body is not a JSON object")
    _require_known(said, _RULE)
    return {
        name: [_text(name, one) for one in (value if isinstance(value, list) else [value])]
        for name, value in said.items()
    }


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if name in ("status", "keep_last") and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if name == "status" and value is None:
        return "none"
    raise RefusedError(400, f"{name}: {json.dumps(value)} is not a value that it takes")


def _filled(given: Given) -> Given:
    for name, values in given.items():
        if name != "before" and not (values and all(value.strip() for value in values)):
            raise RefusedError(400, f"{name} is empty: leave it out, or say which")
    return given


async def _rule(page: Page, given: Given) -> PruneRule:
    """The rule, with its absolute instant. RefusedError 400 for none, 409 for an older ledger."""
    _require_known(given, (*_RULE, *_BESIDE))
    texts = {name: [text.strip() for text in given.get(name, [])] for name in _RULE}
    for name in ("before", "model", "provider", "keep_last"):
        if len(texts[name]) > 1:
            raise RefusedError(400, f"{name} is given more than once")
    statuses = ",".join(texts["status"]).split(",")
    keep_last = _one(texts["keep_last"]) or "0"
    try:
        if not (keep_last.isascii() and keep_last.isdecimal()):
            raise ValueError(f"{keep_last!r} is not a number of rows to keep")
        rule = PruneRule(
            before=parse_before(_one(texts["before"]) or "", page.now, page.zone),
            status_codes=tuple(parse_status(text) for text in statuses if text.strip()),
            error_types=tuple(text for text in texts["error_type"] if text),
            model=_one(texts["model"]),
            provider=_one(texts["provider"]),
            keep_last=int(keep_last),
        )
    except ValueError as error:
        raise RefusedError(400, str(error)) from error
    file = Path(_database(page).path or page.database)
    try:
        await page.read(partial(require_current, path=file))
    except OldLedgerError as error:
        raise RefusedError(409, str(error)) from error
    return rule


def _require_known(given: Iterable[str], known: Iterable[str]) -> None:
    """A typo in a name would leave out what narrows the rule."""
    if unknown := sorted(set(given) - set(known)):
        rule = ", ".join(_RULE)
        raise RefusedError(
            400, f"{', '.join(unknown)}: not a parameter of a rule, which are {rule}"
        )


def _one(texts: list[str]) -> str | None:
    return texts[0] or None if texts else None


# --- what is shown


def _previewed(rule: PruneRule, found: Preview) -> dict[str, Any]:
    return {
        "before": rule.before + "+00:00",
        "matching": found.total,
        "groups": [vars(group) for group in found.groups],
        "remaining": found.remaining,
        "oldest_remaining": found.oldest_remaining,
    }


def _carried(rule: PruneRule) -> list[tuple[str, object]]:
    """The rule as fields of the form that carries it out."""
    fields: list[tuple[str, object]] = [("before", rule.before + "+00:00")]
    fields += [("status", "none" if code is None else code) for code in rule.status_codes]
    fields += [("error_type", kind) for kind in rule.error_types]
    named = {"model": rule.model, "provider": rule.provider, "keep_last": rule.keep_last}
    return fields + [(name, value) for name, value in named.items() if value]


def _form(given: Given) -> dict[str, list[str]]:
    """What stands in the fields: as it was typed."""
    return {name: [str(text) for text in given.get(name, [])] for name in _RULE}
