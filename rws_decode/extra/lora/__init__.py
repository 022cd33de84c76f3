"""LoRA adapters of peft on the network of a predictor, beside its weights and not merged into them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rws_decode.checkpoints.files import Checkpoint, parse_json
from rws_decode.checkpoints.weights import refuse_nonfinite
from rws_decode.predictors.families import line_of, renamed
from rws_theory.extras import required

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."
# What an adapter says of its arithmetic, all of which is given to peft; and what has no part in it once it is trained.
_READ = ("r", "lora_alpha", "use_rslora", "use_dora", "fan_in_fan_out", "rank_pattern", "alpha_pattern")
_SILENT = (
    *("peft_type", "peft_version", "task_type", "base_model_name_or_path", "revision", "auto_mapping"),
    *("inference_mode", "lora_dropout", "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
    *("megatron_core", "qalora_group_size"),
)
_PLAIN = {"bias": ("none",), "init_lora_weights": (True, False, "gaussian")}


def add_adapter(network: Any, adapter: str | Path, patterns: Mapping[str, str]) -> None:
    """Put the LoRA layers of a directory as peft writes it around the modules of a network.

    patterns: published module names -> those of the network (`families.Layout.renamed`). Safetensors only. ValueError
    in one line where the directory holds no LoRA, one that asks for more than LoRA, or one of another network.
    """
    peft = required("peft", f"adapter is {adapter}")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(adapter)
    for file in (CONFIG, WEIGHTS):
        if not (folder / file).is_file():
            raise ValueError(f"adapter is {adapter}: the directory holds no {file}, as peft writes it")
    try:
        config = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
        stored = load_file(folder / WEIGHTS)
    except (ValueError, OSError, SafetensorError) as error:
        raise ValueError(f"adapter is {adapter}: it cannot be read ({line_of(error)})") from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise ValueError(f"adapter is {adapter}: its {CONFIG} says no LORA as its peft_type")
    for name, value in config.items():
        allowed = name in (*_READ, *_SILENT) or value in _PLAIN.get(name, ()) or not value
        if not allowed or (patterns and value and name.endswith("_pattern")):
            raise ValueError(f"adapter is {adapter}: {name} in its {CONFIG} is {value!r}, and is not read here")
    refuse_nonfinite(Checkpoint(str(adapter), folder, "adapter"), stored.items())
    weights = {_PREFIX + renamed(name.removeprefix(_PREFIX), patterns): each for name, each in stored.items()}
    targets = {name.removeprefix(_PREFIX).partition(".lora_")[0] for name in weights}
    linear = {name for name, module in network.named_modules() if hasattr(module, "weight")}
    if other := sorted(targets - linear) or ([] if targets else ["nothing"]):
        raise ValueError(f"adapter is {adapter}: it is of another network, its weights name {other[0]}")
    try:
        lora = peft.LoraConfig(
            **{name: config[name] for name in _READ if name in config}, target_modules=sorted(targets)
        )
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            peft.inject_adapter_in_model(lora, network)
        loaded = peft.set_peft_model_state_dict(network, weights)
    except Exception as error:  # of any kind, for files with wrong content
        raise ValueError(f"adapter is {adapter}: peft does not read it ({line_of(error)[:160]})") from error
    lost = [*loaded.unexpected_keys, *(name for name in loaded.missing_keys if ".lora_" in name)]
    if lost:
        raise ValueError(f"adapter is {adapter}: its weights are not those of its modules, such as {lost[0]}")
    network.eval()
