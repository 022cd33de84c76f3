"""Recipes in miniature: resuming, the objective, the optimiser, rewards, and what is written."""

from __future__ import annotations

import json
import math
import shutil
from itertools import permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModelForMaskedLM, AutoTokenizer

from paper_figures.training import mini
from paper_figures.training.causal import CausalRecipe, answer_nll, build_causal, encode_texts
from paper_figures.training.evaluate import held_out, nelbo
from paper_figures.training.export import export, restore
from paper_figures.training.loop import Muon, Run
from paper_figures.training.mini import MiniRecipe, build_mini, draw_batch, train_mini
from paper_figures.training.objective import (
    decoding_loss,
    decoding_masks,
    encode_tasks,
    mask_rates,
    masked_loss,
    story_tokenizer,
)
from paper_figures.training.reward import bradley_terry, build_reward, graded_answers
from rws_decode.__main__ import main
from rws_decode.mini.stories.tasks import Task, sample_split, split_of

TINY = MiniRecipe(
    schedule=((0, 0.0), (4, 1.0)),
    curriculum=(1, 2),
    decoding=((3, 4),),
    even=2,
    batch=4,
    hidden=32,
    layers=2,
    heads=2,
    intermediate=32,
)


@pytest.fixture(scope="module")
def tokenizer():
    return story_tokenizer()


@pytest.fixture(autouse=True)
def _two_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mini, "held_out", lambda split, count: held_out(split, 2))


def test_an_interrupted_run_ends_in_the_same_weights(tmp_path: Path) -> None:
    whole = train_mini(Run(tmp_path / "whole", every=2, keep=(3,)), TINY).state_dict()
    train_mini(Run(tmp_path / "parts", every=1, stop_after=3), TINY)
    shutil.copytree(tmp_path / "parts", tmp_path / "resumed")
    parts = train_mini(Run(tmp_path / "parts", every=2), TINY).state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    kept = build_mini(TINY, story_tokenizer())
    assert restore(kept, tmp_path / "whole", "step-3.safetensors")["step"] == "3"
    assert not torch.equal(kept.state_dict()["decoder.bias"], whole["decoder.bias"])
    rows = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert all(0 <= row["coherence"] <= 1 and row["nelbo"] > 0 for row in rows)
    # A mean is over the steps since the run was resumed or last logged, whatever `every` is.
    ends = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert ends[1]["loss"] == pytest.approx((rows[2]["loss"] + rows[3]["loss"]) / 2, abs=1e-4)
    train_mini(Run(tmp_path / "resumed", every=100), TINY)
    last = json.loads((tmp_path / "resumed" / "log.jsonl").read_text().splitlines()[-1])
    assert last["loss"] == pytest.approx(rows[3]["loss"], abs=1e-4)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_run_of_another_recipe_is_refused(tmp_path: Path) -> None:
    train_mini(Run(tmp_path, stop_after=1), TINY)
    with pytest.raises(ValueError, match="a run of another recipe"):
        train_mini(Run(tmp_path), MiniRecipe(**{**TINY.__dict__, "lr": 1e-4}))


def test_an_untrained_run_cannot_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "mini", "--runs", str(tmp_path), "--export"]) == 2
    assert "train it first" in capsys.readouterr().err
    assert main(["train", "mini", "--runs", str(tmp_path), "--every", "0"]) == 2
    assert "--every is 0" in capsys.readouterr().err


