"""Changes to pricing.yaml leave every byte that is not theirs."""

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.pricing.editing import edit_pricing
from hermes_telemetry.pricing.files import load_mapping
from hermes_telemetry.yaml_files.editing import flow, locked, set_keys
from hermes_telemetry.yaml_files.text import ConfigFileError

USERS = """\
# Prices of our team — ask Zoë before changing
models:
    "my/model":   { input: 3.00,  output: 15 }   # negotiated
    other:
        input: 1e-1
        output: 0.50        # per million

        tiers:
          - {min_prompt_tokens: 9, input: 1, output: 2}
        # end of other

# below: what else we need
families: {fam: {input: 1, output: 2}}   # ours
"""


def test_a_new_entry_goes_behind_the_last_one_and_nothing_else_moves() -> None:
    new = set_keys(USERS, "models", {"a/b:free": {"input": 0, "output": Decimal("0.10")}})
    added = '\n    "a/b:free": {input: 0, output: 0.1}'
    assert new.replace(added, "") == USERS
    assert new.index(added) == USERS.index("\n        # end of other")


def test_an_entry_is_replaced_where_it_stands() -> None:
    new = set_keys(USERS, "models", {"my/model": {"input": 4, "output": 20}})
    assert new == USERS.replace("{ input: 3.00,  output: 15 }", "{input: 4, output: 20}").replace(
        '"my/model":   ', '"my/model": '
    )
    block = set_keys(USERS, "models", {"other": {"input": 4, "output": 20}})
    start, end = USERS.index("    other:"), USERS.index("\n        # end of other")
    assert block == USERS[:start] + "    other: {input: 4, output: 20}" + USERS[end:]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "models:\n  m: {input: 1}\n"),
        ("# mine\n", "# mine\nmodels:\n  m: {input: 1}\n"),
        ("a: 1", "a: 1\nmodels:\n  m: {input: 1}\n"),
        ("---\na: 1\n", "---\na: 1\nmodels:\n  m: {input: 1}\n"),
        ("models:\na: 1\n", "models:\n  m: {input: 1}\na: 1\n"),
        ("models: # x\na: 1\n", "models: # x\n  m: {input: 1}\na: 1\n"),
        ("models: {}  # x\na: 1\n", "models:   # x\n  m: {input: 1}\na: 1\n"),
        ("models: ~\na: 1\n", "models: \n  m: {input: 1}\na: 1\n"),
        ("models:", "models:\n  m: {input: 1}"),
        ("models: {a: {b: 1}}\n", "models: {a: {b: 1}, m: {input: 1}}\n"),
        ("models: {a: {b: 1},}\n", "models: {a: {b: 1}, m: {input: 1},}\n"),
        ("{models: {a: 1}, b: 2}", "{models: {a: 1, m: {input: 1}}, b: 2}"),
        ("{a: 1}", "{a: 1, models: {m: {input: 1}}}"),
        ("{models: , a: 1}", "{models:  {m: {input: 1}}, a: 1}"),
        ("{}", "{models: {m: {input: 1}}}"),
        ("models:\n  m: {input: 9} # x\n", "models:\n  m: {input: 1} # x\n"),
        ("models:\n  m:\nb: 1\n", "models:\n  m: {input: 1}\nb: 1\n"),
        ("models:\n  m: 5 # x\n", "models:\n  m: {input: 1} # x\n"),
        ("models:\n  m:\n    - 1\n    - 2\n# x\n", "models:\n  m: {input: 1}\n# x\n"),
        ("models:\n  m:\n    {input: 9,\n     b: 2}\n", "models:\n  m: {input: 1}\n"),
        ("models:\r\n  a: 1\r\nb: 2\r\n", "models:\r\n  a: 1\r\n  m: {input: 1}\r\nb: 2\r\n"),
        ("\ufeffmodels:\n  ä: 1\n", "\ufeffmodels:\n  ä: 1\n  m: {input: 1}\n"),
        (
            "models:\n  a: &x {i: 1}\n  m: *x\nb: *x\n",
            "models:\n  a: &x {i: 1}\n  m: {input: 1}\nb: *x\n",
        ),
        (
            "models:\n  a: |\n    text\n\nb: 1\n",
            "models:\n  a: |\n    text\n  m: {input: 1}\n\nb: 1\n",
        ),
    ],
)
def test_every_way_to_write_the_section_is_understood(before: str, after: str) -> None:
    assert set_keys(before, "models", {"m": {"input": 1}}) == after
    assert load_mapping(after.encode())["models"]["m"] == {"input": 1}


def test_a_change_that_would_change_another_key_is_given_up() -> None:
    # Replacing m takes away the anchor that b needs.
    text = "models:\n  m: &x {input: 9}\n  b: *x\n"
    with pytest.raises(ConfigFileError):
        set_keys(text, "models", {"m": {"input": 1}})


