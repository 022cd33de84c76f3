"""RWS inside Dream's own `diffusion_generate`: its hooks for logits and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rws_decode.canvas.layout import Prompt
from rws_decode.common.later import Floats
from rws_decode.predictors.callable import CallablePredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.step.cached_reward import Scorer
from rws_decode.strategies.protocol import FactorStrategy, MaskedPositions, asks_reward, factor_alone


@dataclass(frozen=True, eq=False)
class DreamStep:
    """Factor, raw and normalised reward of B rows at one step, [B] each, NaN where no reward was asked."""

    step: int
    factor: Floats
    reward_raw: Floats
    reward_normalised: Floats


class DreamHooks:
    """Reward-weighted sampling in the hooks of Dream's `diffusion_generate` (Ye et al. 2025).

        hooks = DreamHooks(RWS(8.0), mask_id=model.config.mask_token_id, end_id=tokenizer.eos_token_id,
                           prompts=["..."], reward=reward, decode=lambda ids: tokenizer.decode(ids, ...))
        model.diffusion_generate(input_ids, attention_mask=..., alg="maskgit_plus",
                                 generation_tokens_hook_func=hooks.tokens, generation_logits_hook_func=hooks.logits)

    `logits(step, x, logits)` is called after each forward, x: int64 [B, L], logits: [B, L, V], shifted into place. It
    does the paper's Steps 1 to 3: it completes every row greedily, scores prompt and answer if the strategy asks, and
    returns all logits times the strategy's factor. Step 4 is Dream's. `tokens(step, x, logits)` changes nothing; with
    step None it starts a new run, as step 0 of `logits` does. A row's answer begins at its first masked column. `steps`
    holds a `DreamStep` for each step of the run.

    strategy: one that gives factors (`protocol.FactorStrategy`); reward: needed if the strategy asks for it; prompts:
    their texts, one per row, which the reward reads; decode: ids of the answer, before the first `end_id` and without
    masks -> text. forbidden_ids: further tokens that a completion never holds. dtype: of the logits returned, their own
    if None. ValueError for a strategy without factors, a missing reward, and prompts that are missing or not one a row.

    Limits: Dream's confidence is a probability (or margin, or entropy) in the dtype of the logits, bfloat16 as
    published. Factors above 1 push probabilities to exactly 1.0; then positions tie and topk decides. float32 or
    float64 as `dtype` delays this, at 2 or 4 times the memory; `decode.decode` ranks by log-odds instead. alg "origin"
    chooses positions at random, so the factor matters only to samples. The scored completion is greedy at any sampling
    temperature.

    >>> from rws_decode.strategies.factors import Temperature
    >>> hooks = DreamHooks(Temperature(2.0), mask_id=0)
    >>> hooks.logits(0, torch.tensor([[1, 0]]), torch.ones(1, 2, 3)).tolist()
    [[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]]
    >>> hooks.steps[0].factor.tolist(), hooks.steps[0].reward_raw.tolist()
    ([2.0], [nan])
    """

    def __init__(
        self,
        strategy: FactorStrategy,
        *,
        mask_id: int,
        end_id: int | None = None,
        prompts: Sequence[str] | None = None,
        reward: RewardModel | None = None,
        decode: Callable[[list[int]], str] | None = None,
        forbidden_ids: Sequence[int] = (),
        dtype: torch.dtype | None = None,
    ) -> None:
        if not factor_alone(strategy):
            right = "one that gives factors alone is needed, the order is Dream's"
            raise ValueError(f"strategy is {strategy!r:.80}: {right}")
        for name, value in (("reward", reward), ("prompts", prompts), ("decode", decode)):
            if strategy.needs_reward and value is None:
                raise ValueError(f"{name} is None: strategy {strategy.name} needs it")
        self.strategy = strategy
        self.mask_id = mask_id
        self.prompts = None if prompts is None else list(prompts)
        self.reward = reward
        self.dtype = dtype
        self.steps: list[DreamStep] = []
        self._codec = CallablePredictor(lambda canvas: canvas, mask_id=mask_id, end_id=end_id, decode=decode)
        self._forbidden = [mask_id, *forbidden_ids]
        self._scorer: Scorer | None = None
        self._starts: list[int] = []

    def tokens(self, step: int | None, x: Tensor, logits: Tensor | None) -> Tensor:
        """Return x unchanged; a step of None starts a new run."""
        if step is None:
            self._begin(x)
        return x

    def logits(self, step: int, x: Tensor, logits: Tensor) -> Tensor:
        """Return the logits times each row's factor, [B, L, V]."""
        if step == 0 or len(self._starts) != len(x):
            self._begin(x)
        rows, reward = len(x), None
        raw = normalised = np.full(rows, np.nan)
        if asks_reward(self.strategy, step):
            assert self._scorer is not None
            filled = self._completed(x, logits)
            answers = [row[start:].tolist() for row, start in zip(filled, self._starts, strict=True)]
            raw, normalised = self._scorer.score(range(rows), answers)
            reward = normalised
        view = MaskedPositions(step, rows, reward=reward)
        factor = np.broadcast_to(np.asarray(self.strategy.factor(view), np.float64), (rows,)).copy()
        self.steps.append(DreamStep(step, factor, raw, normalised))
        scaled = logits if self.dtype is None else logits.to(self.dtype)
        return scaled * torch.from_numpy(factor).to(scaled)[:, None, None]

    def _begin(self, x: Tensor) -> None:
        masked = x == self.mask_id
        if not bool(masked.any(dim=1).all()):
            raise ValueError("x holds a row without masks at the first step: every row needs an answer to decode")
        if self.prompts is not None and len(self.prompts) != len(x):
            raise ValueError(f"prompts has {len(self.prompts)} texts: the canvas has {len(x)} rows, one for each")
        self.steps, self._starts = [], masked.to(torch.uint8).argmax(dim=1).tolist()
        if self.strategy.needs_reward:
            assert self.reward is not None and self.prompts is not None
            self._scorer = Scorer(self._codec, self.reward, [Prompt([], text) for text in self.prompts])

    def _completed(self, x: Tensor, logits: Tensor) -> Tensor:
        """Return x with the largest allowed logit's token at every masked position, the first among equals."""
        filled = x.clone()
        row, column = (x == self.mask_id).nonzero(as_tuple=True)
        for chunk in torch.arange(len(row), device=x.device).split(256):
            part = logits[row[chunk], column[chunk]].clone()  # [n, V]
            part[:, self._forbidden] = -torch.inf
            filled[row[chunk], column[chunk]] = part.max(dim=-1).indices
        return filled
