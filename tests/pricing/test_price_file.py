"""pricing.yaml while a session runs: edits, faults, and what stays in force."""

import math
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from hermes_telemetry.pricing import Catalog
from hermes_telemetry.pricing.files import builtin_book
from support.stopped_clock import StoppedClock

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(home: Path) -> Path:
    return home / "pricing.yaml"


@pytest.fixture
def catalog(home: Path, time: StoppedClock) -> Catalog:
    return Catalog(home, clock=time.clock)


def price_of(catalog: Catalog, model: str = "m") -> float | None:
    price = catalog.lookup(model, "")
    return None if price is None else float(price.rates.input)


def write(path: Path, text: str | bytes) -> None:
    """Replaces the file as an atomic writer does, so its identity changes even within a tick."""
    other = path.with_suffix(".new")
    other.write_bytes(text.encode() if isinstance(text, str) else text)
    os.replace(other, path)


def entry(input: object) -> str:
    return f"models: {{m: {{input: {input}, output: 1}}}}"


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage().rpartition("/")[2]
        for record in caplog.records
        if "has no price" not in record.getMessage()
    ]


def test_an_edit_is_seen_a_second_later_without_a_restart(
    catalog: Catalog, path: Path, time: StoppedClock
) -> None:
    assert price_of(catalog) is None
    write(path, entry(1))
    time.advance(1)
    assert price_of(catalog) == 1
    write(path, entry(2))
    time.advance(0.5)
    assert price_of(catalog) == 1
    time.advance(0.5)
    assert price_of(catalog) == 2
    path.unlink()
    time.advance(1)
    assert price_of(catalog) is None


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("models:\n  m: {input: 1\n  n: 2\n", "line 3, column "),
        ("models:\n\t m: 1", "line 2, column 1: "),
        (b"models:\n  m: \x00", "line 2, column 6: "),
        (b"models: {\xff: 1}", "line 1, column 10: "),
        ("- m", "line 1, column 1: not a mapping"),
        ("defaults: {}\nmodels: [m]", "line 2, column 9: models is not a mapping"),
        ("families: 3", "line 1, column 11: families is not a mapping"),
        ("? {a: b}\n: c\nmodels: {}", "line 1, column 3: "),
        ("[" * 5_000, "line "),
        ("a: 2026-13-45", "line 1, column 1: "),
    ],
)
def test_a_malformed_file_leaves_the_last_good_prices_and_says_where_the_fault_is(
    catalog: Catalog,
    path: Path,
    time: StoppedClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    text: str | bytes,
    fault: str,
    loader: str,
) -> None:
    monkeypatch.setattr("hermes_telemetry.yaml_files.text.Loader", getattr(yaml, loader))
    write(path, entry(1))
    assert price_of(catalog) == 1
    write(path, text)
    for _ in range(3):
        time.advance(1)
        assert price_of(catalog) == 1
    (line,) = faults(caplog)
    assert line.startswith(f"pricing.yaml: {fault}")
    assert line.endswith("; the prices read before stay in force")
    assert "\n" not in line
    write(path, entry(3))
    time.advance(1)
    assert price_of(catalog) == 3


