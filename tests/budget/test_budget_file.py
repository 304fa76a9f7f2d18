"""budget.yaml while a session runs: its edits, its faults, and what stays in force."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from hermes_telemetry.budget.config import (
    KEYS,
    NO_BUDGET,
    SECTIONS,
    Budget,
    BudgetFile,
    BudgetFileError,
    configured_time_zone,
    load_budget,
)
from support.stopped_clock import StoppedClock
from support.tree import ROOT

EVERYTHING = """\
budgets:
  global:       {daily_usd: 5, monthly_usd: 100}
  per_cron_job: {default: {daily_usd: 1}, overrides: {nightly-report: {daily_usd: 3}}}
  per_sender:
    default:   {monthly_usd: 20}
    overrides:
      telegram:42: {daily_usd: 2}
      "7":         {monthly_usd: ~}
  per_profile:  {overrides: {work: {monthly_usd: 10}}}
thresholds:   {soft_pct: 0.75, hard_pct: 0.95}
on_breach:    {mode: notify}
on_estimated: {mode: enforce}
on_unpriced:  {mode: block}
timezone: Europe/Madrid
"""
GOOD = "budgets: {global: {daily_usd: 5}}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.yaml"


def write(path: Path, text: str | bytes) -> Path:
    """Replaces the file as an atomic writer does, so its identity changes even within a tick."""
    other = path.with_suffix(".new")
    other.write_bytes(text.encode() if isinstance(text, str) else text)
    os.replace(other, path)
    return path


def daily(budget: Budget) -> float | None:
    return budget.limit("global", "", "daily")


def limits_of(budget: Budget, *owners: tuple[str, str]) -> list[tuple[float | None, float | None]]:
    """The daily and the monthly limit of each scope and id."""
    return [(budget.limit(*owner, "daily"), budget.limit(*owner, "monthly")) for owner in owners]


def test_everything_that_a_file_can_say(path: Path) -> None:
    budget = load_budget(write(path, EVERYTHING))
    assert limits_of(
        budget,
        ("global", ""),
        ("cron_job", "abc"),
        ("cron_job", "nightly-report"),
        ("sender", "99"),
        ("sender", "telegram:42"),  # what an override does not mention is the default's
        ("sender", "7"),  # null lifts the default
        ("profile", "home"),
        ("profile", "work"),
    ) == [
        (5, 100),
        (1, None),
        (3, None),
        (None, 20),
        (2, 20),
        (None, None),
        (None, None),
        (None, 10),
    ]
    assert (budget.soft_pct, budget.hard_pct) == (0.75, 0.95)
    assert (budget.on_breach, budget.on_estimated, budget.on_unpriced) == (
        "notify",
        "enforce",
        "block",
    )
    assert budget.timezone == "Europe/Madrid"
    assert budget.overridden("sender") == ("telegram:42", "7")
    assert budget.overridden("global") == ()
    assert budget.has_limits


def test_what_a_file_leaves_out(path: Path) -> None:
    budget = load_budget(write(path, GOOD))
    assert (budget.soft_pct, budget.hard_pct) == (0.8, 1.0)
    assert (budget.on_breach, budget.on_estimated, budget.on_unpriced) == (
        "block",
        "warn_only",
        "warn",
    )
    assert budget.timezone is None
    assert budget.limit("global", "", "monthly") is None
    assert budget.limit("sender", "42", "daily") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "---\n",
        "budgets:\n",
        "budgets: {}\nthresholds: ~\non_breach:\ntimezone:\n",
        "budgets: {global: , per_sender: {default: , overrides: }}\n",
        "budgets: {per_sender: {overrides: {a: }}}\non_breach: {mode: }\n",
        "budgets: {global: {daily_usd: ~}}\nthresholds: {soft_pct: ~}\n",
    ],
)
def test_what_is_empty_limits_nothing(path: Path, text: str) -> None:
    budget = load_budget(write(path, text))
    assert not budget.has_limits
    assert daily(budget) is None
    assert (budget.soft_pct, budget.on_breach) == (0.8, "block")


@pytest.mark.parametrize(
    ("stated", "soft", "hard"),
    [
        ("soft_pct: 0.9", 0.9, 1.0),
        ("hard_pct: 0.9", 0.8, 0.9),
        # Below the usual 0.8 there is nothing to be told before the breach.
        ("hard_pct: 0.7", 0.7, 0.7),
        ("hard_pct: 0.7, soft_pct: ~", 0.7, 0.7),
    ],
)
def test_a_threshold_that_is_not_stated_fits_the_other(
    path: Path, stated: str, soft: float, hard: float
) -> None:
    budget = load_budget(write(path, f"thresholds: {{{stated}}}"))
    assert (budget.soft_pct, budget.hard_pct) == (soft, hard)


def test_no_file_and_no_folder_limit_nothing(path: Path) -> None:
    assert load_budget(path) is NO_BUDGET
    assert load_budget(path / "beneath" / "it") is NO_BUDGET
    path.touch()
    assert load_budget(path / "budget.yaml") is NO_BUDGET


def test_a_limit_of_nothing_is_a_limit(path: Path) -> None:
    budget = load_budget(write(path, "budgets: {per_sender: {overrides: {a: {daily_usd: -0}}}}"))
    assert str(budget.limit("sender", "a", "daily")) == "0.0"
    assert budget.has_limits


def test_a_cron_job_is_limited_by_its_name_and_rather_by_its_id(
    path: Path, hermes_home: Path
) -> None:
    jobs = [{"id": "0011aabbccdd", "name": "nightly"}, {"id": "eeff00112233", "name": "hourly"}]
    (hermes_home / "cron").mkdir()
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    text = """
        budgets:
          per_cron_job:
            overrides:
              nightly: {daily_usd: 3}
              hourly: {daily_usd: 4}
              eeff00112233: {daily_usd: 5}
          per_sender:
            overrides: {nightly: {daily_usd: 6}}
    """
    budget = load_budget(write(path, text))
    assert budget.limit("cron_job", "0011aabbccdd", "daily") == 3
    assert budget.limit("cron_job", "eeff00112233", "daily") == 5
    assert budget.limit("cron_job", "nightly", "daily") == 3
    assert budget.limit("sender", "0011aabbccdd", "daily") is None


def test_a_name_that_is_the_id_of_another_job_is_that_jobs_id(
    path: Path, hermes_home: Path
) -> None:
    jobs = [
        {"id": "0011aabbccdd", "name": "hourly"},
        {"id": "eeff00112233", "name": "0011aabbccdd"},
    ]
    (hermes_home / "cron").mkdir()
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    text = "budgets: {per_cron_job: {overrides: {0011aabbccdd: {daily_usd: 3}}}}"
    budget = load_budget(write(path, text))
    assert limits_of(budget, ("cron_job", "0011aabbccdd"), ("cron_job", "eeff00112233")) == [
        (3, None),
        (None, None),
    ]


@pytest.mark.parametrize("id", ["001122334455", "1e3", "0x1f", "12:30:45", "yes", "2026-07-01"])
def test_an_id_is_what_is_written_there_and_no_number(path: Path, id: str) -> None:
    budget = load_budget(
        write(path, f"budgets: {{per_cron_job: {{overrides: {{{id}: {{daily_usd: 2}}}}}}}}")
    )
    assert budget.limit("cron_job", id, "daily") == 2


@pytest.mark.parametrize(
    ("written", "usd"),
    [("5", 5), ("0.25", 0.25), (".5", 0.5), ("5.", 5), ("+5", 5), ("1e2", 100), ("2.5E-1", 0.25)],
)
def test_every_way_to_write_an_amount(path: Path, written: str, usd: float) -> None:
    assert daily(load_budget(write(path, f"budgets: {{global: {{daily_usd: {written}}}}}"))) == usd


def test_anchors_and_merges_are_understood(path: Path) -> None:
    text = """
        budgets:
          global: &all {daily_usd: 5, monthly_usd: 50}
          per_sender:
            default: *all
            overrides:
              a: {<<: *all, daily_usd: 1}
              b: {<<: [{daily_usd: 2}, *all]}
    """
    budget = load_budget(write(path, text))
    for id, limits in (("x", (5, 50)), ("a", (1, 50)), ("b", (2, 50))):
        assert (
            budget.limit("sender", id, "daily"),
            budget.limit("sender", id, "monthly"),
        ) == limits


GLOBAL = "budgets:\n  global: {daily_usd: %s}\n"
AMOUNT = "line 2, column 23: budgets.global.daily_usd"
FAULTS = {
    "bad YAML": ("budgets:\n  global: {daily_usd: 5\n", "line 3, column 1: did not find expected"),
    "a tab": ("budgets:\n\tglobal: {daily_usd: 5}\n", "line 2, column 1: found character"),
    "two documents": ("budgets: {}\n---\ntimezone: UTC\n", "line 2, column 1: but found another"),
    "not UTF-8": (b"timezone: \xff\n", "line 1, column 11: "),
    "a null byte": (b"timezone: \x00\n", "line 1, column 11: "),
    "too deep": ("[" * 5000, "line 1, column "),
    "merges itself": ("budgets: &a\n  <<: *a\n", "line 1, column 1: nested too deeply"),
    "no mapping": ("- budgets\n", "line 1, column 1: the file is not a mapping"),
    "a text": ("budgets\n", "line 1, column 1: the file is not a mapping: budgets"),
    "unknown key": (
        "# ours\nbudget: {}\n",
        "line 2, column 1: budget means nothing, known here: budgets, thresholds, on_breach,"
        " on_estimated, on_unpriced, timezone",
    ),
    "unknown scope": (
        "budgets:\n  per_user: {}\n",
        "line 2, column 3: budgets.per_user means nothing, known here: global, per_cron_job,"
        " per_sender, per_profile",
    ),
    "unknown part of a scope": (
        "budgets:\n  per_sender: {daily_usd: 5}\n",
        "line 2, column 16: budgets.per_sender.daily_usd means nothing, known here: default,"
        " overrides",
    ),
    "unknown limit": (
        "budgets:\n  global:\n    weekly_usd: 5\n",
        "line 3, column 5: budgets.global.weekly_usd means nothing, known here: daily_usd,"
        " monthly_usd",
    ),
    "budgets is a list": ("budgets: [5]\n", "line 1, column 10: budgets is not a mapping"),
    "a scope is a number": (
        "budgets:\n  global: 5\n",
        "line 2, column 11: budgets.global is not a mapping: 5",
    ),
    "overrides is a list": (
        "budgets:\n  per_sender:\n    overrides: [a]\n",
        "line 3, column 16: budgets.per_sender.overrides is not a mapping",
    ),
    "an override is a number": (
        "budgets:\n  per_sender:\n    overrides:\n      telegram:42: 5\n",
        "line 4, column 20: budgets.per_sender.overrides.telegram:42 is not a mapping: 5",
    ),
    "a key is a list": ("? [budgets]\n: 5\n", "line 1, column 3: a key of the file is not a text"),
    "negative": (GLOBAL % "-5", f"{AMOUNT} is negative: -5"),
    "in quotes": (GLOBAL % "'5'", f"{AMOUNT} is not a number: '5'"),
    "with its unit": (GLOBAL % "5 USD", f"{AMOUNT} is not a number: 5 USD"),
    "a bool": (GLOBAL % "true", f"{AMOUNT} is not a number: true"),
    "a list": (GLOBAL % "[5]", f"{AMOUNT} is not a number"),
    "octal": (GLOBAL % "010", f"{AMOUNT} is not a number: 010"),
    "sexagesimal": (GLOBAL % "1:30", f"{AMOUNT} is not a number: 1:30"),
    "not a number": (GLOBAL % ".nan", f"{AMOUNT} is not finite: .nan"),
    "infinite": (GLOBAL % "-.inf", f"{AMOUNT} is not finite: -.inf"),
    "beyond every float": (GLOBAL % "1e400", f"{AMOUNT} is not finite: 1e400"),
    "beyond every budget": (GLOBAL % "1e30", f"{AMOUNT} is above 1,000,000,000 USD: 1e30"),
    "a percentage": (
        "thresholds: {soft_pct: 80}\n",
        "line 1, column 24: thresholds.soft_pct is not a share of the limit, above 0 and up to 1:"
        " 80",
    ),
    "a threshold of nothing": (
        "thresholds: {hard_pct: 0}\n",
        "line 1, column 24: thresholds.hard_pct is not a share of the limit, above 0 and up to 1:"
        " 0",
    ),
    "soft above hard": (
        "thresholds:\n  hard_pct: 0.8\n  soft_pct: 0.9\n",
        "line 3, column 13: thresholds.soft_pct 0.9 is above hard_pct 0.8",
    ),
    "unknown way to breach": (
        "on_breach:\n  mode: kill\n",
        "line 2, column 9: on_breach.mode is neither block nor notify: kill",
    ),
    "a way to breach without its key": (
        "on_breach: block\n",
        "line 1, column 12: on_breach is not a mapping: block",
    ),
    "unknown way with estimates": (
        "on_estimated: {mode: no}\n",
        "line 1, column 22: on_estimated.mode is neither warn_only nor enforce: no",
    ),
    "unknown way without a price": (
        "on_unpriced: {mode: [warn]}\n",
        "line 1, column 21: on_unpriced.mode is neither warn nor block",
    ),
    "unknown zone": (
        "budgets: {}\ntimezone: Mars/Base\n",
        "line 2, column 11: timezone is not a zone that this machine knows: Mars/Base",
    ),
    "an empty zone": (
        "timezone: ''\n",
        "line 1, column 11: timezone is not a zone that this machine knows: ''",
    ),
    "a zone elsewhere": (
        "timezone: ../../etc/passwd\n",
        "line 1, column 11: timezone is not a zone that this machine knows: ../../etc/passwd",
    ),
    "a list of zones": ("timezone: [UTC]\n", "line 1, column 11: timezone is not the name of a"),
    "a key twice": (
        "budgets: {}\ntimezone: UTC\nbudgets: {}\n",
        "line 3, column 1: budgets stands there twice",
    ),
    "an id twice": (
        "budgets:\n  per_sender:\n    overrides:\n      a: {daily_usd: 1}\n      a: {}\n",
        "line 5, column 7: budgets.per_sender.overrides.a stands there twice",
    ),
    "a merge of nothing": (
        "budgets:\n  global:\n    <<: 5\n",
        "line 3, column 9: budgets.global.<< is not a mapping: 5",
    ),
}


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(("text", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_leaves_the_last_good_budget_in_force_and_names_its_fault(
    path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    text: str | bytes,
    fault: str,
    loader: str,
) -> None:
    monkeypatch.setattr("hermes_telemetry.yaml_files.text.Loader", getattr(yaml, loader))
    time = StoppedClock()
    file = BudgetFile(write(path, GOOD), time.clock)
    good = file.current()
    assert (daily(good), file.error) == (5, None)

    write(path, text)
    for _ in range(3):
        time.advance(1)
        assert file.current() is good
    assert file.error is not None
    # The two parsers word a fault of YAML itself in their own ways, and place it a little apart.
    if loader == "CSafeLoader" or "budgets" in fault or "thresholds" in fault:
        assert file.error.startswith(f"budget.yaml: {fault}")
    assert file.error.startswith("budget.yaml: line ")
    assert "\n" not in file.error
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{path}: {file.error.removeprefix('budget.yaml: ')}; the budget read before stays in force"
    )

    with pytest.raises(BudgetFileError) as raised:
        load_budget(path)
    assert str(raised.value) == file.error

    write(path, GOOD.replace("5", "6"))
    time.advance(1)
    assert (daily(file.current()), file.error) == (6, None)


def test_a_process_that_starts_with_a_faulty_file_enforces_nothing_and_says_so(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = BudgetFile(write(path, GLOBAL % "-5"))
    assert file.current() is NO_BUDGET
    assert file.error == f"budget.yaml: {AMOUNT} is negative: -5"
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.getMessage().endswith(f"{AMOUNT} is negative: -5; nothing is enforced")


def test_a_file_that_cannot_be_read_leaves_the_last_good_budget(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    time = StoppedClock()
    file = BudgetFile(write(path, GOOD), time.clock)
    file.current()
    path.unlink()
    path.mkdir()  # root may read any file, but no folder as one
    for _ in range(2):
        time.advance(1)
        assert daily(file.current()) == 5
    assert file.error == "budget.yaml: cannot be read (Is a directory)"
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{path}: cannot be read (Is a directory); the budget")


def test_an_edit_takes_effect_a_second_later_without_a_restart(path: Path) -> None:
    time = StoppedClock()
    file = BudgetFile(path, time.clock)
    assert file.current() is NO_BUDGET
    write(path, GOOD)
    time.advance(1)
    assert daily(file.current()) == 5
    write(path, GOOD.replace("5", "6"))
    time.advance(0.5)
    assert daily(file.current()) == 5
    time.advance(0.5)
    assert daily(file.current()) == 6
    path.unlink()
    time.advance(1)
    assert file.current() is NO_BUDGET


def test_a_file_that_is_as_it_was_is_not_read_again(path: Path) -> None:
    time = StoppedClock()
    file = BudgetFile(write(path, GOOD), time.clock)
    first = file.current()
    time.advance(60)
    assert file.current() is first


def test_after_the_file_was_gone_a_faulty_one_enforces_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    time = StoppedClock()
    file = BudgetFile(write(path, GOOD), time.clock)
    file.current()
    path.unlink()
    time.advance(1)
    file.current()
    write(path, "- 5")
    time.advance(1)
    assert file.current() is NO_BUDGET
    assert caplog.records[0].getMessage().endswith("; nothing is enforced")


def test_a_bad_limit_does_not_move_the_days_that_are_shown(path: Path) -> None:
    write(path, "timezone: Asia/Kathmandu\n" + GLOBAL % "-5")
    assert configured_time_zone(path) == "Asia/Kathmandu"


def test_the_sample_of_the_docs_means_what_its_comments_say(path: Path) -> None:
    docs = (ROOT / "docs" / "budgets.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"^```yaml\n(.*?)^```$", docs, re.MULTILINE | re.DOTALL)
    budget = load_budget(write(path, sample))
    assert limits_of(
        budget,
        ("global", ""),
        ("cron_job", "any"),
        ("cron_job", "nightly-report"),
        ("sender", "any"),
        ("sender", "telegram:418230771"),
        ("sender", "552019384"),
        ("profile", "work"),
        ("profile", "any"),
    ) == [(5, 100), (1, None), (3, None), (2, 20), (4, 20), (2, None), (None, 60), (None, None)]
    assert replace(budget, limits={}, timezone=None) == NO_BUDGET
    assert budget.timezone == "Europe/Madrid"


def test_the_docs_name_every_key_and_every_mode() -> None:
    docs = (ROOT / "docs" / "budgets.md").read_text(encoding="utf-8")
    for word in (
        *SECTIONS.values(),
        *KEYS.values(),
        *("default", "overrides", "soft_pct", "hard_pct", "timezone"),
        *("on_breach", "block", "notify"),
        *("on_estimated", "warn_only", "enforce"),
        *("on_unpriced", "warn"),
    ):
        assert re.search(rf"\b{word}\b", docs), word
