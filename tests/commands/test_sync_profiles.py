"""`hermes-telemetry sync-profiles`: one line in each profile's .env, and nothing else."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_telemetry import whole_files
from support.processes import ROOT

Refused = Callable[..., str]


@pytest.fixture
def root(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The host's home with the profiles coder and work; no .env says where telemetry goes."""
    monkeypatch.delenv("HERMES_TELEMETRY_HOME")
    for name in ("coder", "work"):
        (hermes_home / "profiles" / name).mkdir(parents=True)
    return hermes_home


def env(root: Path, name: str = "coder") -> Path:
    return root / "profiles" / name / ".env"


def states(cli, *arguments: object) -> dict[str, str]:  # type: ignore[no-untyped-def]
    report = json.loads(cli("sync-profiles", "--json", *arguments).out)
    return {profile["name"]: profile["state"] for profile in report["profiles"]}


def test_without_apply_it_shows_who_records_elsewhere(cli, root: Path) -> None:
    answer = cli("sync-profiles")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        # Its own home is the one that all are to share.
        f"default: as wanted, records into {root / 'telemetry'}",
        f"coder: differs, records into {root / 'profiles' / 'coder' / 'telemetry'}",
        f"work: differs, records into {root / 'profiles' / 'work' / 'telemetry'}",
        f"with --apply all record into {root / 'telemetry'}; nothing is changed without",
    ]
    assert not env(root).exists()


def test_a_missing_file_is_made_for_its_owner_alone(cli, root: Path) -> None:
    before = os.umask(0)
    try:
        assert states(cli, "--apply") == {
            "default": "as wanted",
            "coder": "changed",
            "work": "changed",
        }
    finally:
        os.umask(before)
    assert env(root).read_text() == f"HERMES_TELEMETRY_HOME={root}\n"
    assert stat.S_IMODE(env(root).stat().st_mode) == 0o600
    assert not (root / ".env").exists()
    assert set(states(cli).values()) == {"as wanted"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"A=1\nHERMES_TELEMETRY_HOME=/old\nB=2\n", b"A=1\nHERMES_TELEMETRY_HOME=<new>\nB=2\n"),
        (b"A=1\r\nHERMES_TELEMETRY_HOME=/old\r\n", b"A=1\r\nHERMES_TELEMETRY_HOME=<new>\r\n"),
        (b"A=1\r\n", b"A=1\r\nHERMES_TELEMETRY_HOME=<new>\r\n"),
        (b"A=1", b"A=1\nHERMES_TELEMETRY_HOME=<new>\n"),
        (
            b"  export HERMES_TELEMETRY_HOME = /old  # mine",
            b"  export HERMES_TELEMETRY_HOME = <new>  # mine",
        ),
        (b'HERMES_TELEMETRY_HOME="/the old" # mine\n', b"HERMES_TELEMETRY_HOME=<new> # mine\n"),
        (b"HERMES_TELEMETRY_HOME='/the old'\n", b"HERMES_TELEMETRY_HOME=<new>\n"),
        (b"HERMES_TELEMETRY_HOME=\nA=1\n", b"HERMES_TELEMETRY_HOME=<new>\nA=1\n"),
        # The last line is the one that the host goes by.
        (
            b"HERMES_TELEMETRY_HOME=/a\nHERMES_TELEMETRY_HOME=/b\n",
            b"HERMES_TELEMETRY_HOME=/a\nHERMES_TELEMETRY_HOME=<new>\n",
        ),
        # These say nothing about it.
        (
            b"#HERMES_TELEMETRY_HOME=/old\n",
            b"#HERMES_TELEMETRY_HOME=/old\nHERMES_TELEMETRY_HOME=<new>\n",
        ),
        (
            b"MY_HERMES_TELEMETRY_HOME=/old\n",
            b"MY_HERMES_TELEMETRY_HOME=/old\nHERMES_TELEMETRY_HOME=<new>\n",
        ),
        (
            b'NOTE="one\nHERMES_TELEMETRY_HOME=/old\n"\n',
            b'NOTE="one\nHERMES_TELEMETRY_HOME=/old\n"\nHERMES_TELEMETRY_HOME=<new>\n',
        ),
        # Neither UTF-8 nor tidy, and none of our business.
        (
            b"\xef\xbb\xbfA=\xff\xfe\n\n\n  \t\nB",
            b"\xef\xbb\xbfA=\xff\xfe\n\n\n  \t\nB\nHERMES_TELEMETRY_HOME=<new>\n",
        ),
        (b"", b"HERMES_TELEMETRY_HOME=<new>\n"),
        # Lines may end in carriage returns alone.
        (b"A=1\rHERMES_TELEMETRY_HOME=/old\rB=2\r", b"A=1\rHERMES_TELEMETRY_HOME=<new>\rB=2\r"),
        # Without a value the host unsets it.
        (
            b"HERMES_TELEMETRY_HOME=/old\nexport HERMES_TELEMETRY_HOME\n",
            b"HERMES_TELEMETRY_HOME=/old\nexport HERMES_TELEMETRY_HOME=<new>\n",
        ),
        # The host does not read a line like these.
        (
            b"HERMES_TELEMETRY_HOME=/a\nHERMES_TELEMETRY_HOME='/b' c\n",
            b"HERMES_TELEMETRY_HOME=<new>\nHERMES_TELEMETRY_HOME='/b' c\n",
        ),
        (
            b"HERMES_TELEMETRY_HOME=/a\nHERMES_TELEMETRY_HOME='/b\n",
            b"HERMES_TELEMETRY_HOME=<new>\nHERMES_TELEMETRY_HOME='/b\n",
        ),
    ],
)
def test_only_that_line_changes(cli, root: Path, before: bytes, after: bytes) -> None:
    env(root).write_bytes(before)
    cli("sync-profiles", "coder")
    assert env(root).read_bytes() == before
    assert states(cli, "coder", "--apply") == {"coder": "changed"}
    assert env(root).read_bytes() == after.replace(b"<new>", os.fsencode(root))
    assert states(cli, "coder", "--apply") == {"coder": "as wanted"}
    assert env(root).read_bytes() == after.replace(b"<new>", os.fsencode(root))


