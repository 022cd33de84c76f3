"""The masked diffusion objective, its curriculum, and how a task becomes a row of tokens."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import ModernBertForMaskedLM, PreTrainedTokenizerFast

from rws_decode.stories.tasks import Task

__all__ = ["encode_tasks", "mask_rates", "masked_loss"]


def encode_tasks(tasks: list[Task], tokenizer: PreTrainedTokenizerFast) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids (B, L), where the answer canvas is (B, L), and the attention mask (B, L).

    The canvas of `task.length` tokens holds the answer and end-of-text up to its end.

    Raises:
        ValueError: an answer leaves no room for an end-of-text token.
    """
    rows, spans = [], []
    for task in tasks:
        prompt = tokenizer(task.prompt)["input_ids"]
        answer = tokenizer(task.answer, add_special_tokens=False)["input_ids"]
        if len(answer) >= task.length:
            raise ValueError(f"length is {task.length}; an answer of {len(answer)} tokens needs {len(answer) + 1}")
        fill = [tokenizer.eos_token_id] * (task.length - len(answer))
        rows.append(prompt + answer + fill)
        spans.append((len(prompt), len(prompt) + task.length))
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), tokenizer.pad_token_id)
    canvas, attend = (torch.zeros(len(rows), width, dtype=torch.bool) for _ in range(2))
    for i, (row, (start, stop)) in enumerate(zip(rows, spans, strict=True)):
        ids[i, : len(row)] = torch.tensor(row)
        canvas[i, start:stop] = True
        attend[i, : len(row)] = True
    return ids, canvas, attend


def masked_loss(
    model: ModernBertForMaskedLM,
    ids: Tensor,
    canvas: Tensor,
    attend: Tensor,
    rate: Tensor,
    mask_id: int,
    generator: torch.Generator,
    weighted: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss (nats per answer token if weighted, else per masked token) and masked accuracy.

    Args:
        rate: mask rate of each row (B,), in (0, 1].
        weighted: 1/t weights over the whole answer (the diffusion objective), else the plain mean over masked tokens.
    """
    masked = canvas & (torch.rand(ids.shape, generator=generator) < rate[:, None])
    if not bool(masked.any()):
        masked = canvas
    inputs = ids.masked_fill(masked, mask_id)
    hidden = model.model(inputs, attention_mask=None if bool(attend.all()) else attend).last_hidden_state
    logits = model.decoder(model.head(hidden[masked]))
    losses = F.cross_entropy(logits.float(), ids[masked], reduction="none")
    accuracy = (logits.argmax(-1) == ids[masked]).float().mean()
    if not weighted:
        return losses.mean(), accuracy
    weight = (1.0 / rate)[:, None].expand_as(ids)[masked]
    return (losses * weight).sum() / canvas.sum(), accuracy


def mask_rates(step: int, curriculum: tuple[int, int], batch: int, rng: np.random.Generator) -> tuple[Tensor, bool]:
    """Return the rows' mask rates, stratified over the batch, and whether the true objective applies.

    Rates are 5 to 55 % up to the curriculum's first step, their upper end grows to 1 up to its second.
    """
    first, second = curriculum
    strata = (rng.permutation(batch) + rng.random(batch)) / batch
    if step >= second:
        return torch.tensor(1.0 - strata * (1.0 - 1.0 / 64), dtype=torch.float32), True
    upper = 0.55 + 0.45 * max(0.0, (step - first) / (second - first))
    return torch.tensor(0.05 + strata * (upper - 0.05), dtype=torch.float32), False
