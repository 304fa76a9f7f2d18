"""Runs Datasette inside this process, on a socket that is bound here.

So the address that is printed is the one that answers, a port that is taken is one line before
anything starts, and Ctrl-C ends the server and removes the demo ledger.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import ipaddress
import shlex
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..store.files import NotALedgerError, open_database, open_ledger
from .options import InputError

# Suggested facets cost a scan per column (1.8 s on a table of a million rows); the time limits
# let slow queries finish when several run at once.
_SETTINGS = {
    "suggest_facets": False,
    "sql_time_limit_ms": 5000,
    "facet_time_limit_ms": 1000,
}
# The name of the entry point under which Datasette finds this project's plugin.
_PLUGIN = "hermes_telemetry"
# How long a request in flight may hold up the end of the server, in seconds.
_GRACE = 3
_POLL_S = 0.01


def serve(files: list[Path], *, host: str, port: int, open_browser: bool) -> None:
    """Serves `files` until Ctrl-C; `port` 0 takes a free one.

    Raises InputError when Datasette is not installed, a file cannot be read or the address
    cannot be bound.
    """
    datasette_app = import_datasette()
    files = list(dict.fromkeys(file.resolve() for file in files))
    for file in files:
        open_database(file).close()
        try:
            open_ledger(file).close()
        except NotALedgerError as error:
            reason = str(error).removesuffix("; name one")
            print(f"{reason}; it is served without telemetry pages", file=sys.stderr)
    with closing(_bind(host, port)) as listener:
        datasette = datasette_app.Datasette([str(file) for file in files], settings=_SETTINGS)
        # Without it 1.0 refuses its own login link; 0.65 knows no such attribute and needs none.
        datasette.root_enabled = True
        with suppress(KeyboardInterrupt):
            asyncio.run(_run(datasette, listener, files, open_browser))


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Meanwhile SIGTERM and SIGHUP (the terminal is closed) end what runs as Ctrl-C does."""
    # uvicorn ends cleanly on SIGTERM and then raises it again for whoever stood there before.
    handlers: dict[int, Any] = {signal.SIGTERM: signal.default_int_handler}
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:  # nohup ignores it
        handlers[hangup] = lambda *_: signal.raise_signal(signal.SIGTERM)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def import_datasette() -> Any:
    """Datasette's `app` module, with this project's plugin registered."""
    try:
        from datasette import app, plugins
    except ModuleNotFoundError as error:
        if error.name != "datasette":  # it is there, and a plugin of somebody's is broken
            raise
        raise InputError(
            "Datasette is not installed here: pip install 'hermes-telemetry[datasette]'"
        ) from error
    root = Path(__file__).parents[2]
    # A git-cloned plugin has no entry point: its Datasette side is the folder beside it.
    if not plugins.pm.has_plugin(_PLUGIN) and (root / "datasette_plugin").is_dir():
        sys.path.insert(0, str(root))
        plugins.pm.register(importlib.import_module("datasette_plugin"), name=_PLUGIN)
    return app


def plugin_module(name: str) -> Any:
    """A module of this project's Datasette plugin. Raises InputError when Datasette is missing."""
    import_datasette()
    from datasette.plugins import pm

    return importlib.import_module(f"{pm.get_plugin(_PLUGIN).__name__}.{name}")


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"cannot listen on {host}: {error.strerror}") from error
    # A port whose last server has just ended can be bound again; one that is served cannot.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use: name another with --port, or --port 0"
            ) from error
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listener


async def _run(
    datasette: Any, listener: socket.socket, files: list[Path], open_browser: bool
) -> None:
    import uvicorn

    await datasette.invoke_startup()
    config = uvicorn.Config(
        datasette.app(), log_level="warning", lifespan="on", timeout_graceful_shutdown=_GRACE
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    # Before it has started, the Ctrl-C that is promised below would end in a traceback.
    while not (server.started or serving.done()):
        await asyncio.sleep(_POLL_S)
    if server.started:
        _announce(datasette, listener, files, open_browser)
    await serving


def _announce(
    datasette: Any, listener: socket.socket, files: list[Path], open_browser: bool
) -> None:
    host, port = listener.getsockname()[:2]
    bound = ipaddress.ip_address(host)
    if not bound.is_loopback:
        print(_exposure(files, host, port), file=sys.stderr)
    # The wildcard address is no address to visit: this machine is reached by its loopback.
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    origin = f"http://[{shown}]:{port}" if bound.version == 6 else f"http://{shown}:{port}"
    login = f"{origin}{datasette.urls.path('-/auth-token')}?token={datasette._root_token}"
    print(f"Serving {', '.join(str(file) for file in files)}")
    print(f"Address: {origin}{datasette.urls.instance()}")
    print(f"Log in as root, who may prune and save charts (works once): {login}")
    print("Ctrl-C ends it.", flush=True)
    if open_browser:
        webbrowser.open(login)


def _exposure(files: list[Path], host: str, port: int) -> str:
    """Says who can read what on an address that is not loopback, and how to require a login."""
    names = ", ".join(file.name for file in files)
    served = " ".join(shlex.quote(str(file)) for file in files)
    settings = " ".join(f"--setting {name} {int(value)}" for name, value in _SETTINGS.items())
    return (
        f"Warning: whoever can reach this machine on {host} port {port} can read every row of "
        f"{names}: sessions, senders, models, costs, error texts.\n"
        'To require a login, write {"allow": {"id": "root"}} to login.json and run instead: '
        f"datasette {served} -m login.json --root -h {host} -p {port} {settings}"
    )
