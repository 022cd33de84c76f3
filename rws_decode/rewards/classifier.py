"""Sequence classifiers of transformers with one output as reward models, loaded without remote code."""

from __future__ import annotations

from typing import Any

import torch
from safetensors import SafetensorError

from rws_decode.checkpoints import device_named, has_tokenizer, locate, models_directory, refuse_incomplete
from rws_decode.rewards.base import RewardModel, check_statistics
from rws_decode.rewards.causal import CACHE_BYTES, CausalReward, is_causal_classifier
from rws_decode.rewards.templates import check_template

__all__ = ["SHIPPED", "SequenceClassifierReward", "load_reward"]

SHIPPED = {"mini": "mini-reward", "mini-judge": "mini-judge"}


class SequenceClassifierReward:
    """A transformers sequence classifier with one output (num_labels 1): the raw score is its logit, no sigmoid.

    Prompt and answer are given to the tokenizer as a pair, so its post-processor sets them apart, e.g.
    [CLS] prompt [SEP] answer [EOS]; batches are padded on the right with an attention mask, or go one by one where
    the tokenizer has no padding. mean, std: the normalisation. ValueError for other statistics or outputs.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, mean: float, std: float, name: str = "reward", batch_size: int = 32
    ) -> None:
        check_statistics(name, mean, std)
        if model.config.num_labels != 1:
            raise ValueError(f"reward model {name} has {model.config.num_labels} outputs: 1 is needed")
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.name = name
        self.mean = float(mean)
        self.std = float(std)
        self.batch_size = batch_size if tokenizer.pad_token_id is not None else 1
        limits = (getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length)
        self.max_length = min(limit for limit in limits if limit is not None)

    def score(self, prompts: list[str], answers: list[str]) -> list[float]:
        """Return the logit of each pair, the same for a batch as for its pairs alone up to rounding.

        ValueError for a pair that is longer than the model reads: nothing is cut off.
        """
        scores: list[float] = []
        for start in range(0, len(prompts), self.batch_size):
            batch = prompts[start : start + self.batch_size], answers[start : start + self.batch_size]
            encoded = self.tokenizer(
                *batch, padding=self.batch_size > 1, padding_side="right", truncation=False, return_tensors="pt"
            )
            width = encoded["input_ids"].shape[1]
            if width > self.max_length:
                raise ValueError(
                    f"prompt and answer make {width} tokens: reward model {self.name} reads at most {self.max_length}"
                )
            with torch.inference_mode():
                logits = self.model(**encoded.to(self.model.device)).logits  # [batch, 1]
            scores += logits[:, 0].double().tolist()
        return scores


def load_reward(
    name: str,
    device: str | torch.device = "cpu",
    *,
    mean: float | None = None,
    std: float | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> RewardModel:
    """Load a reward model by shipped name (mini, mini-judge, exact), directory, or hub id, in float32.

    "exact" is the story language's own coherence reward. Others are AutoModelForSequenceClassification's choice with
    num_labels 1; safetensors only, no remote code. One that reads from left to right becomes a CausalReward, which
    keeps at most `cache_bytes` of keys and values per decode; others a SequenceClassifierReward. Their normalisation is
    read from reward.json beside the weights, {"mean": ..., "std": ...}, unless given here; there, too, the layout of a
    causal one's text, "template": "pair" (the default) or "chat" (`templates.text_encoder`). ValueError for an unknown
    name (the shipped ones are listed), missing weights, tokenizer, statistics or chat template, another template, or an
    unknown device.
    """
    if name == "exact":
        from rws_decode.stories.reward import exact_reward

        return exact_reward()
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    place = device_named(device)
    root = models_directory()
    present = {short: folder for short, folder in SHIPPED.items() if (root / folder / "config.json").is_file()}
    try:
        checkpoint = locate("reward", name, present)
    except ValueError as error:
        raise ValueError(str(error).replace("shipped name (", "shipped name (exact, ")) from error
    if not has_tokenizer(checkpoint):
        raise ValueError(f"reward is {name}: the directory holds no tokenizer, and a reward model reads text")
    stored = checkpoint.read_json("reward.json")
    known = stored if isinstance(stored, dict) else {}
    template = check_template(name, known.get("template", "pair"))
    mean, std = _number(name, "mean", known, mean), _number(name, "std", known, std)
    try:
        model, info = AutoModelForSequenceClassification.from_pretrained(
            checkpoint.source,
            num_labels=1,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            **checkpoint.options,
        )
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.options)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"reward {name} cannot be loaded: {error}") from error
    refuse_incomplete("reward", checkpoint, info)
    model, settings = model.to(place), {"mean": mean, "std": std, "name": checkpoint.name}
    if is_causal_classifier(model):
        return CausalReward(model, tokenizer, **settings, template=template, cache_bytes=cache_bytes)
    if template != "pair":
        raise ValueError(
            f'template in reward.json of {name} is "{template}": a {type(model).__name__} reads "pair" only'
        )
    return SequenceClassifierReward(model, tokenizer, **settings)


def _number(name: str, field: str, stored: dict[str, Any], given: float | None) -> float:
    value = stored.get(field) if given is None else given
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"{field} of reward {name} is {value!r}: a number is needed, in reward.json beside the weights"
        )
    return float(value)
