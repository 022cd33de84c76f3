"""The predictor on one device and the reward model on another: nothing mixes the two, and the answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from grouped import grouped
from stand_in_device import DEVICE, Elsewhere, MixedDevices, move, stand_in
from tiny_models import bert_predictor, full_modernbert_predictor
from torch import nn

from rws_decode import RWS, Decoding, Entropy, RandomOrder, RewardModel, Savings, load_reward
from rws_decode.decode import decode
from rws_decode.gpu import CompactSavings, decode_compact
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.testing import tiny_checkpoint

PROMPTS = ["the cat sat on a mat .", "a dog ran"]
SHAPE: dict[str, Any] = {"length": 4, "steps": 2, "block": 4}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], Any]]:
    """Return how to make each predictor and reward model."""
    root = tmp_path_factory.mktemp("models")
    tiny_checkpoint("llada", root / "llada")
    tiny_checkpoint("dream", root / "dream")
    tiny_checkpoint("classifier", root / "pair", files={"reward.json": {"mean": 0.0, "std": 0.3}})
    loaders: dict[str, Callable[[], Any]] = {"bert": bert_predictor, "modernbert": full_modernbert_predictor}
    loaders |= {name: lambda name=name: load_predictor(str(root / name)) for name in ("llada", "dream")}
    loaders |= {"pair": lambda: load_reward(str(root / "pair"))}
    for name in ("skywork", "qrm"):
        folder = str(tiny_checkpoint(name, root / name))
        loaders[name] = lambda folder=folder, name=name: load_reward(folder, published=name)
    return loaders


def both(predictor: HFMaskPredictor, reward: RewardModel, **options: Any) -> Decoding:
    return decode(predictor, PROMPTS, RWS(8.0), reward=reward, **grouped(**SHAPE | options))


def same(first: Decoding, second: Decoding) -> bool:
    """Say whether all answers have the same tokens at the same steps."""
    pairs = zip(first, second, strict=True)
    return all(
        (a.tokens == b.tokens).all() and (a.commit_step == b.commit_step).all() and a.text == b.text for a, b in pairs
    )


def test_the_stand_in_computes_and_refuses_what_two_devices_refuse() -> None:
    with stand_in():
        here, there = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], device=DEVICE)
        assert isinstance(there * 2 + 1, Elsewhere) and (there * 2 + 1).tolist() == [7.0, 9.0]
        assert there.device.type == DEVICE and (here + there.cpu()).tolist() == [4.0, 6.0]
        assert there[torch.tensor([1])].tolist() == there[:, None][[1], 0].tolist() == [4.0]
        assert (there + torch.tensor(1.0)).tolist() == [4.0, 5.0]
        for mixed in (lambda: here + there, lambda: torch.where(here > 1, there, 0.0), lambda: here[there > 3]):
            with pytest.raises(MixedDevices):
                mixed()
    with pytest.raises(RuntimeError, match="meta"):
        torch.ones(1, device=DEVICE).item()  # outside it holds nothing


@pytest.mark.parametrize("moved", ["predictor", "reward"])
@pytest.mark.parametrize(
    ("predictor", "reward"),
    [("bert", "pair"), ("modernbert", "skywork"), ("llada", "qrm"), ("dream", "pair")],
    ids=["bert-pair", "modernbert-causal", "llada-quantile", "dream-pair"],
)
def test_nothing_mixes_the_devices_of_predictor_and_reward(
    predictor: str, reward: str, moved: str, models: dict[str, Callable[[], Any]]
) -> None:
    mask_predictor, guide = models[predictor](), models[reward]()
    options = [
        {"savings": Savings()},
        {"savings": Savings.everything()},
        {"ranking": "topk", "precision": "model", "cfg": 0.5, "end_of_text": "suppress"},
        {"sampling_temperature": 1.0, "seed": [1, 2], "end_of_text": "defer"},
    ]
    plain = [both(mask_predictor, guide, **settings) for settings in options]
    mask_predictor, guide = models[predictor](), models[reward]()  # which remember nothing of the other device
    away = vars(mask_predictor if moved == "predictor" else guide)
    for network in [part for part in away.values() if isinstance(part, nn.Module)]:
        move(network)
    with stand_in():
        for settings, wanted in zip(options, plain, strict=True):
            assert same(both(mask_predictor, guide, **settings), wanted)


@pytest.mark.parametrize("moved", ["predictor", "reward"])
@pytest.mark.parametrize(
    ("predictor", "reward", "savings"),
    [
        ("bert", "pair", CompactSavings()),
        ("dream", "skywork", CompactSavings()),
        ("llada", "skywork", CompactSavings()),
    ],
    ids=["bert-pair", "dream-causal", "llada-causal"],
)
def test_the_compact_decoder_does_not_mix_them_either(
    predictor: str, reward: str, savings: CompactSavings, moved: str, models: dict[str, Callable[[], Any]]
) -> None:
    mask_predictor, guide = models[predictor](), models[reward]()
    wanted = both(mask_predictor, guide)
    away = vars(mask_predictor if moved == "predictor" else guide)
    for network in [part for part in away.values() if isinstance(part, nn.Module)]:
        move(network)
    with stand_in():
        decoding = decode_compact(mask_predictor, PROMPTS, RWS(8.0), reward=guide, savings=savings, **grouped(**SHAPE))
    assert same(decoding, wanted)


def test_orders_are_made_on_the_predictors_device(models: dict[str, Callable[[], Any]]) -> None:
    predictor, strategies = models["bert"](), (Entropy(), RandomOrder(3))
    plain = [decode(predictor, PROMPTS, strategy, **grouped(**SHAPE)) for strategy in strategies]
    move(predictor.model)
    with stand_in():
        for strategy, wanted in zip(strategies, plain, strict=True):
            assert same(decode(predictor, PROMPTS, strategy, **grouped(**SHAPE)), wanted)
