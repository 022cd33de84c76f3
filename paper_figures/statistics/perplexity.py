"""Compute the perplexity of texts of any length under any causal language model, by a sliding window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from paper_figures.statistics.causal_scores import CausalScorer, exp_or_inf, nll_of
from rws_decode.text.dialogue import Dialogue, as_dialogue, check_text
from rws_theory.checks import whole

__all__ = ["Perplexity", "TextScore", "perplexity", "windows"]

_BATCH = 8  # windows at a time


class TextScore(NamedTuple):
    """The likelihood of one text: `nll`, its negative log-likelihood in nats, over the `tokens` tokens scored.

    `status` is "scored", "empty" or "no context". A text is "empty" if it has no tokens. It has "no context" if its one
    token is the first of all and no beginning-of-text token stands before it. If nothing is scored, nll is 0.0, tokens
    0 and perplexity None.

    >>> TextScore(nll=0.0, tokens=2, status="scored").perplexity, TextScore(0.0, 0, "empty").perplexity
    (1.0, None)
    """

    nll: float
    tokens: int
    status: Literal["scored", "empty", "no context"]

    @property
    def perplexity(self) -> float | None:
        """Return exp(nll / tokens), infinity if that is beyond float64, and None if nothing was scored."""
        return exp_or_inf(self.nll / self.tokens) if self.tokens else None


@dataclass(frozen=True)
class Perplexity:
    """The scores of some texts, one each and in order, and their perplexity together.

    >>> scores = Perplexity((TextScore(math.log(8), 3, "scored"), TextScore(math.log(8), 1, "scored")), "model", 64, 32)
    >>> [round(number, 3) for number in (scores.pooled, scores.mean)]
    [2.828, 5.0]
    """

    scores: tuple[TextScore, ...]
    model: str
    window: int
    stride: int

    @property
    def per_text(self) -> list[float | None]:
        """Return each text's perplexity, None if nothing was scored."""
        return [score.perplexity for score in self.scores]

    @property
    def pooled(self) -> float | None:
        """Return exp(total nll / total tokens), so each token counts the same; None if nothing was scored."""
        tokens = sum(score.tokens for score in self.scores)
        return exp_or_inf(math.fsum(score.nll for score in self.scores) / tokens) if tokens else None

    @property
    def mean(self) -> float | None:
        """Return the mean of the scored texts' perplexities, so each text counts the same; None if there is none."""
        scored = [value for value in self.per_text if value is not None]
        return math.fsum(scored) / len(scored) if scored else None


class Window(NamedTuple):
    """A stretch of a text that is read at once: tokens `begin` to `stop`, of which those from `first` on are scored."""

    begin: int
    stop: int
    first: int


def windows(length: int, window: int, stride: int, first: int = 1) -> Iterator[Window]:
    """Yield the windows that score tokens `first` to `length` - 1 of a text once each, as transformers' guide does.

    Windows begin every `stride` tokens and hold at most `window` tokens. Each scores what the one before did not reach.
    So a token has at least window - stride tokens before it in its window, or all that there are. Windows that score
    nothing are left out. ValueError is raised unless 1 <= stride < window; first >= 1 is assumed.

    >>> [tuple(part) for part in windows(length=9, window=4, stride=2)]
    [(0, 4, 1), (2, 6, 4), (4, 8, 6), (6, 9, 8)]
    """
    if not 1 <= stride < window:
        raise ValueError(f"stride is {stride}: at least 1 and below the window, {window}, is needed")
    reached = first
    for begin in range(0, length, stride):
        stop = min(begin + window, length)
        if stop > reached:
            yield Window(begin, stop, reached)
            reached = stop
        if stop == length:
            return


def perplexity(
    causal: CausalScorer,
    texts: Sequence[str],
    *,
    prompts: Sequence[str | Dialogue] | None = None,
    window: int | None = None,
    stride: int | None = None,
) -> Perplexity:
    """Score texts under a causal language model: -log p(text), or -log p(text | prompt), in nats, per text and pooled.

    If the tokenizer defines a beginning-of-text token (bos), one stands in front and is never scored. Without one the
    first token of all is not scored, as nothing is before it. Prompt and text are each encoded by themselves without
    special tokens and joined in this order, with a blank between words that would be glued; a special token's name is
    read as text. Of the tokens after the beginning
    only the text's are scored. The prompt of a dialogue is its plain text. No end of text is scored, unlike in
    `causal_scores.answer_scores`.

    - `window` is the number of tokens read at once; None is the most that the model reads.
    - `stride` is how far windows move; None is half a window (`windows`). Texts that fit a window are scored whole;
      longer ones lose context, never tokens.

    ValueError is raised for lists of unequal length, a window longer than the model reads, and likelihoods that are not
    finite.

    >>> from paper_figures.statistics.causal_scores import load_causal
    >>> causal = load_causal("mini-causal")
    >>> result = perplexity(causal, ["", "Tom has a red ball."])
    >>> [score.status for score in result.scores], result.per_text[0], result.pooled == result.per_text[1]
    (['empty', 'scored'], None, True)
    """
    if prompts is not None and len(prompts) != len(texts):
        raise ValueError(f"prompts has {len(prompts)} texts: texts has {len(texts)}, one prompt for each is needed")
    wide = causal.max_length if window is None else window
    whole("window", wide, 2, causal.max_length)
    step = max(1, wide // 2) if stride is None else stride
    ids: list[list[int]] = []
    work: list[tuple[int, Window]] = []
    tokens: list[int] = []
    statuses: list[Literal["scored", "empty", "no context"]] = []
    for number, (prompt, text) in enumerate(zip(prompts or [""] * len(texts), texts, strict=True)):
        context = as_dialogue(prompt).text
        before, scored = (_encode(causal, part) for part in (context, causal.after(context, check_text("text", text))))
        bos = causal.tokenizer.bos_token_id
        before = before if bos is None else [bos, *before]
        ids.append(before + scored)
        first = max(1, len(before))
        work += [(number, part) for part in windows(len(ids[-1]), wide, step, first)]
        tokens.append(max(0, len(ids[-1]) - first))
        statuses.append("scored" if tokens[-1] else "no context" if scored else "empty")
    totals: list[list[float]] = [[] for _ in texts]
    # The longest windows come first, so that a lack of memory shows at once.
    work.sort(key=lambda piece: piece[1].begin - piece[1].stop)
    for start in range(0, len(work), _BATCH):
        batch = work[start : start + _BATCH]
        rows = [(ids[number][part.begin : part.stop], part.first - part.begin) for number, part in batch]
        for (number, _), nll in zip(batch, nll_of(causal, rows), strict=True):
            totals[number].append(nll)
    scores = [TextScore(math.fsum(parts), n, status) for parts, n, status in zip(totals, tokens, statuses, strict=True)]
    return Perplexity(tuple(scores), causal.name, wide, step)


def _encode(causal: CausalScorer, text: str) -> list[int]:
    # The tokenizer's warning of a long text would mislead, as windows cut it.
    options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    return list(causal.tokenizer(text, **options)["input_ids"]) if text else []
