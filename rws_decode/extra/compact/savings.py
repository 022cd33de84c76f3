"""Options of the compact decoder: work that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.arguments import use_plain_numbers
from rws_theory.checks import whole


@dataclass(frozen=True)
class CompactSavings:
    """Work that `decode_compact` saves; the text is the same with each of them on or off, up to rounding.

    graphs: forwards of a Llama-like predictor or reward model are laid out anew (`LeanLlama`), recorded once per shape
    as CUDA graphs and replayed; off, the models' own forwards run. places: the head is applied to masked positions
    alone. block_only: without a reward, to those of the current block alone. certain: the reward is not asked at a step
    whose choice is proved to be the same for every factor that a reward can give. reuse: a text that was scored before
    for the same row is not scored again. settled: a batch stops at the end of a block once all of its rows have ended.
    memory: bytes that the logits of a batch may take (2 GiB): 16 rows of 256 tokens of LLaDA in bfloat16, say.

    >>> CompactSavings().graphs, CompactSavings.nothing().graphs
    (True, False)
    """

    graphs: bool = True
    places: bool = True
    block_only: bool = True
    certain: bool = True
    reuse: bool = True
    settled: bool = True
    memory: int = 2**31

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        whole("memory", self.memory)

    @classmethod
    def usual(cls, memory: int = 2**31) -> CompactSavings:
        """Return what leaves nothing out of a trace: every factor, every candidate and every step is there."""
        return cls(block_only=False, certain=False, settled=False, memory=memory)

    @classmethod
    def nothing(cls, memory: int = 2**31) -> CompactSavings:
        """Return no saving at all."""
        return cls(False, False, False, False, False, False, memory)
