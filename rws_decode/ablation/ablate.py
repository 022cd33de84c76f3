"""`ablate`: decode prompts by a strategy and by its reward-blind twins until it is decided what the reward does."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

import numpy as np

from rws_decode.ablation.leverage import leverage
from rws_decode.ablation.result import Ablation, AblationRows, compared
from rws_decode.ablation.sequence import least_prompts
from rws_decode.ablation.twins import TUNED, ShuffledScores, by_step, scaled, twins_of
from rws_decode.ablation.verdict import WITHOUT
from rws_decode.decode import decode
from rws_decode.final_text import outcomes
from rws_decode.job import Prompts, as_prompts, check_arguments, encode_prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.callable import CallableReward, as_reward
from rws_decode.settings import Options, Savings, Shape
from rws_decode.steering import is_method, steering
from rws_decode.strategies.protocol import Strategy, describe, gives_factor, gives_order
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.labels import constant_note, strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import finite, one_of, whole
from rws_theory.show import quoted

__all__ = ["ablate"]

AblationBudget = Literal["prompts", "forwards", "reward_calls", "seconds"]
_OPTIONS, _SAVINGS = Options(), Savings()
_EXAMPLES = 3  # pairs of texts on the page
_LEVERAGE = 4  # validation prompts whose steps are looked at
_BLIND = (WITHOUT, "fixed factor", "one fixed factor", "factor by step", "tuned fixed factor")
_BLIND += ("other prompt's rewards", "shuffled rewards", "sign turned")


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
) -> Ablation:
    """Say whether guided decoding uses what the reward says, or a fixed temperature would have done the same.

    The prompts, in an order drawn from `seed`, are decoded by the strategy and by its twins (`twins.SENTENCES`), which
    have all that it does to the logits and not what the reward says of the text: a fixed factor, the rewards of another
    prompt, its own rewards shuffled over the steps, and others. Of each twin the difference of the final texts' reward,
    strategy minus twin on the same prompt, gets a confidence sequence (`sequence.confidence_sequence`). All of them
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

    ValueError for a strategy that reads no reward, a reward that scores all texts alike, fewer prompts than decide
    anything, and as in `decode.decode`.

    >>> from rws_decode import Shape, load_predictor
    >>> english = load_predictor("english")
    >>> result = ablate(english, english.prompts[:40], "rws:8", Shape(8, 4, 8), reward=lambda text: text.count("the"))
    >>> result.verdict, result.comparisons[0].twin
    ('undecided', 'confidence')
    """
    check_arguments(predictor, options, shape, savings)
    finite("margin", margin, above=0, below=bound)
    one_of("budget_of", budget_of, get_args(AblationBudget))
    whole("batch", batch)
    if until != "decided":
        whole("until", until)
    texts = as_prompts(prompts)
    units = _units(texts, groups, seed)
    if validation is None:
        validation = min(32, max(8, len(texts) // 5))
    whole("validation", validation, 2)
    split = next((n for n in range(len(units)) if sum(map(len, units[:n])) >= validation), len(units))
    chosen = [row for unit in units[:split] for row in unit]
    trial = Trial(predictor, texts, chosen, strategy, shape, reward, judge, options, savings, seed, directory)
    corrected = 1 - (1 - level) / len(trial.twins)  # all intervals hold at once
    least = least_prompts(margin, corrected, bound)
    if len(units) - split < least:
        raise ValueError(
            f"prompts are {len(texts)}, in {len(units)} units: {split} of these are for validation, and {least} more, "
            "at the least, decide anything"
        )
    known = trial.validate()
    settings = {"margin": margin, "level": level, "corrected": corrected, "bound": bound}
    settings |= {"blind": [name for name in trial.twins if name in _BLIND]}
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
    examples, name = trial.examples(known)
    return replace(result, leverage=trial.leverage(known), examples=examples, examples_of=name)


class Trial:
    """The decodes of an ablation: what was decoded before is read from its directory, and all else decoded once."""

    def __init__(
        self,
        predictor: MaskPredictor,
        texts: Sequence[Any],
        validation: Sequence[int],
        strategy: Strategy | str,
        shape: Shape | None,
        reward: RewardModel | Callable[..., float],
        judge: RewardModel | Callable[..., float] | None,
        options: Options,
        savings: Savings,
        seed: int,
        directory: str | os.PathLike[str] | None,
    ) -> None:
        self.predictor, self.texts, self.validation, self.shape, self.seed = predictor, texts, validation, shape, seed
        self.options, self.savings = options, savings
        made = as_reward(reward, predictor.name)
        if made is None:
            raise ValueError("reward is None: the reward that the strategy reads is needed, a model or a function")
        self.function: Any = None if made is reward else reward  # without mean and SD
        self.reward, self.judge = made, as_reward(judge, predictor.name)
        self.twins: list[str] = list(_BLIND)
        self.method = strategy if isinstance(strategy, str) and is_method(strategy) else None
        if self.method is not None:
            steering(f"strategy is {strategy}").check_method(strategy, "strategy")
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
        settings = [self.method or describe(self.strategy), predictor.name, self.reward.name]
        settings += [getattr(self.judge, "name", None), asdict(resolved), asdict(options), seed, validation]
        settings += [[str(text) for text in texts]]
        self.rows = AblationRows(directory, hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()[:16])
        self.notes: list[str] = []
        self.began = time.perf_counter()

    def validate(self) -> dict[str, Any]:
        """Decode the validation prompts; return the SD of each score, and what the twins are made from."""
        rows = self.validation
        first = self._decoded(WITHOUT, rows, self.without)
        scores = np.array([each["reward"] for each in first])
        if np.ptp(scores) == 0:
            raise ValueError(
                f"reward {self.reward.name} is {scores[0]:g} for all confidence texts of {len(rows)} prompts: one that "
                "tells texts apart is needed"
            )
        if self.function is not None:
            mean, sd = float(scores.mean()), float(scores.std())
            self.reward = CallableReward(self.function, mean, sd, self.reward.name)
            self.notes.append(
                f"Reward {self.reward.name}: mean {mean:.3g} and SD {sd:.3g} over {len(rows)} confidence texts."
            )
        again = self._scored(self.reward, rows, [each["tokens"] for each in first])
        if (moved := np.abs(np.array(again) - scores).max()) > 1e-6 * scores.std():
            self.notes.append(f"Reward {self.reward.name}: two calls on one text differ by {moved:.3g}.")
        known: dict[str, Any] = {"sd": {"reward": float(scores.std())}, "scales": None}
        for name in ("judge", "log_prob"):
            values = [each[name] for each in first if each[name] is not None]
            if len(values) == len(rows) and np.ptp(values) > 0:
                known["sd"][name] = float(np.std(values))
        runs = self._decoded("strategy", rows, self.method or self.strategy)
        if self.method is None:
            factors = by_step([run["factors"] for run in runs], max(len(run["factors"]) for run in runs))
            if (factors != 1.0).any():
                means: dict[float, float] = {}
                for factor in TUNED.tolist():
                    tried = self._decoded(f"factor {factor:.4g}", rows, scaled(self.strategy, [[factor]]))
                    means[factor] = float(np.mean([each["reward"] for each in tried]))
                known["scales"] = {"factor": float(factors.mean()), "factors": factors.mean(axis=0).tolist()}
                known["scales"]["tuned"] = max(means, key=lambda factor: means[factor])
            else:
                self.twins = [name for name in self.twins if "factor" not in name]
        calls = np.mean([run["forwards"] + run["reward_calls"] for run in runs])
        alone = np.mean([each["forwards"] + 1 for each in first])  # a sample of best-of is scored once
        known["best of"] = max(2, round(float(calls / alone)))
        return known

    def compare(self, rows: Sequence[int], known: dict[str, Any]) -> None:
        """Decode prompts by the strategy and all twins."""
        runs = self._decoded("strategy", rows, self.method or self.strategy)
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
        for name in self.twins:
            self._decoded(name, rows, made[name])

    def _decoded(self, arm: str, rows: Sequence[int], how: Any) -> list[dict[str, Any]]:
        """Return what each prompt's text by an arm is worth, and cost; all rows are decoded at once, and once only."""
        if not all(self.rows.has(row, arm) for row in rows):
            try:
                self._keep(arm, rows, self._traces(arm, rows, how))
            except Exception as error:
                said = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
                raise ValueError(f"{' '.join(said.split())}; {self.rows.kept()}") from error
        return [self.rows.get(row, arm) for row in rows]

    def _traces(self, arm: str, rows: Sequence[int], how: Any) -> Sequence[Trace]:
        prompts = [self.texts[row] for row in rows]
        options = replace(self.options, seed=tuple(self.seed + row for row in rows))
        if not isinstance(how, str) or not is_method(how):
            reward: Any = self.reward if self.function is None or arm != WITHOUT else self.function
            return decode(
                self.predictor,
                prompts,
                how,
                self.shape,
                reward=reward,
                options=options,
                savings=replace(self.savings, certain=False),
            )
        methods, model = steering(f"strategy is {how}"), self.reward
        if arm == "shuffled rewards":
            model = ShuffledScores(self.reward, self.seed + rows[0])
        options = methods.drawing(how, options)
        found: Sequence[Trace] = methods.steer(self.predictor, prompts, how, self.shape, reward=model, options=options)
        return found

    def _keep(self, arm: str, rows: Sequence[int], traces: Sequence[Trace]) -> None:
        tokens = [trace.tokens.tolist() for trace in traces]
        judged = [None] * len(rows) if self.judge is None else self._scored(self.judge, rows, tokens)
        if arm == "shuffled rewards" and self.method is not None:
            scores = self._scored(self.reward, rows, tokens)
        else:
            scores = [_raw(trace.final_reward, self.predictor) for trace in traces]
        if arm == "strategy" and self.method is None and (note := constant_note(traces)) and note not in self.notes:
            self.notes.append(note)
        self.rows.add(
            {
                "prompt": row,
                "arm": arm,
                "reward": score,
                "judge": judge,
                "log_prob": None if trace.log_prob is None else trace.log_prob / trace.length,
                "text": trace.text,
                "tokens": trace.tokens.tolist(),
                "forwards": trace.forwards,
                "reward_calls": trace.reward_calls,
                **(_scales(trace) if arm == "strategy" else {}),
            }
            for row, trace, score, judge in zip(rows, traces, scores, judged, strict=True)
        )

    def _scored(self, model: RewardModel, rows: Sequence[int], tokens: Sequence[list[int]]) -> list[float]:
        """Return the raw scores of answers, tokens of each."""
        encoded = [encode_prompts(self.predictor, [self.texts[row]], len(tokens[0]))[0] for row in rows]
        found = outcomes(self.predictor, model, encoded, dict(enumerate(tokens)))
        return [_raw(found[place]["final_reward"], self.predictor) for place in range(len(rows))]

    def about(self, known: dict[str, Any]) -> dict[str, Any]:
        """Return what `result.compared` is to know of the trial."""
        twins = {name: f"best of {known['best of']}" if name == "best of" else name for name in self.twins}
        judge = None if self.judge is None else self.judge.name
        told = {"label": self.label, "reward": self.reward.name, "judge": judge, "prompts": len(self.texts)}
        return told | {"twins": twins, "sd": known["sd"], "notes": self.notes, "digest": self.rows.digest}

    def leverage(self, known: dict[str, Any]) -> dict[str, float] | None:
        """Return at which share of the validation prompts' steps a factor decides what is unmasked."""
        if known["scales"] is None:
            return None
        rows = self.validation[:_LEVERAGE]
        runs = [self.rows.get(row, "strategy") for row in self.validation]
        traces = self._traces("strategy", rows, self.strategy)
        return leverage(self.predictor, traces, [factor for run in runs for factor in run["factors"]])

    def examples(self, known: dict[str, Any]) -> tuple[tuple[tuple[Trace, Trace], ...], str]:
        """Return the runs of the first prompts whose text by a twin is another, decoded again, and the twin's name."""
        twin = "fixed factor" if known["scales"] is not None else self.twins[0]
        rows = [row["prompt"] for row in self.rows if row["arm"] == twin and row["prompt"] not in self.validation]
        differ = [row for row in rows if self.rows.get(row, twin)["tokens"] != self.rows.get(row, "strategy")["tokens"]]
        pairs = []
        for row in differ[:_EXAMPLES]:
            run = self.rows.get(row, "strategy")
            how = self.without if twin == WITHOUT else scaled(self.strategy, [[float(np.mean(run["factors"]))]])
            (mine,), (other,) = (
                self._traces("strategy", [row], self.method or self.strategy),
                self._traces(twin, [row], how),
            )
            pairs.append((mine, other))
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
    """Return the numbers of the prompts of each unit, units in an order drawn from the seed."""
    labels: Sequence[Hashable] = range(len(texts)) if groups is None else list(groups)
    if len(labels) != len(texts):
        raise ValueError(f"groups are {len(labels)}: a label for each of {len(texts)} prompts is needed")
    units: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        units.setdefault(label, []).append(row)
    listed = list(units.values())
    return [listed[place] for place in np.random.default_rng(seed).permutation(len(listed))]


def _raw(final: dict[str, Any] | None, predictor: MaskPredictor) -> float:
    if final is None:
        raise ValueError(f"predictor {predictor.name} has no text of an answer: a reward needs one")
    return float(final["raw"])


def _scales(trace: Trace) -> dict[str, list[float]]:
    """Return factors and normalised rewards by step, NaN where no reward was asked."""
    return {"factors": trace.factor.tolist(), "rewards": trace.reward_normalised.tolist()}
