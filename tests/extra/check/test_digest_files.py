"""Digests of models: what they hold, and how each way in which two machines may differ is named."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_files import edit_json
from safetensors.torch import load_file, save_file

import rws_decode
from paper_figures.extra.check.fingerprints import SHAPE
from rws_decode import CallablePredictor, Digest, Shape, load_predictor, load_reward
from rws_decode.checkpoints import models_directory
from rws_decode.common.threads import torch_threads

SMALL = Shape(8, 4, 8)
WORDS = ["the cat sat on a mat .", "a dog ran", "it was red and blue"]


def checked(predictor: Any, reward: Any = None, **options: Any) -> Digest:
    return rws_decode.check_digest(predictor, reward, **{"prompts": WORDS, "shape": SMALL} | options)


@pytest.fixture(scope="module")
def mini() -> Digest:
    predictor = load_predictor("mini")
    return rws_decode.check_digest(predictor, load_reward("mini"), prompts=predictor.prompts[:2])


@pytest.fixture(scope="module")
def small() -> Digest:
    predictor = load_predictor("mini")
    return checked(predictor, load_reward("mini"), prompts=predictor.prompts[:2])


def test_a_digest_is_small_and_is_read_as_it_was_written(mini: Digest, tmp_path: Path) -> None:
    path = mini.save(tmp_path / "digest.json")
    assert path.stat().st_size < 25_000
    again = rws_decode.load_digest(path)
    assert again == mini and again.save(tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert mini.prompts == tuple(load_predictor("mini").prompts[:2]) and len(mini.decodes) == 6
    diff = rws_decode.compare_digests(again, mini)
    assert diff.same and diff.last_digits is None and not diff.context
    assert str(diff) == "Nothing differs: the same model, the same tokens in all 6 decodes, the same bits."


def test_decodes_and_rewards_are_those_of_the_decoder(mini: Digest) -> None:
    predictor, reward = load_predictor("mini"), load_reward("mini")
    for strategy in ("default", "temperature:4", "rws:8"):
        rows = [row for row in mini.decodes if row.strategy == strategy]
        decoding = rws_decode.decode(predictor, predictor.prompts[:2], strategy, SHAPE, reward=reward)
        for row, trace in zip(rows, decoding, strict=True):
            assert list(row.tokens) == trace.tokens.tolist() and list(row.commit_step) == trace.commit_step.tolist()
            assert [near > 0 for near in row.near] == ((trace.near_ties + trace.near_tokens + trace.ties) > 0).tolist()
            assert row.reward == trace.final_reward["raw"]
    for each in mini.rewards:
        question, answer = mini.prompts[each.prompt], mini.prompts[each.answer]
        with torch_threads():
            assert each.reward == reward.score([question], [answer])[0]


def test_a_batch_of_one_differs_in_last_digits_at_most() -> None:
    predictor, reward = load_predictor("mini"), load_reward("mini")
    prompts = [f"{prompt}{' .' * 9 * number}" for number, prompt in enumerate(predictor.prompts[:3])]
    many = checked(predictor, reward, prompts=prompts)
    single = rws_decode.check_digest(predictor, reward, like=many, batch=1)
    diff = rws_decode.compare_digests(many, single)
    assert diff.same and diff.last_digits is not None and diff.last_digits.logits is not None
    assert 0 < diff.last_digits.logits < 1e-4 and 0 < (diff.last_digits.rewards or 0) < 1e-4
    assert [(each.name, each.first, each.second) for each in diff.context] == [("batch", 16, 1)]
    text = str(diff)
    assert text.startswith("Only last digits differ. The model is the same, with the same tokens in all 9 decodes.")
    assert "batch: 16 there, 1 here" in text and "which rounding explains" in text


def test_another_dtype_is_the_same_checkpoint_and_the_likely_cause(mini: Digest) -> None:
    rough = rws_decode.check_digest(load_predictor("mini", dtype="bfloat16"), load_reward("mini"), like=mini)
    diff = rws_decode.compare_digests(mini, rough)
    assert not diff.same and not diff.models and diff.kinds == ["tokens"]
    assert diff.last_digits is not None and 1e-3 < (diff.last_digits.logits or 0) < 1
    text = str(diff)
    assert text.startswith("The model is the same: checkpoint, tokenizer, chat template and end-of-text rule.\n")
    assert f"Tokens differ in {len(diff.rows)} of 6 decodes" in text
    assert "first of all on dtype." in text and text.endswith("check again with --dtype float32.")
    for row in diff.rows:
        mine, theirs = (
            next(r for r in each.decodes if (r.prompt, r.strategy) == (row.prompt, row.strategy))
            for each in (rough, mini)
        )
        before = [p for p, step in enumerate(theirs.commit_step) if step < row.step]
        assert all((mine.tokens[p], mine.commit_step[p]) == (theirs.tokens[p], theirs.commit_step[p]) for p in before)
        for position, token, word in row.only_there:
            assert theirs.tokens[position] == token and theirs.commit_step[position] == row.step
            assert word == mini.words[str(token)]
        assert row.tokens == sum(a != b for a, b in zip(mine.tokens, theirs.tokens, strict=True))


def a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    (name,) = (name for name in weights if name.endswith("layers.3.mlp.Wo.weight"))
    weights[name][0, 0] += 0.125
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def rounded(folder: Path) -> None:
    weights = {name: each.bfloat16() for name, each in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def entry(**changed: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "config.json", **changed)


@pytest.mark.parametrize(
    ("change", "named", "sentence"),
    [
        (a_weight, "Weights differ in 1 of 11 parts: model.layers.3.", "Likely cause: it is not the same model"),
        (rounded, "The files hold float16 there and bfloat16 here.", "or it was stored again."),
        (entry(norm_eps=1e-3), "config.json: norm_eps is 1e-05 there and 0.001 here.", "Likely cause"),
        (entry(use_cache=True), "config.json: use_cache is ", "the files compute the same, to the last bit"),
    ],
    ids=["weight", "dtype", "entry", "entry without effect"],
)
def test_what_differs_in_the_files_is_named(
    change: Callable[[Path], None], named: str, sentence: str, small: Digest, tmp_path: Path
) -> None:
    shutil.copytree(models_directory() / "mini", tmp_path / "mini", ignore=shutil.ignore_patterns("digests.json"))
    change(tmp_path / "mini")
    other = load_predictor(str(tmp_path / "mini"))
    diff = rws_decode.compare_digests(small, rws_decode.check_digest(other, None, like=small))
    assert not diff.same and diff.kinds[0] == "checkpoint" and sentence in str(diff)
    data = json.loads(json.dumps(diff.as_json(), allow_nan=False))
    assert data["same"] is False and data["decodes"] == 4
    assert any(named in each["text"] for each in data["differences"] if each["kind"] == "checkpoint")


def by_table(shift: float) -> CallablePredictor:
    """Return a predictor whose third position is surer than the second by `shift` logits."""
    table = torch.zeros(4, 5)
    for position, (token, logit) in enumerate([(1, 4.0), (2, 3.0), (3, 3.0 + shift), (4, 1.0)]):
        table[position, token] = logit
    words = {1: "one", 2: "two", 3: "three", 4: "four"}
    return CallablePredictor(
        lambda canvas: table[[0, 0, 1, 2, 3]].expand(len(canvas), -1, -1),
        mask_id=0,
        vocab_size=5,
        decode=lambda ids: " ".join(words.get(token, "?") for token in ids),
        name="table",
    )


@pytest.mark.parametrize(("shift", "near"), [(1e-6, True), (0.5, False)], ids=["near-tie", "no near-tie"])
def test_an_order_that_flips_is_told_with_its_near_tie(shift: float, near: bool) -> None:
    shape = Shape(4, 4, 4)
    first, second = (checked(by_table(s), prompts=[[1]], shape=shape) for s in (-shift, shift))
    diff = rws_decode.compare_digests(first, second)
    row = diff.rows[0]
    assert (row.strategy, row.step, row.near_tie, row.tokens) == ("default", 1, near, 0)
    assert row.only_there == ((1, 2, "two"),) and row.only_here == ((2, 3, "three"),)
    text = str(diff)
    ways = "Each first differs at a near-tie." if near else "None first differs at a near-tie."
    assert f"Tokens differ in 2 of 2 decodes. {ways}" in text
    assert "there 'two' at position 1; here 'three' at position 2. In the end the answer is the same." in text
    if near:
        assert not diff.models and "does not repeat itself on this device" in text
    else:
        assert "more than rounding explains" in text


def test_what_a_file_holds_cannot_steer_a_terminal(small: Digest) -> None:
    words = dict.fromkeys(small.words, "\x1b[2J\x9b31m" + "y" * 900)
    old = replace(small, words=words, machine=small.machine | {"device": "\x1b]0;x\x07"})
    row = replace(old.decodes[0], tokens=(9, *old.decodes[0].tokens[1:]), strategy="default")
    old = replace(old, decodes=(row, *old.decodes[1:]), end_of_text=replace(old.end_of_text, mask=9))
    for text in (str(rws_decode.compare_digests(old, small)), str(old)):
        assert all(line.isprintable() and len(line) <= 400 for line in text.splitlines())
    assert "<script>" not in replace(old, reward_model="<script>")._repr_html_()
