"""`hermes-telemetry budget`: what it shows of budget.yaml and the ledger, checks and changes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.budget.verdicts import WINDOWS
from hermes_telemetry.commands import options
from hermes_telemetry.store.spend import SCOPES
from support.ledger import HandMadeLedger

Refused = Callable[..., str]

pytestmark = pytest.mark.usefixtures("on_wednesday")


@pytest.fixture
def budget(book: HandMadeLedger) -> Callable[[str], None]:
    """Writes budget.yaml beside the ledger."""

    def write(text: str) -> None:
        book.path.with_name("budget.yaml").write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def spent(book: HandMadeLedger) -> HandMadeLedger:
    """Today 4 USD, 3 of them by the cron job 0123456789ab; in a chat begun nine days ago 1 USD."""
    book.run("old-chat", "2026-06-22T10:00", sender_id="ann")
    book.call("old-chat", 1.0, "2026-07-01T10:00")
    book.run("job", "2026-07-01T08:00", cron_job_id="0123456789ab")
    book.call("job", 2.0, "2026-07-01T08:01")
    book.edge("child", "job")
    book.call("child", 1.0, "2026-07-01T08:02")
    return book


def shown(cli: Any, path: Path, *arguments: str) -> Any:
    answer = cli("budget", *arguments, "--db", path, "--json")
    assert answer.err == ""
    return json.loads(answer.out)


def amounts(content: Any) -> dict[tuple[str, str, str], tuple[float, float | None, str | None]]:
    return {
        (row["scope"], row["scope_id"], row["window"]): (
            row["spent_usd"],
            row["limit_usd"],
            row["verdict"],
        )
        for row in content["budgets"]
    }


def test_without_a_file_nothing_is_limited_and_spend_is_shown(cli, spent: HandMadeLedger) -> None:
    answer = cli("budget", "--db", spent.path)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[1] == "- nothing is limited"
    daily, monthly = (line.split() for line in answer.out.splitlines()[5:])
    assert daily[:5] == ["global", "daily", "no", "limit", "$4.00"]
    assert monthly[:5] == ["global", "monthly", "no", "limit", "$4.00"]


def test_every_limit_is_named_with_what_follows(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget(
        """
budgets:
  global: {daily_usd: 5, monthly_usd: 100}
  per_cron_job: {default: {daily_usd: 1}, overrides: {nightly: {daily_usd: 3.5}}}
on_breach: {mode: notify}
on_estimated: {mode: enforce}
on_unpriced: {mode: block}
"""
    )
    first, *limits = cli("budget", "--db", spent.path).out.partition("\n\n")[0].splitlines()
    assert first == f"Limits in {spent.path.with_name('budget.yaml')}:"
    assert limits == [
        "- global: $5.00 a day, $100.00 a month",
        "- every cron job: $1.00 a day",
        "- cron job nightly: $3.50 a day",
        "- notice at 80%, breach at 100%; a breach gives notice, blocks nothing; estimated spend"
        " counts; a call without a price is a breach",
    ]


def test_an_override_that_lifts_a_limit_is_named(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget(
        """
budgets:
  per_sender:
    default: {daily_usd: 1, monthly_usd: 9}
    overrides: {ann: {daily_usd: ~}, bob: {daily_usd: ~, monthly_usd: ~}}
  per_profile: {overrides: {work: {daily_usd: ~}}}
