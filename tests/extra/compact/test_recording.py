"""CUDA graphs without CUDA: a stand-in records the operations of a forward and runs them again on the same memory."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from grouped import grouped
from tiny_models import word_tokenizer
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import LlamaConfig, LlamaForCausalLM

from rws_decode import RWS, CompactSavings, Confidence, decode_compact
from rws_decode.extra.compact.graphs import Replays
from rws_decode.extra.compact.llama import LeanLlama
from rws_decode.predictors import BidirectionalPredictor, attend_both_ways

CPU = torch.device("cpu")
# What would wait for the device, or copy from ordinary memory of the host: CUDA records neither.
_REFUSED = ("_local_scalar_dense", "nonzero", "lift_fresh", "is_nonzero", "equal.default", "_unique", "pin_memory")
_INDEXED = (torch.ops.aten.index.Tensor, torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default)


class Operations(TorchDispatchMode):
    """What is called while it is on, with the tensors that were given and made."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        chosen_by_value = operation in _INDEXED and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if chosen_by_value or any(name in str(operation) for name in _REFUSED):
            raise RuntimeError(f"operation not permitted when stream is capturing: {operation}")
        result = operation(*args, **(kwargs or {}))
        self.done.append((operation, args, kwargs or {}, result))
        return result

    def again(self) -> None:
        for operation, args, kwargs, recorded in self.done:
            repeated = operation(*args, **kwargs)
            for old, fresh in zip(_tensors(recorded), _tensors(repeated), strict=True):
                if old.data_ptr() != fresh.data_ptr():
                    old.copy_(fresh)


def _tensors(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, tuple | list) else [value]
    return [item for item in values if isinstance(item, torch.Tensor) and item.numel()]


@dataclass
class Cuda:
    """Stands for torch.cuda: the current stream, the streams made, and what graphs were recorded with."""

    current: str = "default"
    streams: list[str] = field(default_factory=list)
    pools: int = 0
    recorded: list[dict[str, Any]] = field(default_factory=list)

    def new_stream(self, device: torch.device) -> Any:
        self.streams.append(f"stream {len(self.streams)} of {device}")
        return _Stream(self.streams[-1])

    def new_pool(self) -> tuple[int, int]:
        self.pools += 1
        return 0, self.pools

    @contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, stream.name
        try:
            yield
        finally:
            self.current = before


class _Stream:
    def __init__(self, name: str) -> None:
        self.name = name

    def wait_stream(self, other: Any) -> None:
        assert isinstance(other, _Stream)


class _Graph:
    def __init__(self) -> None:
        self.operations = Operations()

    def replay(self) -> None:
        self.operations.again()


class _Recording:
    """As torch.cuda.graph: what is recorded has not run, so on a CPU all that it made is overwritten."""

    def __init__(self, cuda: Cuda, graph: _Graph, **options: Any) -> None:
        self.cuda, self.graph, self.options = cuda, graph, options

    def __enter__(self) -> None:
        self.cuda.recorded.append(self.options)
        self.cuda.current = self.options["stream"].name
        self.graph.operations.__enter__()

    def __exit__(self, kind: Any, *error: Any) -> None:
        self.graph.operations.__exit__(kind, *error)
        if kind is not None:
            raise RuntimeError("operation failed due to a previous error\nduring capture")
        given = {tensor.data_ptr() for tensor in _tensors(list(self.graph.operations.done[0][1]))}
        for operation, _, _, results in self.graph.operations.done:
            if not operation.is_view:
                for tensor in _tensors(results):
                    if tensor.is_floating_point() and tensor.data_ptr() not in given:
                        tensor.fill_(torch.nan)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    cuda = Cuda()
    for name, stand_in in {
        "device": lambda device: nullcontext(),
        "Stream": cuda.new_stream,
        "stream": cuda.on,
        "current_stream": lambda device: _Stream(cuda.current),
        "CUDAGraph": _Graph,
        "graph_pool_handle": cuda.new_pool,
        "graph": lambda graph, **options: _Recording(cuda, graph, **options),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)

    monkeypatch.setattr(Replays, "_record", lambda replays, *given: replays._captured(*given, CPU))
    monkeypatch.setattr(Replays, "_lose_the_last", lambda replays: None)
    return cuda


