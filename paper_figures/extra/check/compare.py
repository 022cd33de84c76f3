"""Two digests compared: model, tokens, logits, rewards, and the machines; what differs as data, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from paper_figures.extra.check.digest import REWARD_WEIGHTS, SCALE, STORED, DecodedRow, Digest
from paper_figures.extra.check.fingerprints import GUIDED, TEXTS, TURNS
from rws_decode.extra.diff.changes import Change, changes
from rws_theory.show import clipped, figures, one_line, printable, quoted, shortened

Kind = Literal["checkpoint", "tokenizer", "template", "end of text", "prompts", "logits", "rewards", "tokens"]

_MOST = 4  # names that a sentence lists, and entries of one kind that are told
_ROWS = 6  # decodes that are told one by one
_WIDEST = 400  # characters of a line
_MANY = 0.5  # share of steps at a near-tie from which a near-tie explains little
_FILES = ("checkpoint", "tokenizer", "template", "end of text")
# What a difference of each kind comes from; those of files come before all rounding.
_CAUSES = {
    "checkpoint": "it is not the same model, or it was stored again.",
    "tokenizer": "the tokenizers are not the same.",
    "template": "prompts are laid out otherwise.",
    "end of text": "other tokens are special, or end the text.",
    "logits": "the network does not compute the same, or was changed after it was loaded.",
    "rewards": "the reward model has other weights or another scale, or does not compute the same.",
}
# Facts that a user can set here, by the option that sets them.
_OPTIONS = {"dtype": "--dtype", "batch": "--batch", "threads": "--threads", "reward's dtype": "--reward-dtype"}
_NO_ARITHMETIC = {"NumPy", "Python"}  # nothing that a network computes depends on these


@dataclass(frozen=True)
class ModelChange:
    """A difference outside the decodes, such as a library's version: its kind, and a sentence."""

    kind: Kind
    text: str

    __repr__ = one_line


@dataclass(frozen=True)
class RowChange:
    """A decode that committed other tokens, or the same ones at other steps.

    prompt, strategy: which decode; step: the first that committed otherwise, from 0; near_there, near_here: whether
    that run has a tie or near-tie at this step; near_tie: whether one of them has; only_there, only_here: what only one
    of them committed at the step, (position, id, word); tokens: how many of the answer's tokens differ in the end;
    other_ids: whether the prompt has other ids.
    """

    prompt: int
    strategy: str
    step: int
    near_tie: bool
    near_there: bool
    near_here: bool
    only_there: tuple[tuple[int, int, str], ...]
    only_here: tuple[tuple[int, int, str], ...]
    tokens: int
    other_ids: bool
    kind: Kind = "tokens"

    __repr__ = one_line


@dataclass(frozen=True)
class LastDigits:
    """How far numbers differ that rounding explains: the largest differences of logits and of rewards, None for none.

    canvases: how many canvases have logits with other bits. Of those logits only the largest ones are in a digest.
    """

    logits: float | None = None
    canvases: int = 0
    rewards: float | None = None

    __repr__ = one_line


@dataclass(frozen=True, repr=False)
class DigestDiff:
    """How a digest made here differs from one made there. Print it for the plain words.

    models, rows: the differences. last_digits: None where all bits are the same. context: what else is not the same of
    the two machines, which is no difference by itself. not_compared: what one digest alone has. near_steps: the share
    of steps with a tie or near-tie, there and here.
    """

    there: Digest
    here: Digest
    models: tuple[ModelChange, ...]
    rows: tuple[RowChange, ...]
    last_digits: LastDigits | None
    context: tuple[Change, ...]
    not_compared: tuple[str, ...]
    compared: int
    near_steps: tuple[float, float]

    @property
    def same(self) -> bool:
        """Return whether model and tokens are the same; last digits and the machine may differ."""
        return not self.models and not self.rows

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of what differs, each once."""
        return list(dict.fromkeys(each.kind for each in (*self.models, *self.rows)))

    def __repr__(self) -> str:
        if self.same:
            digits = "no bit differs" if self.last_digits is None else "only last digits differ"
            return clipped(f"DigestDiff(the same in {self.compared} decodes, {digits})")
        return clipped(f"DigestDiff({', '.join(self.kinds)} differ; print it for the rest)")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return "\n".join((*difference_lines(self), *_printable((*_context(self), *_cause(self)))))

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data; each difference has its kind."""
        return {
            "same": self.same,
            "differences": [asdict(each) for each in (*self.models, *self.rows)],
            "last_digits": None if self.last_digits is None else asdict(self.last_digits),
            "context": [{"name": each.name, "there": each.first, "here": each.second} for each in self.context],
            "not_compared": list(self.not_compared),
            "decodes": self.compared,
            "near_steps": list(self.near_steps),
        }


