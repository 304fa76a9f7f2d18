"""One variable of a `.env` file, read and set as python-dotenv understands such files.

In bytes: whatever else stands in the file, in whatever encoding, stays as it is.
"""

from __future__ import annotations

import re

_NAME = b"HERMES_TELEMETRY_HOME"

# A quoted value may go over several lines, and a line in it may look like ours: each assignment is
# matched as a whole, so that the search goes on behind it. One with anything but a comment behind
# its quotes says nothing, and neither does a quote that is not closed.
_ASSIGNMENT = re.compile(
    rb"""
    (?: ^ | (?<=\r) )
    (?:\xef\xbb\xbf)? [^\S\r\n]*
    (?: export [^\S\r\n]+ )?
    (?P<name> '[^'\r\n]+' | [^'=\#\s][^=\#\s]* )
    (?: [^\S\r\n]* = [^\S\r\n]*
      (?P<value>
          ' (?: \\' | [^'] )* '
        | " (?: \\" | [^"] )* "
        | (?! ['"] ) (?: (?! [^\S\r\n]+ \# | [^\S\r\n]* (?:\r|\n|\Z) ) [^\r\n] )*
      )
    )?
    (?P<behind> [^\r\n]* )
    """,
    re.MULTILINE | re.VERBOSE,
)
_NOTHING = re.compile(rb"\s*(?:#.*)?", re.DOTALL)
_ESCAPED = {b"'": re.compile(rb"\\([\\'])"), b'"': re.compile(rb'\\([\\"])')}
_PLAIN = re.compile(r"[A-Za-z0-9_./~@%+:,=-]+")


class EnvFileError(ValueError):
    """A file, or a value, that cannot be dealt with; the text says why."""


def value_in(content: bytes) -> str | None:
    """What the file sets the telemetry home to (the last line counts); None if it does not.

    Raises EnvFileError for a file in UTF-16 or UTF-32.
    """
    found = _last(content)
    raw = found["value"] if found else None
    if raw is None:
        return None
    quote = raw[:1]
    if quote in _ESCAPED and len(raw) > 1 and raw.endswith(quote):
        raw = _ESCAPED[quote].sub(rb"\1", raw[1:-1])
    return raw.decode(errors="replace")


def with_value(content: bytes, value: str) -> bytes:
    """The file with the telemetry home set: in the line that counts, else in a new last one.

    Raises EnvFileError for a file in UTF-16 or UTF-32, for a value that no such file can hold, and
    for one that would change what another line says.
    """
    written = _quoted(value)
    found = _last(content)
    if found and found["value"] is None:  # as in `export NAME`, which takes the value away
        made = content[: found.end("name")] + b"=" + written + content[found.end("name") :]
    elif found:
        made = content[: found.start("value")] + written + content[found.end("value") :]
    else:
        newline = b"\r\n" if b"\r\n" in content else b"\n"
        gap = newline if content and not content.endswith((b"\n", b"\r")) else b""
        made = content + gap + _NAME + b"=" + written + newline
    # A quote that was open ends at the first of ours.
    if value_in(made) != value or _others(made) != _others(content):
        raise EnvFileError("a quote in it is not closed: close it first")
    return made


def _last(content: bytes) -> re.Match[bytes] | None:
    ours = [match for match in _assignments(content) if _name(match) == _NAME]
    return ours[-1] if ours else None


def _others(content: bytes) -> list[tuple[bytes, bytes | None]]:
    return [(_name(each), each["value"]) for each in _assignments(content) if _name(each) != _NAME]


def _name(assignment: re.Match[bytes]) -> bytes:
    return assignment["name"].strip(b"'")


def _assignments(content: bytes) -> list[re.Match[bytes]]:
    if b"\0" in content:
        raise EnvFileError("not a text in UTF-8")
    return [m for m in _ASSIGNMENT.finditer(content) if _NOTHING.fullmatch(m["behind"])]


def _quoted(value: str) -> bytes:
    if any(sign in value for sign in ("\n", "\r", "\0", "${")):
        raise EnvFileError(f"a .env file cannot hold the path {value!r}")
    if not _PLAIN.fullmatch(value):
        value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise EnvFileError(f"a .env file cannot hold the path {value!r}: not UTF-8") from error
