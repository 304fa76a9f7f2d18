"""One budget for eight processes at once: what it says is said once, and nothing is lost or counted
twice.
"""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path
from support.budgets import PRICES, set_budget
from support.ledger_facts import ask_ledger, waiting_files
from support.processes import running

PROCESSES, CALLS = 8, 50

# Each call is a turn of its own, whose first hook may be told something.
PROGRAM = """
import json, sys, threading, time
from hermes_telemetry.recorder import Recorder

session, calls = sys.argv[1], int(sys.argv[2])
hooks = Recorder().hooks()
hooks["on_session_start"](session_id=session, platform="cli")
print("ready", flush=True)
sys.stdin.readline()
notices = []
for cents in range(1, calls + 1):
    told = hooks["pre_llm_call"](session_id=session, sender_id=f"sender of {session}")
    notices += told["context"].split("\\n\\n") if told else []
    turn = f"{session}:t:{cents}"
    hooks["post_api_request"](
        session_id=session, turn_id=turn, api_request_id=f"{turn}:api:1", model="paid",
        provider="custom", usage={"input_tokens": cents * 1000},
    )
    assert hooks["pre_tool_call"](session_id=session) is None
    hooks["post_tool_call"](session_id=session, turn_id=turn, tool_name="terminal", status="ok")
print(json.dumps(notices), flush=True)
sys.stdin.readline()
time.sleep(1.1)  # budget.yaml is looked at once a second
hooks["post_llm_call"](session_id=session)
print(hooks["pre_tool_call"](session_id=session)["message"], flush=True)
"""


def test_eight_processes_tell_each_thing_once_and_agree_with_the_sum(hermes_home: Path) -> None:
    home = hermes_home / "telemetry"
    home.mkdir()
    (home / "pricing.yaml").write_text(json.dumps(PRICES), encoding="utf-8")
    # A process's calls cost 1 to 50 cents, 12.75 dollars together, and all of them 102 dollars.
    limits = {"global": {"monthly_usd": 100}, "per_sender": {"default": {"monthly_usd": 10}}}
    set_budget(home, limits, on_breach="notify")
    with ExitStack() as stack:
        processes = [
            stack.enter_context(running(PROGRAM, f"s{number}", CALLS))
            for number in range(PROCESSES)
        ]
        assert {process.hear() for process in processes} == {"ready"}
        for process in processes:
            process.say()
        notices = [notice for process in processes for notice in json.loads(process.hear())]

        set_budget(home, {"global": {"monthly_usd": 100}})
        for process in processes:
            process.say()
        seen = [process.hear() for process in processes]
        assert [process.end() for process in processes] == [0] * PROCESSES

    whom = [f"the sender sender of s{number}" for number in range(PROCESSES)]
    for one in [*whom, "this agent as a whole"]:
        about = [notice for notice in notices if f" {one} has spent" in notice]
        soft = [notice for notice in about if "Be sparing" in notice]
        hard = [notice for notice in about if "Nothing is blocked" in notice]
        assert (len(about), len(soft), len(hard)) == (2, 1, 1), one
    assert len(notices) == 2 * PROCESSES + 2
    path = database_path(home)
    ((alerts, levels),) = ask_ledger(
        path, "select count(*), count(distinct scope || scope_id || level) from budget_alerts"
    )
    assert (alerts, levels) == (2 * PROCESSES + 2, 2 * PROCESSES + 2)

    assert waiting_files(path) == []
    ((calls, spent),) = ask_ledger(path, "select count(*), sum(cost_usd) from llm_calls")
    assert (calls, spent) == (PROCESSES * CALLS, pytest.approx(102, abs=1e-9))
    assert ask_ledger(path, "select count(*) from tool_calls") == [(PROCESSES * CALLS,)]
    assert all("This agent as a whole has spent $102.00 of" in message for message in seen)


# Turns of one call of 5 cents, some at a time; what they were told of goes out after each time.
RAISING = """
import functools, json, sys, time
from hermes_telemetry.budget.config import BudgetFile
from hermes_telemetry.recorder import Recorder

session, is_behind = sys.argv[1], sys.argv[2] == "True"
if is_behind:  # the budget that it has read stays its own
    BudgetFile.current = functools.cache(BudgetFile.current)
hooks = Recorder().hooks()
hooks["on_session_start"](session_id=session, platform="cli")
print("ready", flush=True)
for turns in (4, 8, 1):
    sys.stdin.readline()
    time.sleep(1.1)  # budget.yaml is looked at once a second
    notices = []
    for number in range(turns):
        turn = f"{session}:t:{turns}:{number}"
        hooks["post_api_request"](
            session_id=session, turn_id=turn, api_request_id=f"{turn}:api:1", model="paid",
            provider="custom", usage={"input_tokens": 5000},
        )
        told = hooks["pre_llm_call"](session_id=session)
        notices += told["context"].split("\\n\\n") if told else []
    print(json.dumps(notices), flush=True)
"""


def test_a_raised_limit_is_told_once_though_half_of_eight_processes_hold_the_former_one(
    hermes_home: Path,
) -> None:
    home = hermes_home / "telemetry"
    home.mkdir()
    (home / "pricing.yaml").write_text(json.dumps(PRICES), encoding="utf-8")
    set_budget(home, {"global": {"monthly_usd": 1}}, on_breach="notify")
    breaches = []
    with ExitStack() as stack:
        processes = [
            stack.enter_context(running(RAISING, f"s{number}", number % 2 == 0))
            for number in range(PROCESSES)
        ]
        assert {process.hear() for process in processes} == {"ready"}
        # 1.60 USD after the first time, 4.80 after the second.
        for limit in (1, 3, 3):
            set_budget(home, {"global": {"monthly_usd": limit}}, on_breach="notify")
            for process in processes:
                process.say()
            notices = [notice for process in processes for notice in json.loads(process.hear())]
            breaches.append([notice for notice in notices if "Nothing is blocked" in notice])
        assert [process.end() for process in processes] == [0] * PROCESSES

    (first,), *later = breaches
    assert "of its monthly limit of $1.00" in first
    ((second,),) = [each for each in later if each]
    assert "of its monthly limit of $3.00" in second
    assert ask_ledger(
        database_path(home),
        "select limit_usd, spent_usd >= 3 from budget_alerts where level = 'hard'",
    ) == [(3.0, 1)]
