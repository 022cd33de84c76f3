"""Do the work of the laws study: draw or force texts by a sampler, and say how probable they are.

A row of a text has `tokens`, a digest; `log_q`, nats, of the sampler: exact where it has a law, an upper bound in the
mean where it ranks drawn words by a constant factor, else None; `log_prob`, nats, and `reward`, raw. A row of a world
has `mean`, E_p[R]; `log_z`, log E_p[exp(beta R)] at each of the unit's betas; and of texts drawn from p `log_ps` and
`rewards`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import predictor_for, reward_for
from paper_figures.studies.work.evidence import digest_of, exact_world
from rws_decode.decode import decode
from rws_decode.job import encode_prompts
from rws_decode.law import answer_ids, strategy_log_prob
from rws_decode.predictors import MaskPredictor, WorldPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Shape
from rws_decode.step.cached_reward import Scorer
from rws_decode.strategies.factors import Confidence, Temperature
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.table import as_strategy
from rws_theory.worlds.joint_table import MASK

Floats = NDArray[np.float64]
DRAWS = 8  # texts of a world after each prompt


def work(units: Sequence[Unit]) -> list[Rows]:
    """Return the row of each unit of one batch."""
    if units[0].strategy["name"] == "world":
        return _worlds(units)
    first = units[0]
    drawing, prompts = first.settings["drawing"], [unit.prompt for unit in units]
    predictor, reward = predictor_for(first), reward_for(first, first.reward or "")
    seeds = tuple(unit.seed for unit in units)
    strategy = as_strategy(first.strategy["name"], seed=seeds)
    shape = Shape(first.length, first.steps, first.block)
    options = Options(
        sampling_temperature=first.sampling_temperature,
        drawing="completion" if drawing in ("completion", "greedy") else "commit",
        seed=seeds,
    )
    near: list[dict[str, int]] = [{"near_ties": 0, "near_tokens": 0}] * len(units)
    traces: Sequence[Any] = ()
    if drawing == "given":
        texts = np.array([answer_ids(predictor, unit.labels["answer"])[: first.length] for unit in units])
    else:
        traces = list(decode(predictor, prompts, strategy, shape, reward=reward, options=options))
        texts = np.stack([trace.tokens for trace in traces])
        near = [{name: int(getattr(trace, name).sum()) for name in near[0]} for trace in traces]
    log_q: Sequence[float | None] = [0.0 if drawing == "greedy" else None] * len(units)
    if options.drawing == "commit":
        law = strategy_log_prob(predictor, prompts, texts, strategy, shape, reward=reward, options=options)
        log_q = law.log_prob.tolist()
    elif drawing == "completion":
        log_q = [_bound(predictor, trace, strategy) for trace in traces]
    log_p, rewards = _measures(predictor, reward, prompts, texts)
    measured = zip(log_q, log_p, rewards, near, texts, strict=True)
    return [
        [{"tokens": digest_of(text), "log_q": q, "log_prob": p, "final_reward": value} | ties]
        for q, p, value, ties, text in measured
    ]


def _measures(
    predictor: MaskPredictor, reward: RewardModel, prompts: Sequence[str], texts: NDArray[np.int64]
) -> tuple[list[float | None], list[float]]:
    """Return log p of each text, None where the world is not exact, and its reward."""
    if isinstance(predictor, WorldPredictor) and isinstance(reward, WorldReward):
        pairs = zip(prompts, texts, strict=True)
        log_p = [predictor.world.log_prob(text, predictor.encode_prompt(prompt)) for prompt, text in pairs]
        return list(log_p), [reward.world_reward.score(text) for text in texts]
    encoded = encode_prompts(predictor, prompts, texts.shape[1])
    raw, _ = Scorer(predictor, reward, encoded).score(range(len(prompts)), texts.tolist())
    return [None] * len(texts), raw.tolist()


def _bound(predictor: MaskPredictor, trace: Any, strategy: Strategy) -> float | None:
    """Return the bound on log q of a decode that ranked drawn words by a constant factor, else None."""
    if not isinstance(predictor, WorldPredictor) or not isinstance(strategy, Confidence | Temperature):
        return None
    world, context = predictor.world, trace.prompt.tolist()
    scale = strategy.scale if isinstance(strategy, Temperature) else 1.0
    assert isinstance(scale, float)
    return drawn_ranking_log_prob(
        lambda canvases: world.conditionals_batch(canvases, [context] * len(canvases), predictor.memory),
        trace.tokens,
        trace.commit_step,
        scale,
    )


def _worlds(units: Sequence[Unit]) -> list[Rows]:
    predictor, guide = exact_world(units[0])
    world, reward, length = predictor.world, guide.world_reward, units[0].length
    betas = units[0].strategy["betas"]
    tilts = [world.tilt(reward, beta) for beta in betas]
    rows: list[Rows] = []
    for unit in units:
        context, rng = predictor.encode_prompt(unit.prompt), np.random.default_rng(unit.seed)
        drawn = [world.sample(length, rng, context) for _ in range(DRAWS)]
        row: dict[str, Any] = {
            "betas": betas,
            "mean": world.mean(reward, length, context),
            "log_z": [tilt.log_partition(length, context) for tilt in tilts],
            "log_ps": [world.log_prob(text, context) for text in drawn],
            "rewards": [reward.score(text) for text in drawn],
        }
        rows.append([row])
    return rows


def drawn_ranking_log_prob(
    conditionals: Callable[[list[NDArray[np.int64]]], list[Floats]],
    tokens: NDArray[np.int64],
    commit_step: NDArray[np.int64],
    scale: float = 1.0,
) -> float:
    r"""Return sum_t log P(step t commits words of the text alone), nats, along the path that a decode took.

    Each step draws a word for every mask, ranks them by their probability under softmax(c z), c the scale, and commits
    the first, the leftmost of equals. Its law q sums over the paths that lead to a text. The mean over decodes of this
    number minus log p is at least KL(q || p) (docs/theory.md, T89).

    conditionals: canvases with -1 where masked -> log-probabilities [n, V] each. tokens, commit_step: [n], of a decode.

    >>> fair = lambda canvases: [np.log(np.full((2, 2), 0.5)) for _ in canvases]
    >>> round(float(np.exp(drawn_ranking_log_prob(fair, np.array([0, 1]), np.array([0, 1])))), 6)
    0.25
    """
    steps = np.unique(commit_step)
    canvases = [np.where(commit_step < step, tokens, MASK) for step in steps]
    total = 0.0
    for step, canvas, log_p in zip(steps, canvases, conditionals(canvases), strict=True):
        masked = np.flatnonzero(canvas == MASK)
        total += float(np.log(_all_of_text(log_p[masked], tokens[masked], int((commit_step == step).sum()), scale)))
    return total


def _all_of_text(log_p: Floats, words: NDArray[np.int64], count: int, scale: float) -> float:
    """Return the probability that the `count` best ranked of m drawn words are all words of the text. log_p: [m, V]."""
    value = scale * log_p
    value -= np.logaddexp.reduce(value, axis=1, keepdims=True)
    own = np.take_along_axis(value, words[:, None], 1)[:, 0]
    drawn = np.exp(np.take_along_axis(log_p, words[:, None], 1)[:, 0])
    # below[j, i]: the probability that the word drawn at j ranks behind the text's word at i.
    below = np.empty((len(words), len(words)))
    for j, row in enumerate(value):
        order = np.argsort(row)
        mass = np.concatenate([[0.0], np.cumsum(np.exp(log_p[j, order]))])
        before, upto = (mass[np.searchsorted(row[order], own, side)] for side in ("left", "right"))
        below[j] = np.where(j > np.arange(len(words)), upto, before)
    ranked = np.lexsort((np.arange(len(words)), -own))
    total = 0.0
    for rank in range(count - 1, len(words)):  # of the last one that is committed
        last = ranked[rank]
        # The power of z counts those ahead of it that are committed; the others drew what ranks behind.
        ways = np.ones(1)
        for j in ranked[:rank]:
            ways = np.convolve(ways, [float(below[j, last]), float(drawn[j])])
        total += ways[count - 1] * drawn[last] * np.prod(below[ranked[rank + 1 :], last])
    return min(total, 1.0)
