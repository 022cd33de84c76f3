"""What a newcomer relies on: the shipped models, the documented command, the light import."""

from __future__ import annotations

import pytest

from paper_figures.statistics.causal_scores import answer_scores, load_causal
from rws_decode import Confidence, Shape, load_predictor, load_reward
from rws_decode.checkpoints.files import models_directory
from rws_decode.decode import decode
from rws_decode.mini.stories.answers import judge
from rws_decode.mini.stories.tasks import split_of


@pytest.fixture(scope="module")
def mini():
    return load_predictor("mini")


@pytest.fixture(scope="module")
def prompts(mini):
    return [example["prompt"] for example in mini.examples if example["kind"] == "keywords"][:4]


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