def compare_digests(there: Digest, here: Digest) -> DigestDiff:
    """Return how the digest made here differs from the one made there, as from a file.

    The same: checkpoint, tokenizer, chat template, end-of-text rule, all tokens and the steps that committed them, and
    logits and rewards up to rounding. Digests of other prompts, or of another shape, have nothing to compare but the
    model.
    """
    models, not_compared, pairs, digits = list(_models(there, here)), [], [], LastDigits()
    if (there.prompts, there.shape) != (here.prompts, here.shape):
        models.append(ModelChange("prompts", "The two digests decode other prompts, or answers of another shape."))
        not_compared += ["tokens", "logits", "rewards"]
    else:
        ours = {(row.strategy, row.prompt): row for row in here.decodes}
        both = ((row, ours.get((row.strategy, row.prompt))) for row in there.decodes)
        pairs = [(theirs, mine) for theirs, mine in both if mine is not None]
        not_compared += _only_one(there, here)
        logits, canvases = _logits(there, here, models, not_compared)
        digits = LastDigits(logits, canvases, _rewards(there, here, pairs, models, not_compared))
    context = changes(there.machine, here.machine, known=True)  # what one side does not know follows from the device
    return DigestDiff(
        there,
        here,
        tuple(models),
        tuple(change for pair in pairs if (change := _row_change(there, here, *pair)) is not None),
        None if digits == LastDigits() else digits,
        tuple(each for each in context if each.name not in (SCALE, STORED, REWARD_WEIGHTS)),
        tuple(not_compared),
        len(pairs),
        (there.near_steps, here.near_steps),
    )


def _models(there: Digest, here: Digest) -> Iterator[ModelChange]:
    """Yield what of the models themselves is not the same, the checkpoint first."""
    kinds: set[Kind] = set()
    for (kind, first), second in zip(_facts(there, here).items(), _facts(here, there).values(), strict=True):
        if kind == "template" and "tokenizer" in kinds:
            continue  # its ids follow from the tokenizer's
        found = changes(first, second, known=True)
        for change in found[:_MOST]:
            kinds.add(kind)
            if isinstance(change.first, dict):  # of hashes
                parts = [part.name for part in changes(change.first, change.second)]
                count = f"{len(parts)} of {len({**change.first, **change.second})}"
                yield ModelChange(kind, f"{change.name} {count} parts: {shortened(parts, _MOST)}.")
                continue
            theirs, _ = change.words(lambda token: _token(token, there.words))
            _, ours = change.words(lambda token: _token(token, here.words))
            yield ModelChange(kind, f"{change.name} {theirs} there and {ours} here.")
        if len(found) > _MOST:
            yield ModelChange(kind, f"{len(found) - _MOST} more entries differ.")