@pytest.mark.parametrize(
    ("causal", "masked", "precise"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_a_recorded_forward_gives_what_a_forward_gives(cuda: Cuda, causal: bool, masked: bool, precise: bool) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes |= {"num_key_value_heads": 2, "intermediate_size": 48}
    model = LlamaForCausalLM(LlamaConfig(**sizes, attention_bias=True)).eval()
    model.set_attn_implementation(attend_both_ways())
    if precise:
        BidirectionalPredictor(model, word_tokenizer(), precise_rotary=True, mask_id=1)
    lean, replays = LeanLlama(model.model, causal=causal), Replays()
    generator = torch.Generator().manual_seed(1)
    with torch.inference_mode():
        for left in (0, 3, 5):
            ids = torch.randint(40, (2, 9), generator=generator)
            mask = positions = None
            if masked:
                shown = torch.arange(9)[None] >= torch.tensor([[0], [left]])
                mask, positions = shown[:, None, None], (shown.long().cumsum(1) - 1).clamp(min=0)
            replayed = replays("forward", lean, ids, mask, positions)
            torch.testing.assert_close(replayed, lean(ids, mask, positions), rtol=0, atol=0)
    assert replays.recorded == 1 and len(cuda.recorded) == 1


def test_a_decode_by_recorded_forwards_gives_the_tokens_of_one_without(cuda: Cuda) -> None:
    bench = pytest.importorskip("paper_figures.extra.bench.random_models")
    shapes = pytest.importorskip("paper_figures.extra.bench.shapes").SHAPES["tiny"]
    predictor, reward = bench.make_models(shapes)
    prompts = bench.random_prompts(shapes, 2, 5) + bench.random_prompts(shapes, 1, 3)
    shape: dict[str, Any] = {"length": 16, "steps": 8, "block": 8}
    for strategy in (Confidence(), RWS(8.0)):
        scorer = reward if strategy.needs_reward else None
        less = CompactSavings(graphs=False)
        plain = decode_compact(predictor, prompts, strategy, reward=scorer, savings=less, **grouped(**shape))
        assert len(cuda.recorded) == (0 if scorer is None else 1)
        recorded = decode_compact(predictor, prompts, strategy, reward=scorer, **grouped(**shape))
        assert (recorded.tokens == plain.tokens).all()
    assert len(cuda.recorded) == predictor.body.replays.recorded + reward.body.replays.recorded > 1


def test_all_recordings_of_a_device_share_a_stream_and_a_pool(cuda: Cuda) -> None:
    replays = Replays()
    for size in (1, 2, 3):
        assert replays("double", lambda x: 2 * x, torch.ones(size)).tolist() == [2.0] * size
    assert cuda.streams == ["stream 0 of cpu"]
    assert {recording["stream"].name for recording in cuda.recorded} == {"stream 0 of cpu"}
    assert {recording["pool"] for recording in cuda.recorded} == {(0, 1)}
    assert {recording["capture_error_mode"] for recording in cuda.recorded} == {"thread_local"}
    replays.forget()  # a pool that no recording uses any more is not used again
    replays("double", lambda x: 2 * x, torch.ones(2))
    assert cuda.recorded[-1]["pool"] == (0, 2) and len(cuda.streams) == 1


@pytest.mark.parametrize(
    "function",
    [lambda x: x * x.sum().item(), lambda x: x[x > 0], lambda x: x + torch.tensor(1)],
    ids=["value", "mask", "made on the host"],
)
def test_what_cannot_be_recorded_is_told_and_leaves_the_stream_that_was_current(cuda: Cuda, function: Any) -> None:
    with pytest.raises(ValueError, match=r"graphs is True: odd cannot be recorded .*use graphs=False") as caught:
        Replays()("odd", function, torch.ones(2))
    assert "\n" not in str(caught.value)
    assert cuda.current == "default"
