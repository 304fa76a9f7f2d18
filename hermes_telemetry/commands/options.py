"""What every command's sub-parser shares: its shape, its errors, and how it names a ledger.

Nothing here may import more than argparse and pathlib: building the whole tree is what
`--help` costs, and the host builds it for words that are not ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["OneLineParser"]

Handler = Callable[[argparse.Namespace], int]


class InputError(Exception):
    """Bad usage or input: the message is one line for stderr, the exit code is 2."""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line instead of the usage and a line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_command(
    commands: Commands, name: str, *, does: str, example: str, handler: Handler | None
) -> OneLineParser:
    """Adds the command `name`; `example` is what stands behind the name in its `--help`.

    The handler is kept as `telemetry_command`: the host's own parser uses `func`. None is for a
    group, whose commands below it have handlers of their own.
    """
    parser = commands.add_parser(
        name,
        help=does,
        description=does[0].upper() + does[1:] + ".",
        epilog="example:\n  %(prog)s " + example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if handler is not None:
        parser.set_defaults(telemetry_command=handler)
    return parser


def add_db_option(parser: argparse.ArgumentParser) -> None:
    """`--db FILE`, read back by `ledger_path`."""
    parser.add_argument(
        "--db", metavar="FILE", help="the ledger (default: telemetry.db in the telemetry home)"
    )


def ledger_path(namespace: argparse.Namespace) -> Path:
    """The ledger that `--db` names, else the telemetry home's."""
    from .. import paths

    return Path(namespace.db) if namespace.db else paths.database_path()
