"""Setting one limit in budget.yaml leaves every other line of it as the user wrote it."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_telemetry.budget.config import BudgetFileError, load_budget
from hermes_telemetry.budget.editing import set_limit

USERS = """\
# Budgets of our team — ask Zoë before raising one
budgets:
    "global":   { daily_usd: 5.00,  monthly_usd: 100 }   # agreed in June
    per_cron_job:
        default:
            daily_usd: 1e-1
            # end of default

        overrides:
            # the id of the nightly report
            001122334455: {daily_usd: 3}   # until August
            "weekly: all": {monthly_usd: ~}

# below: what follows
on_breach: {mode: notify}   # we only want to know
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.yaml"


def set_in(path: Path, text: str, scope: str, id: str | None, window: str, usd: float) -> str:
    """The file's text after the limit was set, and proof that it holds."""
    path.write_bytes(text.encode())
    set_limit(path, scope, id, window, usd)  # type: ignore[arg-type]
    assert load_budget(path).limit(scope, id or "", window) == usd  # type: ignore[arg-type]
    return path.read_bytes().decode()


def edited(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and those that came; all others must be the same, in their order."""
    old, new = before.splitlines(), after.splitlines()
    gone = [line for line in old if line not in new]
    came = [line for line in new if line not in old]
    assert [line for line in old if line not in gone] == [line for line in new if line not in came]
    return gone, came


@pytest.mark.parametrize(
    ("scope", "id", "window", "gone", "came"),
    [
        (
            "global",
            None,
            "daily",
            ['    "global":   { daily_usd: 5.00,  monthly_usd: 100 }   # agreed in June'],
            ['    "global":   { daily_usd: 7.5,  monthly_usd: 100 }   # agreed in June'],
        ),
        (
            "cron_job",
            None,
            "daily",
            ["            daily_usd: 1e-1"],
            ["            daily_usd: 7.5"],
        ),
        ("cron_job", None, "monthly", [], ["            monthly_usd: 7.5"]),
        (
            "cron_job",
            "001122334455",
            "monthly",
            ["            001122334455: {daily_usd: 3}   # until August"],
            ["            001122334455: {daily_usd: 3, monthly_usd: 7.5}   # until August"],
        ),
        (
            "cron_job",
            "weekly: all",
            "monthly",
            ['            "weekly: all": {monthly_usd: ~}'],
            ['            "weekly: all": {monthly_usd: 7.5}'],
        ),
        (
            "cron_job",
            "665544332211",
            "daily",
            [],
            ['            "665544332211": {daily_usd: 7.5}'],
        ),
        (
            "sender",
            "telegram:42",
            "daily",
            [],
            [
                "    per_sender:",
                "      overrides:",
                '        "telegram:42": {daily_usd: 7.5}',
            ],
        ),
        ("profile", None, "daily", [], ["    per_profile:", "      default: {daily_usd: 7.5}"]),
    ],
)
def test_only_the_line_of_the_limit_changes(
    path: Path, scope: str, id: str | None, window: str, gone: list[str], came: list[str]
) -> None:
    assert edited(USERS, set_in(path, USERS, scope, id, window, 7.5)) == (gone, came)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# mine\n", "# mine\nbudgets:\n  global: {daily_usd: 7}\n"),
        ("timezone: UTC", "timezone: UTC\nbudgets:\n  global: {daily_usd: 7}\n"),
        ("budgets:\n", "budgets:\n  global: {daily_usd: 7}\n"),
        ("budgets: {}  # none\n", "budgets:   # none\n  global: {daily_usd: 7}\n"),
        ("{}\n", "{budgets: {global: {daily_usd: 7}}}\n"),
        ("{budgets: }\n", "{budgets:  {global: {daily_usd: 7}}}\n"),
        ("budgets: {global: }\n", "budgets: {global:  {daily_usd: 7}}\n"),
        (
            "budgets:\n  global:\ntimezone: UTC\n",
            "budgets:\n  global:\n    daily_usd: 7\ntimezone: UTC\n",
        ),
        (
            "budgets:\r\n  global: {daily_usd: 5}  # a\r\n",
            "budgets:\r\n  global: {daily_usd: 7}  # a\r\n",
        ),
        ("\ufeffbudgets: {global: {daily_usd: 5}}", "\ufeffbudgets: {global: {daily_usd: 7}}"),
        (
            "budgets:\n  per_sender: {default: &x {daily_usd: 1}}\n  global: {<<: *x}\n",
            "budgets:\n  per_sender: {default: &x {daily_usd: 1}}\n"
            "  global: {<<: *x, daily_usd: 7}\n",
        ),
    ],
)
def test_every_way_to_write_a_file_is_understood(path: Path, before: str, after: str) -> None:
    assert set_in(path, before, "global", None, "daily", 7) == after


@pytest.mark.parametrize("empty", [None, ""])
def test_a_new_file_says_what_it_is(path: Path, empty: str | None) -> None:
    if empty is not None:
        path.write_text(empty)
    set_limit(path, "cron_job", "001122334455", "daily", 0.25)
    comment, *rest = path.read_text().split("budgets:\n")
    assert comment.startswith("# Spending limits of hermes-telemetry, in USD")
    assert all(line.startswith("# ") for line in comment.splitlines())
    assert rest == ['  per_cron_job:\n    overrides:\n      "001122334455": {daily_usd: 0.25}\n']


@pytest.mark.parametrize(
    "id",
    [
        "001122334455",
        "1e3",
        "null",
        "yes",
        "~",
        "<<",
        "-",
        "a: b",
        "#7",
        'q"x',
        "Zoë",
        "a\x85b",
        "😀",
    ],
)
def test_any_id_can_be_limited(path: Path, id: str) -> None:
    set_limit(path, "sender", id, "daily", 1)
    set_limit(path, "sender", id, "monthly", 1e-7)
    budget = load_budget(path)
    assert budget.overridden("sender") == (id,)
    assert (budget.limit("sender", id, "daily"), budget.limit("sender", id, "monthly")) == (1, 1e-7)
    assert "e-" not in path.read_text()  # 1e-7 is a text to other readers of YAML


@pytest.fixture
def jobs(hermes_home: Path) -> None:
    """Jobs of the host: "nightly", two that are called "hourly", and one after the first's id."""
    names = {
        "aa0000000001": "nightly",
        "bb0000000002": "hourly",
        "cc0000000003": "hourly",
        "dd0000000004": "aa0000000001",
    }
    (hermes_home / "cron").mkdir()
    (hermes_home / "cron" / "jobs.json").write_text(
        json.dumps({"jobs": [{"id": id, "name": name} for id, name in names.items()]})
    )


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("present", "id", "keys"),
    [
        # A second override, under the id, would lift the monthly limit of the first.
        ("nightly: {monthly_usd: 9}", "aa0000000001", ("nightly",)),
        # Under the name it would mean nothing, for the id's goes first.
        ("aa0000000001: {monthly_usd: 9}", "nightly", ("aa0000000001",)),
        ("aa0000000001: {monthly_usd: 9}", "aa0000000001", ("aa0000000001",)),
        ("nightly: {monthly_usd: 9}", "nightly", ("nightly",)),
        # Two jobs of one name: an id means its own job only, the name means both.
        (
            "bb0000000002: {monthly_usd: 9}, cc0000000003: {monthly_usd: 9}",
            "bb0000000002",
            ("bb0000000002",),
        ),
        (
            "bb0000000002: {monthly_usd: 9}, cc0000000003: {monthly_usd: 9}",
            "hourly",
            ("bb0000000002", "cc0000000003"),
        ),
    ],
)
def test_a_cron_jobs_limit_goes_to_the_override_that_it_has(
    path: Path, present: str, id: str, keys: tuple[str, ...]
) -> None:
    path.write_text(f"budgets: {{per_cron_job: {{overrides: {{{present}}}}}}}\n")
    before = load_budget(path).overridden("cron_job")
    set_limit(path, "cron_job", id, "daily", 2)
    budget = load_budget(path)
    assert budget.overridden("cron_job") == before
    assert tuple(key for key in before if budget.limit("cron_job", key, "daily") == 2) == keys
    assert {budget.limit("cron_job", key, "monthly") for key in before} == {9}


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("present", "word", "written"),
    [
        pytest.param(
            "bb0000000002: {monthly_usd: 9}",
            "hourly",
            {"bb0000000002": (2, 9), "hourly": (2, 5)},
            id="a name of two, one of which has an override: the other has none to go by",
        ),
        pytest.param(
            "hourly: {monthly_usd: 9}",
            "bb0000000002",
            {"hourly": (None, 9), "bb0000000002": (2, 9)},
            id="one of two that share an override: the other's limit stays, and its own month",
        ),
        pytest.param(
            "hourly: {monthly_usd: ~}",
            "bb0000000002",
            {"hourly": (None, None), "bb0000000002": (2, None)},
            id="what the shared override lifts stays lifted",
        ),
        pytest.param(
            "hourly: {daily_usd: 1}",
            "bb0000000002",
            {"hourly": (1, 5), "bb0000000002": (2, 5)},
            id="of the default nothing is repeated",
        ),
        pytest.param(
            "dd0000000004: {monthly_usd: 9}",
            "aa0000000001",
            {"dd0000000004": (None, 9), "aa0000000001": (2, 5)},
            id="an id that another job has for its name is no name",
        ),
        pytest.param(
            "aa0000000001: {monthly_usd: 9}",
            "dd0000000004",
            {"aa0000000001": (None, 9), "dd0000000004": (2, 5)},
            id="the override of the job whose id is the name is not its own",
        ),
    ],
)
def test_what_is_set_for_a_cron_job_is_set_for_all_that_are_meant_and_for_no_other(
    path: Path, present: str, word: str, written: dict[str, tuple[float | None, float | None]]
) -> None:
    path.write_text(
        f"budgets: {{per_cron_job: {{default: {{monthly_usd: 5}}, overrides: {{{present}}}}}}}\n"
    )
    set_limit(path, "cron_job", word, "daily", 2)
    overrides = load_budget(path).limits["cron_job"].overrides
    assert {key: (own.daily, own.monthly) for key, own in overrides.items()} == written
    assert path.read_text().count("monthly_usd: 5") == 1


