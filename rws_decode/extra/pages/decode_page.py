"""The page of a decode: a slider over its steps and a player, of one run or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.page import Page
from rws_decode.extra.diff.diff import diff
from rws_decode.extra.diff.difference import TraceDiff
from rws_decode.extra.pages.sentences import end_sentence, parting_sentences, run_sentence, step_sentence
from rws_decode.extra.pages.template import WordTable, line_of, page_of, part, rounded
from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import waiting
from rws_decode.trace.data import check_traces
from rws_decode.trace.labels import run_label
from rws_decode.trace.trace import Trace

__all__ = ["decode_page", "runs_page"]

_SCRIPTS = ("timeline.js", "run.js", "words.js", "text.js", "lines.js", "heatmap.js", "decode.js")
_UNITS = {"log-odds": "log-odds", "probability": "probability", "topk": "probability", "order": "value of the order"}


def decode_page(trace: Trace, other: Trace | None = None, predictor: MaskPredictor | None = None) -> Page:
    """Return a page that shows a decode step by step: text, candidates, ranking values, rewards and factors.

    Step t shows the canvas before it, its commits, and the candidates of the other masks; the end follows the last
    step. other: a run of the same prompt, shown in lock-step with the first, from the first step that is not the same
    in both; its answer may have another length. predictor: proves at which factors confidences crossed, so that the
    runs diverged, as in `rws_decode.diff`. ValueError for a run of another prompt, and for another mask id.
    """
    return runs_page([trace] if other is None else [trace, other], predictor)


def runs_page(traces: Sequence[Trace], predictor: MaskPredictor | None = None) -> Page:
    """Return the page of runs of one prompt in lock-step, each compared with the first; the rest as `decode_page`."""
    trace, *others = traces
    check_traces(trace=trace)
    differences = [compared(trace, other, predictor) for other in others]
    words = WordTable()
    data = {
        "runs": [_run(each, words) for each in traces],
        "start": min((each.parting.step for each in differences if each.parting is not None), default=0),
        "marked": _marked(trace, differences),
    }
    sentences = [f"{_label(n) if others else ''}{run_sentence(each)}" for n, each in enumerate(traces)]
    title = f"{['A decode', 'Two decodes', f'{len(traces)} decodes'][min(len(others), 2)]}, step by step"
    text = trace.prompt_text or " ".join(trace.words(() if trace.prompt is None else trace.prompt))
    return page_of(
        "decode.html",
        title=title,
        plain=" ".join(end_sentence(each) for each in traces),
        scripts=_SCRIPTS,
        data=data | words.data(),
        sentence="<br>".join(map(escape, [*sentences[:-1], f"{sentences[-1]} Steps count from 0."])),
        prompt=f'<p class="prompt" role="note" aria-label="the prompt">{escape(text)}</p>' if text.strip() else "",
        layout="runs two" if others else "runs",
        last=str(max(each.steps_run for each in traces)),
        next="Next difference" if others else "Next change",
        next_title=f"go to the next step that is not the same in {'both' if len(others) == 1 else 'all'} runs"
        if others
        else "go to the next step at which factor 1 would have committed otherwise",
        parting=_parting(trace, others, differences),
        runs="".join(_section(each, number, len(traces)) for number, each in enumerate(traces)),
    )


def _run(trace: Trace, words: WordTable) -> dict[str, Any]:
    steps = range(trace.steps_run)
    marks = [tied_and_near(trace, step) for step in steps]
    return {
        "length": trace.length,
        "steps": trace.steps_run,
        "unit": _UNITS.get(trace.ranking, "ranking value (not known)"),
        "row": line_of(trace.prompt_text, trace.length),
        "tokens": [words[word] for word in trace.words(trace.tokens)],
        "commit": np.where(trace.commit_step < 0, -1, np.maximum(trace.commit_step, _last(trace.edited))).tolist(),
        "revised": _revised(trace, words),
        "candidates": _candidates(trace, words),
        "values": [_values(trace, step) for step in steps],
        "ties": [tied.tolist() for tied, _ in marks],
        "near": [near.tolist() for _, near in marks],
        "factor": [rounded(value) for value in trace.factor.tolist()],
        "reward": [rounded(value) for value in trace.reward_normalised.tolist()],
        "known": not trace.of_step_map,
        "reward_use": [] if trace.of_step_map else trace.reward_use.tolist(),
        "sentences": [*(step_sentence(trace, step) for step in steps), end_sentence(trace)],
    }


def _candidates(trace: Trace, words: WordTable) -> list[list[int]]:
    """Return for each step the positions whose candidate changed, each followed by its word, -1 if not recorded."""
    before = np.full(trace.length, -2)
    rows = []
    for step in range(trace.steps_run):
        now = trace.candidate[step]
        changed = np.flatnonzero((now != before) & (trace.masked | trace.edited)[step])
        texts = trace.words(now[changed])
        numbers = [-1 if token < 0 else words[text] for token, text in zip(now[changed], texts, strict=True)]
        rows.append([part for pair in zip(changed.tolist(), numbers, strict=True) for part in pair])
        before = now
    return rows


def _revised(trace: Trace, words: WordTable) -> dict[int, list[list[float]]]:
    """Return the commits that a later step revised, by position: the step of each, that of the revision, and its word.

    The revision of a replaced token counts as half a step before, as the page shows the new token at that step.
    """
    revised: dict[int, list[list[float]]] = {}
    for until, position in zip(*np.nonzero(trace.masked_again | trace.edited), strict=True):
        step = int(_last((trace.chosen | trace.edited)[:until, position]))
        (word,) = trace.words([trace.candidate[step, position]])
        end = int(until) - (0.5 if trace.edited[until, position] else 0)
        revised.setdefault(int(position), []).append([step, end, words[word]])
    return revised


def _last(of_steps: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the last step of each position, -1 where there is none. of_steps: [R] or [R, n]."""
    steps = np.arange(len(of_steps)).reshape(-1, *[1] * (of_steps.ndim - 1))
    return np.where(of_steps, steps, -1).max(axis=0, initial=-1)


