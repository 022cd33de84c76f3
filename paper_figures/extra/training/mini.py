"""Training `mini`, the masked diffusion model of the story language.

The finishing phase minimises the masked diffusion objective (Sahoo et al. 2024; Nie et al. 2025): mask rate t uniform
in (0, 1], every answer token masked with probability t, cross-entropy on masked tokens weighted 1/t, the prompt never
masked. A curriculum comes first, plain cross-entropy at mask rates that grow, because copying a word over a
distance is learned only where most of the context can be seen. In between, odd rows are masked as block-wise decoding
meets them; on uniform masks alone the model let end-of-text spread to the left and ended its stories early. Up to
step `even` all wordings and plots are sampled equally often. With the usual wordings from the start, whose ending is
far from what it depends on, the model never learned to connect them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import ModernBertConfig, ModernBertForMaskedLM, PreTrainedTokenizerFast

from paper_figures.extra.training.evaluate import decode_tasks, held_out, nelbo
from paper_figures.extra.training.loop import Run, Schedule, fit, seeded
from paper_figures.extra.training.objective import (
    decoding_loss,
    decoding_masks,
    encode_tasks,
    mask_rates,
    masked_loss,
    special_id,
    story_tokenizer,
)
from rws_decode.predictors import HFMaskPredictor

if TYPE_CHECKING:
    from paper_figures.extra.story_tasks import Task

# How often each kind of task is seen; the paper's main task, keywords to story, most.
MIX: tuple[tuple[float, str, str], ...] = (
    (0.58, "keywords", "short"),
    (0.10, "keywords", "medium"),
    (0.04, "keywords", "long"),
    (0.14, "continuation", "short"),
    (0.02, "continuation", "medium"),
    (0.06, "dialogue", "short"),
    (0.06, "puzzle", "short"),
)


# Not among the parameters that the config declares.
_ATTENTION: dict[str, Any] = {"attn_implementation": "sdpa"}


@dataclass(frozen=True)
class MiniRecipe:
    """Everything that decides the weights of `mini`."""

    seed: int = 0
    batch: int = 32
    hidden: int = 192
    layers: int = 5
    heads: int = 4
    intermediate: int = 384
    lr: float = 3e-3
    curriculum: tuple[int, int] = (780, 1560)
    decoding: tuple[tuple[int, int], ...] = ((3000, 4200), (4500, 4980))
    even: int = 4500
    schedule: Schedule = (
        (0, 0.0), (100, 1.0), (1560, 1.0), (1800, 0.769), (3000, 0.308), (3800, 0.3), (4500, 0.0),
        (4550, 0.35), (4920, 0.3), (5100, 0.0),
    )  # fmt: skip
    mimetic: float = 0.5


def build_mini(recipe: MiniRecipe, tokenizer: PreTrainedTokenizerFast) -> ModernBertForMaskedLM:
    """Build the untrained network: a bidirectional transformer with rotary positions and global attention.

    Value and output projections start as transposes of each other, scaled by `mimetic`, so that every head begins by
    copying what it attends to (after Trockman and Kolter 2023); with tied embeddings this is a copy to the logits.
    """
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        max_position_embeddings=512,
        layer_types=["full_attention"] * recipe.layers,
        pad_token_id=special_id(tokenizer, "pad"),
        bos_token_id=None,
        eos_token_id=special_id(tokenizer, "eos"),
        cls_token_id=special_id(tokenizer, "cls"),
        sep_token_id=special_id(tokenizer, "sep"),
        tie_word_embeddings=True,
        **_ATTENTION,
    )
    config.mask_token_id = tokenizer.mask_token_id
    model = seeded(recipe.seed, lambda: ModernBertForMaskedLM(config))
    with torch.no_grad():
        for layer in model.model.layers:
            value = layer.attn.Wqkv.weight[2 * recipe.hidden :]
            nn.init.orthogonal_(value, generator=torch.Generator().manual_seed(recipe.seed))
            value.mul_(recipe.mimetic**0.5)
            layer.attn.Wo.weight.copy_(value.T)
    return model


def draw_batch(rng: Random, batch: int, split: str = "mini", *, even: bool = False) -> list[Task]:
    """Draw a batch of one kind of task, so that little of it is padding."""
    from paper_figures.extra.story_tasks import sample_split

    kind, band = rng.choices([m[1:] for m in MIX], [m[0] for m in MIX])[0]
    return [sample_split(rng, split, kind, band, even=even) for _ in range(batch)]


def train_mini(run: Run, recipe: MiniRecipe) -> ModernBertForMaskedLM:
    """Train `mini` by the recipe, resuming from the run's last checkpoint.

    The batch of step n depends on (seed, n) alone, so an interrupted run ends in the same weights.
    """
    tokenizer = story_tokenizer()
    model, mask = build_mini(recipe, tokenizer), special_id(tokenizer, "mask")

    def loss(step: int) -> tuple[Tensor, dict[str, float]]:
        rng = Random(f"{recipe.seed}-{step}")
        ids, canvas, attend = encode_tasks(draw_batch(rng, recipe.batch, even=step < recipe.even), tokenizer)
        draws = np.random.default_rng([recipe.seed, step])
        rate, weighted = mask_rates(step, recipe.curriculum, recipe.batch, draws)
        generator = torch.Generator().manual_seed(step)
        if any(first <= step < last for first, last in recipe.decoding):
            masked = decoding_masks(ids, canvas, special_id(tokenizer, "eos"), 32, draws)
            value, accuracy = decoding_loss(model, ids, canvas, attend, masked, rate, mask, generator)
        else:
            value, accuracy = masked_loss(model, ids, canvas, attend, rate, mask, generator, weighted)
        return value, {"masked_accuracy": float(accuracy), "tokens": float(attend.sum())}

    stories = held_out("validation", 24)

    def evaluate() -> dict[str, float]:
        judged = decode_tasks(HFMaskPredictor(model, tokenizer, name="mini"), stories)
        coherence = sum(judgement.coherent for judgement in judged) / len(judged)
        return {"coherence": coherence, "nelbo": nelbo(model, tokenizer, stories, 2)[0]}

    fit(run, model, loss, schedule=recipe.schedule, lr=recipe.lr, recipe=asdict(recipe), evaluate=evaluate)
    return model
