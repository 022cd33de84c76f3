"""Two digests compared: model, tokens, logits, rewards; and what else is not the same of the two machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rws_decode.check.difference import DigestDiff, FactChange, LastDigits, ModelChange, RowChange
from rws_decode.check.digest import CheckpointPrint, DecodedRow, Digest, Fact
from rws_decode.check.fingerprints import TEXTS, TURNS
from rws_decode.check.machine import REWARD_WEIGHTS, SCALE, STORED
from rws_theory.show import figures, quoted, shortened

_MOST = 4  # names or values that a sentence lists
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


def model_changes(there: Digest, here: Digest) -> Iterator[ModelChange]:
    """Yield what of the model itself is not the same, the checkpoint first."""
    stored = tuple(each.machine.get(STORED) for each in (there, here))
    for text in _checkpoint(there.checkpoint, here.checkpoint, stored):
        yield ModelChange("checkpoint", text)
    tokenizer = list(_tokenizer(there, here))
    yield from (ModelChange("tokenizer", text) for text in tokenizer)
    yield from (ModelChange("template", text) for text in _template(there, here, bool(tokenizer)))
    yield from (ModelChange("end of text", text) for text in _end_of_text(there, here))


def _checkpoint(there: CheckpointPrint, here: CheckpointPrint, stored: Sequence[Fact]) -> Iterator[str]:
    if there.read != here.read or there.read == "nothing":
        return  # a file's numbers and those in memory may have other dtypes
    changed = _unlike(there.weights, here.weights)
    only = [name for name in {**there.weights, **here.weights} if (name in there.weights) != (name in here.weights)]
    if only and len(only) == len({**there.weights, **here.weights}):
        yield "No part of the weights has the same name: another model, or the same one in another layout."
    elif only:
        yield f"The weights have other parts: {shortened(sorted(only), _MOST)}."
    if changed:
        total = len(there.weights.keys() & here.weights.keys())
        every = len(changed) == total > 1
        which = "All weights differ" if every else f"Weights differ in {len(changed)} of {total} parts"
        yield f"{which}: {shortened(changed, _MOST)}."
        if None not in stored and stored[0] != stored[1]:
            yield f"The files hold {stored[0]} there and {stored[1]} here; they may be the same weights, rounded."
    keys = [key for key in {**there.config, **here.config} if there.config.get(key) != here.config.get(key)]
    for key in keys[:_MOST]:
        theirs, ours = there.config.get(key, "absent"), here.config.get(key, "absent")
        yield f"config.json: {key} is {theirs} there and {ours} here."
    if len(keys) > _MOST:
        yield f"config.json: {len(keys) - _MOST} more entries differ."


def _unlike(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return the names that both have with other hashes."""
    return [name for name in there if name in here and there[name] != here[name]]


def _tokenizer(there: Digest, here: Digest) -> Iterator[str]:
    first, second = there.tokenizer, here.tokenizer
    if first is None or second is None:
        if first is not second:
            yield f"There is no tokenizer {'there' if first is None else 'here'}."
        return
    if first.size != second.size:
        yield f"The tokenizer has {first.size:,} tokens there and {second.size:,} here."
    if changed := _unlike(first.vocabulary, second.vocabulary):
        starts = sorted(_starts(first.vocabulary) | _starts(second.vocabulary))
        ranges = [_range(start, starts) for start in sorted(_starts(changed))]
        yield f"The tokenizer names tokens otherwise, with ids {shortened(ranges, _MOST)}."
    for text, ours, theirs in zip(TEXTS, second.texts, first.texts, strict=False):
        if ours != theirs:
            yield f"The tokenizer splits {quoted(text)} otherwise: {_ids(theirs, ours, there.words, here.words)}."
            return


def _starts(names: Iterable[str]) -> set[int]:
    return {int(name) for name in names if name.isdecimal() and len(name) < 12}


def _range(first: int, starts: Sequence[int]) -> str:
    after = next((start for start in starts if start > first), None)
    return f"{first} and above" if after is None else str(first) if after == first + 1 else f"{first} to {after - 1}"


def _template(there: Digest, here: Digest, other_tokenizer: bool) -> Iterator[str]:
    first, second = there.template, here.template
    if first is None or second is None:
        return  # said of the tokenizer
    if bool(first.chat) != bool(second.chat):
        yield f"Prompts are {_chat(first.chat)} there and {_chat(second.chat)} here."
        return
    if other_tokenizer and not first.chat:
        return
    for text, theirs, ours in zip((*TEXTS, TURNS), first.texts, second.texts, strict=False):
        if ours != theirs:
            what = "a dialogue" if isinstance(text, tuple) else f"the prompt {quoted(text)}"
            layout = "chat template" if first.chat else "layout of a prompt"
            after = " (the tokenizer may be the reason)" if other_tokenizer else ""
            yield f"The {layout} makes other ids of {what}: {_ids(theirs, ours, there.words, here.words)}{after}."
            return


def _chat(chat: bool | None) -> str:
    return "messages of a chat" if chat else "plain text"


def _ids(there: Sequence[int], here: Sequence[int], words: Mapping[str, str], our_words: Mapping[str, str]) -> str:
    """Say how many ids there are, and the first that differ."""
    count = min(len(there), len(here))
    first = next((i for i in range(count) if there[i] != here[i]), count)

    def stands(ids: Sequence[int], texts: Mapping[str, str]) -> str:
        if first >= len(ids):
            return "nothing"
        return f"{ids[first]} ({quoted(texts.get(str(ids[first]), '?'))})"

    counts = f"{len(there)} ids" if len(there) == len(here) else f"{len(there)} ids there and {len(here)} here"
    return f"{counts}; at {first} stands {stands(there, words)} there and {stands(here, our_words)} here"


def _end_of_text(there: Digest, here: Digest) -> Iterator[str]:
    first, second = there.end_of_text, here.end_of_text
    for name, theirs, ours in (
        ("mask token", first.mask, second.mask),
        ("padding token", first.pad, second.pad),
    ):
        if theirs != ours:
            yield f"The {name} is {_token(theirs, there.words)} there and {_token(ours, here.words)} here."
    if first.ends != second.ends:
        ends = [
            " or ".join(_token(token, side.words) for token in side.end_of_text.ends[:_MOST]) or "no token"
            for side in (there, here)
        ]
        yield f"The text of an answer ends at {ends[0]} there and at {ends[1]} here."
    if (first.forbidden, first.forbidden_hash) != (second.forbidden, second.forbidden_hash):
        yield f"Other tokens are never committed: {first.forbidden:,} there and {second.forbidden:,} here."
    same_ids = (first.pad, first.ends) == (second.pad, second.ends) and there.prompt_ids == here.prompt_ids
    if same_ids and first.cuts != second.cuts:
        theirs, ours = next((a, b) for a, b in zip(first.cuts, second.cuts, strict=False) if a != b)
        yield f"The same tokens are cut to {theirs!r:.60} there and to {ours!r:.60} here."


def _token(token: int | None, words: Mapping[str, str]) -> str:
    return "none" if token is None else f"{token} ({quoted(words.get(str(token), '?'))})"
