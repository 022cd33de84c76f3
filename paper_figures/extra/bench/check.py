"""Check that the kernel and the compact decoder are right on this device, before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from paper_figures.extra.bench.kernels import reference
from paper_figures.extra.bench.plain_loop import PlainRun, plain_loop, plain_rws
from paper_figures.extra.bench.random_models import make_models, random_prompts
from paper_figures.extra.bench.shapes import SHAPES, Shapes
from rws_decode.extra.compact import CompactSavings, decode_compact
from rws_decode.extra.compact.row_statistics import log_f_error, row_statistics
from rws_decode.settings import Shape
from rws_decode.step.rounding import ROUNDING_UNITS
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace

# Vocabularies of less than a block, of a block and more or less, and of several with a tail.
_SIZES = (2, 3, 31, 64, 127, 1000, 4095, 4097, 9001)
_LARGE = (50_257, 126_464)
# Each pair of a small vocabulary and a number of factors is compiled for itself: one number is enough there.
_FACTORS = (1, 4, 9, 16)
_FEW = 1000


@dataclass(frozen=True)
class Difference:
    """Where an answer first parts from the plain loop's: row, and step, from 0, before which all commits are the same.

    why: "near-tie" where the trace counts a tie or near-tie at that step, of positions or candidates; "tie" where the
    plain loop met equal confidences at the cut there; None where neither is so.
    """

    row: int
    step: int
    why: str | None


@dataclass(frozen=True)
class Agreement:
    """Of `answers`, how many have the plain loop's tokens (`equal`), and the others' differences.

    explained: differences that a near-tie or tie explains; near_steps: share of all steps run that have a tie or
    near-tie: the larger, the less a near-tie explains.
    """

    answers: int
    equal: int
    explained: int
    unexplained: int
    near_steps: float
    differences: tuple[Difference, ...]


def agreement(traces: Sequence[Trace], plain: PlainRun, counted: Callable[[], PlainRun] | None = None) -> Agreement:
    """Compare decoded rows with the plain loop's. Positions that a settled row left out are not compared.

    counted: runs the plain loop again with its ties counted; called only where a difference has no other explanation
    and `plain` did not count them.
    """
    tokens, steps, tied = plain.tokens.cpu().numpy(), plain.commit_step.cpu().numpy(), plain.tied
    differences, near_steps, run = [], 0, 0
    for row, trace in enumerate(traces):
        near = (trace.ties > 0) | (trace.near_ties > 0) | (trace.near_tokens > 0)
        near_steps, run = near_steps + int(near.sum()), run + trace.steps_run
        committed = trace.commit_step >= 0
        if (trace.tokens == tokens[row])[committed].all():
            continue
        parted = committed & ((trace.tokens != tokens[row]) | (trace.commit_step != steps[row]))
        step = int(np.minimum(trace.commit_step, steps[row])[parted].min())
        why = "near-tie" if near[step] else None
        if why is None and tied is None and counted is not None:
            tied = counted().tied
        if why is None and tied is not None and bool(tied[row, step]):
            why = "tie"
        differences.append(Difference(row, step, why))
    explained = sum(difference.why is not None for difference in differences)
    return Agreement(
        len(traces),
        len(traces) - len(differences),
        explained,
        len(differences) - explained,
        near_steps / max(run, 1),
        tuple(differences),
    )


@dataclass(frozen=True)
class Check:
    """The result of one check: its name, whether it passed, and the details."""

    name: str
    passed: bool
    detail: str


def self_check(
    device: torch.device, *, shapes: Shapes = SHAPES["small"], tell: Callable[[str], None] = lambda line: None
) -> list[Check]:
    """Check the kernel and the compact decoder on a device; an error is a Check that did not pass.

    The kernel is compared with float64 at random shapes with tails, for bfloat16 and float32. Decodes of a small random
    model, default and RWS, are compared with and without graphs, and with the plain loop: in float32, and on CUDA in
    bfloat16 as well.
    """
    cuda = device.type == "cuda"
    sizes = _SIZES + (_LARGE if cuda else ())
    tasks: dict[str, Callable[[], list[Check]]] = {
        "row statistics, bfloat16": lambda: [kernel_check(device, torch.bfloat16, sizes)],
        "row statistics, float32": lambda: [kernel_check(device, torch.float32, sizes)],
        "decodes, float32": lambda: model_checks(device, torch.float32, shapes),
    }
    if cuda:
        tasks["decodes, bfloat16"] = lambda: model_checks(device, torch.bfloat16, shapes)
    results = []
    for name, task in tasks.items():
        try:
            checks = task()
        except Exception as error:  # What cannot run has not passed: a compiler's errors are of many kinds.
            checks = [Check(name, False, " ".join(f"{type(error).__name__}: {error}".split())[:500])]
        for check in checks:
            tell(f"check: {check.name}: {'passed' if check.passed else 'FAILED'} ({check.detail})")
            results.append(check)
    return results


def kernel_check(device: torch.device, dtype: torch.dtype, sizes: tuple[int, ...]) -> Check:
    """Compare `row_statistics`, by the backend that "auto" takes here, with float64 on random logits of many shapes."""
    draw, worst, wrong = np.random.default_rng(0), 0.0, []
    shapes = [(size, number) for size in sizes for number in _FACTORS if size > _FEW or number == 1]
    for size, number in shapes:
        for _ in range(2):
            rows = int(draw.integers(1, 9))
            values = draw.normal(0, draw.uniform(0.1, 10), (rows, size))
            values[draw.random((rows, size)) < 0.05] = -np.inf
            values[:, int(draw.integers(size))] = 0.5
            logits = torch.tensor(values, device=device).to(dtype)
            factors = torch.tensor(draw.uniform(0.05, 32, number), dtype=torch.float32, device=device)
            ours, truth = row_statistics(logits, factors), reference(logits, factors)
            alone = truth.log_f == -torch.inf
            bound = log_f_error(truth.log_f)
            error = ((ours.log_f.double() - truth.log_f).abs() / bound).masked_fill(alone, 0.0)
            fits = torch.equal(ours.token, truth.token) and torch.equal(ours.log_f == -torch.inf, alone)
            fits = fits and torch.equal(ours.lead, truth.lead.float()) and bool((error <= 1).all())
            worst = max(worst, float(error.nan_to_num(nan=torch.inf).max()))
            if not fits:
                wrong.append(f"{rows} x {size}, {number} factors")
    name = f"row statistics against float64, {str(dtype).removeprefix('torch.')}"
    detail = f"{len(shapes) * 2} shapes, largest error of log F {worst:.2g} of its bound"
    return Check(name, not wrong, f"{detail}; wrong: {'; '.join(wrong[:3])}" if wrong else detail)


def model_checks(device: torch.device, dtype: torch.dtype, shapes: Shapes) -> list[Check]:
    """Decode random prompts with a random model in the ways that must agree, and compare them."""
    precision = str(dtype).removeprefix("torch.")
    predictor, reward = make_models(shapes, device=device, dtype=dtype)
    prompts = random_prompts(shapes, 4, 16)
    answer: dict[str, Any] = {"length": 32, "steps": 16, "block": 16}
    ids = torch.tensor([predictor.encode_prompt(prompt) for prompt in prompts], device=device)
    canvas = torch.cat([ids, ids.new_full((len(ids), answer["length"]), predictor.mask_id)], dim=1)
    with torch.inference_mode():
        largest = float(predictor.logits(canvas, None).abs().max())
    checks = []
    for strategy in (Confidence(), RWS(8.0)):
        model = reward if strategy.needs_reward else None
        shape = Shape(**answer)
        ours = decode_compact(predictor, prompts, strategy, shape, reward=model)
        no_graphs = replace(CompactSavings(), graphs=False)
        unrecorded = decode_compact(predictor, prompts, strategy, shape, reward=model, savings=no_graphs)
        name = f"{strategy.name}: forwards recorded or not, {precision}"
        checks.append(_recorded(name, ours, unrecorded, largest, dtype))
        with torch.inference_mode():
            if model is None:
                plain = plain_loop(predictor, ids, **answer)
            else:
                plain = plain_rws(predictor, model, prompts, 8.0, **answer)
        compared = agreement(ours.traces, plain)
        detail = f"{_told(compared)}; near-ties at {compared.near_steps:.0%} of steps"
        name = f"{strategy.name}: tokens of the plain loop, {precision}"
        checks.append(Check(name, not compared.unexplained, detail))
    return checks


def _told(found: Agreement) -> str:
    parted = f"{found.explained} part at a tie or near-tie, {found.unexplained} without one"
    return f"{found.equal} of {found.answers} equal, {parted}"


def _recorded(name: str, recorded: Decoding, plain: Decoding, largest: float, dtype: torch.dtype) -> Check:
    """Compare two decodes by their tokens, and by the values at the first step, where canvas and factor are the same.

    largest: the largest |logit| at that step, which decides how far apart values may be (`rounding.logit_error`).
    """
    apart: list[float] = []
    for first, second in zip(recorded.traces, plain.traces, strict=True):
        both = np.isfinite(first.value[0]) & np.isfinite(second.value[0])
        if both.any() and first.factor[0] == second.factor[0]:
            apart.append(float(np.abs(first.value[0] - second.value[0])[both].max() / first.factor[0]))
    steps = torch.tensor(np.stack([trace.commit_step for trace in plain.traces]))
    compared = agreement(recorded.traces, PlainRun(torch.tensor(plain.tokens), 0, 0, steps, None))
    allowed = 2 * ROUNDING_UNITS[dtype] * torch.finfo(dtype).eps * largest
    values = "log F not compared, as no factor is known to be the same"
    if apart:
        values = f"log F per unit of factor at most {max(apart):.2g} apart, {allowed:.2g} allowed"
    passed = not compared.unexplained and max(apart, default=0.0) <= allowed
    return Check(name, passed, f"{_told(compared)}; {values}")
