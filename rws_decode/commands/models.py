"""`python -m rws_decode models`: the models that can be named, what each is for, and how to have it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path

from rws_decode.checkpoints.files import models_directory
from rws_decode.checkpoints.packages import PACKAGED, distribution_of, install_command
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, SKYWORK_V2
from rws_decode.rewards.sequences import SPECIES
from rws_theory.commands.options import add_options, json_option, read_options


@dataclass(frozen=True)
class ModelsOptions:
    """How the table is printed."""

    json: bool = json_option()


@dataclass(frozen=True)
class Known:
    """A model that can be named.

    kind: "model", a mask predictor; "reward"; or "causal", a model of texts from left to right. bytes: of its files or
    of the package that brings it, None where a hub holds it. install: the command that brings it, None if it ships.
    """

    name: str
    kind: str
    licence: str | None
    bytes: int | None
    installed: bool
    install: str | None
    about: str


# Folder, or name of an exact reward -> kind, what it is for.
_SHIPPED = {
    "mini": ("model", "a masked diffusion model of a language of short stories"),
    "english": ("model", "an exact masked model of real English words"),
    "mini-causal": ("causal", "perplexity in that language"),
    "mini-reward": ("reward", "a learned reward of stories, guides"),
    "mini-judge": ("reward", "another, judges"),
    "exact": ("reward", "minus the number of rules that a story breaks"),
    "era": ("reward", "later against earlier words, of english"),
    "keywords": ("reward", "words that an answer holds, of english: keywords:WORD,..."),
    "charge": ("reward", "net charge of a protein at pH 7, exact"),
    "hydropathy": ("reward", "mean hydropathy of a protein (Kyte and Doolittle), exact"),
}
_HUB = {
    "GSAI-ML/LLaDA-8B-Instruct": "a masked diffusion model of language; Base and LLaDA-1.5 too",
    "inclusionAI/LLaDA-MoE-7B-A1B-Instruct": "a masked diffusion model with experts; Base too",
    "Dream-org/Dream-v0-Instruct-7B": "a masked diffusion model made of Qwen2",
    "dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1": "a masked diffusion model made of Qwen3",
    "dllm-hub/ModernBERT-large-chat-v0.1": "a masked language model trained for chats",
}


def known_models() -> Iterator[Known]:
    """Yield the models that ship, those that pip installs, and the hub's that are known by name, in this order."""
    named = {folder: name for name, folder in SHIPPED.items()}
    for folder, (kind, about) in _SHIPPED.items():
        files = [path for path in (models_directory() / folder).glob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        yield Known(named.get(folder, folder), kind, "Apache-2.0", size, True, None, about)
    for entry in PACKAGED.values():
        try:
            distribution_of("model", entry)
            here = True
        except ValueError:
            here = False
        model = Known(entry.name, "model", entry.licence, entry.size, here, install_command(), entry.about)
        yield model
        if entry.name == "antibody":
            others = ", ".join(f"species:{name}" for name in SPECIES if name != "human")
            yield replace(model, name="human", kind="reward", about=f"the species that AntiBERTy reads; {others} too")
    for hub_id, about in _HUB.items():
        yield Known(hub_id, "model", None, None, _is_cached(hub_id), f"hf download {hub_id}", about)
    for reward in (*PUBLISHED.values(), *SKYWORK_V2.values()):
        about = f"{reward.hub_id}, the paper's {reward.paper}" if reward.paper else reward.hub_id
        fetch = f"hf download {reward.hub_id}" + (f" --revision {reward.revision}" if reward.revision else "")
        yield Known(reward.name, "reward", reward.licence or None, None, _is_cached(reward.hub_id), fetch, about)


def _is_cached(hub_id: str) -> bool:
    """Return whether some revision's config.json lies in the hub's cache, which is all that is looked at."""
    from huggingface_hub import constants

    folder = "models--" + hub_id.replace("/", "--")
    return any((Path(constants.HF_HUB_CACHE) / folder).glob("snapshots/*/config.json"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `models` to a parser."""
    add_options(parser, ModelsOptions)


def run(args: argparse.Namespace) -> int:
    """Print the models."""
    options = read_options(ModelsOptions, args)
    known = list(known_models())
    if options.json:
        print(json.dumps([{key: value for key, value in asdict(model).items() if key != "about"} for model in known]))
        return 0
    width, wide = (max(map(len, column)) for column in zip(*((m.name, m.licence or "") for m in known), strict=True))
    for how, models in groupby(known, lambda model: (model.install or "").split(" ")[0]):
        title = {"": "shipped", "python": f"installed by {install_command()}", "hf": "on the hub, by hf download"}[how]
        print(f"{title}\n")
        for model in models:
            size = "" if not model.bytes else f"{model.bytes / 1e6:.3g} MB"
            facts = f"{model.kind:6}  {size:>7}  {model.licence or '':{wide}}  {'here' if model.installed else '-':4}"
            print(f"  {model.name:{width}}  {facts}  {model.about}".rstrip())
        print()
    print("Sizes are of files, or of the package. Licences are as the package or the page of the weights names them.")
    return 0
