"""Training `mini-causal`, the autoregressive model that measures perplexity, on text that `mini` never sees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from paper_figures.extra.training.loop import Run, fit, seeded, warm_flat_decay
from paper_figures.extra.training.objective import special_id, story_tokenizer

if TYPE_CHECKING:
    from paper_figures.extra.story_tasks import Task

# Not among the parameters that the config declares.
_ATTENTION: dict[str, Any] = {"attn_implementation": "sdpa"}


@dataclass(frozen=True)
class CausalRecipe:
    """Everything that decides the weights of `mini-causal`."""

    seed: int = 1
    steps: int = 1500
    batch: int = 32
    hidden: int = 192
    layers: int = 4
    heads: int = 4
    intermediate: int = 384
    lr: float = 3e-3


def build_causal(recipe: CausalRecipe, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Build the untrained network, a small Llama with tied embeddings."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        max_position_embeddings=512,
        pad_token_id=special_id(tokenizer, "pad"),
        bos_token_id=special_id(tokenizer, "cls"),
        eos_token_id=special_id(tokenizer, "eos"),
        tie_word_embeddings=True,
        **_ATTENTION,
    )
    return seeded(recipe.seed, lambda: LlamaForCausalLM(config))


def encode_texts(pairs: list[tuple[str, str]], tokenizer: PreTrainedTokenizerFast) -> tuple[Tensor, Tensor]:
    """Return ids (B, L) of `[CLS] prompt [SEP] answer [EOS]`, padded right, and where answer and end stand (B, L)."""
    rows, starts = [], []
    for prompt, answer in pairs:
        starts.append(len(tokenizer(prompt)["input_ids"]))
        rows.append(tokenizer(prompt, answer)["input_ids"])
    ids = torch.full((len(rows), max(map(len, rows))), special_id(tokenizer, "pad"))
    answer_mask = torch.zeros_like(ids, dtype=torch.bool)
    for i, (row, start) in enumerate(zip(rows, starts, strict=True)):
        ids[i, : len(row)] = torch.tensor(row)
        answer_mask[i, start : len(row)] = True
    return ids, answer_mask


def answer_nll(model: LlamaForCausalLM, ids: Tensor, answer: Tensor) -> Tensor:
    """Return the negative log-likelihood (nats) of each answer token, flattened over the batch.

    Right padding needs no attention mask: a causal model does not look ahead.
    """
    hidden = model.model(input_ids=ids[:, :-1]).last_hidden_state
    scored = answer[:, 1:]
    return F.cross_entropy(model.lm_head(hidden[scored]).float(), ids[:, 1:][scored], reduction="none")


def train_causal(run: Run, recipe: CausalRecipe) -> LlamaForCausalLM:
    """Train `mini-causal` by the recipe, resuming from the run's last checkpoint."""
    from paper_figures.extra.story_tasks import sample_split

    tokenizer = story_tokenizer()
    model = build_causal(recipe, tokenizer)

    def loss(step: int) -> tuple[Tensor, dict[str, float]]:
        rng = Random(f"causal-{recipe.seed}-{step}")
        kind, band = rng.choices([("keywords", "short"), ("keywords", "medium"), ("continuation", "short")], [8, 1, 1])[
            0
        ]
        tasks: list[Task] = [sample_split(rng, "causal", kind, band) for _ in range(recipe.batch)]
        ids, answer = encode_texts([(task.prompt, task.answer) for task in tasks], tokenizer)
        return answer_nll(model, ids, answer).mean(), {"tokens": float(answer.sum())}

    fit(run, model, loss, schedule=warm_flat_decay(recipe.steps), lr=recipe.lr, recipe=asdict(recipe))
    return model
