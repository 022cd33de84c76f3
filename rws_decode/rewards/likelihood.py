"""A causal language model as a measure of texts: the likelihood of an answer given the prompt."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from rws_decode.checkpoints.config import config_of
from rws_decode.checkpoints.files import (
    Checkpoint,
    checked_tokenizer,
    device_named,
    dtype_named,
    fetch,
    has_tokenizer,
    locate_model,
    shipped,
    without_panics,
)
from rws_decode.checkpoints.packages import packaged, quiet
from rws_decode.checkpoints.weights import read_headers, refuse_incomplete
from rws_decode.common.threads import torch_threads
from rws_decode.text.dialogue import check_text
from rws_decode.text.prompt_ids import encoded
from rws_theory.extras import required

__all__ = ["DEFAULT_VARIABLE", "SHIPPED", "CausalScorer", "encode_pair", "load_causal", "nll_of"]

DEFAULT_VARIABLE = "RWS_CAUSAL"
SHIPPED = {"mini": "mini-causal", "mini-causal": "mini-causal"}
_MARKS = ".,;:?!)"  # no blank stands before them


@dataclass(frozen=True)
class CausalScorer:
    """A causal language model of transformers (`.logits` [B, L, V]) with its tokenizer, to score texts with."""

    model: Any
    tokenizer: Any
    name: str = "causal"

    def __post_init__(self) -> None:
        self.model.eval()

    @cached_property
    def glues_words(self) -> bool:
        """Return whether a word is encoded otherwise after a blank, so that words without one are glued to a prompt."""
        alone, both = (self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("b", "a b"))
        return both[-len(alone) :] != alone

    def after(self, prompt: str, answer: str) -> str:
        """Return an answer as it is read after a prompt: a blank separates two words that would be glued."""
        apart = not prompt or not answer or prompt[-1].isspace() or answer[0].isspace() or answer[0] in _MARKS
        return answer if apart or not self.glues_words else f" {answer}"

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
    """Load a causal language model by name (mini-causal, or mini for short; smollm2), directory, GGUF file, or hub id.

    If `name` is None, the environment variable RWS_CAUSAL names the model, or else it is mini-causal. The class is
    AutoModelForCausalLM's choice. Only safetensors are read, or a file that ends in .gguf, whose weights transformers
    expands (with the packages gguf and accelerate). No remote code is run. `revision` is that of a hub id. ValueError
    is raised for an unknown name (the shipped ones are listed), a package that is not installed, missing weights or
    tokenizer, an unknown device or dtype, or a revision of files.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where, kind = device_named(device), dtype_named(dtype)
    requested = name or os.environ.get(DEFAULT_VARIABLE) or "mini-causal"
    if requested.endswith(".gguf") and Path(requested).is_file():
        for package in ("gguf", "accelerate"):
            required(package, f"causal {requested} cannot be loaded")
        file = Path(requested)
        checkpoint = Checkpoint(file.stem, file.parent, "causal")
        options: dict[str, Any] = checkpoint.options | {"gguf_file": file.name}
        weights: dict[str, Any] = options
    else:
        present = set(shipped("ForCausalLM"))
        ships = {short: folder for short, folder in SHIPPED.items() if folder in present}
        checkpoint = fetch(locate_model(requested, "causal", ships), revision)
        if not has_tokenizer(checkpoint):
            raise ValueError(f"causal is {requested}: the directory holds no tokenizer, and perplexity is of text")
        options = checkpoint.options
        weights = options | {"use_safetensors": True}
        config_of(checkpoint).refuse_sizes(read_headers(checkpoint))
    try:
        with quiet(progress=requested not in (*SHIPPED, *packaged("causal"))), without_panics():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                checkpoint.source, dtype=kind, output_loading_info=True, **weights
            )
            model, info = loaded
            tokenizer = checked_tokenizer(AutoTokenizer.from_pretrained(checkpoint.source, **options))
    except Exception as error:  # tokenizers raises a plain Exception for a damaged file
        reason = " ".join(str(error).split())
        raise ValueError(f"causal {requested} cannot be loaded: {reason}") from error
    refuse_incomplete(checkpoint, info)
    return CausalScorer(model.to(where), tokenizer, checkpoint.name)


def encode_pair(causal: CausalScorer, prompt: str, answer: str, *, end: bool = True) -> tuple[list[int], list[int]]:
    """Return the ids of a prompt and of what is scored: an answer's, and an end of text if asked or if it has none.

    ValueError for more ids than the model reads.
    """
    tokenizer = causal.tokenizer
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    context = encoded(tokenizer, prompt, split_special_tokens=True)["input_ids"] or [first]
    text = causal.after(prompt, check_text("answer", answer))
    answered = encoded(tokenizer, text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    scored = [*answered, tokenizer.eos_token_id] if end or not answered else answered
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