"""
    )
    _, *limits, _ = cli("budget", "--db", spent.path).out.partition("\n\n")[0].splitlines()
    assert limits == [
        "- every sender: $1.00 a day, $9.00 a month",
        "- sender ann: no daily limit, $9.00 a month",
        "- sender bob: no daily limit, no monthly limit",
    ]


def test_a_session_begun_days_ago_spends_today(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    # 4 of 5 USD are 80 %, the soft threshold; the job's tree has 3 of 3.
    budget(
        "budgets: {global: {daily_usd: 5}, per_sender: {default: {monthly_usd: 2}},"
        " per_cron_job: {default: {daily_usd: 3}}}"
    )
    assert amounts(shown(cli, spent.path)) == {
        ("global", "", "daily"): (4.0, 5.0, "soft"),
        ("global", "", "monthly"): (4.0, None, None),
        ("cron_job", "0123456789ab", "daily"): (3.0, 3.0, "hard"),
        ("sender", "ann", "monthly"): (1.0, 2.0, "ok"),
    }


def test_spend_with_unpriced_calls_is_a_lower_bound(cli, spent: HandMadeLedger) -> None:
    spent.call("old-chat", None, "2026-07-01T10:01")
    line = cli("budget", "--db", spent.path).out.splitlines()[5]
    assert "≥ $4.00" in line
    assert line.endswith(" 1")


def test_a_zero_says_why(cli, book: HandMadeLedger) -> None:
    book.call("a", 0.0, "2026-07-01T10:00", price=book.price("free"), tokens_in=10)
    assert cli("budget", "--db", book.path).out.splitlines()[-1] == "- m (p): 1 call free"


def test_a_faulty_file_is_shown_with_what_is_in_force(
    cli, refused: Refused, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget("budgets:\n  global: {daily_usd: -5}\n")
    answer = cli("budget", "--db", spent.path)
    # Shown once: not logged to the terminal besides.
    assert (answer.code, answer.err) == (0, "")
    fault, follows, *_ = answer.out.splitlines()
    assert fault.startswith("budget.yaml: line 2, column ")
    assert "budgets.global.daily_usd" in fault
    assert "one that starts enforces nothing" in follows
    content = shown(cli, spent.path)
    assert content["config_error"] == fault
    assert amounts(content)["global", "", "daily"] == (4.0, None, None)
    # Whether a limit is reached cannot be said.
    assert refused("budget", "check", "--db", spent.path).startswith(
        "hermes-telemetry budget check: budget.yaml: line 2"
    )


def test_a_faulty_file_limits_no_cron_job_and_says_so(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget("budgets:\n  per_cron_job: {default: {daily_usd: lots}}\n")
    answer = cli("budget", "cron", "--db", spent.path)
    assert (answer.code, answer.err) == (0, "")
    fault, follows, _, _, _, job = answer.out.splitlines()
    assert fault.startswith("budget.yaml: line 2, column ")
    assert "one that starts enforces nothing" in follows
    # 2 USD of its own and 1 of its subagent's.
    assert job.split()[:5] == ["0123456789ab", "no", "limit", "$3.00", "–"]
    content = shown(cli, spent.path, "cron")
    assert content["config_error"] == fault
    assert content["jobs"][0]["daily_limit_usd"] is None
    budget("")
    assert shown(cli, spent.path, "cron")["config_error"] is None


def test_check_exits_1_on_a_hard_breach_alone(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    def check(*arguments: str) -> tuple[int, str]:
        answer = cli("budget", "check", *arguments, "--db", spent.path)
        return answer.code, answer.out

    assert check() == (0, "nothing is limited\n")
    budget("budgets: {global: {daily_usd: 5}, per_cron_job: {default: {daily_usd: 3}}}")
    code, out = check()
    assert (code, len(out.splitlines())) == (1, 3)
    assert out.splitlines()[2].startswith("cron job 0123456789ab  daily   hard")
    assert check("--scope", "cron_job") == (1, out)
    assert check("--scope", "global") == (0, "no limit is reached\n")
    assert check("--scope", "sender") == (0, "nothing is limited\n")
    breaches = shown(cli, spent.path, "check")["breaches"]
    assert [(row["scope_id"], row["over_by_usd"]) for row in breaches] == [("0123456789ab", 0.0)]
    assert shown(cli, spent.path, "check", "--scope", "global") == {"ok": True, "breaches": []}


def test_options_may_stand_before_the_action(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget("budgets: {global: {daily_usd: 1}}")
    answer = cli("budget", "--db", spent.path, "--json", "check")
    assert answer.code == 1
    assert [row["spent_usd"] for row in json.loads(answer.out)["breaches"]] == [4.0]


@pytest.fixture
def jobs(hermes_home: Path) -> None:
    """The host's jobs: one that runs, one that was paused, one of an older host without a state."""
    (hermes_home / "cron").mkdir()
    listed = [
        {"id": "0123456789ab", "name": "nightly", "state": "scheduled", "enabled": True},
        {"id": "aaaaaaaaaaaa", "name": "weekly", "state": "paused", "paused_reason": "Too dear."},
        {"id": "bbbbbbbbbbbb", "enabled": False},
    ]
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": listed}))


