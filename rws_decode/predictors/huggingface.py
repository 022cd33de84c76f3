"""Any masked language model of transformers as a mask predictor, loaded without remote code."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from rws_decode.checkpoints import Checkpoint, device_named, has_tokenizer, locate, refuse_incomplete, shipped
from rws_decode.predictors.base import before_end, without_mask
from rws_decode.predictors.modernbert import ModernBertAt

__all__ = ["HFMaskPredictor", "load_predictor"]

# Where neither tokenizer nor config names the mask: the id of the published vocabulary, used only at that very size.
_PUBLISHED_MASKS = {
    "bert": (103, 30522),
    "distilbert": (103, 30522),
    "modernbert": (50284, 50368),
    "roberta": (50264, 50265),
}


class HFMaskPredictor:
    """A transformers masked language model, with its tokenizer if it has one.

    model: its forward takes input_ids and attention_mask and returns `.logits` [B, L, V]. tokenizer: encodes a prompt
    to the ids that stand before the answer, by its own post-processor. mask_id: overrides the tokenizer's and the
    config's. examples: held-out prompts that ship with it. Token ids that the tokenizer does not name are forbidden.
    `end_id` is the tokenizer's eos token, or else the config's. ValueError where no mask id is known.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        name: str = "model",
        mask_id: int | None = None,
        examples: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.examples = tuple(examples)
        self.name = name
        config = model.config
        self.vocab_size: int = config.vocab_size
        self.max_length: int | None = getattr(config, "max_position_embeddings", None)
        self.mask_id = self._mask_id(mask_id)
        self.pad_id = self._special("pad_token_id")
        self.end_id = self._special("eos_token_id")
        named = set() if tokenizer is None else set(tokenizer.get_vocab().values())
        base = getattr(self.model, "model", None)
        lean = config.model_type == "modernbert" and base is not None and ModernBertAt.supported(base)
        self._places = ModernBertAt(base) if lean else None
        self.forbidden_ids = tuple(token for token in range(self.vocab_size) if token not in named) if named else ()

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return next(self.model.parameters()).device

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the model's logits [B, L, V] for canvas int64 [B, L]; positions are counted from a row's first token.

        ValueError for padding on the left where the model cannot be told of positions.
        """
        return self._forward(canvas, attention_mask)

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the logits [N, V] of N places, row rising: the language-model head is applied to no others.

        ModernBERT's last layer is not either (`modernbert.ModernBertAt`). Of other models the output embeddings are
        given these places alone, by a hook; a model that does not end with such a layer computes all logits.
        """
        if self._places is not None:
            hidden = self._places(canvas, attention_mask, self._positions(attention_mask), row, column)
            return self.model.decoder(self.model.head(hidden))
        find = getattr(self.model, "get_output_embeddings", None)
        head = None if find is None else find()
        seen: list[Tensor] = []

        def only_these(module: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
            hidden = given[0]
            if hidden.shape[:2] != canvas.shape or seen:
                return None
            seen.append(hidden)
            return (hidden[row, column][None],)

        if head is None:
            return self._forward(canvas, attention_mask)[row, column]
        hook = head.register_forward_pre_hook(only_these)
        try:
            logits = self._forward(canvas, attention_mask)
        finally:
            hook.remove()
        return logits[0] if seen else logits[row, column]

    def _forward(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        positions = self._positions(attention_mask)
        options = {} if positions is None else {"position_ids": positions}
        return self.model(input_ids=canvas, attention_mask=attention_mask, **options).logits

    def _positions(self, attention_mask: Tensor | None) -> Tensor | None:
        """Return each column's position where padding on the left moves it and the model does not count by itself."""
        if attention_mask is None or bool(attention_mask[:, 0].all()) or self._counts_positions():
            return None
        return (attention_mask.long().cumsum(dim=1) - 1).clamp(min=0)

    def encode_prompt(self, text: str) -> list[int]:
        """Return the prompt's ids, e.g. [CLS] text [SEP]; the word "[MASK]" in `text` is read as plain text.

        ValueError without a tokenizer, or where even the plain text encodes to the mask.
        """
        if self.tokenizer is None:
            raise ValueError(f"prompt is text: {self.name} has no tokenizer, give token ids")
        ids: list[int] = self.tokenizer(text)["input_ids"]
        if self.mask_id in ids:
            ids = self.tokenizer(text, split_special_tokens=True)["input_ids"]
        return without_mask(ids, self.mask_id, text)

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        """Return the text of prompt ids, special tokens left out; None without a tokenizer."""
        return None if self.tokenizer is None else self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text before the first end of text, special tokens left out; None without a tokenizer."""
        return self.decode_prompt(before_end(ids, self.end_id))

    def _counts_positions(self) -> bool:
        """Say whether the model itself counts positions past padding, as RoBERTa does, by its padding token."""
        if any(hasattr(module, "create_position_ids_from_input_ids") for module in self.model.modules()):
            return True
        if "position_ids" not in inspect.signature(self.model.forward).parameters:
            raise ValueError(f"padding is 'left': {self.name} takes no position_ids, use 'right'")
        return False

    def _special(self, field: str) -> int | None:
        for holder in (self.tokenizer, self.model.config):
            token = getattr(holder, field, None)
            token = token[0] if isinstance(token, list) and token else token
            # Library defaults can lie beyond a small model's vocabulary.
            if isinstance(token, int) and 0 <= token < self.vocab_size:
                return token
        return None

    def _mask_id(self, given: int | None) -> int:
        config = self.model.config
        token = self._special("mask_token_id") if given is None else given
        published, size = _PUBLISHED_MASKS.get(config.model_type, (None, None))
        if token is None and size == self.vocab_size:
            token = published
        if token is None or not 0 <= token < self.vocab_size:
            raise ValueError(
                f"mask_id is {token}: {self.name} needs one below {self.vocab_size}, from its tokenizer or as "
                "mask_token_id in its config"
            )
        return token


def load_predictor(name: str, device: str | torch.device = "cpu", *, mask_id: int | None = None) -> HFMaskPredictor:
    """Load a mask predictor by shipped name, directory, or hub id, in float32.

    The class is AutoModelForMaskedLM's choice; safetensors only, no remote code. A directory without tokenizer files
    gives a predictor that works on token ids. ValueError for an unknown name (the shipped ones are listed), weights
    that are missing, or an unknown device.
    """
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    place = device_named(device)
    checkpoint = locate("model", name, {shipped_name: shipped_name for shipped_name in shipped("ForMaskedLM")})
    try:
        model, info = AutoModelForMaskedLM.from_pretrained(
            checkpoint.source, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **checkpoint.options
        )
        tokenizer = None
        if has_tokenizer(checkpoint):
            tokenizer = AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.options)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"model {name} cannot be loaded: {error}") from error
    refuse_incomplete("model", checkpoint, info)
    examples = _examples(checkpoint)
    return HFMaskPredictor(model.to(place), tokenizer, name=checkpoint.name, mask_id=mask_id, examples=examples)


def _examples(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    examples = checkpoint.read_json("examples.json") or []
    if not isinstance(examples, list) or not all(isinstance(item, dict) and "prompt" in item for item in examples):
        raise ValueError(f'examples.json of model {checkpoint.name} is not a list of {{"prompt": text, ...}}')
    return examples
