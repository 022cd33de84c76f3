"""Which reward is taken where none is named, and what is said of one that does not read the model's texts."""

import pytest
from command_lines import decoding as main
from command_lines import printed
from misuse import refused

from rws_decode import Shape, compare, decode, load_predictor, scale_path, steer
from rws_decode.rewards.base import OWN_REWARDS

EXAMPLE = "--example 3 --length 8"


@pytest.mark.parametrize(
    "line",
    [
        f"compare --model english {EXAMPLE} --json",
        f"generate {EXAMPLE} --strategy rws:8 --json",
        f"generate --model english {EXAMPLE} --steer best-of:2 --json",
        f"scale-path --model english {EXAMPLE} --scale-min 1 --scale-max 2 --over reward-scale --json",
        "score --model english --example 3 --answer peace --strategies rws:8 --json",
    ],
)
def test_the_models_usual_reward_is_taken_and_named(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    model, reward = ("english", "era") if "english" in line else ("mini", "mini")
    assert main(line.split()) == 0
    taken, error = capsys.readouterr()
    assert f"note: --reward is not given: it is {reward}, the usual reward of {model}\n" in error
    assert taken == printed(capsys, *line.split(), "--reward", reward)


def test_a_call_without_a_reward_names_one_of_the_model() -> None:
    english, shape = load_predictor("english"), Shape(8)
    for call in (
        lambda: decode(english, "peace", "rws:8", shape),
        lambda: compare(english, "peace", ["default", "best-of:2"], shape),
        lambda: steer(english, "peace", "best-of:2", shape),
        lambda: scale_path(english, "peace", 1, 2, shape, over="reward-scale"),
        lambda: decode(english, "peace", shape=shape, reward=3),  # type: ignore[arg-type]
    ):
        refused(call, "reward is ... load_reward('era')")


@pytest.mark.parametrize("model", ["english", "mini"])
def test_a_reward_that_does_not_read_the_words_is_a_note_once(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    for reward in (*OWN_REWARDS["mini"], *OWN_REWARDS["english"]):
        assert main(f"compare --model {model} --example 3 --length 16 --reward {reward}".split()) == 0
        notes = capsys.readouterr().err.count(f"note: reward {reward}")
        assert notes == (reward not in OWN_REWARDS[model]), reward
