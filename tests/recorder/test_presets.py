"""Calls of a Mixture-of-Agents preset: the hooks name the preset where other calls name a model."""

import sys
import types
from typing import Any

import pytest

from support.recording import Recording

CALL = {
    "session_id": "s",
    "model": "panel",
    "provider": "moa",
    "usage": {"input_tokens": 10, "output_tokens": 1},
}


@pytest.mark.parametrize(
    ("aggregator", "response_model", "served"),
    [
        ({"provider": "custom", "model": "fake-model"}, None, ("fake-model", "custom")),
        ({"provider": "custom", "model": "fake-model"}, "fake-2", ("fake-2", "custom")),
        ({"provider": ["x"], "model": {"y": 1}}, "fake-2", ("fake-2", "moa")),
        ({"provider": "cus\0tom", "model": 7}, None, ("7", "cus\ufffdtom")),
        ("nonsense", "fake-2", ("fake-2", "moa")),
        (None, None, ("panel", "moa")),
    ],
)
def test_a_call_of_a_preset_is_its_aggregators(
    aggregator: Any,
    response_model: str | None,
    served: tuple[str, str],
    recording: Recording,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    presets = {"panel": {"aggregator": aggregator}}
    host_modules(
        monkeypatch,
        config={"load_config": lambda: {"moa": presets}},
        moa_config={"resolve_moa_preset": lambda moa, name: moa[name]},
    )
    recording.fire("post_api_request", **CALL, response_model=response_model)
    row = recording.row("llm_calls")
    assert (row["model"], row["provider"], row["moa_preset"]) == (*served, "panel")
    run = recording.row("runs")
    assert (run["model"], run["provider"], run["moa_calls"]) == (*served, 1)


def test_without_the_host_a_preset_is_known_by_its_answer(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hermes_cli", None)
    recording.fire("post_api_request", **CALL, response_model="fake-2")
    row = recording.row("llm_calls")
    assert (row["model"], row["provider"], row["moa_preset"]) == ("fake-2", "moa", "panel")


def host_modules(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    """Put modules of the host's package ``hermes_cli`` in the place of real ones."""
    monkeypatch.setitem(sys.modules, "hermes_cli", types.ModuleType("hermes_cli"))
    for name, content in modules.items():
        module = types.ModuleType(f"hermes_cli.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, f"hermes_cli.{name}", module)
