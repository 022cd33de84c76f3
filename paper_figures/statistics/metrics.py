"""What decoded text is measured by: perplexity under a causal model, distinct-n, pass@k; intervals by resampling."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from torch.nn import functional as F

from rws_decode.canvas.dialogue import Dialogue, as_dialogue, check_text
from rws_decode.checkpoints.files import (
    Checkpoint,
    checked_tokenizer,
    device_named,
    dtype_named,
    has_tokenizer,
    locate,
    quiet,
    refuse_incomplete,
    shipped,
    without_panics,
)
from rws_decode.checkpoints.weights import read_headers, refuse_sizes
from rws_decode.common.extras import required
from rws_decode.common.threads import torch_threads

__all__ = [
    "DEFAULT_VARIABLE",
    "SHIPPED",
    "AnswerScore",
    "CausalScorer",
    "Interval",
    "answer_scores",
    "bootstrap_interval",
    "distinct_n",
    "exp_or_inf",
    "load_causal",
    "mean_perplexity",
    "paired_bootstrap_interval",
    "pass_at_k",
    "pooled_perplexity",
    "share_interval",
    "text_perplexity",
]

DEFAULT_VARIABLE = "RWS_CAUSAL"
SHIPPED = {"mini": "mini-causal", "mini-causal": "mini-causal"}


class AnswerScore(NamedTuple):
    """The likelihood of one answer: `nll`, its negative log-likelihood in nats, over `tokens` tokens, the end included.

    >>> AnswerScore(nll=0.0, tokens=1).perplexity
    1.0
    """

    nll: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """Return exp(nll / tokens), infinity where that is beyond float64."""
        return exp_or_inf(self.nll / self.tokens)


class Interval(NamedTuple):
    """A mean (or share) with the interval around it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class CausalScorer:
    """A causal language model of transformers (`.logits` [B, L, V]) with its tokenizer, to score texts with."""

    model: Any
    tokenizer: Any
    name: str = "causal"

    def __post_init__(self) -> None:
        self.model.eval()

    @property
    def max_length(self) -> int:
        """Return the most tokens that the model reads at once, as its config or tokenizer says."""
        limits = (getattr(self.model.config, "max_position_embeddings", None), self.tokenizer.model_max_length)
        return min(limit for limit in limits if limit is not None)


