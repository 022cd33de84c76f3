"""Requests to an OpenAI-compatible endpoint: one deadline each, our own retries, and a stop that is obeyed at once."""

from __future__ import annotations

import json
import random
import re
import threading
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from paper_figures.judging.judge import KEY_VARIABLE, LLMJudge
from paper_figures.judging.retries import LONGEST_WAIT, RateLimiter, backoff, is_passing, retry_after
from paper_figures.judging.verdicts import Reply, parse_choice
from rws_decode.common.extras import required

__all__ = ["JudgeSession", "Stopped", "reply_of"]

_QUOTED = 200


class Stopped(Exception):
    """The session was stopped before this request was made, or while it waited."""


@dataclass(frozen=True)
class _Failure:
    reason: str
    passing: bool
    wait: float | None = None


class JudgeSession:
    """An open connection to a judge's endpoint, for several threads; a context manager.

    Requests run on one event loop, where a deadline can end them wherever they are (connecting, sending, waiting,
    reading): a socket's own timeout begins anew with every byte. The client's own retries are off.

    ValueError on entering where the client is not installed or the key is missing.
    """

    def __init__(self, judge: LLMJudge) -> None:
        self.judge = judge
        self._limiter = RateLimiter(judge.requests_per_minute, judge.clock)
        self._halted = threading.Event()
        self._stack = ExitStack()
        self._running: set[Any] = set()

    def __enter__(self) -> JudgeSession:
        self._openai = required("openai", self.judge.label)
        from anyio.from_thread import start_blocking_portal

        self._secret = self.judge.secret()
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal("asyncio"))
            self._client = self._portal.call(self._connect)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._halted.set()
        self._portal.call(self._client.close)
        self._stack.close()

    def halt(self, *, abort: bool = False) -> None:
        """Make no further request. Those under way are finished, being paid for; with `abort` they are cut off."""
        self._halted.set()
        if abort:
            self._portal.call(self._cancel)

    def ask(self, body: dict[str, Any]) -> Reply:
        """Return the reply to one request; blocks until it is there.

        Failures that may pass are tried again, after a wait that doubles or that the server asks for. ValueError, in
        one line, for those that do not (a wrong key, an unknown model); ConnectionError where the tries are used up;
        Stopped where the session is.
        """
        rng = random.Random(f"{self.judge.seed or 0} {self.judge.key(body, 0)}")
        failures = 0
        while True:
            self._sleep(self._limiter.reserve())
            found = self._try(body)
            if isinstance(found, Reply):
                return found
            if not found.passing:
                raise ValueError(f"{self.judge.label}: {found.reason}")
            asked = found.wait or 0.0
            if asked > LONGEST_WAIT:
                raise ConnectionError(f"{self.judge.label} asks to wait {asked:.0f} seconds ({found.reason})")
            if failures == self.judge.max_retries:
                raise ConnectionError(
                    f"{self.judge.label} gave no answer in {failures + 1} tries (last: {found.reason})"
                )
            if asked:
                self._limiter.hold(asked)
            self._sleep(max(asked, backoff(failures, rng)))
            failures += 1

    def _try(self, body: dict[str, Any]) -> Reply | _Failure:
        openai, started = self._openai, self.judge.clock()
        try:
            content = self._portal.call(self._post, body)
        except (TimeoutError, openai.APITimeoutError):
            return _Failure(f"no reply within {self.judge.timeout:g} seconds", passing=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            return _Failure(f"no connection, {self._quoted(f'{type(cause).__name__} {cause}')}", passing=True)
        except openai.APIStatusError as error:
            return self._refused(error)
        try:
            return self._without_key(reply_of(content, self.judge.clock() - started))
        except ValueError as error:
            return _Failure(f"{error}, {self._quoted(content.decode(errors='replace')) or 'empty'}", passing=True)

    def _connect(self) -> Any:
        openai, header = self._openai, self.judge.header(self._secret)
        return openai.AsyncOpenAI(
            api_key=header.removeprefix("Bearer "),
            base_url=self.judge.endpoint,
            max_retries=0,
            timeout=self.judge.timeout,
            # Given here too, so that no header of the environment takes its place.
            default_headers={"Authorization": header},
            http_client=openai.DefaultAsyncHttpxClient(trust_env=self.judge.trust_env),
        )

    async def _post(self, body: dict[str, Any]) -> bytes:
        from anyio import fail_after

        if self._halted.is_set():
            raise Stopped
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        response = None
        with fail_after(self.judge.timeout) as scope:
            self._running.add(scope)
            try:
                response = await self._client.chat.completions.with_raw_response.create(
                    model=body["model"], messages=body["messages"], extra_body=rest
                )
            finally:
                self._running.discard(scope)
        if response is None:  # cut off before its deadline
            raise Stopped
        return response.http_response.content

    def _cancel(self) -> None:
        for scope in self._running:
            scope.cancel()

    def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            if self.judge.sleep is None:
                self._halted.wait(seconds)
            else:
                self.judge.sleep(seconds)
        if self._halted.is_set():
            raise Stopped

    def _refused(self, error: Any) -> _Failure:
        status: int = error.status_code
        said = self._quoted(str(error.message))
        if status == 401:
            # Not what the server said: it quotes parts of the key here.
            why = f"{KEY_VARIABLE} is not set" if self._secret is None else f"the key in {KEY_VARIABLE} is not accepted"
            return _Failure(f"HTTP 401, {why}", passing=False)
        if getattr(error, "code", None) == "insufficient_quota":
            return _Failure(f"HTTP {status}, {said}", passing=False)  # a 429 that no wait ends
        return _Failure(f"HTTP {status}, {said}", is_passing(status), retry_after(error.response.headers))

    def _quoted(self, text: str) -> str:
        words = " ".join(self._hidden(text).split())
        line = "".join(letter if letter.isprintable() else "?" for letter in words)
        return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}..."

    def _without_key(self, reply: Reply) -> Reply:
        # A verdict is left as it is: where a server's key is "1", so may be the reply.
        raw = reply.raw if parse_choice(reply.raw) else self._hidden(reply.raw)
        finish = None if reply.finish is None else self._hidden(reply.finish)
        model = self._hidden(reply.model) or self.judge.model
        return replace(reply, raw=raw, model=model, finish=finish)

    def _hidden(self, text: str) -> str:
        if self._secret is None:
            return text
        # Servers may quote what they were sent, escaped as often as it was quoted.
        letters = (rf"(?:{re.escape(letter)}|\\+u{ord(letter):04x})" for letter in self._secret)
        return re.sub(r"\\*".join(letters), "[key]", text, flags=re.IGNORECASE)


def reply_of(content: bytes, seconds: float) -> Reply:
    """Return the reply in the body of a chat completion; ValueError where it is none.

    A refusal is a reply: its words, or "" where there are none. What UTF-8 cannot hold is escaped.

    >>> reply_of(b'{"model": "m", "choices": [{"message": {"content": "1"}, "finish_reason": "stop"}]}', 0.5)
    Reply(raw='1', model='m', finish='stop', tokens_in=None, tokens_out=None, seconds=0.5)
    """
    try:
        completion = json.loads(content)
        choice = completion["choices"][0]
        message = choice["message"]
        raw = message.get("content") or message.get("refusal") or ""
        usage = completion.get("usage") or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("what came is no chat completion") from None
    if not isinstance(raw, str):
        raise ValueError(f"the reply's text is {type(raw).__name__}")
    tokens_in, tokens_out = (count if type(count) is int and count >= 0 else None for count in counts)
    finish = choice.get("finish_reason")
    named = _held(str(completion.get("model") or ""))
    return Reply(_held(raw), named, None if finish is None else _held(str(finish)), tokens_in, tokens_out, seconds)


def _held(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
