"""Decodes of prompts with gaps, against plain prompts, a naive loop and the world's own search."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import refusal
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor, llada_predictor, modernbert_predictor

from paper_figures.__main__ import main as figures
from rws_decode import RWS, Confidence, LeftToRight, Options, Shape, Temperature, diff, scale_path
from rws_decode.__main__ import main
from rws_decode.adapters.lm_eval import RWSLM
from rws_decode.canvas.layout import lay_out
from rws_decode.decode import decode
from rws_decode.gpu import decode_compact
from rws_decode.job import encode_prompts
from rws_decode.predictors import CallablePredictor, MaskPredictor, WorldPredictor, load_predictor
from rws_decode.predictors.base import forbidden_ids
from rws_decode.replay.replay import replay, replay_with
from rws_decode.rewards import CallableReward, load_reward
from rws_decode.rewards.world import era_reward
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import CLS, MASK, SEP
from rws_decode.text.gaps import filled, gap_ids, gap_text, masks_in, row_of
from rws_decode.trace.trace import Trace, load

PREDICTORS = {"bert": bert_predictor(), "modernbert": modernbert_predictor(), "llada": llada_predictor()}
REWARD = CallableReward(
    lambda prompt, answer: len(set(answer.split())) + 0.1 * len(prompt), mean=4.0, std=1.5, name="many-words"
)
GAPPED = [CLS, 6, MASK, MASK, 8, MASK, 9, MASK, MASK, MASK, 7, SEP]
SIX = Shape(6, 4, 3)


@torch.inference_mode()
def naive(
    predictor: MaskPredictor,
    row: Sequence[int],
    shape: Shape,
    factor_of: Callable[[list[int]], float],
    cfg: float = 0.0,
) -> tuple[list[int], list[int], list[float]]:
    """Fill a row's masks by `predictor.logits` alone; return tokens, the step of each, and each step's factor."""
    row, places = list(row), [at for at, token in enumerate(row) if token == predictor.mask_id]
    fixed = [at for at in range(len(row)) if at not in places]
    closed, when, factors = forbidden_ids(predictor), dict.fromkeys(places, -1), []
    for start, stop, commits in shape.plan:
        logits = predictor.logits(torch.tensor([row]), None)[0].double()
        if cfg:
            blind = [predictor.mask_id if at in fixed else token for at, token in enumerate(row)]
            other = predictor.logits(torch.tensor([blind]), None)[0].double()
            logits = other + (cfg + 1) * (logits - other)
        logits[:, closed] = -math.inf
        best = logits.argmax(dim=-1).tolist()
        factor = factor_of([best[at] if row[at] == predictor.mask_id else row[at] for at in range(len(row))])
        confidence = {}
        for at in places[start:stop]:
            if row[at] == predictor.mask_id:
                others = torch.cat([logits[at, : best[at]], logits[at, best[at] + 1 :]]) - logits[at, best[at]]
                confidence[at] = -float(torch.logsumexp(factor * others, dim=0))
        for at in sorted(confidence, key=lambda at: (-confidence[at], at))[:commits]:
            row[at], when[at] = best[at], len(factors)
        factors.append(factor)
    return [row[at] for at in places], list(when.values()), factors


def rws_factor(
    predictor: MaskPredictor, reward: Any, prompt: str, first: int, scale: float
) -> Callable[[list[int]], float]:
    """Return the RWS factor of a completed row, whose answer begins at `first`."""

    def factor(row: list[int]) -> float:
        (raw,) = reward.score([prompt], [predictor.decode_answer(row[first:]) or ""])
        return scale * math.sqrt(1 / (1 + math.exp(-(raw - reward.mean) / reward.std)) + 1e-5)

    return factor


@pytest.mark.parametrize("model", PREDICTORS)
@pytest.mark.parametrize("strategy", [Confidence(), Temperature(0.3), RWS(8.0), LeftToRight()], ids=lambda s: s.name)
@pytest.mark.parametrize("padding", ["right", "left"])
def test_a_gap_at_the_end_is_the_plain_prompt_bit_for_bit(model: str, strategy: Any, padding: Any) -> None:
    predictor, prompts = PREDICTORS[model], [[CLS, 6, 8, SEP], [7], [CLS, 9, 10, 11, 12, SEP]]
    for how in (Options(padding=padding), Options(padding=padding, cfg=0.5, sampling_temperature=0.7)):
        if (model, padding) == ("llada", "left"):
            how = replace(how, padding="right")
        plain = decode(predictor, prompts, strategy, SIX, reward=REWARD, options=how)
        gaps = decode(
            predictor, [[*prompt, *[MASK] * 6] for prompt in prompts], strategy, SIX, reward=REWARD, options=how
        )
        for one, other in zip(plain, gaps, strict=True):
            assert other.prompt_text == f"{one.prompt_text} [MASK:6]".strip()
            assert replace(other, prompt=one.prompt, prompt_text=one.prompt_text, pieces=one.pieces) == one
            assert {token: piece for token, piece in other.pieces.items() if token != str(MASK)} == one.pieces
            assert one.completed.tolist() == other.completed.tolist() == [*one.prompt.tolist(), *one.tokens.tolist()]


@pytest.mark.parametrize(
    "shape", [Shape(6, 6, 6), SIX, Shape(6, 3, 2), Shape(6, 1, 6)], ids=lambda s: f"{s.steps}-{s.block}"
)
@pytest.mark.parametrize("model", PREDICTORS)
def test_gaps_are_filled_as_a_naive_loop_fills_them(model: str, shape: Shape) -> None:
    predictor = PREDICTORS[model]
    factor = rws_factor(predictor, REWARD, predictor.decode_prompt(GAPPED[:2]) or "", 2, 8.0)
    for strategy, rule, cfg in ((Confidence(), lambda _: 1.0, 0.0), (RWS(8.0), factor, 0.0), (RWS(8.0), factor, 1.0)):
        (trace,) = decode(predictor, [GAPPED], strategy, shape, reward=REWARD, options=Options(cfg=cfg))
        tokens, when, factors = naive(predictor, GAPPED, shape, rule, cfg)
        assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (tokens, when)
        np.testing.assert_allclose(trace.factor, factors, rtol=1e-13)
        fixed = np.array(GAPPED) != MASK
        assert trace.completed[fixed].tolist() == [token for token in GAPPED if token != MASK]
        assert trace.completed[~fixed].tolist() == tokens and trace.text == predictor.decode_answer(tokens)
        assert (trace.offset, trace.width, trace.prompt.tolist()) == (2, len(GAPPED), GAPPED)


@pytest.mark.parametrize("padding", ["right", "left"])
def test_rows_with_and_without_gaps_share_a_batch(padding: Any) -> None:
    predictor = PREDICTORS["modernbert"]
    prompts = [GAPPED, [CLS, 6, SEP], [*[MASK] * 6, 8], [*[MASK] * 3, 8, 9, *[MASK] * 3]]
    together = decode(predictor, prompts, RWS(8.0), SIX, reward=REWARD, options=Options(padding=padding))
    assert together.forwards == 4
    left = {"right": [2, 3, 0, 0], "left": [2, 6, 5, 4]}
    assert [trace.offset for trace in together] == left[padding]
    for prompt, trace in zip(prompts, together, strict=True):
        (alone,) = decode(predictor, [prompt], RWS(8.0), SIX, reward=REWARD)
        assert trace.tokens.tolist() == alone.tokens.tolist()
        assert trace.commit_step.tolist() == alone.commit_step.tolist() and replay(trace).diverged_at is None


@given(
    rows=st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4),
    length=st.integers(1, 4),
    gaps=st.lists(st.booleans(), min_size=4, max_size=4),
    data=st.data(),
    left=st.booleans(),
)
@settings(max_examples=examples(200))
def test_a_canvas_keeps_every_fixed_token_and_counts_the_masks_from_the_left(
    rows: list[list[int]], length: int, gaps: list[bool], data: st.DataObject, left: bool
) -> None:
    predictor = CallablePredictor(lambda canvas: canvas, mask_id=10, decode=str)
    prompts = [
        data.draw(st.permutations([*row, *[10] * length])) if gap else row for row, gap in zip(rows, gaps, strict=False)
    ]
    canvas = lay_out(predictor, prompts, length, "left" if left else "right")
    answer = list(range(20, 20 + length))
    for number, prompt in enumerate(prompts):
        row = row_of(prompt, 10, length)
        ids = canvas.ids[number].scatter(0, canvas.answer[number], torch.tensor(answer))
        real = slice(len(ids) - len(row), None) if left else slice(len(row))
        naive_row, waiting = [], list(answer)
        for token in row:
            naive_row.append(waiting.pop(0) if token == 10 else token)
        assert ids[real].tolist() == naive_row == filled(row, answer, 10)
        shown = canvas.prompt[number, real].tolist()
        assert shown == [token != 10 for token in row] and int(canvas.prompt[number].sum()) == len(shown) - length
        assert (
            gap_ids(
                gap_text(row, lambda ids: " ".join(map(str, ids)), 10) or "",
                lambda text: [int(word) for word in text.split()],
                10,
            )
            == row
        )


def test_a_trace_of_gaps_is_saved_replayed_and_compared(tmp_path: Path) -> None:
    predictor = PREDICTORS["bert"]
    for strategy, how in ((RWS(8.0), Options()), (LeftToRight(), Options()), (Temperature(3.0), Options(cfg=0.5))):
        (trace,) = decode(predictor, [GAPPED], strategy, SIX, reward=REWARD, options=how)
        assert load(trace.save(tmp_path / "trace.parquet")) == trace
        assert replay(trace).diverged_at is None and replay(trace).tokens.tolist() == trace.tokens.tolist()
        again = replay_with(trace, predictor)
        assert again.tokens.tobytes() == trace.tokens.tobytes() and again.value.tobytes() == trace.value.tobytes()
        assert diff(trace, again, predictor).same
    first, second = (decode(predictor, [GAPPED], Temperature(c), Shape(6, 6, 6))[0] for c in (0.05, 20.0))
    parted = diff(first, second, predictor).parting
    assert parted is not None and parted.why == "order" and all(pair.certified for pair in parted.reversals)
    with pytest.raises(ValueError, match=r"^prompt holds 5 masks: none, or length, 6, is needed"):
        replace(first, prompt=first.prompt[3:])


def test_a_stopped_run_of_gaps_keeps_its_masks(tmp_path: Path) -> None:
    predictor = PREDICTORS["bert"]
    (trace,) = decode(predictor, [GAPPED], Confidence(), Shape(6, 6, 6), callback=lambda view: view.step == 2)
    assert (trace.completed == MASK).sum() == 3 and trace.steps_run == 3
    assert load(trace.save(tmp_path / "trace.parquet")) == trace and replay(trace).diverged_at is None
    assert replay_with(trace, predictor).tokens.tolist() == trace.tokens.tolist()


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


@pytest.mark.parametrize("over", ["temperature", "reward-scale"])
def test_the_scale_path_of_gaps_holds_every_decode(over: Any) -> None:
    predictor = PREDICTORS["bert"]
    reward = REWARD if over == "reward-scale" else None
    path = scale_path(predictor, GAPPED, 0.05, 20.0, Shape(6, 3, 6), over=over, reward=reward)
    assert path.certified and len(path.pieces) > 1
    for piece in path.pieces:
        scale = math.sqrt(piece.lower * piece.upper)
        strategy = RWS(scale) if reward else Temperature(scale)
        (trace,) = decode(predictor, [GAPPED], strategy, Shape(6, 3, 6), reward=reward)
        assert (tuple(trace.tokens.tolist()), tuple(trace.commit_step.tolist())) == (piece.tokens, piece.commit_step)


def test_gaps_of_a_text_are_masks_among_the_tokens_own_frame(tmp_path: Path) -> None:
    bert = PREDICTORS["bert"]
    assert bert.encode_prompt("the [MASK:2] cat [MASK:1]") == [CLS, 6, MASK, MASK, 8, MASK, SEP]
    assert bert.encode_prompt("[MASK:1][MASK:1] [SEP] cat") == [CLS, MASK, MASK, *bert.encode_prompt("[SEP] cat")[1:]]
    assert MASK not in bert.encode_prompt("the [MASK] cat [MASK:0]")
    letters = CallablePredictor(lambda canvas: canvas, mask_id=0, encode=lambda text: [ord(letter) for letter in text])
    assert letters.encode_prompt("a [MASK:2] b") == [97, 0, 0, 32, 98]
    assert encode_prompts(letters, ["a", "a [MASK:2]"], 2)[1].ids == [97, 0, 0]
    careless = CallablePredictor(
        lambda canvas: canvas, mask_id=97, encode=lambda text: [ord(letter) for letter in text]
    )
    with pytest.raises(ValueError, match="encodes to the mask token 97"):
        careless.encode_prompt("bab [MASK:1]")
    tiny_checkpoint("llada", tmp_path / "llada")
    llada = load_predictor(str(tmp_path / "llada"), progress=False, chat=False)
    around = [llada.encode_prompt(part) for part in ("the cat", " sat")]
    assert llada.encode_prompt("the cat [MASK:2] sat") == [*around[0], *[llada.mask_id] * 2, *around[1]]
    chat = load_predictor(str(tmp_path / "llada"), progress=False, chat=True)
    with pytest.raises(ValueError, match=r"^prompt 'the \[MASK:1\]' has a gap: a message of a chat has none, choose"):
        chat.encode_prompt("the [MASK:1]")


def asked(*args: Any) -> list[Any]:
    return [SimpleNamespace(args=args)]


def test_where_gaps_are_refused() -> None:
    bert = PREDICTORS["bert"]
    for prompts in ([GAPPED], ["the [MASK:6]"]):
        with pytest.raises(ValueError, match=r"^prompts\[0\] has gaps: the compact decoder writes after a prompt"):
            decode_compact(bert, prompts, Confidence(), SIX)
    for call in (decode, decode_compact):
        message = r"^length is 8: the gaps of prompts\[1\] have length 6, give Shape\(6\)"
        with pytest.raises(ValueError, match=message):
            call(bert, [[6], GAPPED], Confidence(), Shape(8, 4, 8))
    model = RWSLM(bert, max_new_tokens=6, steps=3, block_length=6, mc_num=1)
    with pytest.raises(ValueError, match=r"^context 'the \[MASK:6\]' has a gap"):
        model.generate_until(asked("the [MASK:6]", {"until": []}))
    with pytest.raises(ValueError, match=r"^context 'the \[MASK:6\]' encodes to the mask token"):
        model.loglikelihood(asked("the [MASK:6]", " cat"))


@pytest.mark.parametrize("example", [241])
def test_an_english_gap_is_filled_from_end_to_end(
    example: int, english: WorldPredictor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = english.examples[example]["prompt"]
    masks = masks_in(text)
    words = ["generate", "--model", "english", "--strategy", "rws", "--reward-scale", "4", "--reward", "era", "--json"]
    assert main([*words, "--example", str(example), "--trace", str(tmp_path)]) == 0
    result, reward = json.loads(capsys.readouterr().out), load_reward("era")
    steps = math.ceil(masks / 2)
    assert len(result["tokens"]) == masks and len(result["scales"]) == steps
    row = english.canvas(text)[0].tolist()
    before = text.split(" [MASK:")[0]
    first = len(english.encode_prompt(before))
    tokens, when, factors = naive(
        english, row, Shape(masks, steps, masks), rws_factor(english, reward, before, first, 4.0)
    )
    assert (result["tokens"], result["commit_step"]) == (tokens, when)
    assert result["scales"] == pytest.approx(factors)
    assert result["completed"] == english.words.text(filled(row, tokens, english.mask_id))
    assert result["text"] == english.words.text(tokens) and result["text"] in result["completed"]
    assert main(["generate", *words[1:], "--infill", text]) == 0
    assert json.loads(capsys.readouterr().out) == result
    assert main(["generate", *words[1:-1], "--infill", text]) == 0
    assert capsys.readouterr().out.startswith(f"prompt: {text}\nanswer: {result['completed']}\n\n")
    trace = load(tmp_path / "trace.parquet")
    assert trace.prompt.tolist() == row and trace.prompt_text == text and replay(trace).diverged_at is None
    assert replay_with(trace, english).tokens.tolist() == tokens
    assert main(["replay", str(tmp_path / "trace.parquet"), "--model", "english"]) == 0
    assert main(["diff", *[str(tmp_path / "trace.parquet")] * 2, "--model", "english"]) == 0


def test_the_scale_path_command_reads_gaps(english: WorldPredictor, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["scale-path", "--model", "english", "--scale-min", "0.1", "--scale-max", "8", "--json"]
    assert main([*words, "--example", "239"]) == 0
    path = json.loads(capsys.readouterr().out)
    assert path["certified"] and {len(piece["tokens"]) for piece in path["pieces"]} == {5}
    assert main([*words, "--infill", english.examples[239]["prompt"]]) == 0
    assert json.loads(capsys.readouterr().out) == path


def test_no_method_lies_above_the_frontier_of_a_gap(
    english: WorldPredictor, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = "default rws:8 constant:8 left-to-right sample best-of:3 tilt-sample:1 tilt-decode:1".split()
    assert figures(["frontier", "--example", "239", "--json", "--strategies", *methods]) == 0
    result, reward = json.loads(capsys.readouterr().out), era_reward().world_reward
    row = english.canvas(english.examples[239]["prompt"])[0].tolist()
    context, canvas = row[: row.index(english.mask_id)], row[row.index(english.mask_id) :]
    assert result["complete"] and result["slopes"] is None
    for each in (*result["frontier"], *result["points"]):
        assert [a for a, b in zip(each["tokens"], canvas, strict=True) if b != english.mask_id] == [
            token for token in canvas if token != english.mask_id
        ]
        gap = [a for a, b in zip(each["tokens"], canvas, strict=True) if b == english.mask_id]
        assert each["log_prob"] == pytest.approx(english.log_prob(row, gap))  # given the fixed words
        assert each["reward"] == pytest.approx(reward.score(each["tokens"]))
    assert [point["strategy"] for point in result["points"]] == methods
    assert all(point["regret"] > -1e-9 for point in result["points"])
    best = english.world.best(np.where(np.array(canvas) == english.mask_id, -1, canvas), context)
    assert result["frontier"][0]["tokens"] == best.tolist()
    (trace,) = decode(english, [row], Confidence(), Shape(5, 3, 5))
    assert result["points"][0]["tokens"] == trace.completed[len(context) :].tolist()
    assert figures(["frontier", "--infill", "we ask the [MASK:2].", "--searches", "2", "--strategies", "default"]) == 0
    assert "over all texts of the world" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--infill", "no gap"], "--infill is 'no gap': a gap is needed, such as [MASK:3]"),
        (["--infill", "we [MASK:4] it", "--steps", "5"], "steps is 5: at most length, 4"),
        (["--example", "240", "--length", "12"], "--length is 12: the gaps of the prompt have length 9, leave it out"),
        (["--infill", "we zzz [MASK:4] it"], "text holds zzz: english does not know these words, use others"),
        (["--infill", "we [MASK:4] it", "--compact"], "prompts[0] has gaps: the compact decoder writes after a prompt"),
        (["--infill", "we [MASK:4] it", "--prompt", "we"], "argument --prompt: not allowed with argument --infill"),
    ],
)
def test_bad_gaps_are_one_line_and_exit_two(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "generate", "--model", "english", *words)


def test_ids_with_masks_have_the_shape_of_their_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tiny_checkpoint("bert", tmp_path / "tiny"))
    assert main(["generate", "--model", folder, "--input-ids", json.dumps(GAPPED), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (trace,) = decode(bert_predictor(), [GAPPED], Confidence(), Shape(6, 3, 6))
    assert result["tokens"] == trace.tokens.tolist() and result["commit_step"] == trace.commit_step.tolist()
    assert result["completed"] == bert_predictor().decode_prompt(trace.completed.tolist())
    assert main(["generate", "--model", folder, "--infill", "the zebra [MASK:2]", "--json"]) == 0
    assert "does not know these words and reads each as unknown: zebra\n" in capsys.readouterr().err
    assert isinstance(trace, Trace)
