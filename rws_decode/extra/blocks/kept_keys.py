"""Approximate caches of keys and values: Fast-dLLM's prefix and dual cache, and dKV-Cache's delayed one.

A network whose positions all see each other has no exact cache: every token changes every key. Fast-dLLM (Wu et al.
2025, arXiv:2505.22618) keeps the keys of a block's first step through the block, and renews only some. dKV-Cache (Ma et
al. 2025, arXiv:2505.15781) keeps those of a token from one step after its commit on.
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

    A transformers model takes it as its cache. rows: int64 [r], and columns: int64 [r, w], that the next forward
    renews; counts: int64 [r], the different columns of each row. The first forward gives all.
    """

    def __init__(self, layers: Sequence[tuple[Tensor, Tensor]] = ()) -> None:
        self._layers = list(layers)
        self.rows = self.columns = self.counts = torch.empty(0, dtype=torch.int64)

    def update(self, key: Tensor, value: Tensor, layer_idx: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Store a layer's keys and values, [r, heads, w, d]; return those that its attention reads of these rows."""
        if layer_idx == len(self._layers):
            self._layers.append((key, value))
            return key, value
        layer = self._layers[layer_idx]
        for stored, new in zip(layer, (key, value), strict=True):
            stored[self.rows[:, None], :, self.columns] = new.transpose(1, 2)
        return layer[0][self.rows], layer[1][self.rows]

    def get_seq_length(self, *_: Any) -> int:
        """Return 0: the model is given the positions of the tokens."""
        return 0

    def of(self, rows: Tensor) -> Keys:
        return Keys([(key[rows], value[rows]) for key, value in self._layers])


class CacheState(NamedTuple):
    """What the later steps of a block reuse of its earlier steps, for b rows.

    start: int64 [b], where the block of each row begins; age: int64 [b], its steps before the last one; masked: bool
    [b, n], before the last step; logits: the latest logits of each position, by the prompts' numbers.
    """

    keys: Keys
    start: Tensor
    age: Tensor
    masked: Tensor
    logits: MaskedLogits

    def of(self, rows: Tensor) -> CacheState:
        """Return the state of some rows, bool or int64; the logits stay, as the prompts' numbers index them."""
        return CacheState(self.keys.of(rows), self.start[rows], self.age[rows], self.masked[rows], self.logits)


def check_key_cache(options: Options, predictor: MaskPredictor, strategy: Strategy) -> None:
    """Raise ValueError for options that read other canvases than the step's, and networks without a cache."""
    option = f"key_cache is {options.key_cache!r}"
    if block_of(predictor) is not None:
        raise ValueError(
            f"{option}: {predictor.name} fills block after block and keeps exact keys by itself, leave it out"
        )
    if not getattr(predictor, "keeps_keys", False):
        raise ValueError(f"{option}: {predictor.name} keeps no keys; LLaDA, Dream, A2D and BERT do")
    if options.cfg:
        raise ValueError(f"{option}: guidance computes a second canvas, use cfg=0.0")
    if (able := check_abilities(strategy)).hypotheses or able.changes:
        raise ValueError(f"{option}: strategy {strategy.name} looks ahead or takes words back, and needs fresh keys")


def keeping(run: Step) -> Step:
    """Return the step that computes a row's whole canvas at its block's first step, and some positions at later ones.

    "dual": the block. "prefix": the block and all after it. "delayed:N": the masked positions, and the tokens of the
    last step; the whole canvas at the block's second step, as in the authors' code, and at every N-th. The other
    positions keep their latest keys, values and logits.
    """

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        before: CacheState | None = state.beside.get("keys")
        block = current_block(state.masked, decoder.plan)
        start = block.int().argmax(dim=1)
        age = torch.zeros_like(start) if before is None else (before.age + 1).where(start == before.start, 0)
        keys = Keys() if before is None else before.keys
        kind, _, every = decoder.options.key_cache.partition(":")
        if kind == "delayed":
            inside = state.masked if before is None else before.masked
            full = (age < 2) | (age % int(every) == 0)
        else:
            inside, full = block if kind == "dual" else block.cumsum(dim=1) > 0, age == 0
        renewed = torch.where(full[:, None], state.masked, state.masked & inside)
        parts, columns = [], torch.zeros_like(start)
        for rows, places in ((full, None), (~full, inside)):
            if bool(rows.any()):
                parts.append(_forward(decoder, state, renewed & rows[:, None], rows, places, keys))
                columns[rows] = keys.counts
        if before is not None:
            row = torch.searchsorted(state.rows, before.logits.row).clamp(max=len(state.rows) - 1)
            waits = (state.rows[row] == before.logits.row) & (state.masked & ~renewed)[row, before.logits.position]
            parts.append(before.logits._replace(row=row).at(waits))
        logits = _joined(parts, state.masked.shape[1])
        after, done = run(replace(decoder, forward=lambda _decoder, _state: logits), state)
        cache = CacheState(keys, start, age, state.masked, logits._replace(row=state.rows[logits.row]))
        done = done._replace(calls=1 + bool(full.any()) * bool((~full).any()), computed_columns=columns)
        return after._replace(beside={**after.beside, "keys": cache}), done

    return step


def _forward(
    decoder: Decoder, state: State, positions: Tensor, rows: Tensor, places: Tensor | None, keys: Keys
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

    def within(_: MaskPredictor, ids: Tensor, mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        return logits_within(predictor, ids, mask, row, column, keys)

    suppressed, published = decoder.ends.suppressed, decoder.options.ranking == "topk"
    return masked_logits(decoder.predictor, canvas, positions, suppressed=suppressed, published=published, at=within)


@torch_threads()
def logits_within(
    predictor: Any, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor, keys: Keys
) -> Tensor:
    """Return the logits [N, V] at N places among those that `keys` renews; other keys stay."""
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