def _values(trace: Trace, step: int) -> list[Any]:
    shown = np.flatnonzero(trace.eligible[step] & ~np.isnan(trace.value[step]))
    return [part for position in shown.tolist() for part in (position, rounded(float(trace.value[step, position]), 5))]


def _label(number: int) -> str:
    return f"{chr(ord('A') + number)}: "


def _marked(trace: Trace, differences: Sequence[TraceDiff]) -> list[int]:
    """Return the steps that the button "next" goes to: those that differ, or that the factor changed."""
    if not differences:
        return np.flatnonzero(trace.changed).tolist()
    steps = [step for difference in differences for step in difference.steps]
    return sorted({change.step for change in steps if change.only_first or change.only_second})


def _parting(first: Trace, others: Sequence[Trace], differences: Sequence[TraceDiff]) -> str:
    if not others:
        return ""
    partings = [difference.parting for difference in differences]
    head, *pairs = parting_sentences(first, others[0], partings[0])
    if len(others) > 1:
        agrees = "commits the same tokens at the same steps as A"
        ends = [agrees if parting is None else f"parts from A at step {parting.step}" for parting in partings]
        head, pairs = " ".join(f"{_label(n)[0]} {end}." for n, end in enumerate(ends, 1)), []
    elif first.length != others[0].length:
        head += f" The answers have {first.length} and {others[0].length} tokens."
    items = "".join(f"<li>{escape(pair)}</li>" for pair in pairs)
    key = "Words that differ are underlined by a wave; on yellow, only one run has a word yet."
    listed = f"<ul>{items}</ul>" if items else ""
    return f'<div class="parting"><p>{escape(head)}</p>{listed}<p class="note">{key}</p></div>'


def _section(trace: Trace, number: int, runs: int) -> str:
    name = f"{_label(number) if runs > 1 else ''}{run_label(trace)}"
    heading = "" if runs == 1 else f"<h2>{escape(name)}</h2>"
    return part("run.html", label=escape(name), heading=heading, number=str(number))


def tied_and_near(trace: Trace, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tied positions of a step, with the last one committed, and the near-tied ones.

    Tied are the positions whose value, and whose turn under the end-of-text policy, are those of the last one
    committed. A trace counts near-tied positions without naming them: as many are returned, the nearest to the cut.
    """
    value, chosen = trace.value[step], trace.chosen[step]
    shown = trace.eligible[step] & ~np.isnan(value)
    none = np.array([], dtype=np.int64)
    if not (shown & chosen).any():
        return none, none
    late = waiting(trace, step)
    group = late == late[shown & chosen].any()
    last = value[shown & chosen & group].min()
    level = np.flatnonzero(shown & group & (value == last))
    tied = level if trace.ties[step] else none
    distance = np.where(shown & group & np.isfinite(value), np.abs(value - last), np.inf)
    nearest = np.argsort(distance, kind="stable")[: int(trace.near_ties[step])]
    return tied, np.sort(nearest[~np.isin(nearest, tied) & np.isfinite(distance[nearest])])


def compared(trace: Trace, other: Trace, predictor: MaskPredictor | None) -> TraceDiff:
    """Return the difference of two runs; ValueError for a run of another prompt or model."""
    difference = diff(trace, other, predictor)
    unequal = {change.name for change in difference.settings}
    if "mask_id" in unequal or ("prompt" in unequal and trace.prompt_text == other.prompt_text is not None):
        own, foreign = (f"{each.predictor} (mask {each.mask_id})" for each in (trace, other))
        raise ValueError(
            f"other is of {foreign}, whose tokens are not those of {own}: a run of the same model is needed"
        )
    for change in difference.settings:
        if change.name == "prompt":
            foreign, own = (str(each.prompt_text or each.prompt.tolist())[:60] for each in (other, trace))
            raise ValueError(f"other has the prompt {foreign!r}: a run of the same prompt, {own!r}, is needed")
    return difference
