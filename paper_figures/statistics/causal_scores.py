"""Measure how likely a causal language model finds an answer, given the prompt: negative log-likelihood, perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rws_decode.extra.likelihood import DEFAULT_VARIABLE, SHIPPED, CausalScorer, encode_pair, load_causal, nll_of
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.checks import whole

__all__ = [
    "DEFAULT_VARIABLE",
    "SHIPPED",
    "AnswerScore",
    "CausalScorer",
    "answer_scores",
    "exp_or_inf",
    "load_causal",
    "nll_of",
]


class AnswerScore(NamedTuple):
    """The likelihood of one answer.

    `nll` is its negative log-likelihood in nats, over `tokens` tokens; the end of text counts as one of them.

    >>> AnswerScore(nll=0.0, tokens=1).perplexity
    1.0
    """

    nll: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """Return exp(nll / tokens), or infinity if that is beyond float64."""
        return exp_or_inf(self.nll / self.tokens)


def answer_scores(
    causal: CausalScorer, prompts: Sequence[str | Dialogue], answers: Sequence[str], *, batch_size: int = 32
) -> list[AnswerScore]:
    """Score each answer: -log p(answer, end of text | prompt), in nats; the prompt of a dialogue is its plain text.

    The context is the prompt as the tokenizer encodes it alone ([CLS] prompt [SEP] for the shipped model). The scored
    tokens are the answer's, encoded without special tokens, and one end-of-text token after them. So the score of an
    empty answer is that of the end alone. Where the tokenizer would glue the answer's first word to the prompt's last,
    a blank parts them. If the tokenizer puts nothing before an empty prompt, the begin-of-text token, or else the
    end-of-text token, stands there. A special token's name in prompt or answer is read as text.

    Batches are padded on the right, where a causal model does not look. So a batch scores each pair as if it were
    alone, up to rounding. ValueError is raised for lists of unequal length, for a text longer than the model reads, as
    nothing is cut off, and for a score that is not finite. It is also raised for a tokenizer that names no end of text,
    as then an answer that stops early would be free.
    """
    if causal.tokenizer.eos_token_id is None:
        raise ValueError(f"causal model {causal.name} has no end-of-text token: its tokenizer must name eos_token")
    if len(prompts) != len(answers):
        raise ValueError(f"answers has {len(answers)} texts: prompts has {len(prompts)}, one answer for each is needed")
    whole("batch_size", batch_size)
    pairs = [
        encode_pair(causal, as_dialogue(prompt).text, answer) for prompt, answer in zip(prompts, answers, strict=True)
    ]
    scores: list[AnswerScore] = []
    for start in range(0, len(pairs), batch_size):
        batch = pairs[start : start + batch_size]
        totals = nll_of(causal, [(context + scored, len(context)) for context, scored in batch])
        scores += [AnswerScore(total, len(scored)) for total, (_, scored) in zip(totals, batch, strict=True)]
    return scores


def exp_or_inf(value: float) -> float:
    """Return exp(value), or infinity if that is beyond float64.

    >>> exp_or_inf(0.0), exp_or_inf(1e4)
    (1.0, inf)
    """
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
