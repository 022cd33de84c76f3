"""How far a sampler's distribution q lies from an exact model's p: both KL divergences, text by text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval, mean_interval
from rws_decode.decode import decode
from rws_decode.predictors.world import WorldPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Shape
from rws_theory.checks import whole

_DRAWN = Options(sampling_temperature=1.0, drawing="commit")


@dataclass(frozen=True)
class SamplerDivergence:
    """Differences of log-probabilities in nats, and forwards, float64 [prompts, draws].

    world: log p - log q of texts that the model samples; sampler: log q - log p of texts that the sampler samples. inf
    where the other one cannot write the text. forwards: those that the sampler took for each of its texts.
    """

    world: NDArray[np.float64]
    sampler: NDArray[np.float64]
    forwards: NDArray[np.float64]

    def __repr__(self) -> str:
        count, draws = self.world.shape
        return (
            f"SamplerDivergence({count} prompts, {draws} texts each, KL(p || q) {self.world.mean():z.2f}, "
            f"KL(q || p) {self.sampler.mean():z.2f} nats)"
        )

    def interval(self, values: NDArray[np.float64], level: float = 0.95) -> Interval:
        """Return the mean of `world` or `sampler` with its interval over prompts (`mean_interval`)."""
        return mean_interval(values.mean(axis=1), level)


def sampler_divergence(
    predictor: WorldPredictor,
    prompts: Sequence[str],
    strategy: str,
    shape: Shape,
    *,
    draws: int,
    rng: np.random.Generator,
    reward: RewardModel | Callable[..., float] | None = None,
    options: Options = _DRAWN,
) -> SamplerDivergence:
    """Return how far the distribution q of a sampler lies from the distribution p of an exact model after each prompt.

    KL(p || q) = E_p[log p - log q] and KL(q || p) = E_q[log q - log p], each the mean over `draws` texts a prompt, so
    without bias. log q is `strategy_log_prob`'s, log p the model's. One word a step gives 0 for both (T65, T85). Where
    a strategy samples positions, each text has a seed of its own. Then each mean is over distributions given positions,
    at least the divergence of their mixture. The same `rng` gives the same texts.

    >>> from rws_decode import load_predictor
    >>> rng = np.random.default_rng(0)
    >>> sampler_divergence(load_predictor("english"), ["peace"], "default", Shape(4, 4, 4), draws=3, rng=rng)
    SamplerDivergence(1 prompts, 3 texts each, KL(p || q) 0.00, KL(q || p) 0.00 nats)
    """
    whole("draws", draws)
    from rws_decode.extra.log_prob import strategy_log_prob

    contexts = [predictor.encode_prompt(prompt) for prompt in prompts for _ in range(draws)]
    every = [prompt for prompt in prompts for _ in range(draws)]
    options = replace(options, seed=tuple(rng.integers(2**31, size=len(every)).tolist()))
    drawn = np.stack([predictor.world.sample(shape.length, rng, context=context) for context in contexts])
    traces = decode(predictor, every, strategy, shape, reward=reward, options=options)
    written, forwards = np.stack([trace.tokens for trace in traces]), np.array([float(t.forwards) for t in traces])

    def log_ratio(texts: NDArray[Any]) -> NDArray[np.float64]:
        log_q = strategy_log_prob(predictor, every, texts, strategy, shape, reward=reward, options=options).log_prob
        pairs = zip(texts, contexts, strict=True)
        log_p = np.array([predictor.world.log_prob(text, context=context) for text, context in pairs])
        return (log_p - log_q).reshape(len(prompts), draws)

    return SamplerDivergence(log_ratio(drawn), -log_ratio(written), forwards.reshape(len(prompts), draws))
