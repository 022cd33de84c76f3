"""Reward models by name: the paper's six, with the statistics that normalise them, and those of Skywork-Reward-V2.

Public sources do not confirm: which of Skywork's two versions the paper ran; the revision of the first that its authors
ran; whether the end-of-text token that RewardBench's Mistral template puts after an answer was there when the paper
scored with Eurus (its card shows texts without it); and the paper's dtype and text layout of any of them. Intern's own
`get_score` reads two beginning-of-text tokens if template and tokenizer both put one; RewardBench reads one, and so
does this package.

Skywork-Reward-V2 (Liu et al. 2025, arXiv:2507.01352) is eight sequence classifiers of transformers' own classes. Their
authors print no mean and SD: `rws calibrate` measures them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from rws_decode.checkpoints.files import Checkpoint, locate, models_directory
from rws_decode.common import plugins
from rws_decode.rewards.callable import module_file
from rws_theory.printed import printed_in

if TYPE_CHECKING:
    from rws_decode.rewards.base import RewardModel
    from rws_decode.rewards.templates import Template

Layout = Literal["plain", "internlm2", "eurus", "quantile"]


@dataclass(frozen=True)
class KnownReward:
    """A reward model that can be asked for by a short name: one of the paper's, or of Skywork-Reward-V2.

    name, hub_id; architecture: its class in config.json; layout: how its weights are named and its score is read
    (`layouts`); template: how its text is laid out (`templates.text_encoder`). Of the paper's: paper, its row in the
    paper's tables; licence: of the weights, as their page names it; mean, std: mu_R and sigma_R of the raw score, as
    printed in `STATISTICS`; revision: a full commit, None if it is not known and the user must give it.
    """

    name: str
    hub_id: str
    architecture: str = "LlamaForSequenceClassification"
    layout: Layout = "plain"
    template: Template = "chat"
    paper: str = ""
    licence: str = ""
    revision: str | None = None
    mean: float | None = None
    std: float | None = None


_TABLE = printed_in("table7_reward_statistics")
_PRINTED = {row["model"]: row for row in _TABLE["rows"]}
STATISTICS: str = _TABLE["where"]


_REVISIONS = {
    "skywork-v0.2": "d4117fbfd81b72f41b96341238baa1e3e90a4ce1",
    "llamaob": "92f40e79e8ff672c94f0f23001af08702ffd707f",
    "intern": "71a164e9f2ded78f271807e5d4075ddc88567414",
    "eurus": "6396a8e86c6263a9a940610013414cd8b47bb690",
    "grm": "e3dc5ec01e8bc982eb7c423fbffa0b76ad201006",
    "qrm": "74280eebb9580bfecff5d0b2edb81f7d6186a204",
}


def _entry(paper: str, name: str, hub_id: str, licence: str, *layout: Any) -> KnownReward:
    architecture, kind, template = layout or ("LlamaForSequenceClassification", "plain", "chat")
    numbers = {"mean": _PRINTED[paper]["mean"], "std": _PRINTED[paper]["std"], "revision": _REVISIONS.get(name)}
    return KnownReward(name, hub_id, architecture, kind, template, paper, licence, **numbers)


_QRM, _INTERN = ("LlamaForRewardModelWithGating", "quantile", "chat"), ("InternLM2ForRewardModel", "internlm2", "chat")
PUBLISHED: dict[str, KnownReward] = {
    row[1]: _entry(*row)
    for row in (
        ("Skywork", "skywork", "Skywork/Skywork-Reward-Llama-3.1-8B", "Skywork Community License"),
        ("Skywork", "skywork-v0.2", "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2", "Skywork Community License"),
        ("LlamaOB", "llamaob", "NCSOFT/Llama-3-OffsetBias-RM-8B", "llama3"),
        ("Intern", "intern", "internlm/internlm2-7b-reward", "other (InternLM)", *_INTERN),
        ("Eurus", "eurus", "openbmb/Eurus-RM-7b", "apache-2.0", "EurusRewardModel", "eurus", "instruct"),
        ("GRM", "grm", "Ray2333/GRM-Llama3.2-3B-rewardmodel-ft", "apache-2.0"),
        ("QRM", "qrm", "nicolinho/QRM-Llama3.1-8B", "llama3", *_QRM),
    )
}


_V2 = {
    "Qwen3ForSequenceClassification": ("Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B"),
    "LlamaForSequenceClassification": ("Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.1-8B", "Llama-3.1-8B-40M"),
}
SKYWORK_V2: dict[str, KnownReward] = {
    entry.name: entry
    for architecture, sizes in _V2.items()
    for size in sizes
    for entry in [KnownReward(f"skywork-v2-{size.lower()}", f"Skywork/Skywork-Reward-V2-{size}", architecture)]
}


def known_reward(name: str) -> KnownReward | None:
    """Return the reward model of that short name or hub id, the paper's or Skywork-Reward-V2's; None for another name.

    >>> known_reward("skywork-v2-qwen3-0.6b").hub_id, known_reward("openbmb/Eurus-RM-7b").name, known_reward("mini")
    ('Skywork/Skywork-Reward-V2-Qwen3-0.6B', 'eurus', None)
    """
    entries = (*PUBLISHED.values(), *SKYWORK_V2.values())
    return next((entry for entry in entries if name in (entry.name, entry.hub_id)), None)


def layout_of(config: Any) -> Layout:
    """Return how the weights of a config.json are named; "plain": as transformers names them.

    >>> layout_of({"architectures": ["EurusRewardModel"]})
    'eurus'
    """
    architectures = config.get("architectures") if isinstance(config, dict) else None
    named = architectures[0] if isinstance(architectures, list) and architectures else None
    return next((entry.layout for entry in PUBLISHED.values() if entry.architecture == named), get_args(Layout)[0])


SHIPPED = {"mini": "mini-reward", "mini-judge": "mini-judge"}

OF_WORLDS = ("era", "keywords")
GROUP = "rws.rewards"


@dataclass(frozen=True)
class NamedReward:
    """A reward, or several of one kind, that a package offers by name (entry points of the group `rws.rewards`).

    load: of name, mean and std (None: its own), with device= and dtype=, returns the reward model; "species:mouse" is
    the name of one that is offered as "species". check: raises ValueError for a name that it does not load, before
    anything is loaded. source: what its numbers follow from besides code: JSON, in which a Path is a file. statistics:
    of a name, mean and SD that are known without loading it.
    """

    load: Callable[..., RewardModel]
    check: Callable[[str], None] = lambda name: None
    source: Callable[[str], Any] | None = None
    statistics: Callable[[str], tuple[float, float]] | None = None


def offered_reward(name: str) -> Any:
    """Return what a package offers by a reward's name: a NamedReward, a reward model or a function; None without."""
    return plugins.find(GROUP, name.partition(":")[0])


