"""Two threads on one predictor, reward or tokenizer: each gets what it gets alone."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
import torch

from rws_decode import Shape, decode, load_predictor, load_reward
from rws_decode.gpu import decode_compact
from rws_decode.testing import tiny_checkpoint, tiny_checkpoints
from rws_decode.text.prompt_ids import encoded
from rws_theory.worlds.part_memory import PartMemory

PROMPTS = ["the cat", "a dog ran"]


@contextmanager
def in_step(model: Any) -> Iterator[None]:
    """Let the forwards of two threads begin, and come to their heads, together."""
    barrier = Barrier(2, timeout=10)

    def meet(*_: object) -> None:
        with suppress(BrokenBarrierError):
            barrier.wait()

    hooks = [model.get_input_embeddings().register_forward_pre_hook(meet)]
    hooks.append(model.base_model.register_forward_hook(meet))
    yield
    for hook in hooks:
        hook.remove()
    assert not barrier.broken


def together(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result(timeout=60) for future in [threads.submit(call) for call in calls]]


@pytest.mark.parametrize("layout", [name for name in tiny_checkpoints("predictor") if name != "world"])
def test_two_threads_decode_what_one_does(layout: str, tmp_path: Path) -> None:
    predictor: Any = load_predictor(str(tiny_checkpoint(layout, tmp_path / "tiny")), progress=False)

    def decoded() -> list[Any]:
        compact = getattr(predictor, "body", None) is not None and predictor.body.supported
        calls = [decode, decode_compact] if compact else [decode]
        return [call(predictor, prompt, shape=Shape(8, 4))[0] for call in calls for prompt in PROMPTS]

    alone = decoded()
    with in_step(predictor.model):
        assert together(decoded, decoded) == [alone, alone]


@pytest.mark.parametrize("layout", ["classifier", "causal-classifier"])
def test_two_threads_read_their_own_mixtures(layout: str, tmp_path: Path) -> None:
    reward: Any = load_reward(str(tiny_checkpoint(layout, tmp_path / "tiny")), progress=False)
    mixtures = torch.eye(28)[[6, 8, 9]], torch.eye(28)[[11, 7, 10]]

    def score(mixture: torch.Tensor) -> float:
        return float(reward.soft_score("the cat", mixture, torch.ones(3, dtype=torch.bool)).detach())

    alone = [score(mixture) for mixture in mixtures]
    with in_step(reward.model):
        assert together(*(lambda mixture=mixture: score(mixture) for mixture in mixtures)) == alone
    assert alone[0] != alone[1]


def test_two_threads_encode_with_their_own_options() -> None:
    class Codec:
        """A tokenizer that keeps the options of its last call, as those of transformers do."""

        def __call__(self, text: str, *, split: bool) -> bool:
            self.split = split
            if split:
                wait([threads.submit(encoded, self, "b", split=False)], timeout=0.2)
            return self.split

    with ThreadPoolExecutor(1) as threads:
        assert encoded(Codec(), "a", split=True)


def test_two_threads_keep_parts_of_their_own() -> None:
    memory = PartMemory()
    memory[0, b"a"] = torch.ones(1).numpy()
    assert together(lambda: len(memory)) == [0] and len(memory) == 1