@pytest.mark.usefixtures("jobs")
def test_cron_shows_limit_spend_and_state_of_each_job(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    spent.run("gone", "2026-07-01T09:00", cron_job_id="cccccccccccc")
    spent.call("gone", 0.25, "2026-07-01T09:00")
    budget(
        "budgets: {per_cron_job: {default: {daily_usd: 1}, overrides: {nightly: {daily_usd: 3}}}}"
    )
    answer = cli("budget", "cron", "--db", spent.path)
    assert answer.code == 0
    _, _, nightly, weekly, nameless, gone, paused, older = answer.out.splitlines()
    assert nightly.split()[:4] == ["nightly", "hard", "$3.00", "$3.00"]
    assert weekly.split()[:4] == ["weekly", "paused", "$0.00", "$1.00"]
    assert nameless.split()[:2] == ["bbbbbbbbbbbb", "paused"]
    assert gone.split()[:4] == ["cccccccccccc", "ok", "$0.25", "$1.00"]
    assert paused == "weekly is paused (Too dear). Resume it: hermes cron resume aaaaaaaaaaaa"
    assert older == "bbbbbbbbbbbb is paused. Resume it: hermes cron resume bbbbbbbbbbbb"
    by_id = {job["cron_job_id"]: job for job in shown(cli, spent.path, "cron")["jobs"]}
    assert (by_id["0123456789ab"]["known"], by_id["cccccccccccc"]["known"]) == (True, False)
    assert by_id["0123456789ab"]["daily_limit_usd"] == 3.0
    assert by_id["0123456789ab"]["monthly_limit_usd"] is None


def test_cron_without_jobs_says_so(cli, book: HandMadeLedger) -> None:
    assert cli("budget", "cron", "--db", book.path).out == (
        "The host has no cron jobs, and none spent anything this month.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        (("global", "daily", "7.5"), ("global", "", "daily")),
        (("cron_job", "0123456789ab", "daily", "7.5"), ("cron_job", "0123456789ab", "daily")),
        (
            ("cron_job", "--id", "0123456789ab", "daily", "7.5"),
            ("cron_job", "0123456789ab", "daily"),
        ),
        (("sender", "monthly", "7.5"), ("sender", "ann", "monthly")),
        (("sender", "-100200300", "daily", "7.5"), ("sender", "-100200300", "daily")),
    ],
)
def test_a_limit_that_is_set_is_in_force(
    cli,
    spent: HandMadeLedger,
    budget: Callable[[str], None],
    arguments: tuple[str, ...],
    limit: tuple[str, str, str],
) -> None:
    budget("# keep me\non_breach: {mode: notify}  # and me\n")
    spent.run("group", "2026-07-01T09:00", sender_id="-100200300")
    answer = cli("budget", "set", *arguments, "--db", spent.path)
    assert (answer.code, answer.err) == (0, "")
    file = spent.path.with_name("budget.yaml")
    assert answer.out.startswith(f"{file}: ")
    assert answer.out.endswith(f": $7.50 a {'day' if limit[2] == 'daily' else 'month'}\n")
    assert amounts(shown(cli, spent.path))[limit][1] == 7.5
    assert [line in file.read_text() for line in ("# keep me", "notify}  # and me")] == [True, True]


@pytest.mark.parametrize(
    ("scope", "known", "unknown", "line"),
    [
        ("cron_job", "nightly", "nigthly", "no cron job with the id or name 'nigthly' is known"),
        ("cron_job", "ffffffffffff", "x", "no cron job with the id or name 'x' is known"),
        # Of a job that the host has forgotten, runs are recorded.
        ("cron_job", "forgotten", "forgot", "no cron job with the id or name 'forgot' is known"),
        ("sender", "ann", "anne", "no sender 'anne' is recorded"),
        ("profile", "work", "Work", "no profile 'Work' is recorded"),
    ],
)
def test_a_limit_for_whom_nobody_knows_is_set_and_says_so(
    cli,
    spent: HandMadeLedger,
    budget: Callable[[str], None],
    hermes_home: Path,
    scope: str,
    known: str,
    unknown: str,
    line: str,
) -> None:
    budget("")
    (hermes_home / "cron").mkdir()
    job = {"id": "ffffffffffff", "name": "nightly"}
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": [job]}))
    spent.run("past", "2026-06-01", cron_job_id="forgotten", profile="work")
    assert cli("budget", "set", scope, known, "daily", "5", "--db", spent.path).err == ""
    answer = cli("budget", "set", scope, unknown, "daily", "5", "--db", spent.path)
    assert (answer.code, answer.err) == (0, f"{line}: the limit applies once there is one\n")
    assert answer.out.endswith(f"{unknown}: $5.00 a day\n")
    # Without a limit there is nothing to wait for.
    answer = cli("budget", "set", scope, unknown, "daily", "none", "--db", spent.path)
    assert (answer.code, answer.err) == (0, f"{line}\n")
    assert answer.out.endswith(f"{unknown}: no daily limit\n")


