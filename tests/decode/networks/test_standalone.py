"""The shipped networks and tokenizers without transformers: the bits, the ids and the texts of transformers' own."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from json_files import write_json
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedTokenizerBase

from rws_decode import HFMaskPredictor, SequenceClassifierReward, load_predictor, load_reward
from rws_decode.checkpoints import Checkpoint, models_directory
from rws_decode.networks.modernbert import FileTokenizer, ModernBertNetwork, file_tokenizer

MODELS = models_directory()
VOCABULARY = 1616
PAIRS = [
    ("write a short story with meteor .", "the brave meteor fell ."),
    ("sort : two one", "one two . " * 20),
    ("", ""),
    ("[MASK] of [EOS]", "zebra [CLS] zzz"),
]
TEXTS = [
    *("", " ", "\n\t", "a", "write a short story .", "Write A SHORT Story.", "sort:two,one?", "zzz unknown Wörter"),
    *("[MASK]", "[CLS] [SEP] [EOS] [PAD] [UNK] [MASK]", "a[MASK]b", "[mask]", "[MASK:3]", "[[MASK]]", " [MASK] "),
    *("\u00e9", "e\u0301", "\ufb01", "\u0130stanbul", "\u1e9e", "\u200b\u200d", "\ufeff", "\U0001f600"),
    *("\u2003a\u00a0b", "\x00", "\x7f", "\u202eabc", "\u0644\u0627", "\u4e2d\u6587", "...???:::,,,", "a" * 5000),
    "the cat . " * 400,
]


def is_ours(loaded: Any) -> bool:
    return isinstance(loaded.model, ModernBertNetwork)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_logits_have_the_bits_of_transformers(dtype: torch.dtype) -> None:
    ours = load_predictor("mini", dtype=dtype)
    model = transformers.AutoModelForMaskedLM.from_pretrained(MODELS / "mini", dtype=dtype)
    theirs = HFMaskPredictor(model, AutoTokenizer.from_pretrained(MODELS / "mini"), name="mini")
    assert isinstance(ours, HFMaskPredictor) and is_ours(ours) and not is_ours(theirs)
    rng = torch.Generator().manual_seed(0)
    for batch, length in ((1, 1), (3, 17), (2, 33)):
        canvas = torch.randint(VOCABULARY, (batch, length), generator=rng)
        real = torch.randint(1, length + 1, (batch, 1), generator=rng)
        right, left = torch.arange(length) < real, torch.arange(length) >= length - real
        for mask in (None, right, left, torch.ones_like(right)):
            assert torch.equal(ours.logits(canvas, mask), theirs.logits(canvas, mask))
            row, column = (torch.rand(batch, length, generator=rng) < 0.3).nonzero(as_tuple=True)
            expected = theirs.logits_at(canvas, mask, row, column)
            assert torch.equal(ours.logits_at(canvas, mask, row, column), expected) and expected.dtype == dtype


@pytest.mark.parametrize("name", ["mini-reward", "mini-judge"])
def test_rewards_have_the_bits_of_transformers(name: str) -> None:
    ours, stored = load_reward(str(MODELS / name)), json.loads((MODELS / name / "reward.json").read_text("utf-8"))
    model = AutoModelForSequenceClassification.from_pretrained(MODELS / name, num_labels=1, dtype=torch.float32)
    statistics = {"mean": stored["mean"], "std": stored["std"], "name": name}
    theirs = SequenceClassifierReward(model, AutoTokenizer.from_pretrained(MODELS / name), **statistics)
    assert isinstance(ours, SequenceClassifierReward) and is_ours(ours) and not is_ours(theirs)
    for pairs in (PAIRS, PAIRS[:1], PAIRS[1:2]):  # padded, and not
        prompts, answers = [prompt for prompt, _ in pairs], [answer for _, answer in pairs]
        assert ours.score(prompts, answers) == theirs.score(prompts, answers)
        assert [ours.ids(*pair) for pair in pairs] == [theirs.ids(*pair) for pair in pairs]
    assert ours.bounds == theirs.bounds is not None and ours.max_length == theirs.max_length == 512


def test_a_changed_copy_is_loaded_by_transformers(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "mini", tmp_path / "copy", ignore=shutil.ignore_patterns("digests.json")))
    windows = {"layer_types": ["full_attention", "sliding_attention"] * 2 + ["full_attention"], "local_attention": 8}
    write_json(folder / "config.json", json.loads((folder / "config.json").read_text(encoding="utf-8")) | windows)
    loaded = load_predictor(str(folder))
    assert isinstance(loaded.model, transformers.ModernBertForMaskedLM) and not is_ours(loaded)
    assert loaded.model.config.layer_types == windows["layer_types"]


@pytest.fixture(scope="module", params=["mini", "mini-reward", "mini-judge"])
def both(request: pytest.FixtureRequest) -> tuple[FileTokenizer, PreTrainedTokenizerBase]:
    folder = MODELS / request.param
    return file_tokenizer(Checkpoint(request.param, folder)), AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("options", [{"split_special_tokens": True}, {}, {"add_special_tokens": False}])
def test_both_give_the_same_ids(both: tuple[FileTokenizer, PreTrainedTokenizerBase], options: dict[str, bool]) -> None:
    ours, theirs = both
    rng = random.Random(3)
    ranges = ((0, 0x250), (0, 0xD800), (0x10000, 0x30000))
    pieces = [*" .,:?[]", "[MASK]", "[CLS]", "[EOS", "MASK]", "the", "Meteor", "wharf", "\n"]
    pieces += [chr(rng.randrange(*rng.choice(ranges))) for _ in range(80)]
    texts = [*TEXTS, *("".join(rng.choices(pieces, k=rng.randrange(30))) for _ in range(100))]
    for text in texts:
        assert ours(text, **options)["input_ids"] == theirs(text, **options)["input_ids"], text
    pairs = texts, [*texts[1:], texts[0]]
    assert ours(*pairs, **options)["input_ids"] == theirs(*pairs, **options)["input_ids"]


def test_padded_tensors_are_the_same(both: tuple[FileTokenizer, PreTrainedTokenizerBase]) -> None:
    ours, theirs = both
    for texts, padding in ((TEXTS, True), (TEXTS[:1], False), (["a b", "c d"], False)):
        answers = ["x"] * len(texts)
        options = {"padding": padding, "split_special_tokens": True, "return_tensors": "pt"}
        got = ours(texts, answers, padding_side="right", **options).to(torch.device("cpu"))  # type: ignore[arg-type]
        expected = theirs(texts, answers, padding_side="right", **options)
        assert set(got) == set(expected)
        for name, tensor in got.items():
            assert torch.equal(tensor, expected[name]) and tensor.dtype == expected[name].dtype


def test_ids_have_the_same_text(both: tuple[FileTokenizer, PreTrainedTokenizerBase]) -> None:
    ours, theirs = both
    assert ours.get_vocab() == theirs.get_vocab() and ours.model_max_length == theirs.model_max_length == 512
    for role in ("bos", "eos", "unk", "pad", "mask"):
        assert getattr(ours, f"{role}_token_id") == getattr(theirs, f"{role}_token_id")
    rng = random.Random(5)
    rows = [[], *([token] for token in range(1616)), *(rng.choices(range(1616), k=40) for _ in range(50)), [9999, 7]]
    for row in rows:
        for skip in (True, False):
            assert ours.decode(row, skip_special_tokens=skip) == theirs.decode(row, skip_special_tokens=skip)
