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


# Several commands in one process, since each would import PyTorch: their statuses, outputs and errors, as JSON.
CALLS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from rws_decode.__main__ import main
done = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            status = main(words)
        except SystemExit as stopped:
            status = stopped.code or 0
    done.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


def rws(folder: Path, *calls: list[str]) -> list[tuple[int, str, str]]:
    """Return status, standard output and standard error of each command."""
    paths = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CALLS, json.dumps(calls)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    return [(status, out, err) for status, out, err in json.loads(done.stdout)]


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


def test_it_is_listed_and_decodes_and_its_number_has_its_range(patient: Path) -> None:
    asked = ["generate", "--strategy"]
    (_, listed, _), (_, help_text, _), (status, out, err), refused = rws(
        patient,
        ["strategies"],
        ["generate", "--help"],
        [*asked, "patient:0.5", "--json", *SIZE],
        [*asked, "patient:-1", *SIZE],
    )
    (line,) = [line for line in re.sub(r"\n +", " ", listed).splitlines() if line.startswith("patient ")]
    assert "the middle of the answer first" in line and "--pull P" in line and "--pull P" in help_text
    assert status == 0 and '"commit_step": ' in out, err
    assert refused[0] == 2 and "pull is -1" in refused[2] and len(refused[2].splitlines()) == 1


@pytest.mark.long
def test_a_plug_in_that_does_not_load_is_named_and_breaks_no_other(patient: Path, tmp_path: Path) -> None:
    shown = installed(
        tmp_path, "broken-one", {"broken": "broken_one:Nothing", "patient": "broken_one:Patient"}, "1 / 0\n"
    )
    asked = ["generate", "--strategy"]
    ((status, listed, err),) = rws(shown, ["strategies"])
    assert status == 0 and "random-order" in listed
    (note, _) = err.splitlines()
    assert "broken-one" in note and "broken_one:Nothing" in note
    broken, own = rws(shown, [*asked, "broken", *SIZE], [*asked, "margin", *SIZE])
    assert broken[0] == 2 and "broken-one" in broken[2] and "rws.strategies" in broken[2]
    assert own[0] == 0


def test_one_name_of_two_packages_is_refused_and_the_core_keeps_its_own(tmp_path: Path) -> None:
    for name in ("first-one", "second-one"):
        module = f"{name.replace('-', '_')}:Patient"
        installed(tmp_path, name, {"patient": module, "margin": module})
    asked = ["generate", "--strategy"]
    refused, own = rws(tmp_path, [*asked, "patient:0.5", *SIZE], [*asked, "margin", *SIZE])
    assert refused[0] == 2 and "first-one" in refused[2] and "second-one" in refused[2]
    assert own[0] == 0


@pytest.mark.long
def test_models_and_rewards_of_a_package_are_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "parts_here.py").write_text(PARTS, encoding="utf-8")
    rewards = {"e-count": "parts_here:REWARD", "bare": "parts_here:bare"}
    write_metadata(tmp_path, "parts-here", {"rws.predictors": {"tiny": "parts_here:tiny"}, "rws.rewards": rewards})
    words = ["generate", "--model", "tiny", *SIZE[2:], "--strategy", "rws:4", "--reward"]
    (_, decoded, _), (_, shown, _), (_, listed, _), *refused = rws(
        tmp_path,
        [*words, "e-count", "--json"],
        ["models"],
        ["models", "--json"],
        [*words, "e-count", "--dtype", "float64"],
        [*words, "bare"],
    )
    assert '"rewards": [' in decoded
    assert re.search(r"^offered by other packages.*\n\n  tiny +model .*here\n +package parts-here$", shown, re.M)
    assert [row["install"] for row in json.loads(listed) if row["name"] == "tiny"] == ["package parts-here"]
    messages = ("dtype is float64: tiny is a package's model", "CallableReward(bare, mean, std)")
    for (status, _, err), message in zip(refused, messages, strict=True):
        assert status == 2 and message in err and len(err.splitlines()) == 1, err


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
