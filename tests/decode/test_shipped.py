"""What a newcomer relies on: the shipped models, the documented command, the light import."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from paper_figures.statistics.causal_scores import answer_scores, load_causal
from rws_decode import RWS, Confidence, Temperature, load_predictor, load_reward, recorded, replay_with
from rws_decode.__main__ import main
from rws_decode.checkpoints.files import models_directory
from rws_decode.decode import decode
from rws_decode.mini.stories.answers import judge
from rws_decode.mini.stories.tasks import split_of
from rws_decode.replay.replay import replay
from rws_decode.settings import Shape

COMMAND = [
    *("generate", "--model", "mini", "--reward", "mini", "--strategy", "rws", "--reward-scale", "8", "--example", "3"),
    *("--length", "64", "--steps", "32", "--block", "32", "--json"),
]
KEYS = [
    *("tokens", "text", "commit_step", "god_tokens", "god_steps", "forwards", "reward_calls", "reward_calls_saved"),
    *("completed", "final_reward", "log_prob", "rules_broken", "scales", "rewards", "ties"),
]


@pytest.fixture(scope="module")
def mini():
    return load_predictor("mini")


@pytest.fixture(scope="module")
def prompts(mini):
    return [example["prompt"] for example in mini.examples if example["kind"] == "keywords"][:4]


def test_the_documented_command_prints_its_json_twice_alike(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for _ in range(2):
        assert main(COMMAND) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    result = json.loads(printed[0])
    assert sorted(result) == sorted(KEYS)
    assert len(result["tokens"]) == 64 and len(result["scales"]) == 32
    assert result["reward_calls"] + result["reward_calls_saved"] == 32


def test_scale_one_is_default_and_recorded_factors_repeat_rws(mini, prompts) -> None:
    prompts = prompts[:2]
    default = decode(mini, prompts, Confidence())
    assert np.array_equal(default.tokens, decode(mini, prompts, Temperature(1.0)).tokens)
    guided = decode(mini, prompts, RWS(8.0), reward=load_reward("mini"))
    assert np.array_equal(guided.tokens, decode(mini, prompts, recorded(guided.traces)).tokens)
    assert replay(guided[0]).diverged_at is None
    assert np.array_equal(replay_with(default[0], mini).tokens, default[0].tokens)


def test_mini_writes_sentences_of_its_language(mini, prompts) -> None:
    texts = decode(mini, prompts, Confidence(), Shape(steps=64)).texts
    sentences = [text.count(" .") for text in texts]
    assert all(count >= 5 for count in sentences)
    wrong = [sum(v.kind == "grammar" for v in judge(p, t).violations) for p, t in zip(prompts, texts, strict=True)]
    assert sum(wrong) < sum(sentences) / 4


def test_examples_are_held_out_and_their_answers_coherent(mini) -> None:
    for example in mini.examples:
        assert split_of(example["prompt"], example["answer"]) == "test"
        assert judge(example["prompt"], example["answer"]).coherent


@pytest.mark.parametrize("name", ["mini", "mini-judge", "exact"])
def test_rewards_prefer_true_stories_to_word_salad(mini, name: str) -> None:
    examples = mini.examples[:8]
    reward = load_reward(name)
    asked = [example["prompt"] for example in examples]
    true = reward.score(asked, [example["answer"] for example in examples])
    salad = reward.score(asked, [" ".join(sorted(example["answer"].split())) for example in examples])
    assert all(a > b for a, b in zip(true, salad, strict=True))


def test_the_causal_model_finds_true_stories_likelier_than_shuffled_ones(mini) -> None:
    examples = mini.examples[:8]
    causal = load_causal("mini-causal")
    asked = [example["prompt"] for example in examples]
    true = answer_scores(causal, asked, [example["answer"] for example in examples])
    salad = answer_scores(causal, asked, [" ".join(sorted(example["answer"].split())) for example in examples])
    assert max(score.perplexity for score in true) < 4 < min(score.perplexity for score in salad)


def test_shipped_models_have_cards_and_are_small() -> None:
    root = models_directory()
    names = [path.parent.name for path in root.glob("*/config.json")]
    assert set(names) >= {"mini", "mini-reward", "mini-judge", "mini-causal"}
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 40 * 2**20
    for name in names:
        assert "license: apache-2.0" in (root / name / "README.md").read_text(encoding="utf-8")
        assert any((root / name / file).is_file() for file in ("model.safetensors", "world.npz"))


def test_importing_the_theory_does_not_import_torch() -> None:
    code = "import sys, rws_theory; sys.exit('torch' in sys.modules or 'rws_decode' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
