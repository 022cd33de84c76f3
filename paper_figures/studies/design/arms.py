"""Build the arms of a comparison: the same prompts answered by RWS and by every control, all judged.

RWS runs at given reward scales. Units run in three stages:

1. rws.
2. The other arms. `constant` takes the mean factor of the prompt's own rws run. `shuffled` takes the normalised rewards
   of that run, permuted over the steps. The others are `flipped`, `random`, `default`, `margin`, and samples for
   `best-of-n`.
3. The measures. Every judge scores each different text once, and so does the causal model if there is one.

A unit names the numbers that it was given, so it can be computed alone.

An answer has the labels of its prompt, and these:

- `method`; `split`, test or validation; `turn` of a dialogue, from 0;
- `guide`, the reward model that it is about, and `reward_scale`, s_R; both are None if neither matters (default,
  margin, samples);
- `sample`, the number of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.methods import COMPARED, FROM_RWS, METHODS, numbers_of, seed_of, strategy_of
from paper_figures.studies.design.prompts import Prompt
from paper_figures.studies.design.stages import Stages
from paper_figures.table import records

_MOST_SAMPLES = 16


@dataclass(frozen=True)
class Arms:
    """What is decoded and how it is judged.

    - `base` holds what all answers share: experiment, predictor, shape, ranking, device, seed, and settings. The
      setting `reward_cost` is what a reward call costs in forwards.
    - `scales` maps a guide to its reward scales.
    - `judges` are reward models that score every answer, besides the guides.
    - `causal` is the model for perplexity, or None.
    - `methods` are some of COMPARED; "rws" and "default" always run.
    - `every` asks for further runs of RWS, which ask the reward at every N-th step.
    - `traced` names methods whose traces are kept; the setting `traces` keeps all.
    """

    base: Unit
    prompts: tuple[Prompt, ...]
    scales: Mapping[str, tuple[float, ...]]
    judges: tuple[str, ...] = ()
    causal: str | None = None
    methods: tuple[str, ...] = COMPARED
    sampling_temperature: float = 1.0
    every: tuple[int, ...] = ()
    traced: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, float], ...]:
        """Return every guide with each of its reward scales."""
        return tuple((guide, scale) for guide, scales in self.scales.items() for scale in scales)

    @property
    def scorers(self) -> tuple[str, ...]:
        """Return every reward model that scores the answers, the guides first."""
        return tuple(dict.fromkeys([*self.scales, *self.judges]))

    def base_of(self, method: str) -> Unit:
        """Return the unit that holds what all answers of a method share."""
        kept = method in self.traced
        return replace(self.base, settings={**self.base.settings, "traces": True}) if kept else self.base


def run_arms(arms: Arms, stages: Stages, prefix: str = "") -> None:
    """Run, resume or reuse all stages of the arms; a dialogue runs one turn after another.

    Every method goes on with its own answers. If a unit of a dialogue fails, the dialogue ends there for that method.
    `prefix` begins the names of the stages, so that one run can hold several sets of arms.
    """
    histories: dict[tuple[Any, ...], tuple[str, ...]] = {}
    answers = []
    for turn in range(max(len(prompt.turns) for prompt in arms.prompts)):
        current_turn = _Turn(arms, turn, histories)
        rws = stages.run(f"{prefix}rws {turn}", current_turn.guided())
        answers += [rws, stages.run(f"{prefix}others {turn}", current_turn.others(rws))]
        for row in records(pd.concat(answers[-2:])):
            histories[_key(row, row["example"])] = (*row["history"], row["prompt"], row["text"])
    stages.run(f"{prefix}measures", measures_of(arms.base, pd.concat(answers), arms.scorers, arms.causal))


def answer_unit(
    base: Unit,
    prompt: Prompt,
    method: str,
    guide: str | None = None,
    scale: float | None = None,
    *,
    turn: int = 0,
    history: tuple[str, ...] = (),
    labels: Mapping[str, Any] | None = None,
    numbers: Mapping[str, Any] | None = None,
) -> Unit:
    """Return the unit of one answer.

    `numbers` are those of a strategy that needs more than the reward scale.
    """
    strategy, reward = strategy_of(method, guide, scale, numbers or {})
    answer_labels = {"method": method, "guide": guide, "reward_scale": scale, "split": "test", "turn": turn}
    return replace(
        base,
        prompt=prompt.turns[turn],
        history=history,
        example=prompt.name,
        strategy=strategy,
        reward=reward,
        labels={**prompt.labels, **answer_labels, **(labels or {})},
    )


def _key(labels: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """Return the key that tells the dialogues of a prompt apart.

    A column's missing value becomes None.
    """
    values = [labels.get(column) for column in ("method", "guide", "reward_scale", "sample")]
    return (*(None if value != value else value for value in values), name)


@dataclass(frozen=True)
class _Turn:
    """One turn of all prompts; `histories` holds the texts of each dialogue so far."""

    arms: Arms
    turn: int
    histories: Mapping[tuple[Any, ...], tuple[str, ...]]

    def units(
        self,
        method: str,
        guide: str | None = None,
        scale: float | None = None,
        numbers: Callable[[str], Mapping[str, Any] | None] = lambda name: {},
        **labels: Any,
    ) -> list[Unit]:
        """Return the units of a method.

        `numbers` takes a prompt's name and returns the numbers of the strategy; None means that there is no unit.
        """
        key = {"method": method, "guide": guide, "reward_scale": scale, **labels}
        units = []
        for prompt in self.arms.prompts:
            history = () if self.turn == 0 else self.histories.get(_key(key, prompt.name))
            strategy_numbers = numbers(prompt.name)
            if self.turn < len(prompt.turns) and history is not None and strategy_numbers is not None:
                options: dict[str, Any] = {
                    "turn": self.turn,
                    "history": history,
                    "labels": labels,
                    "numbers": strategy_numbers,
                }
                units.append(answer_unit(self.arms.base_of(method), prompt, method, guide, scale, **options))
        return units

    def guided(self) -> list[Unit]:
        """Return the units of rws."""
        return [unit for guide, scale in self.arms.pairs for unit in self.units("rws", guide, scale)]

    def others(self, rws: pd.DataFrame) -> list[Unit]:
        """Return the units of every other method, some of which need the rows of rws."""
        arms, base, units = self.arms, self.arms.base, []
        for guide, scale in arms.pairs:
            rows = [row for row in records(rws) if (row["guide"], row["reward_scale"]) == (guide, scale)]
            runs = {row["example"]: row for row in rows}
            for method, line in METHODS.items():
                if line.scaled and method != "rws" and method in arms.methods:
                    units += self.units(method, guide, scale, partial(_numbers, method, scale, base, runs))
            for every in arms.every:
                units += self.units(f"rws every {every}", guide, scale, lambda name, every=every: {"every": every})
        units += self.units("default")
        if "margin" in arms.methods:
            units += self.units("margin")
        return units + (self.samples(rws) if "best-of-n" in arms.methods and len(rws) else [])

    def samples(self, rws: pd.DataFrame) -> list[Unit]:
        """Return the units of the samples for best-of-n: as many as the most expensive rws run buys.

        For a dialogue, the runs of its first turn count.
        """
        # Costs differ by turn, so the first turn decides. Every sample then goes on through all turns.
        count = _MOST_SAMPLES if self.turn else max(best_of(rows) for _, rows in rws.groupby(["guide", "reward_scale"]))
        sample_units = [unit for number in range(count) for unit in self.units("sample", sample=number)]
        temperature = self.arms.sampling_temperature
        return [
            replace(
                unit,
                sampling_temperature=temperature,
                seed=seed_of(self.arms.base, unit.example, f"sample {unit.labels['sample']}"),
            )
            for unit in sample_units
        ]


def _numbers(
    method: str, scale: float, base: Unit, runs: Mapping[str, Mapping[str, Any]], name: str
) -> dict[str, Any] | None:
    """Return a method's numbers for one prompt; None if they need the prompt's run of rws and that run failed."""
    missing = method in FROM_RWS and name not in runs
    return None if missing else numbers_of(method, scale, base, name, runs.get(name))


def measures_of(base: Unit, answers: pd.DataFrame, scorers: Sequence[str], causal: str | None) -> list[Unit]:
    """Return the units that score each different answer: once by every scorer, and once by the causal model."""
    kept = {name: value for name, value in base.settings.items() if name in ("reward_device", "reward_dtype")}
    plain = replace(base, predictor=None, reward=None, seed=0, settings=kept, labels={})
    texts = {(row["prompt"], tuple(row["history"]), row["text"]): None for row in answers.to_dict("records")}
    units = []
    for prompt, history, text in texts:
        unit = replace(plain, prompt=prompt, history=history, example="", labels={"answer": text})
        units += [replace(unit, strategy={"name": "score"}, judges=(scorer,)) for scorer in scorers]
        if causal is not None:
            units.append(replace(unit, strategy={"name": "perplexity"}, causal=causal))
    return units


def best_of(rows: pd.DataFrame) -> int:
    """Return N such that N samples cost about as much as these rows of rws cost on average, from 2 to 16.

    A sample costs its forwards and one reward call, that of its answer. The best of one sample is no choice, so N is 2
    where one would cost as much; the tables print N and the cost.
    """
    weight = float(rows["reward_cost"].iloc[0])
    cost = float((rows["forwards"] + weight * rows["reward_calls"]).mean())
    return min(_MOST_SAMPLES, max(2, round(cost / (float(rows["steps"].iloc[0]) + weight))))
