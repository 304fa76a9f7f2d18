"""What a payload costs does not grow with what it holds."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.payloads import redaction, values
from support.ledger_facts import waiting_files
from support.locks import write_transaction_elsewhere
from support.recording import Recording

FIVE_MB = 5_000_000
TEXT = ("Request failed: " + "<p>the upstream server sent a page of HTML</p> " * 110_000)[:FIVE_MB]


def failed(number: int, message: Any) -> dict[str, Any]:
    return {
        "session_id": "s",
        "turn_id": f"s:t:{number}",
        "model": "fake-model",
        "status_code": 502,
        "error": {"type": "BadGateway", "message": message},
        "reason": "server_error",
    }


def sizes(recording: Recording) -> tuple[int, int]:
    """Bytes of the ledger with what waits beside it, and of its write-ahead log."""
    log = recording.path.with_name("telemetry.db-wal").stat().st_size
    files = [file for file in recording.home.iterdir() if "db-" not in file.name]
    return sum(file.stat().st_size for file in files), log


def record_a_thousand(recording: Recording, message: str) -> tuple[int, int]:
    recording.fire("on_session_start", session_id="s")
    before, _ = sizes(recording)
    for number in range(1000):
        recording.fire("api_request_error", **failed(number, message))
    after, log = sizes(recording)
    return after - before, log


def test_five_megabytes_of_error_a_thousand_times_are_less_than_five_on_disk(
    recording: Recording, tmp_path: Path
) -> None:
    grown, log = record_a_thousand(recording, TEXT)
    assert grown < 2_000_000
    messages = {row["error_message"] for row in recording.rows("llm_call_errors")}
    assert messages == {TEXT[:500]}

    # The log's length is a matter of how many commits there were, not of what they held.
    few_words = Recording(tmp_path)
    _, least = record_a_thousand(few_words, "few words")
    few_words.close()
    assert log < 1.2 * least


def test_they_are_no_more_while_another_process_holds_the_ledger(recording: Recording) -> None:
    recording.fire("on_session_start", session_id="s")
    with write_transaction_elsewhere(recording.path):
        grown, _ = record_a_thousand(recording, TEXT)
        assert len(waiting_files(recording.path)) > 1
        assert grown < 2_000_000
    recording.fire("post_tool_call", session_id="s")
    assert len(recording.rows("llm_call_errors")) == 1000


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(TEXT, id="words"),
        pytest.param("x" * FIVE_MB, id="one word"),
        pytest.param(ValueError(TEXT), id="an exception"),
    ],
)
def test_no_pattern_sees_more_than_the_beginning_of_a_text(
    message: Any, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "open sesame")
    seen: list[int] = []
    for module in (redaction, values):
        for name, value in list(vars(module).items()):
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, CountingPattern(value, seen))

    recording.fire("api_request_error", **failed(1, message))

    # Five patterns and more, for each of type, message and reason.
    assert len(seen) > 15
    assert len([length for length in seen if length > 4000]) > 5
    assert max(seen) <= 8193
    assert len(recording.row("llm_call_errors")["error_message"]) == 500


class CountingPattern:
    """A pattern that notes how long the texts are that it is given."""

    def __init__(self, pattern: re.Pattern[str], seen: list[int]) -> None:
        self._pattern = pattern
        self._seen = seen

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        self._seen.append(len(text))
        return self._pattern.sub(replacement, text)


# What each pattern begins to match over and over, and never ends.
NEARLY = [
    "://a:", "://a:1/", "://a@", ":\\/\\/a:b", "?key%3D", "%26", "%26key", "\\u0026", "\\u0026key",
    'bearer "', "bearer \\",
    "a.", "a-", "://", "://a", "a://b ", "?a.", "?", "&;", "?key", "sk-", "-sk-a", "eyJ", "-eyJ",
    "eyJaaaaaa.", "-eyJaaaaaaa", "bearer ", "basic a", "basic aaaaaa ", "basic+", "api_key ",
    "api_key:", "api_key\\", "authorization: token ", "hf_a", "-hf_", "hf_aaaaaa", "AIza", "xai-a",
    "%20", "\\u0020", "\\n", "A", "AKIA", "-AKIA", "ya29.", " ", "\\", "'", "%%2", "_",
]  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of this thread that the work took, of three tries."""
    tries = []
    for _ in range(3):
        began = time.thread_time()
        work()
        tries.append(time.thread_time() - began)
    return min(tries)


@pytest.mark.parametrize("nearly", NEARLY)
def test_no_text_makes_a_pattern_start_over_and_over(
    nearly: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "open sesame")

    def work(length: int) -> Callable[[], object]:
        text = nearly * (length // len(nearly))
        return lambda: redaction.redact(text)

    # Twice the text is twice the work, with room for noise; were it squared it would be 64 times.
    assert seconds(work(8000)) < 24 * seconds(work(1000))
