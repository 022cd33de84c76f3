"""Keys and values that are kept from step to step: Fast-dLLM's prefix and dual cache, and dKV-Cache's delayed one.

A network whose positions all see each other has no exact cache: every token changes every key. Fast-dLLM (Wu et al.
2025, arXiv:2505.22618) keeps those of its first step through a block all the same, and renews some alone. dKV-Cache
(Ma et al. 2025, arXiv:2505.15781) keeps those of a token from one step after its commit on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.schedule import current_block
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor, block_of
from rws_decode.settings import Options
from rws_decode.step.completion import MaskedLogits, masked_logits
from rws_decode.step.step import Decoder, Done, State, Step
from rws_decode.strategies.protocol import Strategy, check_abilities


class Keys:
    """The keys and values that each layer's attention reads, [B, heads, L, d]; a forward renews some of them.

    It stands where a Transformers model expects its cache. rows: int64 [r]; columns: int64 [r, w], of what the coming
    forward renews, and counts: int64 [r], how many different ones of a row; the first forward gives all.
    """

    def __init__(self, layers: Sequence[tuple[Tensor, Tensor]] = ()) -> None:
        self._layers = list(layers)
        self.rows = self.columns = self.counts = torch.empty(0, dtype=torch.int64)

    def update(self, key: Tensor, value: Tensor, layer_idx: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Put in what a layer computed, [r, heads, w, d], and return what its attention reads of these rows."""
        if layer_idx == len(self._layers):
            self._layers.append((key, value))
            return key, value
        kept = self._layers[layer_idx]
        for whole, new in zip(kept, (key, value), strict=True):
            whole[self.rows[:, None], :, self.columns] = new.transpose(1, 2)
        return kept[0][self.rows], kept[1][self.rows]

    def get_seq_length(self, *_: Any) -> int:
        """Return 0: the places of the tokens are given."""
        return 0

    def of(self, rows: Tensor) -> Keys:
        return Keys([(key[rows], value[rows]) for key, value in self._layers])


class Kept(NamedTuple):
    """What a block's later steps read of those before, of b rows.

    start: int64 [b], where the block of each row begins; age: int64 [b], its steps before the last one; masked: bool
    [b, n], before the last step; seen: the latest logits of each position, by the prompts' numbers.
    """

    keys: Keys
    start: Tensor
    age: Tensor
    masked: Tensor
    seen: MaskedLogits

    def of(self, rows: Tensor) -> Kept:
        """Return that of some rows, bool or int64; logits are found by the prompts' numbers."""
        return Kept(self.keys.of(rows), self.start[rows], self.age[rows], self.masked[rows], self.seen)


def check_key_cache(options: Options, predictor: MaskPredictor, strategy: Strategy) -> None:
    """Raise ValueError for what reads other canvases than the step's, or a network whose keys cannot be kept."""
    told = f"key_cache is {options.key_cache!r}"
    if block_of(predictor) is not None:
        raise ValueError(
            f"{told}: {predictor.name} fills block after block and keeps exact keys by itself, leave it out"
        )
    if not getattr(predictor, "keeps_keys", False):
        raise ValueError(f"{told}: {predictor.name} keeps no keys; LLaDA, Dream, A2D and BERT do")
    if options.cfg:
        raise ValueError(f"{told}: guidance computes a second canvas, use cfg=0.0")
    if (able := check_abilities(strategy)).hypotheses or able.changes:
        raise ValueError(f"{told}: strategy {strategy.name} looks ahead or takes words back, and needs fresh keys")


def keeping(run: Step) -> Step:
    """Return the step that computes a row's whole canvas at its block's first step, and some positions at later ones.

    "dual": the block. "prefix": the block and all after it. "delayed:N": what is masked, and the tokens of the step
    before; all again at the block's second step, as in the authors' code, and at every N-th. They are computed beside
    the keys and values that the others had when they were computed last. Masked positions that are not computed keep
    the logits that they had then.
    """

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        before: Kept | None = state.beside.get("keys")
        block = current_block(state.masked, decoder.plan)
        start = block.int().argmax(dim=1)
        age = torch.zeros_like(start) if before is None else (before.age + 1).where(start == before.start, 0)
        keys = Keys() if before is None else before.keys
        kind, _, every = decoder.options.key_cache.partition(":")
        if kind == "delayed":
            inside = state.masked if before is None else before.masked
            whole = (age < 2) | (age % int(every) == 0)
        else:
            inside, whole = block if kind == "dual" else block.cumsum(dim=1) > 0, age == 0
        renewed = torch.where(whole[:, None], state.masked, state.masked & inside)
        parts, columns = [], torch.zeros_like(start)
        for rows, places in ((whole, None), (~whole, inside)):
            if bool(rows.any()):
                parts.append(_forward(decoder, state, renewed & rows[:, None], rows, places, keys))
                columns[rows] = keys.counts
        if before is not None:
            row = torch.searchsorted(state.rows, before.seen.row).clamp(max=len(state.rows) - 1)
            waits = (state.rows[row] == before.seen.row) & (state.masked & ~renewed)[row, before.seen.position]
            parts.append(before.seen._replace(row=row).at(waits))
        seen = _joined(parts, state.masked.shape[1])
        after, done = run(replace(decoder, forward=lambda _decoder, _state: seen), state)
        kept = Kept(keys, start, age, state.masked, seen._replace(row=state.rows[seen.row]))
        done = done._replace(calls=1 + bool(whole.any()) * bool((~whole).any()), computed_columns=columns)
        return after._replace(beside={**after.beside, "keys": kept}), done

    return step


