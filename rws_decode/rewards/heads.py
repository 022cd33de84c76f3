"""Reward models whose published classes are not transformers' own, on transformers' Llama and Mistral networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from rws_decode.canvas.dialogue import Dialogue
from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import Stored, refuse_other_layout
from rws_decode.common.threads import torch_threads
from rws_decode.rewards.base import check_statistics
from rws_decode.rewards.registry import Layout
from rws_decode.rewards.templates import Template, text_encoder

__all__ = [
    "QuantileHead",
    "QuantileReward",
    "load_eurus",
    "load_internlm2",
    "load_plain",
    "load_quantile",
    "published_tokenizer",
    "reward_token",
]

# InternLM2's names of what Llama has too; its fused wqkv is split in `_split`.
_INTERNLM2 = {
    "model.embed_tokens.": "model.tok_embeddings.",
    ".input_layernorm.": ".attention_norm.",
    ".post_attention_layernorm.": ".ffn_norm.",
    ".self_attn.o_proj.": ".attention.wo.",
    ".mlp.gate_proj.": ".feed_forward.w1.",
    ".mlp.up_proj.": ".feed_forward.w3.",
    ".mlp.down_proj.": ".feed_forward.w2.",
    "score.": "v_head.",
}
_QKV = tuple(f".self_attn.{letter}_proj." for letter in "qkv")

_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")
_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}

# Where the assistant's turn begins in Llama 3's chat template: the gate of QRM reads the first of these tokens.
_TURN = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"


def load_internlm2(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return InternLM2's reward model as a LlamaForSequenceClassification, and transformers' report of its loading.

    The network is Llama's under other names, its query, key and value weights fused per key-value head as
    [q_1 ... q_g, k, v], g = heads / kv heads; the score is v_head at the `reward_token`, which ends every text. Rotary
    scaling "dynamic" changes nothing up to max_position_embeddings, and longer texts are refused, so it is left out.
    ValueError for a config.json or tensors of another layout.
    """
    from transformers import LlamaConfig, LlamaForSequenceClassification

    name = checkpoint.name
    numbers = _whole(
        name,
        config,
        *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
        *("num_key_value_heads", "max_position_embeddings"),
    )
    heads, groups = numbers["num_attention_heads"], numbers["num_key_value_heads"]
    if heads % groups or numbers["hidden_size"] % heads:
        raise ValueError(
            f"config.json of reward {name} has {heads} attention heads of {groups} groups for a hidden size of "
            f"{numbers['hidden_size']}: each must divide the one before, counted from the last"
        )
    fields: dict[str, Any] = {key: config[key] for key in _SPECIAL if key in config}
    fields |= {
        **numbers,
        "hidden_act": config.get("hidden_act", "silu"),
        "rms_norm_eps": _real(name, config, "rms_norm_eps"),
        "rope_parameters": _rotary(name, config),
        "attention_bias": bool(config.get("bias", False)),
        "tie_word_embeddings": False,
        "num_labels": 1,
    }
    built = LlamaConfig(**fields)
    names = _parameters(LlamaForSequenceClassification, built)
    wanted: dict[str, tuple[int, ...]] = {}
    size = numbers["hidden_size"] // heads
    for key, shape in names.items():
        if _QKV[0] in key:
            wanted[_fused(key)] = ((heads + 2 * groups) * size, *shape[1:])
        elif not any(part in key for part in _QKV):
            wanted[_renamed(key, _INTERNLM2)] = shape
    refuse_other_layout("reward", checkpoint, stored, wanted)
    weights: dict[str, Tensor] = {}
    for key in names:
        if _QKV[0] in key:
            parts = _split(_read(checkpoint, stored, _fused(key)), heads // groups, size)
            weights.update({key.replace(_QKV[0], part): tensor for part, tensor in zip(_QKV, parts, strict=True)})
        elif not any(part in key for part in _QKV):
            weights[key] = _read(checkpoint, stored, _renamed(key, _INTERNLM2))
    return _built(LlamaForSequenceClassification, built, weights, **options)


def reward_token(name: str, config: Mapping[str, Any]) -> int:
    """Return the id of the token that ends a text of InternLM2's reward model; ValueError for none of its vocabulary.

    >>> reward_token("intern", {"vocab_size": 92544, "reward_token_id": 92527})
    92527
    """
    rows, token = _whole(name, config, "vocab_size", "reward_token_id").values()
    if token >= rows:
        raise ValueError(f"reward_token_id in config.json of reward {name} is {token}: below {rows} is needed")
    return token


def load_plain(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a sequence classifier of one output, of a class that transformers has, and the report of its loading.

    ValueError for tensors that are not a LlamaForSequenceClassification's where config.json says that it is one.
    """
    from transformers import AutoModelForSequenceClassification, LlamaConfig, LlamaForSequenceClassification

    # Other classes may be stored under names that transformers changes on loading; its report tells what is amiss.
    if config.get("architectures") == ["LlamaForSequenceClassification"]:
        built = LlamaConfig.from_dict(_plain(config), num_labels=1)
        refuse_other_layout("reward", checkpoint, stored, _parameters(LlamaForSequenceClassification, built))
    return AutoModelForSequenceClassification.from_pretrained(
        checkpoint.source,
        num_labels=1,
        use_safetensors=True,
        output_loading_info=True,
        **options,
        **checkpoint.options,
    )


def load_eurus(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return Eurus-RM as a MistralForSequenceClassification, and transformers' report of its loading.

    Its bias-free regression_head is the score, at the last token. ValueError for tensors of another layout.
    """
    from transformers import MistralConfig, MistralForSequenceClassification

    built = MistralConfig.from_dict(_plain(config), num_labels=1)
    names = _parameters(MistralForSequenceClassification, built)
    old = {key: _renamed(key, {"score.": "regression_head."}) for key in names}
    refuse_other_layout("reward", checkpoint, stored, {old[key]: shape for key, shape in names.items()})
    weights = {key: _read(checkpoint, stored, old[key]) for key in names}
    return _built(MistralForSequenceClassification, built, weights, **options)


def load_quantile(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any], QuantileHead]:
    """Return QRM's Llama network without a head, transformers' report of its loading, and the head, in float32.

    ValueError for a config.json or tensors of another layout, one without quantiles (ArmoRM's) among them.
    """
    from transformers import LlamaConfig, LlamaModel

    name = checkpoint.name
    sizes = {"num_objectives": 19, "gating_hidden_dim": 1024, "gating_n_hidden": 3} | dict(config)
    fields = "hidden_size", "num_objectives", "num_quantiles", "gating_hidden_dim", "gating_n_hidden"
    temperature = _real(name, {"gating_temperature": 10.0} | dict(config), "gating_temperature")
    head_of = partial(QuantileHead, **_whole(name, sizes, *fields), gating_temperature=temperature)
    built = LlamaConfig.from_dict(_plain(config))
    names = {f"model.{key}": shape for key, shape in _parameters(LlamaModel, built).items()}
    with torch.device("meta"):  # no memory for what the file may not hold
        held = head_of().state_dict()
    # How often batch normalisation was updated in training: a whole number, which no score depends on.
    counts = {key for key in held if key.endswith("num_batches_tracked")}
    wanted = names | {key: tuple(tensor.shape) for key, tensor in held.items() if key not in counts}
    refuse_other_layout("reward", checkpoint, {key: stored[key] for key in stored if key not in counts}, wanted)
    head = head_of()
    head.load_state_dict({key: _read(checkpoint, stored, key) for key in held if key not in counts}, strict=False)
    weights = {key.removeprefix("model."): _read(checkpoint, stored, key) for key in names}
    return *_built(LlamaModel, built, weights, **options), head.eval()


class QuantileHead(nn.Module):
    """The head of QRM (Dorka 2024): quantiles of several objectives, weighed by a gate that reads the prompt.

    score = g(h_gate)^T M^T mean_q(W h_last), g(h) = s softmax(f(h) / T): h_last, the last token's hidden state
    [hidden]; h_gate, that of the first token of the header before the answer; W [objectives * quantiles, hidden]; M
    [objectives, objectives]; f, `gating_n_hidden` layers of linear, ReLU, batch normalisation, and a linear one.
    Always in evaluation mode, in float32.
    """

    def __init__(
        self,
        *,
        hidden_size: int,
        num_objectives: int,
        num_quantiles: int,
        gating_hidden_dim: int,
        gating_n_hidden: int,
        gating_temperature: float,
    ) -> None:
        super().__init__()
        if not gating_temperature > 0:
            raise ValueError(f"gating_temperature is {gating_temperature}: it must be positive")
        self.objectives, self.temperature = num_objectives, gating_temperature
        self.regression_layer = nn.Linear(hidden_size, num_objectives * num_quantiles, bias=False)
        self.reward_transform_matrix = nn.Parameter(torch.eye(num_objectives))
        self.gating = _Gate(hidden_size, gating_hidden_dim, gating_n_hidden, num_objectives)
        self.requires_grad_(False)

    def forward(self, last: Tensor, gate: Tensor) -> Tensor:
        """Return the scores [B] of hidden states [B, hidden] at the last token and at the gate's."""
        weights = torch.softmax(self.gating(gate) / self.temperature, dim=-1) * self.gating.logit_scale
        expected = self.regression_layer(last).unflatten(-1, (self.objectives, -1)).mean(-1)  # [B, objectives]
        return (weights * (expected @ self.reward_transform_matrix)).sum(-1)


class _Gate(nn.Module):
    def __init__(self, hidden: int, width: int, depth: int, objectives: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in [hidden] + [width] * (depth - 1):
            layers += [nn.Linear(size, width, bias=False), nn.ReLU(), nn.BatchNorm1d(width)]
        self.layers = nn.Sequential(*layers, nn.Linear(width, objectives))
        self.logit_scale = nn.Parameter(torch.ones(1))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layers(hidden)


class QuantileReward:
    """QRM: a Llama network with a `QuantileHead`; the raw score is the gated mean of its quantiles.

    The text is the chat template's with one beginning-of-text token. The gate reads the last place where the header of
    an assistant's turn begins, so a text without one is refused. mean, std: the normalisation. Scores of a batch are
    those of its pairs alone up to rounding: padding comes after the text, where nothing that is read can see it.
    """

    reads_turns = True

    def __init__(
        self,
        model: Any,
        head: QuantileHead,
        tokenizer: Any,
        *,
        mean: float,
        std: float,
        name: str = "reward",
        batch_size: int = 32,
    ) -> None:
        check_statistics(name, mean, std)
        self.model, self.head, self.tokenizer = model.eval(), head.eval(), tokenizer
        self.name, self.mean, self.std = name, float(mean), float(std)
        self.batch_size = batch_size
        self.template: Template = "chat"
        self.encode = text_encoder(name, tokenizer, "chat", always_begin=True)
        self.turn: list[int] = tokenizer(_TURN, add_special_tokens=False)["input_ids"]
        self.max_length = min(model.config.max_position_embeddings, tokenizer.model_max_length)

    def ids(self, prompt: str | Dialogue, answer: str) -> list[int]:
        """Return the token ids of a pair; ValueError for more than the model reads: nothing is cut off."""
        ids = self.encode(prompt, answer)
        if len(ids) > self.max_length:
            raise ValueError(
                f"prompt and answer make {len(ids)} tokens: reward model {self.name} reads 1 to {self.max_length}"
            )
        return ids

    def gate(self, ids: Sequence[int]) -> int:
        """Return where the last header of an assistant's turn begins; ValueError where there is none."""
        size = len(self.turn)
        for start in range(len(ids) - size, -1, -1):
            if list(ids[start : start + size]) == self.turn:
                return start
        raise ValueError(
            f"a text for reward model {self.name} has no assistant's turn, which its gate reads: {_TURN.strip()!r} "
            "is not in its chat template"
        )

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the score of each pair; ValueError for a pair that is longer than the model reads."""
        texts = [self.ids(*pair) for pair in zip(prompts, answers, strict=True)]
        scores: list[float] = []
        for start in range(0, len(texts), self.batch_size):
            batch = texts[start : start + self.batch_size]
            rows = [torch.tensor(ids, device=self.model.device) for ids in batch]
            padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
            with torch_threads(), torch.inference_mode():
                hidden = self.model(input_ids=padded, use_cache=False).last_hidden_state  # [batch, L, hidden]
                index = torch.arange(len(batch))
                place = self.head.reward_transform_matrix.device
                last = hidden[index, torch.tensor([len(ids) - 1 for ids in batch])].to(place, torch.float32)
                gate = hidden[index, torch.tensor([self.gate(ids) for ids in batch])].to(place, torch.float32)
                scores += self.head(last, gate).double().tolist()
        return scores


def published_tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    """Return the tokenizer of a model whose own tokenizer class is not transformers': that of its tokenizer.json.

    Where there is only a SentencePiece tokenizer.model, transformers reads that, which needs the packages sentencepiece
    and protobuf: Eurus's as Llama's; InternLM2's with the names that tokenizer_config.json gives to unused pieces, and
    a space before a text only where the model says so. ValueError without the packages, or without either file.
    """
    from transformers import LlamaTokenizer, PreTrainedTokenizerFast

    folder = Path(checkpoint.source)
    if (folder / "tokenizer.json").is_file():
        return PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    if not (folder / "tokenizer.model").is_file():
        raise ValueError(f"reward {checkpoint.name} lacks a tokenizer: neither tokenizer.json nor tokenizer.model")
    absent = [name for name, module in _SENTENCEPIECE.items() if not _installed(module)]
    if absent:
        raise ValueError(
            f"reward {checkpoint.name} has its tokenizer as tokenizer.model only, which needs "
            f"{' and '.join(absent)}: install them, or put a tokenizer.json beside it"
        )
    if layout != "internlm2":
        return LlamaTokenizer.from_pretrained(folder, **checkpoint.options)
    from tokenizers import normalizers
    from transformers.convert_slow_tokenizer import SentencePieceExtractor

    found = PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    proto: Any = SentencePieceExtractor(str(folder / "tokenizer.model")).proto
    if proto.normalizer_spec.add_dummy_prefix:
        spaced = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        found.backend_tokenizer.normalizer = normalizers.Sequence(spaced)
    return found


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _built(kind: Any, config: Any, weights: dict[str, Tensor], **options: Any) -> tuple[Any, dict[str, Any]]:
    return kind.from_pretrained(None, config=config, state_dict=weights, output_loading_info=True, **options)


def _read(checkpoint: Checkpoint, stored: Mapping[str, Stored], key: str) -> Tensor:
    with safe_open(Path(checkpoint.source) / stored[key].file, framework="pt") as file:
        return file.get_tensor(key)


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    # Without what names classes: only the network's own description.
    return {key: value for key, value in config.items() if key not in ("architectures", "auto_map", "_name_or_path")}


def _parameters(kind: Any, config: Any) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        return {key: tuple(tensor.shape) for key, tensor in kind(config).state_dict().items()}


def _renamed(key: str, names: Mapping[str, str]) -> str:
    for new, old in names.items():
        # A name without a leading dot stands at the start.
        if new in key and (new.startswith(".") or key.startswith(new)):
            return key.replace(new, old)
    return key


def _fused(key: str) -> str:
    return key.replace(_QKV[0], ".attention.wqkv.")


def _split(fused: Tensor, queries: int, size: int) -> list[Tensor]:
    groups = fused.unflatten(0, (-1, queries + 2, size))  # [kv heads, g queries, key, value; size; hidden]
    parts = groups[:, :queries], groups[:, queries : queries + 1], groups[:, queries + 1 :]
    return [part.flatten(0, 2).contiguous() for part in parts]


def _rotary(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    theta = _real(name, config, "rope_theta")
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("type", scaling.get("rope_type", "default")) if isinstance(scaling, dict) else scaling
    if kind == "linear":
        return {"rope_type": "linear", "rope_theta": theta, "factor": _real(name, scaling, "factor")}
    if kind not in ("default", "dynamic"):
        raise ValueError(f"rope_scaling in config.json of reward {name} is {kind!r}: linear, dynamic or null is read")
    return {"rope_type": "default", "rope_theta": theta}


def _whole(name: str, config: Mapping[str, Any], *fields: str) -> dict[str, int]:
    for field in fields:
        value = config.get(field)
        if type(value) is not int or value < 1:
            raise ValueError(f"{field} in config.json of reward {name} is {value!r}: a positive whole number is needed")
    return {field: config[field] for field in fields}


def _real(name: str, config: Mapping[str, Any], field: str) -> float:
    value = config.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise ValueError(f"{field} in config.json of reward {name} is {value!r}: a positive number is needed")
    return float(value)
