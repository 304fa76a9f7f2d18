"""`hermes-telemetry setup`: the files to begin with, where there are none."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from hermes_telemetry import whole_files
from hermes_telemetry.budget.config import NO_BUDGET, Limits, ScopeLimits, load_budget
from hermes_telemetry.pricing.files import parse_book
from support.feed import model, models, serve_feed
from support.processes import running

Refused = Callable[..., str]


@pytest.fixture
def home(hermes_home: Path) -> Path:
    """The telemetry home, which is not there yet."""
    return hermes_home / "telemetry"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens on the discard port


def with_the_examples(text: str) -> str:
    """What a user gets who takes away the sign before each example."""
    return re.sub(r"^  # (?=[\w-]+: )", "  ", text, flags=re.MULTILINE)


def test_by_default_prices_are_built_in_and_the_budget_blocks(cli, home: Path) -> None:
    answer = cli("setup")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        f"{home / 'pricing.yaml'}: written",
        f"{home / 'budget.yaml'}: written",
        "5 USD a day, 100 a month; a limit that is reached stops tools and cron jobs",
    ]
    budget = load_budget(home / "budget.yaml")
    assert budget.limits == {"global": ScopeLimits(Limits(5.0, 100.0))}
    assert (budget.on_breach, budget.soft_pct, budget.hard_pct) == ("block", 0.8, 1.0)
    # Not one price of its own: the built-in ones hold, and go on to be kept up to date.
    text = (home / "pricing.yaml").read_bytes()
    assert parse_book(text, "pricing.yaml") == parse_book(b"", "pricing.yaml")


def test_the_examples_in_the_files_are_right_when_they_count(cli, home: Path) -> None:
    cli("setup")
    text = with_the_examples((home / "pricing.yaml").read_text(encoding="utf-8"))
    book = parse_book(text.encode(), "pricing.yaml")
    assert len(book.models) == 6
    assert [name for name, _ in book.families] == ["my-model"]
    assert (str(book.fill.cache_read), str(book.fill.cache_write)) == ("0.1", "1.25")
    assert yaml.safe_load(text)["refresh"] == {"openrouter_url": "http://127.0.0.1:8080/models"}
    path = home / "budget.yaml"
    path.write_text(with_the_examples(path.read_text(encoding="utf-8")), encoding="utf-8")
    budget = load_budget(path)
    assert budget.limit("cron_job", "nightly-report", "daily") == 3.0
    assert budget.limit("cron_job", "any-other", "daily") == 1.0
    assert budget.limit("sender", "anybody", "daily") == 2.0
    assert budget.limit("profile", "any", "monthly") == 50.0


def test_a_budget_to_fill_in_limits_nothing_yet(cli, home: Path) -> None:
    answer = cli("setup", "budget", "custom")
    assert answer.out.splitlines() == [
        f"{home / 'budget.yaml'}: written",
        "nothing is limited until you take a # away there, or use `budget set`",
    ]
    assert load_budget(home / "budget.yaml") == NO_BUDGET
    assert os.listdir(home) == ["budget.yaml"]
    # And can be filled in by the command, beside what is explained there.
    before = (home / "budget.yaml").read_text(encoding="utf-8")
    assert cli("budget", "set", "global", "daily", "2").code == 0
    after = (home / "budget.yaml").read_text(encoding="utf-8")
    assert load_budget(home / "budget.yaml").limit("global", "", "daily") == 2.0
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("pricing minimal", ["pricing.yaml"]),
        ("pricing minimal budget skip", ["pricing.yaml"]),
        ("budget default", ["budget.yaml"]),
        ("pricing skip budget default", ["budget.yaml"]),
        ("budget custom pricing minimal", ["budget.yaml", "pricing.yaml"]),
        ("pricing skip", []),
        ("pricing skip budget skip", []),
    ],
)
def test_only_what_is_named_is_written(cli, home: Path, words: str, files: list[str]) -> None:
    assert cli("setup", *words.split()).code == 0
    assert (sorted(os.listdir(home)) if home.exists() else []) == files


def test_auto_fetches_list_prices_below_what_the_user_wrote(cli, prices: Path) -> None:
    with serve_feed() as feed:
        feed.answer(models(model("lab/mine"), model("lab/new", "0.000001", "0.000002")))
        own = (
            "# mine, and so it stays\n"
            f"refresh: {{openrouter_url: '{feed.url}'}}\n"
            "models:\n  lab/mine: {input: 1, output: 2}   # agreed on the phone\n"
        )
        prices.write_text(own, encoding="utf-8")
        answer = cli("setup", "pricing", "auto")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{prices}: there already, left as it is\nprices: ")
    text = prices.read_text(encoding="utf-8")
    assert text.startswith(own)
    assert "lab/new" in text


def test_auto_without_a_network_writes_the_file_and_says_so(
    cli, home: Path, no_network: None
) -> None:
    answer = cli("setup", "pricing", "auto")
    assert (answer.code, answer.err) == (1, "")
    written, failed, *_ = answer.out.splitlines()
    assert written == f"{home / 'pricing.yaml'}: written"
    assert failed.startswith("openrouter could not be used: ")
    # What the file explained is there still, and it can be read.
    text = (home / "pricing.yaml").read_text(encoding="utf-8")
    assert "# my-own-hardware: {input: 0, output: 0}" in text
    assert "my-own-hardware" not in yaml.safe_load(text)["models"]


@pytest.mark.parametrize("content", ["", "# only a comment\n", "not: [valid\n", "\xff"])
def test_what_is_there_is_never_overwritten(cli, home: Path, content: str) -> None:
    home.mkdir()
    for name in ("pricing.yaml", "budget.yaml"):
        (home / name).write_text(content, encoding="latin-1")
        (home / name).chmod(0o400)
    for words in ("", "pricing minimal budget default", "budget custom"):
        answer = cli("setup", *words.split())
        assert answer.code == 0
        assert all(
            line.endswith(": there already, left as it is") for line in answer.out.splitlines()
        )
    for name in ("pricing.yaml", "budget.yaml"):
        assert (home / name).read_text(encoding="latin-1") == content
        assert (home / name).stat().st_mode & 0o777 == 0o400
    assert sorted(os.listdir(home)) == ["budget.yaml", "pricing.yaml"]


def test_a_link_that_leads_nowhere_is_not_followed(cli, home: Path, tmp_path: Path) -> None:
    home.mkdir()
    target = tmp_path / "on-another-disk.yaml"
    (home / "budget.yaml").symlink_to(target)
    assert "left as it is" in cli("setup", "budget", "default").out
    assert not target.exists()
    assert (home / "budget.yaml").is_symlink()


def test_a_file_that_is_saved_meanwhile_stays(
    cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = whole_files.publish

    def late(made: Path, path: Path) -> None:
        path.write_text("saved by an editor")
        publish(made, path)

    monkeypatch.setattr(whole_files, "publish", late)
    assert "left as it is" in cli("setup", "budget", "default").out
    assert (home / "budget.yaml").read_text() == "saved by an editor"
    assert os.listdir(home) == ["budget.yaml"]


_SETUP = """
import sys
from hermes_telemetry.commands.cli import main
print("ready", flush=True)
sys.stdin.readline()
main(["setup"])
"""


def test_of_processes_that_set_up_at_once_one_writes(hermes_home: Path, home: Path) -> None:
    with (
        running(_SETUP) as one,
        running(_SETUP) as two,
        running(_SETUP) as three,
    ):
        processes = (one, two, three)
        for process in processes:
            process.hear()
        for process in processes:
            process.say()
        said = [line for process in processes for line in iter(process.hear, "")]
    assert sorted(line for line in said if line.endswith(": written")) == [
        f"{home / 'budget.yaml'}: written",
        f"{home / 'pricing.yaml'}: written",
    ]
    assert sorted(os.listdir(home)) == ["budget.yaml", "pricing.yaml"]
    assert load_budget(home / "budget.yaml").limit("global", "", "daily") == 5.0


def test_a_folder_that_cannot_be_made_is_one_line(refused: Refused, home: Path) -> None:
    home.write_text("in the way")
    assert str(home) in refused("setup")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("prices auto", "'prices' is not a part of the setup: pricing or budget"),
        ("pricing", "'pricing': name pricing auto|minimal|skip"),
        ("pricing default", "'pricing default': name pricing auto|minimal|skip"),
        ("budget auto", "'budget auto': name budget default|custom|skip"),
        ("budget skip budget default", "budget is to be skip and default: name one"),
    ],
)
def test_a_wrong_word_is_one_line_and_writes_nothing(
    refused: Refused, home: Path, words: str, says: str
) -> None:
    assert refused("setup", *words.split()) == f"hermes-telemetry setup: {says}"
    assert not home.exists()


def test_a_price_file_that_cannot_be_read_is_one_line(refused: Refused, prices: Path) -> None:
    prices.write_text("models: [1, 2]\n")
    assert refused("setup", "pricing", "auto") == (
        f"hermes-telemetry setup: {prices}: line 1, column 9: models is not a mapping"
    )
    assert prices.read_text() == "models: [1, 2]\n"
