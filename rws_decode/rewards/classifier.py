"""Sequence classifiers of transformers with one output as reward models, loaded without remote code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from rws_decode.canvas.dialogue import Dialogue, as_dialogue, check_text
from rws_decode.checkpoints.files import (
    Checkpoint,
    checked_tokenizer,
    device_named,
    dtype_named,
    fetch,
    has_tokenizer,
    locate,
    models_directory,
    quiet,
    refuse_incomplete,
    without_panics,
)
from rws_decode.checkpoints.weights import (
    Stored,
    check_memory,
    loaded_bytes,
    read_headers,
    refuse_nonfinite,
    refuse_sizes,
    some,
)
from rws_decode.common.extras import required
from rws_decode.common.threads import torch_threads
from rws_decode.rewards.base import RewardModel, check_statistics
from rws_decode.rewards.bounds import head_bounds
from rws_decode.rewards.causal import CACHE_BYTES, CausalReward, is_causal_classifier
from rws_decode.rewards.heads import (
    QuantileHead,
    QuantileReward,
    load_eurus,
    load_internlm2,
    load_plain,
    load_quantile,
    published_tokenizer,
    reward_token,
)
from rws_decode.rewards.registry import PUBLISHED, Layout, PublishedReward, layout_of, published_reward
from rws_decode.rewards.templates import Template, check_template, pair_ids

__all__ = ["SHIPPED", "SequenceClassifierReward", "load_reward"]

SHIPPED = {"mini": "mini-reward", "mini-judge": "mini-judge"}

_COMMIT = re.compile("[0-9a-f]{40}")
_TEMPLATES: dict[Layout, Template] = {"plain": "pair", "internlm2": "chat", "eurus": "instruct", "quantile": "chat"}


class SequenceClassifierReward:
    """A transformers sequence classifier with one output (num_labels 1): the raw score is its logit, no sigmoid.

    Prompt and answer are given to the tokenizer as a pair, so its post-processor sets them apart, e.g.
    [CLS] prompt [SEP] answer [EOS], the prompt of a dialogue as its plain text, a special token's name in either as
    text. Batches are padded on the right with an attention mask, or go one by one where the tokenizer has no padding.
    mean, std: the normalisation. ValueError for other statistics or outputs.
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
        self.bounds = head_bounds(model)
        self.batch_size = batch_size
        self.template: Template = "pair"
        limits = (getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length)
        self.max_length = min(limit for limit in limits if limit is not None)

    def ids(self, prompt: str | Dialogue, answer: str) -> list[int]:
        """Return the token ids of a pair; ValueError for more than the model reads."""
        ids = pair_ids(self.tokenizer, [prompt], [answer])[0]
        if len(ids) > self.max_length:
            raise ValueError(
                f"prompt and answer make {len(ids)} tokens: reward model {self.name} reads at most {self.max_length}"
            )
        return ids

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the logit of each pair, the same for a batch as for its pairs alone up to rounding.

        ValueError for a pair that is longer than the model reads: nothing is cut off.
        """
        scores: list[float] = []
        size = 1 if self.tokenizer.pad_token_id is None else self.batch_size
        for start in range(0, len(prompts), size):
            texts = [as_dialogue(prompt).text for prompt in prompts[start : start + size]]
            said = [check_text("answer", answer) for answer in answers[start : start + size]]
            encoded = self.tokenizer(
                texts,
                said,
                padding=size > 1,
                padding_side="right",
                truncation=False,
                split_special_tokens=True,
                return_tensors="pt",
            )
            width = encoded["input_ids"].shape[1]
            if width > self.max_length:
                raise ValueError(
                    f"prompt and answer make {width} tokens: reward model {self.name} reads at most {self.max_length}"
                )
            with torch_threads(), torch.inference_mode():
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
    dtype: str | torch.dtype = torch.float32,
    device_map: Any = None,
    revision: str | None = None,
    published: str | None = None,
    statistics: str | Path | None = None,
    progress: bool = True,
) -> RewardModel:
    """Load a reward model by shipped name (mini, mini-judge, exact), the paper's name, directory, or hub id.

    The paper's names (skywork, skywork-v0.2, llamaob, intern, eurus, grm, qrm) and their hub ids stand for the entries
    of `registry.PUBLISHED`: hub id, revision, text layout, and the paper's mean and std. `published` says that a
    directory holds one of them. "exact" is the story language's own coherence reward. Any other directory or hub id is
    a sequence classifier of one output, of a class that transformers has, or of the layout of Intern, Eurus or QRM,
    told by config.json: one that reads from left to right becomes a CausalReward, which keeps at most `cache_bytes` of
    keys and values per decode; QRM's a QuantileReward; others a SequenceClassifierReward. Safetensors only, no remote
    code, no weight missing or left over. dtype: of the network (float32); device_map: transformers' placement, in place
    of `device`; revision: of a hub id.

    The normalisation is what is given here, else reward.json beside the weights, {"mean": ..., "std": ...}, as
    `python -m rws_decode calibrate` writes it, else the paper's; there, too, the layout of a causal one's text,
    "template": "pair" (the default), "chat" or "instruct" (`templates.text_encoder`). `statistics`: such a file
    elsewhere, for a model whose directory is the hub's. progress: bars on standard error.

    ValueError in one line for an unknown name (the known ones are listed), a revision that is needed and not given,
    missing weights, tokenizer, statistics or chat template, another template, weights that are pickled, cut short, not
    finite or not those of config.json, a tokenizer of another vocabulary, too little memory, or an unknown device.
    """
    if name == "exact":
        from rws_decode.mini.stories.reward import exact_reward

        return exact_reward()
    place, kind = device_named(device), dtype_named(dtype)
    if device_map is not None:
        required("accelerate", f"device_map is {device_map}")
    checkpoint, entry = _found(name, revision, published)
    if not has_tokenizer(checkpoint):
        raise ValueError(f"reward is {name}: the directory holds no tokenizer, and a reward model reads text")
    stored = checkpoint.read_json("reward.json") if statistics is None else _statistics(Path(statistics))
    known = stored if isinstance(stored, dict) else {}
    paper = {} if entry is None else {"mean": entry.mean, "std": entry.std, "template": entry.template}
    config = checkpoint.read_json("config.json")
    if not isinstance(config, dict):
        raise ValueError(f"config.json of reward {name} holds no settings")
    layout = layout_of(config)
    if entry is not None and layout != entry.layout:
        raise ValueError(f"config.json of reward {name} is not that of a {entry.architecture}, which {entry.name} is")
    usual = paper.get("template", _TEMPLATES[layout])
    template = check_template(name, known.get("template", usual))
    given = {"mean": mean, "std": std}
    settings: dict[str, Any] = {key: _number(name, key, paper | known, value) for key, value in given.items()}
    headers = read_headers("reward", checkpoint)
    refuse_sizes("reward", checkpoint, config, headers)
    if device_map is None:
        check_memory(f"reward {checkpoint.name}", loaded_bytes(headers, kind), place)
    options = {"dtype": kind, "device_map": device_map}
    with quiet(progress):
        try:
            model, head = _network(checkpoint, layout, config, headers, options)
        except Exception as error:  # of files that are not what they say: tokenizers raises it plain
            raise _unloadable(checkpoint.name, "network", error) from error
        try:
            with without_panics():
                tokenizer = checked_tokenizer(_tokenizer(checkpoint, layout))
        except Exception as error:
            raise _unloadable(checkpoint.name, "tokenizer", error) from error
    _check_vocabulary(checkpoint.name, model, tokenizer)
    parts = [model] if head is None else [model, head]
    tensors = [pair for part in parts for pair in part.state_dict().items()]
    refuse_nonfinite("reward", checkpoint, tensors)
    if device_map is None:
        model = model.to(place)
    settings["name"] = checkpoint.name
    made: RewardModel
    if head is not None:
        made = QuantileReward(model, head.to(model.device), tokenizer, **settings)
    elif is_causal_classifier(model):
        own = entry is not None or layout != "plain"
        closing = [reward_token(checkpoint.name, config)] if layout == "internlm2" else []
        settings |= {"template": template, "always_begin": own, "closing": closing, "cache_bytes": cache_bytes}
        made = CausalReward(model, tokenizer, **settings)
    elif template != "pair":
        raise ValueError(
            f'template in reward.json of {name} is "{template}": a {type(model).__name__} reads "pair" only'
        )
    else:
        return SequenceClassifierReward(model, tokenizer, **settings)
    if made.encode("a", "b").count(tokenizer.bos_token_id) > 1:
        raise ValueError(
            f"reward {name} begins its texts with several {tokenizer.bos_token!r}: its chat template puts them inside"
        )
    if isinstance(made, QuantileReward):
        made.gate(made.encode("a", "b"))
    return made


def _statistics(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"statistics is {path}: no such file")
    return Checkpoint(str(path.parent), path.parent).read_json(path.name)


def _found(name: str, revision: str | None, published: str | None) -> tuple[Checkpoint, PublishedReward | None]:
    entry = published_reward(name if published is None else published)
    if published is not None and entry is None:
        raise ValueError(f"published is {published!r}: one of {', '.join(PUBLISHED)} is needed")
    root = models_directory()
    present = {short: folder for short, folder in SHIPPED.items() if (root / folder / "config.json").is_file()}
    try:
        checkpoint = locate("reward", entry.hub_id if entry is not None and published is None else name, present)
    except ValueError as error:
        named = str(error).replace("shipped name (", "shipped name (exact, ")
        raise ValueError(
            named.replace(", nor a dir", f", nor the paper's ({', '.join(PUBLISHED)}), nor a dir")
        ) from error
    if entry is not None and checkpoint.directory is None:
        revision = entry.revision if revision is None else revision
        if revision is None or not _COMMIT.fullmatch(revision):
            raise ValueError(
                f"revision of reward {name} is {revision!r}: the commit of {entry.hub_id}, 40 hexadecimal digits, is "
                "needed, as its page on the hub lists them; or download it and name its directory"
            )
    return fetch("reward", checkpoint, revision), entry


def _network(
    checkpoint: Checkpoint, layout: Layout, config: Any, headers: dict[str, Stored], options: dict[str, Any]
) -> tuple[Any, QuantileHead | None]:
    head = None
    if layout == "internlm2":
        model, info = load_internlm2(checkpoint, config, headers, **options)
    elif layout == "eurus":
        model, info = load_eurus(checkpoint, config, headers, **options)
    elif layout == "quantile":
        model, info, head = load_quantile(checkpoint, config, headers, **options)
    else:
        model, info = load_plain(checkpoint, config, headers, **options)
    refuse_incomplete("reward", checkpoint, info)
    left = sorted(str(key) for key in info.get("unexpected_keys", ()))
    if left:
        raise ValueError(f"reward {checkpoint.name} has weights that its config does not ask for: {some(left)}")
    return model, head


def _tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    from transformers import AutoTokenizer

    if layout == "plain":
        return AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.options)
    return published_tokenizer(checkpoint, layout)


def _unloadable(name: str, part: str, error: Exception) -> ValueError:
    reason = " ".join(str(error).split())
    # What this package says names the field, and needs no frame.
    if isinstance(error, ValueError) and f"reward {name} " in reason:
        return ValueError(reason)
    kind = "" if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: "
    return ValueError(f"reward {name} cannot be loaded: its {part} is not one that transformers reads ({kind}{reason})")


def _check_vocabulary(name: str, model: Any, tokenizer: Any) -> None:
    rows = model.get_input_embeddings().num_embeddings
    most = max(tokenizer.get_vocab().values(), default=-1)
    if most >= rows:
        raise ValueError(
            f"the tokenizer of reward {name} has token ids up to {most} and its network {rows} rows: another vocabulary"
        )
    start = getattr(model.config, "bos_token_id", None)
    if isinstance(start, int) and tokenizer.bos_token_id is not None and start != tokenizer.bos_token_id:
        raise ValueError(
            f"the tokenizer of reward {name} begins a text with id {tokenizer.bos_token_id} and its config.json says "
            f"{start}: another vocabulary"
        )


def _number(name: str, field: str, stored: dict[str, Any], given: float | None) -> float:
    value = stored.get(field) if given is None else given
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"{field} of reward {name} is {value!r}: a number is needed, in reward.json beside the weights"
        )
    return float(value)
