"""Decoder-only sequence classifiers as reward models: what was read before a change need not be read again."""

from __future__ import annotations

import inspect
import math
from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rws_decode.common.threads import torch_threads
from rws_decode.rewards.base import RewardSession
from rws_decode.rewards.network import NetworkReward, check_one_output, hidden_states
from rws_decode.rewards.templates import Template, text_encoder
from rws_decode.text.dialogue import Dialogue
from rws_theory.checks import whole

if TYPE_CHECKING:
    from transformers import DynamicCache

CACHE_BYTES = 2**31


class CausalReward(NetworkReward):
    """A decoder-only transformers sequence classifier of one output: the raw score is its logit at the last token.

    "Last" is the last token of the text itself, whatever ids pad, separate or end it. The model's own pooling takes the
    rightmost token that is not padding, which is the wrong one if the end-of-text token is the padding.

    template, always_begin: how texts are laid out (`templates.text_encoder`); closing: token ids that end every text,
    after what the template puts last; options: as in `NetworkReward`. `score` reads whole texts in batches. `session`
    keeps keys and values between calls, at most `cache_bytes` bytes per session: `bytes_per_token` for each token, 2 *
    layers * kv heads * head dim * item size. `keeps_cache` is False if a cache cannot be cut back (linear or chunked
    attention, rotary frequencies that depend on the length); then everything is read anew.

    ValueError for a model that is not such a classifier, other statistics or outputs, or a negative cache_bytes.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "reward",
        template: Template = "pair",
        always_begin: bool = False,
        closing: Sequence[int] = (),
        cache_bytes: int = CACHE_BYTES,
        **options: Any,
    ) -> None:
        check_one_output(name, model)
        whole("cache_bytes", cache_bytes, 0)
        if not is_causal_classifier(model.eval()):
            raise ValueError(f"reward model {name} is a {type(model).__name__}: a causal classifier is needed")
        encode = text_encoder(name, tokenizer, template, always_begin=always_begin, closing=closing)
        super().__init__(model, tokenizer, encode, name=name, template=template, **options)
        self.closing = list(closing)
        self.cache_bytes = cache_bytes
        self.keeps_cache = _croppable(model)
        self.bytes_per_token = _bytes_per_token(model) if self.keeps_cache else 0

    def read(self, texts: Sequence[list[int]]) -> Tensor:
        last = torch.tensor([len(ids) - 1 for ids in texts])
        return self.model.score(hidden_states(self.model, texts)[torch.arange(len(texts)), last])[:, 0]

    def session(self, rows: int, *, cache: bool = True) -> CausalSession:
        """Return the session of a decode of `rows` rows; cache False: counts tokens, and reads all of them."""
        return CausalSession(self, rows, cache=cache)


class CausalSession(RewardSession):
    """Scores of the rows of one decode; each row's keys and values are kept up to the first token that changed.

    `tokens`: for each row, the tokens run through the model, at least one per text; `tokens_saved`: those served from
    the cache. Between calls at most the reward's `cache_bytes` are kept (`bytes_held`): the rows used least recently
    are dropped first, and a text that does not fit alone is not kept. In a call the rows with a cache go first, so that
    a batch that does not fit saves what it can. With a cache, texts are read one by one; without one, in batches.

    Guarantee: the scores of `CausalReward.score` up to rounding.
    """

    def __init__(self, reward: CausalReward, rows: int, *, cache: bool = True) -> None:
        self.reward = reward
        self.tokens = [0] * rows
        self.tokens_saved = [0] * rows
        self._caching = cache and reward.keeps_cache
        # Per row: the ids that were read, and their keys and values; the least recently used row first.
        self._cache: OrderedDict[int, tuple[list[int], DynamicCache]] = OrderedDict()

    @property
    def bytes_held(self) -> int:
        """Return the bytes of keys and values that are kept."""
        return self.reward.bytes_per_token * sum(len(ids) for ids, _ in self._cache.values())

    def score(self, rows: Sequence[int], prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the raw score of each pair, where `rows` tells its row; ValueError as in `CausalReward.score`."""
        texts = [self.reward.ids(*pair) for pair in zip(prompts, answers, strict=True)]
        if not self._caching:
            for row, ids in zip(rows, texts, strict=True):
                self.tokens[row] += len(ids)
            return self.reward.score_ids(texts)
        scores = [0.0] * len(texts)
        cached = set(self._cache)
        for index in sorted(range(len(texts)), key=lambda index: rows[index] not in cached):
            scores[index] = self._score(rows[index], texts[index])
        return scores

    def _score(self, row: int, ids: list[int]) -> float:
        from transformers import DynamicCache

        # Taken out while it changes: a forward that fails leaves no cache that belies its tokens.
        before, cache = self._cache.pop(row, ([], None))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, ids, strict=False))
        reused = min(sum(1 for _ in same), len(ids) - 1)
        if cache is None or reused == 0:
            # Without the config it keeps every token's keys and values even if attention has a window, which the
            # attention mask then applies. Only such a cache can be cut back.
            cache = DynamicCache()
        elif reused < len(before):
            cache.crop(reused - len(before))
        needed = self.reward.bytes_per_token * len(ids)
        fits = needed <= self.reward.cache_bytes
        while fits and self.bytes_held + needed > self.reward.cache_bytes:
            self._cache.popitem(last=False)
        model = self.reward.model
        with torch_threads(), torch.inference_mode():  # the rest joins the cache, the score is at its last token
            rest = torch.tensor([ids[reused:]], device=model.device)
            output = model.base_model(input_ids=rest, past_key_values=cache, use_cache=True)
            score = float(model.score(output.last_hidden_state[:, -1]).double())
        if fits:
            self._cache[row] = ids, cache
        self.tokens[row] += len(ids) - reused
        self.tokens_saved[row] += reused
        return score


