"""A judge's endpoint, asked through the openai client: its retries, its timeouts, its waits."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from paper_figures.judging.judge import KEY_VARIABLE, LLMJudge
from paper_figures.judging.verdicts import Reply, parse_choice
from rws_theory.extras import required
from rws_theory.show import printable

_QUOTED = 200
# What may pass by itself: the client has tried these again, and another run may succeed.
_PASSING = (408, 409, 429)


@dataclass(frozen=True)
class Endpoint:
    """The openai client for one judge; `client` is an asynchronous context manager."""

    judge: LLMJudge
    client: Any
    secret: str | None

    async def ask(self, body: dict[str, Any]) -> Reply:
        """Return the reply to one request.

        ValueError, in one line, where the endpoint refuses it (a wrong key, an unknown model); ConnectionError where it
        gave no answer to the client's tries.
        """
        import openai

        label, tries = self.judge.label, self.judge.max_retries + 1
        fields = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            response = await self.client.chat.completions.with_raw_response.create(
                model=body["model"], messages=body["messages"], extra_body=fields
            )
        except openai.APITimeoutError:
            told = f"{label} gave no answer in {tries} tries (last: silent for {self.judge.timeout:g} seconds)"
            raise ConnectionError(told) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            said = self._quoted(f"{type(cause).__name__} {cause}")
            raise ConnectionError(f"{label} gave no answer in {tries} tries (last: no connection, {said})") from None
        except openai.APIStatusError as error:
            raise self._refusal(error.status_code, str(error.message)) from None
        content = response.http_response.content
        try:
            reply = reply_of(content, response.http_response.elapsed.total_seconds())
        except ValueError as error:
            said = self._quoted(content.decode(errors="replace")) or "empty"
            raise ConnectionError(f"{label}: {error}, {said}") from None
        # A verdict stays as it is: where a server's key is "1", so may be the reply.
        raw = reply.raw if parse_choice(reply.raw) else self._hidden(reply.raw)
        return replace(reply, raw=raw, model=reply.model or self.judge.model)

    def _refusal(self, status: int, message: str) -> Exception:
        if status == 401:
            # Not what the server said: it quotes parts of the key here.
            why = f"{KEY_VARIABLE} is not set" if self.secret is None else f"the key in {KEY_VARIABLE} is not accepted"
            return ValueError(f"{self.judge.label}: HTTP 401, {why}")
        kind = ConnectionError if status in _PASSING or status >= 500 else ValueError
        return kind(f"{self.judge.label}: HTTP {status}, {self._quoted(message)}")

    def _quoted(self, text: str) -> str:
        return printable(self._hidden(text), _QUOTED)

    def _hidden(self, text: str) -> str:
        return text if self.secret is None else text.replace(self.secret, "[key]")


def endpoint_of(judge: LLMJudge) -> Endpoint:
    """Return a judge's endpoint; ValueError where the client is not installed or the key is missing."""
    openai, secret = required("openai", judge.label), judge.secret()
    key = secret or "no-key"
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=judge.endpoint,
        max_retries=judge.max_retries,
        timeout=judge.timeout,
        # Given here too, so that no header of the environment takes its place.
        default_headers={"Authorization": f"Bearer {key}"},
        http_client=openai.DefaultAsyncHttpxClient(trust_env=judge.trust_env),
    )
    return Endpoint(judge, client, secret)


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
    model, finish = _storable(str(completion.get("model") or "")), choice.get("finish_reason")
    finish = None if finish is None else _storable(str(finish))
    return Reply(_storable(raw), model, finish, tokens_in, tokens_out, seconds)


def _storable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
