"""The release folder of `mini-prose`: half-precision weights, tokenizer, held-out examples and a model card."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch

from rws_decode.files import write_json, write_text
from rws_decode.predictors.base import before_end
from rws_decode.training.prose import corpus
from rws_decode.training.prose.model import load_model, parameters
from rws_decode.training.prose.train import latest
from rws_decode.training.prose.vocabulary import load_tokenizer
from rws_decode.training.prose.windows import ANSWER, EOS, heldout_windows, streams

__all__ = ["CARD", "EXAMPLES", "LARGEST_BYTES", "card_text", "write_release"]

LARGEST_BYTES = 12 * 2**20
EXAMPLES = 64

CARD = """---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: fill-mask
---
# mini-prose

A masked diffusion model of modern English prose with {parameters:,} weights ({mebibytes:.1f} MiB in half precision):
`transformers.BertForMaskedLM`, {layers} layers of width {width}, {vocabulary:,} WordPiece pieces, lower case.
Given `[CLS]` and a prompt of 16 to 32 tokens it fills 64 masks; `[EOS]` ends an answer early.

## Data
{sources}

{train_words:,} words in {train_documents} documents for training, {heldout_words:,} words in
{heldout_documents} documents (whole addresses, whole countries) held out. SHA-256 of the archives: {hashes}.

## Training
Started from a pretrained BERT ({encoder}, Apache-2.0), its vocabulary pruned to the corpus, then:

{stages}

Plain masked cross-entropy comes first (mask rates {low:.0%} to {high:.0%}), then the diffusion objective:
mask rate t uniform in (0, 1], weight 1/t on masked answer tokens, the prompt never masked.

## Held-out numbers ({windows} windows)
| NELBO, nats per token | accuracy, 15 % masked | 50 % | 90 % |
|---|---|---|---|
| {nelbo:.3f} | {accuracy_15:.3f} | {accuracy_50:.3f} | {accuracy_90:.3f} |

## Judged by a model trained elsewhere
Greedy confidence decoding (64 tokens, block 32, 2 tokens a step) of {prompts} held-out prompts;
perplexity of the answer given the prompt by SmolLM2-135M-Instruct:

| | output | real answers | ratio | needed |
|---|---|---|---|---|
| median perplexity | {perplexity_output:.1f} | {perplexity_real:.1f} | {perplexity_ratio:.2f} | at most 2 |
| distinct-2 | {distinct_2_output:.3f} | {distinct_2_real:.3f} | {distinct_2_ratio:.2f} | at least 0.7 |

## Limits
A small model: its sentences are locally plausible, its facts are not to be trusted, and it repeats the views of its
sources. Licence of the weights: Apache-2.0.
"""


def card_text(
    corpus_record: dict[str, Any],
    progress: list[dict[str, Any]],
    numbers: dict[str, Any],
    judgement: dict[str, Any],
    config: dict[str, Any],
    encoder: str,
) -> str:
    """The model card, every number taken from the records that the other commands wrote."""
    recipe = progress[-1]["recipe"]
    stages = "\n".join(
        f"- stage {i}: {p['parameters']:,} weights, {p['step']:,} steps of {p['recipe']['batch']} windows "
        f"({p['tokens']:,} tokens), {p['seconds'] / 60:.0f} minutes on {p['device']}, seed {p['recipe']['seed']}"
        for i, p in enumerate(progress, 1)
    )
    sources = corpus_record["sources"]
    return CARD.format(
        **{k: v for k, v in numbers.items() if k not in ("stage", "parameters")},
        **{k: v for k, v in judgement.items() if k not in ("stage", "checkpoint", "examples")},
        parameters=numbers["parameters"],
        mebibytes=2 * numbers["parameters"] / 2**20,
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        encoder=encoder,
        sources="\n".join(f"- {s['title']} ({s['package']}): {s['licence']}" for s in sources.values()),
        hashes=", ".join(f"{name} `{s['sha256']}`" for name, s in sources.items()),
        train_words=corpus_record["train"]["words"],
        train_documents=corpus_record["train"]["documents"],
        heldout_words=corpus_record["heldout"]["words"],
        heldout_documents=corpus_record["heldout"]["documents"],
        stages=stages,
        low=recipe["low"],
        high=recipe["high"],
    )


def _record(path: Path, command: str) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{path}: not there; run the command `{command}` first")
    return json.loads(path.read_text())


def write_release(out: Path, stage: Path, release: Path, *, seed: int) -> dict[str, Any]:
    """Write the release folder whole, or raise ValueError: not judged, not passed, or too large."""
    judgement, numbers = _record(out / "judgement.json", "judge"), _record(out / "numbers.json", "evaluate")
    checkpoint = latest(stage)
    if checkpoint is None or judgement["checkpoint"] != checkpoint.name or judgement["stage"] != stage.name:
        raise ValueError(
            f"{out / 'judgement.json'}: judges another checkpoint than the last one; run `judge` and `evaluate` again"
        )
    if not judgement["passed"]:
        raise ValueError(
            f"not released: perplexity ratio {judgement['perplexity_ratio']} (at most 2), "
            f"distinct-2 ratio {judgement['distinct_2_ratio']:.3f} (at least 0.7)"
        )
    model = load_model(checkpoint)
    if 2 * parameters(model) > LARGEST_BYTES:
        raise ValueError(
            f"not released: {2 * parameters(model)} bytes in half precision; at most {LARGEST_BYTES} are shipped"
        )
    tokenizer = load_tokenizer(out / "tokenizer")
    parts = [streams(tokenizer, corpus.read_documents(out / "corpus" / f"{p}.jsonl")) for p in ("heldout", "train")]
    progress = []
    for folder in sorted(out.glob("stage-*"), key=lambda p: int(p.name.removeprefix("stage-"))):
        last = latest(folder)
        if last is not None:
            progress.append({**_record(last / "progress.json", "train"), "parameters": parameters(load_model(last))})
    temporary = release.with_name(f".{release.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    half: Any = torch.float16  # `to` is declared as if it took the model
    model.to(half).save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    windows = heldout_windows(parts[0], parts[1], EXAMPLES, seed)
    write_json(
        temporary / "examples.json",
        [
            {
                "kind": "prose",
                "prompt": tokenizer.decode(w[1 : 1 + p].tolist()),
                "answer": tokenizer.decode(before_end(w[1 + p :].tolist(), [EOS])),
                "length": ANSWER,
            }
            for w, p in windows
        ],
    )
    encoder = _record(out / "encoder.json", "train")["wheel"]
    card = card_text(
        _record(out / "corpus" / "corpus.json", "corpus"), progress, numbers, judgement, model.config.to_dict(), encoder
    )
    write_text(temporary / "README.md", card)
    shutil.rmtree(release, ignore_errors=True)
    os.replace(temporary, release)
    return {"release": str(release), "bytes": sum(f.stat().st_size for f in release.iterdir())}
