"""Pictures show what the objects hold, say so, and leave matplotlib as it was."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from misuse import refused

import rws_decode as rws
import rws_theory as theory
from rws_decode import RWS, ScalePath, Shape, StepLogits, Trace, WorldPredictor, decode, load_reward, plots, scale_path
from rws_decode.ablation import TwinComparison
from rws_theory.worlds import NGram, frontier

GRID = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
APPENDIX_D = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
CURVE = frontier(NGram.fit([[0, 0, 0, 1, 0, 0]], order=2, vocabulary=2), [0.0, 1.0], 3)
PATH = rws.PathDiagnostics(np.array([2, 1, 1]), np.array([-1.0, -0.5, 0.0]), np.array([4.0, 2.0, 1.0]), 4 / 3)
SHAPE, LONG = Shape(12, 6, 6), Shape(16, 16, 16)


@pytest.fixture(scope="module")
def prompt(english: WorldPredictor) -> str:
    return english.examples[0]["prompt"]


@pytest.fixture(scope="module")
def guided(english: WorldPredictor, prompt: str) -> Trace:
    (trace,) = decode(english, prompt, RWS(8.0), SHAPE, reward=load_reward("era"))
    return trace


@pytest.fixture(scope="module")
def plain(english: WorldPredictor, prompt: str) -> Trace:
    (trace,) = decode(english, prompt, rws.Confidence(), SHAPE)
    return trace


@pytest.fixture(scope="module")
def ranked(english: WorldPredictor, guided: Trace) -> StepLogits:
    return rws.step_logits(guided, english, 0)


@pytest.fixture(scope="module")
def temperatures(english: WorldPredictor, prompt: str) -> ScalePath:
    return scale_path(english, prompt, 0.01, 32.0, LONG)


@pytest.fixture(scope="module")
def reward_scales(english: WorldPredictor, prompt: str) -> ScalePath:
    return scale_path(english, prompt, 0.01, 32.0, LONG, over="reward-scale", reward=load_reward("era"))


def marks(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def upright(axes: Axes) -> list[float]:
    places = [np.asarray(line.get_xdata()).tolist() for line in axes.lines]
    return [float(place[0]) for place in places if len(place) == 2 and place[0] == place[1]]


def labels(axes: Axes, which: str) -> list[str]:
    axis = axes.xaxis if which == "x" else axes.yaxis
    return [label.get_text() for label in axis.get_ticklabels()]


def hatched(axes: Axes) -> list[Any]:
    return [patch for patch in axes.patches if patch.get_hatch()]


def extent(bar: Any) -> tuple[float, float]:
    return bar.get_x(), bar.get_x() + bar.get_width()


def lane_of(bar: Any) -> int:
    return round(bar.get_y() + bar.get_height() / 2)


def everything(guided: Trace, plain: Trace, ranked: StepLogits, paths: Sequence[ScalePath]) -> dict[str, Figure]:
    path = theory.selection_path(ranked.logits, 2, 0.01, 32.0)
    twin = TwinComparison("fixed factor", 0.1, -0.1, 0.3, "undecided", 9, 9, 0)
    ablation = rws.Ablation("rws:8", "mini", "undecided", (twin,), 0.1, None, 9, 12, 1.0, 0.1, 0.95, 3.0)
    return {
        "ablation": plots.ablation(ablation),
        "order": plots.order(guided, plain),
        "order_map": plots.order_map([guided], [plain]),
        "leverage": plots.leverage(rws.leverage(guided, rws.load_predictor("english"))),
        "step": plots.step(guided, 0),
        "steps": plots.steps(guided),
        "confidence_curves": plots.confidence_curves(ranked),
        "selection": plots.selection(path),
        "scale_path": plots.scale_path(paths),
        "reward_against_scale": plots.reward_against_scale(paths),
        "stability": plots.stability([theory.stability_radius(ranked.logits, k) for k in (1, 2)]),
        "threshold_counts": plots.threshold_counts(theory.threshold_path(ranked.logits, 0.5, 0.1, 32.0)),
        "order_spread": plots.order_spread({"exact": [-1.0, -1.0]}),
        "entropy_left": plots.entropy_left({"one path": [PATH]}),
        "frontier": plots.frontier(CURVE, {"a text": (-3.0, 1.0)}),
        "reversal_shares": plots.reversal_shares(
            {"drawn": {8: theory.ReversalShare(2, 9)}}, {"drawn": theory.reversal_limit("gumbel")}
        ),
        "intervals": plots.intervals({"exact": {1: (2.0, 1.0, 3.0)}, "rounded": {1: (2, 2, 2)}}, "scale", "GOD"),
    }


def test_every_picture_says_what_it_shows_and_leaves_matplotlib_as_it_was(
    guided: Trace, plain: Trace, ranked: StepLogits, temperatures: ScalePath, reward_scales: ScalePath
) -> None:
    from matplotlib import pyplot

    before, windows = dict(matplotlib.rcParams), pyplot.get_fignums()
    figures = everything(guided, plain, ranked, [temperatures, reward_scales])
    assert set(figures) | {"caption"} == set(dir(plots))  # those of extras, too
    for name, figure in figures.items():
        figure.draw_without_rendering()
        caption = plots.caption(figure)
        assert caption.endswith(".") and "nan" not in caption and "\n" not in caption, name
        assert all(axes.get_ylabel() or axes.get_xlabel() for axes in figure.axes), name
        assert all(float(text.get_fontsize()) >= 10 for text in figure.findobj(Text) if text.get_text()), name
    assert figures["step"]._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined] - what a notebook calls
    assert dict(matplotlib.rcParams) == before and pyplot.get_fignums() == windows


SHARES = {"drawn": {8: theory.ReversalShare(2, 9)}}
CURVES, AXES = plots.confidence_curves, Figure().subplots(1, 3)
# What is said, and the call that it refuses: of functions that need no decode.
REFUSED: dict[str, Callable[[], Any]] = {
    "scale_min and scale_max are 3 and 2: 0 < ": lambda: CURVES(APPENDIX_D, scale_min=3, scale_max=2),
    "unit is 'percent'": lambda: CURVES(APPENDIX_D, unit="percent"),  # type: ignore[arg-type]
    "words has 1 entries": lambda: plots.selection(theory.selection_path(APPENDIX_D, 1, 0.1, 10.0), words=["a"]),
    "radii holds nothing": lambda: plots.stability([]),
    "limits holds 'other'": lambda: plots.reversal_shares(SHARES, {"other": theory.reversal_limit("gumbel")}),
    "values holds 'a' of shape (1,): at least two finite log-likelihoods": lambda: plots.order_spread({"a": [1.0]}),
    "paths holds nothing: a name with what path_diagnostics(": lambda: plots.entropy_left({"default": []}),
    "texts holds 'a', 8.06 nats above the frontier: give": lambda: plots.frontier(CURVE, {"a": (6.0, 1.0)}),
    "series holds 'exact' at 1: 2 is not in [3, 4]": lambda: plots.intervals({"exact": {1: (2, 3, 4)}}, "c", "GOD"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_misuse_is_refused_in_one_line(message: str) -> None:
    refused(REFUSED[message], message)


def test_an_order_marks_each_token_at_the_step_that_committed_it(guided: Trace, plain: Trace) -> None:
    figure = plots.order(guided, plain)
    for axes, trace in zip(figure.axes, (guided, plain), strict=True):
        assert marks(axes, "committed token") == (list(range(12)), trace.commit_step.tolist())
        assert marks(axes, "left to right")[1] == sorted(trace.commit_step.tolist())
        assert upright(axes) == [5.5]  # the edge of the second block
        god = theory.generation_order_deviation(trace.commit_step, "tokens")
        assert f"GOD {god:.2f} tokens" in axes.get_title(loc="left")
    parted = np.flatnonzero((guided.chosen != plain.chosen).any(axis=1))
    sentence = f"different positions at {len(parted)} of 6 steps, first at step {parted[0]}."
    assert sentence in plots.caption(figure)
    assert "different positions at no step." in plots.caption(plots.order(guided, guided))


def test_a_step_has_a_bar_for_each_value_and_hatches_what_it_committed(guided: Trace) -> None:
    (step, *_) = np.flatnonzero(guided.changed).tolist()
    figure = plots.step(guided, step)
    (axes,) = figure.axes
    place = np.flatnonzero(~np.isnan(guided.value[step]))
    np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], guided.value[step, place])
    assert [bool(bar.get_hatch()) for bar in axes.patches] == guided.chosen[step, place].tolist()
    words = guided.words(guided.candidate[step, place])
    assert labels(axes, "x") == [f"{word}  {position}" for word, position in zip(words, place, strict=True)]
    would = np.array(marks(axes, "factor 1 would commit")[0], dtype=int)
    assert place[would].tolist() == np.flatnonzero(guided.unscaled[step]).tolist()
    title, committed = axes.get_title(loc="left"), plots.caption(figure).split("(hatched)")[0]
    assert f"factor {guided.factor[step]:.3g}" in title
    assert f"reward {guided.reward_normalised[step]:+.2f} SD".replace("-", "\u2212") in title
    for position in np.flatnonzero(guided.chosen[step]):
        assert f"“{guided.words([guided.candidate[step, position]])[0]}” at {position}" in committed


def test_steps_mark_each_use_of_the_reward_and_where_the_scale_changed_the_commit(guided: Trace, plain: Trace) -> None:
    reward, factor = plots.steps(guided).axes
    shown = {line.get_label(): line for line in factor.lines}
    for use, name in ((1, "scored"), (2, "scored at an earlier step")):
        steps = np.flatnonzero(guided.reward_use == use)
        assert (name in shown) == bool(steps.size)
        if steps.size:
            assert marks(factor, name) == (steps.tolist(), guided.factor[steps].tolist())
            assert marks(reward, name)[1] == guided.reward_normalised[steps].tolist()
    bands = [round(float(band.get_x() + 0.4)) for band in factor.patches]  # type: ignore[attr-defined]
    assert bands == np.flatnonzero(guided.changed).tolist() != []
    alone = plots.steps(plain)
    assert len(alone.axes) == 1 and "No reward was asked at 6 steps." in plots.caption(alone)


def test_curves_are_exact_confidences_and_dots_their_certified_crossings(ranked: StepLogits) -> None:
    figure = plots.confidence_curves(ranked, scale_min=0.05, scale_max=20.0)
    (axes,) = figure.axes
    for row, word in enumerate(ranked.words):
        scale, curve = marks(axes, f"{word} ({ranked.positions[row]})")
        np.testing.assert_allclose(curve, theory.log_odds(ranked.logits[row], np.array(scale)), rtol=1e-12)
    pairs = [theory.crossings(a, b) for i, a in enumerate(ranked.logits) for b in ranked.logits[i + 1 :]]
    inside = [crossing for pair in pairs for crossing in pair.crossings if 0.05 <= crossing.root <= 20]
    dots = [np.atleast_1d(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"]
    shown = [float(place[0]) for place in dots if len(place) == 1]
    assert len(shown) == len(inside) > 0
    assert all(any(one.lower <= dot <= one.upper for one in inside) for dot in shown)
    assert f"{len(inside)} crossing" in plots.caption(figure)
    assert upright(axes)[-1] == ranked.factor


def test_a_selection_has_a_row_for_each_position_that_is_ever_selected(ranked: StepLogits) -> None:
    path = theory.selection_path(ranked.logits, 2, 0.01, 32.0)
    rows = sorted({row for piece in path.pieces for row in piece.selected})
    figure = plots.selection(path, words=ranked.words, positions=ranked.positions)
    (axes,) = figure.axes
    assert labels(axes, "y") == [f"{ranked.words[row]}  {ranked.positions[row]}" for row in rows]
    bars = [(*extent(bar), rows[lane_of(bar)]) for bar in axes.patches]
    for scale in np.geomspace(0.011, 31.0, 50):
        (piece,) = [piece for piece in path.pieces if piece.lower <= scale < piece.upper]
        assert {row for low, high, row in bars if low <= scale <= high} == set(piece.selected)
    assert upright(axes) == [bracket.upper for bracket in path.brackets]
    always = set(rows).intersection(*(piece.selected for piece in path.pieces))
    assert {row for row in rows if row not in always} == {rows[lane_of(bar)] for bar in hatched(axes)}


def test_a_scale_path_has_a_lane_for_each_answer_and_marks_what_a_grid_finds(temperatures: ScalePath) -> None:
    figure = plots.scale_path(temperatures, GRID)
    (axes,) = figure.axes
    answers = list(dict.fromkeys(piece.tokens for piece in temperatures.pieces))
    assert labels(axes, "y") == [str(1 + place) for place in range(len(answers))] and len(answers) > 2
    bars = [(*extent(bar), lane_of(bar)) for bar in axes.patches]
    expected = [(piece.lower, piece.upper, answers.index(piece.tokens)) for piece in temperatures.pieces]
    np.testing.assert_allclose(bars, expected, rtol=1e-12)
    scales, lanes = marks(axes, "grid, temperature")
    pieces = [temperatures.at(scale) for scale in GRID]
    assert scales == list(GRID) and lanes == [answers.index(piece.tokens) for piece in pieces if piece is not None]
    missed = [str(1 + place) for place in range(len(answers)) if place not in lanes]
    caption = plots.caption(figure)
    assert f"one of {len(answers)} answers, in {len(temperatures.pieces)} pieces; this is proved." in caption
    assert len(missed) > 1 and caption.endswith(f"misses answers {', '.join(missed[:-1])} and {missed[-1]}.")


ROWS = np.random.default_rng(0).normal(0, 3, (6, 40))


def test_what_is_not_proved_is_hatched_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    path = theory.selection_path(APPENDIX_D, 1, 0.1, 10.0)
    wide = replace(path, brackets=(replace(path.brackets[0], lower=4.0, upper=6.0),), certified=False)
    counts, radius = theory.threshold_path(ROWS, 0.5, 0.1, 10.0), theory.stability_radius(APPENDIX_D, 1)
    pairs = [
        (plots.selection(path), plots.selection(wide)),
        (plots.threshold_counts(counts), plots.threshold_counts(replace(counts, certified=False))),
        (plots.stability([radius]), plots.stability([replace(radius, certified=False)])),
    ]
    proved, pair = plots.confidence_curves(APPENDIX_D), theory.crossings(*APPENDIX_D)
    cluster = replace(pair.crossings[0], lower=4.0, upper=6.0, multiplicity=None)
    unproved = replace(pair, crossings=(cluster,), complete=False)
    monkeypatch.setattr("paper_figures.extra.scale_pictures.curves.crossings", lambda a, b: unproved)
    pairs.append((proved, plots.confidence_curves(APPENDIX_D)))
    for sure, unsure in pairs:
        assert "not proved" not in plots.caption(sure) and "hatched" in plots.caption(unsure)
    for sure, unsure in (pairs[0], pairs[2], pairs[3]):
        assert len(hatched(unsure.axes[0])) == len(hatched(sure.axes[0])) + 1
    nothing = theory.StabilityRadius(1, (0,), 1.0, 1.0, (1.0, 1.0), False)
    assert "median" not in plots.caption(plots.stability([nothing]))
