"""The recorder runs in every `hermes` process: what it does not need, it does not load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys, time

class Context:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None

before = time.process_time()
import hermes_telemetry
hermes_telemetry.register(Context())
spent = time.process_time() - before
print(json.dumps({"modules": sorted(sys.modules), "cpu_ms": spent * 1000}))
"""
HEAVY = {"datasette", "httpx", "pydantic", "requests", "ruamel.yaml", "sqlite_utils"}


def test_import_and_register_load_nothing_heavy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    measured = json.loads(done.stdout)
    # No assertion on time: another machine, another figure. The goal is 50 ms.
    with capsys.disabled():
        print(f"\nimport and register: {measured['cpu_ms']:.0f} ms of CPU")
    assert HEAVY & set(measured["modules"]) == set()
    assert "hermes_telemetry" in measured["modules"]


def test_register_leaves_no_file_and_no_thread(hermes_home: Path, tmp_path: Path) -> None:
    script = SCRIPT + "import threading; print(threading.active_count())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "1"
    assert list(hermes_home.iterdir()) == []


def test_a_chat_that_is_left_before_its_first_turn_loads_no_recorder(
    hermes_home: Path, tmp_path: Path
) -> None:
    script = """
import json, sys
import hermes_telemetry

class Context:
    hooks = {}
    register_hook = hooks.__setitem__
    def __getattr__(self, name):
        return lambda *args, **kwargs: None

def is_loaded():
    return "hermes_telemetry.recorder" in sys.modules

hermes_telemetry.register(Context())
# What the host (0.19) calls when a chat without a turn is left; and then one that had a turn.
Context.hooks["on_session_finalize"](session_id=None, platform="cli", reason="shutdown")
left = is_loaded()
Context.hooks["on_session_finalize"](session_id="s", platform="cli", reason="shutdown")
print(json.dumps([left, is_loaded()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [False, True]
    assert (hermes_home / "telemetry" / "telemetry.db").exists()
