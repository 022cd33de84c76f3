"""Row statistics: every backend against float64, the Triton kernels interpreted and compiled for real targets."""

import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from interpreted_rows import Kernels, interpreted
from torch import Tensor

from rws_decode.extra.compact.row_statistics import Backend, RowStatistics, log_f_error, row_statistics
from rws_decode.extra.testing.strategies import logit_tensors

INF, NAN = float("inf"), float("nan")
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
FACTORS = [0.01, 0.5, 1.0, 7.3, 32.0, 1e4]

with_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason='Triton: pip install "rws-toolkit[gpu]", on Linux'
)


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    pytest.importorskip("triton")
    with interpreted() as call:
        yield call


def reference(logits: Tensor, factors: Tensor) -> tuple[list[int], Tensor, Tensor, Tensor, Tensor]:
    """Token, lead, largest, log F and slope of rows of finite logits and -inf, as their definitions say, in float64."""
    tokens, leads, sizes, log_f, slope = [], [], [], [], []
    for z in logits.double().tolist():
        t = z.index(max(z))
        others = [v for k, v in enumerate(z) if k != t and v > -INF]
        tokens.append(t)
        leads.append(z[t] - max(others, default=-INF))
        sizes.append(max(abs(v) for v in z if v > -INF))
        gaps = torch.tensor([v - z[t] for v in others], dtype=torch.float64)
        exponents = factors.double()[:, None] * gaps
        log_f.append(exponents.logsumexp(dim=1))
        weights = exponents.softmax(dim=1)
        slope.append((weights * gaps).sum(dim=1) if others else torch.full_like(factors, -INF, dtype=torch.float64))
    return tokens, torch.tensor(leads), torch.tensor(sizes), torch.stack(log_f), torch.stack(slope)


def assert_fits(statistics: RowStatistics, logits: Tensor, factors: Tensor) -> None:
    token, lead, largest, log_f, slope = reference(logits, factors)
    assert statistics.token.tolist() == token and statistics.token.dtype == torch.int64
    assert torch.equal(statistics.lead, lead.float()) and torch.equal(statistics.largest, largest.float())
    assert_near(statistics.log_f, log_f, log_f_error(log_f))
    if statistics.slope is not None:
        assert_near(statistics.slope, slope, 2**-11 * (1 / factors.double() + slope.abs()))


def assert_near(computed: Tensor, exact: Tensor, error: Tensor) -> None:
    assert computed.dtype == torch.float32 and computed.shape == exact.shape
    infinite = exact.isinf()
    assert torch.equal(computed.isinf(), infinite) and torch.equal(computed[infinite], exact[infinite].float())
    assert ((computed.double() - exact).abs() <= error)[~infinite].all()


