from pathlib import Path

import pytest

from rws_decode import Shape, compare, decode, load_predictor, scale_path
from rws_decode.text.dialogue import Dialogue
from rws_theory.show import Note

SHAPE = Shape(4, 2, 4)
MINI = "mini does not know these words and reads each as unknown: "


@pytest.mark.parametrize("prompt", ["the flurb owned", Dialogue(("the flurb owned",)), "the flurb [MASK:4] owned"])
def test_words_that_a_predictor_does_not_know_are_warned_of_where_it_is_called(prompt: str | Dialogue) -> None:
    mini = load_predictor("mini")
    with pytest.warns(Note, match=f"^{MINI}flurb$") as warned:
        decode(mini, [prompt, "the owned"], shape=SHAPE)
    with pytest.warns(Note, match=f"^{MINI}zorp flurb$") as compared:
        compare(mini, "zorp the flurb", ["default", "temperature:4"], SHAPE)
    assert {Path(each.filename) for each in (*warned, *compared)} == {Path(__file__)}
    assert len(warned) == 1 and len({each.lineno for each in compared}) == 1  # which Python shows once


def test_the_scale_path_and_a_world_warn_too() -> None:
    said = "english does not know these words and reads only what follows the last of them: zyzzyva"
    with pytest.warns(Note, match=f"^{said}$"):
        scale_path(load_predictor("english"), "we zyzzyva the", shape=SHAPE, scale_min=1.0, scale_max=2.0)
