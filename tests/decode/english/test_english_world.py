from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from command_lines import refusal
from hypothesis import given
from hypothesis import strategies as st

from rws_decode.__main__ import main
from rws_decode.predictors.base import LogitsAt, MaskPredictor, NamesUnknownWords
from rws_decode.predictors.world import WorldPredictor
from rws_decode.text.words import END, Words
from rws_theory.worlds.ngram import NGram


def log_probabilities(predictor: WorldPredictor, canvas: torch.Tensor) -> np.ndarray:
    return predictor.logits(canvas, None)[0].numpy()


def test_it_is_a_mask_predictor_with_all_that_the_decoder_asks(english: WorldPredictor) -> None:
    assert all(isinstance(english, kind) for kind in (MaskPredictor, LogitsAt, NamesUnknownWords))
    assert (english.vocab_size, english.mask_id, english.words.end) == (3001, 3000, 2999)


@given(st.lists(st.integers(0, 2998), max_size=40))
def test_text_comes_back_as_the_same_ids(ids: list[int]) -> None:
    words = Words(load_words())
    assert words.ids(words.text(ids)) == ids


def load_words() -> list[str]:
    from rws_decode.checkpoints.files import models_directory

    return json.loads((models_directory() / "english" / "words.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("wrong", [["a", "a"], ["A"], ["a b"], ["-"]])
def test_words_that_would_not_come_back_are_refused(wrong: list[str]) -> None:
    with pytest.raises(ValueError, match=r"^words hold '"):
        Words(wrong)


def test_conditionals_of_one_mask_follow_from_bayes_rule_at_full_size(english: WorldPredictor) -> None:
    canvas = english.canvas("we ask the congress [MASK:1] the treaty with spain")
    found = log_probabilities(english, canvas)[4, :-1]
    ids = canvas[0].tolist()
    joint = np.array([english.world.log_prob([*ids[:4], word, *ids[5:]]) for word in range(3000)])
    assert np.abs(found - (joint - np.logaddexp.reduce(joint))).max() < 1e-9


def test_a_gap_between_two_anchors_is_read_on_both_sides(english: WorldPredictor) -> None:
    gap = next(example for example in english.examples if example["kind"] == "gap")
    canvas = english.canvas(gap["prompt"])
    masked = (canvas[0] == english.mask_id).nonzero()[:, 0]
    assert len(masked) == len(english.words.ids(gap["answer"])) and masked[0] > 0 and masked[-1] < canvas.shape[1] - 1
    last = int(masked[-1])
    with_both, with_first = log_probabilities(english, canvas), log_probabilities(english, canvas[:, : last + 1])
    assert np.abs(np.exp(with_both[last]) - np.exp(with_first[last])).sum() > 0.1


def test_some_positions_of_padded_rows_are_those_of_each_row_alone(english: WorldPredictor) -> None:
    ids, mask = english.words.ids("we have the honor to be"), english.mask_id
    rows = [[*ids, mask, mask], [*ids[:2], mask, ids[3], mask]]
    for left in (False, True):
        canvas = torch.full((2, 8), mask)
        real = torch.zeros(2, 8, dtype=torch.bool)
        for number, row in enumerate(rows):
            where = slice(8 - len(row), 8) if left else slice(0, len(row))
            canvas[number, where], real[number, where] = torch.tensor(row), True
        found = english.logits(canvas, real)
        for number, row in enumerate(rows):
            alone = english.logits(torch.tensor([row]), None)[0]
            assert torch.allclose(found[number, real[number]], alone, rtol=0, atol=1e-9)
            assert not found[number, ~real[number]].any()


def test_a_prompt_is_read_after_its_last_unknown_word(
    english: WorldPredictor, capsys: pytest.CaptureFixture[str]
) -> None:
    assert english.encode_prompt("we zyzzyva the people") == english.words.ids("the people")
    assert english.encode_prompt("the zyzzyva") == [] and english.encode_prompt("") == []
    short = ["--model", "english", "--length", "2", "--steps", "1", "--block", "2"]
    assert main(["generate", *short, "--prompt", "we zyzzyva the"]) == 0
    said = capsys.readouterr().err
    assert said == ("note: english does not know these words and reads only what follows the last of them: zyzzyva\n")


def test_the_documented_command_goes_on_after_its_opening(
    english: WorldPredictor, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "generate --model english --reward era --strategy rws --reward-scale 8 --example 3 --json".split()
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["tokens"]) == 64 and result["text"] == english.decode_answer(result["tokens"])
    # It follows: the opening makes it far more probable than another opening does.
    prompts = [english.encode_prompt(english.examples[number]["prompt"]) for number in (3, 4)]
    own, other = (english.world.log_prob(result["tokens"], prompt) for prompt in prompts)
    assert own > other + 1.0
    assert english.words.unknown(result["text"]) == [] and result["god_steps"] < 8


def test_examples_are_openings_then_gaps_of_known_words(english: WorldPredictor) -> None:
    kinds = [example["kind"] for example in english.examples]
    openings = kinds.count("opening")
    assert kinds == ["opening"] * openings + ["gap"] * (len(kinds) - openings)
    assert openings >= 200 and len(kinds) - openings >= 50
    for example in english.examples[:openings]:
        assert 8 <= len(english.encode_prompt(example["prompt"])) <= 16
        assert english.unknown_words(example["prompt"]) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--example", "3", "--dtype", "bfloat16"], "dtype is bfloat16: english is a world of words on the CPU"),
        (["--example", "3", "--mask-id", "7"], "mask_id is 7: english is a world of words on the CPU, leave it out"),
        (["--example", "900"], "--example is 900: english ships"),
    ],
)
def test_misuse_is_told_in_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "generate", "--model", "english", *options)


def test_another_world_and_other_words_are_refused() -> None:
    world = NGram.fit([[0, 1, 2]], order=2, vocabulary=3)
    with pytest.raises(ValueError, match=r"^words are 2: the world has 3, name each of them"):
        WorldPredictor(world, Words(["a", END]))
    predictor = WorldPredictor(world, Words(["a", "b", END]), name="abc")
    with pytest.raises(ValueError, match=r"^text holds zzz: abc does not know these words"):
        predictor.canvas("a zzz [MASK:1]")


def test_the_words_of_a_gap_have_their_probability_given_both_sides(english: WorldPredictor) -> None:
    prompt = english.encode_prompt("we ask the congress [MASK:2] the treaty with spain.")
    first, second = english.words.ids("to ratify")[0], english.words.ids("of")[0]
    given = english.log_prob(prompt, [first, second])
    rows = english.logits(torch.tensor([prompt]), None)[0, prompt.index(english.mask_id)]
    once = [
        first if token == english.mask_id and i == prompt.index(english.mask_id) else token
        for i, token in enumerate(prompt)
    ]
    then = english.logits(torch.tensor([once]), None)[0, once.index(english.mask_id)]
    assert given == pytest.approx(float(rows[first] + then[second]), abs=1e-9)  # the chain rule
