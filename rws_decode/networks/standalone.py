"""The shipped networks and their tokenizers, from files alone: transformers takes seconds to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import torch
from tokenizers import Tokenizer

from rws_decode.checkpoints.files import Checkpoint, models_directory
from rws_decode.checkpoints.weights import Stored, stored_tensors
from rws_decode.networks.modernbert import (
    ModernBertForMaskedLM,
    ModernBertForSequenceClassification,
    ModernBertNetwork,
)

_KINDS = {kind.__name__: kind for kind in (ModernBertForMaskedLM, ModernBertForSequenceClassification)}
_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


class Encoded(dict[str, Any]):
    """Ids by the names that networks know them by; `to` moves tensors to a device."""

    def to(self, device: torch.device) -> Encoded:
        """Return the same tensors on a device."""
        return Encoded({name: tensor.to(device) for name, tensor in self.items()})


class FileTokenizer:
    """A tokenizer with the names and results of transformers' own, as far as encoding and decoding of text go.

    backend: of the library tokenizers, which transformers' own calls, too; special: the special tokens by role, "mask"
    and so on; model_max_length: the longest text, in tokens. A role that nothing has is None.
    """

    chat_template = None

    def __init__(self, backend: Tokenizer, special: dict[str, str], model_max_length: int) -> None:
        self.backend = backend
        self.model_max_length = model_max_length
        ids = {role: backend.token_to_id(special[role]) if role in special else None for role in _ROLES}
        self.bos_token_id, self.eos_token_id, self.unk_token_id = ids["bos"], ids["eos"], ids["unk"]
        self.pad_token_id, self.mask_token_id = ids["pad"], ids["mask"]

    def __call__(
        self,
        text: str | list[str],
        pair: list[str] | None = None,
        *,
        add_special_tokens: bool = True,
        split_special_tokens: bool = False,
        padding: bool = False,
        padding_side: Literal["right"] = "right",
        return_tensors: str | None = None,
    ) -> Encoded:
        """Return `input_ids` of a text, of texts, or of texts with their pairs; with tensors, `attention_mask` too.

        split_special_tokens: whether the name of a special token is text. return_tensors: "pt", where all rows have the
        same length or `padding` fills them up on the right. Nothing is ever cut off.
        """
        self.backend.encode_special_tokens = split_special_tokens
        texts = [text] if isinstance(text, str) else text
        given = texts if pair is None else list(zip(texts, pair, strict=True))
        ids = [row.ids for row in self.backend.encode_batch(given, add_special_tokens=add_special_tokens)]
        if return_tensors is None:
            return Encoded(input_ids=ids[0] if isinstance(text, str) else ids)
        width = max(map(len, ids), default=0) if padding else len(ids[0])
        filled = [[*row, *[self.pad_token_id] * (width - len(row))] for row in ids]
        real = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
        return Encoded(input_ids=torch.tensor(filled), attention_mask=torch.tensor(real))

    def __len__(self) -> int:
        return self.backend.get_vocab_size()

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        return self.backend.decode([int(token) for token in ids], skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return self.backend.get_vocab(with_added_tokens=True)


class Standalone(NamedTuple):
    """A network with its weights, in evaluation mode, and its tokenizer."""

    network: ModernBertNetwork
    tokenizer: FileTokenizer


def standalone(
    checkpoint: Checkpoint, raw: Mapping[str, Any], stored: Mapping[str, Stored], kind: str, dtype: torch.dtype
) -> Standalone | None:
    """Return a shipped network of the kind "MaskedLM" or "SequenceClassification", and its tokenizer; None for another.

    raw: its config.json; stored: its tensors (`weights.read_headers`); dtype: of the weights. Guarantee: ids
    are those of transformers, and so are logits, bit by bit on a CPU. Any other checkpoint is for transformers to load
    or refuse, also a copy of a shipped one.
    """
    folder, name = checkpoint.directory, f"ModernBertFor{kind}"
    if folder is None or folder.parent != models_directory() or raw.get("architectures") != [name]:
        return None
    with torch.inference_mode(False):  # weights are not the caller's to make inference tensors of
        with torch.device("meta"):
            network = _KINDS[name](SimpleNamespace(**raw, num_labels=1))
        weights = {name: tensor.to(dtype) for name, tensor in stored_tensors(checkpoint, stored)}
        if isinstance(network, ModernBertForMaskedLM):
            weights["decoder.weight"] = weights["model.embeddings.tok_embeddings.weight"]
        network.load_state_dict(weights, assign=True)
        if isinstance(network, ModernBertForMaskedLM):
            network.decoder.weight = network.get_input_embeddings().weight
    return Standalone(network.eval(), file_tokenizer(checkpoint))


def file_tokenizer(checkpoint: Checkpoint) -> FileTokenizer:
    """Return the tokenizer of a shipped model's directory."""
    config = checkpoint.read_json("tokenizer_config.json")
    special = {role: config[f"{role}_token"] for role in _ROLES if f"{role}_token" in config}
    backend = Tokenizer.from_file(f"{checkpoint.source}/tokenizer.json")
    backend.no_padding()
    return FileTokenizer(backend, special, config["model_max_length"])
