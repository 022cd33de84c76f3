"""Held-out numbers of a mask predictor of the story language: NELBO, masked accuracy, coherence of its decodes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import torch
from transformers import ModernBertForMaskedLM, PreTrainedTokenizerFast

from paper_figures.data.story_sets import judge
from paper_figures.extra.training.objective import encode_tasks, masked_loss, special_id
from paper_figures.extra.training.reward import KINDS
from rws_decode.decode import decode
from rws_decode.predictors import HFMaskPredictor
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Confidence

if TYPE_CHECKING:
    from paper_figures.extra.story_tasks import Task
    from rws_decode.extra.stories.answers import Judgement

_BATCH = 32  # answers at a time


def held_out(split: str, count: int, kind: str = "keywords", band: str = "short", seed: int = 0) -> list[Task]:
    """Draw tasks of a held-out split; the same arguments give the same tasks."""
    from paper_figures.extra.story_tasks import sample_split

    rng = Random(f"{split}-{kind}-{band}-{seed}")
    return [sample_split(rng, split, kind, band) for _ in range(count)]


def decode_tasks(predictor: HFMaskPredictor, tasks: list[Task], per_step: int = 2) -> list[Judgement]:
    """Decode tasks of one answer length, `per_step` tokens a step in blocks of at most 32, and judge the answers."""
    out = []
    for start in range(0, len(tasks), _BATCH):
        part = tasks[start : start + _BATCH]
        length = part[0].length
        done = decode(
            predictor,
            [task.prompt for task in part],
            Confidence(),
            Shape(length=length, steps=length // per_step, block=min(32, length)),
        )
        out += [judge(task.prompt, text or "") for task, text in zip(part, done.texts, strict=True)]
    return out


def coherence_by_kind(predictor: HFMaskPredictor, count: int) -> dict[str, float]:
    """Return the share of coherent answers per kind of task, and how often each violation occurs in short stories."""
    out: dict[str, float] = {}
    for _, kind, band in KINDS:
        judged = decode_tasks(predictor, held_out("test", count, kind, band))
        label = f"{kind} {band}" if kind in ("keywords", "continuation") else kind
        out[label] = sum(j.coherent for j in judged) / count
        if label == "keywords short":
            kinds = sorted({v.kind for j in judged for v in j.violations})
            slow = decode_tasks(predictor, held_out("test", count, kind, band), per_step=1)
            out[f"{label}, one token per step"] = sum(j.coherent for j in slow) / count
            out |= {
                f"violation {k}": sum(any(v.kind == k for v in j.violations) for j in judged) / count for k in kinds
            }
    return out


@torch.inference_mode()
def masked_accuracy(
    model: ModernBertForMaskedLM, tokenizer: PreTrainedTokenizerFast, tasks: list[Task], rate: float
) -> float:
    """Return the share of masked answer tokens that the argmax fills as they were, at one mask rate."""
    ids, canvas, attend = encode_tasks(tasks, tokenizer)
    generator = torch.Generator().manual_seed(0)
    rates = torch.full((len(tasks),), rate)
    return masked_loss(model, ids, canvas, attend, rates, special_id(tokenizer, "mask"), generator, False)[1].item()


@torch.inference_mode()
def nelbo(
    model: ModernBertForMaskedLM, tokenizer: PreTrainedTokenizerFast, tasks: list[Task], draws: int = 8
) -> tuple[float, float]:
    """Return the negative evidence lower bound (nats per answer, standard error) over tasks of one length.

    The masked count l is stratified over 1..n with weight n/l (the order-agnostic form of the bound, Hoogeboom et al.
    2022, equal to the continuous-time one in expectation), which has less variance than a rate per token.
    """
    ids, canvas, attend = encode_tasks(tasks, tokenizer)
    length = tasks[0].length
    generator = torch.Generator().manual_seed(0)
    totals = []
    for _ in range(draws):
        score = torch.rand(len(tasks), length, generator=generator)
        rank = score.argsort(1).argsort(1)
        strata = (torch.randperm(len(tasks), generator=generator) + torch.rand(len(tasks), generator=generator)) / len(
            tasks
        )
        count = (strata * length).long() + 1
        hit = rank < count[:, None]
        masked = torch.zeros_like(canvas)
        masked[canvas] = hit.reshape(-1)
        inputs = ids.masked_fill(masked, special_id(tokenizer, "mask"))
        logits = model(input_ids=inputs, attention_mask=None if bool(attend.all()) else attend).logits
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids, reduction="none") * masked
        totals.append(losses.sum(1) * length / count)
    per_draw = torch.stack(totals)
    return per_draw.mean().item(), (per_draw.std() / per_draw.numel() ** 0.5).item()
