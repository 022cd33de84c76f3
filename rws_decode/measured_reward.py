"""Make a reward model of any function, normalised by its scores of confidence decodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rws_decode.decode import decode
from rws_decode.job import Prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.callable import CallableReward, as_reward
from rws_decode.settings import Shape


def measured_reward(
    function: Callable[..., float],
    predictor: MaskPredictor,
    prompts: Prompts | None = None,
    shape: Shape | None = None,
    *,
    canvas: Prompts | Sequence[int] | None = None,
) -> CallableReward:
    """Return a function as a reward model, normalised by its scores of confidence decodes of some prompts.

    mean, std: mu_R and sigma_R of the paper's Step 2, the mean and the standard deviation (divisor: their number) of
    these scores; its `repr` tells them. prompts, shape, canvas: as in `decode.decode`; take other prompts than those
    that are compared, 20 or more. function: of (prompt, answer), or of the answer. ValueError where all scores are
    equal, and as in `decode.decode`.

    >>> from rws_decode import load_predictor
    >>> predictor = load_predictor("english")
    >>> reward = measured_reward(lambda answer: answer.count("the"), predictor, predictor.prompts[:8], Shape(8, 8, 8))
    >>> reward.name, reward.mean
    ('lambda', 2.5)
    """
    reward = as_reward(function)
    runs = decode(predictor, prompts, "default", shape, canvas=canvas, reward=function)
    scores = [final["raw"] for trace in runs if (final := trace.final_reward)]
    name = "callable" if reward is None else reward.name
    if len(set(scores)) < 2:
        one = len({tuple(trace.tokens.tolist()) for trace in runs}) == 1
        advice = ", which all wrote one text: give other prompts" if one and len(scores) > 1 else ": give more prompts"
        raise ValueError(f"function {name} scored {scores[0]:g} for each of {len(scores)} decodes{advice}")
    return CallableReward(function, float(np.mean(scores)), float(np.std(scores)), name)
