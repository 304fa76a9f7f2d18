"""The plugin as the host sees it: a callback for each hook, and one recorder behind them; the slash
commands and ``hermes telemetry``.

Every ``hermes`` word registers plugins, also those that call no model. The recorder and all that it
needs are therefore imported by the first hook that has something to record, a command by its first
use.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .hooks import HOOKS

if TYPE_CHECKING:
    import argparse

    from .recorder import Recorder

_log = logging.getLogger("hermes_telemetry")

# Each with what the host's list of commands says about it, and about its words.
_SLASH_COMMANDS = {
    "stats": (
        "What was spent, by what, and how well it went",
        "[summary|cron|providers|models|efficiency|smells|raw N] [today|week|month]",
    ),
    "budget": (
        "Limits, what is spent of them, and what is to come",
        "[cron|check|forecast|set SCOPE [ID] daily|monthly USD]",
    ),
    "setup": (
        "Write pricing.yaml and budget.yaml where they are missing",
        "[pricing auto|minimal|skip] [budget default|custom|skip]",
    ),
}

# A chat that is left before its first turn ends no session: no reason to load the recorder.
_ENDINGS = {"on_session_finalize", "on_session_reset"}

_registered = False
_context: Any = None
_shared: Recorder | None = None
_broken = False
_loading = threading.Lock()


def register(ctx: Any) -> None:
    """Give the host a callback for each hook and command; what an older host does not know is left
    out.

    Never raises. Registered again (the host reloads plugins while turns are under way), the
    callbacks go on with the same recorder.
    """
    global _registered, _context
    other = _another_copy()
    if other:
        _log.error("telemetry is installed twice: %s records, this copy stays off", other)
        return
    _registered, _context = True, ctx
    for name in HOOKS:
        try:
            ctx.register_hook(name, _callback(name))
        except Exception as error:
            _log.warning("the host does not take the hook %s: %s", name, _described(error))
    for name, (description, hint) in _SLASH_COMMANDS.items():
        try:
            ctx.register_command(
                name, _slash_command(name), description=description, args_hint=hint
            )
        except Exception as error:
            _log.warning("the host does not take the command /%s: %s", name, _described(error))
    try:
        ctx.register_cli_command(
            "telemetry",
            help="What turns, cron jobs and subagents did, and what it cost",
            setup_fn=_add_subcommands,
            handler_fn=_run_subcommand,
        )
    except Exception as error:
        _log.warning("the host does not take `hermes telemetry`: %s", _described(error))


def current_profile() -> str | None:
    """The host's profile, which hosts before 0.18 do not tell."""
    profile: str | None = getattr(_context, "profile_name", None)
    return profile


def _callback(name: str) -> Callable[..., Any]:
    def hook(**payload: Any) -> Any:
        if _shared is None and name in _ENDINGS and not payload.get("session_id"):
            return None
        recorder = _recorder()
        return None if recorder is None else recorder.hooks()[name](**payload)

    hook.__name__ = name
    return hook


def _slash_command(name: str) -> Callable[[str], Awaitable[str]]:
    """A handler that leaves the host's event loop free: a gateway has one for all its chats."""

    async def command(words: str = "") -> str:
        import asyncio

        try:
            # The import, too: it reads files and takes its time.
            return await asyncio.to_thread(_answer, name, words)
        except Exception as error:
            _log.error("/%s cannot be answered: %s", name, _described(error))
            return f"/{name} cannot be answered: {type(error).__name__}"

    return command


def _answer(name: str, words: str) -> str:
    from .commands.slash import answer

    return answer(name, words, current_profile())


def _add_subcommands(parser: argparse.ArgumentParser) -> None:
    from .commands.parser import add_subcommands

    add_subcommands(parser)


def _run_subcommand(namespace: argparse.Namespace) -> None:
    """Runs a command of `hermes telemetry`; the host drops what a handler returns, so a code other
    than 0 is told by exiting with it.
    """
    from .commands.cli import run

    if code := run(namespace):
        sys.exit(code)


def _recorder() -> Recorder | None:
    """The process's one recorder; None, said once, where it cannot be loaded."""
    global _shared, _broken
    if _shared is None and not _broken:
        with _loading:
            try:
                from .recorder import Recorder

                if _shared is None:
                    _shared = Recorder(profile=current_profile)
            except Exception as error:
                _broken = True
                _log.error("telemetry is off: the recorder cannot be loaded: %s", _described(error))
    return _shared


def _described(error: Exception) -> str:
    """An exception without secrets; by its kind alone where what takes them out is missing, too."""
    try:
        from .payloads import describe
    except Exception:
        return type(error).__name__
    return describe(error)


def _another_copy() -> str | None:
    """The module name of another installed copy that is registered in this process, if any.

    With pip and git installs side by side each would write every row.
    """
    for name, module in list(sys.modules.items()):
        if (
            name.endswith("hermes_telemetry.plugin")
            and name != __name__
            and getattr(module, "_registered", False)
        ):
            return name
    return None


def _begin_anew_in_child() -> None:
    global _loading
    _loading = threading.Lock()  # a thread that the child lacks may hold it


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_begin_anew_in_child)
