"""Decodes of prompts with gaps, against plain prompts and a naive loop."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from misuse import refused
from slow_rows import slow_decode
from tiny_models import CLS, MASK, SEP, bert_predictor, llada_predictor, modernbert_predictor

import rws_decode as rws
from rws_decode import RWS, CallableReward, LeftToRight, Options, Shape, Temperature, decode, diff, load_trace, replay
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.job import encode_prompts
from rws_decode.strategies import STRATEGIES, offered
from rws_decode.text.dialogue import filled

PREDICTORS = {"bert": bert_predictor(), "modernbert": modernbert_predictor(), "llada": llada_predictor()}
BERT = PREDICTORS["bert"]
REWARD = CallableReward(
    lambda prompt, answer: len(set(answer.split())) + 0.1 * len(prompt), mean=4.0, std=1.5, name="many-words"
)
GAPPED = [CLS, 6, MASK, MASK, 8, MASK, 9, MASK, MASK, MASK, 7, SEP]
SIX = Shape(6, 4, 3)


def rws_factor(predictor: rws.MaskPredictor, reward: Any, row: list[int], prompt: str, first: int, scale: float) -> Any:
    """Return the RWS factor of a completed answer, from the row's column `first` on."""

    def factor(step: int, answer: list[int]) -> float:
        text = predictor.decode_answer(filled(row, answer, predictor.mask_id)[first:]) or ""
        (raw,) = reward.score([prompt], [text])
        return scale * math.sqrt(1 / (1 + math.exp(-(raw - reward.mean) / reward.std)) + 1e-5)

    return factor


@pytest.mark.parametrize(
    ("model", "strategy"), [("bert", RWS(8.0)), ("modernbert", LeftToRight()), ("llada", RWS(8.0))], ids=str
)
def test_a_gap_at_the_end_is_the_plain_prompt_bit_for_bit(model: str, strategy: Any) -> None:
    predictor, prompts = PREDICTORS[model], [[CLS, 6, 8, SEP], [7], [CLS, 9, 10, 11, 12, SEP]]
    for how in (Options(padding="right" if model == "llada" else "left"), Options(cfg=0.5, sampling_temperature=0.7)):
        plain = decode(predictor, prompts, strategy, SIX, reward=REWARD, options=how)
        gaps = decode(predictor, [[*each, *[MASK] * 6] for each in prompts], strategy, SIX, reward=REWARD, options=how)
        for one, other in zip(plain, gaps, strict=True):
            assert other.prompt_text == f"{one.prompt_text} [MASK:6]".strip()
            assert replace(other, prompt=one.prompt, prompt_text=one.prompt_text, pieces=one.pieces) == one
            assert {token: piece for token, piece in other.pieces.items() if token != str(MASK)} == one.pieces
            assert one.completed.tolist() == other.completed.tolist() == [*one.prompt.tolist(), *one.tokens.tolist()]


@pytest.mark.parametrize(
    ("model", "shape"),
    [("bert", Shape(6, 6, 6)), ("modernbert", SIX), ("llada", Shape(6, 3, 2)), ("bert", Shape(6, 1, 6))],
    ids=str,
)
def test_gaps_are_filled_as_a_naive_loop_fills_them(model: str, shape: Shape) -> None:
    predictor = PREDICTORS[model]
    factor = rws_factor(predictor, REWARD, GAPPED, predictor.decode_prompt(GAPPED[:2]) or "", 2, 8.0)
    for strategy, scale, cfg in ((rws.Confidence(), 1.0, 0.0), (RWS(8.0), factor, 0.0), (RWS(8.0), factor, 1.0)):
        (trace,) = decode(predictor, [GAPPED], strategy, shape, reward=REWARD, options=Options(cfg=cfg))
        _, tokens, when, _, factors = slow_decode(predictor, GAPPED, shape, scale=scale, cfg=cfg)
        assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (tokens, when)
        np.testing.assert_allclose(trace.factor, factors, rtol=1e-13)
        fixed = np.array(GAPPED) != MASK
        assert trace.completed[fixed].tolist() == [token for token in GAPPED if token != MASK]
        assert trace.completed[~fixed].tolist() == tokens and trace.text == predictor.decode_answer(tokens)
        assert (trace.offset, trace.width, trace.prompt.tolist()) == (2, len(GAPPED), GAPPED)


def test_a_trace_of_gaps_is_saved_replayed_and_compared(tmp_path: Path) -> None:
    predictor = BERT
    for strategy, how in ((RWS(8.0), Options()), (LeftToRight(), Options()), (Temperature(3.0), Options(cfg=0.5))):
        (trace,) = decode(predictor, [GAPPED], strategy, SIX, reward=REWARD, options=how)
        assert load_trace(trace.save(tmp_path / "trace.parquet")) == trace
        assert replay(trace).diverged_at is None and replay(trace).tokens.tolist() == trace.tokens.tolist()
        again = rws.replay_with(trace, predictor)
        assert again.tokens.tobytes() == trace.tokens.tobytes() and again.value.tobytes() == trace.value.tobytes()
        assert diff(trace, again, predictor).same
    first, second = (decode(predictor, [GAPPED], Temperature(c), Shape(6, 6, 6))[0] for c in (0.05, 20.0))
    parted = diff(first, second, predictor).parting
    assert parted is not None and parted.why == "order" and all(pair.certified for pair in parted.reversals)
    refused(lambda: replace(first, prompt=first.prompt[3:]), "prompt holds 5 masks: none, or length, 6, is needed")


