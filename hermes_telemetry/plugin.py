"""The plugin as the host sees it: a callback for each hook, and one recorder behind them.

Every ``hermes`` word registers plugins, also those that call no model. The recorder and all that it
needs are therefore imported by the first hook that fires.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .hooks import HOOKS

if TYPE_CHECKING:
    from .recorder import Recorder

_log = logging.getLogger("hermes_telemetry")

_registered = False
_context: Any = None
_shared: Recorder | None = None
_broken = False
_loading = threading.Lock()


def register(ctx: Any) -> None:
    """Give the host a callback for each hook; hooks that an older host does not know are skipped.

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


def current_profile() -> str | None:
    """The host's profile, which hosts before 0.18 do not tell."""
    profile: str | None = getattr(_context, "profile_name", None)
    return profile


def _callback(name: str) -> Callable[..., Any]:
    def hook(**payload: Any) -> Any:
        recorder = _recorder()
        return None if recorder is None else recorder.hooks()[name](**payload)

    hook.__name__ = name
    return hook


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
