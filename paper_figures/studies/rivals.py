"""Compare the samplers of other papers with confidence decoding and RWS, in models whose texts can be judged exactly.

Each prompt of each model is decoded by every strategy (`rws_decode.strategies.table`), scaled or not, and by methods
that steer by the reward (`rws_decode.steering`). All are measured alike: the reward of the final text, its
log-probability where the model is exact, the rules that it breaks where there are rules, how far its order is from
left to right, and what it cost. Strategies that choose their number of steps take as many as they choose, the
others --steps; methods sample tokens at temperature 1. These files go below OUT/rivals, besides the units' parts:

- `rivals.csv|md`: a row for each model and strategy, each compared with confidence on the same prompts;
- `perplexity.csv|md`, with `--causal` and an exact model: perplexities by it and by the causal model, of the
  held-out texts too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from paper_figures.data.examples import shipped_examples
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.intervals import Interval, clustered_interval, mean_interval, share_interval
from paper_figures.statistics.means import Summary, readable, summary_table
from paper_figures.studies.options import ExactStageOptions
from paper_figures.studies.prompts import begin
from paper_figures.studies.study import base_unit, finish, open_stages
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import np, pd
from rws_decode.steering import is_method, steering
from rws_decode.strategies.protocol import abilities_of, describe
from rws_decode.strategies.table import as_strategy, check_text
from rws_decode.text.words import Words, split_words

if TYPE_CHECKING:
    from rws_decode import Decoding, Trace, WorldPredictor
    from rws_decode.rewards.world import WorldReward
    from rws_theory.worlds import Frontier

NAME = "rivals"
RIVALS = (
    *("default", "temperature:4", "rws:8", "margin", "entropy", "threshold:0.9", "threshold:0.9+rws:8"),
    *("parallel-factor:1", "entropy-bound:0.1", "klass:0.9", "dus:16", "certainty-prior:8"),
    *("random-order", "left-to-right", "remdm:0.1", "p2:1", "wino:0.3", "information-gain:8", "lookum:3", "lopa:0.9"),
    *("best-of:1", "best-of:4", "soft-best-of:4", "particles:4", "guided-particles:4", "particle-gibbs:2+sweeps:2"),
    *("svdd:4", "tree-search:4", "reward-lookahead:4", "gradient-guidance:3"),
)


@dataclass(frozen=True)
class RivalsOptions(ExactStageOptions):
    """The options of `experiment rivals`."""

    strategies: tuple[str, ...] = option(
        RIVALS, "strategies and steering methods with their numbers; the default is always one", metavar="NAME[:NUMBER]"
    )
    causal: str | None = option(
        None, "causal model of perplexity beside the model's own, such as smollm2; then held-out texts are read too"
    )
    budget: int | None = option(
        None, "forwards for one answer: methods without a number then have as many copies as it allows", metavar="F"
    )
    regret: bool = option(
        False, "nats below the Pareto front, in exact models with a reward of theirs; some 10 seconds for each prompt"
    )
    reward: str = option("mini", "reward model: shipped name, directory or hub id", metavar="NAME")
    models: tuple[str, ...] | None = option(
        None,
        "several models with rewards, in place of --model and --reward, such as mini:mini english:era",
        metavar="MODEL:REWARD",
    )
    batch: int = 16


HELD_OUT = "held-out"
MEASURES = (
    *("final_reward", "log_prob", "log_perplexity", "regret", "rules_broken", "god_tokens"),
    *("forwards", "tokens_per_forward", "reward_calls"),
)
_CAPTION = (
    "Means over prompts. final_reward: of the final text, raw, by the reward model; log_prob: nats, of an exact "
    "world; log_perplexity: nats per token, by the causal model; regret: nats below the frontier of log p and reward; "
    "rules_broken: of the story language; god_tokens: generation order deviation, 0 from left to right; forwards: of "
    "all copies; reward_calls: texts scored. In brackets the mean difference from the default on the same prompts, "
    "its paired 95 % interval, and p of the sign-flip permutation test, corrected over the strategies by Holm's "
    "method."
)


def run(options: RivalsOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    if options.budget is not None:
        methods = steering("--budget is given")
        cost = partial(methods.forwards_of, steps=options.steps)
        strategies = (
            methods.fitted(text, options.budget, cost, argument="--strategies") for text in options.strategies
        )
        options = replace(options, strategies=tuple(strategies))
    for text in options.strategies:
        (steering(f"--strategies has {text}").check_method if is_method(text) else check_text)(text, "--strategies")
    begun = [
        begin(each, NAME, {"--reward": (each.reward,), "--causal": (each.causal,)})
        for each in (replace(options, model=model, reward=reward) for model, reward in _worlds(options))
    ]

    bases = [replace(base_unit(each, NAME), reward=each.reward, causal=each.causal) for each, _ in begun]
    units = [
        replace(unit, prompt=prompt.text, example=prompt.name)
        for base, (_, prompts) in zip(bases, begun, strict=True)
        for unit in _units(base, options)
        for prompt in prompts.test
    ]
    if options.causal is not None:
        units = [each for unit in units for each in _with_held_out(unit)]
    with open_stages(options, units, work) as stages:
        frame = stages.run(NAME, units)
    return finish(NAME, begun[0][0], stages.outcome(), tables(frame, seed=options.seed))


def _worlds(options: RivalsOptions) -> list[tuple[str, str]]:
    """Return the name of each mask predictor and of its reward model; ValueError for a text that names no two."""
    if options.models is None:
        return [(options.model, options.reward)]
    worlds = []
    for text in options.models:
        model, _, reward = text.partition(":")
        if not model or not reward:
            raise ValueError(f"--models holds {text!r}: MODEL:REWARD is needed, such as english:era")
        worlds.append((model, reward))
    return worlds


def _units(base: Unit, options: RivalsOptions) -> list[Unit]:
    """Return a unit without a prompt for each strategy, confidence decoding first."""
    units = []
    for text in dict.fromkeys(("default", *options.strategies)):
        steps = options.steps
        if is_method(text):
            described = {"name": text.partition(":")[0], "method": text}
        else:
            strategy = as_strategy(text, seed=options.seed)
            described = describe(strategy)
            # What counts by itself takes as many steps as it asks for: a schedule that ends before is another method.
            steps = options.length if abilities_of(strategy).own_count else steps
        settings = {**base.settings, "frontier": True} if options.regret else base.settings
        labels = {"method": text, "schedule": options.steps}
        units.append(
            replace(base, strategy=described, labels=labels, seed=options.seed, steps=steps, settings=settings)
        )
    return units


def _with_held_out(unit: Unit) -> Iterator[Unit]:
    """Yield a unit with its prompt's group and, beside confidence decoding, the unit of the prompt's held-out text."""
    held_out = {row["prompt"]: row for row in shipped_examples(unit.predictor or "")}.get(unit.prompt, {})
    unit = replace(unit, labels={**unit.labels, "address": held_out.get("address", unit.example)})
    yield unit
    if unit.labels["method"] == "default" and len(words := split_words(held_out.get("answer", ""))) >= unit.length:
        labels, text = {**unit.labels, "method": HELD_OUT}, " ".join(words[: unit.length])
        yield replace(unit, strategy={"name": HELD_OUT}, labels=labels, settings={**unit.settings, "held_out": text})


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and return one row for each; those of `work.answer_row` and further ones."""
    from paper_figures.studies.work import answer_row

    first = units[0]
    if first.strategy["name"] == HELD_OUT:
        return _perplexities(units, [[_held_out(unit)] for unit in units])
    rows = []
    for unit, trace in zip(units, _decoded(units), strict=True):
        row = answer_row(unit, trace) | {"tokens_per_forward": trace.tokens_per_forward}
        rows.append([row | {"regret": _regret(unit, trace)} if first.settings.get("frontier") else row])
    return rows if first.causal is None else _perplexities(units, rows)


