"""Do what units of work say: decode answers, score them, run programs, and time decodes.

The strategy of a unit says what `measure` does:

- a name of `rws_decode.strategies.table.STRATEGIES`: the unit's prompt is decoded;
- "score": its judge scores the label `answer`; "perplexity": its causal model does;
- "execute": the program in the label `answer` is run by the extra `sandbox`; "timing": see `seconds.time_units`.

An answer has these columns:

- `text`; `answer_tokens`, committed before the end of text;
- `god_tokens`, `god_steps`; `mean_factor`; `rewards`, the normalised ones step by step (of rws alone);
- `forwards`, `reward_calls`;
- `saturated`, the positions over the steps whose probability is 1.0 in the precision of the ranking;
- `keywords_included`, counted among the label `keywords`;
- `coherent`, `violations` and `log_probability`, if the prompt is of the story language, by the language itself;
  `log_probability` is None for an incoherent answer;
- `seconds`, its share of the batch's.

A score has the columns `score` and `normalised_score`. A perplexity has `nll` (nats), `causal_tokens`, with the end of
text counted, and `perplexity`. Studies with rows of their own have their work in their own file. The code digest of a
result covers this file, and of a study's file what its work reaches.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.data.inclusion import included_keywords
from paper_figures.data.story_sets import judge
from paper_figures.runner.units import PER_ROW, Unit, batch_key
from paper_figures.runner.worker import Measured, Rows, kept
from paper_figures.statistics.causal_scores import CausalScorer, answer_scores, load_causal
from rws_decode.checkpoints.files import split_revision
from rws_decode.common.plugins import hook
from rws_decode.decode import decode
from rws_decode.predictors import HFMaskPredictor, WorldPredictor, load_predictor
from rws_decode.predictors.base import before_end, ends_of
from rws_decode.rewards import RewardModel, load_reward
from rws_decode.rewards.base import score_checked
from rws_decode.rewards.registry import SHIPPED
from rws_decode.rewards.world import WorldReward
from rws_decode.settings import Options, Savings, Shape
from rws_decode.strategies.protocol import Strategy, gives_factor
from rws_decode.strategies.table import strategy_from
from rws_decode.text.dialogue import Dialogue, as_dialogue, row_of
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace
from rws_theory.worlds.joint_table import MASK


def strategy_of(units: Sequence[Unit]) -> Strategy:
    """Return the strategy that decodes these units as one batch, with one number per row where they differ.

    ValueError is raised for units that cannot share a decode, for a name that is not in `table.STRATEGIES`, and for bad
    numbers.

    >>> units = [Unit(experiment="x", prompt="a", strategy={"name": "temperature", "scale": c}) for c in (1.0, 2.0)]
    >>> strategy_of(units)
    Temperature(scale=(1.0, 2.0))
    """
    if len({batch_key(unit) for unit in units}) != 1:
        raise ValueError(f"units have {len({batch_key(unit) for unit in units})} keys: those of one batch share one")
    description = dict(units[0].strategy)
    for number in PER_ROW.get(description["name"], ()):
        if number in description:
            values = [unit.strategy[number] for unit in units]
            description[number] = tuple(tuple(value) if isinstance(value, list) else value for value in values)
    return strategy_from(description)


# Settings of a unit that say how its predictor is loaded.
_LOADING_OPTIONS = ("dtype", "device_map", "mask_id", "chat")


def decode_units(units: Sequence[Unit], savings: Savings | None = None) -> Decoding:
    """Decode the units of one batch with the models that they name.

    Their settings `cfg` and `end_of_text` are those of `settings.Options`. `dtype`, `device_map`, `mask_id` and `chat`
    are those of `load_predictor`. `reward_dtype` and `reward_device` are those of `reward_for`. If the setting
    `compact` is true and no `savings` are given, the extra `compact` decodes what it can, and `decode.decode` the rest.
    """
    first = units[0]
    strategy = strategy_of(units)
    shape = Shape(first.length, first.steps, first.block)
    reward = reward_for(first, first.reward) if first.reward and strategy.needs_reward else None
    policies = _of(first.settings, ("cfg", "end_of_text"))
    predictor, prompts = predictor_for(first), [prompt_of(unit) for unit in units]
    exact = (first.ranking, first.precision, first.sampling_temperature) == ("log-odds", "float64", 0)
    plain = exact and not policies.get("cfg") and policies.get("end_of_text") != "defer"
    if savings is None and plain and gives_factor(strategy) and first.settings.get("compact"):
        # Controls are built from the factors and rewards of all steps, so no step may be left out.
        compact = hook("compact", "compact is True")
        how: dict[str, Any] = {"options": Options(**policies), "savings": compact.CompactSavings.usual()}
        return compact.decode_compact(predictor, prompts, strategy, shape, reward=reward, **how)
    policies |= {"ranking": first.ranking, "precision": first.precision}  # Options checks them
    seeds = tuple(unit.seed for unit in units)
    options = Options(sampling_temperature=first.sampling_temperature, seed=seeds, **policies)
    return decode(predictor, prompts, strategy, shape, reward=reward, options=options, savings=savings or Savings())


def _of(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: settings[name] for name in names if settings.get(name) is not None}


def predictor_for(unit: Unit) -> HFMaskPredictor:
    """Return a unit's mask predictor, loaded as its settings say, once per process; only the last one is kept.

    ValueError is raised if the unit names none.
    """
    if unit.predictor is None:
        raise ValueError("predictor is None: units that are decoded need one")
    options, device = _of(unit.settings, _LOADING_OPTIONS), unit.device
    short, revision = split_revision(unit.predictor)
    key = (unit.predictor, device, *sorted(options.items()))
    return kept("predictor", key, lambda: load_predictor(short, device, revision=revision, progress=False, **options))


def reward_for(unit: Unit, name: str) -> RewardModel:
    """Return a reward model, loaded as a unit's settings say (`reward_device`, `reward_dtype`), once per process.

    Of the shipped models the last three are kept, of others only the last one.
    """
    device, dtype = unit.settings.get("reward_device") or unit.device, unit.settings.get("reward_dtype") or "float32"
    short, revision = split_revision(name)
    most = 3 if name in (*SHIPPED, "exact") else 1
    key = (name, device, dtype)
    return kept("reward", key, lambda: load_reward(short, device, dtype=dtype, revision=revision, progress=False), most)


def load_models(units: Sequence[Unit]) -> None:
    """Load every model that the units name, each once; NotLoaded for the first that cannot be."""
    for unit in {(unit.predictor, unit.reward, unit.judges, unit.causal): unit for unit in units}.values():
        if unit.predictor is not None:
            predictor_for(unit)
        for name in filter(None, (unit.reward, *unit.judges)):
            reward_for(unit, name)
        if unit.causal is not None:
            causal_of(unit.causal, unit.device, unit.settings.get("reward_dtype") or "float32")


def prompt_of(unit: Unit) -> str | Dialogue:
    """Return what a unit asks: its prompt, which follows its history if it has one.

    >>> unit = Unit(experiment="x", prompt="and dogs ?", history=("cats ?", "two ."), strategy={"name": "default"})
    >>> prompt_of(unit).turns
    ('cats ?', 'two .', 'and dogs ?')
    """
    return Dialogue((*unit.history, unit.prompt)) if unit.history else unit.prompt


def causal_of(name: str, device: str = "cpu", dtype: str = "float32") -> CausalScorer:
    """Return a causal language model, loaded once per process; only the last one is kept."""
    short, revision = split_revision(name)
    key = (name, device, dtype)
    return kept("causal", key, lambda: load_causal(short, device, dtype=dtype, revision=revision))


def measure(units: Sequence[Unit]) -> Sequence[Rows | Measured]:
    """Return the rows of the units of one batch; the module says which columns they have."""
    name = units[0].strategy["name"]
    if name == "execute":
        return hook("sandbox", "allow_code_execution").run_programs(units)
    if name == "timing":
        from paper_figures.studies.seconds import time_units

        return time_units(units)
    return {"score": _scores, "perplexity": _perplexities}.get(name, _answers)(units)


def _answers(units: Sequence[Unit]) -> list[Measured]:
    started = time.perf_counter()
    decoding = decode_units(units)
    seconds = (time.perf_counter() - started) / len(units)
    ends = ends_of(predictor_for(units[0]))
    kept = bool(units[0].settings.get("traces"))
    return [
        Measured([_answer(unit, trace, ends) | {"seconds": seconds}], [trace] if kept else ())
        for unit, trace in zip(units, decoding, strict=True)
    ]


def _answer(unit: Unit, trace: Trace, ends: Sequence[int]) -> dict[str, Any]:
    text = trace.text or ""
    tokens = trace.tokens.tolist()
    length = len(before_end(tokens, ends))
    keywords = unit.labels.get("keywords")
    story = judge(as_dialogue(prompt_of(unit)).text, text)
    is_story = story.kind != "free"
    return {
        "text": text,
        "answer_tokens": length,
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "mean_factor": float(trace.factor.mean()),
        "rewards": trace.reward_normalised.tolist() if unit.strategy["name"] == "rws" else None,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "saturated": int(trace.saturated.sum()),
        "keywords_included": sum(included_keywords(keywords, text)) if keywords else None,
        "coherent": story.coherent if is_story else None,
        "violations": len(story.violations) if is_story else None,
        "log_probability": story.log_probability if is_story and story.coherent else None,
    }


def _scores(units: Sequence[Unit]) -> list[Rows]:
    (name,) = units[0].judges
    model = reward_for(units[0], name)
    scores = normalised(model, [prompt_of(unit) for unit in units], [unit.labels["answer"] for unit in units])
    return [[{"score": score, "normalised_score": in_sd}] for score, in_sd in scores]


def normalised(
    model: RewardModel, prompts: Sequence[str | Dialogue], texts: Sequence[str]
) -> list[tuple[float, float]]:
    """Return the raw and the normalised score of each text: the paper's Step 2, which makes models comparable."""
    return [(score, (score - model.mean) / model.std) for score in score_checked(model, prompts, texts)]


