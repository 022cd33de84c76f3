"""The networks and tokenizers of reward models, whatever their weights are called, as transformers' own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.config import Config
from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import (
    Stored,
    refuse_incomplete,
    refuse_other_layout,
    refuse_unasked,
    shapes_of,
)
from rws_decode.common.plugins import hook
from rws_decode.rewards.registry import Layout


def load_network(layout: Layout, config: Config, stored: Mapping[str, Stored], **options: Any) -> tuple[Any, Any]:
    """Return a reward model's network and, for QRM alone, the head that transformers does not have.

    stored: its tensors (`weights.read_headers`); options: of `from_pretrained`. ValueError for a config.json or tensors
    of another layout, and for weights that are missing or left over.
    """
    head = None
    if layout in ("internlm2", "quantile"):
        what = f"reward is {config.checkpoint.name}"
        load = hook("internlm2-reward", what) if layout == "internlm2" else hook("quantile-reward", what)
        model, report, head = load(config, stored, **options)
    else:
        model, report = _load_plain(layout, config, stored, **options)
    refuse_incomplete(config.checkpoint, report)
    refuse_unasked(config.checkpoint, map(str, report.get("unexpected_keys", ())))
    return model, head


def _load_plain(
    layout: Layout, config: Config, stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a sequence classifier of one output, of a class that transformers has, and the report of its loading.

    Eurus-RM is a MistralForSequenceClassification: its bias-free regression_head is the score.
    """
    import transformers

    named: dict[str, Any] = {"num_labels": 1}
    loader: Any = transformers.AutoModelForSequenceClassification
    # Other classes may be stored under names that transformers changes on loading; its report tells what is amiss.
    if layout == "eurus" or config.get("architectures") == ["LlamaForSequenceClassification"]:
        kind, head = ("Mistral", "regression_head.") if layout == "eurus" else ("Llama", "score.")
        loader = getattr(transformers, f"{kind}ForSequenceClassification")
        network = getattr(transformers, f"{kind}Config").from_dict(network_sizes(config), num_labels=1)
        shapes = {name.replace("score.", head): shape for name, shape in shapes_of(loader, network).items()}
        refuse_other_layout(config.checkpoint, stored, shapes)
        if layout == "eurus":
            named = {"config": network, "key_mapping": {"^regression_head": "score"}}
    named |= options | config.checkpoint.options
    return loader.from_pretrained(config.checkpoint.source, use_safetensors=True, output_loading_info=True, **named)


def load_tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    """Return a reward model's tokenizer: transformers' own choice or, if its class is remote code, its files'."""
    from transformers import AutoTokenizer

    if layout == "plain":
        return AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.options)
    return hook("reward-tokenizer", f"reward is {checkpoint.name}")(checkpoint, layout)


def network_sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config.json without what names classes: only the network's own description."""
    return {key: value for key, value in config.items() if key not in ("architectures", "auto_map", "_name_or_path")}


def reward_token(config: Config) -> int:
    """Return the id of the token that ends every text; ValueError for none of its vocabulary."""
    rows, token = config.whole("vocab_size"), config.whole("reward_token_id")
    if token >= rows:
        raise config.wrong("reward_token_id", f"below {rows} is needed")
    return token
