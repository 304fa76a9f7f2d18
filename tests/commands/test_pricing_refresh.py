"""`hermes-telemetry pricing refresh`: list prices into pricing.yaml, when told to."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_telemetry.commands.parser import build_parser
from support.feed import Feed, body, model, models, serve_feed

OWN = """\
# my prices
refresh: {{openrouter_url: "{url}"}}
models:
  lab/mine: {{input: 1, output: 2}}   # agreed on the phone
"""


@pytest.fixture
def feed() -> Iterator[Feed]:
    """A router that lists lab/mine at 3 and 15 USD per million, and a model that is new."""
    with serve_feed() as feed:
        feed.answer(models(model("lab/mine"), model("lab/new", "0.000001", "0.000002")))
        yield feed


@pytest.fixture
def own(prices: Path, feed: Feed) -> str:
    text = OWN.format(url=feed.url)
    prices.write_text(text, encoding="utf-8")
    return text


def test_without_apply_it_shows_what_would_change_and_writes_nothing(
    cli, prices: Path, own: str
) -> None:
    answer = cli("pricing", "refresh")
    assert (answer.code, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert lines[0] == "your own entries that a source prices otherwise (they stay as they are):"
    assert lines[3] == "lab/mine openrouter 1 2 3 15"
    assert lines[4].startswith("prices: ")
    assert lines[4].endswith(" added, 0 changed, 0 as before")
    assert lines[5] == "nothing is written without --apply"
    assert prices.read_text(encoding="utf-8") == own
    assert list(prices.parent.iterdir()) == [prices]


def test_with_apply_new_prices_are_taken_over_and_own_ones_stay(
    cli, prices: Path, own: str
) -> None:
    report = json.loads(cli("pricing", "refresh", "--apply", "--json").out)
    assert (report["file"], report["applied"]) == (str(prices), True)
    assert "lab/new" in report["added"]
    assert (report["changed"], report["failures"]) == ([], {})
    assert report["differences"] == [
        {
            "id": "lab/mine",
            "source": "openrouter",
            "own_input": 1.0,
            "own_output": 2.0,
            "listed_input": 3.0,
            "listed_output": 15.0,
        }
    ]
    assert prices.read_text(encoding="utf-8").startswith(own)
    shown = json.loads(cli("pricing", "show", "lab/new", "--json").out)
    assert (shown["source"], shown["input"], shown["output"]) == ("openrouter", 1.0, 2.0)


def test_it_works_where_nothing_is_set_up_by_itself(
    cli, prices: Path, own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
    for _ in range(2):  # and as often as one likes
        assert cli("pricing", "refresh", "--apply").code == 0
    assert "lab/new" in prices.read_text(encoding="utf-8")


def test_a_source_in_trouble_is_a_finding(cli, prices: Path, own: str, feed: Feed) -> None:
    feed.answer(body(b"busy", 500))
    answer = cli("pricing", "refresh", "--apply")
    assert (answer.code, answer.err) == (1, "")
    assert answer.out.startswith("openrouter could not be used: HTTP status 500; its former")
    assert prices.read_text(encoding="utf-8").startswith(own)


def test_a_file_that_cannot_be_read_is_one_line(refused: Callable[..., str], prices: Path) -> None:
    prices.write_text("models: [1, 2]\n", encoding="utf-8")
    assert refused("pricing", "refresh", "--apply") == (
        f"hermes-telemetry pricing refresh: {prices}: line 1, column 9: models is not a mapping"
    )
    assert prices.read_text(encoding="utf-8") == "models: [1, 2]\n"


@pytest.mark.parametrize("action", ["refresh", "show", "fill", "backfill", "drift", "audit"])
def test_the_help_of_each_action_ends_with_an_example_that_parses(cli, action: str) -> None:
    answer = cli("pricing", action, "--help")
    assert answer.code == 0
    *_, heading, example = answer.out.splitlines()
    program, *arguments = shlex.split(example)
    assert (heading, program, arguments[:2]) == (
        "example:",
        "hermes-telemetry",
        ["pricing", action],
    )
    assert build_parser().parse_args(arguments).telemetry_name == f"pricing {action}"


def test_an_action_must_be_named(refused: Callable[..., str]) -> None:
    assert refused("pricing").startswith(
        "hermes-telemetry pricing: the following arguments are required: ACTION"
    )
