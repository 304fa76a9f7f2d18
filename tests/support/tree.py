"""The project's own files as they stand, committed or not."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def project_files() -> list[Path]:
    """Every file that git keeps or would add, relative to ROOT; what .gitignore names is absent."""
    listing = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted(set(listing.split("\0")) - {""})
    # A file removed from the work tree is listed until its removal is committed.
    return [Path(name) for name in names if (ROOT / name).exists()]
