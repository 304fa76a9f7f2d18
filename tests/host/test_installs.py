"""Both ways to install the plugin record, and neither leaves anything before the first turn."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.host import PLUGIN, Host, StartHost, nano
from support.installs import host_without_the_plugin, repository_of_the_working_tree
from support.provider import Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# In micro-dollars: 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 and 100 * 3 + 1200 * 0.30 + 8 * 15 = 780.
ASKING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
ANSWERING = Usage(prompt=1300, cached=1200, output=8, reasoning=0)


@pytest.fixture(scope="module")
def by_pip(start_host: StartHost, host_python: Path) -> Callable[[], Host]:
    """Makes hosts whose environment holds this project, as `pip install` put it there."""
    subprocess.run([host_python, "-c", "import hermes_telemetry"], cwd="/", check=True)
    return start_host


@pytest.fixture(scope="module")
def by_git(
    start_host: StartHost, host_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Host]:
    """Makes hosts that lack this project and get it by `hermes plugins install file://…`."""
    python = host_without_the_plugin(host_python, tmp_path_factory.mktemp("bare") / "environment")
    imported = subprocess.run([python, "-c", "import hermes_telemetry"], cwd="/", check=False)
    assert imported.returncode == 1
    address = repository_of_the_working_tree(tmp_path_factory.mktemp("repository"))

    def install() -> Host:
        host = start_host(python=python)
        installed = host.run("plugins", "install", address, "--enable")
        assert (installed.returncode, installed.stderr) == (0, "")
        assert (host.home / "plugins" / PLUGIN / "plugin.yaml").is_file()
        return host

    return install


@pytest.fixture(params=["by_pip", "by_git"])
def host(request: pytest.FixtureRequest) -> Host:
    install: Callable[[], Host] = request.getfixturevalue(request.param)
    return install()


def test_an_installed_plugin_records_a_turn(host: Host) -> None:
    greeting = ToolCall("call_a", "terminal", {"command": "echo hello"})
    host.provider.answer("greet me", ToolCalls((greeting,), ASKING), Text("hello", ANSWERING))
    finished = host.run("chat", "-Q", "-q", "greet me")
    assert (finished.returncode, finished.stdout.strip()) == (0, "hello")

    run = host.one("select * from runs")
    assert (run["status"], run["api_calls"], run["tool_calls"]) == ("ok", 2, 1)
    assert run["cost_usd"] == nano(0.001410 + 0.000780)
    assert host.rows("select tokens_in, tokens_out from llm_calls order by id") == [
        (200, 34),
        (100, 8),
    ]
    assert host.rows("select tool_name, ok, tool_call_id from tool_calls") == [
        ("terminal", 1, "call_a")
    ]


def test_a_command_without_a_turn_loads_the_plugin_and_leaves_no_file(host: Host) -> None:
    """A word that the host does not know makes it ask every plugin for a command of that name."""
    finished = host.run("no-such-word", PYTHONPROFILEIMPORTTIME="1")

    assert (finished.returncode, finished.stdout) == (2, "")
    imported = [line.split("|")[-1].strip() for line in finished.stderr.splitlines()]
    assert any(name.endswith("hermes_telemetry.plugin") for name in imported)
    # The first hook imports it, and here none fires.
    assert not any(name.endswith("hermes_telemetry.recorder") for name in imported)
    assert [path.name for path in host.telemetry.iterdir()] == ["pricing.yaml"]


@pytest.mark.parametrize("words", [["--help"], ["plugins", "list"]], ids=" ".join)
def test_a_look_at_the_host_leaves_no_file(start_host: StartHost, words: list[str]) -> None:
    host = start_host()
    assert host.run(*words).returncode == 0
    assert [path.name for path in host.telemetry.iterdir()] == ["pricing.yaml"]
