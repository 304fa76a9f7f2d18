"""`serve`: Datasette on one or several ledgers, with the settings that large ledgers need."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .options import add_command, ledger_path

if TYPE_CHECKING:
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`serve [FILE…] [--db FILE] [--demo] [--host] [--port] [--open]`."""
    parser = add_command(
        commands,
        "serve",
        does="explore ledgers in the browser with Datasette",
        example="--open",
        handler=run,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help="ledgers and other SQLite files (default: telemetry.db in the telemetry home)",
    )
    parser.add_argument("--db", metavar="FILE", help="one ledger, as if named first")
    parser.add_argument(
        "--demo", action="store_true", help="serve a made-up ledger, deleted at the end"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=_port, default=8001, help="port; 0 takes a free one (default: 8001)"
    )
    parser.add_argument("--open", action="store_true", help="open a browser, logged in")


def run(namespace: argparse.Namespace) -> int:
    """Serves until Ctrl-C, SIGTERM or SIGHUP."""
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from . import demo, server

    files: list[Path] = namespace.files
    if namespace.db or not (files or namespace.demo):
        files = [ledger_path(namespace), *files]
    with ExitStack() as stack:
        stack.enter_context(server.ended_like_ctrl_c())
        if namespace.demo:
            folder = stack.enter_context(TemporaryDirectory(prefix="hermes-telemetry-"))
            files = [*files, Path(folder) / "telemetry.db"]
            demo.write(files[-1])
        server.serve(files, host=namespace.host, port=namespace.port, open_browser=namespace.open)
    return 0


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
