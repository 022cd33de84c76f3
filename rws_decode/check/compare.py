"""Two digests compared: model, tokens, logits, rewards; and what else is not the same of the two machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rws_decode.check.difference import DigestDiff, FactChange, LastDigits, ModelChange, RowChange
from rws_decode.check.digest import DecodedRow, Digest, Fact
from rws_decode.check.machine import REWARD_WEIGHTS, SCALE, STORED
from rws_decode.check.model_changes import model_changes
from rws_theory.show import figures

_OF_MODELS = {SCALE, STORED, REWARD_WEIGHTS}  # facts that are told of the models, not of the machines


def compare_digests(there: Digest, here: Digest) -> DigestDiff:
    """Return how the digest made here differs from the one made there, as from a file.

    The same: checkpoint, tokenizer, chat template, end-of-text rule, all tokens and the steps that committed them, and
    logits and rewards up to rounding. Digests of other prompts, or of another shape, have nothing to compare but the
    model.

    >>> import torch
    >>> from rws_decode.check.make import check_digest
    >>> from rws_decode.predictors import CallablePredictor
    >>> from rws_decode.settings import Shape
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> digest = check_digest(predictor, prompts=[[1, 2]], shape=Shape(4, 2, 4))
    >>> compare_digests(digest, digest)
    DigestDiff(the same in 2 decodes, no bit differs)
    """
    models, rows, not_compared = list(model_changes(there, here)), [], []
    compared, digits = 0, LastDigits(None, 0, None)
    if (there.prompts, there.shape) != (here.prompts, here.shape):
        models.append(ModelChange("prompts", "The two digests decode other prompts, or answers of another shape."))
        not_compared += ["tokens", "logits", "rewards"]
    else:
        pairs = _pairs(there, here)
        compared = len(pairs)
        rows = [change for pair in pairs if (change := _row_change(there, here, *pair)) is not None]
        not_compared += _only_one(there, here)
        logits, canvases, unlike = _logits(there, here, models)
        rewards = _rewards(there, here, pairs, models, not_compared)
        not_compared += ["logits of prompts that have other ids"] if unlike else []
        digits = LastDigits(logits, canvases, rewards)
    return DigestDiff(
        there,
        here,
        tuple(models),
        tuple(rows),
        None if digits == LastDigits(None, 0, None) else digits,
        tuple(_context(there.machine, here.machine)),
        tuple(not_compared),
        compared,
        (there.near_steps, here.near_steps),
    )


def _pairs(there: Digest, here: Digest) -> list[tuple[DecodedRow, DecodedRow]]:
    """Return the decodes that both digests have: by strategy and prompt."""
    ours = {(row.strategy, row.prompt): row for row in here.decodes}
    both = ((row, ours.get((row.strategy, row.prompt))) for row in there.decodes)
    return [(theirs, mine) for theirs, mine in both if mine is not None]


def _only_one(there: Digest, here: Digest) -> Iterator[str]:
    strategies = [list(dict.fromkeys(row.strategy for row in each.decodes)) for each in (there, here)]
    for number, names in enumerate(strategies):
        for name in names:
            if name not in strategies[1 - number]:
                yield f"decodes by {name}, which are {('there', 'here')[number]} alone"


def _row_change(there: Digest, here: Digest, theirs: DecodedRow, ours: DecodedRow) -> RowChange | None:
    """Return where a decode parts from the other one; None where all tokens and steps are the same."""
    parted = [
        position
        for position, (a, b) in enumerate(zip(_commits(theirs), _commits(ours), strict=True))
        if a != b  # another token, or another step
    ]
    if not parted:
        return None
    step = min(min(theirs.commit_step[position], ours.commit_step[position]) for position in parted)
    near = [step < len(row.near) and row.near[step] > 0 for row in (theirs, ours)]
    return RowChange(
        theirs.prompt,
        theirs.strategy,
        step,
        near[0] or near[1],
        near[0],
        near[1],
        _committed(theirs, step, parted, there.words),
        _committed(ours, step, parted, here.words),
        sum(a != b for a, b in zip(theirs.tokens, ours.tokens, strict=True)),
        there.prompt_ids[theirs.prompt] != here.prompt_ids[ours.prompt],
    )


def _commits(row: DecodedRow) -> list[tuple[int, int]]:
    return list(zip(row.tokens, row.commit_step, strict=True))


def _committed(
    row: DecodedRow, step: int, parted: list[int], words: Mapping[str, str]
) -> tuple[tuple[int, int, str], ...]:
    """Return position, id and word of what a step committed that the other run did not."""
    return tuple(
        (position, row.tokens[position], words.get(str(row.tokens[position]), str(row.tokens[position])))
        for position in parted
        if row.commit_step[position] == step
    )


def _logits(there: Digest, here: Digest, models: list[ModelChange]) -> tuple[float | None, int, bool]:
    """Return the largest difference that rounding explains, of how many canvases, and whether some were left out.

    A larger difference goes to `models`.
    """
    ours = {(each.kind, each.prompt): each for each in here.logits}
    largest, canvases, unlike, beyond, allowed = 0.0, 0, False, 0.0, 0.0
    for theirs in there.logits:
        mine = ours.get((theirs.kind, theirs.prompt))
        if mine is None or mine.canvas != theirs.canvas:
            unlike = True
        elif mine.bits != theirs.bits:
            canvases += 1
            gaps = [abs(a - b) for a, b in zip(theirs.quantiles, mine.quantiles, strict=False)]
            for ids, values, our_ids, our_values in zip(theirs.ids, theirs.logits, mine.ids, mine.logits, strict=False):
                known = dict(zip(our_ids, our_values, strict=True))
                gaps += [abs(value - known[token]) for token, value in zip(ids, values, strict=True) if token in known]
            gap, error = max(gaps, default=0.0), theirs.error + mine.error
            largest = max(largest, gap)
            if gap > error and gap > beyond:
                beyond, allowed = gap, error
    if beyond:
        text = f"Logits differ by up to {figures(beyond)} on the same canvas, more than rounding explains "
        models.append(ModelChange("logits", f"{text}({figures(allowed)})."))
        return None, canvases, unlike
    return (largest if canvases else None), canvases, unlike


def _rewards(
    there: Digest,
    here: Digest,
    pairs: list[tuple[DecodedRow, DecodedRow]],
    models: list[ModelChange],
    not_compared: list[str],
) -> float | None:
    """Return the largest difference of a reward of the same text that rounding explains; a larger one is a change."""
    if there.reward_model is None or here.reward_model is None:
        if there.reward_model != here.reward_model:
            side = "there" if here.reward_model is None else "here"
            not_compared.append(f"rewards of {there.reward_model or here.reward_model}, which are {side} alone")
        return None
    both: list[tuple[float | None, float | None]] = []
    other_words = bool({"tokenizer", "end of text"} & {change.kind for change in models})
    if other_words:  # the same tokens are another text then
        not_compared.append("rewards of answers, whose tokens are other words")
    else:
        both += [(a.reward, b.reward) for a, b in pairs if a.tokens == b.tokens]
    if not other_words or all(isinstance(prompt, str) for prompt in there.prompts):
        ours = {(each.prompt, each.answer): each.reward for each in here.rewards}
        both += [(each.reward, ours.get((each.prompt, each.answer))) for each in there.rewards]
    gap = max((abs(a - b) for a, b in both if a is not None and b is not None), default=0.0)
    named = there.reward_model
    if there.reward_model != here.reward_model:
        named = f"{there.reward_model} there and {here.reward_model} here"
    scales = [each.machine.get(SCALE) for each in (there, here)]
    if None not in scales and scales[0] != scales[1]:
        text = f"The mean and deviation of the reward model ({named}) are {scales[0]} there, {scales[1]} here."
        models.append(ModelChange("rewards", text))
    weights, dtypes = (
        [each.machine.get(name) for each in (there, here)] for name in (REWARD_WEIGHTS, "reward's dtype")
    )
    if None not in weights and weights[0] != weights[1] and dtypes[0] == dtypes[1]:
        models.append(ModelChange("rewards", f"The reward model ({named}) has other weights."))
    if gap > there.reward_error + here.reward_error:
        text = f"The reward model ({named}) gives the same text another reward, by up to {figures(gap)}."
        models.append(ModelChange("rewards", text))
        return None
    return gap or None


def _context(there: Mapping[str, Fact], here: Mapping[str, Fact]) -> Iterator[FactChange]:
    for name in {**there, **here}:
        # What one side does not know follows from the device, or from a reward model that it does not have.
        if name not in _OF_MODELS and None not in (there.get(name), here.get(name)) and there[name] != here[name]:
            yield FactChange(name, there.get(name), here.get(name))
