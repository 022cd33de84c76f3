"""Score a final text: reward, log-probability where the model is exact, and the tokens as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rws_decode.canvas.layout import Prompt
from rws_decode.common.plugins import find
from rws_decode.job import encode_prompts, warn_of_unread_words
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel, reward_call
from rws_decode.rewards.callable import as_reward
from rws_decode.step.cached_reward import Scorer
from rws_decode.text.dialogue import Dialogue


class FinalReward(NamedTuple):
    """The reward of a final text: raw, and normalised by the reward model's mean and SD."""

    raw: float
    normalised: float


def final_reward(
    predictor: MaskPredictor,
    reward: RewardModel | Callable[..., float],
    prompt: str | Dialogue | Sequence[int],
    tokens: Sequence[int],
) -> FinalReward:
    """Score an answer as a decode scores its completed answers; `tokens` are those of the answer, or of the gaps.

    reward: as in `decode.decode`. ValueError as in `encode_prompts`, for a reward that is none, and without a
    tokenizer.

    >>> from rws_decode import load_predictor, load_reward
    >>> predictor = load_predictor("english")
    >>> final_reward(predictor, load_reward("keywords:peace"), "we ask for", predictor.encode_prompt("peace")).raw
    1.0
    """
    model = as_reward(reward, predictor.name)
    if model is None:
        call = reward_call(predictor.name)
        raise ValueError(f"reward is None: a reward model is needed, such as {call}, or a function")
    encoded = encode_prompts(predictor, [prompt], len(tokens))
    raw, normalised = Scorer(predictor, model, encoded).score([0], [[int(token) for token in tokens]])
    return FinalReward(float(raw[0]), float(normalised[0]))


def outcomes(
    predictor: Any,
    reward: RewardModel | None,
    prompts: Sequence[Prompt],
    answers: Mapping[int, list[int]],
    known: Mapping[int, float | None] | None = None,
) -> dict[int, dict[str, Any]]:
    """Return `final_reward`, `log_prob` and `rules_broken` of whole answers, as `trace.Trace` has them, by prompt.

    known: raw rewards of these very texts that the decode has. The others are scored in one batch, which the trace's
    costs do not count: a decode does not need it.
    """
    raw: dict[int, float] = {}
    if reward is not None and predictor.decode_answer([]) is not None:
        raw = {row: score for row, score in (known or {}).items() if score is not None}
        if new := [row for row in answers if row not in raw]:
            scorer = Scorer(predictor, reward, [prompts[row] for row in new])
            scores, _ = scorer.score(range(len(new)), [answers[row] for row in new])
            raw |= dict(zip(new, scores.tolist(), strict=True))
        texts = (f"{prompts[row].text or ''} {predictor.decode_answer(answer)}" for row, answer in answers.items())
        warn_of_unread_words(reward, texts, predictor.name)
    fields: dict[int, dict[str, Any]] = {}
    rules = find("rws.languages", predictor.name)  # of the language that the predictor writes, where they are known
    for row, answer in answers.items():
        prompt, text, broken = prompts[row], predictor.decode_answer(answer), None
        log_prob = predictor.log_prob(prompt.ids, answer) if hasattr(predictor, "log_prob") else math.nan
        if rules and prompt.text is not None and text is not None and predictor.mask_id not in prompt.ids:
            broken = rules(prompt.text, text)
        known_prob = log_prob if math.isfinite(log_prob) else None
        fields[row] = {"final_reward": None, "log_prob": known_prob, "rules_broken": broken}
        if reward is not None and row in raw:
            normalised = (raw[row] - reward.mean) / reward.std
            fields[row]["final_reward"] = {"model": reward.name, "raw": raw[row], "normalised": normalised}
    return fields