def test_a_file_that_cannot_be_read_leaves_the_last_good_prices(
    catalog: Catalog, path: Path, time: StoppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    write(path, entry(1))
    assert price_of(catalog) == 1
    path.unlink()
    path.mkdir()
    for _ in range(2):
        time.advance(1)
        assert price_of(catalog) == 1
    (line,) = faults(caplog)
    assert line.startswith("pricing.yaml: cannot be read (Is a directory); ")


@pytest.mark.parametrize("text", ["", "# only a comment\n", "models:\n", "models: {}\nother: 1\n"])
def test_an_empty_file_has_no_prices_and_no_fault(
    catalog: Catalog, path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    write(path, text)
    assert price_of(catalog) is None
    assert faults(caplog) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{input: -1, output: 1}", "input is negative"),
        ("{input: 1, output: .nan}", "output is not finite"),
        ("{input: .inf, output: 1}", "input is not finite"),
        ("{input: 1, output: 1, cache_read: -0.1}", "cache_read is negative"),
        ("{input: 1, output: 1, request: -0.1}", "request is negative"),
        ("{input: 1, output: 1, reasoning: x}", "reasoning is not a number"),
        ("{input: yes, output: 1}", "input is not a number"),
        ("{input: [1], output: 1}", "input is not a number"),
        ("{input: 1}", "output is missing"),
        ("{output: 1}", "input is missing"),
        ("{input: 1e300, output: 1}", "input is too large to be a rate in USD"),
        ("free", "it is not a mapping of rates"),
        ("", "it is not a mapping of rates"),
        ("{input: 1, output: 1, tiers: 3}", "tiers is not a list of mappings"),
        (
            "{input: 1, output: 1, tiers: [{input: 1, output: 1}]}",
            "min_prompt_tokens of a tier is not a whole number above 0",
        ),
        (
            "{input: 1, output: 1, tiers: [{min_prompt_tokens: 9, input: -1, output: 1}]}",
            "input is negative",
        ),
        ("{input: 1, output: 1, providers: {p: {input: -1, output: 1}}}", "input is negative"),
        ("{input: 1, output: 1, providers: [p]}", "providers is not a mapping"),
        ("{input: 1, output: 1, periods: 3}", "periods is not a list of mappings"),
        (
            "{input: 1, output: 1, periods: [{input: 1, output: 1}]}",
            "a period has neither from nor hours",
        ),
        (
            "{input: 1, output: 1, periods: [{from: soon, input: 1, output: 1}]}",
            "from of a period is not a date",
        ),
        (
            "{input: 1, output: 1, periods: [{hours: [10:00, 14:00], input: 1, output: 1}]}",
            'hours of a period are not like ["01:00", "04:00"]',
        ),
        (
            "{input: 1, output: 1, periods: [{from: 2027-01-01, input: -1, output: 1}]}",
            "input is negative",
        ),
    ],
)
def test_a_rate_that_cannot_be_charged_voids_its_entry_alone(
    catalog: Catalog, path: Path, caplog: pytest.LogCaptureFixture, bad: str, reason: str
) -> None:
    write(path, f"models:\n  bad: {bad}\n  m: {{input: 1, output: 1}}\n")
    assert price_of(catalog, "bad") is None
    assert price_of(catalog, "m") == 1
    assert faults(caplog) == [f"pricing.yaml, models: the entry of 'bad' is ignored: {reason}"]


def test_a_void_entry_leaves_the_built_in_price(catalog: Catalog, path: Path) -> None:
    write(path, "models: {claude-opus-4-6: {input: -1, output: 1}}")
    assert price_of(catalog, "claude-opus-4-6") == 5


def test_numbers_in_quotes_and_in_e_notation_are_numbers(catalog: Catalog, path: Path) -> None:
    write(path, 'models: {m: {input: "1.5", output: 1}, n: {input: 2e-2, output: 1}}')
    assert price_of(catalog, "m") == 1.5
    assert price_of(catalog, "n") == 0.02


@pytest.mark.parametrize("multiplier", ["-1", ".nan", "much"])
def test_an_unusable_multiplier_is_ignored_with_one_line(
    catalog: Catalog, path: Path, caplog: pytest.LogCaptureFixture, multiplier: str
) -> None:
    write(path, f"defaults: {{cache_read_multiplier: {multiplier}}}\n{entry(4)}")
    price = catalog.lookup("m", "")
    assert price is not None
    assert float(price.rates.cache_read) == 4
    assert len(faults(caplog)) == 1


def test_every_rate_of_the_package_can_be_charged() -> None:
    builtin_book.cache_clear()
    book = builtin_book()
    assert len(book.models) > 200
    for price in (entry.price("builtin", book.fill, NOON) for entry in book.models.values()):
        assert price is not None
        for rates in (price.rates, *(tier.rates for tier in price.tiers)):
            assert math.isfinite(rates.input)
            assert rates.output > 0
            # A cache read dearer than a fresh token would be a slip in the table.
            assert rates.cache_read <= rates.input


def test_reading_prices_imports_neither_pydantic_nor_the_writer() -> None:
    code = (
        "import sys; from pathlib import Path; from hermes_telemetry.pricing import Catalog;"
        "assert Catalog(Path('.')).lookup('gpt-5', 'openai');"
        "print([m for m in ('pydantic', 'ruamel', 'requests', 'genai_prices') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_built_in_table_is_read_at_the_first_lookup_only() -> None:
    code = (
        "from pathlib import Path; import hermes_telemetry.pricing as p;"
        "from hermes_telemetry.pricing.files import builtin_book as b;"
        "c = p.Catalog(Path('.')); before = b.cache_info().misses; c.lookup('gpt-5', '');"
        "c.lookup('gpt-4.1', ''); print(before, b.cache_info().misses)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0", "1"]