def _perplexities(units: Sequence[Unit], rows: list[Rows]) -> list[Rows]:
    """Return rows with the negative log-likelihood per token of their texts, nats: by the causal and the exact model.

    It is of the text after its prompt, without an end; None for an empty text, and for one that the exact model lacks.
    """
    from paper_figures.statistics.perplexity import perplexity
    from paper_figures.studies.work import causal_of, prompt_of

    first, texts = units[0], [str(row["text"]) for (row,) in rows]
    causal = causal_of(first.causal or "", first.settings.get("reward_device") or first.device)
    scores = perplexity(causal, texts, prompts=[prompt_of(unit) for unit in units]).scores
    for (row,), score in zip(rows, scores, strict=True):
        row |= {"nll": score.nll, "causal_tokens": score.tokens, "world_nll": None}
        row["log_perplexity"] = score.nll / score.tokens if score.tokens else None
        if row["log_prob"] is not None:
            row["world_nll"] = -row["log_prob"] / first.length
    return rows


def _held_out(unit: Unit) -> dict[str, Any]:
    """Return the row of a held-out text, in the model's notation; log_prob None where it has unknown words."""
    from paper_figures.studies.work import context_and_canvas, predictor_for
    from rws_decode import WorldPredictor

    predictor, words = predictor_for(unit), split_words(unit.settings["held_out"])
    known = Words(list(dict.fromkeys(words)))
    row: dict[str, Any] = {"text": known.text(known.ids(unit.settings["held_out"])), "log_prob": None}
    if isinstance(predictor, WorldPredictor) and not predictor.words.unknown(row["text"]):
        context, _ = context_and_canvas(predictor, unit.prompt, unit.length)
        row["log_prob"] = predictor.world.log_prob(predictor.words.ids(row["text"]), context)
    return row


def _decoded(units: Sequence[Unit]) -> Decoding:

    from paper_figures.studies.work import predictor_for, prompt_of, reward_for, strategy_of
    from rws_decode import Options, Shape, decode

    first = units[0]
    predictor, prompts = predictor_for(first), [prompt_of(unit) for unit in units]
    shape = Shape(first.length, first.steps, first.block)
    reward = reward_for(first, first.reward) if first.reward else None
    settings: dict[str, Any] = {
        "cfg": first.settings.get("cfg") or 0.0,
        "end_of_text": first.settings.get("end_of_text") or "none",
        "seed": [unit.seed for unit in units],
    }
    if method := first.strategy.get("method"):
        if reward is None:
            raise ValueError(f"reward is None: {method} needs a reward model")
        methods = steering(f"strategy is {method}")
        options = methods.drawing(method, Options(**settings))
        return methods.steer(predictor, prompts, method, shape, reward=reward, options=options)
    return decode(predictor, prompts, strategy_of(units), shape, reward=reward, options=Options(**settings))


