"""`hermes-telemetry doctor` where there is no ledger yet: why, and what else can be looked at."""

import json
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, telemetry_home
from support.doctor import faults_of

ENABLE = "run `hermes plugins enable hermes-telemetry`, then any `hermes` command"


def test_a_ledger_that_is_not_there_is_a_fault_with_what_to_do(cli, tmp_path: Path) -> None:
    path = tmp_path / "nothing.db"
    for options in ((), ("--repair",)):
        faults = faults_of(cli("doctor", *options, "--db", path))
        assert faults == {"ledger": f"there is no file {path}: name a ledger that is there"}
    assert not path.exists()


def test_the_files_beside_it_are_looked_at_all_the_same(cli, hermes_home: Path) -> None:
    telemetry_home().mkdir(parents=True)
    (telemetry_home() / "budget.yaml").write_text("budgets: {global: {daily_usd: lots}}\n")
    (telemetry_home() / "pricing.yaml").write_text("models: 5\n")
    faults = faults_of(cli("doctor"))
    assert faults.keys() == {"ledger", "plugin", "prices", "budget"}
    assert faults["ledger"] == (
        f"there is no file {database_path()}: Hermes makes it with its first turn; another one is"
        " named by --db FILE"
    )


def test_as_json(cli, hermes_home: Path) -> None:
    answer = cli("doctor", "--json")
    report = json.loads(answer.out)
    assert (answer.code, report["ok"], report["repaired"]) == (1, False, [])
    checks = {finding["check"]: finding for finding in report["findings"]}
    assert checks.keys() == {"ledger", "plugin", "prices", "price age", "budget"}
    assert checks["ledger"]["text"] == f"there is no file {database_path()}"
    assert checks["ledger"]["advice"]


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        (
            None,
            "there is no {}: set HERMES_HOME to Hermes's home if that is elsewhere, else " + ENABLE,
        ),
        ("plugins: {enabled: [another]}\n", "hermes-telemetry is not enabled in {}: " + ENABLE),
        ("plugins: {enabled: true}\n", "hermes-telemetry is not enabled in {}: " + ENABLE),
        (
            "plugins: {enabled: hermes-telemetry-of-another}\n",
            "hermes-telemetry is not enabled in {}: " + ENABLE,
        ),
        ("plugins: {enabled: }\n", "hermes-telemetry is not enabled in {}: " + ENABLE),
        ("model: x\n", "hermes-telemetry is not enabled in {}: " + ENABLE),
        ("", "hermes-telemetry is not enabled in {}: " + ENABLE),
        (
            "plugins: {enabled: [hermes-telemetry], disabled: [hermes-telemetry]}\n",
            "hermes-telemetry is not enabled in {}: " + ENABLE,
        ),
        ("plugins: {\n", "{} is not YAML: correct it"),
        ("plugins: {enabled: [hermes-telemetry]}\n", None),
    ],
)
def test_whether_hermes_is_to_load_the_plugin(
    cli, hermes_home: Path, config: str | None, fault: str | None
) -> None:
    file = hermes_home / "config.yaml"
    if config is not None:
        file.write_text(config)
    answer = cli("doctor")
    assert faults_of(answer).get("plugin") == (fault.format(file) if fault else None)
    assert (f"hermes-telemetry is enabled in {file}" in answer.out) == (fault is None)


def test_a_home_that_names_the_folder_telemetry_itself_is_told_so(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "here" / "telemetry"
    home.mkdir(parents=True)
    monkeypatch.setenv("HERMES_TELEMETRY_HOME", str(home))
    # Its name alone says nothing.
    assert "Hermes makes it with its first turn" in cli("stats").err
    (home / "telemetry.db").touch()
    told = (
        f"there is no file {home}/telemetry/telemetry.db: set HERMES_TELEMETRY_HOME to"
        f" {tmp_path / 'here'}, the folder above telemetry"
    )
    assert faults_of(cli("doctor"))["ledger"] == told
    assert told in cli("stats").err
