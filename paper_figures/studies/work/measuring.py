"""Do the work of experiments: decode answers, score them, measure their perplexity, and follow scale paths.

The strategy of a unit says what is done:

- a name of `rws_decode.strategies.table.STRATEGIES`: the unit's prompt is decoded;
- "score": its judge scores the label `answer`;
- "perplexity": its causal model scores the label `answer`;
- "scale-path": every answer is found that its reward gives between the reward scales `low` and `high`;
- "execute": see `programs`; "timing": see `timing`.

An answer has these columns:

- `text`; `answer_tokens`, committed before the end of text;
- `god_tokens`, `god_steps`; `mean_factor`; `rewards`, the normalised ones step by step (of rws alone);
- `forwards`, `reward_calls`;
- `saturated`, the positions over the steps whose probability is 1.0 in the precision of the ranking;
- `keywords_included`, counted among the label `keywords`;
- `coherent`, `violations` and `log_probability`, if the prompt is of the story language, by the language itself;
  `log_probability` is None for an incoherent answer;
- `seconds`, its share of the batch's;
- if traces are kept, `pieces`, the text token by token, and `piece_steps`, the step that committed each
  (`word_pieces.text_pieces`).

A score has the columns `score` and `normalised_score`. A perplexity has `nll` (nats), `causal_tokens`, with the end of
text counted, and `perplexity`. A scale path has a row per piece, with `lower`, `upper` and `text`. Each of these rows
also has `certified`, `forwards` and `reward_calls` of the whole path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from paper_figures.data.inclusion import included_keywords
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Measured, Rows
from paper_figures.statistics.causal_scores import answer_scores
from paper_figures.studies.work.decoding import causal_of, decode_units, predictor_for, prompt_of, reward_for
from paper_figures.studies.work.programs import run_programs
from paper_figures.studies.work.scale_paths import path_of
from paper_figures.studies.work.timing import time_units
from rws_decode.mini.stories.answers import judge
from rws_decode.predictors.base import MaskPredictor, before_end, ends_of
from rws_decode.rewards.base import score_checked
from rws_decode.text.dialogue import Dialogue
from rws_decode.trace.trace import Trace


def work(units: Sequence[Unit]) -> Sequence[Rows | Measured]:
    """Return the rows of the units of one batch; the module says which columns they have."""
    name = units[0].strategy["name"]
    if name == "execute":
        return run_programs(units)
    if name == "scale-path":
        return [_path(unit) for unit in units]
    function = {"score": _scores, "perplexity": _perplexities, "timing": time_units}.get(name)
    return _answers(units) if function is None else function(units)


def _answers(units: Sequence[Unit]) -> list[Measured]:
    started = time.perf_counter()
    decoding = decode_units(units)
    seconds = (time.perf_counter() - started) / len(units)
    predictor = predictor_for(units[0])
    ends = ends_of(predictor)
    kept = bool(units[0].settings.get("traces"))
    return [
        Measured(
            [_answer(unit, trace, ends) | {"seconds": seconds} | (_order(predictor, trace, ends) if kept else {})],
            [trace] if kept else (),
        )
        for unit, trace in zip(units, decoding, strict=True)
    ]


def _order(predictor: MaskPredictor, trace: Trace, ends: Sequence[int]) -> dict[str, Any]:
    kept = before_end(trace.tokens.tolist(), ends)
    pieces = text_pieces(lambda ids: predictor.decode_answer(ids) or "", kept)
    return {"pieces": pieces, "piece_steps": trace.commit_step[: len(kept)].tolist()}


def _answer(unit: Unit, trace: Trace, ends: Sequence[int]) -> dict[str, Any]:
    text = trace.text or ""
    tokens = trace.tokens.tolist()
    length = len(before_end(tokens, ends))
    keywords = unit.labels.get("keywords")
    story = judge(_text(unit), text)
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


def _text(unit: Unit) -> str:
    prompt = prompt_of(unit)
    return prompt.text if isinstance(prompt, Dialogue) else prompt


def _scores(units: Sequence[Unit]) -> list[Rows]:
    (name,) = units[0].judges
    model = reward_for(units[0], name)
    scores = score_checked(model, [prompt_of(unit) for unit in units], [unit.labels["answer"] for unit in units])
    # The normalisation is the paper's Step 2. It makes scores of different models comparable.
    return [[{"score": score, "normalised_score": (score - model.mean) / model.std}] for score in scores]


def _perplexities(units: Sequence[Unit]) -> list[Rows]:
    first = units[0]
    causal = causal_of(first.causal or "", first.device, first.settings.get("reward_dtype") or "float32")
    scores = answer_scores(causal, [_text(unit) for unit in units], [unit.labels["answer"] for unit in units])
    return [[{"nll": score.nll, "causal_tokens": score.tokens, "perplexity": score.perplexity}] for score in scores]


def _path(unit: Unit) -> Rows:
    path = path_of(unit, "reward-scale")
    path_columns = {"certified": path.certified, "forwards": path.forwards, "reward_calls": path.reward_calls}
    pieces = [{"lower": piece.lower, "upper": piece.upper, "text": piece.text or ""} for piece in path.pieces]
    # Parts that the budget left unexplored have no answer. They are kept, so that no scale is chosen there.
    unexplored = [{"lower": piece.lower, "upper": piece.upper, "text": None} for piece in path.unexplored]
    return [part | path_columns for part in sorted([*pieces, *unexplored], key=lambda part: part["lower"])]


def text_pieces(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """Return the part of decode(ids) that each id adds, in order; joined, they are decode(ids).

    The text up to an id shares its beginning with the whole text. The id adds what this beginning has beyond that of
    the id before. So a character of several tokens, or a space that a decoder takes back, goes to the id that settles
    it. The other ids add "".

    >>> text_pieces(lambda ids: " ".join("abc"[token] for token in ids), [0, 2, 1])
    ['a', ' c', ' b']
    >>> text_pieces(lambda ids: bytes(ids).decode(errors="replace"), list("né".encode()))
    ['n', '', 'é']
    """
    if not ids:
        return []
    full_text = decode(ids)
    shared = [_shared(decode(ids[:count]), full_text) for count in range(1, len(ids))]
    ends = accumulate([0, *shared, len(full_text)], max)
    return [full_text[start:end] for start, end in pairwise(ends)]


def _shared(text: str, full_text: str) -> int:
    """Return the length of the longest common beginning of two texts."""
    differs = (
        index for index, (character, other) in enumerate(zip(text, full_text, strict=False)) if character != other
    )
    return next(differs, min(len(text), len(full_text)))
