"""No key that an error text, an address or a tool's result holds is found in any byte we leave."""

import base64
import json
import logging
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from hermes_telemetry.payloads import Attempt
from hermes_telemetry.recorder import Recorder
from support.hostile import Untouchable
from support.ledger_facts import waiting_files
from support.locks import write_transaction_elsewhere
from support.recording import Recording
from support.stopped_clock import StoppedClock

BODY = "Zx7Qw9Lm3Kp5Rt8Vb2Nc4Hd6Jf1Gs0Ya"
"""The secret part of every key here; put together below, so that no scanner takes them for keys."""

VENDOR_KEY = f"made/up+{BODY}=="
"""A key of no known shape, in the environment of every test."""

PASSPHRASE = f"open {BODY} sesame {BODY}"

KEYS = {
    "openai": f"sk-{BODY}{BODY}",
    "openai project": f"sk-proj-{BODY}_{BODY}-{BODY}",
    "anthropic": f"sk-ant-api03-{BODY}-{BODY}AA",
    "openrouter": f"sk-or-v1-{BODY}",
    "google": f"AIzaSy{BODY}x",
    "hugging face": f"hf_{BODY}",
    "xai": f"xai-{BODY}{BODY}",
    "github": f"ghp_{BODY}",
    "json web token": f"eyJhbGciOi.{BODY}.{BODY}",
    "vendor": VENDOR_KEY,
}

IN_PLACE = {
    "bearer": f"Authorization: Bearer {BODY}",
    "bearer of a word and a key": f"Bearer token-{BODY}, bearer auth_{BODY} Bearer access.{BODY}",
    "bearer in quotes": f"Authorization: Bearer \"{BODY}\", bearer '{BODY}'",
    "bearer in escaped quotes": f'{{\\"header\\": \\"bearer \\\\\\"{BODY}\\\\\\"\\"}}',
    "bearer in a url": f"header=Bearer%20{BODY}",
    "basic": "authorization: Basic " + base64.b64encode(f"user:{BODY}".encode()).decode(),
    "header": f"{{'x-api-key': '{BODY}'}}",
    "header in escaped json": '{\\"api_key\\": \\"' + BODY + '\\"}',
    "key parameter": f"GET https://api.example.com/v1/models?key={BODY}&alt=json failed",
    "token parameter": f"GET https://api.example.com/v1?alt=json&access_token={BODY} failed",
    "escaped parameter": f"/v1?alt=json\\u0026token\\u003d{BODY}\\u0026x=1 failed",
    "parameter in a quoted url": f"to=https%3A%2F%2Fx%2Fv1%3Fkey%3D{BODY}%26secret%3d{BODY} failed",
    "fragment": f"https://example.com/back#token={BODY}",
    "basic-auth url": f"cannot reach https://user:{BODY}@proxy.example.com:8080/v1",
    "password with an at": f"postgres://user:p@ss-{BODY}@db.example.com/x",
    "password with a slash": f"https://user:pa/{BODY}@example.com/v1",
    "escaped slashes": f"https:\\/\\/user:{BODY}@example.com\\/v1, https:\\/\\/{BODY}@example.com",
    "token as user": f"https://{BODY}@git.example.com/x.git",
}

ERRORS = KEYS | IN_PLACE

QUOTES = "\"'"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", VENDOR_KEY)
    monkeypatch.setenv("VAULT_PASSWORD", PASSPHRASE)
    caplog.set_level(logging.DEBUG, logger="hermes_telemetry")


def failed(message: str, **fields: Any) -> dict[str, Any]:
    return {"session_id": "s", "error": {"type": "APIError", "message": message}} | fields


