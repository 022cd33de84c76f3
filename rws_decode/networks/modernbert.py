"""The shipped networks and their tokenizers, from files alone: transformers takes seconds to import.

They are ModernBERT (Warner et al. 2024). The arithmetic is that of transformers' classes of the same names, operation
by operation: on a CPU the bits are the same. So are the names of modules and weights. What other ModernBERTs may have
besides, such as sliding windows, is not here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from rws_decode.checkpoints.config import Config
from rws_decode.checkpoints.files import Checkpoint, models_directory
from rws_decode.checkpoints.weights import Stored, stored_tensors

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


class Logits(NamedTuple):
    """What a network returns: logits [B, L, V], or [B, 1] of a classifier."""

    logits: Tensor


class _Rotary(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        size = config.hidden_size // config.num_attention_heads
        theta = config.rope_parameters["full_attention"]["rope_theta"]
        # On the CPU also where weights are laid out without memory.
        exponents = torch.arange(0, size, 2, dtype=torch.float, device="cpu") / size
        self.frequencies: Tensor
        self.register_buffer("frequencies", 1.0 / (theta**exponents), persistent=False)

    @torch.no_grad()
    def forward(self, like: Tensor, positions: Tensor, kind: str = "full_attention") -> tuple[Tensor, Tensor]:
        """Return cosines and sines [.., L, h / heads], both halves alike, in the dtype of `like`."""
        angles = positions[..., None].float() * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


class _Attention(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.size = config.hidden_size // config.num_attention_heads
        self.Wqkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.Wo = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], visible: Tensor | None) -> Tensor:
        batch, length, _ = x.shape
        parts = self.Wqkv(x).view(batch, length, 3, -1, self.size).unbind(dim=-3)
        query, key, value = (part.transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(
            _turned(query, angles), _turned(key, angles), value, attn_mask=visible, scale=self.size**-0.5
        )
        return self.Wo(mixed.transpose(1, 2).reshape(batch, length, -1))


class _FeedForward(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.Wi = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.act = nn.GELU()
        self.Wo = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        first, gate = self.Wi(x).chunk(2, dim=-1)
        return self.Wo(self.act(first) * gate)


class _Layer(nn.Module):
    def __init__(self, config: SimpleNamespace, number: int) -> None:
        super().__init__()
        self.attn_norm = _norm(config) if number else nn.Identity()
        self.attn = _Attention(config)
        self.mlp_norm = _norm(config)
        self.mlp = _FeedForward(config)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], visible: Tensor | None) -> Tensor:
        x = x + self.attn(self.attn_norm(x), angles, visible)
        return x + self.mlp(self.mlp_norm(x))


class _Embeddings(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        # Not filled with random numbers: on a device without memory, that loads PyTorch's compiler.
        empty = torch.empty(config.vocab_size, config.hidden_size)
        self.tok_embeddings = nn.Embedding.from_pretrained(empty, freeze=False)
        self.norm = _norm(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.norm(self.tok_embeddings(input_ids))


class _Body(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.layers = nn.ModuleList([_Layer(config, number) for number in range(config.num_hidden_layers)])
        self.final_norm = _norm(config)
        self.rotary_emb = _Rotary(config)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        x = self.embeddings(input_ids)
        angles = self.rotary_emb(x, position_ids)
        # Kernels are faster without a mask where nothing is padded, and then round in another way.
        visible = None
        if attention_mask is not None and not bool(attention_mask.all()):
            visible = attention_mask.bool()[:, None, None, :]
        for layer in self.layers:
            x = layer(x, angles, visible)
        return self.final_norm(x)


class ModernBertNetwork(nn.Module):
    """A trunk and a head of hidden states; what it is read for comes on top."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config = config
        self.model = _Body(config)
        dense = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.head = nn.Sequential(OrderedDict(dense=dense, act=nn.GELU(), norm=_norm(config)))

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return self.model.final_norm.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the weights."""
        return self.model.final_norm.weight.dtype

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the embedding of tokens."""
        return self.model.embeddings.tok_embeddings


class ModernBertForMaskedLM(ModernBertNetwork):
    """A masked language model: logits [B, L, V] of every position."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size, bias=True)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Logits:
        """Return logits [B, L, V] of ids int64 [B, L]; attention_mask: [B, L], 0 on padding; position_ids: [B, L]."""
        return Logits(self.decoder(self.head(self.model(input_ids, attention_mask, position_ids))))


class ModernBertForSequenceClassification(ModernBertNetwork):
    """A classifier of one output: logits [B, 1] from the mean of the final states."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.hidden_size, 1, bias=True)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Logits:
        """Return logits [B, 1] of ids int64 [B, L], as `ModernBertForMaskedLM.forward` takes them."""
        hidden = self.model(input_ids, attention_mask, position_ids)
        if attention_mask is None:
            attention_mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        mean = (hidden * attention_mask[..., None]).sum(dim=1) / attention_mask.sum(dim=1, keepdim=True)
        return Logits(self.classifier(self.head(mean)))


def _norm(config: SimpleNamespace) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, eps=config.norm_eps, bias=False)


def _turned(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """Return queries or keys [B, heads, L, size], turned by their places' angles in float32."""
    cos, sin = (part[:, None] for part in angles)
    first, second = x.float().chunk(2, dim=-1)
    return (x.float() * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)


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


def standalone(
    raw: Config, stored: Mapping[str, Stored], kind: str, dtype: torch.dtype
) -> tuple[ModernBertNetwork, FileTokenizer] | None:
    """Return a shipped network of the kind "MaskedLM" or "SequenceClassification", and its tokenizer; None for another.

    raw: its config.json; stored: its tensors (`weights.read_headers`); dtype: of the weights. Guarantee: ids
    are those of transformers, and so are logits, bit by bit on a CPU. Any other checkpoint is for transformers to load
    or refuse, also a copy of a shipped one.
    """
    checkpoint, name = raw.checkpoint, f"ModernBertFor{kind}"
    folder = checkpoint.directory
    if folder is None or folder.parent != models_directory() or raw.get("architectures") != [name]:
        return None
    kinds = {made.__name__: made for made in (ModernBertForMaskedLM, ModernBertForSequenceClassification)}
    with torch.inference_mode(False):  # weights are not the caller's to make inference tensors of
        with torch.device("meta"):
            network = kinds[name](SimpleNamespace(**raw, num_labels=1))
        weights = {name: tensor.to(dtype) for name, tensor in stored_tensors(checkpoint, stored)}
        if isinstance(network, ModernBertForMaskedLM):
            weights["decoder.weight"] = weights["model.embeddings.tok_embeddings.weight"]
        network.load_state_dict(weights, assign=True)
        if isinstance(network, ModernBertForMaskedLM):
            network.decoder.weight = network.get_input_embeddings().weight
    return network.eval(), file_tokenizer(checkpoint)


def file_tokenizer(checkpoint: Checkpoint) -> FileTokenizer:
    """Return the tokenizer of a shipped model's directory."""
    config = checkpoint.read_json("tokenizer_config.json")
    special = {role: config[f"{role}_token"] for role in _ROLES if f"{role}_token" in config}
    backend = Tokenizer.from_file(f"{checkpoint.source}/tokenizer.json")
    backend.no_padding()
    return FileTokenizer(backend, special, config["model_max_length"])
