"""Reward-blind twins: controls that scale the logits as a strategy does, without its text's own reward."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rws_decode.rewards.base import RewardModel
from rws_decode.strategies.factors import Temperature
from rws_decode.strategies.protocol import Abilities, MaskedPositions, Strategy, abilities_of, factor_alone
from rws_theory.show import one_line

# What each twin is, in one sentence; "best of" is followed by its number of texts.
SENTENCES = {
    "confidence": "Confidence decoding, or the strategy's own rule of how many positions go, at factor 1.",
    "fixed factor": "The logits times one number, the mean factor of the same prompt's own run.",
    "one fixed factor": "The logits times one number for all prompts, the mean factor on the validation prompts.",
    "factor by step": "The mean factor of each step on the validation prompts, the same for all prompts.",
    "other prompt's rewards": "The strategy with the rewards that a validation prompt's run had at the same steps.",
    "shuffled rewards": "The strategy with the rewards of its own run, in another order.",
    "sign turned": "The strategy with the reward's sign turned.",
    "tuned fixed factor": "The logits times the number from 0.1 to 32 that had the greatest reward on the validation "
    "prompts.",
    "best of": "Samples in random order, as many as cost the same model calls; the one of greatest reward is taken.",
}
BLIND = ("confidence", "fixed factor", "one fixed factor", "factor by step", "tuned fixed factor")
BLIND += ("other prompt's rewards", "shuffled rewards", "sign turned")
TUNED = np.geomspace(0.1, 32.0, 16)  # the factors that are tried on the validation prompts


@dataclass(frozen=True)
class Twin:
    """A strategy that is given other rewards than those of its text, and may be given other factors than its own.

    rewards: normalised, one tuple per row, or one of all rows; after its last step it goes on with the last. None for
    the text's own with the sign turned. factors: likewise; None for those that the strategy gives by these rewards.

    >>> from rws_decode import RWS
    >>> rule = Twin(RWS(8.0), rewards=((0.0, 3.0),))
    >>> rule.factor(MaskedPositions(step=1, rows=1)).round(3).tolist(), rule.needs_reward
    ([7.808], False)
    """

    strategy: Any
    rewards: tuple[tuple[float, ...], ...] | None = None
    factors: tuple[tuple[float, ...], ...] | None = None
    name = "twin"

    __repr__ = one_line

    @property
    def needs_reward(self) -> bool:
        return self.rewards is None

    @property
    def abilities(self) -> Abilities:
        # What follows from the reward alone is not offered: it would be asked of the text's own.
        return replace(abilities_of(self.strategy), factor_range=False, tensor_factor=False)

    def __getattr__(self, name: str) -> Any:
        """Return the strategy's own method, `factor`, `order` and those of its abilities, of the other rewards."""
        if name.startswith("_") or name == "strategy":
            raise AttributeError(name)
        found = getattr(self.strategy, name)
        if not callable(found):
            return found

        def changed(view: Any, *rest: Any) -> Any:
            if name == "factor" and self.factors is not None:
                return _of_step(self.factors, view)
            return found(self._seen(view) if isinstance(view, MaskedPositions) else view, *rest)

        return changed

    def _seen(self, view: MaskedPositions) -> MaskedPositions:
        if self.rewards is not None:
            return view._replace(reward=_of_step(self.rewards, view))
        return view._replace(reward=None if view.reward is None else -view.reward)


def scaled(
    strategy: Strategy, factors: Sequence[Sequence[float]], rewards: Sequence[Sequence[float]] = ((0.0,),)
) -> Strategy:
    """Return a strategy without its reward: the factors of each row by step, and all else that the strategy does.

    rewards: normalised, what its rules of order and count read in place of the text's own.
    """
    rows = tuple(map(tuple, factors))
    if factor_alone(strategy) and all(len(row) == 1 for row in rows):
        return Temperature(rows[0][0] if len(rows) == 1 else tuple(row[0] for row in rows))
    return cast("Strategy", Twin(strategy, tuple(map(tuple, rewards)), rows))


