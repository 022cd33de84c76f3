"""Held-out numbers of a mask predictor: NELBO per answer token and masked accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertForMaskedLM

from rws_decode.training.prose.train import masked_loss
from rws_decode.training.prose.windows import ANSWER, MASK, mask_answer

__all__ = ["RATES", "heldout_numbers", "masked_scores", "nelbo"]

RATES = (0.15, 0.5, 0.9)


@torch.no_grad()
def nelbo(model: BertForMaskedLM, windows: Sequence[tuple[Tensor, int]], draws: int, seed: int) -> float:
    """Negative evidence lower bound in nats per answer token (end-of-text fill included).

    The bound of masked diffusion (Sahoo et al. 2024; Nie et al. 2025): the mean over t of 1/t times the sum of -log p
    over masked answer tokens, here from `draws` mask patterns a window.
    """
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    total = 0.0
    for window, prompt in windows:
        rows = window.expand(draws, -1)
        masked, weights = mask_answer(rows, prompt, generator)
        total += float(masked_loss(model, rows, masked, weights))
    return total / len(windows)


@torch.no_grad()
def masked_scores(
    model: BertForMaskedLM, windows: Sequence[tuple[Tensor, int]], rate: float, seed: int
) -> tuple[float, float]:
    """Accuracy and cross-entropy (nats) on answers of which exactly round(64 * rate) random tokens are masked."""
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    right = count = 0
    loss = 0.0
    for window, prompt in windows:
        places = 1 + prompt + torch.randperm(ANSWER, generator=generator)[: max(1, round(ANSWER * rate))]
        canvas = window.clone()
        canvas[places] = MASK
        logits = model(canvas.unsqueeze(0)).logits[0, places]
        right += int((logits.argmax(-1) == window[places]).sum())
        loss += float(functional.cross_entropy(logits, window[places], reduction="sum"))
        count += len(places)
    return right / count, loss / count


def heldout_numbers(
    model: BertForMaskedLM, windows: Sequence[tuple[Tensor, int]], *, draws: int = 8, seed: int = 0
) -> dict[str, float]:
    """NELBO per token in nats, masked accuracy and cross-entropy at 15, 50 and 90 % masked."""
    numbers = {"nelbo": round(nelbo(model, windows, draws, seed), 4)}
    for rate in RATES:
        accuracy, loss = masked_scores(model, windows, rate, seed)
        numbers[f"accuracy_{round(100 * rate)}"] = round(accuracy, 4)
        numbers[f"loss_{round(100 * rate)}"] = round(loss, 4)
    return numbers
