"""What another device, dtype, batch or number of threads changes: the same prompts decoded in several settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from rws_decode.common.threads import torch_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rws_decode.trace.trace import Trace

__all__ = [
    "CPUS",
    "USUAL",
    "Comparison",
    "Recording",
    "Setting",
    "Work",
    "compare",
    "record",
    "recordings",
    "setting_named",
]

# What makes libraries compute as on a CPU with no such instructions: PyTorch's own kernels, MKL's and oneDNN's.
CPUS: Mapping[str, Mapping[str, str]] = {
    "default": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
}
USUAL = ("", "threads=2", "threads=4", "batch=1", "attention=math", "cpu=avx2", "cpu=default", "dtype=float64")
USUAL += ("dtype=bfloat16",)

_STEPS = 4  # of each of so many prompts whose logits are compared, at so many masked positions
_PROMPTS = 4
_POSITIONS = 8


@dataclass(frozen=True)
class Setting:
    """What may change the last digits of a decode.

    dtype: of all weights; batch: prompts at once, at most; attention: "" as PyTorch chooses, or "math", its plain form;
    cpu: "" as it is, or one of `CPUS`, whose instructions alone are then used.
    """

    device: str = "cpu"
    dtype: str = "float32"
    threads: int = 1
    batch: int = 16
    attention: str = ""
    cpu: str = ""

    def __post_init__(self) -> None:
        for name, values in {"attention": ("", "math"), "cpu": ("", *CPUS)}.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} is {getattr(self, name)!r}: {' or '.join(values[1:])} is needed")
        for name in ("threads", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: at least 1 is needed")


@dataclass(frozen=True)
class Work:
    """What is decoded: prompts by a model with the default strategy, and with RWS if a reward model is named."""

    model: str
    prompts: Sequence[str]
    reward: str | None = None
    reward_scale: float = 8.0
    length: int = 64
    steps: int = 32
    block: int = 32


@dataclass(frozen=True)
class Recording:
    """What a setting gave: traces by strategy, and the logits at `places`, (prompt, step, positions) of one answer."""

    traces: Mapping[str, Sequence[Trace]]
    places: Sequence[tuple[int, int, Sequence[int]]]
    logits: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """How far a setting is from the first one, of one strategy.

    answers: how many were compared; identical: those whose traces have the same numbers bit for bit; equal: those with
    the same tokens; explained, unexplained: those whose first other commit is at a step with, or without, a counted tie
    or near-tie; first_step: the earliest such step, None without one. near_steps: the share of steps with a tie or
    near-tie in the first setting; the larger it is, the less a near-tie explains. logits: the largest difference of a
    logit on the same canvases; reward: that of a reward on the same canvas and completion, None if none was asked.
    """

    setting: str
    strategy: str
    answers: int
    identical: int
    equal: int
    explained: int
    unexplained: int
    first_step: int | None
    near_steps: float
    logits: float
    reward: float | None


def setting_named(text: str, base: Setting | None = None) -> Setting:
    """Return a setting from "name=value,name=value", the rest as in `base`; ValueError for other names.

    >>> setting_named("dtype=float64,batch=1")
    Setting(device='cpu', dtype='float64', threads=1, batch=1, attention='', cpu='')
    """
    values = asdict(base or Setting())
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in values:
            raise ValueError(f"setting is {text!r}: name=value is needed, of {', '.join(values)}")
        if isinstance(values[name], int) and not value.isdecimal():
            raise ValueError(f"setting is {text!r}: {name} is a whole number")
        values[name] = int(value) if isinstance(values[name], int) else value
    return Setting(**values)


def recordings(work: Work, settings: Sequence[Setting]) -> Iterator[Recording]:
    """Yield what each setting gives, in a process of its own; logits are of canvases of the first setting's answers."""
    first: Recording | None = None
    for setting in settings:
        environment = dict(CPUS.get(setting.cpu, {}))
        with ProcessPoolExecutor(1, get_context("spawn"), _begin, (environment,)) as pool:
            recording = pool.submit(record, work, setting, first).result()
        first = recording if first is None else first
        yield recording


def _begin(environment: Mapping[str, str]) -> None:
    # Before PyTorch is imported, which reads it once.
    os.environ.update(environment)


