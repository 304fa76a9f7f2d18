"""Changing ``pricing.yaml`` without touching what the user wrote in it.

New text is spliced into the old one at the places that the YAML parser names, so every byte that
is not part of a changed entry stays: comments, blank lines, order, quotes. Before anything is
replaced, old and new are parsed and compared: a splice that would change another key is given up.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from .files import Loader, PricingFileError, load_mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\[\]{}]+")
_ID = re.compile(r"[\x21-\x7e]{1,512}")
_LINE = 96
_TRIES = 3


def edit_pricing(path: Path, change: Callable[[str], str]) -> bool:
    """Replaces the file by ``change(its text)``; an absent file has the text ''.

    One process at a time; the file is replaced whole, and what it replaces is kept as
    ``pricing.yaml.bak``. Returns False if nothing changed. Raises PricingFileError if the file is
    malformed, OSError if it cannot be read or written; the file is then as before.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(".pricing.lock")):
        for _ in range(_TRIES):
            old = path.read_bytes() if path.exists() else None
            text = _decoded(old or b"")
            new = change(text)
            if new == text:
                return False
            load_mapping(new.encode())
            # Someone's editor does not know the lock. What it saved meanwhile is the new old text.
            if (path.read_bytes() if path.exists() else None) == old:
                if old is not None:
                    _replace(path.with_name(path.name + ".bak"), old, path)
                _replace(path, new.encode(), path if old is not None else None)
                return True
    raise PricingFileError("the file kept changing while it was to be written")


def set_keys(text: str, section: str, values: Mapping[str, Any]) -> str:
    """``text`` with the keys of a top-level section set: existing ones replaced, others added.

    Raises PricingFileError if the text cannot be parsed, or if the change cannot be made without
    changing something else.
    """
    if not values:
        return text
    before = load_mapping(text.encode())
    newline = "\r\n" if "\r\n" in text else "\n"
    new = _Splice(text, newline).set(section, values)
    after = load_mapping(new.encode())
    expected = {**before, section: {**(before.get(section) or {}), **_reloaded(values)}}
    # As text: a .nan that the user wrote does not equal itself.
    if repr(_sorted(expected)) != repr(_sorted(after)):
        raise PricingFileError(f"{section} cannot be changed without changing other entries")
    return new


def is_writable_id(id: Any) -> TypeGuard[str]:
    """True for ids that a source may bring into the file: printable ASCII, up to 512 characters."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock file that other processes wait for; without such locks (Windows) nothing."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class _Splice:
    """Edits of one text, made from the end to the beginning so that positions stay true."""

    def __init__(self, text: str, newline: str) -> None:
        self._text = text
        self._newline = newline

    def set(self, section: str, values: Mapping[str, Any]) -> str:
        root: Any = yaml.compose(self._text, Loader=Loader)
        pair = next(
            (pair for pair in (root.value if root is not None else ()) if pair[0].value == section),
            None,
        )
        if pair is None:
            lines = self._lines(values, "  ")
            if root is not None and root.flow_style:
                return self._spliced([self._addition(root, f"{section}: {flow(values)}")])
            gap = "" if not self._text or self._text.endswith("\n") else self._newline
            return f"{self._text}{gap}{section}:{lines}{self._newline}"
        key, node = pair
        if not (isinstance(node, yaml.MappingNode) and node.value):
            # "models:", "models: ~" or "models: {}": the value goes, the entries follow the line.
            start, end = node.start_mark.index, node.end_mark.index
            if root.flow_style:
                return self._spliced([(start, end, f" {flow(values)}")])
            at = self._line_end(end)
            indent = " " * (key.start_mark.column + 2)
            return self._spliced([(start, end, ""), (at, at, self._lines(values, indent))])
        edits = []
        missing = dict(values)
        for key, value in node.value:
            if key.value in missing:
                end = self._end(key, value)
                new = self._value(missing.pop(key.value), " " * node.start_mark.column)
                edits.append((key.end_mark.index, end, f": {new}"))
        if missing and node.flow_style:
            edits.append(self._addition(node, flow(missing)[1:-1]))
        elif missing:
            at = self._line_end(self._end(*node.value[-1]))
            indent = " " * node.value[0][0].start_mark.column
            edits.append((at, at, self._lines(missing, indent)))
        return self._spliced(edits)

    def _lines(self, values: Mapping[str, Any], indent: str) -> str:
        return "".join(
            f"{self._newline}{indent}{_key(key)}: {self._value(value, indent)}"
            for key, value in values.items()
        )

    def _value(self, value: Any, indent: str) -> str:
        """In flow style; a list that is too long for a line goes over several."""
        whole = flow(value)
        if not isinstance(value, list) or len(whole) <= _LINE:
            return whole
        lines, line = ["["], f"{indent}  "
        for item in value:
            piece = f"{flow(item)}, "
            if len(line) + len(piece) > _LINE:
                lines.append(line.rstrip())
                line = f"{indent}  "
            line += piece
        return self._newline.join([*lines, line.rstrip(), f"{indent}]"])

    def _addition(self, node: Any, inside: str) -> tuple[int, int, str]:
        """The edit that adds pairs to a flow mapping. A trailing comma stays where it is."""
        if node.value:
            at = self._end(*node.value[-1])
            return at, at, f", {inside}"
        at = node.start_mark.index + 1
        return at, at, inside

    def _end(self, key: Any, value: Any) -> int:
        """Where a pair ends: behind its last visible character."""
        if value.start_mark.index < key.end_mark.index:
            # An alias: the parser hands out the anchored node, with that one's place.
            alias = _ALIAS.match(self._text, key.end_mark.index)
            return alias.end() if alias else key.end_mark.index
        if isinstance(value, yaml.ScalarNode):
            end: int = value.end_mark.index
            if end == value.start_mark.index:  # nothing is written: "key:"
                return self._text.index(":", key.end_mark.index) + 1
            return len(self._text[:end].rstrip())
        if value.flow_style:
            return int(value.end_mark.index)
        # The parser lets a block end at the next token, behind comments that are not its own.
        last = value.value[-1]
        return self._end(*last) if isinstance(value, yaml.MappingNode) else self._end(key, last)

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        if end < 0:
            return len(self._text)
        return end - 1 if end > at and self._text[end - 1] == "\r" else end

    def _spliced(self, edits: Sequence[tuple[int, int, str]]) -> str:
        text = self._text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def flow(value: Any) -> str:
    """A value as YAML on one line; numbers without exponent."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, date):  # in quotes it would be text
        return value.isoformat()
    if isinstance(value, (int, float, Decimal)):
        text = f"{Decimal(str(value)):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _key(str(value))


def _key(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text)


def _reloaded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: yaml.load(flow(value), Loader=Loader) for key, value in values.items()}


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted(
            ((str(key), _sorted(item)) for key, item in value.items()), key=lambda p: p[0]
        )
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        before = raw[: fault.start].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise PricingFileError(f"line {line}, column {column}: not UTF-8") from None


def _replace(path: Path, content: bytes, like: Path | None) -> None:
    """Puts ``content`` at ``path`` in one step, with the permissions of ``like``."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(name, 0o644 if like is None else like.stat().st_mode & 0o777)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
