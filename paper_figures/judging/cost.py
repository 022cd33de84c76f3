"""What judging will cost, before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paper_figures.judging.cache import cache_in
from paper_figures.judging.judge import LLMJudge
from paper_figures.judging.plan import Pair, plan_pairs

__all__ = ["CostEstimate", "estimate_cost"]

_BYTES = "bytes / 4"


@dataclass(frozen=True)
class CostEstimate:
    """Requests, tokens and money of what is not stored yet, if every reply is a verdict and no try fails.

    requests: to be made; cached: verdicts that are stored already. prompt_tokens: of all requests' messages, without
    the few that an endpoint's chat format adds; counted_by: the tokenizer, or "bytes / 4". reply_tokens: at most, as
    max_tokens says; None where the judge sets no such limit. repeats: how many times as much it can come to where no
    reply is a verdict, less one. cost: of prompts and longest replies, in the currency of the prices; None without
    prices or without a limit on replies.
    """

    requests: int
    cached: int
    prompt_tokens: int
    counted_by: str
    reply_tokens: int | None
    repeats: int
    cost: float | None

    def __str__(self) -> str:
        """Return the estimate in a line."""
        replies = "replies of unknown length" if self.reply_tokens is None else f"at most {self.reply_tokens:,} back"
        money = "" if self.cost is None else f", which cost at most {self.cost:.4g}"
        again = f"; up to {self.repeats + 1} times that, if replies are no verdicts" if self.repeats else ""
        return (
            f"{self.requests:,} requests ({self.cached:,} verdicts are stored), some {self.prompt_tokens:,} prompt "
            f"tokens (by {self.counted_by}), {replies}{money}{again}"
        )


def estimate_cost(
    judge: LLMJudge,
    pairs: Iterable[Pair],
    cache: str | os.PathLike[str],
    *,
    ask_identical: bool = False,
    price_in: float | None = None,
    price_out: float | None = None,
    count: Callable[[str], int] | None = None,
    counted_by: str = "the given tokenizer",
) -> CostEstimate:
    """Return what `compare` of the same arguments will ask, and what that costs; nothing is asked.

    price_in, price_out: of a million prompt tokens and reply tokens, both or neither; the toolkit knows no prices, as
    they change. count: the tokens of a text, by the judge's own tokenizer (`counted_by` names it); without it a
    token is taken for four bytes of UTF-8, which is near for English and too few for many other scripts' tokenizers.
    ValueError for prices that are negative, not finite, or one alone, and for pairs that `compare` refuses.
    """
    if (price_in is None) != (price_out is None):
        raise ValueError("price_in and price_out belong together: the price of a million tokens, prompt and reply")
    for name, price in (("price_in", price_in), ("price_out", price_out)):
        if price is not None and not 0 <= price < float("inf"):
            raise ValueError(f"{name} is {price}: a finite number, at least 0, is needed")
    plan = plan_pairs(judge, pairs, cache_in(cache), ask_identical=ask_identical)
    asked = plan.open(judge)
    counted = count or _quarter_of_bytes
    prompt = sum(counted(message["content"]) for inquiry in asked for message in inquiry.body(judge)["messages"])
    replies = _reply_limit(judge)
    total = None if replies is None else replies * len(asked)
    cost = None
    if price_in is not None and price_out is not None and total is not None:
        cost = (prompt * price_in + total * price_out) / 1e6
    named = _BYTES if count is None else counted_by
    return CostEstimate(
        len(asked), len(plan.inquiries) - len(asked), prompt, named, total, judge.repeats, cost
    )


def _quarter_of_bytes(text: str) -> int:
    return -(-len(text.encode()) // 4)


def _reply_limit(judge: LLMJudge) -> int | None:
    limit = judge.extra.get("max_completion_tokens", judge.extra.get("max_tokens", judge.max_tokens))
    return limit if type(limit) is int else None
