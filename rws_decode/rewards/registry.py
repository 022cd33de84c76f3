"""Reward models by name: the paper's six, with the statistics that normalise them, and those of Skywork-Reward-V2.

Public sources do not confirm: which of Skywork's two versions the paper ran; the revision of the first that its authors
ran; whether the end-of-text token that RewardBench's Mistral template puts after an answer was there when the paper
scored with Eurus (its card shows texts without it); and the paper's dtype and text layout of any of them. Intern's own
`get_score` reads two beginning-of-text tokens if template and tokenizer both put one; RewardBench reads one, and so
does this package.

Skywork-Reward-V2 (Liu et al. 2025, arXiv:2507.01352) is eight sequence classifiers of transformers' own classes. Their
authors print no mean and deviation: `rws calibrate` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rws_decode.checkpoints.files import Checkpoint, locate, models_directory
from rws_decode.checkpoints.packages import distribution_of, packaged
from rws_decode.common.arguments import meant
from rws_decode.rewards.callable import module_file
from rws_decode.rewards.chemistry import CHEMISTRY
from rws_decode.rewards.sequences import check_sequence_reward
from rws_theory.printed import printed_in

if TYPE_CHECKING:
    from rws_decode.rewards.templates import Template

Layout = Literal["plain", "internlm2", "eurus", "quantile"]


@dataclass(frozen=True)
class KnownReward:
    """A reward model that can be asked for by a short name: one of the paper's, or of Skywork-Reward-V2.

    name, hub_id; architecture: its class in config.json; layout: how its weights are named and its score is read
    (`layouts`); template: how its text is laid out (`templates.text_encoder`). Of the paper's: paper, its row in the
    paper's tables; licence: of the weights, as their page names it; mean, std: mu_R and sigma_R of the raw score, as
    printed in `STATISTICS`; revision: a full commit, None if it is not known and the user must give it.

    Rules of the paper's six: a text has exactly one beginning-of-text token. A text that is longer than the model reads
    is refused, so what the score is read from is never cut off. The score is read at the last token of the text, found
    by its length; padding comes after it.
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


def _entry(paper: str, name: str, hub_id: str, revision: str | None, licence: str, **more: Any) -> KnownReward:
    mean, std = _PRINTED[paper]["mean"], _PRINTED[paper]["std"]
    return KnownReward(name, hub_id, paper=paper, licence=licence, revision=revision, mean=mean, std=std, **more)


