"""YAML text, and where in it a fault is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

# libyaml reads a feed of a thousand models in a tenth of the time, but not every build has it.
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ConfigFileError(ValueError):
    """A configuration file that cannot be used: one line with the file's name if it is known.

    ``problem`` is the same without the name; it opens with line and column, counted from 1.
    """

    def __init__(self, problem: str, name: str = "") -> None:
        super().__init__(f"{name}: {problem}" if name else problem)
        self.problem = problem


def load(text: bytes) -> Any:
    """The whole of a file as YAML has it. Raises ConfigFileError if it is malformed."""
    with _faults(text):
        return yaml.load(text, Loader=Loader)


def compose(text: bytes) -> Any:
    """The file's root node, which knows its place; None when nothing is in it.

    Raises ConfigFileError if the text is malformed.
    """
    with _faults(text):
        return yaml.compose(text, Loader=Loader)


def fault_at(mark: Any, problem: str) -> ConfigFileError:
    """A problem at a place of the text, as the parser's nodes and errors know it."""
    if mark is None:
        return ConfigFileError(problem)
    return ConfigFileError(f"line {mark.line + 1}, column {mark.column + 1}: {problem}")


def no_text(text: bytes, position: int, problem: str) -> ConfigFileError:
    """A byte at ``position`` that no text may hold."""
    before = text[:position].decode(errors="replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return ConfigFileError(f"line {line}, column {column}: {problem}")


@contextmanager
def _faults(text: bytes) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as fault:
        problem = " ".join(str(fault.problem or fault.context).split())
        raise fault_at(fault.problem_mark or fault.context_mark, problem) from None
    except yaml.reader.ReaderError as fault:
        raise no_text(text, fault.position, fault.reason) from None
    except RecursionError:
        raise ConfigFileError("line 1, column 1: nested too deeply") from None
    except ValueError as fault:  # a date such as 2026-13-45
        raise ConfigFileError(f"line 1, column 1: {fault}") from None
