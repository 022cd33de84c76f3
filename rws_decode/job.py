"""A decode before its first step: arguments as a user gives them, checked, and prompts as ids."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import asdict, fields
from difflib import get_close_matches
from typing import Any, NamedTuple

import torch

from rws_decode.canvas.batches import batches, row_bytes
from rws_decode.canvas.end_of_text import PUBLISHED, Ends, end_tokens
from rws_decode.canvas.layout import Prompt
from rws_decode.common.arguments import check_memory, free_memory, is_id
from rws_decode.predictors.base import KeepsKeys, MaskPredictor, NamesUnknownWords, block_of, prompt_ids, tokenizer_of
from rws_decode.rewards.base import RewardModel, bounds_of
from rws_decode.rewards.callable import as_reward, normalised_reward
from rws_decode.settings import Options, ResolvedShape, Savings, Shape
from rws_decode.strategies.protocol import (
    FactorStrategy,
    OrderStrategy,
    Strategy,
    check_abilities,
    describe,
)
from rws_decode.strategies.table import as_strategy
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.gaps import gap_text, masks_in, row_of, without_gaps
from rws_decode.text.prompt_ids import plain_ids
from rws_theory.show import Note

_NAMED = 8  # words that the warning names, at most

Prompts = str | Dialogue | Sequence[str | Dialogue | Sequence[int]]
"""A prompt as text or dialogue, or several prompts, also as lists of token ids."""


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
        """Return the prompts of each batch, copies of each; the rest as in `batches.batches`."""
        columns = max(len(prompt.ids) for prompt in self.prompts)
        size = row_bytes(self.predictor, self.shape.length, columns, options)
        return batches(self.widths, None if size is None else size * copies, memory, **how)


def as_prompts(prompts: Prompts) -> Sequence[str | Dialogue | Sequence[int]]:
    """Return one prompt as a list of it."""
    return [prompts] if isinstance(prompts, str | Dialogue) else prompts


def encode_prompts(
    predictor: MaskPredictor, prompts: Sequence[str | Dialogue | Sequence[int]], length: int
) -> list[Prompt]:
    """Return each prompt as ids and what was said; ids are taken as they are.

    ValueError, naming the prompt, for ids outside the vocabulary, for gaps that hold other than `length` masks in all,
    and where prompt and answer of `length` tokens together exceed what the predictor reads. Words that it does not know
    are warned of (`show.Note`).

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [len(text)])
    >>> encode_prompts(predictor, ["abc", [7]], length=2)
    [Prompt(ids=[3], said='abc'), Prompt(ids=[7], said=None)]
    """
    if isinstance(prompts, str | Dialogue) or not isinstance(prompts, Sized) or not len(prompts):
        raise ValueError(f"prompts is {prompts!r}: a list of at least one prompt is needed")
    encoded = []
    for number, prompt in enumerate(prompts):
        said = prompt if isinstance(prompt, str | Dialogue) else None
        if said is not None:
            ids = prompt_ids(predictor, said)
        else:
            if not isinstance(prompt, Iterable) or not all(map(is_id, prompt)):
                raise ValueError(f"prompts[{number}] is {prompt!r}: text or a list of token ids is needed")
            ids = [int(token) for token in prompt]
        limit = float("inf") if predictor.vocab_size is None else predictor.vocab_size
        for token in ids:
            if not 0 <= token < limit:
                raise ValueError(f"prompts[{number}] holds the id {token}: {predictor.name} has ids 0 to {limit - 1}")
        masks = ids.count(predictor.mask_id)
        if masks not in (0, length):
            raise ValueError(
                f"length is {length}: the gaps of prompts[{number}] have length {masks}, give Shape({masks})"
            )
        if block_of(predictor) is not None and predictor.mask_id in ids[: len(ids) - masks]:
            raise ValueError(
                f"prompts[{number}] has gaps before its end: {predictor.name} fills block after block and reads no "
                "text behind them, give a prompt"
            )
        if predictor.max_length is not None and len(ids) - masks + length > predictor.max_length:
            raise ValueError(
                f"length is {length}: beside the {len(ids) - masks} tokens of prompts[{number}] at most "
                f"{max(predictor.max_length - len(ids) + masks, 0)} fit what {predictor.name} reads"
            )
        if said is not None:
            warn_of_unknown_words(predictor, said, ids)
        encoded.append(Prompt(ids, gap_text(ids, predictor.decode_prompt, predictor.mask_id) if said is None else said))
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
    for name, value, kind in (("shape", shape, Shape | None), ("options", options, Options)):
        if not isinstance(value, kind):
            raise ValueError(f"{name} is {value!r}: {name.capitalize()}(...) is needed")
    if not isinstance(predictor, MaskPredictor):
        named = repr(predictor) if isinstance(predictor, str) else "'mini'"
        raise ValueError(f"predictor is {predictor!r}: a mask predictor is needed, such as load_predictor({named})")
    check_places(numbers or {})
    prompts, shape = _asked(predictor, prompts, canvas, shape)
    shape = shape.nested(block_of(predictor), predictor.name)
    given, reward = reward, as_reward(reward)
    seed = options.seed if isinstance(options.seed, int) else tuple(options.seed)
    strategy = as_strategy(strategy, seed=seed, **(numbers or {}))
    if isinstance(strategy, type) or not isinstance(strategy, FactorStrategy | OrderStrategy):
        raise ValueError(
            f"strategy is {strategy!r}: a name such as 'rws:8' is needed, or an object such as RWS(8.0), with name, "
            "needs_reward and a method factor or order"
        )
    able = check_abilities(strategy)
    shape = (shape.one_by_one() if able.own_count else shape).resolved()
    ordered = isinstance(strategy, OrderStrategy)
    if ordered and options.ranking != "log-odds":
        raise ValueError(
            f"ranking is {options.ranking!r}: strategy {strategy.name} ranks by its own values, use 'log-odds'"
        )
    if options.end_of_text == PUBLISHED and (ordered or able.own_count or able.changes):
        raise ValueError(
            f"end_of_text is {PUBLISHED!r}: it is about the confidence of the published loop, which strategy "
            f"{strategy.name} does not commit by, use 'defer'"
        )
    asked = normalised_reward(given, f"strategy {strategy.name}") if strategy.needs_reward else None
    if options.drawing == "commit" and able.changes:
        name = strategy.name
        raise ValueError(f"strategy {name} takes words back, and has no law: decode by it with drawing='completion'")
    if options.key_cache != "none":
        _check_key_cache(options, predictor, strategy)
    encoded = encode_prompts(predictor, prompts, shape.length)
    check_size(predictor, shape, copies, max(1, able.hypotheses))
    end_ids = end_tokens(predictor, options.end_of_text, options.end_ids, options.sampling_temperature)
    floats = {name: float(getattr(options, name)) for name in ("sampling_temperature", "top_p", "cfg")}
    settings = (
        asdict(shape)
        | asdict(options)
        | floats
        | {
            "counts": None if shape.counts is None else list(shape.counts),
            "ranking": "order" if ordered else options.ranking,
            "strategy": describe(strategy),
            "predictor": predictor.name,
            "reward_model": None if asked is None else asked.name,
            "reward_settings": {} if asked is None else reward_settings(asked),
            "mask_id": predictor.mask_id,
            "end_ids": end_ids if options.end_of_text != "none" else [],
        }
    )
    ends = Ends(options.end_of_text, end_ids)
    return Job(predictor, encoded, strategy, reward, ends, shape, settings)


def _check_key_cache(options: Options, predictor: MaskPredictor, strategy: Strategy) -> None:
    """Raise ValueError for what reads other canvases than the step's, or a network whose keys cannot be kept."""
    told = f"key_cache is {options.key_cache!r}"
    if block_of(predictor) is not None:
        raise ValueError(
            f"{told}: {predictor.name} fills block after block and keeps exact keys by itself, leave it out"
        )
    if not isinstance(predictor, KeepsKeys) or not predictor.keeps_keys:
        raise ValueError(f"{told}: {predictor.name} keeps no keys; LLaDA, Dream, A2D and BERT do")
    if options.cfg:
        raise ValueError(f"{told}: guidance computes a second canvas, use cfg=0.0")
    if (able := check_abilities(strategy)).hypotheses or able.changes:
        raise ValueError(f"{told}: strategy {strategy.name} looks ahead or takes words back, and needs fresh keys")


