"""What does not wait for what: no large library is imported before something needs it.

Seconds are not measured here, since machines are busy; what is imported is what takes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import rws_theory

ROOT = Path(__file__).resolve().parents[2]

# What takes a quarter of a second or more, what comes with transformers, and the rooms of ours that few decodes enter.
SCIPY = {"scipy", "sympy", "mpmath"}
FRAMES = {"pandas", "matplotlib", "pyarrow"}
NETWORKS = {"torch", "transformers", "tokenizers", "safetensors"}
COMPILERS = {"torch._dynamo", "torch.distributed.tensor", "triton", "sympy", "mpmath"}
ROOMS = {"rws_decode.gpu", "rws_decode.adapters", "rws_decode.scales", "rws_decode.replay", "paper_figures"}
WORLDS = {"rws_theory.worlds.ngram", "rws_theory.worlds.ensembles", "rws_theory.worlds.markov"}
DECODE = SCIPY | FRAMES | COMPILERS | ROOMS | {"transformers", "huggingface_hub", "flint", "IPython", "ipywidgets"}


def imported_by(code: str, *words: str) -> set[str]:
    """Return the modules that Python has imported after some code; `words` are its command line."""
    code += "\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def of_commands(package: str, *commands: str, status: int = 0) -> set[str]:
    """Return the modules that Python has imported after some commands of a package, all in one process."""
    code = f"import sys\nfrom {package}.__main__ import main\n"
    code += f"for words in sys.argv[1:]:\n    assert main(words.split()) == {status}, words"
    return imported_by(code, *commands)


def test_help_waits_for_neither_torch_nor_rdkit() -> None:
    code = "import sys\nfrom paper_figures.__main__ import rws\nsys.argv[1:] = ['--help']\n"
    code += "try:\n    rws()\nexcept SystemExit as done:\n    assert not done.code"
    assert not imported_by(code) & {*NETWORKS, "rdkit"}


def test_the_shipped_networks_decode_without_transformers() -> None:
    mini = "generate --model mini --length 32 --steps 16 --block 32 --example 3"
    loaded = of_commands(
        "rws_decode",
        mini,
        f"{mini} --strategy temperature --scale 0.5 --json",
        f"{mini} --strategy rws --reward mini --reward-scale 8",
        f"{mini} --strategy rws --reward mini-judge --reward-scale 8 --json",
        "generate --model mini --length 32 --steps 16 --block 32 --prompt zzz[EOS]",  # no word that it knows
    )
    assert "rws_decode.networks.modernbert" in loaded and not loaded & (DECODE | WORLDS)


def test_the_shipped_world_decodes_with_sparse_matrices_alone() -> None:
    english = "generate --model english --length 8 --steps 4 --block 8"
    loaded = of_commands("rws_decode", f"{english} --example 3", f"{english} --prompt we")
    large = {"scipy.special", "scipy.optimize", "scipy.stats"} | (DECODE - {"scipy"})
    assert "scipy.sparse" in loaded and not loaded & (large | (WORLDS - {"rws_theory.worlds.ngram"}))


def test_a_name_that_stands_for_nothing_is_refused_before_anything_large_is_imported() -> None:
    loaded = of_commands(
        "rws_decode",
        "generate --example 3 --model mni",
        "generate --example 3 --reward nosuch",
        "generate --example 3 --strategy schedule --run nowhere.parquet",
        "compare --example 3 --reward nosuch",
        "scale-path --example 3 --scale-min 1 --scale-max 2 --model mni",
        "view nowhere.parquet -o page.html",
        "replay nowhere.parquet",
        "diff nowhere.parquet nothing.parquet",
        status=2,
    )
    assert not loaded & (NETWORKS | SCIPY | FRAMES | {"numpy", "huggingface_hub"})


def test_decoding_in_python_imports_no_more() -> None:
    code = """
import rws_decode as rws
from rws_decode.decode import decode
predictor, reward = rws.load_predictor("mini"), rws.load_reward("mini")
prompts = [example["prompt"] for example in predictor.examples[:2]]
decoding = decode(predictor, prompts, rws.RWS(8.0), rws.Shape(16, 4, 16), reward=reward)
print(decoding.texts, repr(decoding), repr(decoding[0]), repr(predictor), repr(reward))
"""
    assert not imported_by(code) & (DECODE | WORLDS)


def test_no_name_of_the_theory_waits_for_scipy() -> None:
    large = SCIPY | FRAMES | NETWORKS
    loaded = imported_by("import rws_theory\nassert rws_theory.crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4]).count == 1")
    assert "rws_theory.crossings" in loaded and not loaded & (large | WORLDS)
    names = [name for name in rws_theory.__all__ if name != "__version__"]
    assert not imported_by(f"from rws_theory import {', '.join(names)}") & large
    code = "import rws_theory as t\nx = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]\n"
    code += "t.selection_path(x, 1, 0.1, 9.0), t.classify_pairs(x[:1], x[1:])\n"
    code += "t.max_probability(x, 2.0), t.reward_factor(0.5, 8.0)"
    assert not imported_by(code) & large
    assert not imported_by("import rws_theory") & {"numpy", *large}


def test_a_package_of_names_on_demand_offers_all_of_them() -> None:
    code = """
import rws_theory.worlds as worlds
assert "rws_theory.worlds.ngram" not in sys.modules and set(worlds.__all__) <= set(dir(worlds))
import rws_theory.worlds.frontier, rws_theory.crossings
from rws_theory.worlds.frontier import Frontier
assert callable(worlds.frontier) and callable(rws_theory.crossings) and worlds.Frontier is Frontier
from rws_theory.worlds import *
assert frontier is worlds.frontier and NGram.__module__ == "rws_theory.worlds.ngram"
try:
    worlds.nothing
except AttributeError as error:
    assert "rws_theory.worlds" in str(error) and "nothing" in str(error)
else:
    raise AssertionError
"""
    imported_by(f"import sys{code}")


def test_the_commands_of_the_theory_wait_for_no_scipy(tmp_path: Path) -> None:
    np.save(tmp_path / "logits.npy", np.array([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]))
    path = f"path {tmp_path / 'logits.npy'} --k 1 --scale-min 0.1 --scale-max 9"
    loaded = of_commands("rws_theory", "crossings [1.1,0.6,0.3] [1.0,0.4,0.4]", path)
    assert not loaded & (SCIPY | FRAMES | NETWORKS)


def test_who_hands_out_units_and_reads_results_waits_for_no_network() -> None:
    code = "import paper_figures.runner.runner\nfrom paper_figures.runner.units import Unit, origin_of\n"
    unit = "Unit(experiment='x', prompt='', strategy={'name': 'rws'}, reward='mini')"
    assert not imported_by(f"{code}origin_of([{unit}])") & NETWORKS
