"""What pairs ask of a judge, which replies are stored, and how many requests are missing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from paper_figures.judging.judge import LLMJudge
from paper_figures.judging.prompts import Question
from paper_figures.judging.verdicts import Reply, ReplyCache, cache_in, parse_choice

Pair = tuple[Question, str, str]


@dataclass(frozen=True)
class Inquiry:
    """One question to the judge, (question, answer 1, answer 2), and the replies that there are to it.

    name: of all inquiries that send the same; where: what messages call it.
    """

    name: str
    where: str
    asked: Pair
    replies: tuple[Reply, ...]

    def is_settled(self, judge: LLMJudge) -> bool:
        """Return whether there is a verdict: the last reply is one, or no repeat is left."""
        if not self.replies:
            return False
        return parse_choice(self.replies[-1].raw) is not None or len(self.replies) > judge.repeats

    def body(self, judge: LLMJudge) -> dict[str, Any]:
        """Return the request for the next reply."""
        return judge.body(*self.asked, attempt=len(self.replies))

    def following(self, reply: Reply) -> Inquiry:
        """Return this inquiry with one reply more."""
        return replace(self, replies=(*self.replies, reply))


@dataclass(frozen=True)
class PairInquiries:
    """The inquiries of some pairs, each once.

    by_name: every inquiry; orders: for each pair, the names in both orders, or None for a pair of the same text, for
    which nobody is asked.
    """

    by_name: dict[str, Inquiry]
    orders: tuple[tuple[str, str] | None, ...]

    def pending(self, judge: LLMJudge) -> list[Inquiry]:
        """Return the inquiries without a verdict, in the order of the pairs."""
        return [inquiry for inquiry in self.by_name.values() if not inquiry.is_settled(judge)]


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


def count_requests(
    judge: LLMJudge, pairs: Iterable[Pair], cache: str | os.PathLike[str], *, ask_identical: bool = False
) -> RequestCount:
    """Count the requests that `compare` of the same arguments makes; nothing is asked. Its errors for bad input."""
    asked = inquiries_of(judge, pairs, cache_in(cache), ask_identical=ask_identical)
    requests = len(asked.pending(judge))
    return RequestCount(requests, len(asked.by_name) - requests)


def inquiries_of(
    judge: LLMJudge, pairs: Iterable[Pair], cache: ReplyCache, *, ask_identical: bool = False
) -> PairInquiries:
    """Return what the pairs (question, first, second) ask in both orders, with the replies that the cache holds.

    ask_identical: ask even where first and second are the same text. What several pairs ask alike is one inquiry.
    ValueError, naming the pair from 0, for pairs of another shape, or texts that UTF-8 cannot hold.
    """
    inquiries: dict[str, Inquiry] = {}
    orders: list[tuple[str, str] | None] = []
    for number, pair in enumerate(pairs):
        question, first, second = _checked(number, pair)
        names: list[str] = []
        for answer, asked in ((1, (question, first, second)), (2, (question, second, first))):
            where = f"pairs[{number}], its first text as answer {answer}"
            try:
                body = judge.body(*asked)
                json.dumps(body, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"pairs[{number}] holds a lone surrogate, or the judge's settings do: UTF-8 has none"
                ) from None
            except ValueError as error:
                raise ValueError(f"pairs[{number}]: {error}") from None
            names.append(judge.key(body, 0))
            if ask_identical or first != second:
                inquiries.setdefault(names[-1], Inquiry(names[-1], where, asked, ()))
        orders.append((names[0], names[1]) if ask_identical or first != second else None)
    stored = {name: _with_stored(judge, inquiry, cache) for name, inquiry in inquiries.items()}
    return PairInquiries(stored, tuple(orders))


def _with_stored(judge: LLMJudge, inquiry: Inquiry, cache: ReplyCache) -> Inquiry:
    while not inquiry.is_settled(judge):
        reply = cache.read(judge.key(inquiry.body(judge), len(inquiry.replies)))
        if reply is None:
            break
        inquiry = inquiry.following(reply)
    return inquiry


def _checked(number: int, pair: Sequence[Any]) -> Pair:
    if isinstance(pair, str) or len(pair) != 3:
        raise ValueError(f"pairs[{number}] is not (question, first, second)")
    for name, text in zip(("first", "second"), pair[1:], strict=True):
        if not isinstance(text, str):
            raise ValueError(f"pairs[{number}]: {name} is of type {type(text).__name__}, a text is needed")
    question = pair[0] if isinstance(pair[0], str) else tuple(pair[0])
    return question, pair[1], pair[2]
