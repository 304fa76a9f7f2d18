"""Ways to hand the working tree to somebody else: as a git repository, to a host that lacks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def host_without_the_plugin(python: Path, folder: Path) -> Path:
    """An environment in `folder` with all that `python`'s holds but for this project.

    Returns its interpreter. The packages are links, so this costs no time and no space.
    """
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    copy = folder / "bin" / "python"
    ours = ("hermes_telemetry", "__editable__")
    packages = _site_packages(copy)
    for package in _site_packages(python).iterdir():
        if not package.name.startswith(ours):
            (packages / package.name).symlink_to(package)
    return copy


def repository_of_the_working_tree(folder: Path) -> str:
    """Commit the tree as it stands, uncommitted changes included, to a new repository in `folder`.

    Returns the repository's `file://` address.
    """
    listing = _git(PROJECT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listing.split("\0")):
        source, target = PROJECT / name, folder / name
        # A file that was removed is listed until git is told.
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target, follow_symlinks=False)
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    _git(folder, *author, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "The tree")
    return folder.as_uri()


def _site_packages(python: Path) -> Path:
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True)
    return Path(found.stdout.strip())


def _git(folder: Path, *words: str) -> str:
    # Under a git hook these would lead git to the hook's repository.
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    return done.stdout
