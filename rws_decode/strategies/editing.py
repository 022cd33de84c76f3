"""LLaDA2.1's strategy, which replaces committed tokens by others."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, likely
from rws_decode.strategies.numbers import checked, number
from rws_decode.strategies.protocol import MaskedPositions


@dataclass(frozen=True, repr=False)
class Edit(Counted):
    r"""Commit all positions of probability tau or more, and replace the block's tokens by surer ones.

    A committed token gives way to the best one at its position, or the drawn one, where that is another and has more
    than `edit` of the probability, by logits that see all tokens. (So in an exact world, where a token that is seen is
    certain, none gives way.) A block without masks takes at most `after` more
    forwards, and is done with the first that replaces nothing (github.com/ZHZisZZ/dllm, pipelines/llada21/sampler.py).

    edit: from 0 to 1; at 1 nothing is replaced, and a full block still takes a forward. threshold: tau, as of
    `Threshold`. A factor scales what both are compared with: RWS moves when positions are committed, and also which
    tokens give way. That of the step that fills a block holds for its further forwards, which ask no reward.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> mini = load_predictor("mini")
    >>> (run,) = decode(mini, mini.prompts[0], Edit(0.5, threshold=0.2), Shape(32, 32, 32))
    >>> run.revisions > 0, run.forwards > run.steps_run
    (True, True)
    """

    edit: float = number(
        "the probability above which a token replaces another", metavar="P", default=0.9, least=0, most=1, example="0.9"
    )
    threshold: float = number(
        "the least probability of what is committed", metavar="P", default=0.95, above=0, below=1, example="0.9"
    )
    after: int = checked(16, least=0, example="16")
    name = "edit"

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row have the probability, int64 [rows]."""
        return likely(view, self.threshold)

    def edits(self, log_odds: Tensor) -> Tensor:
        """Return whether tokens of these log-odds replace others, bool [M]."""
        return torch.sigmoid(log_odds) > self.edit
