"""Reads budget.yaml, which a user writes: nothing in it may stop a reader."""

from __future__ import annotations

import logging
from pathlib import Path

import yaml

from ..windows import time_zone

_log = logging.getLogger("hermes_telemetry")


def configured_time_zone(path: Path) -> str | None:
    """The IANA name under ``timezone`` in budget.yaml; None when there is none that can be used.

    An unreadable file or an unknown zone is logged, in one line that names the file.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        _log.warning("%s cannot be read: %s", path, " ".join(str(error).split()))
        return None
    name = content.get("timezone") if isinstance(content, dict) else None
    if name is None:
        return None
    try:
        time_zone(str(name))
    except ValueError as error:
        _log.warning("%s: timezone: %s", path, error)
        return None
    return str(name)