def test_the_former_file_is_kept(path: Path) -> None:
    path.write_text(USERS)
    set_limit(path, "global", None, "daily", 6)
    assert (path.parent / "budget.yaml.bak").read_text() == USERS


def test_a_limit_that_is_there_already_changes_nothing(path: Path) -> None:
    path.write_text("budgets:\n  global: {daily_usd: 5}\n")
    set_limit(path, "global", None, "daily", 5)
    assert not (path.parent / "budget.yaml.bak").exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("budgets: [\n", "line 2, column 1: "),
        ("budgets: {global: {daily_usd: -1}}\n", "line 1, column 31: budgets.global.daily_usd is"),
        ("budgets: {}\nbudgets: {}\n", "line 2, column 1: budgets stands there twice"),
        (
            "budgets:\n  global: &x {daily_usd: 1}\n  per_sender: {default: *x}\n",
            "budgets.global cannot be changed without changing other entries",
        ),
    ],
)
def test_a_file_that_it_cannot_change_safely_stays_as_it_is(
    path: Path, text: str, fault: str
) -> None:
    path.write_text(text)
    with pytest.raises(BudgetFileError) as raised:
        set_limit(path, "global", None, "daily", 7)
    assert str(raised.value).startswith(f"budget.yaml: {fault}")
    assert path.read_text() == text


