"""Rewards of mixtures of tokens, with a gradient by their shares: by a network, or as an expectation."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from rws_decode.common.threads import torch_threads
from rws_decode.predictors.masked_language_model import with_forward
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.network import NetworkReward, SequenceClassifierReward
from rws_decode.rewards.world import WorldReward
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.text.prompt_ids import encoded


@runtime_checkable
class SoftReward(Protocol):
    """A reward model that also reads mixtures of tokens. `vocabulary`: the id of each token by its name."""

    @property
    def vocabulary(self) -> Mapping[str, int]: ...

    def soft_score(self, prompt: Any, mixtures: Tensor, written: Tensor) -> Tensor:
        """Return the raw score of one answer, a scalar that autograd follows.

        mixtures: [n, V], the shares of the model's own tokens at each position of the answer; for single tokens the
        score is that of the text. written: bool [n], the positions that the text shows; a model that reads an end of
        text by itself may use all of them.
        """
        ...


def soft_reward(reward: RewardModel) -> SoftReward | None:
    """Return a reward model that reads mixtures: itself if it does, else one of its kind; None for other kinds."""
    if isinstance(reward, SoftReward):
        return reward
    if isinstance(reward, NetworkReward):
        return SoftNetwork(reward)
    return SoftWords(reward) if isinstance(reward, WorldReward) else None


class Frame(NamedTuple):
    """The layout of a prompt and an answer of one token: the answer, its place among the token ids, and the ids."""

    answer: str
    begin: int
    ids: list[int]

    def holding(self, tokens: int) -> list[int]:
        """Return the ids of an answer that holds the token so many times."""
        return [*self.ids[: self.begin], *[self.ids[self.begin]] * tokens, *self.ids[self.begin + 1 :]]


class SoftNetwork:
    """A network that reads the mixture of the tokens' embeddings."""

    def __init__(self, reward: NetworkReward) -> None:
        self.reward = reward

    @property
    def vocabulary(self) -> dict[str, int]:
        return self.reward.tokenizer.get_vocab()

    def soft_score(self, prompt: str | Dialogue, mixtures: Tensor, written: Tensor) -> Tensor:
        """Return the raw score; of the answer only written positions are read, after template and prompt.

        mixtures: [n, V]; written: bool [n]. ValueError for more tokens than the model reads, and as in `frame`.
        """
        frame, shares = self.frame(prompt), mixtures[written]
        count, network = len(shares), self.reward.model
        self.reward.check_length(len(frame.ids) - 1 + count)
        layer = network.get_input_embeddings()
        ids = torch.arange(shares.shape[1], device=layer.weight.device)
        table = layer.weight[: len(ids)] if type(layer) is nn.Embedding else layer(ids)
        mixed = (shares.to(table) @ table)[None]

        def in_place(read: Tensor) -> Tensor:
            embedded = layer.forward(read)
            return torch.cat([embedded[:, : frame.begin], mixed, embedded[:, frame.begin + count :]], dim=1)

        changed = copy(self.reward)
        changed.model = with_forward(network, layer, in_place)
        with torch_threads():
            if not isinstance(changed, SequenceClassifierReward):
                return changed.read([frame.holding(count)])[0]
            texts = [as_dialogue(prompt).text], [frame.answer]
            pair = encoded(changed.tokenizer, *texts, split_special_tokens=True, return_tensors="pt")
            begin = frame.begin
            fields = {  # token types, too
                name: torch.cat([field[:, :begin], field[:, [begin] * count], field[:, begin + 1 :]], dim=1)
                for name, field in pair.to(network.device).items()
            }
            return changed.model(**fields).logits[0, 0]

    def frame(self, prompt: str | Dialogue) -> Frame:
        """Return the layout of an answer after a prompt: the place where two answers of one token differ.

        ValueError if no two of the first tokens differ in one place.
        """
        for word, other in pairwise(self._some_words):
            ids, others = self.reward.ids(prompt, word), self.reward.ids(prompt, other)
            differ = [place for place, (one, two) in enumerate(zip(ids, others, strict=False)) if one != two]
            if len(ids) == len(others) and len(differ) == 1:
                return Frame(word, differ[0], ids)
        raise ValueError(
            f"reward model {self.reward.name} lays no two words out alike: it cannot read mixtures of tokens"
        )

    @cached_property
    def _some_words(self) -> list[str]:
        """Return the texts of the first 64 tokens that have one."""
        decode = self.reward.tokenizer.decode
        texts = (decode([token], skip_special_tokens=True) for token in sorted(self.vocabulary.values()))
        return list(islice((text for text in texts if text.strip()), 64))


class SoftWords:
    """The expectation of a sum over tokens that are sampled independently, each from its shares."""

    def __init__(self, reward: WorldReward) -> None:
        self.reward = reward

    @property
    def vocabulary(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.reward.words.words)}

    def soft_score(self, prompt: str | Dialogue, mixtures: Tensor, written: Tensor) -> Tensor:
        """Return the expectation, exactly: the automaton runs over the probabilities of its states, [n, states] in all.

        The end of text is among them. mixtures: [n, V]; written: not used.
        """
        automaton = self.reward.world_reward
        following, adds = (torch.from_numpy(x).to(mixtures.device) for x in (automaton.following, automaton.reward))
        state = mixtures.new_zeros(len(following), dtype=torch.float64)
        state[0] = 1.0
        total = state.new_zeros(())
        for shares in mixtures.double():
            joint = state[:, None] * shares  # [states, V]
            total = total + (joint * adds).sum()
            state = torch.zeros_like(state).index_add(0, following.flatten(), joint.flatten())
        return total
