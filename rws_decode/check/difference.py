"""How two digests differ, as data: the model, a decode, the machine, last digits; and how it is told in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from rws_decode.check.digest import Digest, Fact
from rws_decode.check.fingerprints import GUIDED
from rws_decode.check.machine import STORED
from rws_theory.show import clipped, figures, one_line, printable, quoted, shortened

_ROWS = 6  # decodes that are told one by one
_WIDEST = 400  # characters of a line
_MANY = 0.5  # share of steps at a near-tie from which a near-tie explains little
# Facts that a user can set here, by the option that sets them.
_OPTIONS = {"dtype": "--dtype", "batch": "--batch", "threads": "--threads", "reward's dtype": "--reward-dtype"}
_VERSIONS = {"PyTorch", "CUDA", "transformers", "NumPy", "Python", "rws-toolkit"}
_NO_ARITHMETIC = {"NumPy", "Python"}  # nothing that a network computes depends on these
# What follows from the files of a model, and so comes before all rounding.
_CAUSES = {
    "checkpoint": "it is not the same model.",
    "tokenizer": "the tokenizers are not the same.",
    "template": "prompts are laid out otherwise.",
    "end of text": "other tokens are special, or end the text.",
}
_FILES = set(_CAUSES)


Kind = Literal["checkpoint", "tokenizer", "template", "end of text", "prompts", "logits", "rewards", "tokens"]


@dataclass(frozen=True)
class ModelChange:
    """Something that is not the same and is no decode: its kind, and a sentence that says what."""

    kind: Kind
    text: str

    def __repr__(self) -> str:
        return one_line(self)


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

    def __repr__(self) -> str:
        return one_line(self)


@dataclass(frozen=True)
class FactChange:
    """A fact of the machine that is not the same there and here."""

    name: str
    there: Fact
    here: Fact

    def __repr__(self) -> str:
        return one_line(self)


@dataclass(frozen=True)
class LastDigits:
    """How far numbers differ that rounding explains: the largest differences of logits and of rewards, None for none.

    canvases: how many canvases have logits with other bits. Of those logits only the largest ones are in a digest.
    """

    logits: float | None
    canvases: int
    rewards: float | None

    def __repr__(self) -> str:
        return one_line(self)


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
    context: tuple[FactChange, ...]
    not_compared: tuple[str, ...]
    compared: int
    near_steps: tuple[float, float]

    @property
    def same(self) -> bool:
        """Return whether model and tokens are the same; last digits and the machine may differ."""
        return not self.models and not self.rows

    def __repr__(self) -> str:
        if self.same:
            digits = "no bit differs" if self.last_digits is None else "only last digits differ"
            return clipped(f"DigestDiff(the same in {self.compared} decodes, {digits})")
        kinds = ", ".join(dict.fromkeys(each.kind for each in (*self.models, *self.rows)))
        return clipped(f"DigestDiff({kinds} differ; print it for the rest)")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return _difference_text(self)

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data; each difference has its kind."""
        return {
            "same": self.same,
            "differences": [asdict(each) for each in (*self.models, *self.rows)],
            "last_digits": None if self.last_digits is None else asdict(self.last_digits),
            "context": [asdict(each) for each in self.context],
            "not_compared": list(self.not_compared),
            "decodes": self.compared,
            "near_steps": list(self.near_steps),
        }


def _difference_text(diff: DigestDiff) -> str:
    """Return what differs: the model, the tokens, the last digits, the machine, and the likely cause."""
    return "\n".join((*difference_lines(diff), *_lines((*_context(diff), *_cause(diff)))))


def difference_lines(diff: DigestDiff) -> list[str]:
    """Return the lines on the model, the tokens and the last digits alone."""
    models = [f"  {change.kind}: {change.text}" for change in diff.models]
    not_compared = [f"Not compared: {name}." for name in diff.not_compared]
    return _lines((*_verdict(diff), *models, *_rows(diff), *_digits(diff), *not_compared))


def _lines(lines: Iterable[str]) -> list[str]:
    return [printable(line, _WIDEST) for line in lines]


def _verdict(diff: DigestDiff) -> Iterator[str]:
    tokens = f"the same tokens in {_all(diff.compared)}"
    if diff.models:
        kinds = list(dict.fromkeys(change.kind for change in diff.models))
        names = " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))
        yield f"Not the same: {names}."
    elif diff.rows:
        yield "The model is the same: checkpoint, tokenizer, chat template and end-of-text rule."
    elif diff.last_digits is not None:
        yield f"Only last digits differ. The model is the same, with {tokens}."
    elif diff.not_compared:
        yield f"Nothing that was compared differs: the same model, {tokens}."
    else:
        yield f"Nothing differs: the same model, {tokens}, the same bits."


def _all(count: int) -> str:
    return "1 decode" if count == 1 else f"all {count} decodes"