def is_causal_classifier(model: Any) -> bool:
    """Return whether a transformers classifier reads from left to right and has its score head on the last token.

    The first is tried on a short text: how its first half is read must not depend on the second.
    """
    base = getattr(model, "base_model", None)
    if not isinstance(getattr(model, "score", None), nn.Linear) or getattr(model.config, "is_encoder_decoder", False):
        return False
    if base is None or "past_key_values" not in inspect.signature(base.forward).parameters:
        return False
    ids = _some_ids(model)
    with torch_threads(), torch.inference_mode():
        whole = base(input_ids=ids, use_cache=False).last_hidden_state[:, : ids.shape[1] // 2]
        half = base(input_ids=ids[:, : ids.shape[1] // 2], use_cache=False).last_hidden_state
    return bool((whole - half).abs().max() <= math.sqrt(torch.finfo(whole.dtype).eps) * half.abs().max())


def _croppable(model: Any) -> bool:
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    config = model.config.get_text_config()
    if getattr(config, "attention_chunk_size", None) is not None:
        return False
    # "dynamic" and "longrope" rotate by an angle that depends on the length of the whole text.
    rope = getattr(config, "rope_parameters", None) or {}
    settings = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    if any(setting.get("rope_type") in ("dynamic", "longrope") for setting in settings):
        return False
    layers = DynamicCache(config=config).layers
    return bool(layers) and all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


def _bytes_per_token(model: Any) -> int:
    from transformers.cache_utils import DynamicCache, DynamicLayer

    ids, cache = _some_ids(model), DynamicCache()
    with torch_threads(), torch.inference_mode():
        model.base_model(input_ids=ids, past_key_values=cache, use_cache=True)
    layers = [layer for layer in cache.layers if isinstance(layer, DynamicLayer)]
    sizes = [tensor.nbytes for layer in layers for tensor in (layer.keys, layer.values) if tensor is not None]
    return sum(sizes) // ids.shape[1]


def _some_ids(model: Any) -> Tensor:
    return (torch.arange(8, device=model.device) % model.config.get_text_config().vocab_size)[None]
