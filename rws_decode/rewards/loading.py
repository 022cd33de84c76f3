"""Reward models from checkpoints: shipped, the paper's, in a directory, or on the hub; checked before they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch

from rws_decode.checkpoints.config import Config, config_of
from rws_decode.checkpoints.files import (
    Checkpoint,
    checked_tokenizer,
    device_named,
    dtype_named,
    fetch,
    has_tokenizer,
    refuse_vocabulary,
    without_panics,
)
from rws_decode.checkpoints.packages import quiet
from rws_decode.checkpoints.weights import Stored, loaded_bytes, read_headers, refuse_nonfinite
from rws_decode.common.arguments import check_memory
from rws_decode.networks.modernbert import standalone
from rws_decode.rewards import world
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.callable import as_named_reward, module_object
from rws_decode.rewards.causal import CausalReward, is_causal_classifier
from rws_decode.rewards.layouts import load_network, load_tokenizer, reward_token
from rws_decode.rewards.network import SequenceClassifierReward
from rws_decode.rewards.registry import Layout, NamedReward, kind_of, layout_of, locate_reward, offered_reward
from rws_decode.rewards.templates import Template
from rws_theory.checks import finite, one_of
from rws_theory.extras import required
from rws_theory.show import quoted

_COMMIT = re.compile("[0-9a-f]{40}")
_TEMPLATES: dict[Layout, Template] = {"plain": "pair", "internlm2": "chat", "eurus": "instruct", "quantile": "chat"}


def load_reward(
    name: str,
    device: str | torch.device = "cpu",
    *,
    mean: float | None = None,
    std: float | None = None,
    dtype: str | torch.dtype = torch.float32,
    device_map: Any = None,
    revision: str | None = None,
    published: str | None = None,
    statistics: str | Path | None = None,
    progress: bool = True,
) -> RewardModel:
    """Load a reward model by shipped name (mini, mini-judge, era, keywords), the paper's, directory, or hub id.

    Others of a name are those of `rewards.world`, and those of packages (`registry.NamedReward`): "exact" is the story
    language's own coherence reward, "smollm2" a text's likelihood.
    "MODULE:NAME" is a reward model or a function of a module of yours, which is imported (`rewards.callable`). The
    names and hub ids of `registry.PUBLISHED` and `registry.SKYWORK_V2` stand for their entries. Any other directory or
    hub id is a sequence classifier of one output, of a class that transformers has, or of the layout of Intern, Eurus
    or QRM, as config.json tells. One that reads from left to right becomes a CausalReward, QRM's a QuantileReward, any
    other a SequenceClassifierReward. Safetensors only, no remote code.

    mean, std: the normalisation; else that of reward.json beside the weights, {"mean": ..., "std": ...}, as
    `rws calibrate` writes it, else the paper's. That file may also hold the layout of a causal one's text, "template":
    "pair", "chat" (by default where the tokenizer brings a chat template) or "instruct" (`templates.text_encoder`).
    statistics: such a file elsewhere. published: the registry's name for a directory that holds it. dtype: of the
    network; device_map: transformers' placement, in place of `device`; revision: of a hub id. progress: bars on
    standard error.

    ValueError in one line for an unknown name (shipped ones are listed), template or device, and for a revision that
    is needed and not given. So are missing tokenizer, statistics or chat template refused, a tokenizer of another
    vocabulary, and weights that are missing, pickled, cut short, not finite, not those of config.json, or too large.
    """
    if not isinstance(name, str):
        raise ValueError(
            f"reward is {quoted(name)}: a name or a directory, as text, is needed; a function is loaded already, give "
            "it as reward=function, or as CallableReward(function, mean, std)"
        )
    kind = kind_of(name)
    if kind == "world":
        if name == "era":
            return world.era_reward(mean, std)
        return world.keyword_reward(name.partition(":")[2].split(",") if ":" in name else None, mean, std)
    if kind != "network":
        numbers = {} if statistics is None else _stored(Checkpoint(name, None), statistics)
        given = (_number(name, "mean", numbers, mean), _number(name, "std", numbers, std)) if numbers else (mean, std)
        if kind == "module":
            return as_named_reward(name, module_object(name), *given)
        offered = offered_reward(name)
        if isinstance(offered, NamedReward):
            return offered.load(name, *given, device=device, dtype=dtype)
        return as_named_reward(name, offered, *given)
    device, dtype = device_named(device), dtype_named(dtype)
    if device_map is not None:
        required("accelerate", f"device_map is {device_map}")
    checkpoint, entry = locate_reward(name, published)
    if entry is not None and entry.paper and checkpoint.directory is None:
        revision = entry.revision if revision is None else revision
        if revision is None or not _COMMIT.fullmatch(revision):
            raise ValueError(
                f"revision of reward {name} is {quoted(revision)}: the commit of {entry.hub_id}, 40 hexadecimal "
                "digits, is needed, as its page on the hub lists them; or download it and name its directory"
            )
    checkpoint = fetch(checkpoint, revision)
    if not has_tokenizer(checkpoint):
        raise ValueError(f"reward is {name}: the directory holds no tokenizer, and a reward model reads text")
    config = config_of(checkpoint)
    layout = layout_of(config)
    # The paper's plain ones are told apart by their tensors alone.
    other = entry is not None and not entry.paper and config.get("architectures") != [entry.architecture]
    if entry is not None and (other or layout != entry.layout):
        raise ValueError(f"config.json of reward {name} is not that of a {entry.architecture}, which {entry.name} is")
    stored = _stored(checkpoint, statistics)
    paper: dict[str, Any] = {} if entry is None else {"template": entry.template}
    if entry is not None and entry.paper:
        paper |= {"mean": entry.mean, "std": entry.std}
    known = {"template": _TEMPLATES[layout]} | paper | stored
    template: Any = one_of(f"template in reward.json of {name}", known["template"], get_args(Template))
    settings = {
        "mean": _number(name, "mean", paper | stored, mean),
        "std": _number(name, "std", paper | stored, std),
        "name": checkpoint.name,
    }
    headers = read_headers(checkpoint)
    config.refuse_sizes(headers)
    if device_map is None:
        check_memory(f"reward {checkpoint.name}", loaded_bytes(headers, dtype), device)
    placed: dict[str, Any] = {"dtype": dtype, "device_map": device_map}
    ours = standalone(config, headers, "SequenceClassification", dtype) if device_map is None else None
    found = _by_transformers(layout, config, headers, progress, placed) if ours is None else (*ours, None)
    model, tokenizer, head = found
    refuse_vocabulary(checkpoint, tokenizer, model.get_input_embeddings().num_embeddings)
    start = getattr(model.config, "bos_token_id", None)
    if isinstance(start, int) and tokenizer.bos_token_id is not None and start != tokenizer.bos_token_id:
        begins = f"its tokenizer begins a text with id {tokenizer.bos_token_id}"
        raise checkpoint.refused(f"{begins}, and its config.json says {start}")
    for network in (model,) if head is None else (model, head):
        refuse_nonfinite(checkpoint, network.state_dict().items())
    if device_map is None:
        model = model.to(device)
    if head is None and not is_causal_classifier(model):
        if template != "pair":
            raise ValueError(
                f'template in reward.json of {name} is "{template}": a {type(model).__name__} reads "pair" only'
            )
        return SequenceClassifierReward(model, tokenizer, **settings)
    if head is not None:
        reward: Any = head.to(model.device).reward(model, tokenizer, **settings)
    else:
        closing = [reward_token(config)] if layout == "internlm2" else []
        if layout == "plain" and "template" not in paper | stored and tokenizer.chat_template is not None:
            template = "chat"
        # Qwen3's tokenizers have no beginning-of-text token.
        named = getattr(tokenizer, "bos_token_id", None) is not None
        begin = layout != "plain" or (entry is not None and (named or entry.paper != ""))
        options: dict[str, Any] = {"template": template, "always_begin": begin, "closing": closing}
        reward = CausalReward(model, tokenizer, **settings, **options)
    ids = reward.encode("a", "b")
    if ids.count(tokenizer.bos_token_id) > 1:
        raise ValueError(
            f"reward {name} begins its texts with several {getattr(tokenizer, 'bos_token', None)!r}: its chat template "
            "puts them inside"
        )
    if head is not None:
        reward.gate(ids)
    return reward


def _by_transformers(
    layout: Layout, config: Config, headers: Mapping[str, Stored], progress: bool, placed: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Return transformers' network and tokenizer, and QRM's head; ValueError for what transformers does not read."""
    name, part = config.checkpoint.name, "network"
    try:
        with quiet(progress), without_panics():
            model, head = load_network(layout, config, headers, **placed)
            part = "tokenizer"
            return model, checked_tokenizer(load_tokenizer(config.checkpoint, layout)), head
    except Exception as error:  # of files that are not what they say: tokenizers raises it plain
        reason = " ".join(str(error).split())
        # What this package says names the field, and needs no frame.
        if not isinstance(error, ValueError) or f"reward {name} " not in reason:
            kind = "" if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: "
            reason = f"reward {name} cannot be loaded: its {part} is not one that transformers reads ({kind}{reason})"
        raise ValueError(reason) from error


def _stored(checkpoint: Checkpoint, statistics: str | Path | None) -> dict[str, Any]:
    """Return what reward.json says, or the file that is given in its device."""
    if statistics is None:
        stored = checkpoint.read_json("reward.json")
    else:
        path = Path(statistics)
        if not path.is_file():
            raise ValueError(f"statistics is {path}: no such file")
        stored = Checkpoint(str(path.parent), path.parent).read_json(path.name)
    return stored if isinstance(stored, dict) else {}


def _number(name: str, field: str, stored: dict[str, Any], given: float | None) -> float:
    value = stored.get(field) if given is None else given
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"{field} of reward {name} is {quoted(value)}: a number is needed, in reward.json beside the weights or in "
            f"the file of statistics that `rws calibrate --reward {name} --out FILE` writes"
        )
    return finite(f"{field} of reward {name}", value)