def _rows(diff: DigestDiff) -> Iterator[str]:
    rows = diff.rows
    if not rows:
        if diff.models and diff.compared:
            yield f"Tokens are the same in {_all(diff.compared)}."
        return
    if _FILES & {change.kind for change in diff.models}:
        # Rounding is not the question then, and one example is enough.
        yield f"Tokens differ in {len(rows)} of {diff.compared} decodes. The first of them:"
        yield from _row(rows[0], diff.there.length)
        return
    near = sum(row.near_tie for row in rows)
    first = f"{near} first differ at a near-tie, {len(rows) - near} do not."
    if near in (0, len(rows)):
        first = f"{'Each' if near else 'None'} first differs at a near-tie."
    yield f"Tokens differ in {len(rows)} of {diff.compared} decodes. {first}"
    shares = f"{diff.near_steps[0]:.1%} of the steps there, {diff.near_steps[1]:.1%} here"
    yield f"  A near-tie is a step whose choice rounding can change: {shares}."
    length = diff.there.length
    for row in rows[:_ROWS]:
        yield from _row(row, length)
    if len(rows) > _ROWS:
        yield f"  {len(rows) - _ROWS} more decodes differ."
    yield "  (Prompts, steps and positions count from 0.)"


def _row(row: RowChange, length: int) -> Iterator[str]:
    sides = {(True, True): "near-tie there and here", (True, False): "near-tie there", (False, True): "near-tie here"}
    tie = sides.get((row.near_there, row.near_here), "no near-tie")
    yield f"  Prompt {row.prompt}, {row.strategy}, step {row.step} ({tie}):"
    count = f"{row.tokens} of {length} tokens differ{'s' if row.tokens == 1 else ''}"
    ends = f"In the end {count}." if row.tokens else "In the end the answer is the same."
    yield f"    there {_words(row.only_there)}; here {_words(row.only_here)}. {ends}"
    if row.other_ids:
        yield "    The prompt has other token ids."


def _words(commits: Sequence[tuple[int, int, str]]) -> str:
    return shortened([f"{quoted(word)} at position {position}" for position, _, word in commits], 4) or "nothing else"


def _digits(diff: DigestDiff) -> Iterator[str]:
    digits = diff.last_digits
    if digits is None:
        return
    if digits.logits is not None:
        pairs = zip(diff.there.logits, diff.here.logits, strict=False)
        allowed = max((a.error + b.error for a, b in pairs), default=0.0)
        size = f"by at most {figures(digits.logits)}" if digits.logits else "in digits that the digest does not hold"
        yield (
            f"Logits differ on {digits.canvases} of {len(diff.there.logits)} canvases {size}; "
            f"rounding explains up to {figures(allowed)}."
        )
    if digits.rewards is not None:
        yield f"Rewards of the same texts differ by at most {figures(digits.rewards)}, which rounding explains."


def _context(diff: DigestDiff) -> Iterator[str]:
    if diff.context:
        yield "What differs between the two machines:"
        yield from (f"  {change.name}: {change.there} there, {change.here} here" for change in diff.context)
    elif not diff.same or diff.last_digits is not None:
        yield "Versions, device, dtype and all other settings are the same."


def _cause(diff: DigestDiff) -> Iterator[str]:
    """Say what the likely cause is, as far as the digests tell."""
    kinds, names = {change.kind for change in diff.models}, [change.name for change in diff.context]
    if kinds == {"checkpoint"} and diff.compared and not diff.rows:
        close = "up to rounding" if diff.last_digits is not None else "to the last bit"
        yield f"On these prompts the files compute the same, {close}. Other prompts may show a difference."
        return
    # Entries of config.json that say which tokens end a text are a cause by their own name.
    of_config = diff.there.checkpoint.weights == diff.here.checkpoint.weights and "logits" not in kinds
    named = kinds - {"checkpoint"} if of_config and kinds & (_FILES - {"checkpoint"}) else kinds
    for kind, cause in _CAUSES.items():
        if kind in named:
            stored = [each.machine.get(STORED) for each in (diff.there, diff.here)]
            if kind == "checkpoint" and None not in stored and stored[0] != stored[1]:
                cause = "the weights were stored again in another dtype, or are others."
            yield f"Likely cause: {cause} Use the same files and options on both sides, then check again."
            return
    if "prompts" in kinds:
        yield "Make both digests with the same prompts and shape; --against does that by itself."
        return
    if kinds:
        if "logits" in kinds:
            yield "Likely cause: the network does not compute the same, or was changed after it was loaded."
        else:
            yield "Likely cause: the reward model has other weights or another scale, or does not compute the same."
        yield from ["Make these equal first: " + ", ".join(names[:3]) + "."] if names else []
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
        if names:
            versions = "the versions" if _VERSIONS & {*names} else "what is listed above"
            yield f"Suspect {'the dtype' if 'dtype' in names else versions} first."
        else:
            yield "Run the check again to see whether this device repeats itself."
    elif "dtype" in names:
        yield "Likely cause: the dtype, which decides how numbers are rounded."
    elif arithmetic:
        yield f"Likely cause: rounding, which depends on what is listed above, first of all on {arithmetic[0]}."
    else:
        yield "Likely cause: arithmetic that does not repeat itself on this device. Run the check again to see."
    if len(apart) < len(diff.rows) and max(diff.near_steps) > _MANY:
        yield "So many steps have a near-tie that a near-tie explains little."
    again = [f"{_OPTIONS[each.name]} {each.there}" for each in diff.context if each.name in _OPTIONS]
    again += ["--device cpu" for each in diff.context if (each.name, each.there) == ("device", "cpu")]
    if again:
        yield f"To rule it out, check again with {' '.join(again)}."
