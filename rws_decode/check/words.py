"""How two digests differ, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rws_decode.check.difference import DigestDiff, RowChange
from rws_theory.show import figures, quoted, shortened

__all__ = ["difference_text"]

_ROWS = 6  # decodes that are told one by one
# Facts that a user can set here, by the option that sets them.
_OPTIONS = {"dtype": "--dtype", "batch": "--batch", "threads": "--threads"}


def difference_text(diff: DigestDiff) -> str:
    """Return what differs in lines: the model, the tokens, the last digits, the machine, and what follows."""
    lines = [*_verdict(diff), *(f"  {change.kind}: {change.text}" for change in diff.models)]
    lines += list(_rows(diff))
    lines += list(_digits(diff))
    lines += [f"Not compared: {name}." for name in diff.not_compared]
    lines += list(_context(diff))
    return "\n".join([*lines, *_advice(diff)])


def _verdict(diff: DigestDiff) -> Iterator[str]:
    if diff.same and diff.last_digits is None and not diff.not_compared:
        yield f"Nothing differs: the same model, the same tokens in {_decodes(diff.compared)}, the same bits."
    elif diff.same and diff.last_digits is None:
        yield f"Nothing of what was compared differs: the same model, the same tokens in {_decodes(diff.compared)}."
    elif diff.same:
        yield f"Only last digits differ: the same model, the same tokens in {_decodes(diff.compared)}."
    elif diff.models:
        kinds = list(dict.fromkeys(change.kind for change in diff.models))
        names = " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))
        yield f"The {names} {'differ' if len(kinds) > 1 or kinds[0].endswith('s') else 'differs'}:"
    else:
        yield "The model is the same: checkpoint, tokenizer, chat template and end-of-text rule."


def _decodes(count: int) -> str:
    return "1 decode" if count == 1 else f"all {count} decodes"


def _rows(diff: DigestDiff) -> Iterator[str]:
    rows = diff.rows
    if not rows:
        if diff.models and diff.compared:
            yield f"Tokens are the same in {_decodes(diff.compared)}."
        return
    near = sum(row.near_tie for row in rows)
    shares = " and ".join(f"{share:.1%} {where}" for share, where in zip(diff.near_steps, ("there", "here"), strict=True))
    yield f"Tokens differ in {len(rows)} of {diff.compared} decodes: {near} part at a near-tie, {len(rows) - near} do not."
    yield f"  (Of all steps, {shares} have a near-tie. Prompts, steps and positions count from 0.)"
    for row in rows[:_ROWS]:
        yield from _row(row)
    if len(rows) > _ROWS:
        yield f"  {len(rows) - _ROWS} more decodes differ."


def _row(row: RowChange) -> Iterator[str]:
    tie = "at a near-tie" if row.near_tie else "without a near-tie"
    if row.tokens:
        ends = f"{row.tokens} token{'s' if row.tokens > 1 else ''} of the answer differ{'' if row.tokens > 1 else 's'}"
    else:
        ends = "the answer is the same, in another order"
    yield f"  Prompt {row.prompt}, {row.strategy}: parts in step {row.step}, {tie}; {ends}."
    yield f"    There the step commits {_words(row.only_there)}; here {_words(row.only_here)}."
    if row.other_ids:
        yield "    The prompt has other token ids."


def _words(commits: Sequence[tuple[int, int, str]]) -> str:
    return shortened([f"{quoted(word)} at {position}" for position, _, word in commits], 4) or "none of these"


def _digits(diff: DigestDiff) -> Iterator[str]:
    digits = diff.last_digits
    if digits is None:
        return
    if digits.logits is not None:
        pairs = zip(diff.there.logits, diff.here.logits, strict=False)
        allowed = max((a.error + b.error for a, b in pairs), default=0.0)
        size = f"by at most {figures(digits.logits)}" if digits.logits else "in digits that the digest does not hold"
        yield (
            f"Logits differ on {digits.canvases} of {len(diff.there.logits)} canvases, {size}; "
            f"rounding explains up to {figures(allowed)}."
        )
    if digits.rewards is not None:
        yield f"Rewards of the same texts differ by at most {figures(digits.rewards)}, which rounding explains."


def _context(diff: DigestDiff) -> Iterator[str]:
    if not diff.context:
        if not diff.same or diff.last_digits is not None:
            yield "Versions, device, dtype and all other settings are the same."
        return
    yield "Of the two machines this is not the same:"
    for change in diff.context:
        yield f"  {change.name}: {_fact(change.there)} there, {_fact(change.here)} here"


def _fact(value: object) -> str:
    return "not known" if value is None else str(value)


def _advice(diff: DigestDiff) -> Iterator[str]:
    """Say what the likely cause is, as far as the digests tell."""
    kinds = {change.kind for change in diff.models}
    names = [change.name for change in diff.context]
    if kinds & {"checkpoint", "tokenizer", "template", "end of text"}:
        yield "Likely cause: not the same model or text. Compare again when both sides use the same files."
        return
    if kinds:
        if "prompts" in kinds:
            yield "Make both digests with the same prompts and shape; --against does so by itself."
        elif "logits" in kinds and "dtype" not in names:
            yield "Likely cause: the network does not compute the same function, as with a faulty kernel or version."
        if kinds - {"logits"} or "dtype" not in names:
            return
    if diff.same and diff.last_digits is None:
        return
    apart = [row for row in diff.rows if not row.near_tie]
    first = names[0] if names else None
    if "dtype" in names:
        yield "Likely cause: another dtype rounds all numbers otherwise, and decides near-ties and some closer steps."
    elif apart:
        yield "A decode that parts without a near-tie is not explained by rounding: look at the versions first."
    elif first is not None and (diff.rows or diff.last_digits is not None):
        yield f"Likely cause: rounding, which depends on what is listed above. Begin with: {first}."
    elif diff.rows:
        yield "Nothing listed explains it: the arithmetic of the device may not repeat itself. Run the check twice."
    if diff.rows and (said := list(_repeat(diff))):
        yield f"To rule that out, check again with {' '.join(said)}."


def _repeat(diff: DigestDiff) -> Iterator[str]:
    for change in diff.context:
        if change.name in _OPTIONS and change.there is not None:
            yield f"{_OPTIONS[change.name]} {change.there}"
