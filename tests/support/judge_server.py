"""A real HTTP server that speaks chat completions, and misbehaves when told to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from paper_figures.extra.judging.judge import PROMPTS

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
    said = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    body = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "judge-2025-01-01"}
    usage = {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51}
    return json.dumps(body | {"choices": [said], "usage": usage}).encode()


def sends(content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Send this body."""
    return lambda handler: handler.send(content, status, headers or {})


def fails(status: int, message: str = "no", code: str | None = None, **headers: str) -> Behaviour:
    """Send an error as OpenAI does; underscores in header names stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sends(json.dumps({"error": {"message": message, "code": code}}).encode(), status, named)


def stalls(handler: Handler) -> None:
    """Send nothing until the server closes."""
    handler.owner.closing.wait(60)
    handler.close_connection = True


def cuts(handler: Handler) -> None:
    """Close the connection in the middle of the body."""
    content = completion("1")
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    handler.wfile.write(f"Content-Length: {len(content)}\r\n\r\n".encode() + content[:20])
    handler.close_connection = True


def dies(handler: Handler) -> None:
    """Take the whole server down, this connection with it."""
    handler.close_connection = True
    handler.owner.die()


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
        (self.send_response_only if "Date" in headers else self.send_response)(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, port: int, handler: type[Handler]) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that leave early are meant to

    def cut_connections(self) -> None:
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


@dataclass
class Arrival:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class JudgeServer:
    """A server on a port of its own, which stays its own while it is down; a context manager.

    rule: (number of the request, from 0, and its body) -> the reply's text, or a behaviour.
    """

    rule: Rule
    arrivals: list[Arrival] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    active: int = 0
    most_active: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        # Bound, never listening: connections to it are refused, and nobody else is given the port.
        self._holder = socket.socket()
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("127.0.0.1", 0))
        self.port: int = self._holder.getsockname()[1]
        self._servers: list[tuple[_Server, threading.Thread]] = []
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        server = _Server(self.port, type("Bound", (Handler,), {"owner": self}))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self._servers.append((server, thread))

    def die(self) -> None:
        server, _ = self._servers[-1]
        server.shutdown()
        server.socket.close()
        server.cut_connections()

    def arrived(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> list[Arrival]:
        """Record a request and return those before it."""
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
        self.closing.set()
        for server, thread in self._servers:
            server.shutdown()
            server.cut_connections()
            server.server_close()
            thread.join()
        self._holder.close()
