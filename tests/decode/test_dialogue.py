"""Dialogues of several turns: as predictors, reward models and the decoder read them."""

from pathlib import Path
from typing import Any

import pytest
from grouped import grouped
from misuse import refused
from tiny_models import word_tokenizer

import rws_decode as rws
from rws_decode import Confidence, Dialogue, HFMaskPredictor, decode, load_predictor
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.text.prompt_ids import chat_ids

TOLD = Dialogue(("the cat sat", "on the mat .", "and then it ran"))
LONG = Dialogue((*TOLD.turns, "under a tree .", "the red bird"))
Predictors = dict[str, HFMaskPredictor]
SHORT: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}


@pytest.fixture(scope="module")
def predictors(tmp_path_factory: pytest.TempPathFactory) -> Predictors:
    root = tmp_path_factory.mktemp("predictors")
    folders = {name: str(tiny_checkpoint(name, root / name)) for name in ("llada", "dream")} | {"mini": "mini"}
    return {name: load_predictor(folder, progress=False) for name, folder in folders.items()}


@pytest.mark.parametrize("dialogue", [TOLD, LONG], ids=["two", "three"])
@pytest.mark.parametrize("name", ["llada", "dream"])
def test_a_chat_is_rendered_whole_by_the_template(name: str, dialogue: Dialogue, predictors: Predictors) -> None:
    codec = predictors[name].tokenizer
    expected = codec.apply_chat_template(dialogue.messages, add_generation_prompt=True)["input_ids"]
    assert predictors[name].encode_dialogue(dialogue) == expected
    assert "question" not in codec.decode(expected) and "answer" not in codec.decode(expected)


def test_a_predictor_without_a_template_reads_the_plain_text(predictors: Predictors) -> None:
    mini, text = predictors["mini"], "the cat sat answer : on the mat . question : and then it ran"
    assert TOLD.text == text
    assert mini.encode_dialogue(TOLD) == mini.encode_prompt(text)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("hello", "leaves the user's message out"),
        ("{% if %}", "fails"),
        ("{{ messages[0].content }}", "leaves the assistant's message out"),
        ("{% for one in messages %}{{ one.content }}{% endfor %}{{ messages[1].content[0] }}", "changes with the"),
        ("{% if messages | length > 1 %}{{ raise_exception('one only') }}{% endif %}", "fails (one only)"),
    ],
    ids=["all left out", "no template", "left out", "changes", "refuses"],
)
def test_a_template_that_does_not_quote_every_turn_is_refused(template: str, message: str) -> None:
    codec = word_tokenizer()
    codec.chat_template = template
    refused(lambda: chat_ids(codec, TOLD, {}), f"chat is True:  ... {message}")


@pytest.mark.parametrize("name", ["llada", "dream", "mini"])
def test_the_second_answer_follows_from_all_turns(name: str, predictors: Predictors) -> None:
    predictor = predictors[name]
    (trace,) = decode(predictor, [TOLD], Confidence(), **grouped(**SHORT))
    assert trace.prompt.tolist() == predictor.encode_dialogue(TOLD) and trace.prompt_text == TOLD.text
    (ids,) = decode(predictor, [predictor.encode_dialogue(TOLD)], Confidence(), **grouped(**SHORT))
    assert trace.tokens.tolist() == ids.tokens.tolist() and trace.value.tobytes() == ids.value.tobytes()
    mixed = decode(predictor, ["the cat", TOLD, Dialogue(("a", "b", "c"))], Confidence(), **grouped(**SHORT))
    assert mixed[1].tokens.tolist() == trace.tokens.tolist()


@pytest.mark.parametrize("name", ["eurus", "qrm"])
def test_the_decoder_shows_rewards_of_turns_the_dialogue(name: str, predictors: Predictors, tmp_path: Path) -> None:
    predictor = predictors["llada"]
    reward = rws.load_reward(str(tiny_checkpoint(name, tmp_path / name)), published=name)
    (trace,) = decode(predictor, [TOLD], rws.RWS(4.0), reward=reward, **grouped(**SHORT))
    assert trace.whole_candidates
    for step in range(trace.steps_run):
        text = predictor.decode_answer(trace.candidate[step].tolist())
        assert trace.reward_raw[step] == pytest.approx(reward.score([TOLD], [text])[0], abs=1e-4, rel=1e-5)
