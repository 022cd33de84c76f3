"""Mask predictors: where they come from, their text, and what they refuse to load."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from grouped import grouped
from misuse import refused
from tiny_models import CLS, EOS, MASK, PAD, SEP, UNK, VOCABULARY, bert_predictor, modernbert_predictor, word_tokenizer
from transformers import AutoModelForMaskedLM, DistilBertConfig, ElectraConfig, PreTrainedConfig, RobertaConfig

import rws_decode as rws
from rws_decode import CallablePredictor, Confidence, Dialogue, HFMaskPredictor, Shape, compare, decode, load_predictor
from rws_decode.extra.testing import tiny_checkpoint, tiny_checkpoints
from rws_decode.predictors import base
from rws_theory.show import Note

SHAPE = Shape(4, 2, 4)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    examples = [{"prompt": "the cat", "answer": "sat ."}, {"prompt": "a dog", "answer": "ran ."}]
    return tiny_checkpoint("bert", tmp_path_factory.mktemp("models") / "tiny", files={"examples.json": examples})


def test_a_directory_gives_the_model_that_was_saved(saved: Path) -> None:
    half = load_predictor(str(saved), dtype="bfloat16", progress=False)
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.bfloat16}
    predictor = load_predictor(str(saved))
    assert predictor.name == "tiny"
    assert (predictor.mask_id, predictor.pad_id, predictor.end_id) == (MASK, PAD, EOS)
    assert predictor.forbidden_ids == () and predictor.max_length == 64
    assert [example["prompt"] for example in predictor.examples] == ["the cat", "a dog"]
    options = {"length": 8, "steps": 4, "block": 4}
    (loaded,) = decode(predictor, ["the cat"], Confidence(), **grouped(**options))
    (built,) = decode(bert_predictor(), ["the cat"], Confidence(), **grouped(**options))
    assert loaded.tokens.tolist() == built.tokens.tolist() and loaded.text == built.text


def test_without_a_tokenizer_ids_go_in_and_no_text_comes_out(tmp_path: Path) -> None:
    predictor = load_predictor(str(tiny_checkpoint("bert", tmp_path / "bare", tokenizer=False)))
    assert (predictor.mask_id, predictor.pad_id, predictor.end_id) == (MASK, PAD, EOS)
    (trace,) = decode(predictor, [[CLS, 6, 8, SEP]], Confidence(), Shape(length=8, steps=4, block=4))
    (same,) = decode(bert_predictor(), [[CLS, 6, 8, SEP]], Confidence(), Shape(length=8, steps=4, block=4))
    assert trace.tokens.tolist() == same.tokens.tolist()
    assert trace.text is None and trace.prompt_text is None
    refused(lambda: predictor.encode_prompt("the cat"), "has no tokenizer, give token ids")


@pytest.mark.parametrize("special", tiny_models.SPECIAL)
def test_no_special_token_can_be_spelled(special: str) -> None:
    for predictor in (bert_predictor(), modernbert_predictor()):
        assert predictor.encode_prompt(f"the {special} cat") == [CLS, 6, UNK, UNK, UNK, 8, SEP]


SIZES: dict[str, Any] = {"vocab_size": VOCABULARY, "max_position_embeddings": 40, "hidden_size": 16}
SIZES |= {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
CONFIGS: dict[str, PreTrainedConfig] = {
    "distilbert": DistilBertConfig(vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=2, hidden_dim=32),
    "roberta": RobertaConfig(**SIZES, pad_token_id=PAD),
    "electra": ElectraConfig(**SIZES, embedding_size=8),
}


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_any_masked_language_model_loads_and_gives_the_logits_of_chosen_places(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    model = AutoModelForMaskedLM.from_config(CONFIGS[kind]).eval()
    model.save_pretrained(tmp_path / kind)
    word_tokenizer().save_pretrained(tmp_path / kind)
    predictor = load_predictor(str(tmp_path / kind), progress=False)
    canvas = torch.tensor([[CLS, 7, 8, SEP, MASK, MASK], [CLS, 9, SEP, MASK, 12, 13]])
    logits = predictor.logits(canvas, None)
    torch.testing.assert_close(logits, model(input_ids=canvas).logits, rtol=1e-5, atol=1e-5)
    row, column = torch.tensor([0, 0, 1]), torch.tensor([4, 5, 3])
    values = predictor.logits_at(canvas, None, row, column)
    torch.testing.assert_close(values, logits[row, column], rtol=1e-5, atol=1e-5)
    (trace,) = decode(predictor, ["the cat"], Confidence(), Shape(length=4, steps=2, block=4))
    assert MASK not in trace.tokens


@pytest.mark.parametrize("kind", ["callable", "network", "bert", "llada"])
def test_a_mask_is_a_token_id_and_ends_no_text(kind: str, tmp_path: Path) -> None:
    path = str(tiny_checkpoint(kind, tmp_path / "tiny")) if kind in tiny_checkpoints() else ""

    def made(mask_id: Any) -> Any:
        if kind == "callable":
            return CallablePredictor(len, mask_id=mask_id, end_id=EOS, vocab_size=28)  # type: ignore[arg-type]
        if kind == "network":
            return HFMaskPredictor(tiny_models.bert(), word_tokenizer(), mask_id=mask_id)
        return load_predictor(path, mask_id=mask_id, progress=False)

    for wrong in (True, 4.0, "nope", -1):
        refused(partial(made, wrong), f"mask_id is {wrong!r}:  ...  needs one below ... , a whole number from 0")
    end, name, mask = (263, "<|mdm_mask|>", 267) if kind == "llada" else (EOS, "[MASK]", MASK)
    refused(partial(made, end), f"mask_id is {end}:  ...  ends its texts by this token")
    refused(partial(made, name), "below 28, a whole number" if kind == "callable" else f"mask_id={mask} for this token")
    predictor = made(np.int64(mask))
    assert type(predictor.mask_id) is int and predictor.mask_id == mask
    predictor.end_id, predictor.end_ids = mask, (mask,)
    refused(lambda: decode(predictor, [[1]]), f"mask_id is {mask}:  ...  ends its texts")


def test_remote_code_and_examples_that_are_no_list_are_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint("bert", tmp_path / "remote")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "odd", "auto_map": {"AutoModelForMaskedLM": "code.Model", "AutoConfig": "code.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ValueError, match=r"model_type in its config.json is 'odd', no masked language .* never run"):
        load_predictor(str(folder))
    folder = tiny_checkpoint("bert", tmp_path / "odd")
    for content in ("{", '[{"question": "?"}]'):
        (folder / "examples.json").write_text(content)
        refused(lambda: load_predictor(str(folder)), "examples.json of")


MINI = "mini does not know these words and reads each as unknown: "


@pytest.mark.parametrize("prompt", ["the flurb owned", Dialogue(("the flurb owned",)), "the flurb [MASK:4] owned"])
def test_words_that_a_predictor_does_not_know_are_warned_of_where_it_is_called(prompt: str | Dialogue) -> None:
    mini = load_predictor("mini")
    with pytest.warns(Note, match=f"^{MINI}flurb$") as warned:
        decode(mini, [prompt, "the owned"], shape=SHAPE)
    with pytest.warns(Note, match=f"^{MINI}zorp flurb$") as compared:
        compare(mini, "zorp the flurb", ["default", "temperature:4"], SHAPE)
    assert {Path(each.filename) for each in (*warned, *compared)} == {Path(__file__)}
    assert len(warned) == 1 and len({each.lineno for each in compared}) == 1  # which Python shows once
    message = "english does not know these words and reads only what follows the last of them: zyzzyva"
    with pytest.warns(Note, match=f"^{message}$"):
        rws.scale_path(load_predictor("english"), "we zyzzyva the", shape=SHAPE, scale_min=1.0, scale_max=2.0)


def test_logits_that_are_held_stay_as_they_are_when_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_LARGE", 0)
    table = torch.arange(24.0).reshape(2, 4, 3)
    predictor = CallablePredictor(lambda canvas: table, mask_id=0)
    read = partial(base.logits_reader(predictor), predictor, torch.zeros(2, 4, dtype=torch.int64), None)
    row, column = torch.tensor([0, 0, 1]), torch.tensor([1, 3, 2])
    held, expected = read(row, column)[1:], table[row, column]
    other = read(row, column - 1)
    assert torch.equal(held, expected[1:])
    place = other.data_ptr()
    del other
    again = read(row, column)
    assert torch.equal(again, expected)
    assert again.data_ptr() == place