def _asked(
    predictor: MaskPredictor, prompts: Prompts | None, canvas: Prompts | Sequence[int] | None, shape: Shape | None
) -> tuple[Sequence[str | Dialogue | Sequence[int]], Shape]:
    """Return the prompts, or the canvases in their place, and the shape, that of the gaps where none is given."""
    if canvas is None:
        if prompts is None:
            gaps = "a canvas with gaps such as canvas='the [MASK:3] .'"
            raise ValueError(f"prompts is None: prompts, or {gaps}, are needed")
        asked = as_prompts(prompts)
        return asked, shape or _shape_of(asked, predictor.mask_id)
    if prompts is not None:
        raise ValueError(f"canvas is {canvas!r} beside prompts: give one of them")
    rows: Any = as_prompts(canvas)  # type: ignore[arg-type] - or the ids of one canvas
    rows = [rows] if all(map(is_id, rows)) else rows
    masks = [_masks_of(row, predictor.mask_id) for row in rows]
    for number, (row, gaps) in enumerate(zip(rows, masks, strict=True)):
        if not gaps:
            raise ValueError(f"canvas[{number}] is {row!r}: a gap is needed, such as [MASK:3], or mask ids")
        if gaps != masks[0]:
            raise ValueError(f"canvas[{number}] has {gaps} masks and canvas[0] {masks[0]}: decode them one by one")
    return rows, shape or Shape(masks[0], block=masks[0])