def test_a_key_that_stands_there_twice_is_not_guessed_at() -> None:
    with pytest.raises(ConfigFileError, match="cannot be changed without"):
        set_keys("models:\n  m: {input: 9}\n  m: {input: 8}\n", "models", {"m": {"input": 1}})


def test_a_long_list_goes_over_several_lines() -> None:
    ids = [f"vendor/model-{n}:free" for n in range(40)]
    text = set_keys("_meta:\n  auto_models: [a]\n  b: 1\n", "_meta", {"auto_models": ids})
    assert max(map(len, text.splitlines())) <= 100
    assert load_mapping(text.encode()) == {"_meta": {"auto_models": ids, "b": 1}}


@pytest.mark.parametrize(
    "value",
    [
        {"input": 1e-7, "output": 1e20, "on": True, "none": None},
        {"a b": "yes", "c": "1.5", "d": "x: y", "e": "# no", "f": "it's", "~": ""},
        ["null", "No", "a/b-c.d", -1, 2.5, [1, {"k": []}]],
    ],
)
def test_a_value_reads_back_as_it_was(value: Any) -> None:
    assert yaml.safe_load(flow(value)) == value


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
entries = st.fixed_dictionaries(
    {
        "input": st.decimals(0, 99, places=4).map(float),
        "output": st.integers(0, 99),
    }
)


@settings(deadline=None)
@given(
    st.dictionaries(names, entries, max_size=5),
    st.dictionaries(names, entries, min_size=1, max_size=5),
    st.booleans(),
)
def test_what_was_set_is_there_and_what_was_there_stays(
    old: dict[str, Any], new: dict[str, Any], in_flow_style: bool
) -> None:
    text = "# top\n" + yaml.safe_dump(
        {"models": old, "zz": [1, {"k": "v"}]}, default_flow_style=in_flow_style
    )
    data = yaml.safe_load(set_keys(text, "models", new))
    assert data == {"models": {**old, **new}, "zz": [1, {"k": "v"}]}


def test_the_replaced_file_is_kept_beside_with_its_permissions(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_bytes(USERS.encode())
    path.chmod(0o600)
    assert edit_pricing(path, lambda text: set_keys(text, "models", {"m": {"input": 1}}))
    assert (home / "pricing.yaml.bak").read_bytes() == USERS.encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (home / "pricing.yaml.bak").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(home)) == [".pricing.lock", "pricing.yaml", "pricing.yaml.bak"]


def test_a_link_to_the_file_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text("a: 1\n")
    (home / "pricing.yaml").symlink_to(real)
    edit_pricing(home / "pricing.yaml", lambda text: text + "b: 2\n")
    assert (home / "pricing.yaml").is_symlink()
    assert real.read_text() == "a: 1\nb: 2\n"


def test_a_second_process_waits_for_the_first(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from hermes_telemetry.pricing.editing import edit_pricing;"
        "print('begun', flush=True); edit_pricing(Path(sys.argv[1]), lambda text: text + 'b: 2\\n')"
    )
    path = home / "pricing.yaml"
    path.write_text("a: 1\n")
    with locked(home / ".pricing.lock"):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "begun\n"
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(0.5)
            assert path.read_text() == "a: 1\n"
        except BaseException:
            other.kill()
            raise
    try:
        other.communicate(timeout=30)
    finally:
        other.kill()
    assert path.read_text() == "a: 1\nb: 2\n"


def test_no_change_writes_nothing(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text("a: 1\n")
    assert not edit_pricing(path, lambda text: text)
    assert sorted(os.listdir(home)) == [".pricing.lock", "pricing.yaml"]


def test_a_file_saved_by_an_editor_meanwhile_is_not_lost(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text("a: 1\n")
    saves = ["a: 2\n"]

    def change(text: str) -> str:
        if saves:
            path.write_text(saves.pop())
        return text + "b: 1\n"

    edit_pricing(path, change)
    assert path.read_text() == "a: 2\nb: 1\n"


@pytest.mark.parametrize(
    ("raw", "fault"),
    [(b"a: [", r"line \d+, column "), (b"a: 1\n\xff", "line 2, column 1: not UTF-8")],
)
def test_a_malformed_file_is_never_written(home: Path, raw: bytes, fault: str) -> None:
    path = home / "pricing.yaml"
    path.write_bytes(raw)
    with pytest.raises(ConfigFileError, match=fault):
        edit_pricing(path, lambda text: set_keys(text, "models", {"m": {"input": 1}}))
    assert path.read_bytes() == raw
    assert not (home / "pricing.yaml.bak").exists()


def test_a_change_that_would_break_the_file_is_not_written(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text("a: 1\n")
    with pytest.raises(ConfigFileError):
        edit_pricing(path, lambda text: text + "b: [")
    assert path.read_text() == "a: 1\n"
