"""Changing a configuration file without touching what the user wrote in it.

New text is spliced into the old one at the places that the YAML parser names, so every byte that
is not part of a changed entry stays: comments, blank lines, order, quotes. Before anything is
replaced, old and new are parsed and compared: a splice that would change another key is given up.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from ..file_locks import hold
from ..whole_files import replace, write_new
from .text import ConfigFileError, compose, no_text

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\[\]{}]+")
_BOM = "\ufeff"
_LINE = 96
_TRIES = 3
_MODE = 0o644


def edit_file(path: Path, change: Callable[[str], str], check: Callable[[bytes], object]) -> bool:
    """Replaces the file by ``change(its text)``; an absent file has the text ''.

    One process at a time; the file is replaced whole, and what it replaces is kept beside it under
    its name with ``.bak`` behind. Returns False if nothing changed. Raises ConfigFileError if the
    file is malformed, what ``check`` raises where the new text is not what it should be, and
    OSError if the file cannot be read or written; it is then as before.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(f".{path.stem}.lock")):
        for _ in range(_TRIES):
            old = path.read_bytes() if path.exists() else None
            text = _decoded(old or b"")
            new = change(text)
            if new == text:
                return False
            check(new.encode())
            # Someone's editor does not know the lock. What it saved meanwhile is the new old text.
            if old is None:
                if write_new(path, new.encode(), _MODE):
                    return True
            else:
                backup = path.with_name(path.name + ".bak")
                backup.unlink(missing_ok=True)
                write_new(backup, old, path.stat().st_mode & 0o7777)
                if replace(path, new.encode(), old):
                    return True
    raise ConfigFileError("the file kept changing while it was to be written")


def set_keys(text: str, section: str | tuple[str, ...], values: Mapping[str, Any]) -> str:
    """``text`` with the keys of a section set: existing ones replaced, others added.

    ``section`` is a top-level one, or the keys on the way to one further in; what is missing of it
    is added. Raises ConfigFileError if the text cannot be parsed, or if the change cannot be made
    without changing something else.
    """
    if not values:
        return text
    if text.startswith(_BOM):  # the parser does not count it
        return _BOM + set_keys(text.removeprefix(_BOM), section, values)
    way = (section,) if isinstance(section, str) else section
    newline = "\r\n" if "\r\n" in text else "\n"
    root = compose(text.encode())
    if not (root is None or _is_mapping(root)):
        raise ConfigFileError("line 1, column 1: not a mapping")
    new = _Splice(text, newline).set(root, way, values)
    expected = _content(root) or {}
    inner = expected
    for key in way:
        if not isinstance(inner.get(key), dict):
            inner[key] = {}
        inner = inner[key]
    inner.update({key: _content(compose(flow(value).encode())) for key, value in values.items()})
    if expected != _content(compose(new.encode())):
        raise ConfigFileError(f"{'.'.join(way)} cannot be changed without changing other entries")
    return new


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock file that other processes wait for."""
    with path.open("a") as handle:
        hold(handle.fileno(), wait=True)
        yield


class _Splice:
    """Edits of one text, made from the end to the beginning so that positions stay true."""

    def __init__(self, text: str, newline: str) -> None:
        self._text = text
        self._newline = newline

    def set(self, root: Any, way: Sequence[str], values: Mapping[str, Any]) -> str:
        """The text with ``values`` in the mapping at the end of ``way``; ``root`` is its tree."""
        pair: Any = None
        parent: Any = None
        node = root
        deep = 0  # levels of `values` that only lead on
        for place, name in enumerate(way):
            pairs = node.value if _is_mapping(node) else ()
            found = next((each for each in pairs if each[0].value == name), None)
            if found is None:
                deep = len(way) - place - 1
                for missing in reversed(way[place:]):
                    values = {missing: values}
                break
            pair, parent, node = found, node, found[1]
        if pair is None and (node is None or not node.flow_style):
            gap = "" if not self._text or self._text.endswith("\n") else self._newline
            lines = self._lines(values, "", max(deep, 1)).removeprefix(self._newline)
            return f"{self._text}{gap}{lines}{self._newline}"
        if pair is not None and not (_is_mapping(node) and node.value):
            # "models:", "models: ~", "models: {}", or what is no mapping.
            key, start, end = pair[0], node.start_mark.index, node.end_mark.index
            if parent.flow_style:
                return self._spliced([(start, end, f" {flow(values)}")])
            # The value goes, the entries follow the line.
            at = self._line_end(end)
            lines = self._lines(values, " " * (key.start_mark.column + 2), deep)
            return self._spliced([(start, end, ""), (at, at, lines)])
        return self._entries(node, values, deep)

    def _entries(self, node: Any, values: Mapping[str, Any], deep: int) -> str:
        """``values`` in a mapping that holds something, or between the braces of an empty file."""
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
            edits.append((at, at, self._lines(missing, indent, deep)))
        return self._spliced(edits)

    def _lines(self, values: Mapping[str, Any], indent: str, deep: int) -> str:
        """A line for each pair, its value in flow style but for the first ``deep`` levels."""
        return "".join(
            f"{self._newline}{indent}{_key(key)}:"
            + (
                self._lines(value, f"{indent}  ", deep - 1)
                if deep
                else f" {self._value(value, indent)}"
            )
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
    if plain:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def _is_mapping(node: Any) -> bool:
    return isinstance(node, yaml.MappingNode)


def _content(node: Any) -> Any:
    """What is at a node, each scalar as it is written: a .nan does not equal itself, and a key
    0123 is not the key 83."""
    if isinstance(node, yaml.MappingNode):
        return {_name(key): _content(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_content(item) for item in node.value]
    return None if node is None else (node.tag, node.value)


def _name(key: Any) -> str:
    return key.value if isinstance(key, yaml.ScalarNode) else repr(_content(key))


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        raise no_text(raw, fault.start, "not UTF-8") from None