def _facts(digest: Digest, other: Digest) -> dict[Kind, dict[str, Any]]:
    """Return what is compared of a digest's models, by the beginning of a sentence; whole numbers are token ids.

    What cannot be compared with the other digest is left out, or None.
    """
    checkpoint, tokenizer, template, end = digest.checkpoint, digest.tokenizer, digest.template, digest.end_of_text
    files: dict[str, Any] = {}
    if checkpoint.read == other.checkpoint.read:  # numbers in memory may have another dtype than those of a file
        keys = {**checkpoint.config, **other.checkpoint.config}
        files = {"Weights differ in": checkpoint.weights, "The files hold": digest.machine.get(STORED)}
        files |= {f"config.json: {key} is": checkpoint.config.get(key, "absent") for key in keys}
    ids: dict[str, Any] = {"The number of tokens is": "none" if tokenizer is None else f"{tokenizer.size:,}"}
    if tokenizer is not None:
        ids["Names of tokens, in ranges by their first id, differ in"] = tokenizer.vocabulary
        ids |= {f"The ids of {quoted(text)} are": row for text, row in zip(TEXTS, tokenizer.texts, strict=False)}
    layout: dict[str, Any] = {}
    if template is not None:
        layout["Prompts are"] = "messages of a chat" if template.chat else "plain text"
        names = [*(f"the prompt {quoted(text)}" for text in TEXTS), f"a dialogue of {len(TURNS)} turns"]
        layout |= {f"The ids of {name} are": row for name, row in zip(names, template.texts, strict=False)}
    special = {
        "The mask token is": end.mask,
        "The padding token is": "none" if end.pad is None else end.pad,
        "The text of an answer ends at": end.ends,
        "The tokens that are never committed are": f"{end.forbidden:,} (hash {end.forbidden_hash})",
    }
    if (end.pad, end.ends, digest.prompt_ids) == (other.end_of_text.pad, other.end_of_text.ends, other.prompt_ids):
        special["The same tokens are cut to"] = tuple(map(repr, end.cuts))
    same_dtype = digest.machine.get("reward's dtype") == other.machine.get("reward's dtype")
    reward = {
        "The mean and deviation of the reward model are": digest.machine.get(SCALE),
        "The weights of the reward model have the hash": digest.machine.get(REWARD_WEIGHTS) if same_dtype else None,
    }
    return {"checkpoint": files, "tokenizer": ids, "template": layout, "end of text": special, "rewards": reward}


def _token(token: int, words: Mapping[str, str]) -> str:
    return f"{token} ({quoted(words.get(str(token), '?'))})"


def _only_one(there: Digest, here: Digest) -> Iterator[str]:
    strategies = [dict.fromkeys(row.strategy for row in each.decodes) for each in (there, here)]
    for side, names, others in zip(("there", "here"), strategies, strategies[::-1], strict=True):
        yield from (f"decodes by {name}, which are {side} alone" for name in names if name not in others)


def _row_change(there: Digest, here: Digest, theirs: DecodedRow, ours: DecodedRow) -> RowChange | None:
    """Return where a decode parts from the other one; None where all tokens and steps are the same."""
    commits = [list(zip(row.tokens, row.commit_step, strict=True)) for row in (theirs, ours)]
    parted = [position for position, (a, b) in enumerate(zip(*commits, strict=True)) if a != b]
    if not parted:
        return None
    step = min(min(theirs.commit_step[position], ours.commit_step[position]) for position in parted)
    near = [step < len(row.near) and row.near[step] > 0 for row in (theirs, ours)]
    only = [
        tuple(
            (position, token, words.get(str(token), str(token)))
            for position in parted
            for token in [row.tokens[position]]
            if row.commit_step[position] == step
        )
        for row, words in ((theirs, there.words), (ours, here.words))
    ]
    tokens = sum(a != b for a, b in zip(theirs.tokens, ours.tokens, strict=True))
    other_ids = there.prompt_ids[theirs.prompt] != here.prompt_ids[ours.prompt]
    decode = (theirs.prompt, theirs.strategy)
    return RowChange(*decode, step, any(near), near[0], near[1], only[0], only[1], tokens, other_ids)


def _logits(
    there: Digest, here: Digest, models: list[ModelChange], not_compared: list[str]
) -> tuple[float | None, int]:
    """Return the largest difference that rounding explains, of how many canvases; a larger one goes to `models`."""
    ours = {(each.kind, each.prompt): each for each in here.logits}
    gaps: list[tuple[float, float]] = []  # of a canvas with other bits: the difference, and what rounding explains
    unlike = False
    for theirs in there.logits:
        mine = ours.get((theirs.kind, theirs.prompt))
        if mine is None or mine.canvas != theirs.canvas:
            unlike = True
        elif mine.bits != theirs.bits:
            gap = [abs(a - b) for a, b in zip(theirs.quantiles, mine.quantiles, strict=False)]
            for ids, values, our_ids, our_values in zip(theirs.ids, theirs.logits, mine.ids, mine.logits, strict=False):
                known = dict(zip(our_ids, our_values, strict=True))
                gap += [abs(value - known[token]) for token, value in zip(ids, values, strict=True) if token in known]
            gaps.append((max(gap, default=0.0), theirs.error + mine.error))
    not_compared += ["logits of prompts that have other ids"] if unlike else []
    if beyond := [each for each in gaps if each[0] > each[1]]:
        size, error = max(beyond)
        text = f"Logits differ by up to {figures(size)} on the same canvas, more than rounding explains "
        models.append(ModelChange("logits", f"{text}({figures(error)})."))
        return None, len(gaps)
    return max((gap for gap, _ in gaps), default=None), len(gaps)


