"""`hermes-telemetry doctor` on pricing.yaml and budget.yaml: what cannot be read, and where."""

import pytest

from hermes_telemetry.paths import database_path, telemetry_home
from hermes_telemetry.store.migrations import migrate
from support.doctor import faults_of


@pytest.fixture(autouse=True)
def _ledger() -> None:
    telemetry_home().mkdir(parents=True)
    migrate(database_path())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("models:\n  gpt: {input: 1\n", "pricing.yaml: line 3, column 1: "),
        ("models: 5\n", "pricing.yaml: line 1, column 9: models is not a mapping"),
        ("models:\n  gpt: {input: -1, output: 1}\n", "pricing.yaml, models: the entry of 'gpt' is"),
    ],
)
def test_an_unreadable_pricing_file(cli, text: str, fault: str) -> None:
    (telemetry_home() / "pricing.yaml").write_text(text)
    (check,) = faults = faults_of(cli("doctor"))
    assert check == "prices"
    assert faults["prices"].startswith(fault)
    assert f": correct {telemetry_home() / 'pricing.yaml'}" in faults["prices"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("budgets:\n  global: {daily_usd: 5\n", "budget.yaml: line 3, column 1: "),
        ("budgets:\n\tglobal: 5\n", "budget.yaml: line 2, column 1: "),
        ("- 5\n", "budget.yaml: line 1, column 1: the file is not a mapping: correct "),
        (
            "budgets:\n  global: {daily_usd: -5}\n",
            "budget.yaml: line 2, column 23: budgets.global.daily_usd is negative: -5: correct ",
        ),
        (
            "timezone: Mars/Base\n",
            "budget.yaml: line 1, column 11: timezone is not a zone that this machine knows:"
            " Mars/Base: correct ",
        ),
    ],
)
def test_a_budget_file_at_fault(cli, text: str, fault: str) -> None:
    (telemetry_home() / "budget.yaml").write_text(text)
    (check,) = faults = faults_of(cli("doctor"))
    assert check == "budget"
    assert faults["budget"].startswith(fault)
    assert faults["budget"].endswith(
        f": correct {telemetry_home() / 'budget.yaml'}; until then a process that has read a good"
        " one keeps it, others enforce nothing"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no {}: nothing is enforced"),
        ("# nothing yet\n", "no limit in budget.yaml: nothing is enforced"),
        ("on_breach: {mode: notify}\n", "no limit in budget.yaml: nothing is enforced"),
        ("budgets: {global: {daily_usd: 5}}\n", "limits in budget.yaml: on a breach block"),
        (
            "budgets: {per_sender: {overrides: {a: {daily_usd: 0}}}}\non_breach: {mode: notify}\n",
            "limits in budget.yaml: on a breach notify",
        ),
    ],
)
def test_a_good_budget_file_or_none(cli, text: str | None, said: str) -> None:
    path = telemetry_home() / "budget.yaml"
    if text is not None:
        path.write_text(text)
    (line,) = [line for line in cli("doctor").out.splitlines() if line.startswith("ok     budget ")]
    assert line.endswith(said.format(path))


def test_files_that_can_be_read_are_told_from_those_that_cannot(cli) -> None:
    (telemetry_home() / "budget.yaml").write_text("budgets: {global: {daily_usd: 5}}\n")
    (telemetry_home() / "pricing.yaml").write_text("models: {gpt: {input: 1, output: 2}}\n")
    answer = cli("doctor")
    assert answer.code == 0
    assert "models in pricing.yaml: 1\n" in answer.out
    assert "limits in budget.yaml: on a breach block\n" in answer.out
