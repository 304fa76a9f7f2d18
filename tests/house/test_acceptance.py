"""The benchmark of what the project promises runs and prints each figure: on small ledgers, where
its times mean nothing.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT

NAMES = {
    "recording": [
        *(
            line
            for price in (
                "listed price",
                "price of the catalogue",
                "the host's tariff",
                "no known price",
                "limits in four scopes",
            )
            for line in (
                f"post_api_request, {price}: of the floor's rate",
                "  the same by processor time",
                "  the floor beside it: p50",
                f"post_api_request, {price}: p50",
                f"post_api_request, {price}: p99",
                f"post_api_request, {price}: p99.9",
            )
        ),
        "post_api_request, a reader pins the log 1 s: p50",
        "post_api_request, a reader pins the log 1 s: p99",
        "post_api_request, a reader pins the log 1 s: p99.9",
    ],
    "crowds": [
        f"{crowd}: {figure}"
        for crowd, figures in (
            ("8 threads, pausing 5 ms", ("p99", "worst")),
            ("4 processes × 2 threads, pausing 5 ms", ("p99", "worst")),
            ("8 threads in tight loops", ("worst",)),
            ("4 processes × 2 threads in tight loops", ("worst",)),
        )
        for figure in (*figures, "calls lost", "errors logged")
    ],
    "gate": [
        f"gate, {case}: p99"
        for case in (
            "limits far away",
            "a new call of another process",
            "an edge moves a session",
            "all limits spent",
            "the same, ledger held 1 s",
            "new under locking_mode=EXCLUSIVE",
        )
    ],
    "queries": [
        f"query {file.stem}, {calls} calls"
        for file in sorted((ROOT / "canned_queries").glob("*.sql"))
        for calls in ("2,000", "4,000")
    ],
    "pruning": [
        "preview of pruning 2,500 of 3,000",
        "prune 2,500 of 3,000 beside a writer",
        "  the writer meanwhile: p99",
        "  the writer meanwhile: worst",
        "  rows that are left and should be gone",
    ],
    "size": ["the file, by the file without speed indexes and prices"],
    "pages": [
        *(
            f"page {page}: {how}"
            for page in ("overview", "budget", "charts", "prune")
            for how in ("cold", "warm")
        ),
        "a chart, its data known and the engine running",
        "  the slowest of the charts",
        "table page of llm_calls: warm",
        "8 browsers at once: answers that are none",
        "8 browsers at once: the longest wait",
    ],
    "soak": [
        *(
            f"soak, 2,000 calls by 20 threads: {figure}"
            for figure in (
                "its memory's growth",
                "the server's",
                "errors logged",
                "pages refused",
                "prunings that failed",
                "calls lost",
                "runs that do not add up",
            )
        ),
        "  pages read meanwhile",
        "  failed attempts pruned meanwhile",
    ],
    "startup": ["CPU added to the start of `hermes chat`"],
    "commands": [
        "forecast of a month, 2,000 calls",
        "forecast --backtest, 2,000 calls",
        "merge into a new ledger, 2,000 calls",
        "merge the same again, 2,000 calls",
        "export as CSV, 2,000 calls",
    ],
}
COUNTED = ("lost", "logged", "none", "refused", "failed", "add up", "should be gone")
"""How the names of figures end that must be 0 on any machine."""


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledgers")


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("pages", "soak") else ())
        for name in NAMES
        if name != "startup"
    ],
)
def test_each_group_of_figures_is_printed_whole(group: str, ledgers: Path) -> None:
    assert_whole(NAMES[group], group, ledgers)


@pytest.mark.host
def test_the_start_of_the_host_is_measured(ledgers: Path, host_python: Path) -> None:
    assert_whole([*NAMES["startup"], "  of the start without the plugin"], "startup", ledgers)


def test_a_name_that_is_no_group_is_refused(ledgers: Path) -> None:
    done = benchmark("prices", ledgers)
    assert done.returncode == 2
    assert done.stderr.endswith("no such figures: prices\n")


def assert_whole(names: list[str], group: str, ledgers: Path) -> None:
    done = benchmark(group, ledgers)
    heading, *lines, last = done.stdout.splitlines()
    assert heading.split() == ["figure", "value", "limit", "ratio", "result"]
    assert [line[:62].rstrip() for line in lines] == names, done.stderr
    results = [line.rsplit("  ", 1)[1] for line in lines]
    assert set(results) <= {"pass", "FAIL", "–"}, "a figure that could not be measured says why"
    for line, result in zip(lines, results, strict=True):
        if line[:62].rstrip().endswith(COUNTED):
            assert result == "pass", line
    missed = results.count("FAIL")
    assert last == (f"{missed} missed" if missed else "all kept")
    assert done.returncode == bool(missed)


def benchmark(group: str, ledgers: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, ROOT / "benchmarks" / "acceptance.py"),
            *(group, "--small", "--ledgers", ledgers),
        ],
        capture_output=True,
        text=True,
    )
