"""A decode before its first step: arguments as a user gives them, checked, and prompts as ids."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from difflib import get_close_matches
from itertools import chain
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray

from rws_decode.canvas.end_of_text import PUBLISHED, Ends, end_tokens
from rws_decode.canvas.layout import Prompt, row_bytes
from rws_decode.common.arguments import check_memory, free_memory, is_id
from rws_decode.common.plugins import hook
from rws_decode.predictors import base
from rws_decode.predictors.base import (
    MaskPredictor,
    block_of,
    prompt_ids,
)
from rws_decode.rewards.base import OWN_REWARDS, RewardModel, bounds_of
from rws_decode.rewards.callable import as_reward, normalised_reward
from rws_decode.settings import Options, ResolvedShape, Savings, Shape
from rws_decode.strategies.protocol import Strategy, check_abilities, describe, gives_factor, gives_order
from rws_decode.strategies.table import as_strategy
from rws_decode.text.dialogue import Dialogue, as_dialogue, before_gap, gap_text, masks_in, row_of, without_gaps
from rws_decode.text.prompt_ids import plain_ids
from rws_theory.show import Note, quoted

_SAVINGS = Savings()
_NAMED = 8  # words that the warning names, at most
_UNREAD = 0.25  # share of unknown words from which a reward does not read the language of a text

Prompts = str | Dialogue | Mapping[str, Any] | Sequence[Any] | torch.Tensor | NDArray[Any]
"""A prompt as text, dialogue, messages of a chat or token ids, or several: what `as_prompts` reads."""


class Job(NamedTuple):
    """A checked call of a decoder.

    prompts: as ids; strategy, reward: as objects; ends: what is done about the end of text; settings: those that all
    traces share.
    """

    predictor: MaskPredictor
    prompts: list[Prompt]
    strategy: Strategy
    reward: RewardModel | None
    ends: Ends
    shape: ResolvedShape
    settings: dict[str, Any]

    @property
    def asked(self) -> RewardModel | None:
        """The reward model that the strategy asks, None where it asks none."""
        return self.reward if self.strategy.needs_reward else None

    @property
    def widths(self) -> list[int]:
        """Return the canvas columns of each prompt and its answer."""
        mask_id, length = self.predictor.mask_id, self.shape.length
        return [len(row_of(prompt.ids, mask_id, length)) for prompt in self.prompts]

    def batches(self, options: Options, memory: int, copies: int = 1, **how: Any) -> list[list[int]]:
        """Return the prompts of each batch, copies of each; the rest as in `batches`."""
        columns = max(len(prompt.ids) for prompt in self.prompts)
        size = row_bytes(self.predictor, self.shape.length, columns, options)
        return batches(self.widths, None if size is None else size * copies, memory, **how)


def as_prompts(given: Any, name: str = "prompts") -> list[str | Dialogue | list[int]]:
    """Return what was given as a list of prompts, each a text, a Dialogue or token ids.

    One prompt is a text, a Dialogue, a message {"role": ..., "content": ...} or a list of messages, or token ids: a
    list, or a tensor or an array [n]. Several are a list of these, or a tensor or an array [B, n]. A tokenizer's output
    is read by its `input_ids`, without what its `attention_mask` hides. ValueError, naming the argument, for anything
    else, such as a table, bytes or a set, and for no prompt.
    """
    rows = _listed(given)
    one = rows is None or all(map(is_id, rows)) or all(map(_is_message, rows))
    prompts = _read(given, name) if one else [_read(row, f"{name}[{i}]", 1)[0] for i, row in enumerate(rows or ())]
    if rows == [] or not prompts:
        raise ValueError(f"{name} is {quoted(given)}: at least one is needed")
    return prompts


def _read(given: Any, name: str, most: float = math.inf) -> list[str | Dialogue | list[int]]:
    """Return one prompt, or those of a tokenizer's output, at most so many."""
    if isinstance(given, str | Dialogue):
        return [given]
    if isinstance(given, Mapping) and "input_ids" in given:
        ids, mask = (_listed(given.get(key)) for key in ("input_ids", "attention_mask"))
        if ids and all(map(is_id, ids)):
            ids, mask = [ids], mask and [mask]
        rows = [_prompt_ids(row, f"{name}['input_ids']") for row in ids or ()]
        masks = [_listed(row) or [] for row in mask] if mask else [[1] * len(row) for row in rows]
        if not 0 < len(rows) <= most or [*map(len, rows)] != [*map(len, masks)]:
            shapes = f"{len(rows)} rows of ids and {len(masks)} of the attention_mask"
            raise ValueError(f"{name} has {shapes}: one prompt in a list, and as many of both, are needed")
        return [[token for token, kept in zip(*pair, strict=True) if kept] for pair in zip(rows, masks, strict=True)]
    messages = [given] if _is_message(given) else _listed(given)
    if messages and all(map(_is_message, messages)):
        roles = [message["role"] for message in messages]
        if roles != [*["user", "assistant"] * (len(roles) // 2), "user"]:
            raise ValueError(f"{name} has the roles {quoted(roles)}: user, assistant, ..., user is needed")
        return [Dialogue(tuple(message["content"] for message in messages))]
    return [_prompt_ids(given, name)]


def _prompt_ids(given: Any, name: str) -> list[int]:
    rows = _listed(given)
    if rows is None or not all(map(is_id, rows)):
        raise ValueError(f"{name} is {quoted(given)}: text, chat messages, or a list of token ids is needed")
    return [int(token) for token in rows]


def _listed(given: Any) -> list[Any] | None:
    """Return a list, a tensor, an array or a series as a list; None for anything else, texts and bytes too."""
    text = str | bytes | bytearray | memoryview
    values = given.tolist() if hasattr(given, "tolist") and not isinstance(given, text) else given
    return list(values) if isinstance(values, Sequence) and not isinstance(values, text) else None


def _is_message(given: Any) -> bool:
    return isinstance(given, Mapping) and {"role", "content"} <= given.keys()


def batches(
    widths: Sequence[int], row_bytes: int | None, memory: int, spread: float | None = None, *, alone: bool = False
) -> list[list[int]]:
    """Return the indices of the rows of each batch, every row once: sorted by width, as many as fit, at least 1.

    widths: columns of each row; row_bytes: what a row takes, None for unknown (then memory sets no limit); memory:
    bytes; spread: by how large a share a row may be wider than the narrowest of its batch, None for any; alone: each
    row is a batch. Within a batch the indices rise.

    >>> batches([5, 90, 6, 80], row_bytes=10, memory=25), batches([5, 90, 6, 80], None, 0, spread=0.5)
    ([[0, 2], [1, 3]], [[0, 2], [1, 3]])
    """
    most = len(widths) if row_bytes is None else max(1, memory // max(row_bytes, 1))
    most = 1 if alone else most
    groups: list[list[int]] = []
    for row in sorted(range(len(widths)), key=widths.__getitem__):
        too_wide = groups and spread is not None and widths[row] > widths[groups[-1][0]] * (1 + spread)
        if not groups or len(groups[-1]) == most or too_wide:
            groups.append([])
        groups[-1].append(row)
    return [sorted(batch) for batch in groups]


def encode_prompts(predictor: MaskPredictor, prompts: Prompts, length: int) -> list[Prompt]:
    """Return each prompt as ids and what was said; ids are taken as they are.

    ValueError, naming the prompt, as in `as_prompts`, for ids outside the vocabulary, for gaps that hold other than
    `length` masks in all, and where prompt and answer of `length` tokens together exceed what the predictor reads.
    Words that it does not know, and a length beyond its caps (`base.answer_room`), are warned of (`show.Note`).
    """
    encoded = []
    for number, prompt in enumerate(as_prompts(prompts)):
        text = prompt if isinstance(prompt, str | Dialogue) else None
        ids = prompt if isinstance(prompt, list) else prompt_ids(predictor, prompt)
        limit = float("inf") if predictor.vocab_size is None else predictor.vocab_size
        for token in ids:
            if not 0 <= token < limit:
                raise ValueError(f"prompts[{number}] holds the id {token}: {predictor.name} has ids 0 to {limit - 1}")
        masks = ids.count(predictor.mask_id)
        if masks not in (0, length):
            raise ValueError(
                f"length is {length}: the gaps of prompts[{number}] have length {masks}, give Shape({masks})"
            )
        if predictor.max_length is not None and len(ids) - masks + length > predictor.max_length:
            raise ValueError(
                f"length is {length}: beside the {len(ids) - masks} tokens of prompts[{number}] at most "
                f"{max(predictor.max_length - len(ids) + masks, 0)} fit what {predictor.name} reads"
            )
        if text is not None:
            warn_of_unknown_words(predictor, text, ids)
        if length > (room := base.answer_room(predictor, len(ids) - masks)):
            allowed = f"generation_config.json of {predictor.name} allows {max(room, 0)} after this prompt"
            _warn(f"length is {length}: {allowed}")
        encoded.append(Prompt(ids, gap_text(ids, predictor.decode_prompt, predictor.mask_id) if text is None else text))
    return encoded


def prepare(
    predictor: MaskPredictor,
    prompts: Prompts | None,
    strategy: Strategy | str,
    shape: Shape | None,
    reward: RewardModel | Callable[..., float] | None,
    options: Options,
    numbers: dict[str, Any] | None = None,
    canvas: Prompts | Sequence[int] | None = None,
    copies: int = 1,
) -> Job:
    """Check the arguments that both decoders share, encode the prompts, and return what all traces will say.

    numbers: of a strategy that is given by name (`strategies.table.as_strategy`). canvas: texts or ids with gaps, in
    place of prompts. copies: of each prompt's decode. ValueError names the argument that is wrong, and the call that
    would be right.
    """
    check_arguments(predictor, options, shape)
    base.checked_mask(predictor.mask_id, predictor.name, predictor.vocab_size, base.ends_of(predictor))
    if numbers:
        check_places(numbers)
    prompts, shape = _asked(predictor, prompts, canvas, shape)
    if block_of(predictor) is not None:
        _refuse_gaps(predictor, prompts)  # first: no other shape would do
    shape = shape.nested(block_of(predictor), predictor.name)
    given, reward = reward, as_reward(reward, predictor.name)
    strategy = as_strategy(strategy, seed=options.seed, **(numbers or {}))
    if not (gives_factor(strategy) or gives_order(strategy)):
        raise ValueError(
            f"strategy is {quoted(strategy)}: a name such as 'rws:8' is needed, or an object such as RWS(8.0), with "
            "name, needs_reward and a method factor or order"
        )
    able = check_abilities(strategy)
    shape = (shape.one_by_one() if able.own_count else shape).resolved()
    ordered = gives_order(strategy)
    if ordered and options.ranking != "log-odds":
        raise ValueError(
            f"ranking is {options.ranking!r}: strategy {strategy.name} ranks by its own values, use 'log-odds'"
        )
    if options.end_of_text == PUBLISHED and (ordered or able.own_count or able.changes):
        raise ValueError(
            f"end_of_text is {PUBLISHED!r}: it is about the confidence of the published loop, which strategy "
            f"{strategy.name} does not commit by, use 'defer'"
        )
    model = normalised_reward(given, f"strategy {strategy.name}", predictor.name) if strategy.needs_reward else None
    if options.drawing == "commit" and able.changes:
        name = strategy.name
        raise ValueError(
            f"strategy {name} masks tokens again, so that drawing is 'completion', not {options.drawing!r}"
        )
    if options.key_cache != "none":
        hook("check-key-cache", f"key_cache is {options.key_cache!r}")(options, predictor, strategy)
    encoded = encode_prompts(predictor, prompts, shape.length)
    check_size(predictor, shape, copies, max(1, able.hypotheses))
    end_ids = end_tokens(predictor, options.end_of_text, options.end_ids, options.sampling_temperature)
    settings = asdict(shape) | asdict(options) | {"predictor": predictor.name, "mask_id": predictor.mask_id}
    settings |= {name: float(getattr(options, name)) for name in ("sampling_temperature", "top_p", "cfg")}
    settings |= {"strategy": describe(strategy), "ranking": "order" if ordered else options.ranking}
    settings |= {"counts": None if shape.counts is None else list(shape.counts)}
    settings |= {"end_ids": end_ids if options.end_of_text != "none" else []}
    settings |= {"reward_model": None if model is None else model.name}
    settings |= {"reward_settings": {} if model is None else reward_settings(model)}
    ends = Ends(options.end_of_text, end_ids)
    return Job(predictor, encoded, strategy, reward, ends, shape, settings)


def check_arguments(predictor: Any, options: Any, shape: Any = None, savings: Any = _SAVINGS) -> None:
    """Raise ValueError for what is no predictor, options, shape or savings, with the call that makes one."""
    model = "HFMaskPredictor(model, tokenizer)" if isinstance(predictor, torch.nn.Module) else "load_predictor('mini')"
    model = f"load_predictor({quoted(predictor)})" if isinstance(predictor, str) else model
    needed = {"predictor": (predictor, MaskPredictor, f"a mask predictor, such as {model},")}
    needed |= {"options": (options, Options, "Options(...)"), "shape": (shape, Shape | None, "Shape(...)")}
    for name, (value, kind, right) in (needed | {"savings": (savings, Savings, "Savings(...)")}).items():
        if not isinstance(value, kind):
            raise ValueError(f"{name} is {quoted(value)}: {right} is needed")


def _asked(
    predictor: MaskPredictor, prompts: Prompts | None, canvas: Prompts | Sequence[int] | None, shape: Shape | None
) -> tuple[list[str | Dialogue | list[int]], Shape]:
    """Return the prompts, or the canvases in their place, and the shape, that of the gaps where none is given."""
    if canvas is None:
        if prompts is None:
            gaps = "a canvas with gaps such as canvas='the [MASK:3] .'"
            raise ValueError(f"prompts is None: prompts, or {gaps}, are needed")
        given = as_prompts(prompts)
        return given, shape or _shape_of(given, predictor.mask_id)
    if prompts is not None:
        raise ValueError(f"canvas is {quoted(canvas)} beside prompts: give one of them")
    rows = as_prompts(canvas, "canvas")
    masks = [_masks_of(row, predictor.mask_id) for row in rows]
    for number, (row, gaps) in enumerate(zip(rows, masks, strict=True)):
        if not gaps:
            raise ValueError(f"canvas[{number}] is {quoted(row)}: a gap is needed, such as [MASK:3], or mask ids")
        if gaps != masks[0]:
            raise ValueError(f"canvas[{number}] has {gaps} masks and canvas[0] {masks[0]}: decode them one by one")
    return rows, shape or Shape(masks[0], block=masks[0])


def _refuse_gaps(predictor: MaskPredictor, rows: Sequence[str | Dialogue | list[int]]) -> None:
    """Raise ValueError for a prompt with text after its gaps, which a predictor of blocks does not read."""
    for number, row in enumerate(rows):
        if isinstance(row, list):
            read = predictor.mask_id not in row[: len(row) - row.count(predictor.mask_id)]
        else:
            text = as_dialogue(row).text
            read = without_gaps(text).strip() == before_gap(text).strip()
        if not read:
            raise ValueError(
                f"prompts[{number}] has gaps before its end: {predictor.name} fills block after block and reads no "
                "text behind them, give a prompt"
            )


def _shape_of(prompts: list[str | Dialogue | list[int]], mask_id: int) -> Shape:
    """Return the usual shape, or that of the gaps where all prompts have as many masks in theirs."""
    masks = {_masks_of(row, mask_id) for row in prompts}
    return Shape(min(masks), block=min(masks)) if len(masks) == 1 and min(masks) > 0 else Shape()


def _masks_of(row: str | Dialogue | list[int], mask_id: int) -> int:
    """Return the number of masks of a text, a dialogue or ids."""
    return row.count(mask_id) if isinstance(row, list) else masks_in(as_dialogue(row).text)


def check_size(predictor: MaskPredictor, shape: ResolvedShape, copies: int = 1, hypotheses: int = 1) -> None:
    """Raise ValueError where what the decode of one prompt keeps does not fit in this machine's memory.

    That is the record and path of each copy, the hypotheses' samples, and on a CPU the logits; models may take more.
    """
    cpu, numbers = torch.device("cpu"), {"copies": copies, "hypotheses": hypotheses}
    needed = shape.length * (28 * shape.steps * copies + 40 * hypotheses)  # bytes of a position, as arrays have it
    if predictor.device == cpu:
        needed += copies * (row_bytes(predictor, shape.length) or 0)
    more = "".join(f", {name} is {str(number)[:60]}" for name, number in numbers.items() if number > 1)
    what, free = f"length is {shape.length}, steps is {shape.steps}{more}: a decode", free_memory(cpu)
    check_memory(what, min(needed, 2**200), cpu, 2**40 if free is None else free)


def check_places(numbers: dict[str, Any]) -> None:
    """Raise ValueError for a number of the shape, the options or the savings, and for a name that is nearly one."""
    kinds = {"shape": Shape, "options": Options, "savings": Savings}
    places = {field.name: argument for argument, kind in kinds.items() for field in fields(kind)}
    for name, value in numbers.items():
        meant = get_close_matches(name, [*places, *kinds, "reward", "canvas", "callback", "finished"], 1, 0.8)
        if not meant:
            continue
        near = "" if meant == [name] else f"is {meant[0]} meant? "
        argument = places.get(meant[0])
        call = (
            f"{meant[0]}={quoted(value)}"
            if argument is None
            else f"{argument}={kinds[argument].__name__}({meant[0]}={quoted(value)})"
        )
        raise ValueError(f"{name} is {quoted(value)}: {near}give it as {call}")


def reward_settings(model: RewardModel) -> dict[str, Any]:
    """Return what a reward's numbers follow from besides the texts."""
    bounds = bounds_of(model)
    bounded = any(math.isfinite(bound) for bound in bounds)
    finite = [bound if math.isfinite(bound) else None for bound in bounds] if bounded else None
    return {"mean": model.mean, "std": model.std, "bounds": finite}


def warn_of_unknown_words(predictor: MaskPredictor, prompt: str | Dialogue, ids: Sequence[int]) -> None:
    """Warn, by a `show.Note`, of a prompt's words that the predictor reads as unknown, or does not read at all.

    ids: what the predictor reads. A warning names the line that called this package.
    """
    words = _unknown_words(predictor, without_gaps(as_dialogue(prompt).text), ids)
    if not words:
        return
    named_all = hasattr(predictor, "unknown_words")
    how = "reads only what follows the last of them" if named_all else "reads each as unknown"
    more = len(words) - _NAMED
    named = " ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    _warn(f"{predictor.name} does not know these words and {how}: {named}")


def warn_of_unread_words(reward: RewardModel, texts: Iterable[str], model: str = "") -> None:
    """Warn, by a `show.Note`, of a reward that does not know a quarter or more of the different words of some texts.

    The warning is the same for all texts of a model, so that it is told once; it names the model's own rewards.
    """
    read = [(text.split(), _unknown_words(reward, text)) for text in texts]
    words, unknown = (set(chain.from_iterable(part)) for part in zip(*read, strict=True)) if read else ((), ())
    if unknown and len(unknown) >= _UNREAD * len(words):
        own = OWN_REWARDS.get(model, ())
        other = f"; rewards of {model} are {', '.join(own)}" if own and reward.name not in own else ""
        _warn(f"reward {reward.name} does not know many of the words that it scores, its scores say little{other}")


def _unknown_words(model: Any, text: str, ids: Sequence[int] | None = None) -> list[str]:
    """Return the different words of a text that a model does not know, none where it cannot tell; ids: of the text."""
    if hasattr(model, "unknown_words"):
        return model.unknown_words(text)
    tokenizer: Any = getattr(model, "tokenizer", None)
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is None or unknown not in (plain_ids(tokenizer, text) if ids is None else ids):
        return []
    return list(dict.fromkeys(word for word in text.split() if unknown in plain_ids(tokenizer, word)))


def _warn(message: str) -> None:
    """Warn, by a `show.Note`, at the line that called this package."""
    frame, level = sys._getframe(), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, Note, stacklevel=level)
