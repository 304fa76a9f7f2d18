"""JSON of the commands where a file of another build holds a cost that is infinite."""

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from support.ledger import HandMadeLedger

pytestmark = pytest.mark.usefixtures("on_wednesday")


def no_json(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def numbers(content: Any) -> list[float]:
    if isinstance(content, dict):
        return numbers(list(content.values()))
    if isinstance(content, list):
        return [number for one in content for number in numbers(one)]
    return [content] if isinstance(content, float) else []


@pytest.fixture(
    params=[float("inf"), float("-inf"), 1.7e308], ids=["infinite", "below zero", "in a sum"]
)
def spoilt(book: HandMadeLedger, request: pytest.FixtureRequest) -> HandMadeLedger:
    """21 calls of model a for half a dollar each, and two of model b that cost more than all."""
    for day in range(10, 31):
        book.call("s", 0.5, f"2026-06-{day}T12:00:00", model="a")
    for _ in range(2):
        book.call("u", request.param, "2026-07-01T10:00:00", model="b")
    return book


@pytest.mark.parametrize(
    "words",
    [
        "budget",
        "forecast",
        "forecast --backtest",
        "stats",
        "query cost_by_model",
        "query cost_by_session",
    ],
)
def test_an_amount_that_nobody_spent_is_null(cli, spoilt: HandMadeLedger, words: str) -> None:
    answer = cli(*words.split(), "--db", spoilt.path, "--json")
    assert answer.code == 0, answer.err
    content = json.loads(answer.out, parse_constant=no_json)
    if words.startswith("query"):
        assert 10.5 in numbers(content)


def test_it_is_in_an_export_too(cli, spoilt: HandMadeLedger, tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    answer = cli("export", folder, "--format", "ndjson", "--db", spoilt.path)
    assert answer.code == 0, answer.err
    lines = (folder / "llm_calls.ndjson").read_text().splitlines()
    costs = [json.loads(line, parse_constant=no_json)["cost_usd"] for line in lines]
    assert costs[:21] == [0.5] * 21
    assert all(cost is None or cost == 1.7e308 for cost in costs[21:])
