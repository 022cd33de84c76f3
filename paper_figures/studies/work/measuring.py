"""Do the work of experiments: decode answers, score them, and measure their perplexity.

The strategy of a unit says what is done:

- a name of `rws_decode.strategies.table.STRATEGIES`: the unit's prompt is decoded;
- "score": its judge scores the label `answer`;
- "perplexity": its causal model scores the label `answer`;
- "execute": its program is run by `paper_figures.plugins.sandbox`; "timing": see `timing`.

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
text counted, and `perplexity`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from paper_figures.data.inclusion import included_keywords
from paper_figures.plugins import sandbox
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Measured, Rows
from paper_figures.statistics.causal_scores import answer_scores
from paper_figures.studies.work.decoding import causal_of, decode_units, predictor_for, prompt_of, reward_for
from paper_figures.studies.work.timing import time_units
from rws_decode.predictors.base import before_end, ends_of
from rws_decode.rewards.base import score_checked
from rws_decode.text.dialogue import as_dialogue
from rws_decode.text.rules import judge
from rws_decode.trace.trace import Trace


def work(units: Sequence[Unit]) -> Sequence[Rows | Measured]:
    """Return the rows of the units of one batch; the module says which columns they have."""
    name = units[0].strategy["name"]
    if name == "execute":
        return sandbox().run_programs(units)
    function = {"score": _scores, "perplexity": _perplexities, "timing": time_units}.get(name)
    return _answers(units) if function is None else function(units)


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


def rounding(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and count what rounding did to each order; `studies.precision` has the columns."""
    started = time.perf_counter()
    decoding = decode_units(units)
    seconds = (time.perf_counter() - started) / len(units)
    return [[_rounded(trace) | {"seconds": seconds}] for trace in decoding]


def _rounded(trace: Trace) -> dict[str, Any]:
    return {
        "text": trace.text,
        "tokens": trace.tokens.tolist(),
        "commit_step": trace.commit_step.tolist(),
        "mean_factor": float(trace.factor.mean()),
        "rewards": trace.reward_normalised.tolist() if trace.strategy["name"] == "rws" else None,
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "steps_run": trace.steps_run,
        "inexact": int(trace.inexact.sum()),
        "tied": int((trace.ties > 0).sum()),
        "near_tied": int((trace.near_ties > 0).sum()),
        "saturated": int(trace.saturated.sum()),
        "eligible": int(trace.eligible.sum()),
    }


def _scores(units: Sequence[Unit]) -> list[Rows]:
    (name,) = units[0].judges
    model = reward_for(units[0], name)
    scores = score_checked(model, [prompt_of(unit) for unit in units], [unit.labels["answer"] for unit in units])
    # The normalisation is the paper's Step 2. It makes scores of different models comparable.
    return [[{"score": score, "normalised_score": (score - model.mean) / model.std}] for score in scores]


def _perplexities(units: Sequence[Unit]) -> list[Rows]:
    first = units[0]
    causal = causal_of(first.causal or "", first.device, first.settings.get("reward_dtype") or "float32")
    scores = answer_scores(causal, [prompt_of(unit) for unit in units], [unit.labels["answer"] for unit in units])
    return [[{"nll": score.nll, "causal_tokens": score.tokens, "perplexity": score.perplexity}] for score in scores]