def test_bytes_that_are_no_text_stay_as_they_are(path: Path) -> None:
    path.write_bytes(b"timezone: UTC # Zo\xeb\n")
    with pytest.raises(BudgetFileError, match=r"^budget\.yaml: line 1, column 19: not UTF-8$"):
        set_limit(path, "global", None, "daily", 7)
    assert path.read_bytes() == b"timezone: UTC # Zo\xeb\n"


@pytest.mark.parametrize("usd", [-1, -0.01, float("nan"), float("inf")])
def test_what_is_no_amount_is_not_written(path: Path, usd: float) -> None:
    with pytest.raises(BudgetFileError, match=r"^budget\.yaml: a limit is 0 USD or more, not "):
        set_limit(path, "global", None, "daily", usd)
    assert not path.exists()


def test_limits_set_at_the_same_time_are_all_kept(path: Path) -> None:
    def set_one(number: int) -> None:
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from pathlib import Path;"
                "from hermes_telemetry.budget.editing import set_limit;"
                "set_limit(Path(sys.argv[1]), 'sender', sys.argv[2], 'daily', 1)",
                str(path),
                f"sender-{number}",
            ],
            check=True,
        )

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(set_one, range(8)))
    assert sorted(load_budget(path).overridden("sender")) == [f"sender-{n}" for n in range(8)]