def _rewards(
    there: Digest,
    here: Digest,
    pairs: Sequence[tuple[DecodedRow, DecodedRow]],
    models: list[ModelChange],
    not_compared: list[str],
) -> float | None:
    """Return the largest difference of a reward of the same text that rounding explains; a larger one is a change."""
    if there.reward_model is None or here.reward_model is None:
        if there.reward_model != here.reward_model:
            side = "there" if here.reward_model is None else "here"
            not_compared.append(f"rewards of {there.reward_model or here.reward_model}, which are {side} alone")
        return None
    ours = {(each.prompt, each.answer): each.reward for each in here.rewards}
    both: list[tuple[float | None, float | None]] = []
    other_words = any(change.kind in ("tokenizer", "end of text") for change in models)
    if other_words:  # the same tokens are another text then
        not_compared.append("rewards of answers, whose tokens are other words")
    else:
        both += [(a.reward, b.reward) for a, b in pairs if a.tokens == b.tokens]
    if not other_words or all(isinstance(prompt, str) for prompt in there.prompts):
        both += [(each.reward, ours.get((each.prompt, each.answer))) for each in there.rewards]
    gap = max((abs(a - b) for a, b in both if a is not None and b is not None), default=0.0)
    if gap > there.reward_error + here.reward_error:
        models.append(ModelChange("rewards", f"The same text has another reward, by up to {figures(gap)}."))
        return None
    return gap or None


def difference_lines(diff: DigestDiff) -> list[str]:
    """Return the lines on the model, the tokens and the last digits alone."""
    models = [f"  {change.kind}: {change.text}" for change in diff.models]
    not_compared = [f"Not compared: {name}." for name in diff.not_compared]
    return _printable((_verdict(diff), *models, *_rows(diff), *_digits(diff), *not_compared))


def _printable(lines: Iterable[str]) -> list[str]:
    return [printable(line, _WIDEST) for line in lines]


def _verdict(diff: DigestDiff) -> str:
    if diff.models:
        return f"Not the same: {', '.join(dict.fromkeys(change.kind for change in diff.models))}."
    if diff.rows:
        return "The model is the same: checkpoint, tokenizer, chat template and end-of-text rule."
    tokens = f"the same tokens in {_all(diff.compared)}"
    if diff.last_digits is not None:
        return f"Only last digits differ. The model is the same, with {tokens}."
    if diff.not_compared:
        return f"Nothing that was compared differs: the same model, {tokens}."
    return f"Nothing differs: the same model, {tokens}, the same bits."


def _all(count: int) -> str:
    return "1 decode" if count == 1 else f"all {count} decodes"


def _rows(diff: DigestDiff) -> Iterator[str]:
    rows, length = diff.rows, diff.there.length
    if not rows:
        if diff.models and diff.compared:
            yield f"Tokens are the same in {_all(diff.compared)}."
        return
    near = sum(row.near_tie for row in rows)
    first = f"{near} first differ at a near-tie, {len(rows) - near} do not."
    if near in (0, len(rows)):
        first = f"{'Each' if near else 'None'} first differs at a near-tie."
    yield f"Tokens differ in {len(rows)} of {diff.compared} decodes. {first}"
    shares = f"{diff.near_steps[0]:.1%} of the steps there, {diff.near_steps[1]:.1%} here"
    yield f"  A near-tie is a step whose choice rounding can change: {shares}."
    # Of another model one example is enough.
    shown = rows[: 1 if set(_FILES) & {*diff.kinds} else _ROWS]
    for row in shown:
        sides = " and ".join(side for side, tie in (("there", row.near_there), ("here", row.near_here)) if tie)
        tie = f"near-tie {sides}" if sides else "no near-tie"
        yield f"  Prompt {row.prompt}, {row.strategy}, step {row.step} ({tie}):"
        count = f"{row.tokens} of {length} tokens differ{'s' if row.tokens == 1 else ''}"
        ends = f"In the end {count}." if row.tokens else "In the end the answer is the same."
        there, here = (
            shortened([f"{quoted(word)} at position {position}" for position, _, word in commits], 4) or "nothing else"
            for commits in (row.only_there, row.only_here)
        )
        yield f"    there {there}; here {here}. {ends}"
        if row.other_ids:
            yield "    The prompt has other token ids."
    if len(rows) > len(shown):
        yield f"  {len(rows) - len(shown)} more decodes differ."
    yield "  (Prompts, steps and positions count from 0.)"


