"""Ask a judge about pairs, in both orders, through the openai client; what is stored is not asked again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from paper_figures.extra.judging.judge import KEY_VARIABLE, LOCAL, LLMJudge, Question
from paper_figures.extra.judging.verdicts import (
    PairVerdict,
    Reply,
    ReplyCache,
    cache_in,
    parse_choice,
    same_text,
    verdict_of,
)
from rws_decode.cli.progress import progress as shown_progress
from rws_theory.extras import required
from rws_theory.show import printable

if TYPE_CHECKING:
    from paper_figures.extra.judging.local import LocalEndpoint

__all__ = ["compare"]

Pair = tuple[Question, str, str]

_QUOTED = 200
# What may pass by itself: the client has tried these again, and another run may succeed.
_PASSING = (408, 409, 429)


@dataclass
class _Inquiry:
    """One question to the judge, (question, answer 1, answer 2), what messages call it, and the replies to it."""

    pair: Pair
    where: str
    replies: list[Reply] = field(default_factory=list)
    cached: bool = True

    def is_settled(self, judge: LLMJudge) -> bool:
        """Return whether there is a verdict: the last reply is one, or no repeat is left."""
        decided = bool(self.replies) and parse_choice(self.replies[-1].raw) is not None
        return decided or len(self.replies) > judge.repeats

    def next_request(self, judge: LLMJudge) -> tuple[dict[str, Any], str]:
        """Return the request for the next reply, and what that is stored under."""
        body = judge.body(*self.pair, attempt=len(self.replies))
        return body, judge.key(body, len(self.replies))


class RequestCount(NamedTuple):
    """How many requests are to be made if every reply is a verdict, and how many verdicts are stored."""

    requests: int
    stored: int

    def told(self, judge: LLMJudge) -> str:
        """Return the count in a line.

        >>> RequestCount(6, 2).told(LLMJudge("judge", "http://localhost/v1", repeats=2))
        '6 requests (2 verdicts are stored), up to 3 times that if replies are no verdicts'
        """
        more = f", up to {judge.repeats + 1} times that if replies are no verdicts" if judge.repeats else ""
        return f"{self.requests:,} requests ({self.stored:,} verdicts are stored){more}"


def count_requests(judge: LLMJudge, pairs: Iterable[Pair], cache: str | os.PathLike[str]) -> RequestCount:
    """Count the requests that `compare` of the same arguments makes; nothing is asked. Its errors for bad input."""
    inquiries, _ = _inquiries(judge, pairs, cache_in(cache))
    stored = sum(inquiry.is_settled(judge) for inquiry in inquiries.values())
    return RequestCount(len(inquiries) - stored, stored)


def compare(
    judge: LLMJudge, pairs: Iterable[Pair], cache: str | os.PathLike[str], *, progress: bool = True
) -> list[PairVerdict]:
    """Return a judge's verdicts on each pair (question, first, second), in the order of the pairs.

    Both orders are asked. question: a text, or messages with role and content; the prompt "paper" does not show it.
    Two texts that are the same are a draw, and nobody is asked. A reply that is no verdict is asked again
    `judge.repeats` times; after that the pair is "invalid".

    cache: a folder. Every reply is stored as it comes, under all that determines it. Another run asks only what is
    missing, also after a stop or a dead server. A repeated call gives the same verdicts, even if the model behind the
    endpoint would answer differently by then.

    ValueError, in one line, for input that cannot be used and for what the endpoint refuses; ConnectionError, in one
    line, where it does not answer. Then no further request is made, those under way are finished and stored, and the
    line says how many verdicts are stored. progress: show how many are settled on standard error.
    """
    store = cache_in(cache)
    inquiries, orders = _inquiries(judge, pairs, store)
    pending = [inquiry for inquiry in inquiries.values() if not inquiry.is_settled(judge)]
    if pending:
        _settle_all(judge, pending, store, len(inquiries), progress)
    verdicts = {name: verdict_of(inquiry.replies, cached=inquiry.cached) for name, inquiry in inquiries.items()}
    same = same_text(judge.model)
    return [PairVerdict(*(verdicts[name] for name in names)) if names else PairVerdict(same, same) for names in orders]


def _inquiries(
    judge: LLMJudge, pairs: Iterable[Pair], cache: ReplyCache
) -> tuple[dict[str, _Inquiry], list[list[str]]]:
    """Return what the pairs ask, by name, with the replies that the cache holds, and each pair's names in both orders.

    What several pairs ask alike is one inquiry. A pair of the same text has no names. ValueError, naming the
    pair from 0, for pairs of another shape, or texts that UTF-8 cannot hold.
    """
    inquiries: dict[str, _Inquiry] = {}
    orders: list[list[str]] = []
    for number, pair in enumerate(pairs):
        question, first, second = _checked(number, pair)
        orders.append([])
        for answer, query in ((1, (question, first, second)), (2, (question, second, first))):
            inquiry = _Inquiry(query, f"pairs[{number}], its first text as answer {answer}")
            try:
                body, name = inquiry.next_request(judge)
                json.dumps(body, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                message = f"pairs[{number}] holds a lone surrogate, or the judge's settings do: UTF-8 has none"
                raise ValueError(message) from None
            except ValueError as error:
                raise ValueError(f"pairs[{number}]: {error}") from None
            if first != second:
                inquiries.setdefault(name, inquiry)
                orders[-1].append(name)
    for inquiry in inquiries.values():
        while not inquiry.is_settled(judge) and (reply := cache.read(inquiry.next_request(judge)[1])) is not None:
            inquiry.replies.append(reply)
    return inquiries, orders


def _checked(number: int, pair: Sequence[Any]) -> Pair:
    if isinstance(pair, str) or len(pair) != 3:
        raise ValueError(f"pairs[{number}] is not (question, first, second)")
    for name, text in zip(("first", "second"), pair[1:], strict=True):
        if not isinstance(text, str):
            raise ValueError(f"pairs[{number}]: {name} is of type {type(text).__name__}, a text is needed")
    question = pair[0] if isinstance(pair[0], str) else tuple(pair[0])
    return question, pair[1], pair[2]


def _settle_all(judge: LLMJudge, pending: list[_Inquiry], store: ReplyCache, total: int, progress: bool) -> None:
    """Settle every inquiry, `concurrency` at a time; total: with those that are stored."""
    from anyio import create_task_group
    from anyio.from_thread import start_blocking_portal

    endpoint = endpoint_of(judge)
    failures: list[Exception] = []
    settled = total - len(pending)
    queue = iter(pending)

    async def settle_in_turn() -> None:
        nonlocal settled
        for inquiry in queue:
            if failures:
                return
            try:
                await _settle(endpoint, judge, inquiry, store)
                settled += 1
                bar.advance()
            except (ValueError, ConnectionError) as error:
                failures.append(_same_kind(error, f"{error}, asked for {inquiry.where}"))
            except Exception as error:
                failures.append(error)

    async def settle_all() -> None:
        async with endpoint.client, create_task_group() as group:
            for _ in range(judge.concurrency):
                group.start_soon(settle_in_turn)

    # On an event loop in a thread of its own: notebooks can call this, and an interrupt cuts requests off.
    shown = shown_progress("judge", total, "verdict", done=settled, shown=progress)
    with shown as bar, start_blocking_portal("asyncio") as portal:
        portal.call(settle_all)
    if failures and isinstance(failures[0], ValueError | ConnectionError):
        message = f"{settled} of {total} verdicts are stored in {store.folder}, another run asks only the rest"
        raise _same_kind(failures[0], f"{failures[0]}; {message}")
    if failures:
        raise failures[0]


async def _settle(endpoint: _Endpoint | LocalEndpoint, judge: LLMJudge, inquiry: _Inquiry, store: ReplyCache) -> None:
    """Ask until there is a verdict or no repeat remains; each reply is stored before the next is asked for."""
    inquiry.cached = False
    while not inquiry.is_settled(judge):
        body, key = inquiry.next_request(judge)
        reply = await endpoint.ask(body)
        store.write(key, reply, endpoint=judge.endpoint, model=judge.model, attempt=len(inquiry.replies))
        inquiry.replies.append(reply)


def _same_kind(error: Exception, line: str) -> Exception:
    # Not type(error)(line): subclasses such as UnicodeError take other arguments.
    return ConnectionError(line) if isinstance(error, ConnectionError) else ValueError(line)


@dataclass(frozen=True)
class _Endpoint:
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
            problem = f"{label} gave no answer in {tries} tries (last: silent for {self.judge.timeout:g} seconds)"
            raise ConnectionError(problem) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            detail = self._quoted(f"{type(cause).__name__} {cause}")
            raise ConnectionError(f"{label} gave no answer in {tries} tries (last: no connection, {detail})") from None
        except openai.APIStatusError as error:
            raise self._refusal(error.status_code, str(error.message)) from None
        content = response.http_response.content
        try:
            reply = reply_of(content, response.http_response.elapsed.total_seconds())
        except ValueError as error:
            detail = self._quoted(content.decode(errors="replace")) or "empty"
            raise ConnectionError(f"{label}: {error}, {detail}") from None
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


def endpoint_of(judge: LLMJudge) -> _Endpoint | LocalEndpoint:
    """Return a judge's endpoint; ValueError where the client is not installed or the key is missing.

    Where base_url is "local" it is the causal model of that name, in this process.
    """
    if judge.endpoint == LOCAL:
        from paper_figures.extra.judging.local import LocalEndpoint
        from paper_figures.statistics.causal_scores import load_causal

        return LocalEndpoint(load_causal(judge.model))
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
    return _Endpoint(judge, client, secret)


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