def load_causal(
    name: str | None = None,
    device: str | torch.device = "cpu",
    *,
    dtype: str | torch.dtype = "float32",
    revision: str | None = None,
) -> CausalScorer:
    """Load a causal language model by shipped name (mini-causal, or mini for short), directory, GGUF file, or hub id.

    name: the user's own default if None, which the environment variable RWS_CAUSAL names, or else mini-causal. The
    class is AutoModelForCausalLM's choice; safetensors only, or a file that ends in .gguf, whose weights transformers
    expands (with the packages gguf and accelerate); no remote code. revision: of a hub id. ValueError for an unknown
    name (the shipped ones are listed), missing weights or tokenizer, an unknown device or dtype, or a revision of
    files.

    >>> load_causal("mini-causal").max_length > 100
    True
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place, kind = device_named(device), dtype_named(dtype)
    wanted = name or os.environ.get(DEFAULT_VARIABLE) or "mini-causal"
    if wanted.endswith(".gguf") and Path(wanted).is_file():
        for package in ("gguf", "accelerate"):
            required(package, f"causal {wanted} cannot be loaded")
        file = Path(wanted)
        checkpoint = Checkpoint(file.stem, file.parent)
        options: dict[str, Any] = checkpoint.options | {"gguf_file": file.name}
        weights: dict[str, Any] = options
    else:
        present = set(shipped("ForCausalLM"))
        checkpoint = locate("causal", wanted, {short: folder for short, folder in SHIPPED.items() if folder in present})
        if not has_tokenizer(checkpoint):
            raise ValueError(f"causal is {wanted}: the directory holds no tokenizer, and perplexity is of text")
        if revision is not None and checkpoint.directory is not None:
            raise ValueError(f"revision is {revision!r}: {checkpoint.name} is a directory, which has no revisions")
        options = checkpoint.options | ({} if revision is None else {"revision": revision})
        weights = options | {"use_safetensors": True}
        config = checkpoint.read_json("config.json")
        if isinstance(config, dict):
            refuse_sizes("causal", checkpoint, config, read_headers("causal", checkpoint))
    try:
        with quiet(progress=wanted not in SHIPPED), without_panics():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                checkpoint.source, dtype=kind, output_loading_info=True, **weights
            )
            model, info = loaded
            tokenizer = checked_tokenizer(AutoTokenizer.from_pretrained(checkpoint.source, **options))
    except Exception as error:  # of files that are not what they say: tokenizers raises it plain
        reason = " ".join(str(error).split())
        raise ValueError(f"causal {wanted} cannot be loaded: {reason}") from error
    refuse_incomplete("causal", checkpoint, info)
    return CausalScorer(model.to(place), tokenizer, checkpoint.name)


def answer_scores(
    causal: CausalScorer, prompts: Sequence[str | Dialogue], answers: Sequence[str], *, batch_size: int = 32
) -> list[AnswerScore]:
    """Score each answer: -log p(answer, end of text | prompt), in nats; the prompt of a dialogue is its plain text.

    Rule: the context is the prompt as the tokenizer encodes it alone ([CLS] prompt [SEP] for the shipped model), the
    scored tokens are the answer's, encoded without special tokens, and one end-of-text token after them. An empty
    answer is therefore defined: its score is that of the end alone. Where the tokenizer puts nothing before an empty
    prompt, the begin-of-text token, or else the end-of-text token, stands there. A special token's name in either is
    text.

    Guarantee: batches are padded on the right, where a causal model does not look, so a batch scores each pair as if
    it were alone, up to rounding. ValueError for lists of unequal length, for a text longer than the model reads
    (nothing is cut off), for a score that is not finite, and for a tokenizer that names no end of text: without one an
    answer that stops early would be free.
    """
    if causal.tokenizer.eos_token_id is None:
        raise ValueError(f"causal model {causal.name} has no end-of-text token: its tokenizer must name eos_token")
    if len(prompts) != len(answers):
        raise ValueError(f"answers has {len(answers)} texts: prompts has {len(prompts)}, one answer for each is needed")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}: at least 1 is needed")
    pairs = [_encode(causal, as_dialogue(prompt).text, answer) for prompt, answer in zip(prompts, answers, strict=True)]
    scores: list[AnswerScore] = []
    for start in range(0, len(pairs), batch_size):
        scores += _score_batch(causal, pairs[start : start + batch_size])
    return scores


def _encode(causal: CausalScorer, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    tokenizer = causal.tokenizer
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    context = tokenizer(prompt, split_special_tokens=True)["input_ids"] or [first]
    answered = tokenizer(check_text("answer", answer), add_special_tokens=False, split_special_tokens=True)["input_ids"]
    scored = [*answered, tokenizer.eos_token_id]
    if len(context) + len(scored) > causal.max_length:
        raise ValueError(
            f"prompt and answer make {len(context) + len(scored)} tokens: "
            f"causal model {causal.name} reads at most {causal.max_length}"
        )
    return context, scored


def _score_batch(causal: CausalScorer, pairs: list[tuple[list[int], list[int]]]) -> list[AnswerScore]:
    rows = [context + scored for context, scored in pairs]
    ids = torch.full((len(rows), max(map(len, rows))), causal.tokenizer.eos_token_id)
    wanted = torch.zeros_like(ids, dtype=torch.bool)
    for row, (line, (context, _)) in enumerate(zip(rows, pairs, strict=True)):
        ids[row, : len(line)] = torch.tensor(line)
        wanted[row, len(context) : len(line)] = True
    ids, wanted = ids.to(causal.model.device), wanted[:, 1:].to(causal.model.device)
    with torch_threads(), torch.inference_mode():
        # No attention mask: padding is on the right only, and a mask would turn off the causal fast path.
        logits = causal.model(input_ids=ids[:, :-1]).logits[wanted].float()  # [N, V]
        nll = F.cross_entropy(logits, ids[:, 1:][wanted], reduction="none").double().cpu()  # [N]
    scores = []
    for (_, scored), part in zip(pairs, nll.split([len(scored) for _, scored in pairs]), strict=True):
        total = float(part.sum())
        if not math.isfinite(total):
            raise ValueError(f"causal model {causal.name} gives an answer a log-likelihood of {-total}: not finite")
        scores.append(AnswerScore(total, len(scored)))
    return scores


def text_perplexity(
    causal: CausalScorer, prompts: Sequence[str | Dialogue], answers: Sequence[str], *, batch_size: int = 32
) -> list[float]:
    """Return each answer's perplexity exp(nll / tokens), given its prompt; the rule is that of `answer_scores`."""
    return [score.perplexity for score in answer_scores(causal, prompts, answers, batch_size=batch_size)]


def mean_perplexity(scores: Sequence[AnswerScore]) -> float:
    """Return the perplexity per text, averaged over texts: each text counts the same, however long.

    >>> round(mean_perplexity([AnswerScore(math.log(8), 3), AnswerScore(math.log(8), 1)]), 3)
    5.0
    """
    return float(np.mean([score.perplexity for score in _some("scores", scores)]))


