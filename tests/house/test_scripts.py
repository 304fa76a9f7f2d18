"""The scripts that a contributor starts: what runs where, and when environments are remade."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.tree import ROOT

Run = Callable[..., dict[str, list[str]]]

# Stands for `scripts/environment NAME …`: its interpreter tells what it is called with.
RECORDING_ENVIRONMENT = """\
#!/bin/bash
mkdir -p ".venvs/$1/bin"
printf '#!/bin/bash\\nprintf "%%s\\\\n" "$@" >"%s"\\n' "$PWD/$1.called" >".venvs/$1/bin/python"
chmod +x ".venvs/$1/bin/python"
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


FIRST = [
    *("-m", "pytest"),
    *("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"),
    *("-m", "not host and not browser"),
]
"""What pytest gets whatever is asked for."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with scripts/test, a few tests, and a folder with the name of a word for pytest."""
    folder = tmp_path / "a project"
    for name in ("tests/datasette/test_a.py", "tests/browser/test_b.py", "tests/store/test_c.py"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    (folder / "demo").mkdir()
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "test", folder / "scripts")
    executable(folder / "scripts" / "environment", RECORDING_ENVIRONMENT)
    return folder


@pytest.fixture
def called(project: Path) -> Run:
    """What pytest gets on each line of Datasette where somebody runs `./scripts/test --fast …`."""

    def run(*arguments: str) -> dict[str, list[str]]:
        command = ["./scripts/test", "--fast", *arguments]
        subprocess.run(command, cwd=project, check=True)
        calls = {}
        for line in ("test", "datasette1"):
            if (told := project / f"{line}.called").exists():
                words = told.read_text(encoding="utf-8").splitlines()
                assert words[: len(FIRST)] == FIRST
                calls[line] = words[len(FIRST) :]
        return calls

    return run


@pytest.mark.parametrize(
    ("arguments", "on_datasette_1"),
    [
        ([], ["{tests}/datasette", "{tests}/browser"]),
        (["-x"], ["-x", "{tests}/datasette", "{tests}/browser"]),
        (["tests"], ["{tests}/datasette", "{tests}/browser"]),
        (["."], ["{tests}/datasette", "{tests}/browser"]),
        (["tests/datasette/"], ["tests/datasette/"]),
        (["./tests/datasette"], ["./tests/datasette"]),
        (["{tests}/datasette"], ["{tests}/datasette"]),
        (["tests/store/../browser"], ["tests/store/../browser"]),
        (["tests/datasette/test_a.py::test_x"], ["tests/datasette/test_a.py::test_x"]),
        (["-q", "tests/store", "tests/datasette"], ["-q", "tests/datasette"]),
        (["-k", "demo"], ["-k", "demo", "{tests}/datasette", "{tests}/browser"]),
        (["-m", "demo", "tests/browser"], ["-m", "demo", "tests/browser"]),
        (
            ["--ignore", "tests/store"],
            ["--ignore", "tests/store", "{tests}/datasette", "{tests}/browser"],
        ),
    ],
    ids=" ".join,
)
def test_the_tests_of_pages_run_on_both_lines(
    project: Path, called: Run, arguments: list[str], on_datasette_1: list[str]
) -> None:
    arguments = [word.format(tests=project / "tests") for word in arguments]
    assert called(*arguments) == {
        "datasette1": [word.format(tests=project / "tests") for word in on_datasette_1],
        "test": arguments,
    }


@pytest.mark.parametrize(
    "path", ["tests/store", "./tests/store/test_c.py", "tests/store/test_c.py::test_x"]
)
def test_other_tests_run_on_one_line(called: Run, path: str) -> None:
    assert called("-q", path) == {"test": ["-q", path]}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., bool]:
    """`scripts/environment`, with a `venv` and a `pip` that do nothing; True if it was (re)made."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    python = executable(
        tmp_path / "python",
        f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] || exec {sys.executable} "$@"\n'
        'mkdir -p "$3/bin"; ln -s /bin/true "$3/bin/python"\n',
    )

    def run(*arguments: str) -> bool:
        done = subprocess.run(
            ["scripts/environment", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHON": str(python)},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stderr == f"Making .venvs/{arguments[0]}, once: this takes about a minute.\n"

    return run


def test_an_environment_is_remade_when_its_requirements_change(
    make: Callable[..., bool], tmp_path: Path
) -> None:
    requirements = tmp_path / "more.txt"
    requirements.write_text("pytest\n", encoding="utf-8")
    arguments = ("test", "-e", ".[datasette]", "-r", "more.txt")
    assert make(*arguments)
    assert not make(*arguments)
    requirements.write_text("pytest>=9\n", encoding="utf-8")
    assert make(*arguments)
    assert make(*arguments, "datasette==1.0a41")


def test_an_environment_without_this_project_outlives_a_change_of_the_project(
    make: Callable[..., bool], tmp_path: Path
) -> None:
    assert make("host", "an-agent==1.0")
    assert make("test", "-e", ".[datasette]")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert not make("host", "an-agent==1.0")
    assert make("test", "-e", ".[datasette]")


def interpreter(folder: Path, script: str) -> str:
    """A stand-in for an interpreter that a machine may have, in a folder with a blank."""
    return str(executable(folder / "my programs" / "python", f"#!/bin/sh\n{script}\n"))


def refusal(python: str) -> str:
    """The one line with which every script refuses to start by the interpreter `python`."""
    done = subprocess.run(
        ["scripts/environment", "none", "pip"],
        cwd=ROOT,
        env=os.environ | {"PYTHON": python},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


def test_a_python_that_is_too_old_is_named_in_one_line(tmp_path: Path) -> None:
    # Answers the question for its version, and that it is below 3.11.
    old = interpreter(tmp_path, 'case "$2" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac')
    assert refusal(old) == (
        f"Python 3.11 or newer is needed: found {old}, which is Python 3.9.2;"
        " name one by PYTHON=python3.12"
    )


def test_a_python_without_venv_is_named_in_one_line(tmp_path: Path) -> None:
    bare = interpreter(
        tmp_path,
        'case "$2" in *ensurepip*) echo "No module named \'ensurepip\'" >&2; exit 1 ;; esac\n'
        f'exec {sys.executable} "$@"',
    )
    version = ".".join(map(str, sys.version_info[:3]))
    assert refusal(bare) == (
        f"{bare} ({version}) is incomplete: No module named 'ensurepip'"
        " (Debian and Ubuntu: apt install python3-venv)"
    )


def test_no_python_at_all_is_said_in_one_line(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "nothing")) == (
        "Python 3.11 or newer is needed: found none; name one by PYTHON=python3.12"
    )


def test_a_python_with_an_old_sqlite_is_named_in_one_line(tmp_path: Path) -> None:
    patched = (
        "import sqlite3; sqlite3.sqlite_version = '3.34.1';"
        " sqlite3.sqlite_version_info = (3, 34, 1)"
    )
    old = interpreter(
        tmp_path,
        f'[ "$1" != -c ] || set -- -c "{patched}\n$2"\nexec {sys.executable} "$@"',
    )
    version = ".".join(map(str, sys.version_info[:3]))
    assert refusal(old) == (
        f"{old} ({version}) is incomplete: its SQLite is 3.34.1, and 3.35 is needed"
    )
