"""Reward models: scores alone and in batches, statistics, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from transformers import BertForSequenceClassification

from rws_decode.rewards import CallableReward, RewardModel, SequenceClassifierReward, load_reward
from rws_decode.rewards.base import ReadsTokens, bounds_of, prompts_for, reads_whole, score_checked
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import bert, bert_classifier, word_tokenizer
from rws_decode.text.dialogue import Dialogue

PAIRS = [
    ("the cat", "sat on the mat ."),
    ("a dog", ""),
    ("a small red bird flew over the tree", "then it was blue . " * 5),
    ("the cat", "sat on the mat"),
]
PROMPTS, ANSWERS = (list(column) for column in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(
        "classifier",
        tmp_path_factory.mktemp("models") / "tiny-reward",
        files={"reward.json": {"mean": 0.5, "std": 2, "template": "pair"}},
    )


def test_they_say_what_they_are(saved: Path) -> None:
    network = "SequenceClassifierReward('tiny-reward', 5.07k parameters, pair text, mean=0.5, std=2)"
    for name, said in (
        (str(saved), network),
        ("exact", "ExactReward(mean=-4.6445, std=4.5629)"),
        ("era", "WorldReward('era', mean=-1.1223, std=2.0603)"),
    ):
        assert repr(load_reward(name)) == said
    assert CallableReward(len).score(["why?", ""], ["so", "as"]) == [2.0, 2.0]  # a function of the answer alone
    with pytest.raises(ValueError, match="of the answer alone, is needed"):
        CallableReward(lambda: 1.0)
    bounded = CallableReward(lambda prompt, answer: 0.5, mean=0.25, name="half", bounds=(0, 1))
    assert repr(bounded) == "CallableReward('half', mean=0.25, std=1, bounds=(0, 1))"


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_batch_scores_as_its_pairs_alone(saved: Path, batch_size: int) -> None:
    model = load_reward(str(saved))
    assert isinstance(model, SequenceClassifierReward)
    model.batch_size = batch_size
    alone = [model.score([prompt], [answer])[0] for prompt, answer in PAIRS]
    assert model.score(PROMPTS, ANSWERS) == pytest.approx(alone, abs=1e-5)
    assert len(set(alone)) == len(alone)


def test_the_score_is_the_logit_of_the_pair_as_the_tokenizer_lays_it_out(saved: Path) -> None:
    ids = word_tokenizer().convert_tokens_to_ids(["[CLS]", "the", "cat", "[SEP]", "sat", ".", "[EOS]"])
    types = [0, 0, 0, 0, 1, 1, 1]
    reference = bert_classifier()
    with torch.inference_mode():
        plain = reference(input_ids=torch.tensor([ids])).logits.item()
        typed = reference(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits.item()
    (score,) = load_reward(str(saved)).score(["the cat"], ["sat ."])
    assert min(abs(score - plain), abs(score - typed)) < 1e-5


def test_statistics_come_from_beside_the_weights_unless_given(saved: Path) -> None:
    assert (load_reward(str(saved)).mean, load_reward(str(saved)).std) == (0.5, 2.0)
    given = load_reward(str(saved), mean=-1.0, std=3.0)
    assert (given.name, given.mean, given.std) == ("tiny-reward", -1.0, 3.0)


@pytest.mark.parametrize(
    ("statistics", "named"),
    [
        (None, "mean of reward .* is None: a number is needed, .*calibrate --reward .* --out FILE`"),
        ({"mean": 0.0}, "std of reward .* is None"),
        ({"mean": "high", "std": 1.0}, "mean of reward .* is 'high'"),
        ({"mean": 0.0, "std": 0.0}, "std of reward model .* is 0.0"),
        ({"mean": 0.0, "std": 1.0, "template": "{prompt}{answer}"}, "template in reward.json"),
    ],
)
def test_statistics_that_cannot_normalise_are_named(
    tmp_path: Path, statistics: dict[str, object] | None, named: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{named}"):
        load_reward(str(tiny_checkpoint("classifier", tmp_path / "r", files={"reward.json": statistics})))


def test_a_missing_head_is_refused_not_drawn_at_random(tmp_path: Path) -> None:
    folder = tiny_checkpoint("classifier", tmp_path / "headless")
    bert().save_pretrained(folder)
    with pytest.raises(ValueError, match=r"reward headless lacks weights: .*classifier"):
        load_reward(str(folder))


def test_a_head_of_several_outputs_is_refused(tmp_path: Path) -> None:
    config = bert_classifier().config
    config.num_labels = 3
    wide = BertForSequenceClassification(config)
    with pytest.raises(ValueError, match=r"has 3 outputs"):
        SequenceClassifierReward(wide, word_tokenizer(), mean=0, std=1)
    wide.save_pretrained(tiny_checkpoint("classifier", tmp_path / "wide"))
    with pytest.raises(ValueError, match=r"wide"):
        load_reward(str(tmp_path / "wide"))


def test_without_a_tokenizer_nothing_can_be_scored(tmp_path: Path) -> None:
    bert_classifier().save_pretrained(tmp_path / "mute")
    with pytest.raises(ValueError, match=r"holds no tokenizer"):
        load_reward(str(tmp_path / "mute"), mean=0, std=1)


def test_without_padding_pairs_go_one_by_one() -> None:
    bare = word_tokenizer()
    bare.pad_token = None
    padded = SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0, std=1)
    single = SequenceClassifierReward(bert_classifier(), bare, mean=0, std=1)
    assert single.score(PROMPTS, ANSWERS) == pytest.approx(padded.score(PROMPTS, ANSWERS), abs=1e-5)


@pytest.mark.parametrize(("mean", "std", "named"), [(math.nan, 1, "mean"), (0, -1, "std"), (0, math.inf, "std")])
def test_callable_statistics_are_checked(mean: float, std: float, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named} of reward model odd"):
        CallableReward(lambda prompt, answer: 0.0, mean, std, name="odd")


def test_missing_scores_are_named() -> None:
    short = CallableReward(lambda prompt, answer: 0.0, name="short")
    short.score = lambda prompts, answers: [0.0]  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=r"reward model short returned 1 scores for 2 pairs"):
        score_checked(short, ["a", "b"], ["", ""])


@pytest.mark.parametrize("turns", [True, False])
def test_turns_are_given_where_the_model_reads_them(turns: bool) -> None:
    model, dialogue = CallableReward(lambda prompt, answer: 0.0), Dialogue(("a", "b", "c"))
    model.reads_turns = turns  # type: ignore[attr-defined]
    assert prompts_for(model, [dialogue, Dialogue(("a",)), "b"]) == [dialogue if turns else dialogue.text, "a", "b"]


def test_a_network_says_what_it_reads() -> None:
    model = SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0, std=1)
    assert isinstance(model, RewardModel) and isinstance(model, ReadsTokens) and model.template == "pair"
    assert bounds_of(model) == model.bounds
    assert reads_whole(model, "the cat", "sat") and not reads_whole(model, "the " * 200, "sat")
