"""`ablate`: decode prompts by a strategy and by its reward-blind twins until it is decided what the reward does."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

import numpy as np

from rws_decode.ablation.arms import Load, Models, Task, run_tasks
from rws_decode.ablation.leverage import measure_leverage
from rws_decode.ablation.result import Ablation, AblationRows, compared
from rws_decode.ablation.sequence import least_prompts
from rws_decode.ablation.twins import BLIND, TUNED, by_step, fixed_factor, scaled, twins_of
from rws_decode.ablation.verdict import WITHOUT
from rws_decode.job import Prompts, as_prompts, check_arguments
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Savings, Shape
from rws_decode.steering import is_method, steering
from rws_decode.strategies.protocol import Strategy, describe, factor_alone, gives_factor, gives_order
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.labels import strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import finite, one_of, whole
from rws_theory.show import quoted

__all__ = ["ablate"]

AblationBudget = Literal["prompts", "forwards", "reward_calls", "seconds"]
_OPTIONS, _SAVINGS = Options(), Savings()
_EXAMPLES = 3  # pairs of texts on the page
_LEVERAGE = 4  # validation prompts whose steps are looked at


def ablate(
    predictor: MaskPredictor,
    prompts: Prompts,
    strategy: Strategy | str = "rws:8",
    shape: Shape | None = None,
    *,
    reward: RewardModel | Callable[..., float],
    judge: RewardModel | Callable[..., float] | None = None,
    margin: float = 0.1,
    level: float = 0.95,
    bound: float = 3.0,
    until: Literal["decided"] | int = "decided",
    groups: Sequence[Hashable] | None = None,
    validation: int | None = None,
    budget: float | None = None,
    budget_of: AblationBudget = "prompts",
    batch: int = 8,
    options: Options = _OPTIONS,
    savings: Savings = _SAVINGS,
    seed: int = 0,
    directory: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    load: Load | None = None,
) -> Ablation:
    """Say whether guided decoding uses what the reward says, or a fixed temperature would have done the same.

    The strategy and its twins (`twins.SENTENCES`) decode the prompts, in a random order by `seed`. Most twins scale the
    logits as much, but not by what the reward says of the text: by a fixed factor, by another prompt's rewards, by the
    strategy's own rewards shuffled over the steps. The difference of the final texts' reward, strategy minus
    twin on the same prompt, gets a confidence sequence for each twin (`sequence.confidence_sequence`). All of these
    hold at once and at all times with probability `level`, so that decoding may stop as soon as the verdict
    (`verdict.verdict_of`) is decided. Those of the judge, and those of log p, hold so among themselves.

    strategy: one that reads the reward, also one of your own, or a steering method such as "particles:4", whose twin
    has the scores of its copies shuffled among them. reward: a reward model, or a plain function of (prompt, answer) or
    of the answer, which is normalised by mean and SD of its scores of confidence decodes. judge: a second reward that
    no decode reads; it gets a verdict of its own. Differences are in SD of the reward over the confidence texts of the
    validation prompts, and count as `bound` at most. margin: the difference that matters, in the same unit.

    validation: how many prompts serve to measure SD, mean factors and the tuned fixed factor, and are not compared: a
    fifth, from 8 to 32, unless told. groups: one label for each prompt; prompts of one label are one unit, whose mean
    counts. until: "decided", or how many units to compare. budget: no batch is begun once it is spent; of prompts,
    forwards, reward calls or seconds. batch: units that are decoded together, after which the verdict is looked at.

    directory: what is decoded is kept there, line by line; the same call goes on where it was stopped. progress: is
    told what it will cost and how far it is, in lines. seed: of order, shuffles and samples.

    executor: of processes or machines, such as a `ProcessPoolExecutor` or Dask's `client.get_executor()`; each arm of a
    batch is a task there. load: returns predictor, reward and judge in those processes, equal to the ones given; a
    function at the top of a module, or a frozen dataclass that is called.

    ValueError for a strategy that reads no reward, a reward that scores all texts alike, fewer prompts than decide
    anything, and as in `decode.decode`.

    >>> from rws_decode import Shape, load_predictor
    >>> english = load_predictor("english")
    >>> result = ablate(english, english.prompts[:14], "rws:8", Shape(4, 2, 4), reward=lambda s: len(s), validation=4)
    >>> result.verdict, result.comparisons[0].twin
    ('undecided', 'confidence')
    """
    check_arguments(predictor, options, shape, savings)
    finite("level", level, above=0, below=1)
    finite("bound", bound, above=0)
    finite("margin", margin, above=0, below=bound)
    if budget is not None:
        finite("budget", budget, above=0)
    one_of("budget_of", budget_of, get_args(AblationBudget))
    whole("batch", batch)
    if (executor is None) != (load is None):
        raise ValueError("executor and load: give both, or neither")
    elsewhere = None if executor is None or load is None else (executor, load)
    if until != "decided":
        whole("until", until)
    texts = as_prompts(prompts)
    units = _units(texts, groups, seed)
    if validation is None:
        validation = min(32, max(8, len(texts) // 5))
    whole("validation", validation, 2)
    split = next((n for n in range(len(units)) if sum(map(len, units[:n])) >= validation), len(units))
    chosen = [row for unit in units[:split] for row in unit]
    models = Models.of(predictor, reward, judge, None)
    trial = Trial(models, texts, chosen, strategy, shape, options, savings, seed, directory, elsewhere)
    corrected = 1 - (1 - level) / len(trial.twins)  # all intervals hold at once
    least = least_prompts(margin, corrected, bound)
    if len(units) - split < least:
        raise ValueError(
            f"prompts are {len(texts)}, in {len(units)} units: {split} of these are for validation, and {least} more, "
            "at the least, decide anything"
        )
    known = trial.validate()
    settings = {"margin": margin, "level": level, "corrected": corrected, "bound": bound}
    settings |= {"blind": [name for name in trial.twins if name in BLIND]}
    tell = progress or (lambda line: None)
    rest = units[split:] if until == "decided" else units[split:][:until]
    result = None
    for begin in range(0, len(rest), batch):
        if begin and budget is not None and trial.spent(budget_of, sum(map(len, rest[:begin]))) >= budget:
            break
        began, rows = time.perf_counter(), [row for unit in rest[begin : begin + batch] for row in unit]
        trial.compare(rows, known)
        if begin == 0:
            tell(trial.cost_line(rows, sum(map(len, rest)), time.perf_counter() - began))
        result = compared(trial.rows, rest[: begin + batch], trial.about(known), settings)
        tell(result.progress_line())
        if until == "decided" and result.verdict != "undecided":
            break
    assert result is not None
    return trial.with_looks(result, known)


class Trial:
    """The decodes of an ablation: what was decoded before is read from its directory, and all else decoded once."""

    def __init__(
        self,
        models: Models,
        texts: Sequence[Any],
        validation: Sequence[int],
        strategy: Strategy | str,
        shape: Shape | None,
        options: Options,
        savings: Savings,
        seed: int,
        directory: str | os.PathLike[str] | None,
        elsewhere: tuple[Executor, Load] | None,
    ) -> None:
        self.models, self.texts, self.validation, self.seed = models, texts, validation, seed
        self.shape, self.options, self.savings = shape, options, savings
        self.elsewhere, self.tried = elsewhere, TUNED  # fixed factors
        self.measured: tuple[float, float] | None = None
        self.twins: list[str] = list(BLIND)
        self.method = strategy if isinstance(strategy, str) and is_method(strategy) else None
        if self.method is not None:
            steering(f"strategy is {strategy}").check_method(strategy, "strategy", shuffles=True)
            self.label, self.twins = self.method, [WITHOUT, "shuffled rewards"]
            self.strategy: Any = None
        else:
            self.strategy = as_strategy(strategy, seed=seed)
            if not self.strategy.needs_reward:
                raise ValueError(f"strategy is {quoted(strategy)}: it reads no reward, give one such as 'rws:8'")
            self.label = strategy if isinstance(strategy, str) else strategy_label(describe(self.strategy))
        ranks_by_factor = gives_factor(self.strategy) and not gives_order(self.strategy)
        self.without: Any = scaled(self.strategy, [[1.0]]) if ranks_by_factor else "default"
        if self.method is None or not self.method.startswith("best-of"):
            self.twins.append("best of")
        resolved = (shape or Shape()).resolved()
        settings = [
            self.method or describe(self.strategy),
            re.sub(" at 0x[0-9a-f]+", "", repr(self.strategy)),
            models.predictor.name,
            models.reward.name,
        ]
        if models.function is None:
            settings += [models.reward.mean, models.reward.std]  # they decide the factors
        settings += [getattr(models.judge, "name", None), asdict(resolved), asdict(options), seed, validation]
        settings += [[str(text) for text in texts]]
        self.rows = AblationRows(directory, hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()[:16])
        self.notes: list[str] = []
        self.began = time.perf_counter()

    def validate(self) -> dict[str, Any]:
        """Decode the validation prompts; return the SD of each score, and what the twins are made from."""
        rows = self.validation
        there = all(self.rows.has(row, WITHOUT) for row in rows)
        first = self._decoded(rows, {WITHOUT: self.without})[WITHOUT]
        scores = np.array([each["reward"] for each in first])
        name = self.models.reward.name
        if np.ptp(scores) == 0:
            raise ValueError(
                f"reward {name} is {scores[0]:g} for all confidence texts of {len(rows)} prompts: one that tells texts "
                "apart is needed"
            )
        if self.models.function is not None:
            mean, sd = self.measured = float(scores.mean()), float(scores.std())
            self.models = Models.of(self.models.predictor, self.models.function, self.models.judge, self.measured)
            self.notes.append(f"Reward {name}: mean {mean:.3g} and SD {sd:.3g} over {len(rows)} confidence texts.")
        prompts, tokens = [self.texts[row] for row in rows], [each["tokens"] for each in first]
        again = self.models.scored(self.models.reward, prompts, tokens)
        if (moved := np.abs(np.array(again) - scores).max()) > 1e-6 * scores.std():
            if there and self.models.scored(self.models.reward, prompts, tokens) == again:
                raise ValueError(f"reward {name} scores texts in the directory otherwise: give a directory of its own")
            self.notes.append(f"Reward {name}: two calls on one text differ by {moved:.3g}.")
        known: dict[str, Any] = {"sd": {"reward": float(scores.std())}, "scales": None}
        for name in ("judge", "log_prob"):
            values = [each[name] for each in first if each[name] is not None]
            if len(values) == len(rows) and np.ptp(values) > 0:
                known["sd"][name] = float(np.std(values))
        runs = self._decoded(rows, {"strategy": self.method or self.strategy})["strategy"]
        if self.method is None:
            factors = by_step([run["factors"] for run in runs], max(len(run["factors"]) for run in runs))
            if (factors != 1.0).any():
                tried = {f"factor {factor:.4g}": factor for factor in self.tried.tolist()}
                found = self._decoded(rows, {arm: scaled(self.strategy, [[factor]]) for arm, factor in tried.items()})
                best = max(tried, key=lambda arm: np.mean([each["reward"] for each in found[arm]]))
                known["scales"] = {"factor": float(factors.mean()), "factors": factors.mean(axis=0).tolist()}
                known["scales"]["tuned"] = tried[best]
            else:
                self.twins = [name for name in self.twins if "factor" not in name]
        calls = np.mean([run["forwards"] + run["reward_calls"] for run in runs])
        alone = np.mean([each["forwards"] + 1 for each in first])  # a sample of best-of is scored once
        known["best of"] = max(2, round(float(calls / alone)))
        return known

    def compare(self, rows: Sequence[int], known: dict[str, Any]) -> None:
        """Decode prompts by the strategy and all twins."""
        runs = self._decoded(rows, {"strategy": self.method or self.strategy})["strategy"]
        made: dict[str, Any] = {WITHOUT: self.without}
        if self.method is None:
            # Of the validation prompts, so that what was compared before has no part in a difference.
            donors = [int(np.random.default_rng([self.seed, row]).choice(self.validation)) for row in rows]
            others = [self.rows.get(donor, "strategy") for donor in donors]
            seeds = [self.seed + 7919 * (row + 1) for row in rows]
            made |= twins_of(self.strategy, runs, others, known["scales"], seeds)
        else:
            made["shuffled rewards"] = self.method
        if "best of" in self.twins:
            made["best of"] = f"best-of:{known['best of']}"
        self._decoded(rows, {name: made[name] for name in self.twins})

    def _decoded(self, rows: Sequence[int], arms: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Return scores and cost of each prompt's text by each arm; texts that are stored are not decoded again.

        The prompts of one arm are decoded together.
        """
        tasks = [
            self._task(arm, rows, how) for arm, how in arms.items() if not all(self.rows.has(row, arm) for row in rows)
        ]
        try:
            run_tasks(tasks, self.models, self.elsewhere, self.rows.add)
        except Exception as error:
            message = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise ValueError(f"{' '.join(message.split())}; {self.rows.kept()}") from error
        return {arm: [self.rows.get(row, arm) for row in rows] for arm in arms}

    def _task(self, arm: str, rows: Sequence[int], how: Any) -> Task:
        prompts = tuple(self.texts[row] for row in rows)
        return Task(arm, tuple(rows), prompts, how, self.shape, self.options, self.savings, self.seed, self.measured)

    def about(self, known: dict[str, Any]) -> dict[str, Any]:
        """Return what `result.compared` is to know of the trial."""
        twins = {name: f"best of {known['best of']}" if name == "best of" else name for name in self.twins}
        judge = None if self.models.judge is None else self.models.judge.name
        noted = dict.fromkeys(row["note"] for row in self.rows if row.get("note"))
        facts = {"label": self.label, "reward": self.models.reward.name, "judge": judge, "prompts": len(self.texts)}
        return facts | {"twins": twins, "sd": known["sd"], "notes": [*self.notes, *noted], "digest": self.rows.digest}

    def leverage(self, known: dict[str, Any]) -> dict[str, float] | None:
        """Return at which share of the validation prompts' steps a factor decides what is unmasked.

        None where nothing is scaled, and where a step's logits do not follow from its canvas, or what it unmasks from
        more than its confidences.
        """
        options = self.options
        alone = options.key_cache == "none" and options.ranking == "log-odds" and options.end_of_text == "none"
        if known["scales"] is None or options.sampling_temperature > 0 or not alone or not factor_alone(self.strategy):
            return None
        rows = self.validation[:_LEVERAGE]
        runs = [self.rows.get(row, "strategy") for row in self.validation]
        traces = self._task("strategy", rows, self.strategy).traces(self.models)
        return measure_leverage(self.models.predictor, traces, [factor for run in runs for factor in run["factors"]])

    def with_looks(self, result: Ablation, known: dict[str, Any]) -> Ablation:
        """Return a result with leverage and pairs of runs; a note in their place where the decodes for them fail."""
        try:
            examples, name = self.examples(known)
            return replace(result, leverage=self.leverage(known), examples=examples, examples_of=name)
        except Exception as error:
            note = f"No leverage and no pairs of texts: {type(error).__name__}: {' '.join(str(error).split())}"
            return replace(result, notes=(*result.notes, note))

    def examples(self, known: dict[str, Any]) -> tuple[tuple[tuple[Trace, Trace], ...], str]:
        """Return the runs of the first prompts whose text by a twin is another, decoded again, and the twin's name."""
        twin = "fixed factor" if known["scales"] is not None else self.twins[0]
        rows = [row["prompt"] for row in self.rows if row["arm"] == twin and row["prompt"] not in self.validation]
        differ = [row for row in rows if self.rows.get(row, twin)["tokens"] != self.rows.get(row, "strategy")["tokens"]]
        pairs = []
        for row in differ[:_EXAMPLES]:
            run = self.rows.get(row, "strategy")
            how = self.without if twin == WITHOUT else fixed_factor(self.strategy, [run])
            mine = self._task("strategy", [row], self.method or self.strategy).traces(self.models)
            pairs.append((mine[0], self._task(twin, [row], how).traces(self.models)[0]))
        return tuple(pairs), twin

    def spent(self, unit: AblationBudget, compared: int) -> float:
        """Return what the ablation took so far; compared: the prompts compared."""
        if unit == "prompts":
            return compared
        return time.perf_counter() - self.began if unit == "seconds" else self.rows.total(unit)

    def cost_line(self, rows: Sequence[int], planned: int, seconds: float) -> str:
        """Return what all prompts would cost at most, from what the first of them took."""
        done = [self.rows.get(row, arm) for row in rows for arm in ("strategy", *self.twins)]
        each = planned / len(rows)
        forwards, calls = (each * sum(row[unit] for row in done) for unit in ("forwards", "reward_calls"))
        return (
            f"at most {planned} prompts by {len(self.twins) + 1} methods: about {forwards:,.0f} forwards, "
            f"{calls:,.0f} reward calls, {math.ceil(each * seconds / 60)} min"
        )


def _units(texts: Sequence[Any], groups: Sequence[Hashable] | None, seed: int) -> list[list[int]]:
    """Return the numbers of the prompts of each unit, units in a random order by the seed."""
    labels: Sequence[Hashable] = range(len(texts)) if groups is None else list(groups)
    if len(labels) != len(texts):
        raise ValueError(f"groups are {len(labels)}: a label for each of {len(texts)} prompts is needed")
    units: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        units.setdefault(label, []).append(row)
    listed = list(units.values())
    return [listed[place] for place in np.random.default_rng(seed).permutation(len(listed))]
