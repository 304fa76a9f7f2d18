"""Every command of the one argparse tree."""

import argparse
from collections.abc import Iterator


def every_command(
    parser: argparse.ArgumentParser, before: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command that does something, by its words; `budget` does, and has others below it."""
    if parser.get_default("telemetry_command") is not None:
        yield before, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from every_command(below, f"{before} {name}".strip())
