"""Changing ``pricing.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

from ..yaml_files.editing import edit_file
from .files import load_mapping

_ID = re.compile(r"[\x21-\x7e]{1,512}")


def edit_pricing(path: Path, change: Callable[[str], str]) -> bool:
    """As `edit_file`: replaces the file by ``change(its text)``, which must be a price file."""
    return edit_file(path, change, load_mapping)


def is_writable_id(id: Any) -> TypeGuard[str]:
    """True for ids that a source may bring into the file: printable ASCII, up to 512 characters."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None
