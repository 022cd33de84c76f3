"""Two threads on one predictor, reward or tokenizer: each gets what it gets alone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch

from rws_decode import Shape, decode, decode_compact, load_predictor, load_reward
from rws_decode.extra.compact.llama import LeanLlama
from rws_decode.extra.steering import soft_reward
from rws_decode.extra.testing import tiny_checkpoint, tiny_checkpoints
from rws_decode.text.prompt_ids import encoded
from rws_theory.worlds import PartMemory


def together(model: Any, *calls: Callable[[], Any]) -> list[Any]:
    """Return what calls give whose forwards begin, and come to their heads, together."""
    barrier = Barrier(len(calls), timeout=10)

    def meet(*_: object) -> None:
        barrier.wait()

    hooks = [model.get_input_embeddings().register_forward_pre_hook(meet), model.base_model.register_forward_hook(meet)]
    with ThreadPoolExecutor(len(calls)) as threads:
        given = [future.result(timeout=60) for future in [threads.submit(call) for call in calls]]
    for hook in hooks:
        hook.remove()
    return given


@pytest.mark.parametrize("layout", [name for name in tiny_checkpoints("predictor") if name != "world"])
def test_two_threads_decode_what_one_does(layout: str, tmp_path: Path) -> None:
    predictor: Any = load_predictor(str(tiny_checkpoint(layout, tmp_path / "tiny")), progress=False)
    calls = (
        [decode, decode_compact]
        if hasattr(predictor, "shifted") and LeanLlama.supported(predictor.model.model)
        else [decode]
    )

    def decoded() -> list[Any]:
        return [call(predictor, text, shape=Shape(8, 4)) for call in calls for text in ("the cat", "a dog")]

    alone = decoded()
    assert together(predictor.model, decoded, decoded) == [alone, alone]


@pytest.mark.parametrize("layout", ["classifier", "causal-classifier"])
def test_two_threads_read_their_own_mixtures(layout: str, tmp_path: Path) -> None:
    reward: Any = load_reward(str(tiny_checkpoint(layout, tmp_path / "tiny")), progress=False)
    soft: Any = soft_reward(reward)
    shares, written = torch.eye(28)[[6, 8, 9, 11]], torch.ones(3, dtype=torch.bool)
    calls = [lambda own=own: soft.soft_score("the cat", own, written).item() for own in (shares[1:], shares[:3])]
    alone = [call() for call in calls]
    assert together(reward.model, *calls) == alone and alone[0] != alone[1]


def test_two_threads_encode_with_their_own_options_and_remember_parts_of_their_own() -> None:
    class Codec:
        def __call__(self, text: str, *, split: bool) -> bool:
            self.split = split  # kept beyond the call, as tokenizers of transformers do
            if split:
                wait([thread.submit(encoded, self, text, split=False)], timeout=0.2)
            return self.split

    memory = PartMemory()
    memory[0, b"a"] = torch.ones(1).numpy()
    with ThreadPoolExecutor(1) as thread:
        assert encoded(Codec(), "a", split=True) and thread.submit(len, memory).result(60) == 0
