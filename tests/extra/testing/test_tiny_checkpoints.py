"""Tiny checkpoints: each layout is read by its loader, and holds what was asked for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from checkpoint_files import stored_weights

import rws_decode as rws
from rws_decode import CausalReward, MaskPredictor, Shape, WorldPredictor, decode, load_predictor, load_reward
from rws_decode.extra.testing import tiny_checkpoint, tiny_checkpoints
from rws_decode.predictors import BidirectionalPredictor
from rws_decode.rewards import PUBLISHED

SHAPE = Shape(length=4, steps=2, block=4)


@pytest.mark.parametrize("layout", tiny_checkpoints("predictor"))
def test_a_predictor_of_each_layout_loads_and_decodes(layout: str, tmp_path: Path) -> None:
    files: Any = {"examples.json": [{"prompt": "the cat"}]}
    predictor = load_predictor(str(tiny_checkpoint(layout, tmp_path / "tiny", files=files)), progress=False)
    assert isinstance(predictor, MaskPredictor) and predictor.prompts == ["the cat"]
    (trace,) = decode(predictor, "the cat", "default", SHAPE)
    assert trace.text is not None and predictor.mask_id not in trace.tokens
    expected: dict[str, type] = dict.fromkeys(("llada", "llada-moe", "dream", "a2d-qwen3"), BidirectionalPredictor)
    expected["world"] = WorldPredictor
    assert isinstance(predictor, expected.get(layout.removesuffix("-converted"), object))


@pytest.mark.parametrize("layout", tiny_checkpoints("reward"))
def test_a_reward_of_each_layout_loads_and_tells_answers_apart(layout: str, tmp_path: Path) -> None:
    folder = str(tiny_checkpoint(layout, tmp_path / "tiny"))
    reward = load_reward(folder, published=layout if layout in PUBLISHED else None, progress=False)
    good, bad = reward.score(["the cat"] * 2, ["sat on the mat .", "ran ."])
    assert good != bad
    if layout in PUBLISHED:
        assert (reward.mean, reward.std) == (PUBLISHED[layout].mean, PUBLISHED[layout].std)
    else:
        assert (reward.mean, reward.std) == (0.0, 1.0)
        assert isinstance(reward, rws.SequenceClassifierReward if layout == "classifier" else CausalReward)


@pytest.mark.parametrize("layout", ["llada", "bert", "qrm", "causal", "world"])
def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(layout: str, tmp_path: Path) -> None:
    made = (tiny_checkpoint(layout, tmp_path / str(number), seed=seed) for number, seed in enumerate((5, 5, 6)))
    one, two, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in made)
    assert one == two
    differing = {name for name in one if one[name] != other[name]}
    assert differing and all(name.endswith((".safetensors", ".npz")) for name in differing)


def test_entries_of_the_config_change_the_weights_with_them(tmp_path: Path) -> None:
    for layout, entry in (("llada", "n_layers"), ("dream", "num_hidden_layers"), ("intern", "num_hidden_layers")):
        folder = tiny_checkpoint(layout, tmp_path / layout, config={entry: 3})
        assert json.loads((folder / "config.json").read_text())[entry] == 3
        assert set(re.findall(r"\.(\d+)\.", " ".join(stored_weights(folder)))) == {"0", "1", "2"}
    wide = tiny_checkpoint("bert", tmp_path / "wide", config={"hidden_size": 32})
    assert load_predictor(str(wide), progress=False).model.config.hidden_size == 32
    world = load_predictor(str(tiny_checkpoint("world", tmp_path / "world", config={"order": 2})))
    assert isinstance(world, WorldPredictor) and world.world.chain.order == 2
