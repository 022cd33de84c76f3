"""Networks of residues and of SMILES: old layouts of BERT and ALBERT, their tokenizer, and those that pip installs."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.torch import save_file

from rws_decode import Shape, decode, load_predictor, load_reward, strategy_log_prob
from rws_decode.checkpoints import packages
from rws_decode.checkpoints.packages import PACKAGED, Packaged
from rws_decode.predictors.sequences import SequencePredictor
from rws_decode.text.alphabets import RESIDUES, alphabet_of

PROTEIN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *RESIDUES]
CHEMISTRY = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"cCON()=1234.#-", ">>", "Cl", "Br"]
CHEMISTRY += ["[C@@H]", "[O-]", "[nH]", "%10", "B", "n"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SIZES |= {"max_position_embeddings": 64, "initializer_range": 0.6}
HEADS = {"bert": "cls.seq_relationship", "albert": "sop_classifier.classifier"}
# Heavy variable domains: trastuzumab's, humanised (PDB 1N8Z), and B1-8's, of a mouse (PDB 1A6V).
HUMANISED = "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFT"
HUMANISED += "ISADTSKNTAYLQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS"
MOUSE = "QVQLQQPGAELVKPGASVKLSCKASGYTFTSYWMHWVKQRPGRGLEWIGRIDPNSGGTKYNEKFKSKAT"
MOUSE += "LTVDKPSSTAYMQLSSLTSEDSAVYYCARYDYYGSSYFDYWGQGTTVTVSS"
ESTER = "CC(=O)O.OCC>>CC(=O)OCC"


def network(kind: str, tokens: Sequence[str], **more: Any) -> tuple[Any, dict[str, Any], dict[str, torch.Tensor]]:
    """Return a random masked language model of a kind, its config without model_type, and its weights with a pooler."""
    name = {"bert": "Bert", "albert": "Albert"}[kind]
    raw = {**SIZES, "vocab_size": len(tokens), "type_vocab_size": 2, "hidden_act": "gelu", **more}
    raw |= {"embedding_size": 8, "num_hidden_groups": 1, "inner_group_num": 1} if kind == "albert" else {}
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForMaskedLM")(getattr(transformers, f"{name}Config")(**raw)).eval()
    width = SIZES["hidden_size"]
    pooler = {"bert": "bert.pooler.dense", "albert": "albert.pooler"}[kind]
    extra = {f"{pooler}.weight": torch.randn(width, width), f"{pooler}.bias": torch.randn(width)}
    extra |= {f"{HEADS[kind]}.weight": torch.randn(2, width), f"{HEADS[kind]}.bias": torch.randn(2)}
    return model, raw, {name: tensor.clone() for name, tensor in model.state_dict().items()} | extra


def old_folder(folder: Path, kind: str, tokens: Sequence[str]) -> Any:
    """Write a directory as BERT's and ALBERT's used to be, and return the network."""
    model, raw, weights = network(kind, tokens)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(raw))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return model


@pytest.fixture(scope="module")
def proteins(tmp_path_factory: pytest.TempPathFactory) -> SequencePredictor:
    folder = tmp_path_factory.mktemp("old") / "proteins"
    old_folder(folder, "bert", PROTEIN)
    predictor = load_predictor(str(folder), progress=False)
    assert isinstance(predictor, SequencePredictor)
    return predictor


@pytest.fixture(scope="module")
def chemistry(tmp_path_factory: pytest.TempPathFactory) -> SequencePredictor:
    folder = tmp_path_factory.mktemp("old") / "chemistry"
    old_folder(folder, "albert", CHEMISTRY)
    predictor = load_predictor(str(folder), progress=False)
    assert isinstance(predictor, SequencePredictor)
    return predictor


@pytest.mark.parametrize(("kind", "tokens"), [("bert", PROTEIN), ("albert", CHEMISTRY), ("bert", CHEMISTRY)])
def test_old_directories_give_the_logits_of_transformers(kind: str, tokens: list[str], tmp_path: Path) -> None:
    model = old_folder(tmp_path / "old", kind, tokens)
    predictor = load_predictor(str(tmp_path / "old"), progress=False)
    canvas = torch.randint(0, len(tokens), (3, 20), generator=torch.Generator().manual_seed(1))
    seen = torch.arange(20) < torch.tensor([[20], [12], [7]])
    for mask in (None, seen):
        with torch.no_grad():
            expected = model(input_ids=canvas, attention_mask=mask).logits
        assert torch.equal(predictor.logits(canvas, mask), expected)
    ids = (predictor.mask_id, predictor.pad_id, predictor.end_ids)
    assert ids == (tokens.index("[MASK]"), 0, ())


def test_a_folder_without_tokenizer_works_on_ids(tmp_path: Path) -> None:
    old_folder(tmp_path / "old", "bert", PROTEIN)
    (tmp_path / "old" / "vocab.txt").unlink()
    predictor = load_predictor(str(tmp_path / "old"), mask_id=4, progress=False)
    (trace,) = decode(predictor, [[2, 5, 4, 4, 3]], "default", Shape(2))
    assert trace.text is None and len(trace.tokens) == 2
    with pytest.raises(ValueError, match=r"^mask_id is None: old needs one below 25"):
        load_predictor(str(tmp_path / "old"), progress=False)


def test_an_old_config_of_another_kind_is_refused(tmp_path: Path) -> None:
    old_folder(tmp_path / "old", "bert", PROTEIN)
    save_file({"other.weight": torch.zeros(2)}, tmp_path / "old" / "model.safetensors")
    with pytest.raises(ValueError, match=r"model_type in its config.json is None, no masked language model"):
        load_predictor(str(tmp_path / "old"), progress=False)


def test_pieces_of_words_are_left_to_transformers(tmp_path: Path) -> None:
    for tokens in ([*PROTEIN, "the", "##a"], CHEMISTRY[:6], PROTEIN[5:], [*PROTEIN, "A"]):
        (tmp_path / "vocab.txt").write_text("\n".join(tokens))
        assert alphabet_of(tmp_path) is None
    (tmp_path / "vocab.txt").write_text("\n".join(CHEMISTRY))
    assert alphabet_of(tmp_path) is not None
    (tmp_path / "tokenizer.json").write_text("{}")
    assert alphabet_of(tmp_path) is None


@pytest.mark.parametrize("world", ["proteins", "chemistry"])
@given(data=st.data())
def test_ids_are_those_of_the_tokens_one_by_one(world: str, data: st.DataObject, request: Any) -> None:
    predictor: SequencePredictor = request.getfixturevalue(world)
    words = predictor.alphabet.words
    piece = st.sampled_from(sorted(words)) | st.integers(1, 3)
    pieces = [*data.draw(st.lists(piece, max_size=12)), 1, *data.draw(st.lists(piece, max_size=12))]
    text = "".join(f"[MASK:{part}]" if isinstance(part, int) else part for part in pieces)
    slow = [i for part in pieces for i in ([predictor.mask_id] * part if isinstance(part, int) else [words[part]])]
    tokens = predictor.alphabet.tokens
    ids = predictor.encode_prompt(text)
    assert ids == [tokens.index("[CLS]"), *slow, tokens.index("[SEP]")]
    assert predictor.encode_prompt(text.replace("[MASK", " \n[MASK")) == ids  # a blank is no token
    written = [part for part in pieces if not isinstance(part, int)]
    assert predictor.decode_prompt([i for i in ids if i != predictor.mask_id]) == "".join(written)


def test_only_tokens_of_a_sequence_are_written(proteins: SequencePredictor, chemistry: SequencePredictor) -> None:
    for predictor, text in ((proteins, "EVQ[MASK:9]LV[MASK:3]"), (chemistry, "CC[MASK:6]>>C[MASK:6]")):
        (trace,) = decode(predictor, [text], "default", Shape(12, 4, 12))
        assert set(trace.tokens.tolist()) <= set(predictor.alphabet.words.values())
        law = strategy_log_prob(predictor, None, [trace.tokens], canvas=[text], shape=Shape(12, 4, 12))
        assert -12 * 6 < law.log_prob[0] < 0
        completed = predictor.decode_answer(trace.completed.tolist())
        assert completed is not None and completed.startswith(text[:2]) and " " not in completed


@pytest.mark.parametrize(
    ("world", "text", "said"),
    [
        ("proteins", "EVX[MASK:3]", r"^prompt 'EVX' holds 'X' at 2: proteins reads residues ACDEFGHIKLMNPQRSTVWY, in"),
        ("proteins", "evq[MASK:3]", "holds 'e' at 0"),
        ("proteins", "E[CLS]V[MASK:3]", r"holds '\[' at 1"),
        ("proteins", "EVQ", r"^prompt is 'EVQ': proteins fills gaps, give one, as in --infill 'EVQ\[MASK:20\]'$"),
        ("proteins", "EV[MASK: 3]", r"'\[' at 2|is no gap"),
        ("chemistry", "CC[Xe]O[MASK:3]", r"holds '\[Xe\]' at 2: chemistry reads SMILES;"),
        ("chemistry", "CC[MASK][MASK:3]", r"holds '\[MASK\]' at 2"),
        ("chemistry", "C[unused1][MASK:3]", r"holds '\[unused1\]' at 1"),
        ("chemistry", "C>C[MASK:3]", "holds '>' at 1"),
        ("chemistry", "C[MASK:2]O[C", r"holds '\[' at 2"),
    ],
)
def test_what_is_no_token_is_named(world: str, text: str, said: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        request.getfixturevalue(world).encode_prompt(text)
    assert "\n" not in str(caught.value)


def test_a_sequence_is_no_chat(tmp_path: Path) -> None:
    old_folder(tmp_path / "old", "bert", PROTEIN)
    with pytest.raises(ValueError, match=r"^chat is True: old reads residues and no messages, leave it out"):
        load_predictor(str(tmp_path / "old"), chat=True, progress=False)


# --- networks in packages ---------------------------------------------------------------------------------------------


class Package:
    """A package with pickled weights that was not made by pip, and how it is entered."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.root, self.name = root, name
        self.model, raw, weights = network("bert", PROTEIN)
        for head, rows in (("species", 6), ("chain", 2), ("graft", 2)):
            weights |= {f"cls.{head}.weight": torch.randn(rows, 16), f"cls.{head}.bias": torch.randn(rows)}
        self.weights = {key: tensor for key, tensor in weights.items() if "seq_relationship" not in key}
        files = {"config.json": json.dumps(raw).encode(), "vocab.txt": "\n".join(PROTEIN).encode()}
        files["pytorch_model.bin"] = self.pickled()
        (root / "tinybody").mkdir()
        (root / "tinybody" / "__init__.py").write_text("raise SystemExit('the package was imported')")
        for file, data in files.items():
            (root / "tinybody" / file).write_bytes(data)
        self.state("1.0")
        digests = {f"tinybody/{file}": sha256(data).hexdigest() for file, data in files.items()}
        monkeypatch.setitem(PACKAGED, name, Packaged(name, "tinybody", "1.0", "MIT", 1, "tiny", digests))
        monkeypatch.syspath_prepend(root)
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))

    def pickled(self) -> bytes:
        stream = io.BytesIO()
        torch.save(self.weights, stream)
        return stream.getvalue()

    def state(self, version: str | None) -> None:
        for old in self.root.glob("tinybody-*/METADATA"):
            old.unlink()
            old.parent.rmdir()
        if version is not None:
            folder = self.root / f"tinybody-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tinybody\nVersion: {version}\n")

    def refused(self) -> str:
        with pytest.raises(ValueError) as caught:
            load_predictor(self.name, progress=False)
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    return Package(tmp_path, monkeypatch, "antibody")


