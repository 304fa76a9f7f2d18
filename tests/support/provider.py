"""A provider on loopback that speaks the OpenAI dialect and follows a script.

A test says what the model answers to which prompt, in order:

    with Provider() as provider:
        listing = ToolCall("call_a", "terminal", {"command": "ls"})
        provider.answer("count the files", ToolCalls((listing,)), Text("3"))

The host then asks `provider.url` and gets those replies, one a request. A request without tools
is an aside (a session's title, a reference model of a mixture, a last summary): it gets a fixed
text, because the host makes such calls on threads of its own and their order means nothing.
Every request is kept, with the clock around its answer, so that a test can compare what the
recorder wrote with what really went over the wire.
"""

import json
import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

_CHUNK_CHARACTERS = 12


@dataclass(frozen=True)
class Usage:
    """Tokens as a provider reports them: `prompt` holds `cached`, `output` holds `reasoning`."""

    prompt: int
    cached: int
    output: int
    reasoning: int

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.output,
            "total_tokens": self.prompt + self.output,
            "prompt_tokens_details": {"cached_tokens": self.cached},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        }


@dataclass(frozen=True)
class Text:
    """The model says something, `delay` seconds after it was asked.

    `finish_reason` is `stop`, or `length` for an answer that was cut at its allowed length.
    """

    content: str
    usage: Usage | None
    delay: float = 0.0
    finish_reason: str = "stop"


@dataclass(frozen=True)
class ToolCall:
    """One call that the model asks for; `id` comes back in the host's tool hooks."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCalls:
    """The model asks for tools; several in one reply are run side by side by the host."""

    calls: tuple[ToolCall, ...]
    usage: Usage | None
    delay: float = 0.0
    finish_reason: str = field(default="tool_calls", init=False)


@dataclass(frozen=True)
class Refusal:
    """The provider answers with an error; `retry_after` is the header of that name, in seconds."""

    status: int
    message: str
    type: str
    code: str
    retry_after: int | None = None
    delay: float = 0.0


Reply = Text | ToolCalls | Refusal

ASIDE = Text("Noted.", Usage(prompt=70, cached=0, output=3, reasoning=0))
OFF_SCRIPT = Refusal(400, "the script has no reply for this request", "off_script", "off_script")


@dataclass
class Request:
    """One request for a completion and its reply, between two UTC epoch seconds.

    `ended` stays infinite if the host hung up.
    """

    body: dict[str, Any]
    started: float
    reply: Reply = OFF_SCRIPT
    ended: float = math.inf

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def user_texts(self) -> list[str]:
        """The user messages, oldest first, with what the host and its plugins added to them."""
        contents = [m["content"] for m in self.body["messages"] if m["role"] == "user"]
        # A content is a string or a list of parts.
        return [
            content if isinstance(content, str) else json.dumps(content) for content in contents
        ]

    @property
    def seconds(self) -> float:
        """From the request's arrival to its reply's last byte."""
        return self.ended - self.started


class Provider:
    """Serves `/v1` on a free port of 127.0.0.1 from `with` to the end of its block."""

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self.listed_prices: dict[str, str] = {}
        """What the model list says of fake-model: USD per token, as routers state it."""
        self._script: dict[str, deque[Reply]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def answer(self, prompt: str, *replies: Reply) -> None:
        """Queue `replies` for the turns whose user message contains `prompt`."""
        with self._lock:
            self._script.setdefault(prompt, deque()).extend(replies)

    @property
    def scripted(self) -> list[Request]:
        """The requests that the script answered, oldest first."""
        return [r for r in self._requests if r.reply not in (ASIDE, OFF_SCRIPT)]

    @property
    def asides(self) -> list[Request]:
        """The requests without tools, oldest first."""
        return [r for r in self._requests if r.reply is ASIDE]

    @property
    def off_script(self) -> list[Request]:
        """The requests that no reply was written for: none, if the host did what a test meant."""
        return [r for r in self._requests if r.reply is OFF_SCRIPT]

    def take(self, body: dict[str, Any]) -> Request:
        """Note one request and settle its reply."""
        with self._lock:
            request = Request(body, started=time.time())
            request.reply = self._next_reply(request)
            self._requests.append(request)
            return request

    def _next_reply(self, request: Request) -> Reply:
        if not request.body.get("tools"):
            return ASIDE
        # From the newest message back, as the host adds user messages of its own to a mixture's.
        for asked in reversed(request.user_texts):
            for prompt, replies in self._script.items():
                if prompt in asked and replies:
                    return replies.popleft()
        return OFF_SCRIPT

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler_for(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                model: dict[str, Any] = {"id": "fake-model", "object": "model", "owned_by": "fake"}
                if provider.listed_prices:
                    model["pricing"] = provider.listed_prices
                self._send(200, {"object": "list", "data": [model]})
            else:
                # A 200 on any other address makes the host take us for another kind of server.
                self._send(404, {"error": {"message": "not found"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self._send(404, {"error": {"message": "not found"}})
                return
            request = provider.take(body)
            time.sleep(request.reply.delay)
            try:
                if isinstance(request.reply, Refusal):
                    self._refuse(request.reply)
                elif body.get("stream"):
                    self._stream(request, request.reply)
                else:
                    self._send(200, _completion(request, request.reply))
            except ConnectionError:
                return  # The user interrupted the host, which hung up.
            request.ended = time.time()

        def _refuse(self, refusal: Refusal) -> None:
            error = {"message": refusal.message, "type": refusal.type, "code": refusal.code}
            wait = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
            self._send(refusal.status, {"error": error}, wait)

        def _stream(self, request: Request, reply: Text | ToolCalls) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for chunk in _chunks(request, reply):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def _send(
            self, status: int, payload: dict[str, Any], headers: Mapping[str, str] | None = None
        ) -> None:
            body = json.dumps(payload).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent: the provider keeps the requests itself."""

    return Handler


def _completion(request: Request, reply: Text | ToolCalls) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(reply, Text):
        message["content"] = reply.content
    else:
        message["tool_calls"] = [_tool_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    answer = _frame(request, "chat.completion", [choice])
    if reply.usage is not None:
        answer["usage"] = reply.usage.as_json()
    return answer


def _chunks(request: Request, reply: Text | ToolCalls) -> Iterator[dict[str, Any]]:
    """The frames of a streamed reply: its deltas, its end, then its usage without a choice."""
    for delta in _deltas(reply):
        choice = {"index": 0, "delta": {"role": "assistant"} | delta}
        yield _frame(request, "chat.completion.chunk", [choice])
    end = {"index": 0, "delta": {}, "finish_reason": reply.finish_reason}
    yield _frame(request, "chat.completion.chunk", [end])
    if reply.usage is not None:
        last = _frame(request, "chat.completion.chunk", [])
        yield last | {"usage": reply.usage.as_json()}


def _deltas(reply: Text | ToolCalls) -> Iterator[dict[str, Any]]:
    if isinstance(reply, ToolCalls):
        for index, call in enumerate(reply.calls):
            yield {"tool_calls": [{"index": index} | _tool_call(call)]}
    else:
        for start in range(0, len(reply.content), _CHUNK_CHARACTERS):
            yield {"content": reply.content[start : start + _CHUNK_CHARACTERS]}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _frame(request: Request, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-fake",
        "object": kind,
        "created": int(request.started),
        "model": request.model,
        "choices": choices,
    }