def test_before_anything_is_recorded_nobody_is_known(cli, hermes_home: Path) -> None:
    answer = cli("budget", "set", "sender", "ann", "daily", "5")
    assert answer.err == "no sender 'ann' is recorded: the limit applies once there is one\n"
    assert cli("budget", "set", "sender", "daily", "5").err == ""


def test_a_ledger_that_cannot_be_read_says_nothing_against_a_name(cli, hermes_home: Path) -> None:
    broken = hermes_home / "telemetry" / "broken.db"
    broken.parent.mkdir()
    broken.write_bytes(b"no ledger" * 1000)
    assert cli("budget", "set", "sender", "ann", "daily", "5", "--db", broken).err == ""


def test_the_first_limit_makes_the_file_in_the_telemetry_home(
    cli, spent: HandMadeLedger, hermes_home: Path
) -> None:
    answer = cli("budget", "set", "global", "daily", "3", "--db", spent.path)
    file = hermes_home / "telemetry" / "budget.yaml"
    assert (answer.code, answer.out) == (0, f"{file}: global: $3.00 a day\n")
    assert answer.err == (
        f"no budget.yaml lies beside {spent.path}: the limit holds for"
        f" {file.with_name('telemetry.db')} and every other ledger without one, too\n"
    )
    assert amounts(shown(cli, spent.path))["global", "", "daily"] == (4.0, 3.0, "hard")


def test_none_is_no_limit_and_for_an_id_not_that_of_all_others_either(
    cli, spent: HandMadeLedger, budget: Callable[[str], None]
) -> None:
    budget(
        "budgets:\n"
        "  global: {daily_usd: 3, monthly_usd: 9}  # agreed\n"
        "  per_sender: {default: {daily_usd: 2}}\n"
        "  per_cron_job: {default: {daily_usd: 1}}\n"
    )
    for words, whose in (
        (("global", "daily"), "global"),
        (("cron_job", "0123456789ab", "daily"), "cron job 0123456789ab"),
        (("sender", "daily"), "every sender"),
    ):
        answer = cli("budget", "set", *words, "none", "--db", spent.path)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.endswith(f": {whose}: no daily limit\n")
    file = spent.path.with_name("budget.yaml")
    assert "global: {daily_usd: null, monthly_usd: 9}  # agreed\n" in file.read_text()
    # What has no limit is not listed, but for the two of all calls.
    assert [(key, limit) for key, (_, limit, _) in amounts(shown(cli, spent.path)).items()] == [
        (("global", "", "daily"), None),
        (("global", "", "monthly"), 9.0),
    ]
    assert "- cron job 0123456789ab: no daily limit" in cli("budget", "--db", spent.path).out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("set", "team", "daily", "5"), " set: argument SCOPE: invalid choice: 'team'"),
        (("set", "global", "weekly", "5"), " set: argument WINDOW: invalid choice: 'weekly'"),
        (("set", "global", "daily", "-5"), " set: argument USD: '-5' is not an amount in USD"),
        (("set", "global", "daily", "nan"), " set: argument USD: 'nan' is not an amount in USD"),
        (("set", "global", "daily", "1000000001"), " set: argument USD: '1000000001' is not an"),
        (("set", "global", "daily", "1e999"), " set: argument USD: '1e999' is not an amount"),
        (("set", "global", "x", "daily", "5"), " set: global is one limit for all that is spent"),
        (("set", "sender", "", "daily", "5"), " set: an empty ID names no sender"),
        (("set", "cron_job", "--id= ", "daily", "5"), " set: an empty ID names no cron_job"),
        (("check", "--scope", "team"), " check: argument --scope: invalid choice: 'team'"),
    ],
)
def test_what_is_not_understood_changes_nothing(
    refused: Refused,
    book: HandMadeLedger,
    budget: Callable[[str], None],
    arguments: tuple[str, ...],
    line: str,
) -> None:
    budget("budgets: {global: {daily_usd: 1}}\n")
    assert refused("budget", *arguments, "--db", book.path).startswith(
        f"hermes-telemetry budget{line}"
    )
    assert book.path.with_name("budget.yaml").read_text() == "budgets: {global: {daily_usd: 1}}\n"


def test_the_command_line_knows_the_scopes_and_windows_that_there_are() -> None:
    assert options.SCOPES == SCOPES
    assert options.WINDOWS == WINDOWS
