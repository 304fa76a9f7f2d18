"""Calls of a Mixture-of-Agents preset: the hooks name the preset where other calls name a model."""

import json
import sys
import threading
import types
from decimal import Decimal
from typing import Any

import pytest

from hermes_telemetry import host
from hermes_telemetry.paths import pricing_path
from hermes_telemetry.recorder import Recorder
from support.recording import Recording
from support.threads import wait_for_threads

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


@pytest.mark.parametrize(
    ("prices", "cost", "matched"),
    [
        # 1,000,000 tokens: the price of the listed id; without one, that of the id that answered.
        ({"lab/m": {"input": 2, "output": 2}}, 2.0, "lab/m"),
        (
            {"lab/m": {"input": 2, "output": 2}, "lab/m-0401": {"input": 5, "output": 5}},
            2.0,
            "lab/m",
        ),
        ({"lab/m-0401": {"input": 5, "output": 5}}, 5.0, "lab/m-0401"),
    ],
)
def test_the_listed_id_prices_the_call_else_the_one_that_answered(
    recording: Recording,
    monkeypatch: pytest.MonkeyPatch,
    prices: dict[str, Any],
    cost: float,
    matched: str,
) -> None:
    preset(monkeypatch, provider="lab", model="lab/m")
    pricing_path().write_text(json.dumps({"models": prices}), encoding="utf-8")
    used = CALL | {"usage": {"input_tokens": 1_000_000}}
    recording.fire("post_api_request", **used, response_model="lab/m-0401")
    row = recording.row("llm_calls")
    assert (row["model"], row["cost_usd"]) == ("lab/m-0401", cost)
    assert recording.row("prices_used")["matched_id"] == matched


def test_the_host_is_asked_once_for_the_listed_id_and_not_at_the_presets_address(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset(monkeypatch, provider="lab", model="lab/m")
    asked: list[tuple[str, str, str | None]] = []

    def resolve(model: str, provider: str, base_url: str | None) -> host.Tariff:
        asked.append((model, provider, base_url))
        rates = (Decimal(3), Decimal(15), None, None, None)
        return host.Tariff(*rates, "list", None, "v1", None)

    monkeypatch.setattr(host, "resolve_tariff", resolve)
    recording.recorder = Recorder(home=recording.home, clock=recording.time.clock)
    recording.hooks = recording.recorder.hooks()
    recording.fire("pre_api_request", **CALL, base_url="moa://local", api_mode="moa")
    wait_for_threads("telemetry-tariff")
    used = CALL | {"usage": {"input_tokens": 1_000_000}}
    recording.fire("post_api_request", **used, response_model="lab/m-0401")

    assert asked == [("lab/m", "lab", None)]
    assert recording.row("llm_calls")["cost_usd"] == 3.0
    kept = recording.row("pricing_snapshots")
    assert (kept["model"], kept["base_url"], kept["api_mode"]) == ("lab/m", None, None)


def test_a_preset_whose_price_is_slow_delays_the_hook_by_a_tenth_of_a_second(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset(monkeypatch, provider="lab", model="lab/m")
    never = threading.Event()
    monkeypatch.setattr(host, "resolve_tariff", lambda *asked: never.wait(30) and None)
    recording.recorder = Recorder(home=recording.home, clock=recording.time.clock)
    recording.hooks = recording.recorder.hooks()
    recording.fire("pre_api_request", **CALL)
    before = recording.time.seconds
    recording.fire("post_api_request", **CALL, response_model="lab/m-0401")
    never.set()
    assert recording.time.seconds - before == pytest.approx(0.1, abs=0.005)


def preset(monkeypatch: pytest.MonkeyPatch, **aggregator: str) -> None:
    """The host knows the preset "panel" and who answers for it."""
    host_modules(
        monkeypatch,
        config={"load_config": dict},
        moa_config={"resolve_moa_preset": lambda moa, name: {"aggregator": aggregator}},
    )


def host_modules(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    """Put modules of the host's package ``hermes_cli`` in the place of real ones."""
    monkeypatch.setitem(sys.modules, "hermes_cli", types.ModuleType("hermes_cli"))
    for name, content in modules.items():
        module = types.ModuleType(f"hermes_cli.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, f"hermes_cli.{name}", module)
