"""A tokenizer.json without transformers: the ids and texts of transformers' own, whatever the text."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from rws_decode.checkpoints.files import Checkpoint, checked_tokenizer, models_directory
from rws_decode.text.file_tokenizer import FileTokenizer, file_tokenizer

MODELS = models_directory()
NAMES = ["mini", "mini-reward", "mini-judge"]
TEXTS = [
    *("", " ", "\n\t", "a", "write a short story .", "Write A SHORT Story.", "sort:two,one?", "zzz unknown Wörter"),
    *("[MASK]", "[CLS] [SEP] [EOS] [PAD] [UNK] [MASK]", "a[MASK]b", "[mask]", "[MASK:3]", "[[MASK]]", " [MASK] "),
    *(
        "\u00e9",
        "e\u0301",
        "\ufb01",
        "\u0130stanbul",
        "\u1e9e",
        "\u200b\u200d",
        "\ufeff",
        "\U0001f600",
        "\u2003a\u00a0b",
    ),
    *("\x00", "\x7f", "\u202eabc", "\u0644\u0627", "\u4e2d\u6587", "...???:::,,,", "a" * 5000, "the cat . " * 400),
]


def random_texts(count: int) -> list[str]:
    rng = random.Random(3)
    pieces = [*" .,:?[]", "[MASK]", "[CLS]", "[EOS", "MASK]", "the", "Meteor", "wharf", "\n"]
    drawn = [
        chr(rng.choice([rng.randrange(0x250), rng.randrange(0xD800), rng.randrange(0x10000, 0x30000)]))
        for _ in range(80)
    ]
    return ["".join(rng.choices([*pieces, *drawn], k=rng.randrange(30))) for _ in range(count)]


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest) -> tuple[FileTokenizer, PreTrainedTokenizerBase]:
    folder = MODELS / request.param
    ours = file_tokenizer(Checkpoint(request.param, folder))
    assert ours is not None
    return checked_tokenizer(ours), AutoTokenizer.from_pretrained(folder)


def test_texts_and_pairs_have_the_same_ids(both: tuple[FileTokenizer, PreTrainedTokenizerBase]) -> None:
    ours, theirs = both
    texts = TEXTS + random_texts(300)
    answers = [*texts[1:], texts[0]]
    for split in (True, False):
        for text in texts:
            expected = theirs(text, split_special_tokens=split)["input_ids"]
            assert ours(text, split_special_tokens=split)["input_ids"] == expected, text
        expected = theirs(texts, answers, truncation=False, split_special_tokens=split)["input_ids"]
        assert ours(texts, answers, truncation=False, split_special_tokens=split)["input_ids"] == expected
    specials = {ours.mask_token_id, ours.eos_token_id}
    assert not specials & set(ours("[MASK] [EOS] a[MASK]b", split_special_tokens=True)["input_ids"])


def test_padded_tensors_are_the_same(both: tuple[FileTokenizer, PreTrainedTokenizerBase]) -> None:
    ours, theirs = both
    for texts, padding in ((TEXTS, True), (TEXTS[:1], False), (["a b", "c d"], False)):
        answers = ["x"] * len(texts)
        options = {"padding": padding, "truncation": False, "split_special_tokens": True, "return_tensors": "pt"}
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
            expected = theirs.decode(row, skip_special_tokens=skip)
            assert ours.decode(row, skip_special_tokens=skip) == expected


def test_what_it_cannot_do_is_refused(both: tuple[FileTokenizer, PreTrainedTokenizerBase]) -> None:
    for options in ({"truncation": True}, {"padding_side": "left"}):
        with pytest.raises(ValueError, match=r"^truncation is .* False and 'right' are needed"):
            both[0]("a", **options)  # type: ignore[arg-type]


def write(folder: Path, file: str, change: Callable[[dict], object]) -> None:
    settings = json.loads((folder / file).read_text(encoding="utf-8")) if (folder / file).is_file() else {}
    change(settings)
    (folder / file).write_text(json.dumps(settings), encoding="utf-8")


CONFIG, FILE = "tokenizer_config.json", "tokenizer.json"
UNUSUAL: dict[str, tuple[str, Callable[[dict], object]]] = {
    "another file": ("special_tokens_map.json", lambda settings: settings.update(mask_token="[EOS]")),
    "a template": ("chat_template.json", lambda settings: settings.update(chat_template="{{ messages }}")),
    "a key that nobody knows": (CONFIG, lambda settings: settings.update(add_bos_token=True)),
    "another class": (CONFIG, lambda settings: settings.update(tokenizer_class="BertTokenizer")),
    "tidied texts": (CONFIG, lambda settings: settings.update(clean_up_tokenization_spaces=True)),
    "no limit": (CONFIG, lambda settings: settings.pop("model_max_length")),
    "a limit that is no number": (CONFIG, lambda settings: settings.update(model_max_length="512")),
    "a special token of several parts": (CONFIG, lambda settings: settings.update(mask_token={"content": "[MASK]"})),
    "a special token that is none": (CONFIG, lambda settings: settings.update(mask_token="meteor")),
    "no padding": (CONFIG, lambda settings: settings.pop("pad_token")),
    "a token that takes blanks": (FILE, lambda settings: settings["added_tokens"][4].update(lstrip=True)),
    "a token that is not special": (FILE, lambda settings: settings["added_tokens"][4].update(special=False)),
    "no layout": (FILE, lambda settings: settings.update(post_processor=None)),
    "cut texts": (
        FILE,
        lambda settings: settings.update(
            truncation={"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
        ),
    ),
    "no model": (FILE, lambda settings: settings.pop("model")),
}


@pytest.mark.parametrize("change", UNUSUAL)
def test_unusual_files_are_for_transformers(change: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "mini", tmp_path / "mini", ignore=shutil.ignore_patterns("digests.json")))
    assert file_tokenizer(Checkpoint("mini", folder)) is not None
    write(folder, *UNUSUAL[change])
    assert file_tokenizer(Checkpoint("mini", folder)) is None


def test_a_directory_without_a_tokenizer_has_none(tmp_path: Path) -> None:
    assert file_tokenizer(Checkpoint("mini", tmp_path)) is None and file_tokenizer(Checkpoint("a/b", None)) is None
    shutil.copy(MODELS / "mini" / CONFIG, tmp_path)
    assert file_tokenizer(Checkpoint("mini", tmp_path)) is None
