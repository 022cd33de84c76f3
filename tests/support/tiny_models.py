"""Tiny models and tokenizers, made in a moment, for tests of whatever loads, decodes or scores."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedTokenizerFast,
)

from rws_decode.common.files import write_json
from rws_decode.predictors import CallablePredictor, HFMaskPredictor

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")
WORDS = (
    *("the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "mat", "tree"),
    *("hill", "and", "then", "it", "was", "red", "blue", "small", "."),
)
PAD, UNK, CLS, SEP, MASK, EOS = range(6)
VOCABULARY = len(SPECIAL) + len(WORDS)


def tokenizer(words: tuple[str, ...] = WORDS) -> PreTrainedTokenizerFast:
    """Build a word-level tokenizer: `[CLS] prompt [SEP]`, and `[CLS] prompt [SEP] answer [EOS]` for a pair."""
    vocabulary = {word: token for token, word in enumerate((*SPECIAL, *words))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    core.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [EOS]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    names = dict(
        zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "eos_token"), SPECIAL, strict=True)
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)


def bert(seed: int = 0, *, vocabulary: int = VOCABULARY, positions: int = 64) -> BertForMaskedLM:
    """Build a BERT of random weights, spread enough that its predictions depend on the context."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        initializer_range=0.6,
        pad_token_id=PAD,
        mask_token_id=MASK,
        eos_token_id=EOS,
    )
    return BertForMaskedLM(config).eval()


def modernbert(seed: int = 0, *, every: int = 2) -> ModernBertForMaskedLM:
    """Build a ModernBERT (rotary; global attention in every so many layers, else local) of random weights."""
    torch.manual_seed(seed)
    config = ModernBertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        global_attn_every_n_layers=every,
        local_attention=8,
        initializer_range=0.6,
        initializer_cutoff_factor=2.0,
        pad_token_id=PAD,
        cls_token_id=CLS,
        sep_token_id=SEP,
        bos_token_id=CLS,
        eos_token_id=EOS,
        mask_token_id=MASK,
    )
    return ModernBertForMaskedLM(config).eval()


def llama(seed: int = 0) -> LlamaForCausalLM:
    """Build the network of LLaDA, a Llama, of random weights; see `llada_logits` for its attention."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.6,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).eval()


def llada_logits(model: LlamaForCausalLM, canvas: Tensor) -> Tensor:
    """Return logits [B, L, V] under bidirectional attention: every position sees every other."""
    batch, length = canvas.shape
    everywhere = torch.zeros(batch, 1, length, length)
    return model(input_ids=canvas, attention_mask=everywhere, use_cache=False).logits


def bert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(bert(seed), tokenizer(), name="tiny-bert")


def modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(modernbert(seed), tokenizer(), name="tiny-modernbert")


def full_modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    """A ModernBERT with global attention throughout, as the shipped model."""
    return HFMaskPredictor(modernbert(seed, every=1), tokenizer(), name="tiny-full-modernbert")


def llada_predictor(seed: int = 0) -> CallablePredictor:
    """Wrap the LLaDA-like network; as in LLaDA, padding and end of text are one token."""
    model, codec = llama(seed), tokenizer()
    return CallablePredictor(
        lambda canvas: llada_logits(model, canvas),
        mask_id=MASK,
        pad_id=EOS,
        end_id=EOS,
        forbidden_ids=(PAD,),
        vocab_size=VOCABULARY,
        encode=lambda text: codec(text)["input_ids"],
        decode=lambda ids: codec.decode(ids, skip_special_tokens=True),
        name="tiny-llada",
    )


def classifier(seed: int = 0) -> BertForSequenceClassification:
    """Build a one-output sequence classifier of random weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=0.6,
        pad_token_id=PAD,
        num_labels=1,
    )
    return BertForSequenceClassification(config).eval()


def save_predictor(folder: Path, *, with_tokenizer: bool = True, examples: list[dict[str, str]] | None = None) -> Path:
    """Save the tiny BERT as a checkpoint directory."""
    bert().save_pretrained(folder)
    if with_tokenizer:
        tokenizer().save_pretrained(folder)
    if examples is not None:
        write_json(folder / "examples.json", examples)
    return folder


def save_reward(folder: Path, statistics: dict[str, object] | None) -> Path:
    """Save the tiny classifier as a reward checkpoint, with its reward.json unless None."""
    classifier().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    if statistics is not None:
        write_json(folder / "reward.json", statistics)
    return folder


# Checkpoints of the layouts in which the paper's reward models are published, scaled down: tensor names, config keys,
# shards with an index, and tokenizer files as theirs, with vocabularies of a few words.

