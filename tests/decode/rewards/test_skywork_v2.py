"""Skywork-Reward-V2: by name, hub id and directory, against its authors' recipe on transformers' own class."""

from pathlib import Path

import pytest
import torch
from misuse import refused
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rws_decode import CausalReward, load_reward
from rws_decode.checkpoints import Checkpoint
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.rewards import loading

HUB_ID = "Skywork/Skywork-Reward-V2-Qwen3-0.6B"
PAIRS = [("the cat", "sat on the mat."), ("a dog", ""), ("why?", "it was\n\nblue. " * 6), ("the cat", "sat on the mat")]
PROMPTS, ANSWERS = (list(column) for column in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint("skywork-v2-qwen3", tmp_path_factory.mktemp("hub") / "tiny", files={"reward.json": None})


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    calls: list[tuple[str, str | None]] = []

    def fetched(checkpoint: Checkpoint, revision: str | None = None) -> Checkpoint:
        calls.append((checkpoint.name, revision))
        return Checkpoint(checkpoint.name, folder, checkpoint.argument)

    monkeypatch.setattr(loading, "fetch", fetched)
    return calls


def recipe(folder: Path, prompt: str, answer: str) -> float:
    """Return the score as the models' pages compute it: the rendered chat without its BOS, tokenised, one logit."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, dtype=torch.float32).eval()
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    text = tokenizer.apply_chat_template(turns, tokenize=False, date_string="26 Jul 2024")
    if tokenizer.bos_token is not None:
        text = text.removeprefix(tokenizer.bos_token)
    with torch.no_grad():
        return float(model(**tokenizer(text, return_tensors="pt")).logits[0][0])


@pytest.mark.parametrize("name", ["skywork-v2-qwen3-0.6b", HUB_ID])
def test_scores_are_those_of_the_authors_recipe(name: str, hub: list[tuple[str, str | None]], folder: Path) -> None:
    reward = load_reward(name, mean=3.0, std=2.0)
    assert isinstance(reward, CausalReward) and hub == [(HUB_ID, None)]  # no commit is asked for
    assert (reward.name, reward.mean, reward.std, reward.template) == (HUB_ID, 3.0, 2.0, "chat")
    expected = [recipe(folder, *pair) for pair in PAIRS]
    assert reward.score(PROMPTS, ANSWERS) == pytest.approx(expected, rel=1e-4, abs=1e-5)  # one padded batch
    assert [reward.score([p], [a])[0] for p, a in PAIRS] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    session = reward.session(1)
    assert [session.score([0], [p], [a])[0] for p, a in PAIRS] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert session.tokens_saved[0] > 0
    assert len(set(expected)) == len(expected)


def test_the_llamas_begin_their_texts_once_and_another_model_is_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint("grm", tmp_path / "m")  # a Llama 3.2 with one score, and today's date in its template
    reward = load_reward(str(folder), mean=0, std=1, published="skywork-v2-llama-3.2-3b")
    ids = reward.ids("the cat", "sat .")
    assert ids.count(reward.tokenizer.bos_token_id) == 1 and ids[0] == reward.tokenizer.bos_token_id
    assert reward.score(["the cat"], ["sat ."])[0] == pytest.approx(recipe(folder, "the cat", "sat ."), rel=1e-4)
    refused(lambda: load_reward(str(folder), mean=0, std=1, published="skywork-v2-qwen3-4b"), "is not that of a Qwen")
