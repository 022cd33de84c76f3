"""Any masked language model of transformers as a mask predictor, those of residues and of SMILES too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.common.reward_facts import parameters_of
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import before_end, checked_mask, without_mask
from rws_decode.predictors.modernbert import ModernBertAt
from rws_decode.text.dialogue import Dialogue, gap_ids, masks_in
from rws_decode.text.prompt_ids import chat_ids, chat_layout, closing_text, plain_ids, without_specials
from rws_theory.show import quoted

__all__ = ["HFMaskPredictor"]

# Where neither tokenizer nor config names the mask: the id of the published vocabulary, used only at that very size.
_PUBLISHED_MASKS = {
    "bert": (103, 30522),
    "distilbert": (103, 30522),
    "modernbert": (50284, 50368),
    "roberta": (50264, 50265),
}


class Spoken:
    """A network of transformers with its tokenizer if it has one, and texts as ids and back.

    chat: whether a prompt is messages of the tokenizer's chat template, whose variables are chat_options.
    """

    end_ids: tuple[int, ...]

    def __init__(self, model: Any, tokenizer: Any, name: str, chat: bool, chat_options: Mapping[str, Any]) -> None:
        if chat and getattr(tokenizer, "chat_template", None) is None:
            raise ValueError(f"chat is True: {name} has no chat template")
        self.model, self.tokenizer, self.name, self.chat = model.eval(), tokenizer, name, chat
        self._chat_options = chat_options
        self._layout = chat_layout(tokenizer, 1, chat_options) if chat else None
        self._closing = closing_text(tokenizer, chat_options) if chat else None

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return next(self.model.parameters()).device

    def dialogue_ids(self, dialogue: Dialogue) -> list[int]:
        """Return the ids of the whole chat, or those of the plain text; ValueError without a tokenizer."""
        if self.tokenizer is None:
            raise ValueError(f"prompt is text: {self.name} has no tokenizer, give token ids")
        if self.chat:
            return chat_ids(self.tokenizer, dialogue, self._chat_options)
        return plain_ids(self.tokenizer, dialogue.text)

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        """Return the text of prompt ids, special tokens left out, of a chat the message; None without a tokenizer."""
        return None if self.tokenizer is None else without_specials(self.tokenizer, ids, self._layout)

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        """Return the text before the first of `end_ids`, special tokens left out; None without a tokenizer."""
        if self.tokenizer is None:
            return None
        text = self.tokenizer.decode(before_end(ids, self.end_ids), skip_special_tokens=True)
        closed = self._closing is not None and self._closing in text
        return text.partition(self._closing)[0].rstrip() if closed else text


class HFMaskPredictor(Spoken):
    """A transformers masked language model, with its tokenizer if it has one.

    model: its forward takes input_ids and attention_mask and returns `.logits` [B, L, V]. tokenizer: encodes a prompt
    to the ids that stand before the answer, by its own post-processor. mask_id: overrides the tokenizer's and the
    config's. end_ids: tokens that end the answer's text, the first of which is `end_id`; if None, the tokenizer's eos
    token, or else the config's; for a chat whose tokenizer has no eos token, padding, which such models end in. chat:
    whether a prompt's text is one message of the tokenizer's chat template, and a dialogue its messages; else a
    dialogue is read as its plain text. Where a template closes answers by a line of plain text, they end there too.
    chat_options: variables of the template. examples: held-out prompts that ship with it.
    Token ids that the tokenizer does not name are forbidden. ValueError if no mask id is known, or it ends the text;
    for a causal model, whose logits at a mask ignore what follows; and for chat without a template.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        name: str = "model",
        mask_id: int | None = None,
        end_ids: Sequence[int] | None = None,
        chat: bool = False,
        chat_options: Mapping[str, Any] | None = None,
        examples: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(model, tokenizer, name, chat, chat_options or {})
        base = getattr(model, "model", None)
        lean = model.config.model_type == "modernbert" and base is not None and ModernBertAt.supported(base)
        self._lean = ModernBertAt(base) if lean else None
        self.checkpoint: Checkpoint | None = None
        self.caps: Mapping[str, int] = {}  # of its files
        self.examples = tuple(examples)
        self._pieces: dict[int, str] = {}
        config = model.config
        self.keeps_keys = config.model_type == "bert"  # its attention reads the keys that it is given
        self.vocab_size: int = config.vocab_size
        self.max_length: int | None = getattr(config, "max_position_embeddings", None)
        self.pad_id = self._special("pad_token_id")
        self.end_ids = self._ends(chat) if end_ids is None else tuple(end_ids)
        self.mask_id = self._mask_id(mask_id)
        self.end_id = self.end_ids[0] if self.end_ids else None
        named = set() if tokenizer is None else set(tokenizer.get_vocab().values())
        self.forbidden_ids = tuple(token for token in range(self.vocab_size) if token not in named) if named else ()
        self._refuse_causal()

    def __repr__(self) -> str:
        examples = f", {len(self.examples)} examples" if self.examples else ""
        size = f"{parameters_of(self.model)}, {self.vocab_size:,} tokens"
        return f"{type(self).__name__}({quoted(self.name, 40)}, {size}{examples})"

    @property
    def prompts(self) -> list[str]:
        """Return the texts of `examples`."""
        return [example["prompt"] for example in self.examples]

    @property
    def logits_dtype(self) -> torch.dtype:
        """Return the dtype of the weights, in which logits are computed."""
        return getattr(self.model, "dtype", torch.float32)

    @torch_threads()
    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the model's logits [B, L, V] for canvas int64 [B, L]; positions are counted from a row's first token.

        ValueError for padding on the left where the model cannot be told of positions.
        """
        return self._forward(canvas, attention_mask)

    @torch_threads()
    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the logits [N, V] at N positions, row rising: the language-model head is applied to no others.

        Nor is ModernBERT's last layer (`modernbert.ModernBertAt`). In other models the output embeddings are given
        these positions alone; a model that does not end with such a layer computes all logits.
        """
        # Hooks of the network, such as those of `watch`, are to see its modules run.
        if self._lean is not None and self._lean.plain() and not self.model._forward_pre_hooks:
            hidden = self._lean(canvas, attention_mask, self._positions(attention_mask), row, column)
            return self.model.decoder(self.model.head(hidden))
        output_layer = getattr(self.model, "get_output_embeddings", None)
        head = None if output_layer is None else output_layer()
        if head is None:
            return self._forward(canvas, attention_mask)[row, column]
        whole = True

        def only_these(hidden: Tensor) -> Tensor:
            nonlocal whole
            whole = hidden.shape[:2] != canvas.shape
            return head.forward(hidden if whole else hidden[row, column][None])

        logits = self._forward(canvas, attention_mask, with_forward(self.model, head, only_these))
        return logits[row, column] if whole else logits[0]

    @torch_threads()
    @torch.no_grad()
    def _refuse_causal(self) -> None:
        """Raise ValueError where the token after a mask does not change its logits, and the one before it does."""
        special = {self.mask_id, self.pad_id, *self.end_ids}
        one, other, *_ = [*(token for token in range(min(self.vocab_size, 16)) if token not in special), 0, 0]
        canvas = [[one, self.mask_id, one], [other, self.mask_id, one], [one, self.mask_id, other]]
        try:
            logits = self._forward(torch.tensor(canvas, device=self.device), None)[:, 1].float()
        except Exception as error:  # of a config that no forward can follow
            why = " ".join(str(error).split())[:160]
            raise ValueError(f"model is {self.name}: it cannot read a canvas of three tokens ({why})") from error
        before, after = (logits[1:] - logits[0]).abs().amax(dim=1).tolist()
        if after < before / 100:  # of a causal network, rounding at most
            raise ValueError(
                f"model is a causal {type(self.model).__name__}: its logits at a mask ignore what follows, give a "
                "masked language model, or load_predictor(directory) for a LLaDA, Dream or A2D"
            )

    def source(self, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the columns whose logits predict these: themselves."""
        return column

    def _forward(self, canvas: Tensor, attention_mask: Tensor | None, network: Any = None) -> Tensor:
        """Return the logits of the model, or of a network in its place."""
        positions = self._positions(attention_mask)
        options = {} if positions is None else {"position_ids": positions}
        network = self.model if network is None else network
        return network(input_ids=canvas, attention_mask=attention_mask, **options).logits

    def _positions(self, attention_mask: Tensor | None) -> Tensor | None:
        """Return each column's position where padding on the left moves it and the model does not count by itself."""
        if attention_mask is None or bool(attention_mask[:, 0].all()) or self._counts_positions():
            return None
        return (attention_mask.long().cumsum(dim=1) - 1).clamp(min=0)

    def encode_prompt(self, text: str) -> list[int]:
        """Return the prompt's ids, e.g. [CLS] text [SEP], or those of a chat of one message; at most one BOS.

        The name of a special token in `text`, e.g. "[MASK]", is read as plain text, but a gap [MASK:n] as n masks.
        ValueError without a tokenizer, where even the plain text encodes to the mask, and for a gap in a chat.
        """
        return self.encode_dialogue(Dialogue((text,)))

    def encode_dialogue(self, dialogue: Dialogue) -> list[int]:
        """Return the ids of a dialogue up to where the answer begins: the whole chat, or those of the plain text.

        As `encode_prompt`: the name of a special token is text in every turn, the assistant's too; ValueError as there.
        """
        text = dialogue.text
        if self.tokenizer is not None and masks_in(text):
            if self.chat:
                raise ValueError(f"prompt {text[:60]!r} has a gap: a message of a chat has none, choose chat=False")
            return self._with_gaps(text)
        return without_mask(self.dialogue_ids(dialogue), self.mask_id, text)

    def _with_gaps(self, text: str) -> list[int]:
        """Return a text's ids with masks in its gaps; the tokenizer's own tokens stand around the whole text alone."""
        frame, word = plain_ids(self.tokenizer, ""), plain_ids(self.tokenizer, "a")
        first = next((i for i, token in enumerate(frame) if token != word[i]), len(frame))

        def encode(part: str) -> list[int]:
            ids = plain_ids(self.tokenizer, part)
            return without_mask(ids[first : len(ids) - len(frame) + first], self.mask_id, text)

        return [*frame[:first], *gap_ids(text, encode, self.mask_id), *frame[first:]]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token by itself, special tokens by their names; none without a tokenizer."""
        if self.tokenizer is None:
            return []
        for token in ids:
            if token not in self._pieces:
                self._pieces[token] = self.tokenizer.decode([token], skip_special_tokens=False)
        return [self._pieces[token] for token in ids]

    def _counts_positions(self) -> bool:
        """Return whether the model itself counts positions past padding, as RoBERTa does, by its padding token."""
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

    def _ends(self, chat: bool) -> tuple[int, ...]:
        named = getattr(self.tokenizer, "eos_token_id", None) is not None
        ends = [self.pad_id] if chat and not named else []
        ends.append(self._special("eos_token_id"))
        return tuple(dict.fromkeys(token for token in ends if token is not None))

    def _mask_id(self, given: int | None) -> int:
        config = self.model.config
        token = self._special("mask_token_id") if given is None else given
        published, size = _PUBLISHED_MASKS.get(config.model_type, (None, None))
        if token is None and size == self.vocab_size:
            token = published
        named = None if self.tokenizer is None else self.tokenizer.get_vocab()
        return checked_mask(token, self.name, self.vocab_size, self.end_ids, named)


def with_forward(network: Any, part: Any, forward: Callable[..., Any]) -> Any:
    """Return a network of the same weights with another forward of a module; None where it has no such module.

    The modules around the part are copied, and nothing of the network itself changes, which other threads may use.
    """
    changed = copy(network)
    if network is part:
        changed.forward = forward
        return changed
    for name, module in reversed(network._modules.items()):  # a head stands last
        if module is not None and (inner := with_forward(module, part, forward)) is not None:
            changed._modules = {**network._modules, name: inner}
            return changed
    return None