def _forward(
    decoder: Decoder, state: State, wanted: Tensor, rows: Tensor, places: Tensor | None, keys: Keys
) -> MaskedLogits:
    """Return the logits of the wanted positions from a forward of some rows.

    places: bool [b, n], the answer's positions that are computed; None for the whole canvas.
    """
    canvas = state.canvas
    predictor: Any = decoder.predictor
    keys.rows = rows.nonzero()[:, 0]
    if places is None:
        keys.columns = torch.arange(canvas.ids.shape[1], device=canvas.ids.device).expand(len(keys.rows), -1)
        mask = torch.ones_like(canvas.ids) if canvas.attention_mask is None else canvas.attention_mask
        keys.counts = mask[keys.rows].sum(dim=1)
    else:
        columns = [canvas.answer[row][places[row]] for row in keys.rows.tolist()]
        indices = [torch.full_like(each, row) for row, each in zip(keys.rows.tolist(), columns, strict=True)]
        read = [predictor.source(canvas.attention_mask, row, each) for row, each in zip(indices, columns, strict=True)]
        # Rows of fewer columns compute their first one again: equal keys are put in the same place.
        needed = [torch.cat([*pair]).unique() for pair in zip(columns, read, strict=True)]
        keys.counts = torch.tensor([len(each) for each in needed], device=canvas.ids.device)
        most = int(keys.counts.max())
        keys.columns = torch.stack([torch.cat([each, each[:1].expand(most - len(each))]) for each in needed])

    def at(_: MaskPredictor, ids: Tensor, mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        return logits_within(predictor, ids, mask, row, column, keys)

    suppressed, published = decoder.ends.suppressed, decoder.options.ranking == "topk"
    return masked_logits(decoder.predictor, canvas, wanted, suppressed=suppressed, published=published, at=at)


@torch_threads()
def logits_within(
    predictor: Any, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor, keys: Keys
) -> Tensor:
    """Return the logits [N, V] at N places, of those that `keys` renews; other keys stay."""
    if predictor.model._forward_pre_hooks:  # such as those of `watch`, which count forwards of the whole network
        raise ValueError("key_cache is on: watched steps compute some columns alone, use key_cache='none'")
    rows, columns = keys.rows, keys.columns
    real = torch.ones_like(canvas, dtype=torch.bool) if attention_mask is None else attention_mask
    hidden = predictor.model.base_model(
        input_ids=canvas[rows].gather(1, columns),
        attention_mask=None if bool(real.all()) else real[rows][:, None, None, :],
        position_ids=(real.long().cumsum(dim=1) - 1).clamp(min=0)[rows].gather(1, columns),
        past_key_values=keys,
        use_cache=False,
    ).last_hidden_state
    slot = torch.zeros_like(canvas)
    slot[rows[:, None], columns] = torch.arange(columns.numel(), device=canvas.device).view(columns.shape)
    head = getattr(predictor.model, "cls", None) or predictor.model.get_output_embeddings()
    return head(hidden.flatten(0, 1)[slot[row, predictor.source(attention_mask, row, column)]])


def _joined(parts: Sequence[MaskedLogits], length: int) -> MaskedLogits:
    """Return the parts as one, rows and positions rising."""
    parts = [part for part in parts if len(part.row)]
    if len(parts) == 1:
        return parts[0]
    row, position, logits, published = (torch.cat(each) for each in list(zip(*parts, strict=True))[:4])
    joined = MaskedLogits(row, position, logits, published)
    if all(part.published is part.logits for part in parts):
        joined = joined._replace(published=joined.logits)
    return joined.at((joined.row * length + joined.position).argsort())
