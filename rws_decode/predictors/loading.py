"""Mask predictors from checkpoints: shipped, in a directory, or on the hub; checked before and after loading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from rws_decode.checkpoints.config import Config, config_of
from rws_decode.checkpoints.files import (
    Checkpoint,
    device_named,
    dtype_named,
    fetch,
    locate_model,
    refuse_vocabulary,
    shipped,
)
from rws_decode.checkpoints.packages import quiet
from rws_decode.checkpoints.weights import (
    Stored,
    loaded_bytes,
    read_headers,
    refuse_incomplete,
    refuse_nonfinite,
    refuse_unasked,
    stored_tensors,
)
from rws_decode.common import plugins
from rws_decode.common.arguments import check_memory, is_id
from rws_decode.networks.modernbert import standalone
from rws_decode.predictors.bidirectional import BidirectionalPredictor, attend_both_ways
from rws_decode.predictors.families import (
    Family,
    class_of,
    described,
    line_of,
    load_tokenizer,
)
from rws_decode.predictors.llada_dream import DREAM, LLADA, is_llada_moe
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.predictors.world import MODEL_TYPE, WorldPredictor, load_world
from rws_theory.extras import required

LoadedPredictor = HFMaskPredictor | WorldPredictor

# Parts of published masked language models that predict no token and are left out by transformers' classes: heads of
# BERT's and ALBERT's next sentence, and AntiBERTy's of species, chain and grafts.
_OTHER_HEADS = re.compile(r"(^|\.)(pooler|seq_relationship|sop_classifier|cls\.(species|chain|graft))\.|position_ids$")
# What older config.json do not say, the names of the tensors do.
_OLD_KINDS = ("albert", "bert")
_CAPS = ("max_length", "max_new_tokens")  # of generation_config.json


MARKER = "masked_diffusion"
FAMILIES = {family.name: family for family in (LLADA, DREAM)}
_GROUP = "rws.families"


def family_of(raw: Config) -> Family | None:
    """Return the family of a config.json: that of its model_type or of its marker, None for another model.

    LLaDA-MoE has LLaDA's model_type, and a class of its own. ValueError for a marker that this version does not know,
    and for Nemotron-Labs diffusion, whose config may ask for causal attention.
    """
    if raw.get("model_type") == "nemotron_labs_diffusion":
        one = "an autoregressive one sees nothing to the right of a mask"
        raise raw.wrong("dlm_paradigm", f"and no paradigm of Nemotron-Labs diffusion is read: {one}")
    if raw.get(MARKER) is not None:
        return plugins.hook("converted", f"model is {raw.checkpoint.name}")(raw)
    return family_named("llada-moe" if is_llada_moe(raw) else str(raw.get("model_type")).lower())


def family_names() -> tuple[str, ...]:
    """Return the names of the families that are known, those that packages offer too."""
    return tuple(dict.fromkeys([*FAMILIES, *plugins.names(_GROUP)]))


def family_named(name: str) -> Family | None:
    """Return the family of that name, None for another."""
    return FAMILIES[name] if name in FAMILIES else plugins.find(_GROUP, name)


def load_predictor(
    name: str,
    device: str | torch.device = "cpu",
    *,
    mask_id: int | None = None,
    dtype: str | torch.dtype | None = None,
    device_map: Any = None,
    quantization: Any = None,
    revision: str | None = None,
    chat: bool | None = None,
    adapter: str | Path | None = None,
    progress: bool = True,
) -> LoadedPredictor:
    """Load a mask predictor by shipped name, that of an installed package, directory, or hub id.

    config.json tells what it is: one of `FAMILIES` or a package's, such as LLaDA, Dream or SDAR, as published or
    converted, an n-gram model (`predictors.world`), which takes none of the options below, or else any
    `AutoModelForMaskedLM`, BERT's and ALBERT's with an old config.json too. One of residues or of SMILES, which its
    vocab.txt tells, fills gaps (`SequencePredictor`). Safetensors only, no remote code. Without tokenizer files, the
    predictor works on token ids.

    mask_id: in place of the checkpoint's. dtype: of the weights; None is float32, and bfloat16 for those first families
    on CUDA. device_map, quantization: transformers' device_map and quantization_config, as they are, in place of
    `device`. revision: of a hub id. chat: whether a prompt's text is one message of the chat template; None: if there
    is one, unless the name of a model of those families says Base. adapter: a directory of peft with a LoRA of this
    model, whose layers stand beside the weights and are not merged; its name follows a plus sign in the predictor's.
    progress: bars on standard error.

    ValueError in one line for an unknown name (the shipped ones are listed) or device, and for another model's
    tokenizer. Weights are refused if they are missing, misshapen, left over or not finite, if the config contradicts
    them, and if memory is too small for them, which is not checked with device_map or quantization.
    """
    if not isinstance(name, str):
        raise ValueError(
            f"model is a {type(name).__name__}: a name or a directory, as text, is needed; for a model of transformers "
            "that is loaded already give HFMaskPredictor(model, tokenizer)"
        )
    device = device_named(device)
    if name not in shipped("ForMaskedLM") and (loader := plugins.find("rws.predictors", name)) is not None:
        named = {"mask_id": mask_id, "dtype": dtype, "device_map": device_map, "quantization": quantization}
        named |= {"revision": revision, "chat": chat, "adapter": adapter}
        _refuse_given(named, f"{name} is a package's model, which takes a device")
        return loader(device)
    kind = None if dtype is None else dtype_named(dtype)
    checkpoint = fetch(locate_model(name), revision)
    raw = config_of(checkpoint)
    if raw.get("model_type") == MODEL_TYPE:
        world = load_world(checkpoint, _examples(checkpoint))
        refused = {"device": None if device.type == "cpu" else device, "dtype": dtype}
        refused["mask_id"] = None if mask_id == world.mask_id else mask_id  # a trace names it
        refused |= {"device_map": device_map, "quantization": quantization, "chat": chat, "adapter": adapter}
        _refuse_given(refused, f"{checkpoint.name} is a world of words on the CPU")
        world.checkpoint = checkpoint
        return world
    family = family_of(raw)
    if kind is None:
        on_cuda = device.type == "cuda" or (device_map is not None and torch.cuda.is_available())
        kind = torch.bfloat16 if family is not None and on_cuda else torch.float32
    if device_map is not None:
        required("accelerate", f"device_map is {device_map}")
    options: dict[str, Any] = {"dtype": kind, "device_map": device_map, "quantization_config": quantization}
    options = {key: value for key, value in options.items() if value is not None}
    if family is None:
        predictor = _load_masked(raw, device, options, mask_id, chat, progress)
    else:
        predictor = _load_bidirectional(raw, family, device, options, mask_id, chat, progress)
    generation = checkpoint.read_json("generation_config.json")
    settings = generation.items() if isinstance(generation, dict) else ()
    predictor.caps = {name: cap for name, cap in settings if name in _CAPS and is_id(cap) and cap > 0}
    if adapter is not None:
        plugins.hook("lora", f"adapter is {adapter}")(
            predictor.model, adapter, {} if family is None else family.layout(raw).renamed
        )
        predictor.name += f"+{Path(adapter).resolve().name}"
        return predictor  # its weights are not those of the files: it has no checkpoint
    predictor.checkpoint = checkpoint
    return predictor


def _refuse_given(options: Mapping[str, Any], why: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} is {value}: {why}, leave it out")


def _load_bidirectional(
    raw: Config,
    family: Family,
    device: torch.device,
    options: dict[str, Any],
    mask_id: int | None,
    chat: bool | None,
    progress: bool,
) -> HFMaskPredictor:
    checkpoint, name = raw.checkpoint, raw.checkpoint.name
    layout, _, stored, tokenizer, mask, ends = described(raw, family, mask_id)
    if chat is None:
        base = re.search(r"(?<![a-z])base(?![a-z])", name.lower()) is not None
        chat = not base and getattr(tokenizer, "chat_template", None) is not None
    refuse_unusable(checkpoint, stored, device, options)
    config = layout.config
    config.architectures = [class_of(layout).__name__]
    options = options | {"config": config, "attn_implementation": attend_both_ways()}
    if layout.renamed:
        options["key_mapping"] = dict(layout.renamed)
    pad = raw.get("pad_token_id") if tokenizer is None else tokenizer.pad_token_id
    model = from_pretrained(class_of(layout), checkpoint, device, progress, options)
    if config.tie_word_embeddings and model.lm_head.weight is not model.model.embed_tokens.weight:
        untied = "lm_head.weight, which is not the embedding that tie_word_embeddings ties it to"
        raise ValueError(f"model {name} has weights that its config does not ask for: {untied}")
    kind: Any = BidirectionalPredictor
    if layout.block is not None:
        kind = partial(plugins.hook("block-causal", f"model is {name}"), block=layout.block)
    return kind(
        model,
        tokenizer,
        name=name,
        mask_id=mask,
        end_ids=ends,
        pad_id=pad if type(pad) is int and 0 <= pad < layout.vocabulary else None,
        chat=chat,
        chat_options=family.chat_options,
        vocabulary=layout.vocabulary,
        shifted=layout.shifted,
        precise_rotary=layout.precise_rotary,
        examples=_examples(checkpoint),
    )


def _load_masked(
    raw: Config, device: torch.device, options: dict[str, Any], mask_id: int | None, chat: bool | None, progress: bool
) -> HFMaskPredictor:
    checkpoint, name = raw.checkpoint, raw.checkpoint.name
    stored = read_headers(checkpoint)
    old = "model_type" not in raw
    prefixes = {tensor.partition(".")[0] for tensor in stored}
    kind = next((each for each in _OLD_KINDS if each in prefixes), None) if old else raw["model_type"]
    if kind != "modernbert":  # which is known without waiting for transformers
        from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

        if kind == "diffusion_gemma":
            raise ValueError(f"model {name} has no mask token: use load_uniform and decode_uniform")
        if not isinstance(kind, str) or kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
            none = f"no masked language model of transformers nor one of {', '.join(family_names())}"
            raise checkpoint.refused(f"model_type in its config.json is {kind!r}, {none}, and remote code is never run")
    raw.refuse_sizes(stored)
    refuse_unusable(checkpoint, stored, device, options)
    ours = standalone(raw, stored, "MaskedLM", options["dtype"]) if set(options) == {"dtype"} else None
    alphabets = plugins.hook("alphabet")
    alphabet = None if alphabets is None else alphabets(Path(checkpoint.source))
    if ours is None:
        from transformers import CONFIG_MAPPING, AutoModelForMaskedLM

        if old:
            options = options | {"config": CONFIG_MAPPING[kind].from_dict(raw)}
        model = from_pretrained(AutoModelForMaskedLM, checkpoint, device, progress, options)
        tokenizer = load_tokenizer(checkpoint, None) if alphabet is None else None
    else:
        model, tokenizer = ours[0].to(device), ours[1]
    if tokenizer is not None:
        refuse_vocabulary(checkpoint, tokenizer, model.config.vocab_size)
    if alphabet is not None:
        if chat:
            raise ValueError(f"chat is True: {name} reads {alphabet.kind} and no messages, leave it out")
        refuse_vocabulary(checkpoint, alphabet.tokenizer(1), model.config.vocab_size)
        return alphabet.predictor(model, name=name, mask_id=mask_id, examples=_examples(checkpoint))
    if chat is None:
        chat = getattr(tokenizer, "chat_template", None) is not None
    return HFMaskPredictor(model, tokenizer, name=name, mask_id=mask_id, chat=chat, examples=_examples(checkpoint))


def from_pretrained(
    loader: Any, checkpoint: Checkpoint, device: torch.device, progress: bool, options: dict[str, Any]
) -> Any:
    """Load the model, tensor by tensor as transformers does; ValueError unless all weights came and are finite."""
    try:
        with quiet(progress):
            model, report = loader.from_pretrained(
                checkpoint.source, use_safetensors=True, output_loading_info=True, **checkpoint.options, **options
            )
    except Exception as error:  # of files that are not what they say: tokenizers raises it plain
        raise checkpoint.refused(line_of(error)) from error
    refuse_incomplete(checkpoint, report)
    unexpected = map(str, report.get("unexpected_keys", ()))
    refuse_unasked(checkpoint, (key for key in unexpected if not _OTHER_HEADS.search(key)))
    if "device_map" not in options and "quantization_config" not in options:
        model = model.to(device)
    refuse_nonfinite(checkpoint, model.named_parameters())
    return model


def refuse_unusable(
    checkpoint: Checkpoint, stored: Mapping[str, Stored], device: torch.device, options: Mapping[str, Any]
) -> None:
    """Raise ValueError for weights that do not fit in memory, or that quantisation would hide NaN of."""
    if "quantization_config" in options:
        refuse_nonfinite(checkpoint, stored_tensors(checkpoint, stored))
    # What a device map or a quantised load takes is transformers' to plan.
    if "device_map" in options or "quantization_config" in options:
        return
    dtype = options["dtype"]
    what = f"model {checkpoint.name} in {str(dtype).removeprefix('torch.')}"
    check_memory(what, loaded_bytes(stored, dtype), device)
    if device.type != "cpu":
        # On their way to a device, weights of the asked dtype stay in the file's mapping; others are made here first.
        changed = {name: tensor for name, tensor in stored.items() if tensor.torch_dtype != dtype}
        check_memory(what, loaded_bytes(changed, dtype), torch.device("cpu"))


def _examples(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    examples = checkpoint.read_json("examples.json") or []
    if not isinstance(examples, list) or not all(isinstance(item, dict) and "prompt" in item for item in examples):
        raise ValueError(f'examples.json of model {checkpoint.name} is not a list of {{"prompt": text, ...}}')
    return examples
