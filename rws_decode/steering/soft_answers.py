"""Answers whose masked positions hold mixtures of a predictor's tokens, as a reward model reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

import torch
from torch import Tensor

from rws_decode.canvas.layout import forbidden_tokens
from rws_decode.predictors.base import MaskPredictor, before_end, ends_of, tokenizer_of
from rws_decode.predictors.world import WorldPredictor
from rws_decode.rewards.base import RewardModel, SoftReward
from rws_decode.text.dialogue import Dialogue
from rws_decode.text.gaps import filled


class SoftAnswers:
    """Scores of answers of mixed tokens, in the vocabulary that a predictor and a reward model share.

    Tokens are matched by their names. The shares of special tokens that the reward model lacks count for nothing.
    ValueError for a reward model that is no `SoftReward`, for one that lacks a token which the predictor writes, and
    for a predictor without a vocabulary, or whose words stand in another order than those of its text.

    >>> from rws_decode.predictors import load_predictor
    >>> from rws_decode.rewards import load_reward
    >>> answers = SoftAnswers(load_predictor("english"), load_reward("keywords:peace"))
    >>> shares = torch.zeros(1, answers.predictor.vocab_size)
    >>> shares[0, answers.predictor.encode_prompt("peace war")] = torch.tensor([0.25, 0.75])
    >>> float(answers.score("we want", [], answers.predictor.encode_prompt("war and war"), [2], shares))
    0.25
    """

    def __init__(self, predictor: MaskPredictor, reward: RewardModel) -> None:
        if not isinstance(reward, SoftReward):
            raise ValueError(
                f"reward is {reward.name}: gradients need one that reads mixtures of tokens "
                "(rewards.base.SoftReward), such as load_reward('era')"
            )
        self.predictor, self.reward = predictor, reward
        self._known = _shared(predictor, reward)
        self._width = max(reward.vocabulary.values()) + 1
        self._writes: dict[int, bool] = {}
        # Tensors of inference mode would not do for autograd.
        with torch.inference_mode(False):
            self._columns = torch.tensor(list(self._known), device=predictor.device)
            self._ids = torch.tensor(list(self._known.values()), device=predictor.device)

    def score(
        self,
        prompt: str | Dialogue,
        rest: Sequence[int],
        tokens: Sequence[int],
        positions: Sequence[int],
        mixtures: Tensor,
    ) -> Tensor:
        """Return the raw score of an answer, a scalar that autograd follows.

        rest: what follows the text of a prompt with gaps, as `Scorer` has it; tokens: the answer's n ids, of which
        those at `positions` do not count; mixtures: [N, V], the shares of the predictor's tokens at these N positions.
        The text ends where the likeliest tokens end it.
        """
        likely = [int(token) for token in tokens]
        for position, token in zip(positions, mixtures.argmax(dim=-1).tolist(), strict=True):
            likely[position] = token
        # Answer positions as negative numbers: no id is one.
        numbers = [-1 - position for position in range(len(likely))]
        places = filled(rest, numbers, self.predictor.mask_id) if rest else numbers
        text = [likely[-1 - place] if place < 0 else place for place in places]
        until = len(before_end(text, ends_of(self.predictor)))
        written = [at < until and self._is_written(token) for at, token in enumerate(text)]
        mixed = {-1 - position: index for index, position in enumerate(positions)}
        shares = mixtures.new_zeros(len(text), self._width)
        for at, (place, token) in enumerate(zip(places, text, strict=True)):
            if place not in mixed and token in self._known:
                shares[at, self._known[token]] = 1.0
        own = mixtures.new_zeros(len(mixtures), self._width).index_add(1, self._ids, mixtures[:, self._columns])
        at = [at for at, place in enumerate(places) if place in mixed]
        index = [mixed[places[one]] for one in at]
        shares = shares.index_put((torch.tensor(at, device=shares.device),), own[index])
        return self.reward.soft_score(prompt, shares, torch.tensor(written, device=shares.device))

    def _is_written(self, token: int) -> bool:
        if token not in self._writes:
            self._writes[token] = token in self._known and bool(self.predictor.decode_answer([token]))
        return self._writes[token]


def _shared(predictor: MaskPredictor, reward: SoftReward) -> dict[int, int]:
    """Return the reward model's id of each token of the predictor."""
    named, known = _vocabulary(predictor), reward.vocabulary
    silent = set(forbidden_tokens(predictor).tolist())
    for name, token in sorted(named.items(), key=itemgetter(1)):
        if name not in known and token not in silent and predictor.decode_answer([token]):
            raise ValueError(
                f"reward is {reward.name}: it must share the vocabulary of predictor {predictor.name}, and lacks "
                f"its token {name!r}"
            )
    return {token: known[name] for name, token in named.items() if name in known}


def _vocabulary(predictor: MaskPredictor) -> Mapping[str, int]:
    """Return the id of each token of the predictor by its name."""
    if isinstance(predictor, WorldPredictor):
        return {word: number for number, word in enumerate(predictor.words.words)}
    codec = tokenizer_of(predictor)
    if codec is None:
        raise ValueError(f"predictor is {predictor.name}: it has no tokenizer, and gradients need its vocabulary")
    return codec.get_vocab()