def test_a_reward_reads_the_text_before_the_first_gap_and_the_completed_rest() -> None:
    read: list[tuple[str, str]] = []
    reward = CallableReward(lambda prompt, answer: read.append((prompt, answer)) or 1.0)
    for prompt in (
        "the cat [MASK:2] on [MASK:1] mat .",
        PREDICTORS["bert"].encode_prompt("the cat [MASK:2] on [MASK:1] mat ."),
    ):
        (trace,) = decode(PREDICTORS["bert"], [prompt], RWS(8.0), Shape(3, 3, 3), reward=reward)
        words = (trace.text or "").split()
        assert trace.prompt_text == "the cat [MASK:2] on [MASK:1] mat ."
        assert read[-1] == ("the cat", " ".join([*words[:2], "on", *words[2:], "mat", "."]))
    assert len({prompt for prompt, _ in read}) == 1 and all(answer.endswith(" mat .") for _, answer in read)


def test_gaps_of_a_text_are_masks_among_the_tokens_own_frame(tmp_path: Path) -> None:
    bert = BERT
    assert bert.encode_prompt("the [MASK:2] cat [MASK:1]") == [CLS, 6, MASK, MASK, 8, MASK, SEP]
    assert bert.encode_prompt("[MASK:1][MASK:1] [SEP] cat") == [CLS, MASK, MASK, *bert.encode_prompt("[SEP] cat")[1:]]
    assert MASK not in bert.encode_prompt("the [MASK] cat [MASK:0]")
    letters, careless = (
        rws.CallablePredictor(lambda canvas: canvas, mask_id=mask, encode=lambda text: [*map(ord, text)])
        for mask in (0, 97)
    )
    assert letters.encode_prompt("a [MASK:2] b") == [97, 0, 0, 32, 98]
    assert encode_prompts(letters, ["a", "a [MASK:2]"], 2)[1].ids == [97, 0, 0]
    refused(lambda: careless.encode_prompt("bab [MASK:1]"), "encodes to the mask token 97")
    folder = str(tiny_checkpoint("llada", tmp_path / "llada"))
    llada, chat = (rws.load_predictor(folder, progress=False, chat=chat) for chat in (False, True))
    around = [llada.encode_prompt(part) for part in ("the cat", " sat")]
    assert llada.encode_prompt("the cat [MASK:2] sat") == [*around[0], *[llada.mask_id] * 2, *around[1]]
    refused(lambda: chat.encode_prompt("the [MASK:1]"), "prompt 'the [MASK:1]' has a gap: a message of a chat has none")


@pytest.mark.parametrize("name", [*STRATEGIES, "calibrated", "oracle-order"])
def test_every_strategy_fills_gaps_and_leaves_the_fixed_words(name: str) -> None:
    predictor = PREDICTORS["llada"]
    ids = [6, *[predictor.mask_id] * 2, 8, predictor.mask_id, 9, *[predictor.mask_id] * 3, 7]
    (run,) = decode(predictor, [ids], "rws:8", Shape(6, 3, 6), reward=REWARD)
    entry = STRATEGIES[name] if name in offered() else None
    given = {"run": run} | {option: number.usual for option, number in (entry.numbers if entry else {}).items()}
    size = predictor.logits(torch.tensor([ids]), None).shape[-1]
    strategy: Any = {
        "reward-replay": rws.RewardReplay(8.0, (0.1, 0.2, 0.3)),
        "calibrated": rws.Calibrated(np.linspace(0.01, 0.2, size)),
        "oracle-order": rws.OracleOrder(run.tokens),
    }.get(name, name)
    numbers = {option: given[option] for option in (entry.reads if entry else ()) if option != "reward"}
    shape = Shape(6, 3, 6)
    alone, first, second = (
        trace
        for canvas in ([ids], [ids, [8, 9, *ids]])
        for trace in decode(predictor, canvas=canvas, strategy=strategy, shape=shape, reward=REWARD, **numbers)
    )
    for trace, row in ((alone, ids), (second, [8, 9, *ids])):
        fixed = np.array(row) != predictor.mask_id
        assert trace.completed[fixed].tolist() == [token for token in row if token != predictor.mask_id]
        assert trace.completed[~fixed].tolist() == trace.tokens.tolist()
        assert (trace.tokens != predictor.mask_id).all() and (trace.commit_step >= 0).all()
    assert alone.tokens.tolist() == first.tokens.tolist()  # whoever is in the batch
