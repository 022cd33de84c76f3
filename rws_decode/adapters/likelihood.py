"""A bound on the log-likelihood of an answer under a masked model, estimated from random masks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional as F

from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor, logits_at

__all__ = ["likelihood_bound"]


def likelihood_bound(
    predictor: MaskPredictor, prompt: Sequence[int], answer: Sequence[int], *, samples: int, batch: int, seed: int
) -> float:
    """Estimate a bound on log p(answer | prompt), in nats, from `samples` masked canvases, `batch` at a time.

    With L tokens of answer: E over l uniform on 1 .. L and a uniform set of l masked positions of (L / l) sum over the
    set of log p(token | prompt, tokens that are not masked) <= log p (Nie et al. 2025, Equation 14 and Appendix B.5,
    LLaDA's own evaluation). The values of l are spread evenly from a random start, which keeps each uniform. Exact for
    L = 1, and 0.0 for no tokens. Probabilities are over the whole vocabulary.

    prompt, answer: token ids; a prompt that does not fit loses its beginning. Same ids and seed, same estimate.
    ValueError for an answer that is longer than the predictor reads, and for logits that are not a number.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.zeros(*canvas.shape, 4), mask_id=3)
    >>> round(math.exp(likelihood_bound(predictor, [0], [1, 2], samples=8, batch=4, seed=0)), 6)  # 1/4 each
    0.0625
    """
    length, limit = len(answer), predictor.max_length
    if not length:
        return 0.0
    if limit is not None and len(prompt) + length > limit:
        if length > limit:
            raise ValueError(f"continuation has {length} tokens: {predictor.name} reads at most {limit}")
        prompt = list(prompt)[len(prompt) + length - limit :]
    rng = np.random.default_rng([seed, len(prompt), *prompt, *answer])
    start = int(rng.integers(length))
    counts = [(start + sample * length // samples) % length + 1 for sample in range(samples)]
    text = torch.tensor([*prompt, *answer], dtype=torch.int64, device=predictor.device)
    total = 0.0
    for begin in range(0, samples, batch):
        part = counts[begin : begin + batch]
        masked = torch.zeros(len(part), len(text), dtype=torch.bool)
        for row, count in enumerate(part):
            masked[row, len(prompt) + torch.from_numpy(rng.permutation(length)[:count])] = True
        masked = masked.to(text.device)
        row, column = masked.nonzero(as_tuple=True)
        canvas = torch.where(masked, predictor.mask_id, text)
        with torch_threads(), torch.inference_mode():
            logits = logits_at(predictor, canvas, None, row, column)
            nll = F.cross_entropy(logits.double(), text[column], reduction="none")
        weight = length / torch.tensor(part, dtype=torch.float64, device=text.device)
        total -= float((nll * weight[row]).sum())
    if math.isnan(total):
        raise ValueError(f"predictor {predictor.name} gives a continuation the log-likelihood nan")
    return total / samples
