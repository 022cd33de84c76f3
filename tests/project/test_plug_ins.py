"""Another package offers a strategy: the one that the guide shows, as pip would install it, and what can be wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from metadata import write_metadata

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "plug-ins.md").read_text(encoding="utf-8")
MODULE, PROJECT = re.findall(r"```(?:python|toml)\n(.*?)```", GUIDE, re.DOTALL)[:2]
SIZE = "--model english --prompt peace --length 4 --steps 4 --block 4".split()


def rws(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "rws_decode", *words]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)


def installed(folder: Path, name: str, strategies: dict[str, str], module: str = MODULE) -> Path:
    (folder / f"{name.replace('-', '_')}.py").write_text(module, encoding="utf-8")
    write_metadata(folder, name, {"rws.strategies": strategies})
    return folder


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (line,) = re.findall(r'^(\w+) = "(my_strategies:\w+)"$', PROJECT, re.MULTILINE)
    return installed(tmp_path_factory.mktemp("site"), "my-strategies", dict([line]))


def test_the_package_is_as_short_as_the_guide_says() -> None:
    assert len([*MODULE.strip().splitlines(), *PROJECT.strip().splitlines()]) <= 40
    assert len(GUIDE.split()) <= 900


def test_it_is_listed_with_its_help_and_its_number(patient: Path) -> None:
    listed = re.sub(r"\n +", " ", rws(patient, "strategies").stdout)  # what goes on is indented
    (line,) = [line for line in listed.splitlines() if line.startswith("patient ")]
    assert "the middle of the answer first" in line and "--pull P" in line
    assert "--pull P" in rws(patient, "generate", "--help").stdout


def test_it_decodes_and_its_number_has_its_range(patient: Path) -> None:
    done = rws(patient, "generate", "--strategy", "patient:0.5", "--json", *SIZE)
    assert done.returncode == 0, done.stderr
    assert '"commit_step": ' in done.stdout
    done = rws(patient, "generate", "--strategy", "patient:-1", *SIZE)
    assert done.returncode == 2 and "pull is -1" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.long
def test_a_plug_in_that_does_not_load_is_named_and_breaks_no_other(patient: Path, tmp_path: Path) -> None:
    shown = installed(
        tmp_path, "broken-one", {"broken": "broken_one:Nothing", "patient": "broken_one:Patient"}, "1 / 0\n"
    )
    done = rws(shown, "strategies")
    assert done.returncode == 0 and "random-order" in done.stdout
    (note, _) = done.stderr.splitlines()
    assert "broken-one" in note and "broken_one:Nothing" in note
    done = rws(shown, "generate", "--strategy", "broken", *SIZE)
    assert done.returncode == 2 and "broken-one" in done.stderr and "rws.strategies" in done.stderr
    assert rws(shown, "generate", "--strategy", "margin", *SIZE).returncode == 0


def test_one_name_of_two_packages_is_refused_and_the_core_keeps_its_own(tmp_path: Path) -> None:
    for name in ("first-one", "second-one"):
        module = f"{name.replace('-', '_')}:Patient"
        installed(tmp_path, name, {"patient": module, "margin": module})
    done = rws(tmp_path, "generate", "--strategy", "patient:0.5", *SIZE)
    assert done.returncode == 2 and "first-one" in done.stderr and "second-one" in done.stderr
    assert rws(tmp_path, "generate", "--strategy", "margin", *SIZE).returncode == 0


@pytest.mark.long
def test_models_and_rewards_of_a_package_are_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "parts_here.py").write_text(PARTS, encoding="utf-8")
    rewards = {"e-count": "parts_here:REWARD", "bare": "parts_here:bare"}
    write_metadata(tmp_path, "parts-here", {"rws.predictors": {"tiny": "parts_here:tiny"}, "rws.rewards": rewards})
    words = ["generate", "--model", "tiny", *SIZE[2:], "--strategy", "rws:4", "--reward"]
    assert '"rewards": [' in rws(tmp_path, *words, "e-count", "--json").stdout
    assert re.search(
        r"^offered by other packages.*\n\n  tiny +model .*here\n +package parts-here$",
        rws(tmp_path, "models").stdout,
        re.M,
    )
    listed = json.loads(rws(tmp_path, "models", "--json").stdout)
    assert [row["install"] for row in listed if row["name"] == "tiny"] == ["package parts-here"]
    for more, message in (
        (["e-count", "--dtype", "float64"], "dtype is float64: tiny is a package's model"),
        (["bare"], "CallableReward(bare, mean, std)"),
    ):
        done = rws(tmp_path, *words, *more)
        assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


PARTS = """
from rws_decode import CallableReward, load_predictor

def tiny(device):
    return load_predictor("english", device=device)

def bare(prompt, answer):
    return answer.count("e")

REWARD = CallableReward(bare, 2.0, 1.0)
"""


COUNTED = """
from rws_decode.common import plugins
from paper_figures.runner.digests import sources_behind
looked, look = [], plugins.entry_points
plugins.entry_points = lambda **asked: looked.append(asked["group"]) or look(**asked)
sources_behind("paper_figures.studies.commit_order")
print(*looked)
"""


def test_a_study_looks_only_into_groups_of_plug_ins() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], cwd=ROOT, capture_output=True, text=True, check=True)
    groups = done.stdout.split()
    assert len(groups) == len(set(groups))
    assert {group.partition(".")[0] for group in groups} == {"rws"}  # each look reads the metadata of all packages
