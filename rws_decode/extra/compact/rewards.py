"""Cache reward scores on the device, so that a repeated text is not scored again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rws_decode.extra.compact.forward import sent
from rws_decode.extra.compact.llama import Body
from rws_decode.rewards.base import score_checked
from rws_decode.rewards.causal import CausalReward
from rws_decode.step.cached_reward import Scorer

# Texts are padded to a multiple of this, so that a few recordings serve all their lengths.
_WIDTH = 32


class DeviceScorer(Scorer):
    """A `Scorer` whose scores are tensors on a device, so that no caller waits for it.

    A `CausalReward` that `LeanLlama` computes runs on the device as a whole, without its key-value cache, recorded once
    per width; other models return numbers. replay: whether forwards are recorded. `checked` checks scores after the
    batch.
    """

    def __init__(self, *args: Any, replay: bool, device: torch.device, **options: Any) -> None:
        super().__init__(*args, **options)
        self.device = device
        model = self.model
        self._on_device = model if replay and type(model) is CausalReward and body_of(model).supported else None

    def recall(self, row: int, answer: Sequence[int]) -> float | None:
        """Return the cached raw score of an answer, None if its text was not scored; it waits for the device."""
        score = super().recall(row, answer)
        return None if score is None else float(score)

    def checked(self, row: int, raw: Sequence[float]) -> None:
        """Raise ValueError, naming the model, where a row's scores are not finite or outside the model's bounds."""
        self.check([self.prompts[row]] * len(raw), raw)

    def ask(self, new: Sequence[tuple[int, str]]) -> Tensor:
        """Return the model's scores of texts, given with their rows; `checked` checks them later."""
        prompts, answers = [self.prompts[row] for row, _ in new], [text for _, text in new]
        if self._on_device is not None:
            texts = [self._on_device.ids(*pair) for pair in zip(prompts, answers, strict=True)]
            return scores_there(self._on_device, texts).to(self.device, non_blocking=True)
        return sent(torch.tensor(score_checked(self.model, prompts, answers), dtype=torch.float64), self.device)


def body_of(reward: CausalReward) -> Body:
    """Return a reward model's network below its head."""
    return Body.of(reward, reward.model.base_model, causal=True)


def scores_there(reward: CausalReward, texts: Sequence[list[int]]) -> Tensor:
    """Return the logit at the last token of each list of ids, float64 [len(texts)], on the reward model's device.

    Rows are filled up on the right, where a causal model's tokens do not see it, to a multiple of 32 columns, and their
    number to a power of two, so that shapes repeat. Guarantee: the scores of `CausalReward.score_ids` up to rounding.
    """
    device, scores = reward.model.device, []
    for start in range(0, len(texts), reward.batch_size):
        batch = list(texts[start : start + reward.batch_size])
        rows = 1 << (len(batch) - 1).bit_length()
        width = min(-(-max(map(len, batch)) // _WIDTH) * _WIDTH, max(reward.max_length, max(map(len, batch))))
        ids = torch.zeros(rows, width, dtype=torch.int64)
        last = torch.zeros(rows, dtype=torch.int64)
        for row, text in enumerate(batch):
            ids[row, : len(text)] = torch.tensor(text)
            last[row] = len(text) - 1
        hidden = body_of(reward)(sent(ids, device))
        states = hidden[torch.arange(rows, device=device), sent(last, device)]
        scores.append(reward.model.score(states)[: len(batch), 0].double())
    return torch.cat(scores)
