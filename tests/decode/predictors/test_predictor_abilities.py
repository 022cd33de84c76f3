"""What a predictor may do on top of `MaskPredictor`, and the default without it."""

from __future__ import annotations

import pytest
import torch
from tiny_models import bert_predictor
from torch import Tensor

from rws_decode.predictors import CallablePredictor, MaskPredictor
from rws_decode.predictors.base import (
    EndsWith,
    HasTokenizer,
    LogitsAt,
    LogitsDtype,
    ReadsDialogue,
    computes_at,
    ends_of,
    logit_bytes_of,
    logits_at,
    prompt_ids,
    tokenizer_of,
)
from rws_decode.text.dialogue import Dialogue

PLACE = torch.tensor([0]), torch.tensor([1])
TURNS = Dialogue(("a", "b", "c"))


class Able(CallablePredictor):
    """A predictor with every ability."""

    end_ids = (4, 5)
    logits_dtype = torch.float16
    tokenizer = "its tokenizer"

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        return torch.full((len(row), 6), 7.0)

    def encode_dialogue(self, dialogue: Dialogue) -> list[int]:
        return [len(dialogue.turns)]


def made(kind: type[CallablePredictor]) -> CallablePredictor:
    return kind(lambda canvas: torch.eye(6)[canvas], mask_id=0, end_id=5, encode=lambda text: [len(text)])


def test_a_predictor_without_abilities_has_the_defaults() -> None:
    plain = made(CallablePredictor)
    assert isinstance(plain, MaskPredictor)
    for ability in (LogitsAt, EndsWith, ReadsDialogue, LogitsDtype, HasTokenizer):
        assert not isinstance(plain, ability)
    assert not computes_at(plain) and ends_of(plain) == (5,) and logit_bytes_of(plain) == 4
    assert tokenizer_of(plain) is None
    assert prompt_ids(plain, TURNS) == [len(TURNS.text)]
    assert logits_at(plain, torch.tensor([[1, 2]]), None, *PLACE).tolist() == [[0, 0, 1, 0, 0, 0]]


def test_a_predictor_with_abilities_is_asked_for_them() -> None:
    able = made(Able)
    assert computes_at(able) and ends_of(able) == (4, 5) and logit_bytes_of(able) == 2
    assert tokenizer_of(able) == "its tokenizer"
    assert prompt_ids(able, TURNS) == [3]
    assert prompt_ids(able, "abc") == [3] and prompt_ids(able, Dialogue(("abcd",))) == [4]
    assert logits_at(able, torch.tensor([[1, 2]]), None, *PLACE).tolist() == [[7.0] * 6]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_network_has_all_abilities_and_the_bytes_of_its_dtype(dtype: torch.dtype) -> None:
    predictor = bert_predictor()
    predictor.model.to(dtype)
    for ability in (LogitsAt, EndsWith, ReadsDialogue, LogitsDtype, HasTokenizer):
        assert isinstance(predictor, ability)
    assert logit_bytes_of(predictor) == dtype.itemsize
