"""The decoding loops that users run today, written plainly: what the bench compares with, and an obvious reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import commit_counts
from rws_decode.predictors.base import MaskPredictor, block_of, forbidden_ids
from rws_decode.rewards.base import RewardModel
from rws_theory.gain import normalise, reward_factor


class PlainRun(NamedTuple):
    """What a plain loop did: answers, int64 [B, n]; reward calls; commits at which it met equal confidences.

    commit_step: int64 [B, n], the step that committed each token, from 0. tied: bool [B, steps], where equal
    confidences met the cut, None where they were not counted, and `ties` is 0 then.
    """

    tokens: Tensor
    reward_calls: int
    ties: int
    commit_step: Tensor
    tied: Tensor | None


def plain_loop(
    predictor: MaskPredictor, prompts: Tensor, length: int, steps: int, block: int, *, count_ties: bool = True
) -> PlainRun:
    """Decode greedily as the loop that LLaDA's authors publish does (Nie et al. 2025), forbidden tokens closed.

    All logits of the canvas, softmax over them in the model's dtype, `torch.topk` row by row, one after another. Closed
    are the tokens that `decode` never commits ([MASK] itself and padding); the published loop closes none, and neither
    does ranking "topk": compare this one with ranking "probability". prompts: int64 [B, p], equally long. count_ties:
    False leaves out what the published loop does not do either.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> plain_loop(predictor, torch.tensor([[2]]), length=2, steps=2, block=2).tokens.tolist()
    [[3, 3]]
    """
    return _decode(predictor, prompts, None, [], 1.0, length, steps, block, count_ties)


def plain_rws(
    predictor: MaskPredictor,
    reward: RewardModel,
    prompt: str | Sequence[str],
    reward_scale: float,
    length: int,
    steps: int,
    block: int,
    *,
    count_ties: bool = True,
) -> PlainRun:
    """Decode by RWS as the paper's algorithm reads: the reward is asked at every step, nothing is kept.

    The order is that of the log-odds in float64: softmax of scaled logits is 1.0 at many positions at once, and what
    such a loop commits is up to the ties of `torch.topk` (see `experiment precision`). prompt: one text, or several
    whose token ids are equally long, whose completions are scored together. ValueError for prompts of other lengths.
    """
    texts = [prompt] if isinstance(prompt, str) else list(prompt)
    ids = [predictor.encode_prompt(text) for text in texts]
    if len({len(tokens) for tokens in ids}) != 1:
        lengths = [len(tokens) for tokens in ids]
        raise ValueError(f"prompt has texts of {lengths} tokens: at least one, equally long, are needed")
    canvas = torch.tensor(ids, device=predictor.device)
    return _decode(predictor, canvas, reward, texts, reward_scale, length, steps, block, count_ties)


def _decode(
    predictor: MaskPredictor,
    prompts: Tensor,
    reward: RewardModel | None,
    texts: list[str],
    reward_scale: float,
    length: int,
    steps: int,
    block: int,
    count_ties: bool,
) -> PlainRun:
    rows, start = prompts.shape
    x = torch.cat([prompts, prompts.new_full((rows, length), predictor.mask_id)], dim=1)
    closed = forbidden_ids(predictor)
    blocks, calls = length // block, 0
    picks: list[list[Tensor]] = []
    tied: list[Tensor] = []
    for number in range(blocks):
        end = start + (number + 1) * block
        for count in commit_counts(block, steps // blocks):
            open_ = x == predictor.mask_id
            open_[:, :start] = False
            if block_of(predictor) is not None:
                open_[:, end:] = False  # later blocks are not begun, and are no part of what a reward reads
            logits = predictor.logits(x, None)
            logits[:, :, closed] = -torch.inf
            best = logits.argmax(dim=-1)
            if reward is None:
                confidence = torch.softmax(logits, dim=-1).gather(2, best[..., None])[..., 0]
            else:
                completed = torch.where(open_, best, x)[:, start:].tolist()
                raw = reward.score(texts, [predictor.decode_answer(answer) or "" for answer in completed])
                normalised = [normalise(score, reward.mean, reward.std) for score in raw]
                factor = torch.tensor(
                    [float(reward_factor(value, reward_scale)) for value in normalised],
                    dtype=torch.float64,
                    device=x.device,
                )
                wide = logits.double()
                others = (wide - wide.gather(2, best[..., None])).scatter(2, best[..., None], -torch.inf)
                confidence = -torch.logsumexp(factor[:, None, None] * others, dim=-1)
                calls += rows
            confidence[:, end:] = -torch.inf
            confidence = torch.where(open_, confidence, -torch.inf)
            picks.append([])
            for row in range(rows):
                value, picked = torch.topk(confidence[row], count)
                if count_ties:
                    tied.append((confidence[row] == value[-1]).sum() > (value == value[-1]).sum())
                x[row, picked] = best[row, picked]
                picks[-1].append(picked)
    met = torch.stack(tied).reshape(steps, rows).T if count_ties else None
    return PlainRun(x[:, start:], calls, 0 if met is None else int(met.sum()), _commit_steps(picks, start, length), met)


def _commit_steps(picks: list[list[Tensor]], start: int, length: int) -> Tensor:
    """Return the step of each answer token, int64 [B, n]; picks: by step and row, the columns committed."""
    commit_step = picks[0][0].new_full((len(picks[0]), length), -1)
    for step, rows in enumerate(picks):
        for row, picked in enumerate(rows):
            commit_step[row, picked - start] = step
    return commit_step