def test_a_package_is_read_and_never_imported(package: Package) -> None:
    canvas = torch.tensor([[2, 5, 6, 4, 4, 3]])
    for _ in range(2):  # the second time from the cache
        predictor = load_predictor("antibody", progress=False)
        with torch.no_grad():
            assert torch.equal(predictor.logits(canvas, None), package.model(input_ids=canvas).logits)
    assert predictor.name == "antibody" and "tinybody" not in sys.modules
    (folder,) = (package.root / "cache" / "rws-toolkit").iterdir()
    assert {path.name for path in folder.iterdir()} == {"config.json", "vocab.txt", "model.safetensors", "digests.json"}
    assert load_predictor(str(folder), progress=False).encode_prompt("EV[MASK:1]") == [2, 8, 22, 4, 3]


def test_a_damaged_or_partial_cache_is_made_again(package: Package) -> None:
    load_predictor("antibody", progress=False)
    (folder,) = (package.root / "cache" / "rws-toolkit").iterdir()
    for damage in (lambda path: path.write_bytes(path.read_bytes()[:-1]), Path.unlink):
        for name in ("model.safetensors", "vocab.txt", "digests.json"):
            damage(folder / name)
            load_predictor("antibody", progress=False)
            assert packages._is_whole(folder) and [folder] == list(folder.parent.iterdir())


