"""What the plugin adds to the start of the host's chat: processor time of fresh processes, with the
plugin enabled and without.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from children import limited
from figures import Figure, Setting

_LIMIT_MS = 50
_NAME = "CPU added to the start of `hermes chat`"
_HOST = Path(__file__).parents[1] / ".venvs" / "host"


def group(setting: Setting) -> Iterator[Figure]:
    python = Path(os.environ.get("HERMES_TELEMETRY_TEST_HOST", _HOST)) / "bin" / "python"
    if not python.exists():
        yield Figure(_NAME, 0, "ms", _LIMIT_MS, lacking="./scripts/host-environment makes the host")
        return
    processes = setting.size(20, 1)
    found: dict[bool, list[float]] = {True: [], False: []}
    # The first of each makes the host's own files.
    for number in range(processes + 1):
        for enabled, times in found.items():
            ms = _start(python, setting.scratch / f"enabled {enabled}", enabled)
            times += [ms] if number else []
    with_plugin, without = statistics.median(found[True]), statistics.median(found[False])
    yield Figure(_NAME, with_plugin - without, "ms", _LIMIT_MS)
    yield Figure("  of the start without the plugin", without, "ms")


def _start(python: Path, user: Path, enabled: bool) -> float:
    """Start a chat that ends at once, there being nothing to read: milliseconds of its CPU."""
    home = user / ".hermes"
    home.mkdir(parents=True, exist_ok=True)
    config = {
        # Nobody is asked: nothing listens on the discard port.
        "model": {
            "provider": "custom",
            "base_url": "http://127.0.0.1:9/v1",
            "api_key": "not-a-key",
            "default": "fake-model",
            "context_length": 200_000,
        },
        "plugins": {"enabled": ["hermes-telemetry"] if enabled else []},
        "security": {"allow_lazy_installs": False, "tirith_enabled": False},
    }
    (home / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    process = subprocess.Popen(
        [python, "-m", "hermes_cli.main", "chat"],
        cwd=user,
        env={
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(user),
            "HERMES_HOME": str(home),
            "HERMES_DISABLE_LAZY_INSTALLS": "1",
            "HERMES_TELEMETRY_NO_SETUP": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with limited(process, "hermes chat"):
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"hermes chat exited with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000