def _shape_of(prompts: Any, mask_id: int) -> Shape:
    """Return the usual shape, or that of the gaps where all prompts have as many masks in theirs."""
    rows = prompts if isinstance(prompts, Sequence) and not isinstance(prompts, str) else []
    masks = {_masks_of(row, mask_id) for row in rows}
    return Shape(min(masks), block=min(masks)) if len(masks) == 1 and min(masks) > 0 else Shape()


def _masks_of(row: Any, mask_id: int) -> int:
    """Return the number of masks of a text, a dialogue or ids; 0 for what is none of these."""
    if isinstance(row, str | Dialogue):
        return masks_in(as_dialogue(row).text)
    return list(row).count(mask_id) if isinstance(row, Iterable) else 0


def check_size(predictor: MaskPredictor, shape: ResolvedShape, copies: int = 1, hypotheses: int = 1) -> None:
    """Raise ValueError where what the decode of one prompt keeps does not fit in this machine's memory.

    That is the record and path of each copy, the draws of hypotheses, and on a CPU the logits; models may take more.
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
            f"{meant[0]}={value!r}"
            if argument is None
            else f"{argument}={kinds[argument].__name__}({meant[0]}={value!r})"
        )
        raise ValueError(f"{name} is {value!r}: {near}give it as {call}")


def reward_settings(model: RewardModel) -> dict[str, Any]:
    """Return what a reward's numbers follow from besides the texts."""
    bounds = bounds_of(model)
    bounded = any(math.isfinite(bound) for bound in bounds)
    finite = [bound if math.isfinite(bound) else None for bound in bounds] if bounded else None
    return {"mean": model.mean, "std": model.std, "bounds": finite}


def warn_of_unknown_words(predictor: MaskPredictor, prompt: str | Dialogue, ids: Sequence[int]) -> None:
    """Warn, by a `show.Note`, of a prompt's words that the predictor reads as unknown, or does not read at all.

    ids: what the predictor reads. The warning names the line that called this package.
    """
    text = without_gaps(as_dialogue(prompt).text)
    unknown = getattr(tokenizer_of(predictor), "unk_token_id", None)
    words: list[str] = []
    how = "reads each as unknown"
    if isinstance(predictor, NamesUnknownWords):
        words, how = predictor.unknown_words(text), "reads only what follows the last of them"
    elif unknown is not None and unknown in ids:
        tokenizer = tokenizer_of(predictor)
        words = list(dict.fromkeys(word for word in text.split() if unknown in plain_ids(tokenizer, word)))
    if not words:
        return
    more = len(words) - _NAMED
    named = " ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    frame, level = sys._getframe(), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{predictor.name} does not know these words and {how}: {named}", Note, stacklevel=level)
