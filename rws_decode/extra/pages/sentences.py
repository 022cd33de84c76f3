"""Plain sentences on a run, a step and a divergence: for pages, and for screen readers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rws_decode.extra.diff.difference import Parting, Reversal
from rws_decode.trace.data import NOT_NEEDED, REUSED
from rws_decode.trace.labels import missing_note, revised_words, run_label, strategy_label, worth
from rws_decode.trace.trace import Trace
from rws_decode.view.sentences import MINUS, at_position, count, joined, number

_MOST = 5  # words that a sentence names
_WHY = {
    "plan": "from there on their plans, or their lengths, differ",
    "revision": "they do not mask again, or replace, the same tokens",
    "candidate": "the same positions take other words",
}


def run_sentence(trace: Trace) -> str:
    """Return one sentence on a whole run: its strategy, size and models."""
    if trace.of_step_map:
        blocks = f", in blocks of {trace.block}" if trace.block else ""
        size = f"{count(trace.length, 'token')} in {count(trace.steps_run, 'step')}{blocks}"
        return f"The {run_label(trace)}: {size}. {missing_note([trace])}"
    models = f"the mask predictor {trace.predictor}"
    if trace.reward_model is not None:
        models += f" and the reward model {trace.reward_model}"
    blocks = "" if trace.block == trace.length else f", in blocks of {trace.block}"
    ended = "" if trace.steps_run == trace.steps else f" It ended after {count(trace.steps_run, 'step')}."
    size = f"{count(trace.length, 'token')} in {count(trace.steps, 'step')}{blocks}"
    note = f" {note}" if (note := missing_note([trace])) else ""
    return f"The strategy {strategy_label(trace.strategy)} decoded {size}, with {models}.{ended}{note}"


def step_sentence(trace: Trace, step: int) -> str:
    """Return sentences on a step: its commits, reward and factor, the commits of factor 1, and its ties."""
    chosen = np.flatnonzero(trace.chosen[step]).tolist()
    parts = [f"Step {step} commits {_placed(trace, step, chosen)}."]
    if again := np.flatnonzero(trace.masked_again[step]).tolist():
        parts.append(f"It masks {_placed(trace, step, again)} again.")
    if edited := np.flatnonzero(trace.edited[step]).tolist():
        parts.append(f"It replaces what stood there by {_placed(trace, step, edited)}.")
    if trace.of_step_map:
        return parts[0]
    use, reward, factor = int(trace.reward_use[step]), trace.reward_normalised[step], float(trace.factor[step])
    if use == NOT_NEEDED:
        parts.append("No reward was needed: every reward leads to these.")
    elif not math.isnan(reward):
        reused = " (known from before)" if use == REUSED else ""
        parts.append(f"Normalised reward {reward:+.2f}{reused}, factor {number(factor, 3)}.".replace("-", MINUS))
    elif factor != 1:
        parts.append(f"Factor {number(factor, 3)}.")
    if trace.changed[step]:
        instead = np.flatnonzero(trace.unscaled[step] & ~trace.chosen[step]).tolist()
        only = np.flatnonzero(trace.chosen[step] & ~trace.unscaled[step]).tolist()
        parts.append(
            f"At factor 1 it would have committed {_placed(trace, step, instead)} "
            f"instead of {_placed(trace, step, only)}."
        )
    if trace.missing:
        return " ".join(parts)
    if ties := int(trace.ties[step]):
        parts.append(f"{count(ties, 'position')} more {'is' if ties == 1 else 'are'} level with the last: a tie.")
    if near := int(trace.near_ties[step]):
        parts.append(f"{count(near, 'position')} {'lies' if near == 1 else 'lie'} within rounding of the cut.")
    if near := int(trace.near_tokens[step]):
        parts.append(f"{count(near, 'candidate')} {'leads' if near == 1 else 'lead'} by no more than rounding.")
    if trace.inexact[step]:
        parts.append("Rounding changed the set: exact confidence would have chosen another.")
    return " ".join(parts)


def end_sentence(trace: Trace) -> str:
    """Return a sentence on the result of a run: the worth of its text, the effect of factor 1, and its order."""
    words = int((trace.commit_step >= 0).sum())
    parts = [f"The end: {count(words, 'word')} in {count(trace.steps_run, 'step')}", *worth(trace)]
    if revisions := trace.revisions:
        parts.append(f"{count(revisions, 'token')} {'was' if revisions == 1 else 'were'} {revised_words(trace)}")
    if changed := int(trace.changed.sum()):
        parts.append(f"factor 1 would have committed otherwise in {count(changed, 'step')}")
    parts.append(f"generation order deviation (GOD) {number(trace.god_steps, 3)} steps")
    return "; ".join(parts).replace("(-", f"({MINUS}").replace(" -", f" {MINUS}") + "."


def parting_sentences(first: Trace, second: Trace, parting: Parting | None) -> list[str]:
    """Return where run A and run B diverge and why, and a sentence for each pair of positions that changed places."""
    if parting is None:
        return ["The two runs commit the same tokens at the same steps."]
    step, (own, other) = parting.step, parting.factors
    if first.of_step_map or second.of_step_map:
        committed = [each.chosen[step : step + 1].nonzero()[1].tolist() for each in (first, second)]
        texts = [
            _placed(run, step, places) or "nothing" for run, places in zip((first, second), committed, strict=True)
        ]
        return [f"The runs diverge at step {step}: A commits {texts[0]}, B commits {texts[1]}."]
    if reason := _WHY.get(parting.why):
        return [f"The runs diverge at step {step}: {reason}."]
    if parting.why == "count" and not parting.reversals:
        numbers = [int(trace.chosen[step].sum()) for trace in (first, second)]
        return [f"The runs diverge at step {step}: A commits {count(numbers[0], 'position')}, B {numbers[1]}."]
    head = f"The runs diverge at step {step}, where A has factor {number(own)} and B factor {number(other)}."
    pairs = [_reversal(first, second, step, pair) for pair in parting.reversals]
    rest = len(pairs) - _MOST
    return [head, *pairs[:_MOST], *([f"{count(rest, 'pair')} more changed places."] if rest > 0 else [])]


def _reversal(first: Trace, second: Trace, step: int, pair: Reversal) -> str:
    own = _placed(first, step, [pair.earlier])
    other = _placed(second, step, [pair.later])
    sentence = f"A commits {own}, B commits {other}"
    if pair.certified and pair.crossings:
        where = " and ".join(f"{number(crossing.root, 6)}" for crossing in pair.crossings)
        widest = max((crossing.upper - crossing.lower) / crossing.upper for crossing in pair.crossings)
        return f"{sentence}: their confidences cross at c = {where}, proved to a relative width of {number(widest, 1)}."
    if pair.certified is None:
        return f"{sentence}; where their confidences cross is not known without the model."
    return f"{sentence}; no crossing is proved: {pair.note}."


def _placed(trace: Trace, step: int, positions: Sequence[int]) -> str:
    """Return candidates with their positions: “the” at 0 and “.” at 9."""
    words = trace.words(trace.candidate[step, positions]) if positions else []
    return joined([at_position(word, position) for word, position in zip(words, positions, strict=True)], _MOST + 1)
