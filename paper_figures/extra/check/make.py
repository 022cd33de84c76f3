"""The digest of a predictor: fixed decodes, logits on fixed canvases, and rewards of fixed texts, on this machine."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from typing import get_args

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from paper_figures.extra.check import fingerprints
from paper_figures.extra.check.digest import (
    REWARD_WEIGHTS,
    SCALE,
    STORED,
    CanvasLogits,
    DecodedRow,
    Digest,
    Fact,
    ScoredText,
)
from paper_figures.extra.check.settings import Attention
from rws_decode.canvas.layout import lay_out
from rws_decode.common.threads import torch_threads
from rws_decode.decode import decode
from rws_decode.job import encode_prompts
from rws_decode.predictors.base import MaskPredictor, ends_of, logits_at, pieces_of
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.rewards.base import RewardModel, score_checked
from rws_decode.rewards.network import NetworkReward
from rws_decode.settings import Shape
from rws_decode.step.rounding import logit_error
from rws_theory import __version__
from rws_theory.checks import one_of, whole

BATCH = 16
_POSITIONS = 8  # of each canvas whose logits are kept, and so many of the largest at each
_LARGEST = 5
_QUANTILES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)
# Units of rounding by which a reward may change, relative to its size or its SD, whichever is larger.
_REWARD_UNITS = {torch.float64: 1024, torch.float32: 1024, torch.bfloat16: 32, torch.float16: 32}


def check_digest(
    predictor: MaskPredictor,
    reward: RewardModel | None = None,
    *,
    prompts: Sequence[str | Sequence[int]] | None = None,
    shape: Shape = fingerprints.SHAPE,
    like: Digest | None = None,
    batch: int = BATCH,
    attention: Attention = "usual",
) -> Digest:
    """Decode fixed prompts, and return what the model is and what it gave, to be compared with another machine's.

    The strategies are `default`, `temperature:4`, `rws:8` where a reward is given. prompts: texts or token ids; None
    for those that ship with the model, or `task.PROMPTS`. like: another digest whose prompts and shape are taken
    instead. batch: prompts at once, at most. attention: as PyTorch chooses, or "math", its plain form.

    The number of threads is that of `torch_threads` around the call, 1 as elsewhere. ValueError as in `decode`, and for
    a predictor of ids alone without prompts.
    """
    whole("batch", batch)
    one_of("attention", attention, get_args(Attention))
    if like is not None:
        inputs, shape = like.prompts, like.shape
    elif prompts is None:
        inputs = fingerprints.usual_prompts(predictor)
    else:
        inputs = tuple(prompt if isinstance(prompt, str) else tuple(prompt) for prompt in prompts)
    texts = [prompt if isinstance(prompt, str) else list(prompt) for prompt in inputs]
    ids = tuple(tuple(prompt.ids) for prompt in encode_prompts(predictor, texts, shape.length))
    kernels = sdpa_kernel(SDPBackend.MATH) if attention == "math" else nullcontext()
    with kernels, torch_threads() as threads, torch.inference_mode():
        decodes = tuple(_decodes(predictor, reward, texts, shape, batch))
        logits = tuple(_canvases(predictor, ids, shape.length, batch))
        rewards = () if reward is None else tuple(_rewards(predictor, reward, texts))
        error = _reward_error(reward, [each.reward for each in rewards])
    template, tokenizer = fingerprints.template_print(predictor), fingerprints.tokenizer_print(predictor)
    sized = shape.resolved()
    rows = [*ids, *(row.tokens for row in decodes)]
    rows += [row for each in (template, tokenizer) if each is not None for row in each.texts]
    special = {predictor.mask_id, predictor.pad_id, *ends_of(predictor)}
    held = {token for token in special.union(*rows) if token is not None}
    return Digest(
        machine=_machine_facts(predictor, reward, attention, batch, threads),
        checkpoint=fingerprints.checkpoint_print(predictor),
        tokenizer=tokenizer,
        template=template,
        end_of_text=fingerprints.end_of_text_print(predictor, [token for row in ids for token in row]),
        prompts=inputs,
        prompt_ids=ids,
        length=shape.length,
        steps=sized.steps,
        block=sized.block,
        decodes=decodes,
        logits=logits,
        reward_model=None if reward is None else reward.name,
        reward_error=error,
        rewards=rewards,
        words=pieces_of(predictor, sorted(held)),
    )


def _machine_facts(
    predictor: MaskPredictor, reward: RewardModel | None, attention: Attention, batch: int, threads: int
) -> dict[str, Fact]:
    """Return what is known of this machine and its settings, what a reader suspects first at the beginning."""
    device = predictor.device
    on_gpu = device.type == "cuda"
    facts: dict[str, Fact] = {
        "dtype": _name(dtype) if (dtype := getattr(predictor, "logits_dtype", None)) else None,
        STORED: fingerprints.stored_dtypes(predictor),
        "device": torch.cuda.get_device_name(device) if on_gpu else device.type,
        "attention": _attention(predictor, attention),
        "batch": batch,
        "threads": None if on_gpu else threads,
        "matmul precision": torch.get_float32_matmul_precision(),
        "CPU instructions": torch.backends.cpu.get_cpu_capability(),
        "reward's dtype": _name(next(reward.model.parameters()).dtype) if isinstance(reward, NetworkReward) else None,
        SCALE: None if reward is None else f"{reward.mean:.7g} and {reward.std:.7g}",
        REWARD_WEIGHTS: fingerprints.weights_hash(reward.model) if isinstance(reward, NetworkReward) else None,
        "PyTorch": torch.__version__,
        "CUDA": torch.version.cuda if on_gpu else None,
        "transformers": version("transformers"),
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "rws-toolkit": __version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _attention(predictor: MaskPredictor, attention: Attention) -> str | None:
    if not isinstance(predictor, HFMaskPredictor):
        return None
    chosen = getattr(predictor.model.config, "_attn_implementation", None)
    kernel = "plain kernel" if attention == "math" else "kernel chosen by PyTorch"
    return f"{chosen or 'sdpa'}, {kernel}"


def _decodes(
    predictor: MaskPredictor,
    reward: RewardModel | None,
    prompts: Sequence[str | list[int]],
    shape: Shape,
    batch: int,
) -> Iterator[DecodedRow]:
    for strategy in (*fingerprints.STRATEGIES, *((fingerprints.GUIDED,) if reward is not None else ())):
        for begin in range(0, len(prompts), batch):
            rows = decode(predictor, prompts[begin : begin + batch], strategy, shape, reward=reward)
            for number, trace in enumerate(rows, begin):
                near = trace.ties + trace.near_ties + trace.near_tokens
                final = None if trace.final_reward is None else float(trace.final_reward["raw"])
                tokens, steps, tied = (tuple(each.tolist()) for each in (trace.tokens, trace.commit_step, near))
                yield DecodedRow(number, strategy, tokens, steps, tied, final)


def _canvases(
    predictor: MaskPredictor, prompts: Sequence[Sequence[int]], length: int, batch: int
) -> Iterator[CanvasLogits]:
    """Yield logits of two canvases for each prompt: all of the answer masked, and every second position."""
    cases = [(number, kind) for kind in ("masked", "half masked") for number in range(len(prompts))]
    for begin in range(0, len(cases), batch):
        group = cases[begin : begin + batch]
        canvas = lay_out(predictor, [prompts[number] for number, _ in group], length)
        columns: list[torch.Tensor] = []
        for row, (number, kind) in enumerate(group):
            answer = canvas.answer[row]
            if kind != "masked":
                filled = fingerprints.half_filled(prompts[number], length, predictor.mask_id)
                canvas.ids[row, answer] = torch.tensor(filled, device=answer.device)
            masked = answer[canvas.ids[row, answer] == predictor.mask_id]
            spread = np.unique(np.linspace(0, len(masked) - 1, min(_POSITIONS, len(masked))).round().astype(int))
            columns.append(masked[torch.from_numpy(spread).to(answer.device)])
        rows = torch.cat([torch.full_like(column, row) for row, column in enumerate(columns)])
        logits = logits_at(predictor, canvas.ids, canvas.attention_mask, rows, torch.cat(columns))
        for row, (number, kind) in enumerate(group):
            real = canvas.ids[row] if canvas.attention_mask is None else canvas.ids[row][canvas.attention_mask[row]]
            places = [real.tolist(), (columns[row] - canvas.answer[row, 0]).tolist()]
            where = fingerprints.hash_of(json.dumps(places).encode())
            yield _of_canvas(number, kind, where, logits[rows == row])


def _of_canvas(prompt: int, kind: str, canvas: str, logits: torch.Tensor) -> CanvasLogits:
    known = logits[logits.isfinite()].double().cpu().numpy()
    best = logits.topk(min(_LARGEST, logits.shape[-1]), dim=-1)
    ids, values = [], []
    for row, tokens in zip(best.values, best.indices, strict=True):
        kept = row.isfinite()
        ids.append(tuple(tokens[kept].tolist()))
        values.append(tuple(map(_digits, row[kept])))
    return CanvasLogits(
        prompt,
        kind,
        canvas,
        fingerprints.hash_of(fingerprints.tensor_bytes(logits)),
        tuple(float(f"{value:.7g}") for value in np.quantile(known, _QUANTILES)),
        tuple(ids),
        tuple(values),
        float(f"{float(logit_error(logits).max()):.3g}"),
    )


def _digits(value: torch.Tensor) -> float:
    """Return a number in as many digits as tell it from its neighbours in its dtype."""
    number = value.cpu()
    return float(number) if number.dtype == torch.float64 else float(str(number.float().numpy()))


def _rewards(predictor: MaskPredictor, reward: RewardModel, prompts: Sequence[str | list[int]]) -> Iterator[ScoredText]:
    """Yield the rewards of the prompts' own texts, each as the answer to the one before it."""
    texts = [prompt if isinstance(prompt, str) else predictor.decode_prompt(prompt) for prompt in prompts]
    for number in range(len(texts)):
        after = (number + 1) % len(texts)
        question, answer = texts[number], texts[after]
        if question is not None and answer is not None:
            yield ScoredText(number, after, score_checked(reward, [question], [answer])[0])


def _reward_error(reward: RewardModel | None, scores: Sequence[float]) -> float:
    if reward is None:
        return 0.0
    dtype = next(reward.model.parameters()).dtype if isinstance(reward, NetworkReward) else torch.float32
    size = max([abs(reward.std), *map(abs, scores)])
    error = _REWARD_UNITS.get(dtype, 1024) * torch.finfo(dtype).eps * size
    return float(f"{error:.3g}") if math.isfinite(error) else 0.0
