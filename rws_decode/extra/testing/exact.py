"""Exact models as mask predictors, so that results of the decoder can be compared with the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.predictors.callable import CallablePredictor
from rws_decode.rewards.callable import CallableReward
from rws_theory.worlds.joint_table import MASK, MaskedModel


def exact_predictor(model: MaskedModel, name: str = "exact") -> CallablePredictor:
    """Wrap a joint table or Markov chain as a mask predictor: its logits are exact log-probabilities.

    Logits are float64 [B, L, V + 1] for tokens 0 .. V - 1 and the mask, whose id is V; prompt and answer together are
    the model's sequence, the prompt being revealed tokens, so a joint table needs as many tokens in all as it has
    positions. -inf marks the mask and every token that the revealed ones exclude: never committed. As text,
    tokens are numbers between blanks; there is no padding and no end of text. ValueError, from the model, for revealed
    tokens of probability 0 or a length it does not have.

    >>> from rws_decode.decode import decode
    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> from rws_decode.settings import Shape
    >>> (trace,) = decode(predictor, ["0"], Confidence(), Shape(1, 1, 1))
    >>> trace.text, trace.value.round(4).tolist()  # log(3 / 1)
    ('0', [[1.0986]])
    """
    mask_id = model.vocabulary

    def logits(canvas: Tensor) -> Tensor:
        shown = np.where(canvas.cpu().numpy() == mask_id, MASK, canvas.cpu().numpy())  # [B, L]
        rows = np.stack([model.conditionals(row) for row in shown])  # [B, L, V]
        closed = np.full((*shown.shape, 1), -np.inf)
        return torch.from_numpy(np.concatenate([rows, closed], axis=-1)).to(canvas.device)

    return _of_numbers(model, logits, name)


def _of_numbers(model: MaskedModel, logits: Callable[[Tensor], Tensor], name: str) -> CallablePredictor:
    return CallablePredictor(
        logits,
        mask_id=model.vocabulary,
        vocab_size=model.vocabulary + 1,
        max_length=model.length,
        encode=lambda text: [int(word) for word in text.split()],
        decode=lambda ids: " ".join(map(str, ids)),
        name=name,
    )


def tabulated_predictor(model: MaskedModel, name: str = "exact") -> CallablePredictor:
    """Return `exact_predictor` of a model of few canvases with all of its logits computed once, for many decodes.

    ValueError for a model without a length.

    >>> from rws_theory.worlds.joint_table import JointTable
    >>> table = JointTable(np.log([[3.0, 1.0], [1.0, 5.0]]))
    >>> canvas = torch.tensor([[0, 2]])
    >>> bool((tabulated_predictor(table).logits(canvas, None) == exact_predictor(table).logits(canvas, None)).all())
    True
    """
    if model.length is None:
        raise ValueError(f"model is {model!r}: one of a fixed length is needed, such as a JointTable")
    slow, tokens = exact_predictor(model, name), model.vocabulary + 1
    canvases = torch.cartesian_prod(*[torch.arange(tokens)] * model.length).reshape(-1, model.length)
    logits = slow.logits(canvases, None).reshape(*(tokens,) * model.length, model.length, tokens)
    return _of_numbers(model, lambda canvas: logits[tuple(canvas.T)], name)


def token_reward(
    function: Callable[[Sequence[int]], float], mean: float = 0.0, std: float = 1.0, name: str = "tokens"
) -> CallableReward:
    """Wrap a function of the whole sequence of tokens, prompt included, as a reward of texts of `exact_predictor`.

    mean, std: the normalisation, as in `CallableReward`; `rws_theory.worlds.joint_table.reward_statistics` gives exact
    ones.

    >>> token_reward(sum).score(["1 2"], ["3"])
    [6.0]
    """
    return CallableReward(
        lambda prompt, answer: function([int(word) for word in f"{prompt} {answer}".split()]), mean, std, name
    )


class TableReward(CallableReward):
    """A reward of answers of n tokens by a table, float64 [V] * n; a `steering.SoftReward`.

    >>> reward = TableReward(np.array([[1.0, 2.0], [3.0, 5.0]]))
    >>> reward.score([""], ["1 0"]), float(reward.soft_score("", torch.tensor([[0.5, 0.5], [1.0, 0.0]]), None))
    ([3.0], 2.0)
    """

    def __init__(self, table: NDArray[np.float64], name: str = "table") -> None:
        super().__init__(lambda _, answer: float(table[tuple(int(word) for word in answer.split())]), name=name)
        self._table = torch.from_numpy(table)

    @property
    def vocabulary(self) -> dict[str, int]:
        """Return the id of each token."""
        return {str(token): token for token in range(len(self._table))}

    def soft_score(self, prompt: object, mixtures: Tensor, written: object) -> Tensor:
        """Return the mean over texts whose tokens are sampled from their shares [n, V]; `prompt`, `written` unused."""
        value = self._table
        for shares in mixtures.double():
            value = torch.tensordot(shares, value, 1)
        return value
