"""A tokenizer.json read by the library tokenizers alone: what plain text needs of transformers' tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from tokenizers import Tokenizer

from rws_decode.checkpoints.files import Checkpoint, models_directory, without_panics
from rws_decode.checkpoints.trial import tried

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_FIXED = {"backend": "tokenizers", "clean_up_tokenization_spaces": False, "tokenizer_class": "TokenizersBackend"}
# Files that change what transformers makes of a tokenizer.json.
_OTHERS = ("special_tokens_map.json", "added_tokens.json", "chat_template.*", "additional_chat_templates", "vocab.*")


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
        split_special_tokens: bool = False,
        padding: bool = False,
        padding_side: str = "right",
        truncation: bool = False,
        return_tensors: str | None = None,
    ) -> Encoded:
        """Return `input_ids` of a text, of texts, or of texts with their pairs; with tensors, `attention_mask` too.

        split_special_tokens: whether the name of a special token is text. return_tensors: "pt", where all rows have the
        same length or `padding` fills them up on the right. Nothing is ever cut off.
        """
        if truncation or padding_side != "right":
            raise ValueError(f"truncation is {truncation}, padding_side {padding_side!r}: False and 'right' are needed")
        self.backend.encode_special_tokens = split_special_tokens
        texts = [text] if isinstance(text, str) else text
        rows = self.backend.encode_batch(texts if pair is None else list(zip(texts, pair, strict=True)))
        ids = [row.ids for row in rows]
        if return_tensors is None:
            return Encoded(input_ids=ids[0] if isinstance(text, str) else ids)
        width = max(map(len, ids), default=0) if padding else len(ids[0])
        filled = [[*row, *[self.pad_token_id] * (width - len(row))] for row in ids]
        real = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
        return Encoded(input_ids=torch.tensor(filled), attention_mask=torch.tensor(real))

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        return self.backend.decode([int(token) for token in ids], skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return self.backend.get_vocab(with_added_tokens=True)


def file_tokenizer(checkpoint: Checkpoint) -> FileTokenizer | None:
    """Return the tokenizer of a directory; None unless its files say nothing that this does not know.

    Then it is for transformers to read, or to refuse.
    """
    folder, config = checkpoint.directory, checkpoint.read_json("tokenizer_config.json")
    if folder is None or not isinstance(config, dict) or any(path for name in _OTHERS for path in folder.glob(name)):
        return None
    roles = {f"{role}_token": role for role in _ROLES}
    special = {roles[key]: value for key, value in config.items() if key in roles}
    limit = config.get("model_max_length")
    rest = {key: value for key, value in config.items() if key not in roles and key != "model_max_length"}
    if rest != _FIXED or type(limit) is not int or limit < 1 or not all(type(name) is str for name in special.values()):
        return None
    try:
        with without_panics():
            backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
            if models_directory() not in folder.parents:
                tried(partial(backend.encode, "a b"))
            backend.encode("a b")  # a vocabulary without its unknown token fails here
    except Exception:  # whatever is amiss, transformers says it; tokenizers raises it plain
        return None
    added = {token.content: token for token in backend.get_added_tokens_decoder().values()}
    plain = all(
        token.special and not (token.normalized or token.lstrip or token.rstrip or token.single_word)
        for token in added.values()
    )
    if not plain or not all(name in added for name in special.values()) or backend.post_processor is None:
        return None
    if backend.truncation is not None or "pad" not in special:
        return None
    backend.no_padding()
    return FileTokenizer(backend, special, limit)
