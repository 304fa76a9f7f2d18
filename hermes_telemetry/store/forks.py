"""No fork while a thread of ours is inside SQLite.

SQLite's own locks, above all its allocator's, belong to the process. A child that is forked while
another thread holds one lacks that thread: whatever the child does with SQLite next waits for ever,
and a hook with it. Measured: of children forked amid a count of the totals, one in ten hung.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import ContextDecorator

PATIENCE_S = 1.0
"""How long a fork waits for threads that are inside SQLite, as long as a hook may take: a stuck one
must not keep the host from forking.
"""

_POLL_S = 0.0005

# Appending to a list and removing from it are atomic; a lock would be one more that a child
# inherits. A thread is in twice when it is inside twice.
_inside: list[int] = []
_forking: list[int] = []


class _HeldOff(ContextDecorator):
    """In the block, or the function, this thread may be inside SQLite: a fork waits for its end."""

    def __enter__(self) -> None:
        thread = threading.get_ident()
        is_inside = thread in _inside
        _inside.append(thread)
        # The one that forks may come here, too: the garbage that it collects closes connections.
        while _forking and not is_inside and any(forking != thread for forking in _forking):
            _inside.remove(thread)
            time.sleep(_POLL_S)
            _inside.append(thread)

    def __exit__(self, *_: object) -> None:
        _inside.remove(threading.get_ident())


held_off = _HeldOff()


def _wait_for_others() -> None:
    thread = threading.get_ident()
    _forking.append(thread)
    deadline = time.monotonic() + PATIENCE_S
    while any(other != thread for other in _inside.copy()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _let_go_in_parent() -> None:
    _forking.remove(threading.get_ident())


def _let_go_in_child() -> None:
    """The threads of the parent are not there; this one may be inside, in a block of its own."""
    thread = threading.get_ident()
    _forking.clear()
    _inside[:] = [one for one in _inside if one == thread]


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_wait_for_others,
        after_in_parent=_let_go_in_parent,
        after_in_child=_let_go_in_child,
    )
