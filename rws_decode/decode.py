"""The decoding loop: predict, score, scale, select, commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas import Prompt, encode_prompts, forbidden_tokens, lay_out
from rws_decode.guidance import Floats, Strategy, describe
from rws_decode.predictors.base import MaskPredictor
from rws_decode.ranking import Precision, Ranking, ceiling, rank_values, select_top
from rws_decode.rewards.base import RewardModel, score_checked
from rws_decode.schedule import block_plan
from rws_decode.trace import Trace
from rws_theory.gain import normalise

__all__ = ["Decoding", "decode"]


@dataclass(frozen=True)
class Decoding(Sequence[Trace]):
    """The outcome of one batched decode: a sequence of one Trace per prompt, in order.

    `forwards`: batched forwards of the predictor; `reward_calls`, `reward_calls_saved`: texts scored and scores reused.
    """

    traces: tuple[Trace, ...]
    forwards: int

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, row: Any) -> Any:
        return self.traces[row]

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Return the answers' token ids, int64 [B, n]."""
        return np.stack([trace.tokens for trace in self.traces])

    @property
    def texts(self) -> list[str | None]:
        """Return the answers' texts, None without a tokenizer."""
        return [trace.text for trace in self.traces]

    @property
    def reward_calls(self) -> int:
        """Return the number of texts scored."""
        return sum(trace.reward_calls for trace in self.traces)

    @property
    def reward_calls_saved(self) -> int:
        """Return the number of scores reused."""
        return sum(trace.reward_calls_saved for trace in self.traces)