def rows_of(width: int, generator: torch.Generator) -> Tensor:
    """Rows of every kind that has statistics, [7, width] float32: generic, equal, half closed, tied, huge, tiny."""
    z = torch.randn(7, width, generator=generator) * 4
    z[1] = 3.0
    z[2, : width // 2] = -INF
    z[3, width - width // 2 :] = -INF
    z[4] = (z[4] / 2).round()
    z[5] *= 3000
    z[6] *= 1e-30
    return z


@pytest.mark.parametrize("backend", ["torch", "float64"])
@pytest.mark.parametrize(("dtype", "width"), [("bfloat16", 1), ("float16", 2), ("float32", 3), ("bfloat16", 4097)])
def test_plain_backends_fit_the_definition(width: int, dtype: str, backend: Backend) -> None:
    logits = rows_of(width, torch.Generator().manual_seed(width)).to(DTYPES[dtype])
    factors = torch.tensor(FACTORS)
    assert_fits(row_statistics(logits, factors, slopes=True, backend=backend), logits, factors)


# Blocks are of 64. 50 and 65 logits are no multiple of 16 bytes, 8 are one of half precision alone: rows are then read
# by fewer at a time.
SIZES = {"bfloat16": [1, 2, 8, 50, 65, 136], "float16": [3, 65], "float32": [8, 136]}


@pytest.mark.parametrize(("dtype", "width"), [(dtype, width) for dtype, sizes in SIZES.items() for width in sizes])
def test_kernels_fit_the_definition(dtype: str, width: int, kernels: Kernels) -> None:
    logits = rows_of(width, torch.Generator().manual_seed(width)).to(DTYPES[dtype])
    factors = torch.tensor(FACTORS if width == 2 else FACTORS[::3])
    assert_fits(kernels(logits, factors, slopes=True, block=64), logits, factors)


def test_kernels_fit_vocabularies_and_many_chunks(kernels: Kernels) -> None:
    logits = torch.randn(2, 30_464, generator=torch.Generator().manual_seed(5)).mul(3).bfloat16()
    logits[1, 5000:20_000] = -INF  # whole chunks closed
    factors = torch.tensor([1.0, 16.0])
    assert_fits(kernels(logits, factors, slopes=True), logits, factors)
    assert_fits(row_statistics(logits, factors, slopes=True, backend="torch"), logits, factors)
    logits, factors = torch.zeros(2, 2100), torch.tensor([0.5])
    logits[0, [70, 2090]] = 2.0
    logits[1, [70, 2090]] = torch.tensor([1.0, 2.0])
    assert_fits(kernels(logits, factors, slopes=True, block=64), logits, factors)


problems = st.tuples(
    logit_tensors(tuple(DTYPES.values())),
    st.lists(st.floats(-2, 4).map(lambda e: 10.0**e), min_size=1, max_size=3).map(
        lambda factors: torch.tensor(factors, dtype=torch.float64)
    ),
)


@given(problem=problems)
@example((torch.tensor([[1.0, 1.0 + 2.0**-40, 1.0]], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)))
def test_torch_fits_the_definition_for_any_logits(problem: tuple[Tensor, Tensor]) -> None:
    assert_fits(row_statistics(*problem, slopes=True, backend="torch"), *problem)


@settings(max_examples=examples(30))
@given(problem=problems, slopes=st.booleans())
def test_kernels_fit_any_logits(kernels: Kernels, problem: tuple[Tensor, Tensor], slopes: bool) -> None:
    statistics = kernels(*problem, slopes=slopes, block=64)
    assert (statistics.slope is None) == (not slopes)
    assert_fits(statistics, *problem)


NO_VALUE = [
    [NAN, 1.0, 2.0, 0.0],
    [5.0, 1.0, 2.0, NAN],
    [-INF, NAN, -INF, -INF],
    [1.0, NAN, -INF, -INF],
    [0.0, INF, 1.0, 2.0],
    [0.0, INF, 1.0, INF],
    [-INF, -INF, -INF, -INF],
]


@pytest.mark.parametrize(("dtype", "tail"), [("bfloat16", 100), ("bfloat16", 0), ("float16", 0), ("float32", 0)])
def test_a_row_without_a_value_says_so_in_every_field(dtype: str, tail: int, kernels: Kernels) -> None:
    rows = [row + [-INF] * tail for row in [*NO_VALUE, [0.0, 1.0, 3.0, 2.0]]]
    logits, factors = torch.tensor(rows, dtype=DTYPES[dtype]), torch.tensor([1.0, 20.0])
    every = [row_statistics(logits, factors, slopes=True, backend=name) for name in ("torch", "float64")]
    for statistics in [*every, kernels(logits, factors, slopes=True, block=64)]:
        assert statistics.token.tolist() == [0] * 7 + [2]
        for field in (statistics.lead, statistics.largest, statistics.log_f, statistics.slope):
            assert field is not None
            assert field[:7].isnan().all() and field[7].isfinite().all()
    # They are seen without any factor, too.
    assert kernels(logits, factors[:0], block=64).lead.isnan().tolist() == [True] * 7 + [False]


def test_rows_may_lie_apart_or_be_the_same_and_factors_be_each_rows_own(kernels: Kernels) -> None:
    whole = torch.randn(10, 70, generator=torch.Generator().manual_seed(1)).bfloat16()
    factors = torch.tensor([[0.5, 3.0], [1.0, 2.0], [9.0, 0.1], [4.0, 4.0], [0.3, 8.0]], dtype=torch.float64)
    apart, inner, columns = whole[::2], whole[:5, 3:61], whole.T[:5]
    for logits in (apart, inner, columns, whole[3:4].expand(5, 70)):
        expected = row_statistics(logits.contiguous(), factors, slopes=True, backend="float64")
        call = kernels(logits if logits.stride(1) == 1 else logits.contiguous(), factors, slopes=True, block=64)
        for statistics in (row_statistics(logits, factors, slopes=True), call):
            assert torch.equal(statistics.token, expected.token) and torch.equal(statistics.lead, expected.lead)
            assert ((statistics.log_f - expected.log_f).abs() <= 2 * log_f_error(expected.log_f)).all()


@pytest.mark.parametrize(("n", "g"), [(0, 3), (3, 0), (0, 0)])
def test_no_rows_and_no_factors_are_fine(n: int, g: int, kernels: Kernels) -> None:
    logits, factors = torch.ones(n, 5), torch.ones(g)
    every = [row_statistics(logits, factors, slopes=True, backend=name) for name in ("torch", "float64")]
    for statistics in [*every, kernels(logits, factors, slopes=True)]:
        assert statistics.slope is not None
        assert statistics.log_f.shape == statistics.slope.shape == (n, g)
        assert statistics.lead.tolist() == [0.0] * n and statistics.token.tolist() == [0] * n


@with_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="a CUDA device: run them on a machine with one")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 50, 126_464])
def test_kernels_fit_the_definition_on_a_device(width: int, dtype: str) -> None:
    logits = rows_of(width, torch.Generator().manual_seed(width)).to(DTYPES[dtype])
    factors = torch.tensor(FACTORS)
    statistics = row_statistics(logits.cuda(), factors.cuda(), slopes=True, backend="triton")
    assert_fits(RowStatistics(*(None if field is None else field.cpu() for field in statistics)), logits, factors)
    # More rows than one extent of a grid has.
    many = row_statistics(logits[:1].cuda().expand(70_000, width)[:, :50], factors.cuda()).token
    assert (many == logits[0, :50].float().argmax().item()).all()


