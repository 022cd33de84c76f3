"""What all reward models share that read token ids with a network of transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rws_decode.common.reward_face import reward_html
from rws_decode.networks.size import parameters_of
from rws_decode.networks.stand_in import StandIn
from rws_decode.rewards.base import check_statistics
from rws_decode.rewards.templates import Template
from rws_decode.text.dialogue import Dialogue
from rws_theory.show import clipped, figures, quoted

__all__ = ["NetworkReward", "check_one_output", "hidden_states"]


_LAYOUTS: dict[Template, str] = {
    "pair": "a pair of texts",
    "chat": "messages of its chat",
    "instruct": "an exchange in [INST]",
}


class NetworkReward(StandIn):
    """A network, its tokenizer, the layout of its texts, and the normalisation of its scores.

    encode: prompt, answer -> token ids (`templates.text_encoder`), laid out as `template` says. batch_size: texts that
    are read at once. originals: as in `networks.stand_in.StandIn`. `max_length`: the longest text that is read, in
    tokens. ValueError unless mean is finite and std positive and finite.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        encode: Callable[[str | Dialogue, str], list[int]],
        *,
        mean: float,
        std: float,
        name: str,
        template: Template,
        batch_size: int,
        originals: Callable[[], tuple[Any, Any]] | None = None,
    ) -> None:
        check_statistics(name, mean, std)
        super().__init__(model, tokenizer, originals)
        self.encode = encode
        self.name = name
        self.mean = float(mean)
        self.std = float(std)
        self.template: Template = template
        self.batch_size = batch_size
        limits = (getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length)
        self.max_length = min(limit for limit in limits if limit is not None)

    def __repr__(self) -> str:
        statistics = f"mean={figures(self.mean)}, std={figures(self.std)}"
        about = f"{parameters_of(self.network)}, {self.template} text, {statistics}"
        return clipped(f"{type(self).__name__}({quoted(self.name)}, {about})")

    def _repr_html_(self) -> str:
        reads = f"prompt and answer as {_LAYOUTS[self.template]}, at most {self.max_length:,} tokens"
        device = str(next(self.network.parameters()).device)
        return reward_html(self, reads, network=parameters_of(self.network), device=device)

    def ids(self, prompt: str | Dialogue, answer: str) -> list[int]:
        """Return the token ids of a pair; ValueError for none, or more than the model reads: nothing is cut off."""
        ids = self.encode(prompt, answer)
        self.check_length(len(ids))
        return ids

    def check_length(self, tokens: int) -> None:
        """Raise ValueError unless the model reads a text of so many tokens."""
        if not 0 < tokens <= self.max_length:
            raise ValueError(
                f"prompt and answer make {tokens} tokens: reward model {self.name} reads 1 to {self.max_length}"
            )


def check_one_output(name: str, model: Any) -> None:
    """Raise ValueError, naming the reward model, unless its network has one output."""
    if model.config.num_labels != 1:
        raise ValueError(f"reward model {name} has {model.config.num_labels} outputs: 1 is needed")


def hidden_states(model: Any, texts: Sequence[list[int]]) -> Tensor:
    """Return a causal network's last hidden states [B, L, h] of texts given by ids, read in one batch.

    Texts are filled up on the right. No token before the padding sees it, so any id will do, without a mask.
    """
    rows = [torch.tensor(ids, device=model.device) for ids in texts]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return model.base_model(input_ids=padded, use_cache=False).last_hidden_state