def exp_or_inf(value: float) -> float:
    """Return exp(value), infinity where that is beyond float64.

    >>> exp_or_inf(0.0), exp_or_inf(1e4)
    (1.0, inf)
    """
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def pooled_perplexity(scores: Sequence[AnswerScore]) -> float:
    """Return exp(total nll / total tokens): each token counts the same, so long texts count more.

    >>> round(pooled_perplexity([AnswerScore(math.log(8), 3), AnswerScore(math.log(8), 1)]), 3)
    2.828
    """
    total = math.fsum(score.nll for score in _some("scores", scores))
    return exp_or_inf(total / sum(score.tokens for score in scores))


def distinct_n(
    texts: Sequence[str],
    n: int,
    *,
    per: Literal["tokens", "ngrams"] = "tokens",
    split: Callable[[str], Sequence[str]] = str.split,
) -> float:
    """Return distinct-n over all texts together: different n-grams / all tokens (Li et al. 2016, Section 5.3).

    per: what is divided by. "tokens" is the original's definition; "ngrams" divides by the number of n-grams, as many
    later papers do. n-grams do not cross texts. Not the mean over texts, and lower for longer texts either way.
    split: text -> tokens. 0.0 where there is nothing to count; ValueError for n < 1 or another `per`.

    >>> distinct_n(["a b a b", "a b"], 2), distinct_n(["a b a b", "a b"], 2, per="ngrams")
    (0.3333333333333333, 0.5)
    """
    if n < 1:
        raise ValueError(f"n is {n}: at least 1 is needed")
    if per not in ("tokens", "ngrams"):
        raise ValueError(f"per is {per!r}: it must be tokens or ngrams")
    lines = [tuple(split(text)) for text in texts]
    grams = [line[start : start + n] for line in lines for start in range(len(line) - n + 1)]
    total = sum(map(len, lines)) if per == "tokens" else len(grams)
    return len(set(grams)) / total if total else 0.0


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return 1 - C(n - c, k) / C(n, k): unbiased for the chance that one of k draws passes (Chen et al. 2021, eq. 1).

    samples: n drawn, of which passed: c, 0 <= c <= n; 1 <= k <= n. Exact, rounded once. ValueError otherwise.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not 1 <= k <= samples:
        raise ValueError(f"k is {k}: it must be 1 to samples, which is {samples}")
    if not 0 <= passed <= samples:
        raise ValueError(f"passed is {passed}: it must be 0 to samples, which is {samples}")
    total = math.comb(samples, k)
    return (total - math.comb(samples - passed, k)) / total


def bootstrap_interval(
    values: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of values and its percentile bootstrap interval (Efron 1979; `scipy.stats.bootstrap`).

    values: finite, shape (n,), independent draws, n >= 1. The interval takes the draws as they are: with n = 1, or
    equal values, it has width 0 and says nothing about the population; it never leaves the range of the values.
    rng: same generator state, same interval. ValueError for other values or a level outside (0, 1).

    >>> bootstrap_interval([1.0, 1.0], np.random.default_rng(0))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    array = _finite("values", values)
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: it must lie strictly between 0 and 1")
    mean = float(array.mean())
    if np.ptp(array) == 0:
        return Interval(mean, mean, mean)
    found = stats.bootstrap(
        (array,), np.mean, n_resamples=resamples, confidence_level=level, method="percentile", batch=1024, rng=rng
    ).confidence_interval
    return Interval(mean, float(found.low), float(found.high))


def paired_bootstrap_interval(
    first: ArrayLike, second: ArrayLike, rng: np.random.Generator, level: float = 0.95, resamples: int = 9999
) -> Interval:
    """Return the mean of first - second and its bootstrap interval, resampling the pairs (see `bootstrap_interval`).

    first, second: shape (n,), the same prompts in the same order, so that what differs between prompts cancels.

    >>> paired_bootstrap_interval([3.0, 5.0], [1.0, 3.0], np.random.default_rng(0))
    Interval(mean=2.0, low=2.0, high=2.0)
    """
    left, right = _finite("first", first), _finite("second", second)
    if left.shape != right.shape:
        raise ValueError(f"second has {right.size} values: first has {left.size}, pairs are needed")
    return bootstrap_interval(left - right, rng, level, resamples)


def share_interval(successes: int, total: int, level: float = 0.95) -> Interval:
    """Return successes / total with Wilson's score interval (Wilson 1927), which has a width at 0 and 1 too.

    0 <= successes <= total, total >= 1; ValueError otherwise.

    >>> [round(number, 3) for number in share_interval(16, 16)]
    [1.0, 0.806, 1.0]
    """
    if not 0 <= successes <= total or total < 1:
        raise ValueError(f"successes is {successes}: it must be 0 to total, which is {total} and must be at least 1")
    found = stats.binomtest(successes, total).proportion_ci(level, method="wilson")
    return Interval(successes / total, float(found.low), float(found.high))


def _some(name: str, values: Sequence[AnswerScore]) -> Sequence[AnswerScore]:
    if not len(values):
        raise ValueError(f"{name} is empty: at least one is needed")
    return values


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: (n,) with n >= 1 is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite")
    return array