LLAMA3 = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[PAD]")
INTERN = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|reward|>")
MISTRAL = ("<unk>", "<s>", "</s>")
ROLES = ("system", "user", "assistant", "\n\n", "\n", "Today", "Date", ":", "26", "Jul", "2024", "[INST]", "[/INST]")

_TURNS = (
    "{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' "
    "+ message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
)
_DATED = (
    "{{ '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + (date_string or strftime_now('%d %b %Y')) "
    "+ '<|eot_id|>' }}"
)
CHAT_TEMPLATES = {
    "skywork": _TURNS,
    "skywork-v0.2": "{{ bos_token }}" + _TURNS,
    "llamaob": "{{ bos_token }}" + _TURNS,
    "grm": "{{ bos_token }}" + _DATED + _TURNS,
    "qrm": "{{ bos_token }}" + _TURNS,
    "intern": (
        "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
        "+ '<|im_end|>' + '\\n' }}{% endfor %}"
    ),
}


def published_vocabulary(name: str) -> tuple[str, ...]:
    """Return the tokens of a published checkpoint in the order of their ids."""
    special = {"intern": INTERN, "eurus": MISTRAL}.get(name, LLAMA3)
    return (*special, *([] if name in ("intern", "eurus") else ["[UNK]"]), *ROLES, *WORDS)