def leaks(home: Path, log: str, *secrets: str) -> list[str]:
    """Eight characters and more of a secret, in any file of the home or in the log."""
    # Copied by another process: a file that this one opens and closes loses SQLite's locks.
    copy = home.with_name("copy")
    subprocess.run(["cp", "-r", home, copy], check=True)
    left = {file.name: file.read_bytes() for file in copy.iterdir()}
    shutil.rmtree(copy)
    assert {"telemetry.db", "telemetry.db-wal", "telemetry.db-shm"} <= set(left)
    left["the log"] = log.encode()
    pieces = {
        secret[start : start + 8].encode() for secret in secrets for start in range(len(secret) - 7)
    }
    return [name for name, content in left.items() if any(piece in content for piece in pieces)]


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_keeps_its_words_and_loses_its_key(
    kind: str, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    recording.fire("api_request_error", **failed(f"It says: {ERRORS[kind]} is wrong, go away."))

    message = recording.row("llm_call_errors")["error_message"]
    assert message.startswith("It says: ")
    assert "[redacted]" in message
    assert message.endswith("is wrong, go away.")
    assert leaks(recording.home, caplog.text, BODY) == []


def test_wherever_a_payload_holds_a_key_it_is_not_kept(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    for secret in ERRORS.values():
        everywhere = {
            "error": {"type": secret, "message": secret, "body": secret},
            "reason": secret,
            "request": {"headers": {"authorization": secret}, "body": {"key": secret}},
            "api_kwargs": {"api_key": secret},
            "base_url": f"https://user:{secret}@example.com/{secret}?key={secret}",
            "finish_reason": secret,
            "assistant_message": secret,
            "user_message": secret,
            "conversation_history": [secret],
            "args": {"command": secret},
            "result": json.dumps({"output": secret, "error": secret}),
            "error_type": secret,
            "error_message": secret,
            "child_goal": secret,
            "child_summary": secret,
        }
        for payload in (everywhere, everywhere | {"error": None}):
            for hook in recording.hooks:
                recording.fire(hook, session_id="s", status_code=404, retryable=False, **payload)

    assert len(recording.rows("llm_call_errors")) == 2 * len(ERRORS)
    assert leaks(recording.home, caplog.text, BODY) == []


@pytest.mark.parametrize("cut", [500, 8192])
@pytest.mark.parametrize(
    "before",
    [
        pytest.param("word ", id="words"),
        pytest.param("word,", id="no blanks"),
        # Redaction leaves little of these: what stands at the end of the window is kept.
        pytest.param("sk-" + "0123456789" * 190 + " ", id="long keys"),
        pytest.param('"sk-' + "0123456789" * 190 + '",', id="long keys and no blanks"),
    ],
)
def test_a_key_that_a_cut_goes_through_leaves_no_half(
    before: str, cut: int, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    positions = 0
    for kind in ("openai", "google", "hugging face", "vendor", "basic-auth url", "passphrase"):
        secret = (ERRORS | {"passphrase": PASSPHRASE})[kind]
        for start in range(cut - len(secret) - 2, cut + 14, 5):
            filled = (before * (start // len(before) + 1))[: start - 1] + before[-1]
            recording.fire("api_request_error", **failed(f"{filled}{secret} {'behind ' * 2000}"))
            positions += 1

    messages = [row["error_message"] for row in recording.rows("llm_call_errors")]
    assert len(messages) == positions
    assert max(map(len, messages)) <= 500
    assert leaks(recording.home, caplog.text, VENDOR_KEY) == []


def test_a_key_is_known_behind_escapes_and_in_escaped_forms(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    odd = f'"{BODY}\\{BODY}" & more'
    monkeypatch.setenv("ODD_PASSWORD", odd + "\n")
    for text in (odd, json.dumps(odd), quote(odd), quote(odd, safe=""), quote(VENDOR_KEY)):
        recording.fire("api_request_error", **failed(f"refused: {text}!"))
    for before in ("\\n", "\\t", "\\u0022", "%20", "%3D", "=", "(", "/", "_", "\u2026"):
        recording.fire("api_request_error", **failed(f"refused:{before}{KEYS['openai']}"))
    for glued in ("openai project", "anthropic", "google", "hugging face", "xai"):
        recording.fire("api_request_error", **failed(f"refused{KEYS[glued]}"))

    messages = [row["error_message"] for row in recording.rows("llm_call_errors")]
    assert all(message.startswith("refused") for message in messages)
    assert leaks(recording.home, caplog.text, BODY) == []


@pytest.mark.skipif(not os.supports_bytes_environ, reason="an environment of texts")
def test_a_value_of_the_environment_that_is_no_text_is_known_and_costs_no_record(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(os.environb, b"DB_PASSWORD", b"p\xe4ssw\xf6rd-1")
    address = "http://127.0.0.1:1/an/address/of/its/own"  # each is redacted once a process
    recording.fire("pre_api_request", session_id="s", base_url=address)
    recording.fire("post_api_request", session_id="s", base_url=address)
    password = os.environ["DB_PASSWORD"]
    for text in (password, json.dumps(password), repr(password)):
        recording.fire("api_request_error", **failed(f"I said {text.strip(QUOTES)}."))

    assert len(recording.rows("llm_calls")) == 1
    messages = [row["error_message"] for row in recording.rows("llm_call_errors")]
    assert messages == ["I said [redacted]."] * 3
    assert caplog.messages == ["provider None reports no usage: its calls are estimated"]


def test_the_address_of_a_call_is_known_without_its_keys() -> None:
    for password in (BODY, BODY * 20):
        for kind in KEYS:
            url = f"https://user:{password}@api.example.com/{KEYS[kind]}/v1?key={BODY}&alt=json"
            known = Attempt.read({"base_url": url}).base_url
            assert known is not None
            assert known.startswith("https://[redacted]@api.example.com/[redacted]")
            assert known.endswith("?key=[redacted]&alt=json")


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        ("VENDOR_API_KEY", "open sesame", True),
        ("SOME_TOKEN", "open sesame", True),
        ("SOME_SECRET", "open sesame", True),
        ("SOME_PASSWORD", "sesame12", True),
        ("some_password", "open sesame", True),
        ("SOME_PASSWORD", "sesame7", False),
        ("SOME_PATH", "open sesame", False),
        ("SOME_KEY_ID", "open sesame", False),
    ],
)
def test_what_the_environment_calls_a_secret_is_one(
    name: str, value: str, known: bool, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    recording.fire("api_request_error", **failed(f"I said {value}."))
    told = "[redacted]" if known else value
    assert recording.row("llm_call_errors")["error_message"] == f"I said {told}."


def test_what_waits_in_the_spill_file_is_redacted(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    recording.fire("on_session_start", session_id="s")
    with write_transaction_elsewhere(recording.path):
        for secret in ERRORS.values():
            recording.fire("api_request_error", **failed(f"It says: {secret}"))
        assert waiting_files(recording.path) == ["telemetry.spill.ndjson"]
        assert leaks(recording.home, caplog.text, BODY) == []
    recording.fire("post_tool_call", session_id="s")

    assert len(recording.rows("llm_call_errors")) == len(ERRORS)
    assert leaks(recording.home, caplog.text, BODY) == []


class Clock(StoppedClock):
    """A clock that fails with an error of the test's choice."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        tell = self.clock.now

        def now() -> Any:
            if self.error:
                raise self.error
            return tell()

        self.clock = replace(self.clock, now=now)


@pytest.mark.parametrize("kind", ERRORS)
def test_a_fault_of_our_own_is_logged_once_and_without_keys(
    kind: str, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    time = Clock()
    hooks = Recorder(recording.home, time.clock).hooks()
    hooks["on_session_start"](session_id="s")
    time.error = RuntimeError("no time:", ERRORS[kind], "x" * 100_000)
    for _ in range(3):
        assert hooks["post_tool_call"](session_id="s") is None
        assert hooks["api_request_error"](session_id="s") is None

    lines = [record.getMessage() for record in caplog.records]
    assert [line[:48] for line in lines] == [
        "the hook post_tool_call was not recorded: Runtim",
        "the hook api_request_error was not recorded: Run",
    ]
    assert max(map(len, lines)) < 600
    assert leaks(recording.home, caplog.text, BODY) == []


def test_a_fault_that_cannot_be_printed_is_logged_by_its_kind(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    time = Clock()
    hooks = Recorder(recording.home, time.clock).hooks()
    time.error = RuntimeError(Untouchable())
    assert hooks["post_tool_call"](session_id="s") is None
    assert caplog.messages == ["the hook post_tool_call was not recorded: RuntimeError"]


def test_where_redaction_itself_fails_a_fault_is_logged_by_its_kind(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(text: str) -> str:
        raise ValueError(text)

    monkeypatch.setattr("hermes_telemetry.payloads.redaction.redact", fail)
    time = Clock()
    hooks = Recorder(recording.home, time.clock).hooks()
    time.error = RuntimeError(BODY)
    assert hooks["post_tool_call"](session_id="s") is None
    assert caplog.messages == ["the hook post_tool_call was not recorded: RuntimeError"]


@pytest.mark.parametrize(
    "text",
    [
        "The task-force on risk-assessment met at the kiosk-terminal: disk-full, ask-later.",
        "task-3f2b8c1e-9d4a-4c6b-8e7f-0a1b2c3d4e5f timed out",
        "desk-1234567890abcdef is no key",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is bad",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "request 550e8400-e29b-41d4-a716-446655440000 failed",
        "20261130_144155_132c1e:7017c74c-103a-4929-ba8a-683b47bcfc8b:ea5ef850:api:1",
        "The model `fake-model` does not exist (https://api.example.com/v1/models?limit=20)",
        "the bearer token is missing; basic authentication is not supported, Basic information",
        'WWW-Authenticate: Bearer realm="api", error="invalid_token"',
        "hf_hub_download and hf_transfer failed at https://hf-mirror.com/xai-org/grok-1",
        "xai-grok-4-fast, pplx-70b-online and fw-llama are not models of this provider",
        "max_tokens: 65536 > 32000; api_key_id=7; keys=[1, 2]; tokens=5000",
        "Rate limit reached for organization org-abc on tokens per min (TPM): 30000",
        "mail user@example.com or see https://example.com/@user/page",
        "http://127.0.0.1:80/v1/models/claude-sonnet-4@20250514 and https:\\/\\/h:1\\/@x are gone",
        "ΩΔ 漢字 … “quoted” 🙂 https://example.com/?q=1&page=2",
    ],
)
def test_ordinary_words_stay_as_they_are(text: str, recording: Recording) -> None:
    recording.fire("api_request_error", **failed(text))
    assert recording.row("llm_call_errors")["error_message"] == text
