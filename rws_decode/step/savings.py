"""What a decode may leave out without another outcome, each part to be switched off alone."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Savings"]


@dataclass(frozen=True)
class Savings:
    """Work that a decode leaves out, and how much memory it takes. The text is the same with each of them on or off,
    and so are the tokens up to its end; `settled` alone changes what stands after it.

    reuse: a text that was scored before for the same row is not scored again. cache: a causal reward model keeps its
    keys and values up to the first token that changed, where it can (`rewards.RewardSession`). certain: the reward is
    not asked at a step whose choice is proved to be the same for every factor that a reward within the model's bounds
    can give (`certainty.certain`, `rewards.bounds`; only for log-odds in float64); the trace says so, and has no factor
    there. block_only: without a reward, the completion is computed for the current block alone, and the trace has no
    other candidates; tokens that are drawn are drawn everywhere all the same. settled: a row ends once its text cannot
    change, that is once an end-of-text token and all before it are committed; what is left is filled with that token.
    spread: by how large a share prompt and answer of a row may be longer than the shortest of its batch, as what is
    padded is computed in vain; None for no limit, and batches of any lengths. memory: bytes that the logits of a batch
    may take, as `batches.batches` counts them; at least 1.

    Off by default is what leaves something out of the trace, and what parts batches.

    >>> Savings().reuse, Savings().settled, Savings.everything().settled
    (True, False, True)
    """

    reuse: bool = True
    cache: bool = True
    certain: bool = False
    block_only: bool = False
    settled: bool = False
    spread: float | None = None
    memory: int = 2**30

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError(f"memory is {self.memory}: at least 1 byte is needed")
        if self.spread is not None and not self.spread >= 0:
            raise ValueError(f"spread is {self.spread}: a share, at least 0, or None is needed")

    @classmethod
    def everything(cls, memory: int = 2**30) -> Savings:
        """Return all savings at once."""
        return cls(certain=True, block_only=True, settled=True, spread=0.125, memory=memory)

    @classmethod
    def nothing(cls, memory: int = 2**30) -> Savings:
        """Return no saving at all."""
        return cls(reuse=False, cache=False, memory=memory)