def decode(
    predictor: MaskPredictor,
    prompts: Sequence[str | Sequence[int]],
    strategy: Strategy,
    *,
    length: int = 64,
    steps: int = 32,
    block: int = 32,
    reward: RewardModel | None = None,
    ranking: Ranking = "log-odds",
    precision: Precision = "float64",
) -> Decoding:
    """Decode an answer of `length` tokens to each prompt, block by block, and record every step.

    The paper's algorithm (Section "Reward-Weighted Sampling Algorithm"), in each of `steps` steps: (1) one forward
    over the whole canvas and the greedy completion of all masked positions; (2) if the strategy asks, the reward of
    prompt and completed answer, normalised to r = (raw - mean) / std; (3) all logits times the strategy's factor;
    (4) commit the most confident positions of the current block (`schedule.block_plan`, `ranking.rank_values`,
    `ranking.select_top`).

    prompts: text, or the token ids that stand before the answer; lengths may differ (rows are padded on the right under
    an attention mask, and no mask is passed where none is padded). A reward model sees the text itself, or for ids
    their decoded text. Within a row, a text that was scored before is not scored again.

    Guarantees: one forward per step for the whole batch; [MASK], padding and the predictor's forbidden ids are never
    candidates; prompt positions and committed tokens never change; ties go to the leftmost position and are counted;
    nothing is drawn at random. ValueError names the argument that is wrong, or the model whose output is not finite.

    >>> from rws_decode.guidance import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode(predictor, [[1]], Confidence(), length=2, steps=2, block=2)
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    plan = block_plan(length, steps, block)
    saturation = ceiling(ranking)
    encoded = encode_prompts(predictor, prompts, length)
    scorer = _scorer(predictor, strategy, reward, encoded)
    forbidden = forbidden_tokens(predictor)
    record = _Record(len(encoded), length, steps)

    with torch.inference_mode():
        canvas, attention_mask, answer = lay_out(predictor, [prompt.ids for prompt in encoded], length)
        line = torch.arange(len(encoded), device=canvas.device)[:, None]  # [B, 1]
        masked = torch.ones_like(answer, dtype=torch.bool)  # [B, n]
        for step, planned in enumerate(plan):
            before = canvas[line, answer]  # [B, n]
            row, position = masked.nonzero(as_tuple=True)  # [N], N masked positions in the batch
            logits = _checked(predictor, canvas, attention_mask)[row, answer[row, position]]  # [N, V]
            logits[:, forbidden[forbidden < logits.shape[-1]]] = float("-inf")
            largest, token = logits.max(dim=-1)
            if not bool(largest.isfinite().all()):
                raise ValueError(f"predictor {predictor.name} gives no finite largest logit at step {step}")
            candidate = before.index_put((row, position), token)

            raw, normalised = (None, None) if scorer is None else scorer.score(candidate.tolist())
            factor = np.broadcast_to(
                np.asarray(strategy.factor(step, len(encoded), normalised), np.float64), len(encoded)
            )

            block_mask = torch.zeros_like(masked)
            block_mask[:, planned.start : planned.stop] = True
            eligible, here = masked & block_mask, block_mask[row, position]
            scale = torch.from_numpy(factor.copy()).to(canvas.device)[row[here]]
            value = torch.zeros_like(answer, dtype=torch.float64)
            value[eligible] = rank_values(logits[here], token[here], scale, ranking, precision)
            chosen, ties = select_top(value, eligible, planned.commits)

            canvas[line, answer] = torch.where(chosen, candidate, before)
            masked &= ~chosen
            saturated = (eligible & (value == saturation)).sum(dim=1)
            record.add(step, canvas=before, candidate=candidate, value=value, eligible=eligible, chosen=chosen)
            record.add(step, ties=ties, saturated=saturated, factor=factor)
            if raw is not None and normalised is not None:
                record.add(step, reward_raw=raw, reward_normalised=normalised, reward_asked=np.True_)

    settings: dict[str, Any] = {
        "length": length,
        "steps": steps,
        "block": block,
        "ranking": ranking,
        "precision": precision,
        "strategy": describe(strategy),
        "predictor": predictor.name,
        "reward_model": None if scorer is None else scorer.model.name,
        "mask_id": predictor.mask_id,
        "forwards": steps,
    }
    return Decoding(
        tuple(
            Trace(
                **settings,
                prompt_text=prompt.text,
                text=predictor.decode_answer(arrays["tokens"].tolist()),
                reward_calls=0 if scorer is None else len(scorer.known[index]),
                reward_calls_saved=0 if scorer is None else steps - len(scorer.known[index]),
                prompt=np.asarray(prompt.ids, dtype=np.int64),
                **arrays,
            )
            for index, prompt in enumerate(encoded)
            for arrays in [record.row(index)]
        ),
        forwards=steps,
    )


def _scorer(
    predictor: MaskPredictor, strategy: Strategy, reward: RewardModel | None, prompts: list[Prompt]
) -> _Scorer | None:
    if not strategy.needs_reward:
        return None
    if reward is None:
        raise ValueError(f"reward is None: strategy {strategy.name} needs a reward model")
    texts = [prompt.text for prompt in prompts if prompt.text is not None]
    if len(texts) < len(prompts) or predictor.decode_answer([]) is None:
        raise ValueError(f"reward {reward.name} reads text: predictor {predictor.name} has no tokenizer")
    return _Scorer(predictor, reward, texts)


class _Scorer:
    """Rewards of completed answers, each text of a row scored once."""

    def __init__(self, predictor: MaskPredictor, model: RewardModel, prompts: list[str]) -> None:
        self.predictor = predictor
        self.model = model
        self.prompts = prompts
        self.known: list[dict[str, float]] = [{} for _ in prompts]

    def score(self, answers: list[list[int]]) -> tuple[Floats, Floats]:
        """Return raw and normalised rewards, [B] each; what is new is scored in one batch."""
        texts = [self.predictor.decode_answer(ids) or "" for ids in answers]
        new = [index for index, text in enumerate(texts) if text not in self.known[index]]
        if new:
            scores = score_checked(self.model, [self.prompts[index] for index in new], [texts[index] for index in new])
            for index, score in zip(new, scores, strict=True):
                self.known[index][texts[index]] = score
        raw = np.array([known[text] for known, text in zip(self.known, texts, strict=True)])
        return raw, np.asarray(normalise(raw, self.model.mean, self.model.std))


class _Record:
    """The per-step arrays of all traces of a batch."""

    def __init__(self, rows: int, length: int, steps: int) -> None:
        grid, column = (rows, steps, length), (rows, steps)
        whole, real, flag = np.int64, np.float64, np.bool_
        self.arrays: dict[str, NDArray[Any]] = {
            **{name: np.zeros(grid, whole) for name in ("canvas", "candidate")},
            **{name: np.zeros(grid, real) for name in ("value",)},
            **{name: np.zeros(grid, flag) for name in ("eligible", "chosen")},
            **{name: np.zeros(column, whole) for name in ("ties", "saturated")},
            **{name: np.zeros(column, real) for name in ("factor", "reward_raw", "reward_normalised")},
            **{name: np.zeros(column, flag) for name in ("reward_asked",)},
        }

    def add(self, step: int, **values: Any) -> None:
        for name, value in values.items():
            self.arrays[name][:, step] = value.cpu().numpy() if isinstance(value, Tensor) else value

    def row(self, index: int) -> dict[str, Any]:
        arrays: dict[str, Any] = {name: array[index].copy() for name, array in self.arrays.items()}
        commit_step = arrays["chosen"].argmax(axis=0)
        tokens = arrays["candidate"][commit_step, np.arange(len(commit_step))]
        return arrays | {"tokens": tokens, "commit_step": commit_step.astype(np.int64)}


def _checked(predictor: MaskPredictor, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
    logits = predictor.logits(canvas, attention_mask)
    if logits.ndim != 3 or logits.shape[:2] != canvas.shape:
        shapes = f"{tuple(logits.shape)} for a canvas {tuple(canvas.shape)}"
        raise ValueError(f"predictor {predictor.name} returned logits of shape {shapes}: [B, L, V] is needed")
    return logits