def fixed_factor(strategy: Strategy, runs: Sequence[Mapping[str, Any]]) -> Strategy:
    """Return a strategy with the mean factor of each run, and the mean of the rewards that it asked for."""
    rewards = [[value for value in run["rewards"] if not math.isnan(value)] or [0.0] for run in runs]
    means = [[float(np.mean(row))] for row in rewards]
    return scaled(strategy, [[float(np.mean(run["factors"]))] for run in runs], means)


class ShuffledScores:
    """A reward model that hands the scores of the texts of one prompt to one another, for methods that keep copies.

    The scores of each call keep their distribution and lose their texts. Where a call has one text of a prompt, that
    keeps its score.
    """

    def __init__(self, reward: RewardModel, seed: int) -> None:
        self.name, self.mean, self.std = f"{reward.name}, shuffled", reward.mean, reward.std
        self.reads_turns = getattr(reward, "reads_turns", False)
        self._reward, self._seed = reward, seed
        self._by_prompt: dict[str, np.random.Generator] = {}  # so that nothing depends on who else is in the batch

    def score(self, prompts: list[Any], answers: list[str]) -> list[float]:
        scores = np.asarray(self._reward.score(prompts, answers), dtype=np.float64)
        keys = [str(prompt) for prompt in prompts]
        for key in dict.fromkeys(keys):
            rng = self._by_prompt.setdefault(key, np.random.default_rng([self._seed, *key.encode()]))
            rows = np.array([row for row, each in enumerate(keys) if each == key])
            scores[rows] = scores[rng.permutation(rows)]
        return [float(score) for score in scores]


def twins_of(
    strategy: Strategy,
    runs: Sequence[Mapping[str, Any]],
    others: Sequence[Mapping[str, Any]],
    known: Mapping[str, Any] | None,
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Return the twins of a strategy's runs on some prompts, by name.

    runs: what each run was, "factors" and "rewards" by step, NaN where none was asked. others: as many runs of other
    prompts. known: "factor", "factors" by step and "tuned", those of the validation prompts; None where the strategy
    does not scale. seeds: of the shuffles, one for each prompt.
    """
    rewards, given = ([np.asarray(run["rewards"], np.float64) for run in each] for each in (runs, others))
    twins: dict[str, Any] = {}
    if known is not None:
        twins["fixed factor"] = fixed_factor(strategy, runs)
        twins["one fixed factor"] = scaled(strategy, [[known["factor"]]])
        twins["factor by step"] = scaled(strategy, [known["factors"]])
        twins["tuned fixed factor"] = scaled(strategy, [[known["tuned"]]])
    twins["other prompt's rewards"] = Twin(strategy, _table(given))
    twins["shuffled rewards"] = Twin(strategy, _table(list(map(shuffled_rewards, rewards, seeds))))
    twins["sign turned"] = Twin(strategy)
    return twins


def by_step(rows: Sequence[Sequence[float]], steps: int) -> NDArray[np.float64]:
    """Return rows of `steps` numbers: one of a run that ended early goes on with its last."""
    return np.array([[row[min(step, len(row) - 1)] for step in range(steps)] for row in rows], np.float64)


def _of_step(rows: Sequence[Sequence[float]], view: MaskedPositions) -> NDArray[np.float64]:
    """Return the number of this step of each row; a single row is that of all."""
    now = [row[min(view.step, len(row) - 1)] for row in rows]
    return np.array(now if len(now) == view.rows else now * view.rows, np.float64)


def _table(rows: Sequence[NDArray[np.float64]]) -> tuple[tuple[float, ...], ...]:
    table = np.nan_to_num(by_step([row.tolist() for row in rows], max(map(len, rows))))
    return tuple(map(tuple, table.tolist()))


def shuffled_rewards(rewards: NDArray[np.float64], seed: int | Sequence[int]) -> NDArray[np.float64]:
    """Return rewards in another order, those that were asked among the steps that asked."""
    mixed, scored = rewards.copy(), ~np.isnan(rewards)
    mixed[scored] = np.random.default_rng(seed).permutation(rewards[scored])
    return mixed