def test_what_is_not_the_pinned_package_is_refused(package: Package) -> None:
    package.weights["cls.predictions.bias"] += 1
    (package.root / "tinybody" / "pytorch_model.bin").write_bytes(package.pickled())
    assert "tinybody/pytorch_model.bin of tinybody 1.0 is not the published one" in package.refused()
    (package.root / "tinybody" / "pytorch_model.bin").unlink()
    assert "pytorch_model.bin of tinybody 1.0 is missing; run python -m pip install --force-" in package.refused()
    package.state("2.0")
    assert package.refused().startswith("model is 'antibody': tinybody 2.0 is installed, and 1.0 is needed; run python")
    package.state(None)
    assert package.refused().startswith(
        "model is 'antibody': tinybody==1.0 is not installed; run python -m pip install"
    )
    assert not (package.root / "cache").exists()
    with pytest.raises(ValueError, match=r"^reward is 'antibody'"):
        load_reward("human")


def test_without_room_nothing_is_left(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    said = package.refused()
    assert said.startswith("model antibody cannot be unpacked: 0.0") and "No space left on device" in said
    assert said.endswith("name another folder in XDG_CACHE_HOME")
    assert list((package.root / "cache" / "rws-toolkit").iterdir()) == []


def test_a_package_has_no_revision(package: Package) -> None:
    with pytest.raises(ValueError, match=r"^revision is 'main': antibody is tinybody 1\.0, which has no revisions"):
        load_predictor("antibody", revision="main", progress=False)


def test_the_species_is_that_of_the_head(package: Package) -> None:
    sequences = ["EVQLV", "ACDEFGHIKLMNPQRSTVWY"]
    bert = transformers.BertModel(package.model.config).eval()
    bert.load_state_dict({key.removeprefix("bert."): x for key, x in package.weights.items() if key[:5] == "bert."})
    for name, row in (("human", 1), ("species:rhesus", 5), ("species:0", 0)):
        reward = load_reward(name)
        for sequence in sequences:
            ids = torch.tensor([[2, *(PROTEIN.index(each) for each in sequence), 3]])
            with torch.no_grad():
                pooled = bert(input_ids=ids).pooler_output[0]
                logits = package.weights["cls.species.weight"] @ pooled + package.weights["cls.species.bias"]
            p = logits.double().softmax(0)[row]
            halves = reward.score([sequence[:3]], [sequence[3:]])
            assert halves == pytest.approx([float(p.log() - (1 - p).log())], abs=1e-4)
    with pytest.raises(ValueError, match=r"^reward human reads 62 residues: 63"):
        load_reward("human").score(["A"], ["C" * 62])


def test_rewards_of_proteins_are_named_and_normalised(package: Package, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"mean": 1.0, "std": 2.0}')
    for name in ("charge", "human"):
        reward = load_reward(name, statistics=tmp_path / "s.json")
        assert (reward.name, reward.mean, reward.std) == (name, 1.0, 2.0)
        assert (load_reward(name, mean=3.0).mean, load_reward(name).std > 0) == (3.0, True)
        for text in ("EVX", "ev", ""):
            with pytest.raises(ValueError, match=f"^reward {name} reads '{text}': residues ACDEFGHIKLMNPQRSTVWY"):
                reward.score([""], [text])
    with pytest.raises(ValueError, match=r"^reward is 'species:dog': .* 0 camel, 1 human"):
        load_reward("species:dog")


@given(st.text(RESIDUES, min_size=1, max_size=40), st.integers(0, 40))
@example("FLPVLAGLTPSIVPKLVCLLTKKC", 3)
def test_exact_rewards_are_sums_over_residues(sequence: str, cut: int) -> None:
    kinds = {"K": (1, 10.8), "R": (1, 12.5), "H": (1, 6.5), "D": (-1, 3.9), "E": (-1, 4.1), "C": (-1, 8.5)}
    kinds |= {"Y": (-1, 10.1), "(": (1, 8.6), ")": (-1, 3.6)}
    slow = sum(sign / (1 + 10 ** (sign * (7 - pk))) for sign, pk in (kinds[x] for x in f"({sequence})" if x in kinds))
    (charge,) = load_reward("charge").score([sequence[:cut]], [sequence[cut:]])
    assert charge == pytest.approx(slow, abs=1e-12)
    hydropathy = load_reward("hydropathy")
    single = hydropathy.score([""] * len(sequence), list(sequence))
    assert hydropathy.score([""], [sequence])[0] == pytest.approx(sum(single) / len(single), abs=1e-12)


# --- the published networks -------------------------------------------------------------------------------------------


def by_hand(name: str) -> Any:
    """Return the published network in transformers' own class, from the pickled file; a skip where it is not here."""
    entry = PACKAGED[name]
    try:
        if version(entry.package) != entry.version:
            raise PackageNotFoundError
    except PackageNotFoundError:
        pytest.skip("a published network (make real)" if name != "reactions-small" else "RXNMapper (make env, or real)")
    paths = {Path(path).name: packages.distribution_of("model", entry).locate_file(path) for path in entry.files}
    kind = "Albert" if name == "reactions-small" else "Bert"
    config = getattr(transformers, f"{kind}Config")(**json.loads(Path(str(paths["config.json"])).read_text()))
    model = getattr(transformers, f"{kind}ForMaskedLM")(config).eval()
    weights = torch.load(str(paths["pytorch_model.bin"]), weights_only=True, map_location="cpu")
    assert not [key for key in model.load_state_dict(weights, strict=False).missing_keys if "decoder.bias" not in key]
    return model


@pytest.mark.parametrize(
    ("name", "text", "size"),
    [
        ("reactions-small", ESTER[:14] + "[MASK:3]" + ESTER[17:], 3),
        ("reactions", ESTER[:14] + "[MASK:3]" + ESTER[17:], 3),
        ("antibody", HUMANISED[:5] + "[MASK:20]" + HUMANISED[25:], 20),
    ],
)
def test_published_networks_load_and_fill_what_is_known(
    name: str, text: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = by_hand(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    predictor = load_predictor(name, progress=False)
    canvas = torch.tensor([predictor.encode_prompt(text)])
    with torch.no_grad():
        assert torch.equal(predictor.logits(canvas, None), model(input_ids=canvas).logits)
    (trace,) = decode(predictor, [text], "default", Shape(size, size // 2 + 1, size))
    whole, written = (ESTER if name != "antibody" else HUMANISED), predictor.decode_answer(trace.completed.tolist())
    assert written is not None and sum(a != b for a, b in zip(whole, written, strict=True)) <= size // 10


def test_the_published_head_tells_human_from_mouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand("antibody")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    scores = load_reward("human").score(["", MOUSE[:40]], [HUMANISED, MOUSE[40:]])
    assert scores[0] > 1 and scores[1] < -1
