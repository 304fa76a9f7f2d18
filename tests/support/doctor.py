"""What `hermes-telemetry doctor` printed, read back; and a turn for it to look at."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from support.replay import hook_calls


class Answer(Protocol):
    """A command's exit code and what it printed."""

    code: int
    out: str
    err: str


def faults_of(answer: Answer) -> dict[str, str]:
    """The faults by check, each with its advice, one line each; the exit code must fit them."""
    assert answer.err == ""
    faults = {}
    for line in answer.out.splitlines():
        if line.startswith("fault "):
            check, text = line.removeprefix("fault").strip().split("  ", 1)
            assert check not in faults, "one line for each"
            faults[check] = text.strip()
    assert answer.code == (1 if faults else 0)
    return faults


def record_turn(
    hooks: Mapping[str, Callable[..., Any]], scenario: str = "01_chat_q_tool_turn"
) -> None:
    """Fire the hooks of a captured scenario now; those that ``hooks`` lacks are left out."""
    for call in hook_calls(scenario):
        if call.hook in hooks:
            hooks[call.hook](**call.kwargs)