def record(work: Work, setting: Setting, first: Recording | None = None) -> Recording:
    """Decode and record in this process; first: whose canvases the logits are of, None: one's own."""
    from rws_decode.decode import decode
    from rws_decode.predictors import load_predictor
    from rws_decode.rewards import load_reward
    from rws_decode.settings import Shape
    from rws_decode.strategies.factors import RWS, Confidence

    predictor = load_predictor(work.model, setting.device, dtype=setting.dtype, progress=False)
    shape = Shape(work.length, work.steps, work.block)
    ways: dict[str, tuple[Any, Any]] = {"default": (Confidence(), None)}
    if work.reward is not None:
        reward = load_reward(work.reward, setting.device, dtype=setting.dtype, progress=False)
        ways["rws"] = RWS(work.reward_scale), reward
    with torch_threads(setting.threads), _attention(setting.attention):
        traces = {
            name: [
                trace
                for begin in range(0, len(work.prompts), setting.batch)
                for trace in decode(
                    predictor, work.prompts[begin : begin + setting.batch], strategy, shape, reward=model
                )
            ]
            for name, (strategy, model) in ways.items()
        }
        answers = (traces if first is None else first.traces)["default"]
        places = _places(answers) if first is None else first.places
        return Recording(traces, places, _logits(predictor, answers, places, setting.batch))


@contextmanager
def _attention(name: str) -> Iterator[None]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH) if name == "math" else nullcontext():
        yield


def _places(traces: Sequence[Trace]) -> list[tuple[int, int, list[int]]]:
    """Return some masked positions of some steps of the first answers, spread over the run."""
    places = []
    for prompt, trace in enumerate(traces[:_PROMPTS]):
        for step in sorted({part * (trace.steps_run - 1) // (_STEPS - 1) for part in range(_STEPS)}):
            places.append((prompt, step, trace.masked[step].nonzero()[0][:_POSITIONS].tolist()))
    return places


def _logits(predictor: Any, traces: Sequence[Trace], places: Sequence[Any], batch: int) -> NDArray[np.float64]:
    """Return the logits at the places, [N, V]; prompts that decode together are read together."""
    import numpy as np
    import torch

    from rws_decode.canvas.layout import lay_out
    from rws_decode.step.forward import masked_logits

    logits: dict[int, NDArray[np.float64]] = {}
    for turn in range(0, len(places), batch):
        group = list(enumerate(places))[turn : turn + batch]
        canvas = lay_out(predictor, [traces[prompt].prompt.tolist() for _, (prompt, _, _) in group], traces[0].length)
        masked = torch.zeros(canvas.answer.shape, dtype=torch.bool)
        for row, (_, (prompt, step, _)) in enumerate(group):
            ids = torch.tensor(traces[prompt].canvas[step], device=canvas.ids.device)
            canvas.ids[row, canvas.answer[row]] = ids
            masked[row] = torch.from_numpy(traces[prompt].masked[step].copy())  # as decode asks
        with torch.inference_mode():
            made = masked_logits(predictor, canvas, masked.to(canvas.ids.device))
        for row, (number, (_, _, positions)) in enumerate(group):
            logits[number] = made.logits[made.row == row][: len(positions)].double().cpu().numpy()
    return np.concatenate([logits[number] for number in range(len(places))])


def compare(name: str, first: Recording, other: Recording) -> list[Comparison]:
    """Return how far a recording is from the first one, for each strategy."""
    import numpy as np
    import torch

    from paper_figures.bench.agreement import agreement
    from rws_decode.plain_loop import PlainRun

    finite = np.isfinite(first.logits) & np.isfinite(other.logits)
    logits = float(np.abs(first.logits[finite] - other.logits[finite]).max())
    rows = []
    for strategy, ours in first.traces.items():
        theirs = other.traces[strategy]
        tokens = torch.from_numpy(np.stack([trace.tokens for trace in theirs]))
        steps = torch.from_numpy(np.stack([trace.commit_step for trace in theirs]))
        equality = agreement(ours, PlainRun(tokens, 0, 0, steps, None))
        same = [
            all(array.tobytes() == their.arrays()[name].tobytes() for name, array in our.arrays().items())
            for our, their in zip(ours, theirs, strict=True)
        ]
        rewards = [
            abs(our.reward_raw[step] - their.reward_raw[step])
            for our, their in zip(ours, theirs, strict=True)
            for step in _common(our, their)
            if our.reward_asked[step] and their.reward_asked[step]
        ]
        rows.append(
            Comparison(
                setting=name or "as it is",
                strategy=strategy,
                answers=len(ours),
                identical=sum(same),
                equal=equality.equal,
                explained=equality.explained,
                unexplained=equality.unexplained,
                first_step=min((difference.step for difference in equality.differences), default=None),
                near_steps=equality.near_steps,
                logits=logits,
                reward=float(max(rewards)) if rewards else None,
            )
        )
    return rows


def _common(first: Trace, second: Trace) -> list[int]:
    """Return the steps before any other commit at which two answers have the same completion, as far as recorded."""
    steps = []
    for step in range(min(first.steps_run, second.steps_run)):
        ours, theirs = first.candidate[step], second.candidate[step]
        if (ours == theirs)[(ours >= 0) & (theirs >= 0)].all():
            steps.append(step)
        chosen = first.chosen[step]
        if (chosen != second.chosen[step]).any() or (first.tokens != second.tokens)[chosen].any():
            break
    return steps