def test_a_quote_that_is_open_swallows_no_other_line(
    cli, refused: Refused, root: Path, tmp_path: Path
) -> None:
    # The host reads the key. A path in quotes would end what the first line opens, and the key
    # would be a part of it.
    before = b'GREETING="hello\nAPI_KEY=none\n'
    env(root).write_bytes(before)
    assert refused("sync-profiles", "coder", "--telemetry-home", tmp_path / "a b", "--apply") == (
        f"hermes-telemetry sync-profiles: {env(root)}: a quote in it is not closed: close it first"
    )
    assert env(root).read_bytes() == before
    # One without quotes does no harm.
    assert states(cli, "coder", "--apply") == {"coder": "changed"}
    assert env(root).read_bytes() == before + b"HERMES_TELEMETRY_HOME=" + os.fsencode(root) + b"\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay(cli, root: Path, mode: int) -> None:
    env(root).write_bytes(b"A=1\n")
    env(root).chmod(mode)
    cli("sync-profiles", "--apply")
    assert b"HERMES_TELEMETRY_HOME=" in env(root).read_bytes()
    assert stat.S_IMODE(env(root).stat().st_mode) == mode
    assert os.listdir(env(root).parent) == [".env"]


def test_a_link_stays_a_link(cli, root: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared.env"
    shared.write_text("A=1\n")
    for name in ("coder", "work"):
        env(root, name).symlink_to(shared)
    assert states(cli, "--apply") == {
        "default": "as wanted",
        "coder": "changed",
        "work": "as wanted",  # by the same file
    }
    assert env(root).is_symlink()
    assert shared.read_text() == f"A=1\nHERMES_TELEMETRY_HOME={root}\n"


def test_only_the_profiles_named_change(cli, root: Path) -> None:
    assert states(cli, "Work", "--apply") == {"work": "changed"}
    assert not env(root, "coder").exists()


def test_another_home_is_for_the_default_profile_too(cli, root: Path, tmp_path: Path) -> None:
    home = tmp_path / "one for #all"
    assert states(cli, "--telemetry-home", home, "--apply") == dict.fromkeys(
        ("default", "coder", "work"), "changed"
    )
    assert (root / ".env").read_text() == f'HERMES_TELEMETRY_HOME="{home}"\n'
    assert set(states(cli, "--telemetry-home", home).values()) == {"as wanted"}
    assert not home.exists()  # whoever records first makes it


def test_a_home_is_never_relative(
    cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli("sync-profiles", "coder", "--telemetry-home", "shared", "--apply")
    assert env(root).read_text() == f"HERMES_TELEMETRY_HOME={tmp_path / 'shared'}\n"


def test_where_the_environment_names_a_home_it_is_the_one(
    cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_HOME", str(tmp_path / "named"))
    cli("sync-profiles", "coder", "--apply")
    assert env(root).read_text() == f"HERMES_TELEMETRY_HOME={tmp_path / 'named'}\n"


def test_inside_a_profile_all_profiles_are_seen(
    cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(root / "profiles" / "coder"))
    assert states(cli) == {"default": "as wanted", "coder": "differs", "work": "differs"}


def test_what_the_host_takes_for_no_profile_is_left_alone(cli, root: Path) -> None:
    for name in ("Upper", "with space", ".hidden", "default"):
        (root / "profiles" / name).mkdir()
    (root / "profiles" / "file").write_text("")
    assert list(states(cli)) == ["default", "coder", "work"]


def test_a_file_that_the_host_writes_meanwhile_is_read_again(
    cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env(root).write_text("A=1\n")
    replace = whole_files.replace
    late = iter(["B=2\n"])

    def with_a_neighbour(path: Path, content: bytes, expected: bytes) -> bool:
        for line in late:
            path.write_text(path.read_text() + line)
        return replace(path, content, expected)

    monkeypatch.setattr(whole_files, "replace", with_a_neighbour)
    assert states(cli, "coder", "--apply") == {"coder": "changed"}
    assert env(root).read_text() == f"A=1\nB=2\nHERMES_TELEMETRY_HOME={root}\n"


def test_input_errors_are_one_line(refused: Refused, root: Path, tmp_path: Path) -> None:
    program = "hermes-telemetry sync-profiles"
    file = tmp_path / "file"
    file.write_text("")
    assert refused("sync-profiles", "coda", "--apply") == (
        f"{program}: there is no profile 'coda': default, coder, work"
    )
    assert (
        refused("sync-profiles", "--telemetry-home", file) == f"{program}: {file} is not a folder"
    )
    assert refused("sync-profiles", "--telemetry-home", "/${HOME}") == (
        f"{program}: {root / '.env'}: a .env file cannot hold the path '/${{HOME}}'"
    )
    assert refused("sync-profiles", "--telemetry-home", "/\udcff").endswith(": not UTF-8")
    utf16 = "A=1\n".encode("utf-16")
    env(root).write_bytes(utf16)
    assert refused("sync-profiles", "coder", "--apply") == (
        f"{program}: {env(root)}: not a text in UTF-8"
    )
    assert env(root).read_bytes() == utf16


def test_without_a_host_there_is_nothing_to_sync(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "nowhere"))
    assert refused("sync-profiles") == (
        f"hermes-telemetry sync-profiles: there is no Hermes home {tmp_path / 'nowhere'}"
    )


_HOST = """
import sys
from pathlib import Path
from hermes_cli.env_loader import load_hermes_dotenv
from hermes_cli.profiles import list_profiles
from hermes_telemetry.paths import telemetry_home
for profile in list_profiles():
    load_hermes_dotenv(hermes_home=profile.path)
    print(profile.name, telemetry_home())
"""


@pytest.mark.host
def test_the_real_host_goes_by_that_line(
    cli, root: Path, tmp_path: Path, host_python: Path
) -> None:
    env(root).write_bytes(b"OPENAI_API_KEY=none\r\n")
    home = tmp_path / "one for #all"
    cli("sync-profiles", "--telemetry-home", home, "--apply")
    done = subprocess.run(
        [host_python, "-c", _HOST],
        cwd=ROOT.parent,
        env={**os.environ, "HERMES_HOME": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        f"{name} {home / 'telemetry'}" for name in ("default", "coder", "work")
    ]
