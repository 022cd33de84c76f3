"""Leverage, checked by decodes under many rewards: no text diverges before its first step, and one does at it."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from command_lines import decoding
from documented_commands import block_lines, page, ran, shown
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import rws_decode
from rws_decode import CallablePredictor, CallableReward, Options, Shape, Trace, decode, load_predictor, load_reward
from rws_theory import max_probability

GUIDE = "docs/extra/leverage.md"
LENGTH, SCALE = 5, 3.0


def model(seed: int) -> CallablePredictor:
    """Return a random model of four tokens, whose logits are a function of the canvas."""

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        rows = [np.random.default_rng([seed, *row]).normal(size=(len(row), 5)) * 2 for row in canvas.tolist()]
        return torch.tensor(np.stack(rows)).index_fill(-1, torch.tensor([4]), -torch.inf)

    return CallablePredictor(logits, mask_id=4, encode=lambda text: [0], decode=lambda ids: "".join(map(str, ids)))


def random_reward(seed: int, spread: float) -> CallableReward:
    def score(prompt: str, answer: str) -> float:
        return float(np.random.default_rng([seed, *map(ord, answer)]).normal() * spread)

    return CallableReward(score, mean=0.0, std=1.0)


def slow_sets(run: Trace, predictor: CallablePredictor, step: int, factors: np.ndarray) -> list[tuple[int, ...]]:
    """Return what a step would unmask at some factors: a softmax of every position and a sort for each."""
    canvas = torch.tensor([[*run.prompt.tolist(), *run.canvas[step].tolist()]])
    rows = predictor.logits(canvas, None)[0, 1:, :4].numpy()
    left, k = np.flatnonzero(run.eligible[step]), int(run.chosen[step].sum())
    orders = [np.argsort([-max_probability(row, c) for row in rows[left]], kind="stable") for c in factors]
    return [tuple(sorted(left[order[:k]].tolist())) for order in orders]


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]))
@settings(max_examples=examples(100))
def test_texts_diverge_at_the_first_step_with_leverage_and_never_before(seed: int, steps: int) -> None:
    predictor, shape = model(seed), Shape(LENGTH, steps, LENGTH)

    def decoded(strategy: object, reward: CallableReward | None = None) -> Trace:
        return decode(predictor, ["0"], strategy, shape, reward=reward)[0]  # type: ignore[arg-type]

    run = decoded(f"rws:{SCALE}", random_reward(seed, 1.0))
    found = rws_decode.leverage(run, predictor)
    assert found.certified and found.unmasked.sum() == LENGTH
    first = steps if found.first is None else found.first
    others = [decoded(f"rws:{SCALE}", random_reward(seed + n, spread)) for n in range(6) for spread in (0.5, 3, 30)]
    for step in range(steps):
        wide = [piece for piece in found.pieces[step] if piece.upper > piece.lower * 1.001]
        middles = np.array([(piece.lower * piece.upper) ** 0.5 for piece in wide])
        assert slow_sets(run, predictor, step, middles) == [piece.selected for piece in wide]
        grid = slow_sets(run, predictor, step, np.geomspace(found.low, found.high, 60))
        assert found.attainable[step] or len({*grid}) == 1
        if step == first:  # a rule for each set there
            rules = [(*run.factor[:first].tolist(), *[middle] * (steps - first)) for middle in middles.tolist()]
            others += [decoded(rws_decode.Schedule(rule)) for rule in rules]
    for other in others:
        assert (other.chosen[:first] == run.chosen[:first]).all()
        assert ((other.tokens == run.tokens) | (run.commit_step >= first)).all()
    parted = [step for step in range(steps) if any((other.chosen[step] != run.chosen[step]).any() for other in others)]
    assert min(parted, default=steps) == first
    until = int(found.varied.argmax()) if found.varied.any() else steps
    assert (decoded(f"temperature:{found.reference!r}").chosen[:until] == run.chosen[:until]).all()
    assert not found.observed[:until].any() and (found.varied <= found.attainable).all()


def test_compare_tells_the_leverage_that_a_saved_trace_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (command,) = (line for line in block_lines(page(GUIDE)) if line.startswith("rws compare"))
    assert decoding(command.replace("rws:8", "rws:8 threshold:0.7+rws:8").removeprefix("rws ").split()) == 0
    lines = re.findall(r"^rws:8: the factor is .*\n.*$", capsys.readouterr().out, re.MULTILINE)
    english, reward, shape = load_predictor("english"), load_reward("era"), Shape(16, 8, 16)
    (run,) = decode(english, english.prompts[0], "rws:8", shape, reward=reward)
    found = rws_decode.leverage(rws_decode.load_trace(run.save(tmp_path / "run.parquet")), english)
    assert [line.replace("\n", " ") for line in lines] == [found.line()] and f"{lines[0]}\n" in shown(GUIDE)
    figure = rws_decode.plots.leverage(found, found)
    assert "varied by 10 % and 10 %" in rws_decode.plots.caption(figure) and "at 1 of 8 steps" in figure.axes[
        0
    ].get_title("left")


def test_guide_draws_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    found = ran(GUIDE)["found"]
    assert found.line() in capsys.readouterr().out and (tmp_path / "leverage.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("strategy", "options", "right"),
    [
        ("rws:8", Options(sampling_temperature=1.0), "sampling_temperature 1.0: leverage needs a run with 0"),
        ("rws:8", Options(ranking="probability"), "'log-odds'"),
        ("default", Options(), r"give factors=\(least, greatest\)"),
        ("threshold:0.7+rws:8", Options(), "does more than scale"),
    ],
)
def test_a_run_whose_factor_decides_no_rank_is_refused(strategy: str, options: Options, right: str) -> None:
    english = load_predictor("english")
    (run,) = decode(english, english.prompts[0], strategy, Shape(4, 2, 4), reward=load_reward("era"), options=options)
    with pytest.raises(ValueError, match=right):
        rws_decode.leverage(run, english)