def test_muon_steps_like_the_library_in_higher_precision() -> None:
    start = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    mine, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    a = Muon([mine], lr=0.01)
    b = torch.optim.Muon([theirs], lr=0.01, weight_decay=0.02, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    for step in range(3):
        gradient = torch.randn(6, 4, generator=torch.Generator().manual_seed(step + 1))
        mine.grad, theirs.grad = gradient.clone(), gradient.clone()
        a.step()
        b.step()
    assert torch.allclose(mine, theirs, atol=2e-3)  # theirs orthogonalises in bfloat16
    assert not torch.allclose(mine, start, atol=2e-3)


def test_masked_loss_equals_the_definition(tokenizer) -> None:
    model = build_mini(TINY, tokenizer).eval()
    ids, canvas, attend = encode_tasks(draw_batch(Random(3), 3), tokenizer)
    rate = torch.tensor([0.3, 0.6, 0.9])
    masked = canvas & (torch.rand(ids.shape, generator=torch.Generator().manual_seed(5)) < rate[:, None])
    with torch.inference_mode():
        for weighted in (False, True):
            got, accuracy = masked_loss(
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
    tasks = held_out("validation", 30)
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
    model = build_mini(TINY, tokenizer).eval()
    ids, canvas, attend = encode_tasks(held_out("validation", 4), tokenizer)
    rate = torch.tensor([0.3, 0.6, 0.9, 1.0])
    masked = decoding_masks(ids, canvas, tokenizer.eos_token_id, 32, np.random.default_rng(1))
    uniform = canvas & (torch.rand(ids.shape, generator=torch.Generator().manual_seed(2)) < rate[:, None])
    with torch.inference_mode():
        got, _ = decoding_loss(
            model, ids, canvas, attend, masked, rate, tokenizer.mask_token_id, torch.Generator().manual_seed(2)
        )
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


def test_prompts_are_never_masked_and_the_rest_of_the_canvas_is_end_of_text(tokenizer) -> None:
    task = sample_split(Random(0), "mini")
    ids, canvas, attend = encode_tasks([task], tokenizer)
    text = tokenizer.convert_ids_to_tokens(ids[0].tolist())
    start = text.index("[SEP]") + 1
    assert canvas[0].nonzero()[:, 0].tolist() == list(range(start, start + task.length))
    words = len(task.answer.split())
    assert text[start : start + words] == task.answer.split()
    assert set(text[start + words :]) == {"[EOS]"}
    assert bool(attend.all()) and "[UNK]" not in text


def test_mask_rates_follow_the_curriculum() -> None:
    rng = np.random.default_rng(0)
    early, weighted = mask_rates(100, (300, 600), 64, rng)
    assert not weighted and early.min() >= 0.05 and early.max() <= 0.55
    late, weighted = mask_rates(590, (300, 600), 64, rng)
    assert not weighted and late.max() > 0.9
    final, weighted = mask_rates(600, (300, 600), 64, rng)
    assert weighted and final.min() >= 1 / 64 and final.max() <= 1.0
    assert len(np.unique((final.numpy() * 64).round())) > 40  # stratified, not clustered


class _Exact(nn.Module):
    """A predictor that knows one answer with probability q at every masked token."""

    def __init__(self, ids: torch.Tensor, q: float, size: int):
        super().__init__()
        self.table = torch.full((*ids.shape, size), math.log((1 - q) / (size - 1)))
        self.table.scatter_(2, ids[:, :, None], math.log(q))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None):
        return type("Output", (), {"logits": self.table})()


def test_nelbo_of_a_constant_predictor_is_its_cross_entropy(tokenizer) -> None:
    tasks = held_out("validation", 4)
    ids, _, _ = encode_tasks(tasks, tokenizer)
    bound, error = nelbo(_Exact(ids, 0.5, len(tokenizer)), tokenizer, tasks, draws=3)
    assert bound == pytest.approx(tasks[0].length * math.log(2), rel=1e-4)
    assert error == pytest.approx(0.0, abs=1e-4)


def test_held_out_text_is_never_trained_on() -> None:
    for task in draw_batch(Random(1), 20):
        assert split_of(task.prompt, task.answer) == "mini"
    for task in held_out("test", 20):
        assert split_of(task.prompt, task.answer) == "test"


def test_answer_nll_equals_the_model_read_token_by_token(tokenizer) -> None:
    model = build_causal(CausalRecipe(hidden=32, layers=1, heads=2, intermediate=32), tokenizer).eval()
    pairs = [("sort : two one", "one two ."), ("reverse : lens flask prism", "prism flask lens .")]
    with torch.inference_mode():
        together = answer_nll(model, *encode_texts(pairs, tokenizer))
        expected = []
        for prompt, answer in pairs:
            ids = tokenizer(prompt, answer)["input_ids"]
            for at in range(len(tokenizer(prompt)["input_ids"]), len(ids)):
                logits = model(input_ids=torch.tensor([ids[:at]])).logits[0, -1]
                expected.append(-logits.log_softmax(-1)[ids[at]].item())
    assert together.tolist() == pytest.approx(expected, rel=1e-4)


def test_bradley_terry_counts_only_pairs_that_differ() -> None:
    scores = torch.tensor([2.0, 0.0, -1.0])
    loss, right, pairs = bradley_terry(scores, [0.0, -1.0, -1.0])
    assert (right, pairs) == (2, 2)
    assert loss.item() == pytest.approx(math.log1p(math.exp(-2)) + math.log1p(math.exp(-3)))
    assert bradley_terry(scores, [1.0, 1.0, 1.0])[2] == 0
    values = {bradley_terry(scores, list(order))[0].item() for order in permutations([0.0, -1.0, -2.0])}
    assert len(values) == 6


def test_graded_answers_are_graded_by_the_truth() -> None:
    written = [("write a short science story with meteor , lenses , crater and brave .", ["a .", "b .", "c .", "d ."])]
    rng = Random(0)
    for _ in range(20):
        prompt, graded = graded_answers(rng, "reward-a", written)
        assert len(graded) == 4 and all(truth <= 0 for _, truth in graded)
        if prompt != written[0][0]:
            assert graded[0][1] == 0


def test_a_reward_starts_on_the_trunk_of_mini(tokenizer) -> None:
    mini = build_mini(TINY, tokenizer)
    reward, other_reward = build_reward(mini, 1), build_reward(mini, 2)
    assert all(torch.equal(a, b) for a, b in zip(reward.model.parameters(), mini.model.parameters(), strict=True))
    assert reward.config.num_labels == 1
    assert not torch.equal(reward.classifier.weight, other_reward.classifier.weight)


def test_exported_models_load_with_plain_transformers(tmp_path: Path, tokenizer) -> None:
    model = train_mini(Run(tmp_path / "run", stop_after=1), TINY)
    restored = build_mini(TINY, tokenizer)
    assert restore(restored, tmp_path / "run")["step"] == "1"
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


def test_tasks_longer_than_their_canvas_cannot_be_encoded_silently(tokenizer) -> None:
    task = Task("keywords", "sort : one", "one two three .", 2)
    with pytest.raises(ValueError, match="length is 2"):
        encode_tasks([task], tokenizer)
