"""How much of the exact stability radius one evaluation proves, at every step of real decodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from torch import Tensor

from rws_decode import MaskedPositions, Shape, load_predictor
from rws_decode.decode import decode
from rws_theory import StabilityRadius, log_odds, stability_radius

LENGTH = 16


@dataclass(frozen=True)
class Recording:
    """Confidence decoding that keeps the logits of each step."""

    steps: list[np.ndarray] = field(default_factory=list)
    name = "recording"
    needs_reward = False

    def order(self, view: MaskedPositions) -> Tensor:
        self.steps.append(view.logits.double().numpy().copy())
        return view.logits.new_tensor(log_odds(self.steps[-1], 1.0)).double()


def proved_shares(model: str, k: int, prompts: int) -> tuple[list[StabilityRadius], list[float]]:
    """Return the intervals of all steps of some prompts, and the share of each radius that the cheap bound proves."""
    predictor, recording = load_predictor(model), Recording()
    for example in predictor.examples[:prompts]:
        decode(predictor, [example["prompt"]], recording, Shape(LENGTH, LENGTH // k, LENGTH))
    stable = [stability_radius(logits, k) for logits in recording.steps if len(logits) > k]
    return stable, [min(s.cheap[1] - 1, 1 - s.cheap[0]) / s.radius for s in stable if s.radius]


@pytest.mark.parametrize(("model", "k"), [("mini", 1), ("mini", 2), ("english", 1), ("english", 2)])
def test_every_interval_is_certified_and_the_cheap_bound_proves_a_useful_share(model: str, k: int) -> None:
    stable, shares = proved_shares(model, k, prompts=2)
    assert len(stable) == 2 * (LENGTH // k - 1) and all(s.certified for s in stable)
    assert all(0 < share <= 1 + 1e-9 for share in shares)
    assert 0.15 < float(np.median(shares)) < 0.6  # 23 to 40 % over six prompts: docs/theory.md, section 19
    for s in stable:
        assert s.lower <= s.cheap[0] * (1 + 1e-12) + 1e-12 and s.cheap[1] <= s.upper * (1 + 1e-12)
