import json
import sys
from functools import partial
from pathlib import Path

import pytest
from command_lines import decoding as main
from misuse import refused

from rws_decode import load_reward
from rws_decode.rewards import check_reward_name

MODULE = """
from rws_decode import CallableReward

def articles(answer):
    return answer.count("the")

reward = CallableReward(articles, mean=2.0, std=1.5)
number = 3
"""
SHAPE = "--length 8 --steps 4 --block 8".split()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    name = f"own_reward_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "broken_reward.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    return name


def test_commands_take_a_reward_of_a_module_here(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = list(sys.path)
    options = f"generate --example 3 --strategy rws:2 --reward {module}:reward --json".split()
    assert main([*options, *SHAPE]) == 0
    found = json.loads(capsys.readouterr().out)
    raw = found["text"].count("the")
    assert found["final_reward"] == {"raw": raw, "normalised": (raw - 2) / 1.5} and sys.path == path


def test_a_function_gets_its_numbers_and_what_is_no_reward_is_refused_in_one_line(module: str) -> None:
    reward = load_reward(f"{module}:articles", mean=1.0, std=2.0)
    assert (reward.mean, reward.std, reward.score(["p"], ["the the"])) == (1.0, 2.0, [2.0])
    for name, words in (
        ("articles", "whose mean and SD are not known"),
        ("number", "has no reward model and no function number"),
        ("missing", "has no reward model and no function missing"),
    ):
        with pytest.raises(ValueError, match=f"^reward is {module}:{name}[,:].*{words}") as error:
            load_reward(f"{module}:{name}")
        assert "\n" not in str(error.value)
    refused(lambda: load_reward(f"{module}:reward", mean=1.0), "mean is 1.0, std is None: the reward model")
    refused(lambda: load_reward("broken_reward:f"), "reward is broken_reward:f: module broken_reward fails (Zero")
    for name in ("no_such_module:f", "no_such.module:f"):
        refused(partial(check_reward_name, name), f"reward is {name}: no module ... is installed")
    refused(lambda: check_reward_name("no_such.py:f"), "reward is no_such.py:f: ... ; leave out .py")
    refused(lambda: check_reward_name("no_such"), "reward is 'no_such': ... nor MODULE:NAME, nor a directory")


def test_a_module_may_change_the_directory(module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Found by reading: the directory was asked for twice, and the first equal entry of the path was taken out."""
    (tmp_path / "leaving_reward.py").write_text(f"import os\nos.chdir('..')\n{MODULE}")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    before = list(sys.path)
    load_reward(f"{module}:reward")
    monkeypatch.setattr(sys, "path", [each for each in before if each != str(tmp_path)])
    before = list(sys.path)
    load_reward("leaving_reward:reward")
    assert sys.path == before
