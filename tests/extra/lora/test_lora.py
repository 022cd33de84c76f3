"""A LoRA beside the weights gives what peft's own class gives, by every way to decode; what is none is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from misuse import refused
from safetensors.torch import load_file, save_file

from rws_decode import Shape, decode, decode_compact, load_predictor
from rws_decode.extra.testing import tiny_checkpoint

peft = pytest.importorskip("peft", reason="needs peft")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

SHAPE = Shape(6, 3, 6)
LLADA = {"model.layers.": "model.transformer.blocks.", "self_attn.q_proj": "q_proj"}
LLADA |= {"self_attn.o_proj": "attn_out", "mlp.gate_proj": "ff_proj"}
# A layout, modules by transformers' names, and those of the published network.
CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "bert": (["query", "dense"], {}),
    "a2d-qwen3": (["q_proj", "down_proj"], {}),
    "llada": (["q_proj", "o_proj", "gate_proj"], LLADA),
    "mini": (["Wqkv", "Wo"], {}),
}


def adapted(layout: str, folder: Path, **options: Any) -> tuple[str, Any]:
    """Write a LoRA of random numbers; return the model's name and the predictor whose network peft itself wraps."""
    modules, published = CASES[layout]
    model = layout if layout == "mini" else str(tiny_checkpoint(layout, folder / "model"))
    by_peft = load_predictor(model, progress=False)
    torch.manual_seed(0)
    config = peft.LoraConfig(r=2, lora_alpha=8, target_modules=modules, init_lora_weights=False, **options)
    wrapped = peft.get_peft_model(by_peft.model, config).eval()
    config.save_pretrained(folder / "lora")
    renamed = {}
    for name, tensor in peft.get_peft_model_state_dict(wrapped, save_embedding_layers=False).items():
        for ours, theirs in published.items():
            name = name.replace(ours, theirs)
        renamed[name] = tensor
    save_file(renamed, folder / "lora" / "adapter_model.safetensors")
    return model, by_peft


@torch.inference_mode()
@pytest.mark.parametrize(
    ("layout", "options"),
    [*((layout, {}) for layout in CASES), ("llada", {"use_rslora": True}), ("bert", {"use_dora": True})],
)
def test_logits_are_those_of_pefts_class(layout: str, options: dict[str, Any], tmp_path: Path) -> None:
    model, by_peft = adapted(layout, tmp_path, **options)
    plain, ours = (load_predictor(model, adapter=each, progress=False) for each in (None, tmp_path / "lora"))
    assert (ours.name, ours.checkpoint) == (f"{plain.name}+lora", None)
    canvas = torch.tensor([[5, 6, 7, ours.mask_id, ours.mask_id], [5, 5, 8, 9, ours.mask_id]])
    row, column = torch.tensor([0, 0, 1]), torch.tensor([3, 4, 4])
    logits = by_peft.logits(canvas, None)
    assert torch.equal(ours.logits(canvas, None), logits)
    torch.testing.assert_close(ours.logits_at(canvas, None, row, column), logits[row, column])
    assert not torch.allclose(plain.logits(canvas, None), logits, atol=1e-3)
    for way in (decode, decode_compact):
        assert (
            way(ours, [[5, 6, 7]], shape=SHAPE).tokens.tolist()
            == decode(by_peft, [[5, 6, 7]], shape=SHAPE).tokens.tolist()
        )


@pytest.mark.parametrize(
    ("config", "weights", "message"),
    [
        ({"peft_type": "IA3"}, {}, "says no LORA as its peft_type"),
        (
            {},
            {"base_model.model.model.layers.9.mlp.up_proj.lora_A.weight": torch.ones(2, 4)},
            "it is of another network",
        ),
        (
            {},
            {"base_model.model.model.transformer.blocks.0.q_proj.lora_A.weight": torch.full((2, 32), torch.nan)},
            "NaN",
        ),
    ],
)
def test_other_loras_are_refused(config: dict[str, Any], weights: dict[str, Any], message: str, tmp_path: Path) -> None:
    model, _ = adapted("llada", tmp_path)
    says, stored = tmp_path / "lora" / "adapter_config.json", tmp_path / "lora" / "adapter_model.safetensors"
    says.write_text(json.dumps(json.loads(says.read_text()) | config))
    save_file(load_file(stored) | weights, stored)
    refused(lambda: load_predictor(model, adapter=tmp_path / "lora", progress=False), message)