@with_triton
@pytest.mark.long
@pytest.mark.parametrize(
    ("dtype", "width", "factors", "slopes", "architecture"),
    [("bf16", 8, 16, True, 90), ("fp32", 4, 16, True, 80), ("fp16", 1, 64, False, 90)],
)
def test_kernels_compile_without_spilling(
    dtype: str, width: int, factors: int, slopes: bool, architecture: int, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from rws_decode.extra.compact import triton_rows as _triton_rows

    shared = {"G": factors, "SLOPES": slopes}
    chunk = {**shared, "BLOCK": 4096, "WIDTH": width}
    row = {**shared, "FACTORS": min(factors, 16), "TILE": 32}
    for kernel, constants, warps in ((_triton_rows._chunks, chunk, 2), (_triton_rows._rows, row, 1)):
        memory, text = compiled_for(architecture, kernel, dtype, constants, warps, tmp_path)
        assert memory == {"STACK": 0, "LOCAL": 0}
        # Interpreted minima keep a NaN in any case; those of a GPU do if told to.
        assert kernel is _triton_rows._rows or "min.NaN.f32" in text


def compiled_for(
    architecture: int, kernel: object, dtype: str, constants: dict[str, object], warps: int, folder: Path
) -> tuple[dict[str, int], str]:
    """Compile for a GPU that need not be there: bytes of stack and local memory, where spills go, and the PTX."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {
        "logits": f"*{dtype}",
        **dict.fromkeys(("factors", "values", "lead_out", "largest_out", "log_f_out", "slope_out"), "*fp32"),
        **dict.fromkeys(("rows", "stride", "lines", "chunks", "row_stride", "factor_stride"), "i32"),
        "indices": "*i32",
        "token_out": "*i64",
    }
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    # Tensors begin at multiples of 16 bytes, as a launch would find.
    aligned = {(k,): [["tt.divisibility", 16]] for k, t in enumerate(signature.values()) if t.startswith("*")}
    source = ASTSource(kernel, signature, constants, aligned)
    compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": warps})
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(compiled.asm["cubin"])
    command = [triton.knobs.nvidia.cuobjdump.path, "-res-usage", str(cubin)]
    usage = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in usage.splitlines() if "REG:" in line]
    pairs = (entry.split(":") for entry in line.split() if ":" in entry)
    return {name: int(value) for name, value in pairs if name in ("STACK", "LOCAL")}, compiled.asm["ptx"]
