"""Taking secrets out of error texts before they are stored or logged.

By shape (the vendors' key prefixes, bearer tokens, JSON web tokens), by place (key and token
parameters and passwords in URLs, headers), and by value: whatever stands in an environment variable
that is named like a secret.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from .values import text as storable

REDACTED = "[redacted]"

WINDOW = 8192
"""Characters of a text that are looked at; more than is ever kept of one, so a cut falls behind
it.
"""

LOGGED = 500
"""Characters of an exception's text in a log line."""

_SECRET_NAMES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_VALUE = 8

_LONGEST_WORD = 2048

_SHAPES = re.compile(
    r"""
      # So long that it is a key even where it is glued to a word …
      sk-(?: ant | or-v1 | proj | svcacct ) - [A-Za-z0-9_*.-]{32,}
    | AIza [A-Za-z0-9_-]{32,}
    | hf_ [A-Za-z0-9]{30,}
    | xai- [A-Za-z0-9_]{40,}
      # … and where a word begins, also behind the escape of a blank or a quote: shorter ones.
    | (?: (?<![A-Za-z0-9]) | (?<=\\[nrt]) | (?<=\\u00[0-9a-f][0-9a-f]) | (?<=%[0-9A-F][0-9A-F]) )
      (?:
          sk - [A-Za-z0-9_*.-]{5,} [A-Za-z0-9_*-]      # OpenAI, Anthropic, OpenRouter, DeepSeek …
        | [prs]k [_-] [A-Za-z0-9_*.-]{16,}
        | hf_ (?: (?= [a-z]* [A-Z0-9*] ) [A-Za-z0-9*]{6,} | [a-z]{16,} )   # not hf_hub_download
        | (?: gsk | gh[opsur] | glpat | xox[abprs] | r8 ) [_-] [A-Za-z0-9_*-]{6,}
        | (?: xai | pplx | fw ) [_-] [A-Za-z0-9*]{10,}                     # not xai-grok-4
        | (?: nvapi | tvly ) - [A-Za-z0-9_*-]{6,}
        | AIza [A-Za-z0-9_*-]{6,}
        | ya29\. [A-Za-z0-9_*.-]{6,}
        | A[KS]IA [A-Z0-9]{12,}
        | eyJ [A-Za-z0-9_-]{6,} (?: \. [A-Za-z0-9_-]+ ){0,2}
      )
    """,
    re.VERBOSE,
)
_BEARER = re.compile(
    r"\b(bearer)((?:\s+|%20|\+)\\{0,7}[\"']?)"
    # What a text says about the scheme is no token.
    r"(?!(?:auth[a-z]{0,14}|tokens?|credentials?|scheme|challenge|header|format|access|error)"
    r"(?![\w~+/=-]|\.\w)|realm=)"
    r"[^\s\"',;}\]]{6,}",
    re.IGNORECASE,
)
_BASIC = re.compile(
    # Base64 soon holds a capital or a digit, "basic authentication" does not.
    r"\b((?i:basic))(\s+|%20|\+)[A-Za-z0-9+/_-](?=[a-z+/_-]{0,30}[A-Z0-9=])[\w+/=-]{5,}"
)
_HEADER = re.compile(
    r"((?:authorization|x-api-key|x-goog-api-key|api[-_]?key)\\{0,3}[\"']?\s*[:=]\s*\\{0,3}[\"']?"
    r"(?:(?:token|digest|apikey|key)\s+)?)"
    r"(?!(?:bearer|basic)(?:\s|%20|\+)|\[redacted\])[^\s\"',;&}\]\\]{6,}",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"((?:[?&;#]|\\u0026|%26|%3F)[\w.-]*(?:key|token|secret|password|signature|sig)"
    r"(?:=|\\{1,7}u003d|%3D))[^&\s\"'<>#;]+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"""
    ( : (?: \\{0,7} / ){2} )
      # Up to the last @, which a slash in a password may precede, but not one behind a port …
    (?: (?: [^\s/:"'<>]* : (?! \d{1,5} \\{0,7} / ) [^\s"'<>]+ | [^\s/"'<>]+ ) (@) )?
      # … and all the rest, so that no address is gone through again for each :// inside it.
    ( [^\s"'<>]* )
    """,
    re.VERBOSE,
)


def redact(text: str) -> str:
    """``text`` without secrets, and without what lies beyond its first 8192 characters."""
    known = _known(_secret_values())
    if len(text) > WINDOW:
        text = _beginning(text, known.forms)
    text = known.pattern.sub(REDACTED, text)
    text = _ADDRESS.sub(_without_userinfo, text)
    text = _PARAMETER.sub(rf"\1{REDACTED}", text)
    text = _BEARER.sub(rf"\1\2{REDACTED}", text)
    text = _BASIC.sub(rf"\1\2{REDACTED}", text)
    text = _HEADER.sub(rf"\1{REDACTED}", text)
    return _SHAPES.sub(REDACTED, text)


def describe(error: BaseException) -> str:
    """An exception in at most 500 characters of a log line, without secrets. Never raises."""
    try:
        return redact(storable(repr(error), WINDOW + 1))[:LOGGED]
    except Exception:  # it holds an object that has no repr, say
        return type(error).__name__


def _without_userinfo(address: re.Match[str]) -> str:
    slashes, at, rest = address.groups()
    return f"{slashes}{REDACTED}@{rest}" if at else address[0]


def _beginning(text: str, secrets: tuple[str, ...]) -> str:
    """The first 8192 characters, without what may be a part of a secret that goes on behind
    them: neither shape nor value tells that any more.
    """
    text = text[:WINDOW]
    halves = (
        length
        for secret in secrets
        for length in range(min(len(secret), WINDOW), 0, -1)
        if text.endswith(secret[:length])
    )
    text = text[: len(text) - max(halves, default=0)]
    word = max(text.rfind(mark) for mark in " \t\n\"'<>") + 1
    return text[: max(word, len(text) - _LONGEST_WORD)]


def _secret_values() -> frozenset[str]:
    values = (
        os.environ.get(name, "").strip()  # another thread may take the variable away meanwhile
        for name in list(os.environ)
        if name.upper().endswith(_SECRET_NAMES)
    )
    return frozenset(value for value in values if len(value) >= _SHORTEST_VALUE)


class _Known(NamedTuple):
    """Values of the environment in the forms they take in texts; ``pattern`` finds any of them."""

    forms: tuple[str, ...]
    pattern: re.Pattern[str]


@lru_cache(maxsize=8)
def _known(values: frozenset[str]) -> _Known:
    forms = {form for value in values for form in _forms(value)}
    longest_first = tuple(sorted(forms, key=len, reverse=True))
    either = "|".join(map(re.escape, longest_first))
    return _Known(longest_first, re.compile(either or "(?!)"))


def _forms(value: str) -> Iterator[str]:
    """A value as texts hold it: as it is, made storable, inside a JSON text, inside a URL.

    Bytes of the environment that are not UTF-8 stand in it as lone surrogates.
    """
    yield value
    yield storable(value, len(value))
    yield json.dumps(value)[1:-1]
    yield quote(value, errors="replace")
    yield quote(value, safe="", errors="replace")