def published_config(name: str) -> dict[str, object]:
    """Return the config.json of a published checkpoint, with its keys."""
    vocabulary = len(published_vocabulary(name))
    sizes: dict[str, object] = {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "vocab_size": vocabulary,
        "use_cache": True,
        "transformers_version": "4.43.1",
    }
    if name == "intern":
        return sizes | {
            "architectures": ["InternLM2ForRewardModel"],
            "auto_map": {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
            "attn_implementation": "eager",
            "bias": False,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 2,
            "reward_token_id": INTERN.index("<|reward|>"),
            "max_position_embeddings": 128,
            "model_type": "internlm2",
            "rope_scaling": None,
            "rope_theta": 1000000,
            "tie_word_embeddings": False,
            "torch_dtype": "float16",
        }
    if name == "eurus":
        return sizes | {
            "architectures": ["EurusRewardModel"],
            "auto_map": {"AutoModel": "modeling_eurus_rm.EurusRewardModel"},
            "attention_dropout": 0.0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "max_position_embeddings": 128,
            "model_type": "mistral",
            "rope_theta": 10000.0,
            "sliding_window": 4096,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
        }
    llama = sizes | {
        "architectures": ["LlamaForSequenceClassification"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 0,
        "eos_token_id": [1, 4],
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "max_position_embeddings": 128,
        "mlp_bias": False,
        "model_type": "llama",
        "pad_token_id": 5,
        "pretraining_tp": 1,
        "rope_scaling": {
            "factor": 8.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 64,
            "rope_type": "llama3",
        },
        "rope_theta": 500000.0,
        "tie_word_embeddings": name == "grm",
        "torch_dtype": "bfloat16",
    }
    if name == "llamaob":
        llama["rope_scaling"] = None
    if name != "qrm":
        return llama
    return llama | {
        "architectures": ["LlamaForRewardModelWithGating"],
        "auto_map": {"AutoModelForSequenceClassification": "modeling_custom.LlamaForRewardModelWithGating"},
        "gating_hidden_dim": 8,
        "gating_n_hidden": 3,
        "gating_newtork": True,
        "gating_temperature": 5.0,
        "loss": "quantile_regression",
        "num_objectives": 3,
        "num_quantiles": 4,
    }


def published_tensors(name: str, seed: int = 0) -> dict[str, Tensor]:
    """Return random weights of a published checkpoint under its own names, spread enough that the text matters."""
    config = published_config(name)
    draw = torch.Generator().manual_seed(seed)
    hidden, inner, rows, layers, heads, groups = (
        int(str(config[field]))
        for field in (
            *("hidden_size", "intermediate_size", "vocab_size"),
            *("num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
        )
    )
    size = hidden // heads
    intern = name == "intern"

    def matrix(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draw) * (0.5 if len(shape) > 1 else 0.2) + (len(shape) == 1)

    tensors = {f"model.{'tok_embeddings' if intern else 'embed_tokens'}.weight": matrix(rows, hidden)}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        if intern:
            tensors |= {
                f"{at}attention.wqkv.weight": matrix((heads + 2 * groups) * size, hidden),
                f"{at}attention.wo.weight": matrix(hidden, hidden),
                f"{at}attention_norm.weight": matrix(hidden),
                f"{at}feed_forward.w1.weight": matrix(inner, hidden),
                f"{at}feed_forward.w2.weight": matrix(hidden, inner),
                f"{at}feed_forward.w3.weight": matrix(inner, hidden),
                f"{at}ffn_norm.weight": matrix(hidden),
            }
            continue
        tensors |= {
            f"{at}self_attn.q_proj.weight": matrix(hidden, hidden),
            f"{at}self_attn.k_proj.weight": matrix(groups * size, hidden),
            f"{at}self_attn.v_proj.weight": matrix(groups * size, hidden),
            f"{at}self_attn.o_proj.weight": matrix(hidden, hidden),
            f"{at}mlp.gate_proj.weight": matrix(inner, hidden),
            f"{at}mlp.up_proj.weight": matrix(inner, hidden),
            f"{at}mlp.down_proj.weight": matrix(hidden, inner),
            f"{at}input_layernorm.weight": matrix(hidden),
            f"{at}post_attention_layernorm.weight": matrix(hidden),
        }
    tensors["model.norm.weight"] = matrix(hidden)
    if name != "qrm":
        head = {"intern": "v_head", "eurus": "regression_head"}.get(name, "score")
        return tensors | {f"{head}.weight": matrix(1, hidden)}
    wide, objectives, quantiles = 8, 3, 4
    tensors["regression_layer.weight"] = matrix(objectives * quantiles, hidden)
    tensors["reward_transform_matrix"] = torch.eye(objectives) + 0.1 * matrix(objectives, objectives)
    tensors["gating.logit_scale"] = matrix(1)
    for layer in range(3):
        tensors[f"gating.layers.{3 * layer}.weight"] = matrix(wide, hidden if layer == 0 else wide)
        norm = f"gating.layers.{3 * layer + 2}."
        tensors |= {f"{norm}weight": matrix(wide), f"{norm}bias": matrix(wide), f"{norm}running_mean": matrix(wide)}
        tensors |= {f"{norm}running_var": matrix(wide).abs() + 0.5, f"{norm}num_batches_tracked": torch.tensor(7)}
    return tensors | {"gating.layers.9.weight": matrix(objectives, wide), "gating.layers.9.bias": matrix(objectives)}


def published_codec(name: str) -> PreTrainedTokenizerFast:
    """Build a published checkpoint's tokenizer: one beginning-of-text token, words, and line ends as tokens."""
    vocabulary = {token: index for index, token in enumerate(published_vocabulary(name))}
    unknown = "<unk>" if name in ("intern", "eurus") else "[UNK]"
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    core.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [
            pre_tokenizers.Split(Regex(" +"), "removed"),
            pre_tokenizers.Split(Regex(r"\n\n|\n|\[/?INST\]|\w+|[^\w\s]"), "isolated"),
        ]
    )
    start, end, padding = {
        "intern": ("<s>", "</s>", "</s>"),
        "eurus": ("<s>", "</s>", None),
        # Padding is the token that ends a turn, and so the last of a text.
        "llamaob": ("<|begin_of_text|>", "<|eot_id|>", "<|eot_id|>"),
    }.get(name, ("<|begin_of_text|>", "<|eot_id|>", "[PAD]"))
    core.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
        single=f"{start} $A", pair=f"{start} $A $B:1", special_tokens=[(start, vocabulary[start])]
    )
    special = {"intern": INTERN, "eurus": MISTRAL}.get(name, LLAMA3)
    codec = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=start,
        eos_token=end,
        unk_token=unknown,
        pad_token=padding,
        additional_special_tokens=[token for token in special if token not in (start, end, unknown, padding)],
    )
    codec.chat_template = CHAT_TEMPLATES.get(name)
    return codec


def write_shards(folder: Path, tensors: dict[str, Tensor], shards: int = 2) -> None:
    """Write tensors as published: in shards, with an index of which tensor is in which."""
    names, placed = list(tensors), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        shard_names = names[shard * len(names) // shards : (shard + 1) * len(names) // shards]
        save_file({key: tensors[key].contiguous() for key in shard_names}, folder / file, metadata={"format": "pt"})
        placed |= dict.fromkeys(shard_names, file)
    size = sum(tensor.nbytes for tensor in tensors.values())
    write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": placed})


def save_published(folder: Path, name: str, seed: int = 0) -> Path:
    """Write a checkpoint of the layout in which one of the paper's reward models is published."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", published_config(name))
    write_shards(folder, published_tensors(name, seed))
    published_codec(name).save_pretrained(folder)
    if name in ("intern", "eurus"):  # A class that only their own code has, and one that rebuilds the vocabulary.
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        settings["tokenizer_class"] = "InternLM2Tokenizer" if name == "intern" else "LlamaTokenizer"
        if name == "intern":
            settings["auto_map"] = {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", None]}
        write_json(folder / "tokenizer_config.json", settings)
    return folder
