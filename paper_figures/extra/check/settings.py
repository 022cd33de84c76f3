"""Other settings on this machine: device, dtype, threads, batch, attention and CPU instructions, a process each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal, get_args

from rws_theory.checks import one_of, whole

if TYPE_CHECKING:
    from paper_figures.extra.check.digest import Digest

Attention = Literal["usual", "math"]
# What makes libraries compute as on a CPU with no such instructions: PyTorch's own kernels, MKL's and oneDNN's.
CPUS: Mapping[str, Mapping[str, str]] = {
    "default": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
}
USUAL = ("threads=2", "threads=4", "batch=1", "attention=math", "cpu=avx2", "cpu=default", "dtype=float64")
USUAL += ("dtype=bfloat16",)


@dataclass(frozen=True)
class Setting:
    """What may change the last digits of a decode.

    dtype: of the mask predictor's weights, "" as it is loaded; batch: prompts at once, at most; attention: "usual", as
    PyTorch chooses, or "math", its plain form; cpu: "" as it is, or one of `CPUS`, whose instructions alone are used.
    """

    device: str = "cpu"
    dtype: str = ""
    threads: int = 1
    batch: int = 16
    attention: Attention = "usual"
    cpu: str = ""

    def __post_init__(self) -> None:
        for name, values in {"attention": get_args(Attention), "cpu": ("", *CPUS)}.items():
            one_of(name, getattr(self, name), values)
        for name in ("threads", "batch"):
            whole(name, getattr(self, name))


def setting_named(text: str, base: Setting) -> Setting:
    """Return a setting from "name=value,name=value", the rest as in `base`; ValueError for other names."""
    values: dict[str, Any] = asdict(base)
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in values or not value:
            raise ValueError(f"setting is {text!r}: name=value is needed, of {', '.join(values)}")
        if isinstance(values[name], int) and not (value.isdecimal() and len(value) < 10):
            raise ValueError(f"setting is {text!r}: {name} is a whole number")
        values[name] = int(value) if isinstance(values[name], int) else value
    return Setting(**values)


def digests_in(make: Callable[[Setting], Digest], settings: Sequence[Setting]) -> Iterator[Digest]:
    """Yield the digest that `make` gives for each setting, in a process of its own.

    make: a function that can be pickled.
    """
    for setting in settings:
        environment = dict(CPUS.get(setting.cpu, {}))
        with ProcessPoolExecutor(1, get_context("spawn"), _begin, (environment,)) as pool:
            yield pool.submit(make, setting).result()


def _begin(environment: Mapping[str, str]) -> None:
    # Before PyTorch is imported, which reads it once.
    os.environ.update(environment)
