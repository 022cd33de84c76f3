"""The paper's six reward models: where they are, how their text is laid out, and the statistics that normalise them.

Not confirmed from public sources: which of Skywork's two versions the paper ran; the revision of the first that its
authors ran; whether the end-of-text token that RewardBench's Mistral template puts after an answer was there when the
paper scored with Eurus (its card shows texts without it); and the paper's own dtype and text layout of any of them.
Intern's own `get_score` reads two beginning-of-text tokens where template and tokenizer both put one; RewardBench
reads one, and so does this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from rws_decode.rewards.templates import Template

__all__ = ["PUBLISHED", "STATISTICS", "Layout", "PublishedReward", "layout_of", "published_reward"]

Layout = Literal["plain", "internlm2", "eurus", "quantile"]

STATISTICS = "Table 7, Appendix C (Reward Normalization Statistics)"


@dataclass(frozen=True)
class PublishedReward:
    """One of the paper's reward models.

    name, hub_id, revision (a full commit, None where it is not known and the user must give it); paper: its row in the
    paper's tables; architecture: its class in config.json; layout: how its weights are named and its score is read
    (`heads`); template: how its text is laid out (`templates.text_encoder`); mean, std: mu_R and sigma_R of the raw
    score, as printed in `STATISTICS`; licence: of the weights, as their page names it.

    Rules of all six: a text has exactly one beginning-of-text token; a text that is longer than the model reads is
    refused, so what the score is read from is never cut off (`truncation`); the score is read at the last token of
    the text, found by its length, and padding comes after it, so that no padding token can be taken for it
    (`padding`).
    """

    name: str
    paper: str
    hub_id: str
    revision: str | None
    architecture: str
    layout: Layout
    template: Template
    mean: float
    std: float
    licence: str
    truncation: Literal["refuse"] = "refuse"
    padding: Literal["by length"] = "by length"


_LLAMA = "LlamaForSequenceClassification"

PUBLISHED: dict[str, PublishedReward] = {
    entry.name: entry
    for entry in (
        PublishedReward(
            name="skywork",
            paper="Skywork",
            hub_id="Skywork/Skywork-Reward-Llama-3.1-8B",
            revision=None,
            architecture=_LLAMA,
            layout="plain",
            template="chat",
            mean=-4.95,
            std=11.18,
            licence="Skywork Community License",
        ),
        PublishedReward(
            name="skywork-v0.2",
            paper="Skywork",
            hub_id="Skywork/Skywork-Reward-Llama-3.1-8B-v0.2",
            revision="d4117fbfd81b72f41b96341238baa1e3e90a4ce1",
            architecture=_LLAMA,
            layout="plain",
            template="chat",
            mean=-4.95,
            std=11.18,
            licence="Skywork Community License",
        ),
        PublishedReward(
            name="llamaob",
            paper="LlamaOB",
            hub_id="NCSOFT/Llama-3-OffsetBias-RM-8B",
            revision="92f40e79e8ff672c94f0f23001af08702ffd707f",
            architecture=_LLAMA,
            layout="plain",
            template="chat",
            mean=-3.57,
            std=2.69,
            licence="llama3",
        ),
        PublishedReward(
            name="intern",
            paper="Intern",
            hub_id="internlm/internlm2-7b-reward",
            revision="71a164e9f2ded78f271807e5d4075ddc88567414",
            architecture="InternLM2ForRewardModel",
            layout="internlm2",
            template="chat",
            mean=0.95,
            std=1.32,
            licence="other (InternLM)",
        ),
        PublishedReward(
            name="eurus",
            paper="Eurus",
            hub_id="openbmb/Eurus-RM-7b",
            revision="6396a8e86c6263a9a940610013414cd8b47bb690",
            architecture="EurusRewardModel",
            layout="eurus",
            template="instruct",
            mean=954.75,
            std=1697.11,
            licence="apache-2.0",
        ),
        PublishedReward(
            name="grm",
            paper="GRM",
            hub_id="Ray2333/GRM-Llama3.2-3B-rewardmodel-ft",
            revision="e3dc5ec01e8bc982eb7c423fbffa0b76ad201006",
            architecture=_LLAMA,
            layout="plain",
            template="chat",
            mean=-2.99,
            std=3.84,
            licence="apache-2.0",
        ),
        PublishedReward(
            name="qrm",
            paper="QRM",
            hub_id="nicolinho/QRM-Llama3.1-8B",
            revision="74280eebb9580bfecff5d0b2edb81f7d6186a204",
            architecture="LlamaForRewardModelWithGating",
            layout="quantile",
            template="chat",
            mean=0.78,
            std=0.14,
            licence="llama3",
        ),
    )
}


def published_reward(name: str) -> PublishedReward | None:
    """Return the paper's reward model of that short name or hub id; None for any other name.

    >>> published_reward("openbmb/Eurus-RM-7b") is published_reward("eurus")
    True
    >>> published_reward("mini") is None
    True
    """
    return next((entry for entry in PUBLISHED.values() if name in (entry.name, entry.hub_id)), None)


def layout_of(config: Any) -> Layout:
    """Return how the weights of a config.json are named; "plain": as transformers names them.

    >>> layout_of({"architectures": ["EurusRewardModel"]})
    'eurus'
    """
    architectures = config.get("architectures") if isinstance(config, dict) else None
    named = architectures[0] if isinstance(architectures, list) and architectures else None
    for entry in PUBLISHED.values():
        if entry.architecture == named:
            return entry.layout
    return get_args(Layout)[0]
