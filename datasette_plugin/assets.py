"""Addresses of the plugin's own files, which change when a file does."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasette.app import Datasette

_FOLDER = Path(__file__).parent / "static"


def url(datasette: Datasette, name: str) -> str:
    """The address at which Datasette serves the file `name` of `static/`."""
    return f"{datasette.urls.static_plugins(_plugin(), name)}?{_hash(name)}"


@cache
def _plugin() -> str:
    """This plugin's name among Datasette's: a clone has another than an installed distribution."""
    from datasette.plugins import get_plugins

    return next(
        str(plugin["name"])
        for plugin in get_plugins()
        if plugin["static_path"] and Path(plugin["static_path"]).samefile(_FOLDER)
    )


@cache
def _hash(name: str) -> str:
    return hashlib.sha256((_FOLDER / name).read_bytes()).hexdigest()[:12]
