"""What a watched network is seen to do is what it does: hidden states lead to its logits, attention to its output."""

from pathlib import Path
from typing import Any

import pytest
import torch
from documented_commands import ran
from misuse import refused
from torch import Tensor

from rws_decode import Options, Shape, decode, load_predictor, watch
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.predictors import forbidden_ids

SHAPE = Shape(6, 3, 6)


def seen_of(predictor: Any, modules: str, **options: Any) -> tuple[Any, dict[tuple[int, str], Tensor]]:
    tensors: dict[tuple[int, str], Tensor] = {}

    def receive(step: int, name: str, tensor: Tensor) -> None:
        tensors[step, name] = tensor

    with watch(predictor, receive, modules):
        run = decode(predictor, ["the cat sat", "a dog"], shape=SHAPE, **options)
    return run, tensors


@torch.inference_mode()
def test_hidden_states_of_mini_lead_to_the_logits_of_each_step() -> None:
    mini = load_predictor("mini")
    run, tensors = seen_of(mini, r"model\.(layers\.\d+|embeddings)", options=Options(padding="right"))
    plain = decode(mini, ["the cat sat", "a dog"], shape=SHAPE, options=Options(padding="right"))
    assert run.tokens.tolist() == plain.tokens.tolist()
    layers = len(mini.model.model.layers)
    assert len(tensors) == SHAPE.steps * (layers + 1) and {step for step, _ in tensors} == {0, 1, 2}
    for step in range(SHAPE.steps):
        hidden = tensors[step, f"model.layers.{layers - 1}"]
        logits = mini.model.decoder(mini.model.head(mini.model.model.final_norm(hidden)))
        for trace, row in zip(run, logits, strict=True):
            places = trace.masked[step].nonzero()[0]
            row[:, forbidden_ids(mini)] = -torch.inf
            assert row[trace.offset + places].argmax(-1).tolist() == trace.candidate[step][places].tolist()


@torch.inference_mode()
@pytest.mark.parametrize("padding", ["left", "right"])
def test_attention_of_llada_leads_to_the_output_of_each_head(padding: Any, tmp_path: Path) -> None:
    llada = load_predictor(str(tiny_checkpoint("llada", tmp_path / "tiny")), progress=False)
    options = Options(padding=padding)
    run, tensors = seen_of(llada, r".*\.(self_attn|v_proj|o_proj)", options=options)
    plain = decode(llada, ["the cat sat", "a dog"], shape=SHAPE, options=options)
    assert run.tokens.tolist() == plain.tokens.tolist()
    for step in range(SHAPE.steps):
        module = "model.layers.1.self_attn"
        shares, value = tensors[step, f"{module}[1]"], tensors[step, f"{module}.v_proj"]
        heads = value.unflatten(-1, (-1, llada.model.config.head_dim)).transpose(1, 2)
        heads = heads.repeat_interleave(shares.shape[1] // heads.shape[1], dim=1)
        mixed = (shares @ heads).transpose(1, 2).flatten(2)
        torch.testing.assert_close(llada.model.model.layers[1].self_attn.o_proj(mixed), tensors[step, f"{module}[0]"])
        torch.testing.assert_close(shares.sum(-1), torch.ones(shares.shape[:-1]))


def test_what_cannot_be_watched_is_refused_and_nothing_stays_behind() -> None:
    def watched(predictor: Any, modules: str) -> None:
        with watch(predictor, print, modules):
            raise RuntimeError

    english, mini = load_predictor("english"), load_predictor("mini")
    refused(lambda: watched(english, ".*"), "it has no network of torch")
    refused(lambda: watched(mini, "layer"), "modules is 'layer': no module has such a name, as model, model.embeddings")
    with pytest.raises(RuntimeError):
        watched(mini, ".*")
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in mini.model.modules())


def test_hidden_states_of_each_step_and_layer_are_received() -> None:
    norms = ran("docs/extra/watch.md")["norms"]
    assert {step for step, _ in norms} == {0, 1, 2, 3} and len(norms) % 4 == 0 and min(norms.values()) > 0
