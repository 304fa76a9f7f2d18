"""What is installed is what the folders hold: wheel, sdist, and the folder that git clones."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import hermes_telemetry
from support.installs import host_without_the_plugin, repository_of_the_working_tree
from support.tree import ROOT, project_files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = {
    "hermes_telemetry": "hermes_telemetry",
    "canned_queries": "hermes_telemetry.canned_queries",
    "datasette_plugin": "hermes_telemetry_datasette",
}


# As the host does it: the folder is a package of another name, below one that has no place.
LOADED_BY_THE_HOST = """
import importlib, importlib.util, json, sys, types
sys.modules["hermes_plugins"] = types.ModuleType("hermes_plugins")
sys.modules["hermes_plugins"].__path__ = []
name, clone = "hermes_plugins.hermes_telemetry", "plugins/hermes-telemetry"
spec = importlib.util.spec_from_file_location(
    name, clone + "/__init__.py", submodule_search_locations=[clone])
module = importlib.util.module_from_spec(spec)
sys.modules[name] = module
spec.loader.exec_module(module)
"""


def shipped_files() -> dict[str, Path]:
    """Every file of the three package folders, by its path in an installed environment."""
    found = {}
    for file in project_files():
        top, *rest = file.parts
        if top in FOLDERS and rest:
            found["/".join([*FOLDERS[top].split("."), *rest])] = ROOT / file
    return found


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as held:
        return {name: held.read(name) for name in held.namelist()}


class Registration:
    """Stands for the host's plugin context: keeps what `register` hands over."""

    def __init__(self) -> None:
        self.hooks: list[str] = []

    def register_hook(self, name: str, callback: Any) -> None:
        assert callable(callback)
        self.hooks.append(name)

    def register_command(self, name: str, handler: Any, **details: Any) -> None:
        assert callable(handler)

    def register_cli_command(self, name: str, help: str, setup_fn: Any, **details: Any) -> None:
        assert callable(setup_fn)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist; the wheel is built from what the sdist holds."""
    tree = tmp_path_factory.mktemp("build") / "hermes-telemetry"
    tree.mkdir()
    repository_of_the_working_tree(tree)
    command = [sys.executable, "-m", "build", "--no-isolation", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tree / "dist").glob("*.whl")
    (sdist,) = (tree / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest,
    distributions: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The interpreter of a fresh environment that holds a distribution; it borrows what we need."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    # As a path line, so that the .pth files of the tests' own environment, which hold the
    # editable install, are not read.
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    chosen = distributions[0 if request.param == "wheel" else 1]
    command = [python, "-m", "pip", "install", "-qq", "--no-deps", "--ignore-installed", chosen]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return python


def run(python: Path, script: str, *, cwd: Path) -> Any:
    """What `script` prints as JSON."""
    done = subprocess.run(
        [python, "-c", script], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_list_of_packages_is_the_folders() -> None:
    folders = {
        name.rpartition("/")[0].replace("/", ".")
        for name in shipped_files()
        if name.endswith(".py")
    }
    assert sorted(folders) == sorted(PYPROJECT["tool"]["setuptools"]["packages"])


def test_a_wheel_holds_every_file_of_the_packages(distributions: tuple[Path, Path]) -> None:
    held = {n: held for n, held in contents(distributions[0]).items() if ".dist-info/" not in n}
    expected = {name: path.read_bytes() for name, path in shipped_files().items()}
    assert held.keys() == expected.keys()
    assert held == expected


def test_the_tree_and_the_sdist_build_the_same_wheel(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    tree = distributions[0].parents[1]
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        tmp_path,
        tree,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (direct,) = tmp_path.glob("*.whl")
    assert direct.name == distributions[0].name
    assert contents(direct) == contents(distributions[0])


def test_an_sdist_holds_the_licence_and_the_contents_behind_the_link(
    distributions: tuple[Path, Path],
) -> None:
    with tarfile.open(distributions[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
        (metadata,) = (
            m for m in sdist.getmembers() if m.name.endswith("/datasette_plugin/metadata.yml")
        )
        assert metadata.isfile()
    assert {"LICENSE", "README.md", "pyproject.toml"} <= names


def test_an_installed_project_imports_and_finds_its_queries_and_descriptions(
    installed: Path, tmp_path: Path
) -> None:
    found = run(
        installed,
        "import json, importlib.resources as r\n"
        "import hermes_telemetry, hermes_telemetry_datasette\n"
        "from hermes_telemetry.reports import load_queries\n"
        "print(json.dumps({'places': [m.__file__ for m in\n"
        "    (hermes_telemetry, hermes_telemetry_datasette)], 'queries': sorted(load_queries()),\n"
        "    'described': (r.files('hermes_telemetry_datasette') / 'metadata.yml').read_text()}))",
        cwd=tmp_path,
    )
    assert all(Path(place).is_relative_to(installed.parents[1]) for place in found["places"])
    assert found["queries"] == sorted(path.stem for path in (ROOT / "canned_queries").glob("*.sql"))
    assert found["described"] == (ROOT / "metadata.yml").read_text(encoding="utf-8")


def test_an_installed_project_is_found_by_the_host_by_datasette_and_by_the_shell(
    installed: Path, tmp_path: Path
) -> None:
    found = run(
        installed,
        "import json\n"
        "from importlib.metadata import distribution\n"
        "points = distribution('hermes-telemetry').entry_points\n"
        "print(json.dumps([[p.group, p.name, type(p.load()).__name__] for p in points]))",
        cwd=tmp_path,
    )
    assert sorted(found) == [
        ["console_scripts", "hermes-telemetry", "function"],
        ["datasette", "hermes_telemetry", "module"],
        ["hermes_agent.plugins", "hermes-telemetry", "module"],
    ]
    command = installed.with_name("hermes-telemetry")
    done = subprocess.run([command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: hermes-telemetry")


def test_an_installed_project_makes_a_ledger_and_answers_from_it(
    installed: Path, tmp_path: Path
) -> None:
    """By its console script, which is all that the user of a release has."""

    def answer(command: str) -> str:
        done = subprocess.run(
            [installed.with_name("hermes-telemetry"), *command.split()],
            cwd=tmp_path,
            env=os.environ | {"HERMES_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        return done.stdout

    answer("demo made-up.db --calls 500")
    rows = json.loads(answer("query cost_by_model --since all --json --db made-up.db"))
    assert sum(row["calls"] for row in rows) == 500
    # From the table of prices that the package carries.
    shown = answer("pricing show claude-sonnet-4-5 --provider anthropic")
    assert shown.startswith("claude-sonnet-4-5 at anthropic: builtin")


@pytest.mark.host
def test_a_wheel_in_the_environment_of_a_host_is_a_plugin_with_commands(
    distributions: tuple[Path, Path], host_python: Path, tmp_path: Path
) -> None:
    python = host_without_the_plugin(host_python, tmp_path / "environment")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--no-deps"]
    subprocess.run([*command, distributions[0]], check=True, stdin=subprocess.DEVNULL)

    def hermes(*words: str) -> str:
        done = subprocess.run(
            [python, "-m", "hermes_cli.main", *words],
            cwd=tmp_path,
            env=os.environ
            | {"HERMES_HOME": str(tmp_path / ".hermes"), "HERMES_DISABLE_LAZY_INSTALLS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    hermes("plugins", "enable", "hermes-telemetry")
    listed = hermes("plugins", "list", "--enabled", "--no-bundled", "--plain").split()
    assert listed == ["enabled", "entrypoint", hermes_telemetry.__version__, "hermes-telemetry"]
    assert hermes("telemetry", "--help").startswith("usage: hermes telemetry")
    queries = hermes("telemetry", "query", "--list")
    for file in (ROOT / "canned_queries").glob("*.sql"):
        assert file.stem in queries


def test_a_cloned_folder_loads_under_the_hosts_name_and_nothing_of_it_under_its_own(
    tmp_path: Path,
) -> None:
    clone = tmp_path / "plugins" / "hermes-telemetry"
    clone.mkdir(parents=True)
    repository_of_the_working_tree(clone)
    found = run(
        Path(sys.executable),
        LOADED_BY_THE_HOST + "class Context:\n"
        "    hooks = []\n"
        "    def register_hook(self, name, callback): self.hooks.append(callback)\n"
        "    def __getattr__(self, name): return lambda *args, **kwargs: None\n"
        "module.register(Context())\n"
        "reports = importlib.import_module(name + '.hermes_telemetry.reports')\n"
        "print(json.dumps({'hooks': len(Context.hooks),\n"
        "    'queries': sorted(reports.load_queries()),\n"
        "    'strangers': [m for m in sys.modules if m.split('.')[0] == 'hermes_telemetry']}))",
        cwd=tmp_path,
    )
    assert found["hooks"] > 0
    assert found["queries"] == sorted(path.stem for path in (ROOT / "canned_queries").glob("*.sql"))
    assert found["strangers"] == []


def test_a_cloned_folder_writes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "plugins" / "hermes-telemetry"
    clone.mkdir(parents=True)
    repository_of_the_working_tree(clone)
    found = run(
        Path(sys.executable),
        LOADED_BY_THE_HOST
        + """
