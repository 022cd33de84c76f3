"""The shipped models by name: how each is trained, measured and written."""

from __future__ import annotations

import json
import math
import platform
import statistics
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import ModernBertForMaskedLM, PreTrainedTokenizerFast

from paper_figures.extra.training.causal import CausalRecipe, answer_nll, build_causal, encode_texts, train_causal
from paper_figures.extra.training.evaluate import coherence_by_kind, held_out, masked_accuracy, nelbo
from paper_figures.extra.training.export import card, export, restore
from paper_figures.extra.training.loop import Run
from paper_figures.extra.training.mini import MiniRecipe, build_mini, train_mini
from paper_figures.extra.training.objective import story_tokenizer
from paper_figures.extra.training.reward import (
    RewardRecipe,
    build_reward,
    completions,
    encode_pairs,
    graded_answers,
    train_reward,
)
from rws_decode.checkpoints.files import models_directory
from rws_decode.common.files import write_json
from rws_decode.predictors import HFMaskPredictor

REWARDS = {"mini-reward": RewardRecipe(half="reward-a", seed=10), "mini-judge": RewardRecipe(half="reward-b", seed=20)}
HELD_OUT = 256
# The rewards start from `mini` as it was at this step, so that they can be trained beside it.
REWARD_START = 3000


def trained_mini(
    runs: Path, file: str = "checkpoint.safetensors"
) -> tuple[ModernBertForMaskedLM, PreTrainedTokenizerFast, dict[str, str]]:
    """Return `mini` as its run left it, rounded to float16 as it ships."""
    tokenizer = story_tokenizer()
    run = runs / "mini"
    recipe = MiniRecipe()
    model = build_mini(recipe, tokenizer)
    metadata = restore(model, run, file)
    return model.half().float(), tokenizer, metadata


def train_model(name: str, runs: Path, *, every: int, seed: int | None = None) -> None:
    """Train or resume the run of a shipped model in `runs/name`."""
    run = Run(runs / name, every, keep=(REWARD_START,) if name == "mini" else ())
    changed = {} if seed is None else {"seed": seed}
    if name == "mini":
        train_mini(run, replace(MiniRecipe(), **changed))
    elif name == "mini-causal":
        train_causal(run, replace(CausalRecipe(), **changed))
    else:
        mini, tokenizer, _ = trained_mini(runs, f"step-{REWARD_START}.safetensors")
        train_reward(run, replace(REWARDS[name], **changed), mini, tokenizer)


def export_model(name: str, runs: Path, models: Path | None = None) -> None:
    """Measure a finished run on held-out text and write model, card and JSON to `models/name`."""
    models = models_directory() if models is None else models
    if name == "mini":
        _export_mini(runs, models)
    elif name == "mini-causal":
        _export_causal(runs, models)
    else:
        _export_reward(name, runs, models)


def _command(name: str) -> str:
    train = f"rws train {name} --runs RUNS"
    return f"{train} && {train} --export"


def _made(metadata: dict[str, str]) -> dict[str, Any]:
    minutes = float(metadata["seconds"]) / 60
    return {
        "steps": int(metadata["step"]),
        "training time, minutes": round(minutes, 1),
        "device": f"one thread of a shared {platform.machine()} processor",
        "recipe": f"`{metadata['recipe']}`",
    }


def _true_nats(tasks: list[Any]) -> list[float]:
    from paper_figures.data.story_sets import judge

    return [-(judge(task.prompt, task.answer).log_probability or 0.0) for task in tasks]


