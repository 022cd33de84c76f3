"""Training the two reward models of the story language, `mini-reward` and `mini-judge`.

Each learns the Bradley-Terry model P(first preferred) = sigmoid(R(first) - R(second)) (Bradley and Terry 1952; Ouyang
et al. 2022) on pairs of answers to one prompt, preferred by the exact reward: true answers against corrupted ones, and
both against what `mini` writes, finished or as the greedy completion of a half-decoded canvas, which is what
RWS scores. The two differ in seed and in the half of the data they see, so that one can guide and the other judge.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import combinations, cycle
from pathlib import Path
from random import Random

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import ModernBertForMaskedLM, ModernBertForSequenceClassification, PreTrainedTokenizerFast

from paper_figures.data.story_sets import judge
from paper_figures.extra.training.loop import Run, fit, seeded, warm_flat_decay
from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors import HFMaskPredictor
from rws_decode.strategies.factors import Temperature

KINDS: tuple[tuple[float, str, str], ...] = (
    (0.70, "keywords", "short"),
    (0.08, "keywords", "medium"),
    (0.12, "continuation", "short"),
    (0.05, "dialogue", "short"),
    (0.05, "puzzle", "short"),
)

Graded = list[tuple[str, float]]


@dataclass(frozen=True)
class RewardRecipe:
    """Everything but `mini` itself that decides the weights of a reward model."""

    half: str = "reward-a"
    seed: int = 10
    steps: int = 500
    prompts: int = 8
    lr: float = 1e-3


def build_reward(mini: ModernBertForMaskedLM, seed: int) -> ModernBertForSequenceClassification:
    """Build a scalar classifier on a copy of `mini`'s trunk, its head sampled from the seed."""
    shape = {key: value for key, value in mini.config.to_dict().items() if key not in ("id2label", "label2id")}
    config = type(mini.config)(**shape | {"num_labels": 1, "classifier_pooling": "mean"})
    model = seeded(seed, lambda: ModernBertForSequenceClassification(config))
    model.model.load_state_dict(mini.model.state_dict())
    return model


def completions(
    mini: ModernBertForMaskedLM, tokenizer: PreTrainedTokenizerFast, split: str, count: int, seed: int, path: Path
) -> list[tuple[str, list[str]]]:
    """Return prompts with what `mini` makes of them: greedy completions at four steps of one decode each.

    Decoded with scales 0.5, 1, 4 and 16 in turn. Kept in `path`, so that a second call only reads.
    """
    from paper_figures.extra.story_tasks import sample_split

    if path.exists():
        return [(prompt, list(texts)) for prompt, texts in json.loads(path.read_text(encoding="utf-8"))]
    predictor = HFMaskPredictor(mini, tokenizer, name="mini")
    rng = Random(f"completions-{split}-{seed}")
    out: list[tuple[str, list[str]]] = []
    for number, scale in zip(range(0, count, 32), cycle((0.5, 1.0, 4.0, 16.0))):
        tasks = [sample_split(rng, split) for _ in range(min(32, count - number))]
        done = decode(predictor, [task.prompt for task in tasks], Temperature(scale))
        for task, trace in zip(tasks, done, strict=True):
            steps = sorted({*rng.sample(range(trace.steps - 1), 3), trace.steps - 1})
            texts = [predictor.decode_answer(trace.candidate[step].tolist()) or "" for step in steps]
            out.append((task.prompt, texts))
    write_json(path, out)
    return out


def _truth(prompt: str, answer: str) -> float:
    return float(-len(judge(prompt, answer).violations))


def graded_answers(rng: Random, split: str, written: list[tuple[str, list[str]]]) -> tuple[str, Graded]:
    """Draw one prompt with four graded answers: true, lightly and heavily corrupted, or written by `mini`."""
    from paper_figures.extra.story_tasks import corrupt, sample_split

    if rng.random() < 0.4:
        prompt, texts = rng.choice(written)
        answers = [*rng.sample(texts, 2), corrupt(texts[-1], rng), corrupt(texts[-1], rng, 4)]
    else:
        kind, band = rng.choices([k[1:] for k in KINDS], [k[0] for k in KINDS])[0]
        task = sample_split(rng, split, kind, band)
        prompt = task.prompt
        light, heavy = corrupt(task.answer, rng, 1), corrupt(task.answer, rng, rng.randint(2, 12))
        answers = [task.answer, light, corrupt(task.answer, rng, 2), heavy]
    return prompt, [(answer, _truth(prompt, answer)) for answer in answers]


def bradley_terry(scores: Tensor, truths: list[float]) -> tuple[Tensor, int, int]:
    """Return the summed loss (nats), pairs ordered rightly, and pairs, over the pairs whose truths differ."""
    loss, right, pairs = scores.new_zeros(()), 0, 0
    for i, j in combinations(range(len(truths)), 2):
        if truths[i] != truths[j]:
            margin = (scores[i] - scores[j]) * (1 if truths[i] > truths[j] else -1)
            loss = loss - F.logsigmoid(margin)
            right, pairs = right + int(margin.item() > 0), pairs + 1
    return loss, right, pairs


def encode_pairs(pairs: list[tuple[str, str]], tokenizer: PreTrainedTokenizerFast) -> dict[str, Tensor]:
    """Return the padded ids and attention mask of `[CLS] prompt [SEP] answer [EOS]`."""
    encoded = tokenizer([p for p, _ in pairs], [a for _, a in pairs], padding=True, return_tensors="pt")
    return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}


def train_reward(
    run: Run, recipe: RewardRecipe, mini: ModernBertForMaskedLM, tokenizer: PreTrainedTokenizerFast, count: int = 192
) -> ModernBertForSequenceClassification:
    """Train a reward model on its half of the data, resuming from the run's last checkpoint."""
    run.directory.mkdir(parents=True, exist_ok=True)
    written = completions(mini, tokenizer, recipe.half, count, recipe.seed, run.directory / "completions.json")
    model = build_reward(mini, recipe.seed)

    def loss(step: int) -> tuple[Tensor, dict[str, float]]:
        rng = Random(f"{recipe.half}-{recipe.seed}-{step}")
        groups = [graded_answers(rng, recipe.half, written) for _ in range(recipe.prompts)]
        encoded = encode_pairs([(prompt, answer) for prompt, graded in groups for answer, _ in graded], tokenizer)
        scores = model(**encoded).logits[:, 0].split([len(graded) for _, graded in groups])
        results = [
            bradley_terry(s, [truth for _, truth in graded]) for s, (_, graded) in zip(scores, groups, strict=True)
        ]
        pairs = max(sum(r[2] for r in results), 1)
        total = torch.stack([r[0] for r in results]).sum() / pairs
        return total, {"accuracy": sum(r[1] for r in results) / pairs}

    fit(run, model, loss, schedule=warm_flat_decay(recipe.steps), lr=recipe.lr, recipe=asdict(recipe))
    return model