def _perplexities(units: Sequence[Unit]) -> list[Rows]:
    first = units[0]
    causal = causal_of(first.causal or "", first.device, first.settings.get("reward_dtype") or "float32")
    scores = answer_scores(causal, [prompt_of(unit) for unit in units], [unit.labels["answer"] for unit in units])
    return [[{"nll": score.nll, "causal_tokens": score.tokens, "perplexity": score.perplexity}] for score in scores]


def exact_world(unit: Unit) -> tuple[WorldPredictor, WorldReward]:
    """Return a unit's model and its reward; ValueError where they are not exact."""
    predictor, guide = predictor_for(unit), reward_for(unit, unit.reward or "")
    if not isinstance(predictor, WorldPredictor) or not isinstance(guide, WorldReward):
        raise ValueError(f"predictor is {unit.predictor}: an exact world is needed, such as english with era")
    return predictor, guide


def context_and_canvas(
    predictor: WorldPredictor, prompt: str | Sequence[int], length: int
) -> tuple[list[int], list[int]]:
    """Return the words before the first mask of a prompt and its answer, and those from there on, -1 where masked."""
    ids = predictor.encode_prompt(prompt) if isinstance(prompt, str) else prompt
    row = row_of(ids, predictor.mask_id, length)
    first = row.index(predictor.mask_id)
    return row[:first], [MASK if token == predictor.mask_id else token for token in row[first:]]


def digest_of(tokens: NDArray[np.int64]) -> str:
    """Return a short digest of token ids."""
    return hashlib.sha256(tokens.astype("<i8").tobytes()).hexdigest()[:16]


def answer_row(unit: Unit, trace: Trace) -> dict[str, Any]:
    """Return what a trace says of a unit's answer, as the module describes it."""
    log_prob = trace.log_prob
    if unit.settings.get("tilt") is not None:
        log_prob = exact_world(unit)[0].world.log_prob(trace.tokens.tolist(), trace.prompt.tolist())
    return {
        "text": trace.text,
        "tokens": digest_of(trace.tokens),
        "final_reward": None if trace.final_reward is None else trace.final_reward["raw"],
        "log_prob": log_prob,
        "rules_broken": None if trace.rules_broken is None else len(trace.rules_broken),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "mean_factor": float(np.mean(trace.factor)),
        "rewards": trace.reward_normalised.tolist() if unit.strategy["name"] == "rws" else None,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "near_ties": int(trace.near_ties.sum()),
        "near_tokens": int(trace.near_tokens.sum()),
    }
