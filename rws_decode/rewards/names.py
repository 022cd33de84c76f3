"""The names of reward models, told without PyTorch, so that a misspelt one is refused at once."""

from __future__ import annotations

from pathlib import Path

from rws_decode.checkpoints.files import Checkpoint, locate, models_directory
from rws_decode.rewards.registry import PUBLISHED, SKYWORK_V2, KnownReward, known_reward

SHIPPED = {"mini": "mini-reward", "mini-judge": "mini-judge"}

# Rewards of the English world, `keywords` also with words of its own: keywords:WORD,WORD,...
OF_WORLDS = ("era", "keywords")


def is_of_world(name: str) -> bool:
    """Return whether a name is that of a reward of the English world; a directory of that name comes first.

    >>> is_of_world("keywords:peace,war"), is_of_world("mini")
    (True, False)
    """
    return name.partition(":")[0] in OF_WORLDS and not Path(name).is_dir()


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
        paper = (
            f", nor the paper's ({', '.join(PUBLISHED)}), nor Skywork-Reward-V2's ({', '.join(SKYWORK_V2)}), nor a dir"
        )
        raise ValueError(message.replace(", nor a dir", paper)) from error
    return checkpoint, entry


def check_reward_name(name: str) -> None:
    """Raise ValueError, listing the names that there are, for a name that `loading.load_reward` does not know.

    >>> check_reward_name("exact"), check_reward_name("mini")
    (None, None)
    """
    if name != "exact" and not is_of_world(name):
        locate_reward(name)
