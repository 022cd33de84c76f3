"""Checkpoints that lie, lack, break or do not end; where they come from; what they need; and their conversion."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from checkpoint_files import edit_json, in_the_cache, stored_weights
from command_lines import printed
from safetensors.torch import load_file, save_file

from rws_decode import load_predictor
from rws_decode.checkpoints import trial
from rws_decode.common import arguments
from rws_decode.extra.convert import checkpoint as convert
from rws_decode.extra.convert.checkpoint import convert as convert_checkpoint
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.extra.testing.diffusion import FIRST_SPECIAL, LLADA_IDS, llada_tokenizer

SHARD, INDEX = "model-00002-of-00003.safetensors", "model.safetensors.index.json"
EXTRA = "model.transformer.blocks.1.extra.weight"


def edit_index(folder: Path, change: Callable[[dict[str, str]], object]) -> None:
    index = json.loads((folder / INDEX).read_text())
    change(index["weight_map"])
    (folder / INDEX).write_text(json.dumps(index))


def changed(change: Callable[[dict[str, torch.Tensor], str], object]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        tensors = load_file(folder / SHARD)
        before = set(tensors)
        change(tensors, next(name for name in tensors if name.endswith("weight")))
        save_file(tensors, folder / SHARD, metadata={"format": "pt"})
        edit_index(folder, lambda table: [table.pop(name) for name in before - set(tensors)])
        edit_index(folder, lambda table: table.update(dict.fromkeys(tensors, SHARD)))

    return rewrite


def pickled(folder: Path) -> None:
    for path in folder.glob("model*safetensors*"):
        path.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04csystem\nsystem\n")


def with_config(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "config.json", **changes)


def larger_tokenizer(folder: Path) -> None:
    codec = llada_tokenizer()
    codec.add_tokens([*map(str, range(100, 120))])
    codec.save_pretrained(folder)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (
        lambda folder: os.truncate(folder / SHARD, 999),
        rf"cannot be loaded: {SHARD} is truncated or no safet",
    ),
    "missing tensor": (changed(lambda tensors, name: tensors.pop(name)), r"lacks weights: "),
    "extra tensor": (changed(lambda tensors, name: tensors.update({EXTRA: torch.zeros(2)})), rf"not ask for: {EXTRA}$"),
    "integers": (
        changed(lambda tensors, name: tensors.update({name: tensors[name].char()})),
        r"is stored as I8, not as",
    ),
    "path in the index": (
        lambda folder: edit_index(folder, lambda table: table.update({min(table): "../a.safetensors"})),
        r"'../a.safetensors', not",
    ),
    "pickle alone": (pickled, r"only pickled weights \(pytorch_model.bin\)"),
    "more layers": (with_config(n_layers=3), r"has weights of 2 layers, config.json says 3"),
    "other shared heads": (with_config(n_kv_heads=4), r"k_proj.weight has shape \[16, 32\], not \[32, 32\]"),
    "activation": (with_config(activation_type="swiglu"), r"activation_type .* is 'swiglu', not 'silu' as in LLaDA"),
    "unknown kind": (with_config(model_type="llada_two"), r"model_type in its config.json is 'llada_two', no masked"),
    "larger tokenizer": (larger_tokenizer, r"ids up to 290, its embedding 274"),
    "moved mask": (
        with_config(mask_token_id=LLADA_IDS["<|mdm_mask|>"] - 1),
        r"its mask is 266, and its tokenizer calls",
    ),
    "broken tokenizer": (lambda folder: (folder / "tokenizer.json").write_bytes(b"{"), r"its tokenizer is refused"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    folder = tiny_checkpoint("llada", tmp_path / "published")
    change, message = DAMAGE[damage]
    change(folder)
    with pytest.raises(ValueError, match=message) as caught:
        load_predictor(str(folder), progress=False)
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_too_little_memory_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = stored_weights(tiny_checkpoint("llada", tmp_path / "model"))
    count = sum(tensor.numel() for tensor in written.values())
    free = 10**4
    monkeypatch.setattr(arguments, "free_memory", lambda device: free)
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        needed, missing = count * size / 10**9, (count * size - free) / 10**9
        message = rf"model in {dtype} needs {needed:.3g} GB on cpu and 1e-05 GB are free: {missing:.3g} GB are missing$"
        with pytest.raises(ValueError, match=message):
            load_predictor(str(tmp_path / "model"), dtype=dtype, progress=False)
    tiny_checkpoint("bert", tmp_path / "bert")
    monkeypatch.setattr(arguments, "free_memory", lambda device: 10)
    with pytest.raises(ValueError, match=r"^model bert in float32 needs .* GB are missing$"):
        load_predictor(str(tmp_path / "bert"), progress=False)
    monkeypatch.setattr(arguments, "free_memory", lambda device: None)
    assert load_predictor(str(tmp_path / "model"), progress=False).name == "model"


def test_offline_a_hub_id_is_read_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    name, commit = "GSAI-ML/LLaDA-8B-Instruct", "0123456789abcdef0123456789abcdef01234567"
    tiny_checkpoint("llada", in_the_cache(tmp_path, name, commit))
    for revision in (None, commit, "main"):
        loaded = load_predictor(name, revision=revision, progress=False)
        assert loaded.name == name and loaded.chat
    for absent, revision in (("GSAI-ML/LLaDA-1.5", None), (name, "f" * 40)):
        message = rf"^model {absent} cannot be loaded: it cannot be had from the hub[^\n]*$"
        with pytest.raises(ValueError, match=message):
            load_predictor(absent, revision=revision, progress=False)
    folder = tiny_checkpoint("llada", tmp_path / "model")
    with pytest.raises(ValueError, match=r"^revision is 'main': model is a directory, which has no revisions"):
        load_predictor(str(folder), revision="main")


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [("llada", "bfloat16"), ("dream", "float32"), ("a2d-qwen3", "float32"), ("llada-moe", "float32")],
)
@torch.inference_mode()
def test_conversion_changes_no_bit(tmp_path: Path, layout: str, dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_checkpoint(layout, tmp_path / "published")
    native = tmp_path / "to" / "native"
    assert printed(capsys, "convert", tmp_path / "published", native) == f"{native}\n"
    source, native = (
        load_predictor(str(tmp_path / name), dtype=dtype, progress=False) for name in ("published", "to/native")
    )
    canvas = torch.randint(0, FIRST_SPECIAL, (3, 17), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(17) >= torch.tensor([[0], [4], [9]])
    for given in (None, mask):
        assert torch.equal(source.logits(canvas, given), native.logits(canvas, given))
    for field in ("mask_id", "end_ids", "pad_id", "forbidden_ids", "vocab_size", "max_length", "chat"):
        assert getattr(source, field) == getattr(native, field)
    assert source.encode_prompt("the <|mask|> cat") == native.encode_prompt("the <|mask|> cat")
    names = {path.name for path in (tmp_path / "to" / "native").iterdir()}
    assert not any(name.endswith(".py") for name in names) and "model.safetensors.index.json" in names
    assert "auto_map" not in (tmp_path / "to" / "native" / "tokenizer_config.json").read_text()
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["native"]


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, target = tmp_path / "published", tmp_path / "to" / "native"
    tiny_checkpoint("llada", folder)
    changed(lambda tensors, name: tensors[name].view(-1)[3].fill_(torch.nan))(folder)
    with pytest.raises(ValueError, match=r"holds NaN or infinite numbers"):
        convert_checkpoint(str(folder), target)
    assert list(target.parent.iterdir()) == []
    folder = tiny_checkpoint("llada", tmp_path / "whole")
    real, calls = convert.save_file, []

    def interrupted(*args: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*args, **options)

    monkeypatch.setattr(convert, "save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert_checkpoint(str(folder), target)
    assert list(target.parent.iterdir()) == []
    monkeypatch.setattr(convert, "save_file", real)
    assert convert_checkpoint(str(folder), target) == target


TAKES = "the tokenizer or its chat template takes more than 1 s or 1 GB for a text"
# They end, after a minute or with some memory.
LOOPS = "{% for a in range(99999) %}{% for b in range(999) %}{% endfor %}{% endfor %}"
LARGE, SAID = "{{ 'a' * 2 * 10**9 }}", "{{ messages[0].content }}"
LONGER = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 24


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
@pytest.mark.parametrize("template", [LOOPS, LARGE, "{% if false %}" + LARGE + "{% endif %}", "", None])
def test_what_has_no_end_is_refused(tmp_path: Path, template: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 1)
    folder = tiny_checkpoint("bert", tmp_path / "model")
    file, other = (
        folder / "tokenizer.json",
        f"{{% if 'cat' in messages[0].content %}}{SAID[:-2]}* 3 * 10**8 }}}}{{% endif %}}",
    )
    (folder / "chat_template.jinja").write_text((template or other) + SAID)
    if template == "":
        normalizer = {"type": "Sequence", "normalizers": LONGER}
        file.write_text(json.dumps(json.loads(file.read_text()) | {"normalizer": normalizer}))
    with pytest.raises(ValueError, match=TAKES) as refused:
        assert load_predictor(str(folder)).encode_prompt("a dog")
        load_predictor(str(folder)).encode_prompt("the cat")
    assert template is None or str(refused.value).startswith("model model cannot be loaded: its tokenizer is refused (")
