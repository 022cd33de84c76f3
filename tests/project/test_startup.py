"""What does not wait for what: no large library is imported before something needs it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import rws_theory

ROOT = Path(__file__).resolve().parents[2]

# What takes a quarter of a second or more, what comes with transformers, and the rooms of ours that few decodes enter.
SCIPY = {"scipy", "sympy", "mpmath"}
FRAMES = {"pandas", "matplotlib", "pyarrow"}
NETWORKS = {"torch", "transformers", "tokenizers", "safetensors", "rdkit"}
COMPILERS = {"torch._dynamo", "torch.distributed.tensor", "triton", "sympy", "mpmath"}
ROOMS = {
    "rws_decode.extra.compact",
    "rws_decode.extra.adapters",
    "rws_decode.extra.scale_paths",
    "rws_decode.replay",
    "paper_figures",
}
WORLDS = {"rws_theory.worlds.ngram", "rws_theory.worlds.ensembles", "rws_theory.worlds.markov"}
DECODE = SCIPY | FRAMES | COMPILERS | ROOMS | {"transformers", "huggingface_hub", "flint", "IPython", "ipywidgets"}


def imported_by(*stages: str) -> list[set[str]]:
    """Return the modules that one process of Python has imported after each of some stages of its code."""
    report = "\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", "".join(stage + report for stage in stages)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return [set(json.loads(line)) for line in done.stdout.splitlines() if line.startswith('["')]


def of_commands(package: str, *commands: str, status: int = 0) -> str:
    code = f"from {package}.__main__ import main\nfor words in {commands!r}:\n"
    return f"{code}    assert main(words.split()) == {status}, words"


def test_shipped_models_decode_without_what_they_do_not_need() -> None:
    python = """
import rws_decode as rws
from rws_decode.decode import decode
predictor, reward = rws.load_predictor("mini"), rws.load_reward("mini")
prompts = [example["prompt"] for example in predictor.examples[:2]]
decoding = decode(predictor, prompts, rws.RWS(8.0), rws.Shape(16, 4, 16), reward=reward)
print(decoding.texts, repr(decoding), repr(decoding[0]), repr(predictor), repr(reward))"""
    mini = "generate --model mini --length 16 --steps 8 --block 16 --example 3"
    english = "generate --model english --length 8 --steps 4 --block 8"
    _, networks, worlds = imported_by(
        python,
        of_commands(
            "rws_decode",
            f"{mini} --strategy temperature --scale 0.5 --json",
            f"{mini} --strategy rws --reward mini --reward-scale 8",
            f"{mini} --strategy rws --reward mini-judge --reward-scale 8 --json",
            "generate --model mini --length 16 --steps 8 --block 16 --prompt zzz[EOS]",  # no word that it knows
        ),
        of_commands("rws_decode", f"{english} --example 3", f"{english} --prompt we"),
    )
    assert "rws_decode.networks.modernbert" in networks and not networks & (DECODE | WORLDS)
    large = {"scipy.special", "scipy.optimize", "scipy.stats"} | (DECODE - {"scipy"})
    assert "scipy.sparse" in worlds and not worlds & (large | (WORLDS - {"rws_theory.worlds.ngram"}))


def test_what_needs_no_large_library_waits_for_none(tmp_path: Path) -> None:
    np.save(tmp_path / "logits.npy", np.array([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]))
    names = ", ".join(name for name in rws_theory.__all__ if name != "__version__")
    unit = "Unit(experiment='x', prompt='', strategy={'name': 'rws'}, reward='mini')"
    theory, refused, crossings, rest, units = imported_by(
        "import rws_theory",
        of_commands(
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
        ),
        "assert rws_theory.crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4]).count == 1",
        of_commands(
            "rws_theory",
            "crossings [1.1,0.6,0.3] [1.0,0.4,0.4]",
            f"path {tmp_path / 'logits.npy'} --k 1 --scale-min 0.1 --scale-max 9",
        )
        + f"\nfrom rws_theory import {names}\nx = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]\n"
        + "selection_path(x, 1, 0.1, 9.0), classify_pairs(x[:1], x[1:]), max_probability(x, 2.0)\n"
        + "reward_factor(0.5, 8.0)",
        "import paper_figures.runner.runner\n"
        f"from paper_figures.runner.units import Unit, origin_of\norigin_of([{unit}])",
    )
    large = SCIPY | FRAMES | NETWORKS
    assert not (theory | refused) & {"numpy", "huggingface_hub", *large}
    assert "rws_theory.crossings" in crossings and not crossings & (large | WORLDS)
    assert not rest & large and not units & NETWORKS


def test_with_the_theory_alone_its_commands_run_and_the_others_name_what_is_absent(tmp_path: Path) -> None:
    absent = FRAMES | NETWORKS | set("huggingface_hub jinja2 markupsafe PIL tqdm".split())
    code = f"import sys\nsys.modules.update(dict.fromkeys({absent}))\nsys.stderr.isatty = lambda: True\n"
    code += of_commands("rws_theory", "claims --json D-gaps", "crossings [1.1,0.6] [1.0,0.4]")
    decoding = ("generate --example 3", "models", "strategies", "score --example 3 --answer a")
    code += "\n" + of_commands("rws_decode", *decoding, status=2)
    code += "\n" + of_commands("paper_figures", "fig2_masking", "frontier --example 3", status=2)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    lines = [line for line in done.stderr.splitlines() if " loading " not in line and "claims: " not in line]
    assert done.returncode == 0 and len(lines) == len(decoding) + 2, done.stderr
    assert all(
        re.search(r': the package \w+ is not installed; run pip install "rws-toolkit\[(decode|figures)\]"$', line)
        for line in lines
    )