PUBLISHED: dict[str, KnownReward] = {
    entry.name: entry
    for entry in (
        _entry("Skywork", "skywork", "Skywork/Skywork-Reward-Llama-3.1-8B", None, "Skywork Community License"),
        _entry(
            *("Skywork", "skywork-v0.2", "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2"),
            *("d4117fbfd81b72f41b96341238baa1e3e90a4ce1", "Skywork Community License"),
        ),
        _entry(
            *("LlamaOB", "llamaob", "NCSOFT/Llama-3-OffsetBias-RM-8B"),
            *("92f40e79e8ff672c94f0f23001af08702ffd707f", "llama3"),
        ),
        _entry(
            *("Intern", "intern", "internlm/internlm2-7b-reward"),
            *("71a164e9f2ded78f271807e5d4075ddc88567414", "other (InternLM)"),
            architecture="InternLM2ForRewardModel",
            layout="internlm2",
        ),
        _entry(
            *("Eurus", "eurus", "openbmb/Eurus-RM-7b", "6396a8e86c6263a9a940610013414cd8b47bb690", "apache-2.0"),
            architecture="EurusRewardModel",
            layout="eurus",
            template="instruct",
        ),
        _entry(
            *("GRM", "grm", "Ray2333/GRM-Llama3.2-3B-rewardmodel-ft"),
            *("e3dc5ec01e8bc982eb7c423fbffa0b76ad201006", "apache-2.0"),
        ),
        _entry(
            *("QRM", "qrm", "nicolinho/QRM-Llama3.1-8B", "74280eebb9580bfecff5d0b2edb81f7d6186a204", "llama3"),
            architecture="LlamaForRewardModelWithGating",
            layout="quantile",
        ),
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

# Rewards of the English world, `keywords` also with words of its own: keywords:WORD,WORD,...
OF_WORLDS = ("era", "keywords")


def is_of_world(name: str) -> bool:
    """Return whether a name is that of a reward of the English world; a directory of that name comes first.

    >>> is_of_world("keywords:peace,war"), is_of_world("mini")
    (True, False)
    """
    return name.partition(":")[0] in OF_WORLDS and not Path(name).is_dir()


def is_likelihood(name: str) -> bool:
    """Return whether a name is that of a causal network that pip installs; a directory of that name comes first.

    >>> is_likelihood("smollm2"), is_likelihood("human")
    (True, False)
    """
    return name in packaged("causal") and not Path(name).is_dir()


# Rewards of protein sequences (`rewards.sequences`), `species` as species:NAME, and of reactions (`rewards.chemistry`).
OF_SEQUENCES = ("charge", "hydropathy", "humanness", *CHEMISTRY, "human", "species")


def is_of_sequences(name: str) -> bool:
    """Return whether a name is that of a reward of proteins or of reactions; a directory of that name comes first.

    >>> is_of_sequences("species:mouse"), is_of_sequences("era")
    (True, False)
    """
    return name.partition(":")[0] in OF_SEQUENCES and not Path(name).is_dir()


def is_of_module(name: str) -> bool:
    """Return whether a name is MODULE:NAME of a Python module (`rewards.callable`), and none of the others.

    >>> is_of_module("my_rewards:vowels"), is_of_module("species:mouse"), is_of_module("org/model")
    (True, False, False)
    """
    module, colon, attribute = name.partition(":")
    written = bool(colon) and all(part.isidentifier() for part in (*module.split("."), attribute))
    return written and not is_of_world(name) and not is_of_sequences(name)


def locate_reward(name: str, published: str | None = None) -> tuple[Checkpoint, KnownReward | None]:
    """Find a reward model with weights by shipped name, the registry's, directory, or hub id; and the registry's entry.

    published: the registry's name for a directory that holds it. ValueError lists the names that there are.

    >>> checkpoint, entry = locate_reward("skywork-v0.2")
    >>> checkpoint.name, entry.template
    ('Skywork/Skywork-Reward-Llama-3.1-8B-v0.2', 'chat')
    """
    entry = known_reward(name if published is None else published)
    if published is not None and entry is None:
        raise ValueError(f"published is {published!r}: one of {', '.join([*PUBLISHED, *SKYWORK_V2])} is needed")
    root = models_directory()
    present = {short: folder for short, folder in SHIPPED.items() if (root / folder / "config.json").is_file()}
    try:
        checkpoint = locate("reward", entry.hub_id if entry is not None and published is None else name, present)
    except ValueError as error:
        message = str(error).replace("shipped name (", "shipped name (exact, era, keywords, ")
        named = {"one of proteins or reactions": [*OF_SEQUENCES[:-1], "species:NAME"], "the paper's": PUBLISHED}
        named["a text's likelihood"] = list(packaged("causal"))
        named["Skywork-Reward-V2's"] = SKYWORK_V2
        more = "".join(f", nor {whose} ({', '.join(names)})" for whose, names in named.items())
        near = meant(name, ["exact", *SHIPPED, *OF_WORLDS, *(name for names in named.values() for name in names)])
        raise ValueError(message.replace(", nor a dir", f"{more}, nor MODULE:NAME, nor a dir") + near) from error
    return checkpoint, entry


def check_reward_name(name: str) -> None:
    """Raise ValueError, listing the names that there are, for a name that `loading.load_reward` does not know.

    >>> check_reward_name("exact"), check_reward_name("mini")
    (None, None)
    """
    if is_of_sequences(name):
        check_sequence_reward(name)
    elif is_likelihood(name):
        distribution_of("reward", packaged("causal")[name])
    elif is_of_module(name):
        module_file(name)
    elif name != "exact" and not is_of_world(name):
        locate_reward(name)