def _digits(diff: DigestDiff) -> Iterator[str]:
    digits = diff.last_digits
    if digits is None:
        return
    if digits.logits is not None:
        pairs = zip(diff.there.logits, diff.here.logits, strict=False)
        allowed = max((a.error + b.error for a, b in pairs), default=0.0)
        size = f"by at most {figures(digits.logits)}" if digits.logits else "in digits that the digest does not hold"
        where = f"{digits.canvases} of {len(diff.there.logits)} canvases"
        yield f"Logits differ on {where} {size}; rounding explains up to {figures(allowed)}."
    if digits.rewards is not None:
        yield f"Rewards of the same texts differ by at most {figures(digits.rewards)}, which rounding explains."


def _context(diff: DigestDiff) -> Iterator[str]:
    if diff.context:
        yield "What differs between the two machines:"
        yield from (f"  {change.name}: {change.first} there, {change.second} here" for change in diff.context)
    elif not diff.same or diff.last_digits is not None:
        yield "Versions, device, dtype and all other settings are the same."


def _cause(diff: DigestDiff) -> Iterator[str]:
    """Say what the likely cause is, as far as the digests tell."""
    kinds, names = [kind for kind in diff.kinds if kind != "tokens"], [change.name for change in diff.context]
    if kinds == ["checkpoint"] and diff.compared and not diff.rows:
        close = "up to rounding" if diff.last_digits is not None else "to the last bit"
        yield f"On these prompts the files compute the same, {close}. Other prompts may show a difference."
        return
    # Entries of config.json that say which tokens end a text are a cause by their own name.
    same_weights = diff.there.checkpoint.weights == diff.here.checkpoint.weights
    if kinds[:1] == ["checkpoint"] and kinds[1:] and set(kinds) <= {*_FILES, "rewards", "prompts"} and same_weights:
        kinds = kinds[1:]
    if "prompts" in kinds and kinds[0] not in _FILES:
        yield "Make both digests with the same prompts and shape; --against does that by itself."
    elif kinds:
        yield f"Likely cause: {_CAUSES[kinds[0]]}"
        if kinds[0] in _FILES:
            yield "Use the same files and options on both sides, then check again."
        elif names:
            yield f"Make these equal first: {', '.join(names[:3])}."
    elif diff.rows:
        yield from _cause_of_tokens(diff, names)


def _cause_of_tokens(diff: DigestDiff, names: Sequence[str]) -> Iterator[str]:
    """Say why the same model may have given other tokens; names: of the facts that differ."""
    apart = [row for row in diff.rows if not row.near_tie]
    other_rewards = diff.last_digits is not None and diff.last_digits.rewards is not None
    arithmetic = [name for name in names if name not in _NO_ARITHMETIC]
    if apart and other_rewards and {row.strategy for row in apart} == {GUIDED}:
        # A near-tie counts what logits may change by; a reward changes the factor of a whole step.
        yield f"Likely cause: the last digits of rewards, which decide the factors of {GUIDED}."
    elif apart:
        yield "Rounding alone does not explain a difference without a near-tie."
        yield (
            f"Suspect {names[0]} first." if names else "Run the check again to see whether this device repeats itself."
        )
    elif arithmetic:
        yield f"Likely cause: rounding, which depends on what is listed above, first of all on {arithmetic[0]}."
    else:
        yield "Likely cause: arithmetic that does not repeat itself on this device. Run the check again to see."
    if len(apart) < len(diff.rows) and max(diff.near_steps) > _MANY:
        yield "So many steps have a near-tie that a near-tie explains little."
    again = [f"{_OPTIONS[each.name]} {each.first}" for each in diff.context if each.name in _OPTIONS]
    again += ["--device cpu" for each in diff.context if (each.name, each.first) == ("device", "cpu")]
    if again:
        yield f"To rule it out, check again with {' '.join(again)}."
