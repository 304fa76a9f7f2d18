"""A budget.yaml, a recorder's calls of known cost for it to judge, and what follows from them."""

import json
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.recording import Recording
from support.threads import wait_for_threads

PRICES = {
    "models": {
        "paid": {"input": 10, "output": 0},
        "gift": {"input": 0, "output": 0},
    }
}
"""A pricing.yaml: a dollar of the paid model is 100,000 tokens of input."""

JOB = "0123456789ab"
CRON = f"cron_{JOB}_20260701_120000"
"""A run of the job."""

DAILY_DOLLAR = {"daily_usd": 1}


def set_budget(home: Path, budgets: Any, **rules: Any) -> None:
    """Write the limits, and what happens when one is reached; JSON is YAML."""
    modes = {rule: {"mode": mode} for rule, mode in rules.items() if rule != "timezone"}
    zone = {"timezone": rules.get("timezone", "Europe/Madrid")}
    text = json.dumps({"budgets": budgets, **modes, **zone})
    (home / "budget.yaml").write_text(text, encoding="utf-8")


def limit_beside(ledger: Path, **budgets: Any) -> None:
    """Write the limits of a ledger whose days are UTC's beside it."""
    set_budget(ledger.parent, budgets, timezone="UTC")


class Jobs:
    """The host's list of cron jobs: which were paused, why, and whether it ``works``; who holds its
    ``lock`` keeps it from answering.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paused: list[tuple[str, str]] = []
        self.works = True
        self.lock = threading.Lock()
        module = ModuleType("cron.jobs")
        module.pause_job = self._pause  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "cron", ModuleType("cron"))
        monkeypatch.setitem(sys.modules, "cron.jobs", module)

    def _pause(self, job_id: str, reason: str | None = None) -> dict[str, str]:
        with self.lock:
            if not self.works:
                raise OSError("No space left on device")
            self.paused.append((job_id, reason or ""))
            return {"id": job_id}


def read_prices(recording: Recording) -> None:
    """Have done what a process does beside its first hook: while the clock stands, a hook that
    finds it writing would not wait.
    """
    recording.fire("pre_api_request", session_id="before")
    wait_for_threads()


def another_process(recording: Recording) -> Recording:
    other = Recording(recording.home, recording.time)
    read_prices(other)
    return other


def limit(recording: Recording, budgets: Any, **rules: Any) -> None:
    set_budget(recording.home, budgets, **rules)
    recording.time.advance(1)  # the file is looked at once a second


def begin(recording: Recording, session: str, platform: str = "cli", **turn: Any) -> str | None:
    """Start a session and its first turn; what the model is told in it."""
    recording.fire("on_session_start", session_id=session, platform=platform)
    wait_for_threads()
    return told(recording, session, platform=platform, **turn)


def told(recording: Recording, session: str, **turn: Any) -> str | None:
    answer = recording.fire("pre_llm_call", session_id=session, **turn)
    return None if answer is None else answer["context"]


def delegate(recording: Recording, parent: str, child: str) -> None:
    recording.fire("subagent_start", parent_session_id=parent, child_session_id=child)
    begin(recording, child, "subagent")


def spend(recording: Recording, session: str, usd: float, model: str = "paid") -> None:
    """One call, and what follows from it."""
    call(recording, session, usd, model)
    wait_for_threads()


def call(recording: Recording, session: str, usd: float, model: str = "paid") -> None:
    """A dollar is 100,000 tokens of input."""
    usage = {"input_tokens": round(usd * 100_000)}
    recording.fire(
        "post_api_request", session_id=session, model=model, provider="custom", usage=usage
    )


def spend_by_estimate(recording: Recording, session: str, usd: float) -> None:
    """One call whose usage the provider does not report."""
    about = {"session_id": session, "turn_id": f"{session}:t:1", "model": "paid"}
    about["provider"] = "custom"
    tokens = round(usd * 100_000)
    recording.fire("pre_api_request", **about, approx_input_tokens=tokens)
    recording.fire("post_api_request", **about, usage=None)


def blocked(recording: Recording, session: str) -> str | None:
    """What a tool call of the session is told instead of being run."""
    answer = recording.fire("pre_tool_call", session_id=session, tool_name="terminal", args={})
    if answer is None:
        return None
    assert answer["action"] == "block"
    return str(answer["message"])


def levels(recording: Recording) -> list[tuple[str, str, str, str, str]]:
    return [
        (row["scope"], row["scope_id"], row["window"], row["period_key"], row["level"])
        for row in recording.rows("budget_alerts")
    ]


def name_job(hermes_home: Path, name: str) -> None:
    """Have the host's list of cron jobs call the one that it holds so."""
    listed = json.dumps({"jobs": [{"id": JOB, "name": name}]})
    (hermes_home / "cron" / "jobs.json").write_text(listed, encoding="utf-8")


def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may have no more threads."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