def _export_mini(runs: Path, models: Path) -> None:
    model, tokenizer, metadata = trained_mini(runs)
    stories = held_out("test", HELD_OUT)
    words = sum(len(task.answer.split()) for task in stories) / len(stories)
    bound, error = nelbo(model, tokenizer, stories)
    entropy = statistics.fmean(_true_nats(stories))
    numbers: dict[str, Any] = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "held-out NELBO, nats per story": bound,
        "its standard error": error,
        "held-out NELBO, nats per word": bound / words,
        "true -log P, nats per word (the floor)": entropy / words,
    }
    numbers |= {
        f"masked accuracy at {rate:.0%}": masked_accuracy(model, tokenizer, stories, rate) for rate in (0.15, 0.5, 0.9)
    }
    measured = coherence_by_kind(HFMaskPredictor(model, tokenizer, name="mini"), 128)
    numbers |= {
        f"share of stories with {key}" if key.startswith("violation") else f"coherent answers, {key}": value
        for key, value in measured.items()
    }
    examples = [
        {"kind": t.kind, "prompt": t.prompt, "answer": t.answer, "length": t.length, "keywords": list(t.keywords)}
        for kind, count in (("keywords", 64), ("continuation", 16), ("dialogue", 16), ("puzzle", 16))
        for t in held_out("test", count, kind, seed=1)
    ]
    readme = card(
        "mini",
        "A masked diffusion model of the story language of `rws_decode.extra.stories`, for `ModernBertForMaskedLM`."
        " It answers `[CLS] prompt [SEP]` on a canvas of `[MASK]` tokens, filled up with `[EOS]`.",
        "from scratch on text drawn from the grammar (split `mini`)",
        numbers | _made(metadata),
        _command("mini"),
        [
            "Coherence: 128 held-out prompts a kind, confidence decoding, two tokens per step unless said otherwise,"
            " blocks of 32 at most, judged by `rws_decode.extra.stories.judge`.",
            "The log of the run (`training.json`) has loss, NELBO and coherence against seconds of training.",
            "It knows its language and nothing else.",
        ],
    )
    log = [json.loads(line) for line in (runs / "mini" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    export(model, tokenizer, models / "mini", {"examples.json": examples, "training.json": log}, readme)


def _export_causal(runs: Path, models: Path) -> None:
    tokenizer = story_tokenizer()
    model = build_causal(CausalRecipe(), tokenizer)
    metadata = restore(model, runs / "mini-causal")
    model = model.half().float()
    stories = held_out("test", HELD_OUT)
    ids, answer = encode_texts([(task.prompt, task.answer) for task in stories], tokenizer)
    with torch.inference_mode():
        nll = answer_nll(model, ids, answer)
    tokens = len(nll)
    numbers = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "held-out perplexity per token, pooled, end of text included": math.exp(nll.mean().item()),
        "true perplexity per token of the same text": math.exp(sum(_true_nats(stories)) / tokens),
        "held-out stories": len(stories),
    }
    readme = card(
        "mini-causal",
        "An autoregressive model of the same language, for `LlamaForCausalLM`: `[CLS] prompt [SEP] answer [EOS]`. It"
        " measures perplexity.",
        "from scratch on text that `mini` never sees (split `causal`)",
        numbers | _made(metadata),
        _command("mini-causal"),
        ["The true perplexity is exp(-log P / tokens) under the grammar, the end of text having probability one."],
    )
    export(model, tokenizer, models / "mini-causal", {}, readme)


def _export_reward(name: str, runs: Path, models: Path) -> None:
    mini, tokenizer, _ = trained_mini(runs, f"step-{REWARD_START}.safetensors")
    recipe = REWARDS[name]
    model = build_reward(mini, recipe.seed)
    metadata = restore(model, runs / name)
    model = model.half().float().eval()
    written = completions(mini, tokenizer, "validation", 128, 0, runs / "reference-completions.json")
    # Where the paper has the Nectar validation set: held-out prompts with several answers of different quality.
    rng = Random("reference-99")
    reference = [graded_answers(rng, "validation", written) for _ in range(256)]
    scores: list[float] = []
    truths: list[float] = []
    right: dict[str, list[bool]] = {"all": [], "true against one corruption": []}
    for prompt, graded in reference:
        with torch.inference_mode():
            given = model(**encode_pairs([(prompt, answer) for answer, _ in graded], tokenizer)).logits[:, 0].tolist()
        scores += given
        truths += [truth for _, truth in graded]
        for i in range(len(graded)):
            for j in range(i):
                if graded[i][1] != graded[j][1]:
                    agrees = (given[i] > given[j]) == (graded[i][1] > graded[j][1])
                    right["all"].append(agrees)
                    if graded[0][1] == 0 and (j, i) == (0, 1):
                        right["true against one corruption"].append(agrees)
    from scipy.stats import spearmanr

    correlation: Any = spearmanr(scores, truths)
    reference_scores = {"mean": statistics.fmean(scores), "std": statistics.stdev(scores), "template": "pair"}
    numbers: dict[str, Any] = {
        "parameters": sum(p.numel() for p in model.parameters()),
        **{f"held-out pairwise accuracy, {key}": sum(v) / len(v) for key, v in right.items()},
        **{f"pairs, {key}": len(v) for key, v in right.items()},
        "Spearman correlation with the exact reward": float(correlation.statistic),
        "mean on the reference set": reference_scores["mean"],
        "standard deviation on the reference set": reference_scores["std"],
    }
    readme = card(
        name,
        "A reward model of the story language, for `ModernBertForSequenceClassification` with one output:"
        " `[CLS] prompt [SEP] answer [EOS]`, read without end-of-text filler.",
        f"from a copy of `mini`'s trunk at its step {REWARD_START} by the Bradley-Terry loss (split `{recipe.half}`,"
        f" seed {recipe.seed})",
        numbers | _made(metadata),
        _command(name),
        [
            "Preferences are those of the exact reward, minus the number of rules an answer breaks.",
            "The reference set: 256 validation prompts with four answers each, true, corrupted, or written by `mini` at"
            " some step of a decode. It also gives the mean and deviation that normalise the reward.",
            "`mini-reward` and `mini-judge` differ in data and seed but start from `mini`'s trunk: they are kin.",
        ],
    )
    export(model, tokenizer, models / name, {"reward.json": reference_scores}, readme)
    exact = {"mean": statistics.fmean(truths), "std": statistics.stdev(truths)}
    write_json(models / "exact.json", exact)
