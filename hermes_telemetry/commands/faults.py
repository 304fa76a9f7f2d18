"""What went wrong, in the one line that a user reads: what it is about, why, and what to do."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path

from .options import ledger_path

_PROJECT = __name__.removesuffix("commands.faults")
_CHECK_BOTH = "check the permissions of the file and its folder"
# What SQLite says of the ledger, by the beginning of its error's name: in words, and what to do.
_OF_SQLITE = {
    "SQLITE_READONLY": ("cannot be written", _CHECK_BOTH),
    "SQLITE_CANTOPEN": ("cannot be opened", _CHECK_BOTH),
    "SQLITE_FULL": ("cannot be written", "make room on its disk"),
    "SQLITE_BUSY": ("is locked by another program", "try again when that is done"),
}
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_ADVICE = {
    errno.EROFS: "name a place that can be written",
    errno.ENOSPC: "make room on its disk",
    errno.EDQUOT: "make room on its disk",
}


def explained(error: Exception, namespace: argparse.Namespace | None = None) -> str:
    """What is wrong: this project's own errors say it in their text, others are put into words, or
    need their name. ``namespace`` is the command's, for the ledger that it names.
    """
    if type(error).__module__.startswith(_PROJECT):
        return str(error)
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_CORRUPT"):
        return f"{error}: `hermes-telemetry doctor` says what is damaged"
    for prefix, (what, advice) in _OF_SQLITE.items():
        if code.startswith(prefix):
            return f"the ledger{_named(namespace)} {what}: {advice}"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return _of_a_file(error, error.strerror)
    return f"{type(error).__name__}: {error}"


def _named(namespace: argparse.Namespace | None) -> str:
    names = vars(namespace) if namespace else {}
    if namespace and "db" in names and "file" not in names:
        return f" {ledger_path(namespace)}"
    # `demo` and `merge` make one; a chat names none.
    made = names.get("file") or names.get("db") or names.get("out")
    return f" {made}" if made else ""


def _of_a_file(error: OSError, reason: str) -> str:
    # Of two names the second is the one that was to be made.
    path = Path(os.fsdecode(error.filename2 or error.filename))
    reason, advice = f"{reason[0].lower()}{reason[1:]}", _CHECK_BOTH
    if path.name.startswith(".") and not os.path.lexists(path):
        # A file for a moment, or a lock: it is the folder that takes none.
        path, reason = path.parent, f"nothing can be written there ({reason})"
        advice = "check the permissions of the folder"
    if error.errno not in _NOT_ALLOWED:
        advice = "check the path"
    return f"{path}: {reason}; {_ADVICE.get(error.errno or 0, advice)}"
