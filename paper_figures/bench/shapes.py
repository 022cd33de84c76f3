"""Sizes of models by name: models are made from them, and the least time of a step follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_theory.checks import one_of

if TYPE_CHECKING:
    from transformers import LlamaConfig


@dataclass(frozen=True)
class LlamaShape:
    """The sizes of a network of Llama's kind."""

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    positions: int
    theta: float = 500_000.0
    eps: float = 1e-5
    rope_factor: float | None = None

    @property
    def head_size(self) -> int:
        """Return the width of an attention head."""
        return self.hidden // self.heads

    def config(self, **more: Any) -> LlamaConfig:
        """Return the config that transformers builds the network from."""
        from transformers import LlamaConfig

        scaling: dict[str, Any] = {"rope_type": "default", "rope_theta": self.theta}
        if self.rope_factor is not None:
            scaling |= {"rope_type": "llama3", "factor": self.rope_factor, "low_freq_factor": 1.0}
            scaling |= {"high_freq_factor": 4.0, "original_max_position_embeddings": self.positions // 16}
        return LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            intermediate_size=self.inner,
            max_position_embeddings=self.positions,
            rms_norm_eps=self.eps,
            rope_parameters=scaling,
            tie_word_embeddings=False,
            use_cache=True,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
            **more,
        )


class Shapes(NamedTuple):
    """A mask predictor's shape and a reward model's; mask and end: the predictor's special tokens."""

    predictor: LlamaShape
    reward: LlamaShape
    mask: int
    end: int


LLADA_8B = LlamaShape("llada-8b", 4096, 32, 32, 32, 12288, 126464, 4096)
LLAMA_31_8B = LlamaShape("llama-3.1-8b", 4096, 32, 32, 8, 14336, 128256, 131072, rope_factor=8.0)

# name -> what `bench --shape NAME` builds. Mask and end of llada-8b are LLaDA's own ids.
SHAPES = {
    "llada-8b": Shapes(LLADA_8B, LLAMA_31_8B, mask=126336, end=126081),
    "small": Shapes(
        LlamaShape("small", 128, 4, 4, 4, 384, 2048, 1024),
        LlamaShape("small-reward", 128, 4, 4, 2, 448, 2112, 2048, rope_factor=8.0),
        mask=2040,
        end=2041,
    ),
    "tiny": Shapes(
        LlamaShape("tiny", 32, 2, 2, 2, 48, 96, 256),
        LlamaShape("tiny-reward", 32, 2, 2, 1, 64, 104, 256, rope_factor=8.0),
        mask=90,
        end=91,
    ),
}


def shapes_named(name: str) -> Shapes:
    """Return the shapes of a name; ValueError, naming those there are, for another.

    >>> shapes_named("llada-8b").predictor.layers
    32
    """
    one_of("shape", name, SHAPES)
    return SHAPES[name]
