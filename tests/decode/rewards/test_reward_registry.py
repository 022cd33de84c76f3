"""The paper's reward models: checkpoints of the published layouts against plain references of each head."""

import math
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_files import change_weights, stored_weights
from json_files import write_json
from misuse import refused
from reference_layers import decoder_states
from torch import Tensor

from rws_decode import Dialogue, load_reward
from rws_decode.checkpoints import Checkpoint
from rws_decode.extra.testing import REWARD_MODELS, published_tokenizer, published_vocabulary, tiny_checkpoint
from rws_decode.rewards import PUBLISHED, known_reward, layout_of, loading
from rws_decode.rewards.registry import STATISTICS
from rws_theory.printed import printed_in

NAMES = sorted(PUBLISHED)
HEADS = {"intern": "v_head.weight", "eurus": "regression_head.weight", "qrm": "gating.layers.2.running_var"}
PAIRS: list[tuple[str | Dialogue, str]] = [
    ("the cat", "sat on the mat ."),
    ("a dog", ""),
    (Dialogue(("the cat sat", "on the mat .", "and then it ran", "under a tree .", "the red bird")), "it ran ."),
    ("a small red bird flew over the tree", "then it was blue . " * 5),
    ("the cat", "sat on the mat"),
]
PROMPTS, ANSWERS = (list(column) for column in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("published")
    return {name: tiny_checkpoint(name, root / name) for name in NAMES}


@pytest.fixture(scope="module")
def models(folders: dict[str, Path]) -> dict[str, Any]:
    return {name: load_reward(str(folders[name]), published=name) for name in NAMES}


def frequencies(config: dict[str, Any]) -> Tensor:
    """Return the rotary frequencies, those of Llama 3.1 slowed down by wavelength."""
    size = config["hidden_size"] // config["num_attention_heads"]
    plain = [config["rope_theta"] ** (-2 * pair / size) for pair in range(size // 2)]
    scaling = config.get("rope_scaling")
    if scaling is None:
        return torch.tensor(plain, dtype=torch.float64)
    adjusted = []
    for frequency in plain:
        turns = scaling["original_max_position_embeddings"] * frequency / (2 * math.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        adjusted.append(share * frequency + (1 - share) * frequency / scaling["factor"])
    return torch.tensor(adjusted, dtype=torch.float64)


INTERN = {
    "tok_embeddings": "embed_tokens",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attention.wo": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w3": "mlp.up_proj",
    "feed_forward.w2": "mlp.down_proj",
}


def of_intern(weights: dict[str, Tensor], config: dict[str, Any]) -> dict[str, Tensor]:
    """Return InternLM2's weights by Llama's names: per key-value head it has the queries, the key and the value."""
    groups, size = config["num_key_value_heads"], config["hidden_size"] // config["num_attention_heads"]
    renamed = {}
    for name, tensor in weights.items():
        if "wqkv" in name:
            parts = tensor.reshape(groups, -1, size, tensor.shape[-1])
            for letter, part in (("q", parts[:, :-2]), ("k", parts[:, -2:-1]), ("v", parts[:, -1:])):
                renamed[name.replace("attention.wqkv", f"self_attn.{letter}_proj")] = part.flatten(0, 2)
        else:
            old = next((old for old in INTERN if f".{old}." in name), "model")
            renamed[name.replace(old, INTERN.get(old, old))] = tensor
    return renamed


def quantile_score(states: Tensor, index: int, weights: dict[str, Tensor], config: dict[str, Any]) -> float:
    """Score as QRM does: the objectives' mean quantiles, mixed by a matrix, weighed by a gate."""
    tensors = {key: tensor.double() for key, tensor in weights.items()}
    gate = states[index]
    for layer in range(config["gating_n_hidden"]):
        gate = (tensors[f"gating.layers.{3 * layer}.weight"] @ gate).clamp(min=0)
        norm = f"gating.layers.{3 * layer + 2}."
        centred = (gate - tensors[f"{norm}running_mean"]) / torch.sqrt(tensors[f"{norm}running_var"] + 1e-5)
        gate = centred * tensors[f"{norm}weight"] + tensors[f"{norm}bias"]
    gate = tensors["gating.layers.9.weight"] @ gate + tensors["gating.layers.9.bias"]
    shares = torch.softmax(gate / config["gating_temperature"], 0) * tensors["gating.logit_scale"][0]
    quantiles = (tensors["regression_layer.weight"] @ states[-1]).reshape(config["num_objectives"], -1)
    return float(shares @ (quantiles.mean(1) @ tensors["reward_transform_matrix"]))


def layout(name: str, prompt: str | Dialogue, answer: str) -> list[str]:
    """Return the tokens of all turns as the model's page lays them out, with one beginning-of-text token."""
    texts = [*(prompt.turns if isinstance(prompt, Dialogue) else [prompt]), answer]
    if name == "eurus":
        pairs = zip(texts[::2], texts[1::2], strict=True)
        turns = [["[INST]", *question.split(), "[/INST]", *replied.split(), "</s>"] for question, replied in pairs]
        return ["<s>", *chain(*turns)]
    spoken = [(("user", "assistant")[index % 2], text) for index, text in enumerate(texts)]
    if name == "intern":
        turns = [["<|im_start|>", role, "\n", *text.split(), "<|im_end|>", "\n"] for role, text in spoken]
        return ["<s>", *chain(*turns), "<|reward|>"]
    tokens = ["<|begin_of_text|>"]
    for role, text in [*([("system", "Today Date : 26 Jul 2024")] if name == "grm" else []), *spoken]:
        tokens += ["<|start_header_id|>", role, "<|end_header_id|>", "\n\n", *text.split(), "<|eot_id|>"]
    return tokens


def ids_of(name: str, prompt: str | Dialogue, answer: str) -> list[int]:
    vocabulary = published_vocabulary(name)
    return [vocabulary.index(token) for token in layout(name, prompt, answer)]


def reference(folder: Path, prompt: str | Dialogue, answer: str) -> float:
    name, weights = folder.name, stored_weights(folder)
    config, ids = REWARD_MODELS[name].described(), ids_of(name, prompt, answer)
    wide = {key: tensor.double() for key, tensor in weights.items()}
    wide = of_intern(wide, config) if name == "intern" else wide
    states = decoder_states(wide, config, torch.tensor(ids), causal=True, frequencies=frequencies(config))
    if name == "qrm":
        tokens = layout(name, prompt, answer)
        header = ["<|start_header_id|>", "assistant"]
        turn = max(index for index in range(len(tokens)) if tokens[index + 1 : index + 3] == header)
        return quantile_score(states, turn, weights, config)
    head = {"intern": "v_head", "eurus": "regression_head"}.get(name, "score")
    return float(weights[f"{head}.weight"][0].double() @ states[-1])


def test_entries_have_the_statistics_that_the_paper_prints_and_are_found_by_name_and_hub_id() -> None:
    table = printed_in("table7_reward_statistics")
    printed = {row["model"]: (row["mean"], row["std"]) for row in table["rows"]}
    assert {entry.paper: (entry.mean, entry.std) for entry in PUBLISHED.values()} == printed
    assert table["where"] == STATISTICS

    for name, entry in PUBLISHED.items():
        assert known_reward(name) is entry and known_reward(entry.hub_id) is entry
        assert layout_of(REWARD_MODELS[name].described()) == entry.layout


@pytest.mark.parametrize("name", ["grm", "qrm"])
def test_a_name_is_hub_id_and_statistics(name: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    entry, calls = PUBLISHED[name], []

    def fetch(checkpoint: Checkpoint, revision: str | None = None) -> Checkpoint:
        calls.append((checkpoint.name, revision))
        return Checkpoint(checkpoint.name, folders[name], checkpoint.argument)

    monkeypatch.setattr(loading, "fetch", fetch)
    spoken = entry.hub_id if name == "qrm" else name
    if entry.revision is None:
        refused(lambda: load_reward(spoken), f"revision of reward {spoken} is None: the commit of {entry.hub_id}")
    given = "0123456789" * 4
    reward_model = load_reward(spoken, revision=given if entry.revision is None else None)
    assert calls == [(entry.hub_id, entry.revision or given)]
    assert (reward_model.name, reward_model.mean, reward_model.std) == (entry.hub_id, entry.mean, entry.std)
    refused(lambda: load_reward(spoken, revision="main"), "40 hexadecimal digits")


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_plain_reference(name: str, folders: dict[str, Path], models: dict[str, Any]) -> None:
    reward_model = models[name]
    expected = [reference(folders[name], *pair) for pair in PAIRS]
    assert reward_model.score(PROMPTS, ANSWERS) == pytest.approx(expected, abs=1e-5, rel=1e-5)  # in a batch
    if name != "qrm":
        session = reward_model.session(1)
        scores = [session.score([0], [prompt], [answer])[0] for prompt, answer in PAIRS]
        assert scores == pytest.approx(expected, abs=1e-5, rel=1e-5)
    assert (reward_model.mean, reward_model.std) == (PUBLISHED[name].mean, PUBLISHED[name].std)
    assert abs(expected[0] - expected[1]) > 1e-3
    assert all(reward_model.ids(*pair) == ids_of(name, *pair) for pair in PAIRS)  # with exactly one beginning
    if name in HEADS:
        plain = load_reward(str(folders[name]), mean=1, std=2)  # the layout is told from config.json
        assert (plain.mean, plain.std) == (1.0, 2.0)
        assert plain.score(PROMPTS, ANSWERS) == reward_model.score(PROMPTS, ANSWERS)


def test_reward_json_comes_before_the_paper_and_arguments_before_both(tmp_path: Path) -> None:
    folder = tiny_checkpoint("grm", tmp_path / "grm")
    write_json(folder / "reward.json", {"mean": 5.0, "std": 6.0})
    reward_model = load_reward(str(folder), published="grm")
    assert (reward_model.mean, reward_model.std) == (5.0, 6.0)
    assert load_reward(str(folder), published="grm", mean=7).mean == 7.0
    elsewhere = write_json(tmp_path / "calibrated.json", {"mean": 8.0, "std": 9.0})
    assert load_reward(str(folder), published="grm", statistics=elsewhere).mean == 8.0
    refused(lambda: load_reward(str(folder), statistics=tmp_path / "none.json"), "statistics is ... : no such file")
    (folder / "reward.json").unlink()
    refused(lambda: load_reward(str(folder)), "mean of reward ... grm is None")
    refused(lambda: load_reward("skywark"), "nor the paper's, ... (is skywork meant?)")
    refused(lambda: load_reward("mini", published="mini"), "published is 'mini': one of skywork, ")


@pytest.mark.parametrize(("name", "stored"), [("intern", "float16"), ("eurus", "bfloat16"), ("qrm", "bfloat16")])
def test_weights_stored_in_half_precision_are_read_as_they_are(name: str, stored: str, tmp_path: Path) -> None:
    folder, kind = tiny_checkpoint(name, tmp_path / name), getattr(torch, stored)

    def halve(weights: dict[str, Tensor]) -> None:
        weights |= {key: tensor.to(kind) for key, tensor in weights.items() if tensor.is_floating_point()}

    change_weights(folder, halve)
    reward_model = load_reward(str(folder), published=name)
    expected = reference(folder, "the cat", "sat .")
    assert reward_model.score(["the cat"], ["sat ."]) == pytest.approx([expected], abs=1e-5)


def other_vocabulary(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()
    codec = published_tokenizer(folder.name)
    codec.add_tokens([f"word{index}" for index in range(30)])
    codec.save_pretrained(folder)


def cut_short(folder: Path) -> None:
    file = min(folder.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-40])


def pickled(folder: Path) -> None:
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")


# What every layout's loader sees to itself; the tokenizer is seen to before, so that one layout is enough for it.
OF_LAYOUTS = [
    (lambda folder: change_weights(folder, lambda t: t.pop(HEADS.get(folder.name, "score.weight"))), "lacks wei"),
    (lambda folder: change_weights(folder, lambda t: t.update(odd=torch.ones(2)), 2), r"config.* ask for: odd"),
    (lambda folder: change_weights(folder, lambda t: t["model.norm.weight"].fill_(math.nan)), r"holds NaN"),
]
OF_ALL = [
    (other_vocabulary, r"its tokenizer has ids up to \d+, its embedding \d+ tokens$"),
    (lambda folder: [file.unlink() for file in folder.glob("tokenizer*")], r"holds no tokenizer"),
    (cut_short, r"model-00001-of-00002.safetensors is truncated"),
    (pickled, r"only pickled weights \(pytorch_model.bin\)"),
]


@pytest.mark.parametrize(
    ("name", "damage", "named"),
    [(name, *row) for name in ("intern", "eurus", "qrm", "skywork") for row in OF_LAYOUTS]
    + [("intern", *row) for row in OF_ALL],
)
def test_lying_checkpoints_are_refused(name: str, damage: Callable[[Path], object], named: str, tmp_path: Path) -> None:
    folder = tiny_checkpoint(name, tmp_path / name)
    damage(folder)
    with pytest.raises(ValueError, match=named) as caught:
        load_reward(str(folder), published=name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_no_code_of_a_checkpoint_is_run(tmp_path: Path) -> None:
    folder, ran = tiny_checkpoint("intern", tmp_path / "intern"), tmp_path / "ran"
    trap = f"open({str(ran)!r}, 'w')\n"
    for file in ("modeling_internlm2.py", "configuration_internlm2.py", "tokenization_internlm2.py"):
        (folder / file).write_text(trap)
    load_reward(str(folder), published="intern").score(["the cat"], ["sat"])
    assert not ran.exists()
