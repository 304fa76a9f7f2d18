"""Who may import whom, who may hold SQL, who may read the environment: read off the syntax trees.

    commands, recorder, datasette_plugin -> budget, pricing, reports -> store
    store -> windows, money, paths

A unit is a module or package directly below hermes_telemetry, or the whole datasette_plugin.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

from support.tree import ROOT, project_files

OURS = ("hermes_telemetry", "datasette_plugin")

_GROUND = {"windows", "money", "paths", "strict_json"}
_STORE = _GROUND | {"store", "cron_jobs", "host", "payloads", "turns"}
_FIGURES = _STORE | {"budget", "pricing", "reports", "yaml_files"}
MAY_IMPORT: dict[str, set[str]] = {
    "windows": set(),
    "money": set(),
    "strict_json": set(),
    "paths": set(),
    "payloads": set(),
    "whole_files": set(),
    "file_locks": set(),
    "first_load": {"paths", "whole_files"},
    "cron_jobs": {"paths"},
    "yaml_files": {"windows", "whole_files", "file_locks"},
    "store": _GROUND | {"file_locks"},
    "host": _GROUND | {"payloads"},
    "turns": _GROUND | {"payloads"},
    "budget": _FIGURES,
    "pricing": _FIGURES,
    "reports": _FIGURES,
    # The recorder's parts: what a call cost, and the one recorder of a process.
    "accounting": _FIGURES,
    "rows": _STORE,
    "hooks": set(),
    "recorder": _FIGURES | {"accounting", "first_load", "hooks", "rows"},
    # All but the hooks inside functions: the first hook or command that is used imports them.
    "plugin": {"hooks", "payloads", "recorder", "commands"},
    "commands": _FIGURES | {"first_load", "whole_files"},
    "datasette_plugin": _FIGURES,
    # register(ctx) hands out what it registers.
    "__init__": {"plugin", "commands"},
}

ANALYTICS = {"datasette", "sqlite_utils", "hermes_telemetry_datasette", "datasette_plugin"}
MAY_USE_ANALYTICS = {"hermes_telemetry/commands/server.py"}
HOST = {"agent", "cron", "hermes_cli"}

SQL = re.compile(
    r"\s*(select\s|insert\s+(or\s+\w+\s+)?into\s|update\s+\w+\s+set\s|delete\s+from\s|replace\s+into\s"
    r"|create\s+(temp\s+|unique\s+|virtual\s+)*(table|view|index|trigger)\s|alter\s+table\s"
    r"|drop\s+(table|view|index)\s|with\s+(recursive\s+)?\w+\s*(\([\w\s,]*\)\s*)?as\s|pragma\s)",
    re.IGNORECASE,
)
MAY_HOLD_SQL = (
    "hermes_telemetry/store/",
    # The charts that a user saves live in a database of the plugin's own.
    "datasette_plugin/saved_charts.py",
    # A rule of who may do what is SQL, for Datasette 1.0.
    "datasette_plugin/saved_charts_access.py",
    # Datasette 1.0 keeps the queries that it was given in a table of its own.
    "datasette_plugin/told.py",
)
# What any SQLite file says of itself: whoever opens one must first ask whether it is a ledger.
CATALOGUE = re.compile(r"\b(sqlite_master|pragma_table_info|pragma schema_version)\b")

HOMES = {"HERMES_HOME", "HERMES_TELEMETRY_HOME"}


@dataclass(frozen=True)
class Import:
    file: str
    line: int
    target: str  # absolute and dotted; datasette_plugin under its folder's name
    relative: bool
    in_function: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.target}"


def unit_of(module: str) -> str:
    """'hermes_telemetry.store.runs' -> 'store', 'hermes_telemetry' -> '__init__'."""
    package, _, rest = module.partition(".")
    return "datasette_plugin" if package == "datasette_plugin" else rest.split(".")[0] or "__init__"


def module_of(file: str) -> str:
    return ".".join(PurePosixPath(file).with_suffix("").parts)


def sources(root: Path) -> dict[str, ast.Module]:
    """The syntax tree of every module of both packages below `root`, by POSIX path."""
    if root == ROOT:
        files = [file for file in project_files() if file.parts[0] in OURS]
    else:
        files = [file.relative_to(root) for package in OURS for file in (root / package).rglob("*")]
    return {
        file.as_posix(): ast.parse((root / file).read_text(encoding="utf-8"), str(file))
        for file in files
        if file.suffix == ".py"
    }


def imports(trees: dict[str, ast.Module]) -> list[Import]:
    modules = {module_of(file).removesuffix(".__init__") for file in trees}

    def targets(node: ast.AST, file: str) -> Iterator[tuple[str, bool]]:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, False) for alias in names)
            case ast.ImportFrom(module=base, level=level, names=names):
                start = module_of(file).split(".")[:-level] if level else []
                base = ".".join([*start, *([base] if base else [])])
                for alias in names:
                    inner = f"{base}.{alias.name}"
                    yield (inner if inner in modules else base), level > 0
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name, False

    def walk(node: ast.AST, file: str, in_function: bool) -> Iterator[Import]:
        for target, relative in targets(node, file):
            yield Import(file, getattr(node, "lineno", 0), target, relative, in_function)
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, file, inside)

    return [found for file, tree in trees.items() for found in walk(tree, file, False)]


def against_the_directions(trees: dict[str, ast.Module]) -> list[str]:
    found = []
    for each in imports(trees):
        importer = unit_of(module_of(each.file))
        if each.target.split(".")[0] not in OURS:
            continue
        imported = unit_of(each.target)
        if imported == "datasette_plugin" and each.file in MAY_USE_ANALYTICS:
            continue
        may = MAY_IMPORT.get(importer, set())
        # __version__ and what the package itself says may be read by everyone but payloads.
        if imported not in may | {importer, *({"__init__"} if may else ())}:
            found.append(str(each))
    return found


def cycles(trees: dict[str, ast.Module]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for each in imports(trees):
        importer, imported = unit_of(module_of(each.file)), unit_of(each.target)
        if each.target.split(".")[0] in OURS and "__init__" not in (importer, imported):
            graph.setdefault(importer, set()).add(imported)
    for unit, below in graph.items():
        below.discard(unit)
    try:
        TopologicalSorter(graph).prepare()
    except ValueError as error:
        return [" -> ".join(reversed(error.args[1]))]
    return []


def absolute_imports_of_the_own_package(trees: dict[str, ast.Module]) -> list[str]:
    own = {
        "hermes_telemetry": {"hermes_telemetry"},
        "datasette_plugin": {"datasette_plugin", "hermes_telemetry_datasette"},
    }
    return [
        str(each)
        for each in imports(trees)
        if not each.relative and each.target.split(".")[0] in own[each.file.split("/")[0]]
    ]


def analytics_in_the_recorder(trees: dict[str, ast.Module]) -> list[str]:
    return [
        str(each)
        for each in imports(trees)
        if each.file.startswith("hermes_telemetry/")
        and each.target.split(".")[0] in ANALYTICS
        and not (each.file in MAY_USE_ANALYTICS and each.in_function)
    ]


def imports_of_the_host(trees: dict[str, ast.Module]) -> list[str]:
    return [
        str(each)
        for each in imports(trees)
        if not each.relative
        and each.target.split(".")[0] in HOST
        and not (each.file == "hermes_telemetry/host.py" and each.in_function)
    ]


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The string literals of a module, without docstrings and other lone strings."""
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone:
            yield node


