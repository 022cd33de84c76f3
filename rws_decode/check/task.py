"""What every digest asks of a model: fixed texts, prompts, canvases and strategies."""

from __future__ import annotations

from collections.abc import Sequence

from rws_decode.predictors.base import MaskPredictor
from rws_decode.predictors.huggingface import HFMaskPredictor
from rws_decode.predictors.world import WorldPredictor
from rws_decode.settings import Shape

# What tokenizers treat in different ways: case, digits, blanks, line ends, other scripts, names of special tokens.
TEXTS = (
    "The cat sat on the mat.",
    "the cat and a dog , it was red",
    "In 1999, 12345.678 people paid $3.50 (or 20%).",
    "  two blanks,\ttab\nline end\r\n\n",
    "naïve café — 東京の猫 🐈 שלום",
    "def f(x):\n    return x ** 2  # square",
    "[MASK] <s> </s> <|endoftext|> <|eot_id|> [CLS] <|mdm_mask|>",
    "antidisestablishmentarianism don't can't I'll",
    "",
)
TURNS = ("What is a cat?", "An animal.", "And a dog?")

PROMPTS = (
    "What is the capital of France?",
    "Write a short story about a cat and a dog.",
    "If 3 pens cost 6 dollars, how much do 5 pens cost?",
    "Name three things that every kitchen needs.",
)
SHAPE = Shape(32, 16, 32)
STRATEGIES = ("default", "temperature:4")
GUIDED = "rws:8"


def usual_prompts(predictor: MaskPredictor) -> tuple[str | tuple[int, ...], ...]:
    """Return the first prompts that ship with a model, or `PROMPTS`; ValueError for one that reads ids alone."""
    if isinstance(predictor, HFMaskPredictor | WorldPredictor) and predictor.prompts:
        return tuple(predictor.prompts[: len(PROMPTS)])
    try:
        predictor.encode_prompt(PROMPTS[0])
    except ValueError:
        raise ValueError(
            f"prompts are missing: {predictor.name} reads no text, give token ids (--input-ids on the command line)"
        ) from None
    return PROMPTS


def half_filled(ids: Sequence[int], count: int, mask_id: int) -> list[int]:
    """Return what stands in `count` answer positions of a fixed canvas: masks, and in turn the prompt's ids.

    >>> half_filled([5, 6, 7], 4, mask_id=0)
    [0, 6, 0, 5]
    """
    words = [token for token in ids if token != mask_id]
    return [words[i % len(words)] if i % 2 and words else mask_id for i in range(count)]
