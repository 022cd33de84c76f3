"""Measure how likely a causal language model finds an answer, given the prompt: negative log-likelihood, perplexity."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from rws_decode.checkpoints.config import refuse_sizes
from rws_decode.checkpoints.files import (
    Checkpoint,
    check_digests,
    checked_tokenizer,
    device_named,
    dtype_named,
    has_tokenizer,
    locate,
    quiet,
    shipped,
    without_panics,
)
from rws_decode.checkpoints.weights import read_headers, refuse_incomplete
from rws_decode.common.threads import torch_threads
from rws_decode.text.dialogue import Dialogue, as_dialogue, check_text
from rws_theory.checks import whole
from rws_theory.extras import required

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

DEFAULT_VARIABLE = "RWS_CAUSAL"
SHIPPED = {"mini": "mini-causal", "mini-causal": "mini-causal"}


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

    If `name` is None, the environment variable RWS_CAUSAL names the model, or else it is mini-causal. The class is
    AutoModelForCausalLM's choice. Only safetensors are read, or a file that ends in .gguf, whose weights transformers
    expands (with the packages gguf and accelerate). No remote code is run. `revision` is that of a hub id. ValueError
    is raised for an unknown name (the shipped ones are listed), missing weights or tokenizer, an unknown device or
    dtype, or a revision of files.

    >>> load_causal("mini-causal").max_length > 100
    True
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where, kind = device_named(device), dtype_named(dtype)
    requested = name or os.environ.get(DEFAULT_VARIABLE) or "mini-causal"
    if requested.endswith(".gguf") and Path(requested).is_file():
        for package in ("gguf", "accelerate"):
            required(package, f"causal {requested} cannot be loaded")
        file = Path(requested)
        checkpoint = Checkpoint(file.stem, file.parent)
        options: dict[str, Any] = checkpoint.options | {"gguf_file": file.name}
        weights: dict[str, Any] = options
    else:
        present = set(shipped("ForCausalLM"))
        checkpoint = locate(
            "causal", requested, {short: folder for short, folder in SHIPPED.items() if folder in present}
        )
        check_digests("causal", checkpoint)
        if not has_tokenizer(checkpoint):
            raise ValueError(f"causal is {requested}: the directory holds no tokenizer, and perplexity is of text")
        if revision is not None and checkpoint.directory is not None:
            raise ValueError(f"revision is {revision!r}: {checkpoint.name} is a directory, which has no revisions")
        options = checkpoint.options | ({} if revision is None else {"revision": revision})
        weights = options | {"use_safetensors": True}
        config = checkpoint.read_json("config.json")
        if isinstance(config, dict):
            refuse_sizes("causal", checkpoint, config, read_headers("causal", checkpoint))
    try:
        with quiet(progress=requested not in SHIPPED), without_panics():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                checkpoint.source, dtype=kind, output_loading_info=True, **weights
            )
            model, info = loaded
            tokenizer = checked_tokenizer(AutoTokenizer.from_pretrained(checkpoint.source, **options))
    except Exception as error:  # tokenizers raises a plain Exception for a damaged file
        reason = " ".join(str(error).split())
        raise ValueError(f"causal {requested} cannot be loaded: {reason}") from error
    refuse_incomplete("causal", checkpoint, info)
    return CausalScorer(model.to(where), tokenizer, checkpoint.name)


def answer_scores(
    causal: CausalScorer, prompts: Sequence[str | Dialogue], answers: Sequence[str], *, batch_size: int = 32
) -> list[AnswerScore]:
    """Score each answer: -log p(answer, end of text | prompt), in nats; the prompt of a dialogue is its plain text.

    The context is the prompt as the tokenizer encodes it alone ([CLS] prompt [SEP] for the shipped model). The scored
    tokens are the answer's, encoded without special tokens, and one end-of-text token after them. So the score of an
    empty answer is that of the end alone. If the tokenizer puts nothing before an empty prompt, the begin-of-text
    token, or else the end-of-text token, stands there. A special token's name in prompt or answer is read as text.

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
    pairs = [_encode(causal, as_dialogue(prompt).text, answer) for prompt, answer in zip(prompts, answers, strict=True)]
    scores: list[AnswerScore] = []
    for start in range(0, len(pairs), batch_size):
        batch = pairs[start : start + batch_size]
        totals = nll_of(causal, [(context + scored, len(context)) for context, scored in batch])
        scores += [AnswerScore(total, len(scored)) for total, (_, scored) in zip(totals, batch, strict=True)]
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


def nll_of(causal: CausalScorer, rows: Sequence[tuple[list[int], int]]) -> list[float]:
    """Return the negative log-likelihood, in nats, of each row's tokens from an index on, given those before it.

    `rows` holds pairs (ids, index), index >= 1; all are read as one batch. ValueError for a likelihood that is not
    finite.
    """
    ids = torch.zeros(len(rows), max(len(row) for row, _ in rows), dtype=torch.int64)
    scored_mask = torch.zeros_like(ids, dtype=torch.bool)
    for number, (row, begin) in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        scored_mask[number, begin : len(row)] = True
    device = causal.model.device
    ids, kept = ids.to(device), scored_mask[:, 1:].to(device)
    with torch_threads(), torch.inference_mode():
        # No attention mask: padding is on the right only, where a causal model does not look, and a mask would turn off
        # the causal fast path. Logits become float32 256 tokens at a time: a copy of all at once can take much memory.
        logits = causal.model(input_ids=ids[:, :-1]).logits[kept]  # [N, V]
        parts = zip(logits.split(256), ids[:, 1:][kept].split(256), strict=True)
        nll = torch.cat([F.cross_entropy(z.float(), y, reduction="none") for z, y in parts])
    totals = [float(part.sum()) for part in nll.double().cpu().split(scored_mask.sum(dim=1).tolist())]
    for total in totals:
        if not math.isfinite(total):
            raise ValueError(f"causal model {causal.name} gives a text a log-likelihood of {-total}: not finite")
    return totals


def exp_or_inf(value: float) -> float:
    """Return exp(value), or infinity if that is beyond float64.

    >>> exp_or_inf(0.0), exp_or_inf(1e4)
    (1.0, inf)
    """
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
