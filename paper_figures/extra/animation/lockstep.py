"""What a decode, or two in lock-step, show after each step: words, what is new, what differs, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_decode.extra.diff.difference import WHY, Parting, TraceDiff
from rws_decode.extra.pages.faces import unusual
from rws_decode.extra.pages.template import line_of
from rws_decode.trace.data import NOT_NEEDED
from rws_decode.trace.labels import missing_note, run_label, strategy_label, worth
from rws_decode.trace.trace import Trace
from rws_decode.view.sentences import count, number, shown

_START, _STEP, _PARTING, _END = 2.0, 0.5, 3.0, 4.0  # seconds that a frame stands
_FILLED = 3  # equal tokens at the end of an answer that say nothing any more


@dataclass(frozen=True)
class RunFrame:
    """A run after a step: the word of each position, None for a mask; its factor and reward; and kinds of positions.

    new: committed in this step; filling: with the one token that fills the answer to its end; marked: of two runs, with
    a word that the other run does not have there; of a single run, with one that confidence at factor 1 would not have
    committed when the run did.
    """

    words: tuple[str | None, ...]
    new: frozenset[int]
    marked: frozenset[int]
    filling: frozenset[int]
    numbers: str

    def look(self, position: int) -> tuple[str | None, bool, bool, bool]:
        """Return all that the box of a position shows."""
        return self.words[position], position in self.new, position in self.marked, position in self.filling


@dataclass(frozen=True)
class Frame:
    """A frame: the step that it comes after, -1 before the first; its runs, a sentence, and the seconds it stands."""

    step: int
    runs: tuple[RunFrame, ...]
    sentence: str
    seconds: float


def frames_of(trace: Trace, other: Trace | None = None, difference: TraceDiff | None = None) -> tuple[Frame, ...]:
    """Return the frames of a run or of two: the masks, each step, and the end, which stands longer.

    difference: of the two runs, from `rws_decode.diff`. The step that parts them stands longer, too.
    """
    traces = (trace,) if other is None else (trace, other)
    last = max(each.steps_run for each in traces)
    parting = None if difference is None else difference.parting
    frames = []
    for step in range(-1, last + 1):
        ids = [_ids_after(each, step) for each in traces]
        words = [_words(each, standing) for each, standing in zip(traces, ids, strict=True)]
        marked = [unusual(trace, step)] if other is None else _differing(*words)
        runs = tuple(
            RunFrame(tuple(texts), _new(each, step), marks, _filling(each, standing), _numbers(each, step))
            for each, standing, texts, marks in zip(traces, ids, words, marked, strict=True)
        )
        ended = step == last
        seconds = _START if step < 0 else _END if ended else _STEP
        if step >= 0 and parting is not None and parting.step == step:
            seconds = max(seconds, _PARTING)
        sentence = _sentence(traces, step, ended, parting, words)
        frames.append(Frame(step, runs, sentence, seconds))
    return tuple(frames)


def prompt_before(trace: Trace) -> str | None:
    """Return the prompt of a run as a text, None where it stands around the answer."""
    around = any(isinstance(part, str) for part in line_of(trace.prompt_text, trace.length))
    if around or (trace.prompt is None and trace.prompt_text is None):
        return None
    return trace.prompt_text or " ".join(trace.words(trace.prompt))


def run_title(trace: Trace) -> str:
    """Return how a reader names the strategy of a run."""
    if trace.of_step_map:
        return run_label(trace)
    described = trace.strategy
    if described["name"] == "default":
        return "confidence (default)"
    if described["name"] == "rws" and "base" not in described:
        return f"RWS, s_R = {described['reward_scale']:g}"
    return strategy_label(described)


def _ids_after(trace: Trace, step: int) -> NDArray[np.int64]:
    """Return the tokens after a step; of steps past the last one, those of the final answer.

    What no step committed, as where a callback stopped the run, joins it at the end alone.
    """
    if step < 0:
        return np.full(trace.length, trace.mask)
    if step + 1 < trace.steps_run:
        return trace.canvas[step + 1]
    committed = (trace.commit_step >= 0) | (step >= trace.steps_run)
    return np.where(committed, trace.tokens, trace.mask)


def _words(trace: Trace, ids: NDArray[np.int64]) -> list[str | None]:
    masks = (ids == trace.mask).tolist()
    return [None if mask else word for mask, word in zip(masks, trace.words(ids), strict=True)]


def _filling(trace: Trace, ids: NDArray[np.int64]) -> frozenset[int]:
    """Return the positions of the token that stands again and again up to the end, as one that ends text does."""
    other = np.flatnonzero(trace.tokens != trace.tokens[-1])
    start = int(other[-1]) + 1 if len(other) else 0
    if trace.length - start < _FILLED:
        return frozenset()
    return frozenset((start + np.flatnonzero(ids[start:] == trace.tokens[-1])).tolist())


def _new(trace: Trace, step: int) -> frozenset[int]:
    new = trace.chosen | trace.edited
    return frozenset(np.flatnonzero(new[step]).tolist() if 0 <= step < trace.steps_run else ())


def _differing(ours: Sequence[str | None], theirs: Sequence[str | None]) -> list[frozenset[int]]:
    """Return for each of two runs the positions of its words that the other does not have there."""
    pairs = [(n, *pair) for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]]
    first = {n for n, mine, _ in pairs if mine is not None} | set(range(len(theirs), len(ours)))
    second = {n for n, _, mine in pairs if mine is not None} | set(range(len(ours), len(theirs)))
    return [frozenset(n for n in marks if words[n] is not None) for marks, words in ((first, ours), (second, theirs))]


def _numbers(trace: Trace, step: int) -> str:
    """Return factor and normalised reward of a step; after the last, what the answer is worth."""
    if step < 0:
        return ""
    if step >= trace.steps_run:
        return "; ".join(worth(trace)).replace(" -", " \N{MINUS SIGN}").replace("(-", "(\N{MINUS SIGN}") or "the end"
    if trace.of_step_map:
        return "neither factor nor reward is known"
    if trace.reward_use[step] == NOT_NEEDED:
        return "no reward needed: every factor commits these"
    factor, reward = float(trace.factor[step]), float(trace.reward_normalised[step])
    parts = ["its own order" if trace.ranking == "order" else f"factor {number(factor, 3)}"]
    parts.append("no reward" if math.isnan(reward) else f"normalised reward {reward:+.2f}")
    if again := int(trace.masked_again[step].sum()):
        parts.append(f"masks {again} again")
    if edited := int(trace.edited[step].sum()):
        parts.append(f"replaces {edited}")
    return ", ".join(parts).replace("-", "\N{MINUS SIGN}")


def _sentence(
    traces: Sequence[Trace],
    step: int,
    ended: bool,
    parting: Parting | None,
    words: Sequence[Sequence[str | None]],
) -> str:
    if step < 0:
        sizes = " and ".join(str(size) for size in dict.fromkeys(each.length for each in traces))
        note = missing_note(traces) or "Each step commits those that its strategy ranks first."
        return f"All {sizes} tokens are masked. {note}"
    if len(traces) == 1:
        return _of_one(traces[0], step, ended)
    if parting is None:
        return "Both runs commit the same words at the same steps."
    if step < parting.step:
        return "So far both runs committed the same words."
    if step == parting.step:
        return _parting(parting)
    pairs = list(zip(*words, strict=False))
    same = sum(mine == theirs is not None for mine, theirs in pairs)
    if ended:
        longest = max(each.length for each in traces)
        return f"The end: the runs have other words at {longest - same} of {longest} positions."
    apart = sum(map(len, _differing(*words)))
    have = "word stands" if same == 1 else "words stand"
    return (
        f"The runs parted at step {parting.step}. Now {same} {have} in both, "
        f"and {apart} in A or in B alone (underlined)."
    )


def _of_one(trace: Trace, step: int, ended: bool) -> str:
    if ended:
        return f"The end: {count(trace.length, 'token')} in {count(trace.steps_run, 'step')}."
    if not trace.changed[step]:
        return f"Step {step} commits {count(int(trace.chosen[step].sum()), 'token')}."
    only, instead = (
        ", ".join(f"“{shown(word)}”" for word in trace.words(trace.candidate[step, positions]))
        for positions in (trace.chosen[step] & ~trace.unscaled[step], trace.unscaled[step] & ~trace.chosen[step])
    )
    return f"The factor matters here: it commits {only or 'nothing else'}; factor 1 would commit {instead or 'less'}."


def _parting(parting: Parting) -> str:
    step = parting.step
    if parting.reversals:
        pair = parting.reversals[0]
        sentence = f"Step {step}: the runs diverge. A commits “{shown(pair.words[0])}”, B “{shown(pair.words[1])}”"
        roots = " and ".join(number(crossing.root, 3) for crossing in pair.crossings)
        return f"{sentence}: their confidences cross at factor {roots}." if pair.certified and roots else f"{sentence}."
    if parting.candidates:
        ours, theirs = parting.candidates[0].words
        return f"Step {step}: the runs diverge. At the same place A takes “{shown(ours)}” and B “{shown(theirs)}”."
    return f"Step {step}: the runs diverge, as {WHY[parting.why]}."
