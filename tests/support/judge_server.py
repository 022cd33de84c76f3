"""A real HTTP server that speaks chat completions, and misbehaves when told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from paper_figures.extra.judging import PROMPTS

# What a server does with a request: the text of its reply, or how it fails.
Behaviour = Callable[["Handler"], None]
Rule = Callable[[int, dict[str, Any]], "str | Behaviour"]


def answers(body: Mapping[str, Any]) -> tuple[str, str]:
    """The two answers in a request with the prompt "paper", if neither holds what stands between them."""
    head, between = PROMPTS["paper"].user.split("{first}")[0], "\n\nAnswer 2:\n"
    first, _, second = body["messages"][1]["content"].removeprefix(head).partition(between)
    return first, second


def longer(number: int, body: dict[str, Any]) -> str:
    first, second = answers(body)
    return "1" if len(first) >= len(second) else "2"


def completion(text: str | None, **message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    body = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "judge-2025-01-01"}
    usage = {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51}
    return json.dumps(body | {"choices": [choice], "usage": usage}).encode()


def sends(content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    return lambda handler: handler.send(content, status, headers or {})


def fails(status: int, message: str = "no", **headers: str) -> Behaviour:
    """Send an error as OpenAI does; underscores in header names stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sends(json.dumps({"error": {"message": message, "code": None}}).encode(), status, named)


def cuts(handler: Handler) -> None:
    content = completion("1")
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    handler.wfile.write(f"Content-Length: {len(content)}\r\n\r\n".encode() + content[:20])
    handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body go in two writes
    owner: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = self.owner.arrived(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        try:
            assert self.path == "/v1/chat/completions"
            behaviour = self.owner.rule(len(done), body)
            if isinstance(behaviour, str):
                self.send(completion(behaviour), 200, {})
            else:
                behaviour(self)
        finally:
            self.owner.answered()

    def send(self, content: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    block_on_close = False  # clients keep their connections

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that leave early are meant to


@dataclass
class Arrival:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class JudgeServer:
    """A server on a port of its own; rule: (number of the request, from 0, and its body) -> reply or behaviour."""

    rule: Rule
    arrivals: list[Arrival] = field(default_factory=list)
    active: int = 0
    most_active: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), type("Bound", (Handler,), {"owner": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def arrived(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> list[Arrival]:
        with self._lock:
            before = list(self.arrivals)
            self.arrivals.append(Arrival(path, headers, body))
            self.active += 1
            self.most_active = max(self.most_active, self.active)
            return before

    def answered(self) -> None:
        with self._lock:
            self.active -= 1

    def __enter__(self) -> JudgeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