def kind_of(name: str) -> Literal["world", "offered", "module", "network"]:
    """Return what a name of a reward stands for; a directory of that name comes first.

    `world`: of the 4-gram model, `keywords` also as keywords:WORD,WORD,...; `offered`: by a package (`NamedReward`);
    `module`: MODULE:NAME.
    """
    short, colon, attribute = name.partition(":")
    if os.path.isdir(name):
        return "network"
    if short in OF_WORLDS:
        return "world"
    if short in plugins.names(GROUP):
        return "offered"
    written = bool(colon) and all(part.isidentifier() for part in (*short.split("."), attribute))
    return "module" if written else "network"


def locate_reward(name: str, published: str | None = None) -> tuple[Checkpoint, KnownReward | None]:
    """Find a reward model with weights by shipped name, the registry's, directory, or hub id; and the registry's entry.

    published: the registry's name for a directory that holds it. ValueError lists the names that there are.
    """
    entry = known_reward(name if published is None else published)
    if published is not None and entry is None:
        raise ValueError(f"published is {published!r:.80}: one of {', '.join([*PUBLISHED, *SKYWORK_V2])} is needed")
    root = models_directory()
    present = {short: folder for short, folder in SHIPPED.items() if (root / folder / "config.json").is_file()}
    others = {
        "a shipped name": [*OF_WORLDS, *present],
        "one of a package": plugins.names(GROUP),
        "the paper's": PUBLISHED,
        "Skywork-Reward-V2's": SKYWORK_V2,
        "MODULE:NAME": (),
    }
    return locate("reward", entry.hub_id if entry is not None and published is None else name, present, others), entry


def check_reward_name(name: str) -> None:
    """Raise ValueError, listing the names that there are, for a name that `loading.load_reward` does not know."""
    kind = kind_of(name)
    if kind == "offered":
        offered = offered_reward(name)
        if isinstance(offered, NamedReward):
            offered.check(name)
    elif kind == "module":
        module_file(name)
    elif kind == "network":
        locate_reward(name)
