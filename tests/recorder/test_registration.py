"""How the host takes the plugin in: more than once, and in more than one copy."""

import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hermes_telemetry
from hermes_telemetry.plugin import current_profile
from hermes_telemetry.recorder import Recorder
from support.ledger_facts import ask_ledger
from support.recording import Recording
from support.tree import ROOT

PLUGINS = "hermes_plugins"
COPY = f"{PLUGINS}.telemetry"


class Host:
    """Keeps what plugins register; a forced reload forgets it and lets them register again."""

    profile_name: str | None = None

    def __init__(self, *registers: Callable[[Any], None]) -> None:
        self._registers = registers
        self.load()

    def load(self) -> None:
        self._callbacks: dict[str, list[Callable[..., Any]]] = {}
        for register in self._registers:
            register(self)

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self._callbacks.setdefault(name, []).append(callback)

    def register_command(self, *_: Any, **__: Any) -> None:
        """Taken and not asked for."""

    register_cli_command = register_command

    def fire(self, hook: str, **payload: Any) -> None:
        for callback in self._callbacks[hook]:
            callback(**payload)


@pytest.fixture(autouse=True)
def no_recorder_yet(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has one recorder; the one of another test is not ours."""
    monkeypatch.setattr("hermes_telemetry.plugin._shared", None)
    monkeypatch.setattr("hermes_telemetry.plugin._registered", False)
    monkeypatch.setattr("hermes_telemetry.plugin._broken", False)


@pytest.fixture
def git_copy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The project as the host imports a cloned folder: under a name of its own."""
    monkeypatch.setitem(sys.modules, PLUGINS, ModuleType(PLUGINS))
    spec = importlib.util.spec_from_file_location(
        COPY, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[COPY] = module
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if name.startswith(COPY)]:
        del sys.modules[name]


def test_registered_again_in_the_middle_of_a_call_it_goes_on(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(recording.home, recording.time.clock, profile=current_profile)
    monkeypatch.setattr("hermes_telemetry.plugin._shared", recorder)
    ids = {"session_id": "s", "turn_id": "s:t:1", "api_request_id": "s:t:1:api:1"}
    host = Host(hermes_telemetry.register)
    host.fire("on_session_start", session_id="s")
    host.fire("pre_api_request", **ids)
    recording.time.advance(2)

    host.profile_name = "work"
    host.load()
    host.fire("pre_llm_call", session_id="s")
    host.fire("post_api_request", **ids)
    host.fire("post_tool_call", session_id="s", tool_name="terminal")

    assert recording.row("llm_calls")["latency_ms"] == 2000
    assert len(recording.rows("tool_calls")) == 1
    assert recording.row("runs")["profile"] == "work"


@pytest.mark.parametrize("git_first", [True, False])
def test_of_two_installed_copies_the_first_records_and_the_second_says_so(
    git_first: bool,
    git_copy: ModuleType,
    recording: Recording,
    caplog: pytest.LogCaptureFixture,
) -> None:
    copies = [git_copy.register, hermes_telemetry.register]
    host = Host(*(copies if git_first else reversed(copies)))
    host.fire("post_tool_call", session_id="s", tool_name="terminal")
    host.fire("post_api_request", session_id="s")

    assert len(recording.rows("tool_calls")) == 1
    assert len(recording.rows("llm_calls")) == 1
    recorder = f"{COPY}.hermes_telemetry.plugin" if git_first else "hermes_telemetry.plugin"
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == [
        f"telemetry is installed twice: {recorder} records, this copy stays off"
    ]


def test_a_host_that_takes_no_hook_is_not_disturbed(caplog: pytest.LogCaptureFixture) -> None:
    class OldHost(Host):
        def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
            if name == "subagent_start":
                raise ValueError("unknown hook of https://ann:sesame@example.com")
            super().register_hook(name, callback)

    OldHost(hermes_telemetry.register).fire("on_session_start", session_id="s")
    assert [r.getMessage() for r in caplog.records] == [
        "the host does not take the hook subagent_start:"
        " ValueError('unknown hook of https://[redacted]@example.com')"
    ]


def test_a_recorder_that_cannot_be_loaded_is_said_once_and_without_secrets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: Any) -> None:
        raise ValueError("https://ann:sesame@example.com")

    monkeypatch.setattr("hermes_telemetry.recorder.Recorder", fail)
    host = Host(hermes_telemetry.register)
    for _ in range(2):
        host.fire("on_session_start", session_id="s")
    assert caplog.messages == [
        "telemetry is off: the recorder cannot be loaded:"
        " ValueError('https://[redacted]@example.com')"
    ]


def test_without_the_part_that_takes_out_secrets_a_fault_is_said_by_its_kind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("hermes_telemetry.payloads", "hermes_telemetry.recorder"):
        monkeypatch.setitem(sys.modules, name, None)
    Host(hermes_telemetry.register).fire("on_session_start", session_id="s")
    assert caplog.messages == [
        "telemetry is off: the recorder cannot be loaded: ModuleNotFoundError"
    ]


def test_a_relative_home_is_of_the_folder_in_which_the_first_hook_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_HOME", "here")
    hooks = Recorder().hooks()
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        hooks["post_tool_call"](session_id="s")
    assert list((tmp_path / "second").iterdir()) == []
    ledger = tmp_path / "first" / "here" / "telemetry" / "telemetry.db"
    assert ask_ledger(ledger, "select count(*) from tool_calls") == [(2,)]
