"""`sync-profiles`: one telemetry home for all profiles of the host, by one line in each `.env`."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import strict_json
from .options import InputError, add_command

if TYPE_CHECKING:
    from .options import Commands

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""What the host takes for a profile's folder."""

_DEFAULT = "default"
_PRIVATE = 0o600
_TRIES = 3


@dataclass(frozen=True)
class _Profile:
    """A profile of the host and where it records: ``home`` is above the folder ``telemetry``."""

    name: str
    file: str
    home: str
    state: str


def add_parser(commands: Commands) -> None:
    """`sync-profiles [NAMES] [--telemetry-home DIR] [--apply] [--json]`."""
    parser = add_command(
        commands,
        "sync-profiles",
        does="have all profiles record into one ledger, or show which do not",
        example="--apply",
        handler=run,
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="only these profiles (default: all there are)"
    )
    parser.add_argument(
        "--telemetry-home",
        metavar="DIR",
        help="what HERMES_TELEMETRY_HOME is to be; the ledger is DIR/telemetry/telemetry.db"
        " (default: what it is here, else the home of the profile default)",
    )
    parser.add_argument(
        "--apply", action="store_true", help="write the files; without it nothing changes"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(namespace: argparse.Namespace) -> int:
    """Shows where each profile records, and changes that with `--apply`."""
    target = _target(namespace.telemetry_home)
    profiles = [
        _sync(name, folder, target, apply=namespace.apply)
        for name, folder in _profiles(namespace.names).items()
    ]
    if namespace.json:
        report = {
            "telemetry_home": str(target),
            "applied": namespace.apply,
            "profiles": [asdict(profile) for profile in profiles],
        }
        print(strict_json.text(report))
        return 0
    for profile in profiles:
        print(f"{profile.name}: {profile.state}, records into {Path(profile.home) / 'telemetry'}")
    if not namespace.apply and any(profile.state == "differs" for profile in profiles):
        print(f"with --apply all record into {target / 'telemetry'}; nothing is changed without")
    return 0


def _target(given: str | None) -> Path:
    from .. import paths

    target = (Path(given).expanduser() if given else paths.shared_telemetry_home()).absolute()
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is not a folder")
    return target


def _profiles(names: list[str]) -> dict[str, Path]:
    """The homes of the profiles asked for, by name. Raises InputError for one that is not there."""
    from .. import paths

    root = paths.hermes_root()
    if not root.is_dir():
        raise InputError(f"there is no Hermes home {root}")
    below = root / "profiles"
    there = {_DEFAULT: root} | {
        folder.name: folder
        for folder in (sorted(below.iterdir()) if below.is_dir() else ())
        if folder.is_dir() and folder.name != _DEFAULT and _PROFILE.fullmatch(folder.name)
    }
    wanted = [name.strip().lower() for name in names]
    for name in wanted:
        if name not in there:
            raise InputError(f"there is no profile {name!r}: {', '.join(there)}")
    return {name: folder for name, folder in there.items() if name in wanted or not wanted}


def _sync(name: str, folder: Path, target: Path, *, apply: bool) -> _Profile:
    from ..whole_files import replace, write_new
    from .env_line import EnvFileError, value_in, with_value

    file = folder / ".env"
    try:
        for _ in range(_TRIES):
            before = file.read_bytes() if file.exists() else None
            home = _resolved(value_in(before or b""), folder)
            if os.path.realpath(home) == os.path.realpath(target):
                return _Profile(name, str(file), str(home), "as wanted")
            after = with_value(before or b"", str(target))
            if not apply:
                return _Profile(name, str(file), str(home), "differs")
            written = (
                write_new(file, after, _PRIVATE)
                if before is None
                else replace(file, after, expected=before)
            )
            if written:
                return _Profile(name, str(file), str(target), "changed")
    except (EnvFileError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file}: {reason}") from error
    raise InputError(f"{file} kept changing while it was to be written")


def _resolved(value: str | None, folder: Path) -> Path:
    """The telemetry home of a profile by its line: without one its own folder."""
    return Path(os.path.expandvars(value)).expanduser() if value else folder