def _regret(unit: Unit, trace: Trace) -> float | None:
    """Return how many nats a text lies below the Pareto front, None where the model or the reward is not exact."""
    from paper_figures.studies.work import context_and_canvas, predictor_for, reward_for
    from rws_decode import WorldPredictor
    from rws_decode.rewards.world import WorldReward

    predictor = predictor_for(unit)
    reward = reward_for(unit, unit.reward) if unit.reward else None
    if not isinstance(predictor, WorldPredictor) or not isinstance(reward, WorldReward) or trace.log_prob is None:
        return None
    context, canvas = context_and_canvas(predictor, trace.prompt.tolist(), unit.length)
    curve = _frontier(predictor, reward, tuple(context), tuple(canvas))
    return curve.regret(trace.log_prob, reward.world_reward.score(trace.completed[len(context) :]))


@lru_cache(maxsize=1024)
def _frontier(
    predictor: WorldPredictor, reward: WorldReward, context: tuple[int, ...], canvas: tuple[int, ...]
) -> Frontier:
    """Return the Pareto front of a prompt. A process searches it once for all methods."""
    from rws_theory.worlds import frontier

    return frontier(predictor.world, reward.world_reward, list(canvas), list(context), beta=4.0)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows."""
    if not len(frame):
        return []
    # A run is told by its --steps, whatever its strategies made of them.
    both = perplexity_table(frame) if {"world_nll", "log_perplexity"} <= {*frame} else None
    frame = frame[frame["strategy"] != HELD_OUT]
    frame = frame.assign(steps=frame["schedule"])
    known = tuple(name for name in MEASURES if name in frame and frame[name].notna().any())
    summary = Summary(known, ("predictor", "method"), {"method": "default"}, ("example", "prompt", "seed"), ("method",))
    table = summary_table(NAME, _CAPTION, frame, summary, seed)
    return [each for each in (table, both) if each is not None]


BY = {"causal": "log_perplexity", "world": "world_nll"}
_PERPLEXITY = (
    "Perplexity: exp of the mean over texts of nats per token, by the causal model, and per word, by the exact world, "
    "given the prompt and without an end of text. n and world_n: texts that each can read. causal and world: the mean "
    "difference in nats from the default on the same prompts, with its interval over prompts, and clustered: over "
    "addresses. agree: the share of prompts, of those with another text than the default's, where both find the same "
    "one of the two texts likelier. Intervals are of 95 %."
)


def perplexity_table(frame: pd.DataFrame) -> Table | None:
    """Return a row for each method of each model, confidence decoding first; None where no model is exact."""
    rows = []
    for world, own in frame[frame["world_nll"].notna() | frame["log_perplexity"].notna()].groupby("predictor"):
        default = own[own["method"] == "default"].set_index("prompt")
        if own["world_nll"].notna().any():
            rows += [
                _row(str(world), method, answers, default) for method, answers in own.groupby("method", sort=False)
            ]
    return Table("perplexity", rows, readable(rows), _PERPLEXITY) if rows else None


def _row(world: str, method: Any, own: pd.DataFrame, default: pd.DataFrame) -> dict[str, Any]:
    own = own.set_index("prompt").sort_index()
    row: dict[str, Any] = {"predictor": world, "method": method}
    row |= {"n": int(own["log_perplexity"].notna().sum()), "world_n": int(own["world_nll"].notna().sum())}
    changes = own[[*BY.values()]] - default.loc[own.index, [*BY.values()]]
    for name, column in BY.items():
        values = own[column].dropna().to_numpy(float)
        found = mean_interval(values) if len(values) else None
        row |= _ends(f"{name}_perplexity", None if found is None else Interval(*map(math.exp, found)))
    for name, column in BY.items():
        change = changes[column].dropna()
        known = method != "default" and len(change) > 0
        values, groups = change.to_numpy(float), own.loc[change.index, "address"].to_numpy(str)
        row |= _ends(name, mean_interval(values) if known else None)
        row |= _ends(f"{name}_clustered", clustered_interval(values, groups) if known else None)
    other = changes[own["text"] != default.loc[own.index, "text"]].dropna()
    signs = np.sign(other.to_numpy(float))
    same = int((signs[:, 0] == signs[:, 1]).sum())
    row["differ"] = len(other)
    return row | _ends("agree", share_interval(same, len(other)) if len(other) else None)


def _ends(name: str, found: Interval | None) -> dict[str, float | None]:
    """Return an interval as columns; the ends are None unless both are finite."""
    values = (None, None, None) if found is None else tuple(found)
    if found is not None and not all(map(math.isfinite, found)):
        values = (found.mean if math.isfinite(found.mean) else None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