def sql_outside_the_store(trees: dict[str, ast.Module]) -> list[str]:
    return [
        f"{file}:{text.lineno} holds SQL: {' '.join(str(text.value).split())[:60]}"
        for file, tree in trees.items()
        if not file.startswith(MAY_HOLD_SQL)
        for text in texts(tree)
        if SQL.match(str(text.value)) and not CATALOGUE.search(str(text.value))
    ]


def readers_of_the_homes(trees: dict[str, ast.Module]) -> list[str]:
    return [
        f"{file}:{text.lineno} reads {text.value}"
        for file, tree in trees.items()
        if file != "hermes_telemetry/paths.py"
        for text in texts(tree)
        if text.value in HOMES
    ]


RULES = [
    against_the_directions,
    cycles,
    absolute_imports_of_the_own_package,
    analytics_in_the_recorder,
    imports_of_the_host,
    sql_outside_the_store,
    readers_of_the_homes,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_project_has_no(rule) -> None:  # type: ignore[no-untyped-def]
    assert rule(sources(ROOT)) == []


def test_every_module_has_its_place() -> None:
    units = {unit_of(module_of(file)) for file in sources(ROOT)} - {"canned_queries"}
    assert units <= MAY_IMPORT.keys()


@pytest.mark.parametrize(
    ("rule", "file", "source"),
    [
        (against_the_directions, "hermes_telemetry/store/runs.py", "from ..reports import run"),
        (against_the_directions, "hermes_telemetry/store/runs.py", "from .. import payloads"),
        (against_the_directions, "hermes_telemetry/payloads.py", "from . import windows"),
        (against_the_directions, "hermes_telemetry/payloads.py", "from . import __version__"),
        (against_the_directions, "hermes_telemetry/commands/serve.py", "from .. import recorder"),
        (
            against_the_directions,
            "datasette_plugin/views/prune.py",
            "from hermes_telemetry.commands import cli",
        ),
        (
            against_the_directions,
            "hermes_telemetry/pricing/cost.py",
            "def f():\n    from ..commands import cli",
        ),
        (
            absolute_imports_of_the_own_package,
            "hermes_telemetry/recorder.py",
            "import hermes_telemetry.store",
        ),
        (
            absolute_imports_of_the_own_package,
            "datasette_plugin/views/prune.py",
            "from hermes_telemetry_datasette import compat",
        ),
        (analytics_in_the_recorder, "hermes_telemetry/commands/server.py", "import datasette"),
        (
            analytics_in_the_recorder,
            "hermes_telemetry/reports.py",
            "def f():\n    from sqlite_utils import Database",
        ),
        (
            analytics_in_the_recorder,
            "hermes_telemetry/recorder.py",
            "def f():\n    importlib.import_module('hermes_telemetry_datasette')",
        ),
        (imports_of_the_host, "hermes_telemetry/host.py", "from agent import usage_pricing"),
        (
            imports_of_the_host,
            "hermes_telemetry/pricing/catalog.py",
            "def f():\n    import hermes_cli.plugins",
        ),
        (
            sql_outside_the_store,
            "hermes_telemetry/recorder.py",
            "conn.execute(f'insert into {table} values (1)')",
        ),
        (
            sql_outside_the_store,
            "datasette_plugin/views/page.py",
            "sql = '''\n    with recursive t(x) as (select 1) select x from t'''",
        ),
        (readers_of_the_homes, "hermes_telemetry/host.py", "os.environ['HERMES_HOME']"),
    ],
)
def test_a_rule_sees(rule, file: str, source: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    # The modules that the sources name, so that `from . import x` is known to be one.
    for name in (
        file,
        "hermes_telemetry/payloads.py",
        "hermes_telemetry/windows.py",
        "hermes_telemetry/recorder.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / file).write_text(source, encoding="utf-8")
    assert len(rule(sources(tmp_path))) == 1


def test_a_cycle_is_seen(tmp_path: Path) -> None:
    (tmp_path / "hermes_telemetry").mkdir()
    (tmp_path / "hermes_telemetry/pricing.py").write_text("from . import budget")
    (tmp_path / "hermes_telemetry/budget.py").write_text("from .pricing import cost")
    assert cycles(sources(tmp_path)) == ["pricing -> budget -> pricing"]
