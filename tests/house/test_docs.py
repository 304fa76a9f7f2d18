"""What there is stands in the docs: names are taken from the code and looked for there."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hermes_telemetry import plugin
from hermes_telemetry.budget import config
from hermes_telemetry.commands.parser import build_parser
from hermes_telemetry.hooks import HOOKS
from hermes_telemetry.pricing.sources import GROUP
from hermes_telemetry.store import merged
from hermes_telemetry_datasette import access, saved_charts
from hermes_telemetry_datasette.views.frame import TABS
from hermes_telemetry_datasette.views.routes import ROUTES
from support.command_tree import every_command
from support.tree import ROOT, project_files

README = ROOT / "README.md"
DOCUMENTS = (README, *sorted((ROOT / "docs").glob("*.md")))


def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or a higher one."""
    level = len(heading) - len(heading.lstrip("#"))
    _, _, rest = text.partition(f"\n{heading}\n")
    assert rest, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def in_code_style(text: str) -> set[str]:
    """Every name that is set as code: `name`, and each word of `several names`."""
    # A fenced block is no inline code, and would put the signs of the others out of step.
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    return {word for span in spans for word in [span, *span.split()]}


def parsed(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for file in project_files():
        if file.suffix == ".py" and file.parts[0] in folders:
            yield file, ast.parse((ROOT / file).read_text(encoding="utf-8"))


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate-docs", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    regenerate = "run: .venvs/test/bin/python scripts/generate-docs"
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{regenerate}"


def test_every_document_is_in_the_index_of_the_readme() -> None:
    index = section(README.read_text(encoding="utf-8"), "## Documentation")
    for path in DOCUMENTS[1:]:
        assert f"](docs/{path.name})" in index, path.name


def test_every_hook_of_the_host_is_explained() -> None:
    assert set(HOOKS) <= in_code_style(section(document("concepts.md"), "## Hooks"))


def test_every_hook_of_datasette_is_explained() -> None:
    module = importlib.import_module("hermes_telemetry_datasette")
    hooks = {name for name, value in vars(module).items() if hasattr(value, "datasette_impl")}
    assert hooks
    assert hooks <= in_code_style(section(document("design.md"), "## Datasette shows it"))


def test_every_action_is_explained() -> None:
    assert set(access.ACTIONS) <= in_code_style(
        section(document("serving.md"), "## Who may do what")
    )


def settings() -> set[str]:
    """What is taken from `plugin_config("hermes-telemetry")` by a name or a constant."""
    found = set()
    for file, tree in parsed("datasette_plugin"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and "plugin_config(" in ast.unparse(node.func):
                (key,) = node.args
                found.add(key.value if isinstance(key, ast.Constant) else constant(file, key))
    return found


def constant(file: Path, name: ast.expr) -> str:
    path = file.as_posix().replace("datasette_plugin", "hermes_telemetry_datasette", 1)
    module: ModuleType = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    assert isinstance(name, ast.Name)
    return str(getattr(module, name.id))


def test_every_plugin_setting_is_explained() -> None:
    assert {"timezone", "allowed_hosts"} <= settings()  # or they are looked for in vain
    for text in (
        section(document("serving.md"), "## Settings"),
        section(document("configuration.md"), "## Datasette"),
    ):
        assert settings() <= in_code_style(text)


def environment_variables(*folders: str) -> set[str]:
    """The names of variables that stand as texts of their own in the code."""
    return {
        node.value
        for _, tree in parsed(*folders)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"HERMES_[A-Z_]+|TZ", node.value)
    }


def test_every_environment_variable_is_explained() -> None:
    read = environment_variables("hermes_telemetry", "datasette_plugin")
    assert {"HERMES_TELEMETRY_HOME", "TZ"} <= read
    assert read <= in_code_style(section(document("configuration.md"), "## Environment variables"))


def test_every_variable_of_the_tests_is_explained() -> None:
    read = environment_variables("tests") - environment_variables("hermes_telemetry")
    told = document("contributing.md")
    for name in read - {"HERMES_DISABLE_LAZY_INSTALLS"}:  # the host's own
        if name.startswith("HERMES_TELEMETRY_TEST"):
            assert name in told, name


def test_every_key_of_the_budget_file_is_explained() -> None:
    keys = {*config.SECTIONS.values(), *config.KEYS.values(), *config._MODES}
    tree = ast.parse(Path(config.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_mapping":
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            keys |= {text for text in texts if isinstance(text, str) and text}
    keys = {key for key in keys if re.fullmatch(r"\w+", key)}
    assert {"timezone", "soft_pct", "overrides", "mode", "on_breach"} <= keys
    text = section(document("budgets.md"), "## The file")
    for key in keys:
        assert re.search(rf"\b{key}\b", text), key


def keys_of_the_price_file() -> set[str]:
    """What the readers of pricing.yaml ask a mapping for."""
    asking = {"get", "rate", "_required", "_multiplier", "_listed"}
    keys = set()
    for name in ("entries", "files", "refresh"):
        module = importlib.import_module(f"hermes_telemetry.pricing.{name}")
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in asking:
                keys |= {a.value for a in node.args if isinstance(a, ast.Constant) and a.value}
    return {key for key in keys if isinstance(key, str) and not key.startswith("HERMES_")}


def test_every_key_of_the_price_file_is_explained() -> None:
    keys = keys_of_the_price_file()
    assert {"models", "tiers", "_subscription", "openrouter_url", "auto_models"} <= keys
    text = section(document("configuration.md"), "## pricing.yaml")
    for key in keys:
        assert re.search(rf"`(\w+\.)?{key}`", text), key


def test_every_finding_of_the_doctor_is_explained() -> None:
    named = set()
    for file, tree in parsed("hermes_telemetry"):
        if file.name not in ("doctor.py", "health.py"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding":
                check = node.args[0] if node.args else None
                if isinstance(check, ast.Constant):
                    named.add(check.value)
    assert {"schema", "price age", "budget"} <= named
    text = section(document("troubleshooting.md"), "## What doctor looks at")
    assert named <= in_code_style(text)


def test_messages_that_are_quoted_are_printed_by_the_code() -> None:
    text = section(document("troubleshooting.md"), "## Commands that refuse")
    quoted = re.findall(r'^\| "([^"]+)"', text, re.MULTILINE)
    assert quoted
    code = " ".join(
        (ROOT / file).read_text(encoding="utf-8")
        for file in project_files()
        if file.parts[0] in ("hermes_telemetry", "datasette_plugin") and file.suffix == ".py"
    )
    for message in quoted:
        if message == "database is locked":  # SQLite's own
            continue
        for part in message.split("…"):
            assert part.strip() in code, message


def is_a_command(text: str) -> bool:
    """Whether it is the name of a command, or a command line that is taken as it stands."""
    if text in {name for name, _ in every_command(build_parser())}:
        return True
    try:
        build_parser().parse_args(shlex.split(text))
    except SystemExit as stop:
        return not stop.code
    return True


def test_commands_in_the_text_are_ones_that_there_are() -> None:
    found = {
        (path.name, words[1])
        for path in DOCUMENTS
        for span in in_code_style(path.read_text(encoding="utf-8"))
        if (words := re.match(r"(?:hermes-telemetry|hermes telemetry) ([a-z].*)", span))
        and "…" not in span
    }
    assert len(found) > 20
    assert [command for command in sorted(found) if not is_a_command(command[1])] == []


def test_every_slash_command_is_explained() -> None:
    told = in_code_style(section(document("commands.md"), "## In chat"))
    assert {f"/{name}" for name in plugin._SLASH_COMMANDS} <= told


def test_every_table_of_a_merged_ledger_is_explained() -> None:
    text = section(document("schema.md"), "## A merged ledger")
    made = " ".join(merged._TABLES)
    for table in re.findall(r"create table if not exists (merged_\w+)", made):
        assert f"`{table}`" in text, table
    for column in re.findall(r"^\s+(\w+) (?:integer|text)\b", made, re.MULTILINE):
        assert f"`{column}`" in text, column


def test_every_column_of_saved_charts_is_explained() -> None:
    columns = re.findall(r"^  (\w+) (?:integer|text)", saved_charts._SCHEMA, re.MULTILINE)
    assert {"id", "saved_at"} <= set(columns)
    assert set(columns) <= in_code_style(section(document("schema.md"), "## Saved charts"))


def test_every_page_is_shown() -> None:
    for _, path in TABS:
        assert f"`{path}`" in document("pages.md"), path


def test_every_address_that_answers_json_is_explained() -> None:
    answering = [pattern.strip("^$") for pattern, _ in ROUTES if r"\.json" in pattern]
    assert answering
    for pattern in answering:
        address = pattern.replace(r"(?:\.json)?", r"\.json")
        # The docs write whatever they like for what an address names: ID, 7, {id}.
        address = re.sub(r"\(\?P<\w+>[^)]*\)", r"[^/\\s]+", address)
        assert re.search(address, document("json-api.md")), pattern


def test_every_extra_and_entry_point_group_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = section(document("configuration.md"), "## Installing parts")
    assert set(project["optional-dependencies"]) <= in_code_style(extras)
    assert GROUP in document("contributing.md")


def test_every_script_is_explained() -> None:
    told = in_code_style(section(document("contributing.md"), "## Set up"))
    scripts = {file.as_posix() for file in project_files() if file.parts[0] == "scripts"}
    assert {name for name in scripts if "." not in name} <= told


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        to = (path.parent / name).resolve() if name else path
        assert to.exists(), target
        if anchor:
            assert anchor in anchors(to.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of the headings; a heading that comes again gets a number."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    made: dict[str, int] = {}
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-")
        number = made.get(words, 0)
        made[words] = number + 1
        found.add(f"{words}-{number}" if number else words)
    return found


def test_every_picture_is_one_that_the_script_takes_and_small() -> None:
    script = ast.parse((ROOT / "scripts" / "screenshots.py").read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value
        for node in script.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    shots, widths = constants["SHOTS"], ast.literal_eval(constants["WIDTHS"])
    assert isinstance(shots, ast.Dict)
    names = [ast.literal_eval(name) for name in shots.keys if name is not None]
    pictures = {path.name: path for path in (ROOT / "docs" / "images").iterdir()}
    assert set(pictures) == {f"{name}-{width}.png" for name in names for width in widths}
    for name, path in pictures.items():
        assert path.stat().st_size <= 150_000, name
        assert f"](images/{name})" in document("pages.md"), name


def test_an_anchor_is_made_as_github_makes_it() -> None:
    text = "# /-/telemetry/prune.json\n## What `doctor` looks at\n## What `doctor` looks at\n"
    assert anchors(text) == {
        "-telemetryprunejson",
        "what-doctor-looks-at",
        "what-doctor-looks-at-1",
    }