import contextlib, io
# Datasette then loads no plugin that is installed: the folder is all there is.
sys._called_from_test = True
cli = importlib.import_module(name + ".hermes_telemetry.commands.cli")
with contextlib.redirect_stdout(io.StringIO()):
    made = "--calls 500 --days 3 --until 2026-07-10".split()
    codes = [cli.main(["demo", "demo.db", *made])]
    report = "report --month 2026-07 --out review.html --db demo.db".split()
    codes.append(cli.main(report))
print(json.dumps({
    "codes": codes,
    "from": sys.modules["datasette_plugin.charts.report"].__file__,
    "strangers": [m for m in sys.modules if m.startswith("hermes_telemetry_datasette")]}))
""",
        cwd=tmp_path,
    )
    assert found["codes"] == [0, 0]
    assert Path(found["from"]).is_relative_to(clone)
    assert found["strangers"] == []
    assert "Spend by day and model" in (tmp_path / "review.html").read_text(encoding="utf-8")


def test_plugin_yaml_lists_the_hooks_that_register_registers() -> None:
    manifest = yaml.safe_load((ROOT / "plugin.yaml").read_text(encoding="utf-8"))
    context = Registration()
    hermes_telemetry.register(context)
    assert sorted(manifest["provides_hooks"]) == sorted(context.hooks)
    assert manifest["kind"] == "standalone"
    assert manifest["name"] == PYPROJECT["project"]["name"]


def test_the_version_is_said_once_and_agreed_upon() -> None:
    manifest = yaml.safe_load((ROOT / "plugin.yaml").read_text(encoding="utf-8"))
    assert manifest["version"] == hermes_telemetry.__version__
    assert "version" in PYPROJECT["project"]["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", hermes_telemetry.__version__)


def test_the_newest_changes_are_those_of_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", changelog, re.MULTILINE)
    assert releases[0] == ("Unreleased", "")
    assert releases[1][0] == hermes_telemetry.__version__
    assert all(day for _, day in releases[1:])


def test_a_wheel_carries_the_version(distributions: tuple[Path, Path]) -> None:
    assert distributions[0].name.startswith(f"hermes_telemetry-{hermes_telemetry.__version__}-")
