"""The decoding loops that users run today, written plainly: what the bench compares with, and an obvious reference."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas import forbidden_tokens
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.schedule import commit_counts
from rws_theory.gain import normalise, reward_factor

__all__ = ["PlainRun", "plain_loop", "plain_rws"]


class PlainRun(NamedTuple):
    """What a plain loop did: answers, int64 [B, n]; reward calls; commits at which it met equal confidences."""

    tokens: Tensor
    reward_calls: int
    ties: int


def plain_loop(predictor: MaskPredictor, prompts: Tensor, length: int, steps: int, block: int) -> PlainRun:
    """Decode greedily as the loop that LLaDA's authors publish does (Nie et al. 2025), forbidden tokens closed.

    All logits of the canvas, softmax over them in the model's dtype, `torch.topk` row by row, one after another. Closed
    are the tokens that `decode` never commits ([MASK] itself and padding); the published loop closes none. prompts:
    int64 [B, p], equally long.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> plain_loop(predictor, torch.tensor([[2]]), length=2, steps=2, block=2).tokens.tolist()
    [[3, 3]]
    """
    return _decode(predictor, prompts, None, "", 1.0, length, steps, block)


def plain_rws(
    predictor: MaskPredictor,
    reward: RewardModel,
    prompt: str,
    reward_scale: float,
    length: int,
    steps: int,
    block: int,
) -> PlainRun:
    """Decode one prompt by RWS as the paper's algorithm reads: the reward is asked at every step, nothing is kept.

    The order is that of the log-odds in float64: softmax of scaled logits is 1.0 at many positions at once, and what
    such a loop commits is up to the ties of `torch.topk` (see `experiment precision`).
    """
    ids = torch.tensor([predictor.encode_prompt(prompt)], device=predictor.device)
    return _decode(predictor, ids, reward, prompt, reward_scale, length, steps, block)


def _decode(
    predictor: MaskPredictor,
    prompts: Tensor,
    reward: RewardModel | None,
    text: str,
    reward_scale: float,
    length: int,
    steps: int,
    block: int,
) -> PlainRun:
    rows, start = prompts.shape
    x = torch.cat([prompts, prompts.new_full((rows, length), predictor.mask_id)], dim=1)
    closed = forbidden_tokens(predictor)
    blocks, calls, ties = length // block, 0, 0
    for number in range(blocks):
        end = start + (number + 1) * block
        for count in commit_counts(block, steps // blocks):
            open_ = x == predictor.mask_id
            open_[:, :start] = False
            logits = predictor.logits(x, None)
            logits[:, :, closed] = -torch.inf
            best = logits.argmax(dim=-1)
            if reward is None:
                confidence = torch.softmax(logits, dim=-1).gather(2, best[..., None])[..., 0]
            else:
                completed = torch.where(open_, best, x)[0, start:]
                (raw,) = reward.score([text], [predictor.decode_answer(completed.tolist()) or ""])
                factor = float(reward_factor(normalise(raw, reward.mean, reward.std), reward_scale))
                wide = logits.double()
                others = (wide - wide.gather(2, best[..., None])).scatter(2, best[..., None], -torch.inf)
                confidence = -torch.logsumexp(factor * others, dim=-1)
                calls += 1
            confidence[:, end:] = -torch.inf
            confidence = torch.where(open_, confidence, -torch.inf)
            for row in range(rows):
                value, picked = torch.topk(confidence[row], count)
                ties += int((confidence[row] == value[-1]).sum()) > int((value == value[-1]).sum())
                x[row, picked] = best[row, picked]
    return PlainRun(x[:, start:], calls, ties)
