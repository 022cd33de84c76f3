"""Pictures show what the objects hold, say so, and leave matplotlib as it was."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from misuse import refused

import rws_theory as theory
from rws_decode import (
    RWS,
    Confidence,
    PathDiagnostics,
    Savings,
    ScalePath,
    Shape,
    StepLogits,
    Trace,
    compare_reach,
    decode,
    load_reward,
    plots,
    scale_path,
    step_logits,
)
from rws_decode.common.plugins import NAMES, names
from rws_decode.extra.scale_paths.lanes import answers_of
from rws_decode.predictors import WorldPredictor
from rws_decode.trace.data import NOT_NEEDED
from rws_theory.worlds import NGram, frontier

GRID = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
APPENDIX_D = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
CURVE = frontier(NGram.fit([[0, 0, 0, 1, 0, 0]], order=2, vocabulary=2), [0.0, 1.0], 3)
PATH = PathDiagnostics(np.array([2, 1, 1]), np.array([-1.0, -0.5, 0.0]), np.array([4.0, 2.0, 1.0]), 4 / 3)
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
    (trace,) = decode(english, prompt, Confidence(), SHAPE)
    return trace


@pytest.fixture(scope="module")
def ranked(english: WorldPredictor, guided: Trace) -> StepLogits:
    return step_logits(guided, english, 0)


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
    return {
        "order": plots.order(guided, plain),
        "order_map": plots.order_map([guided], [plain]),
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
    offered = {name.removeprefix("plots.") for name in names(NAMES) if name.startswith("plots.")}
    assert set(figures) | {"caption"} == {*plots.__all__, *offered}
    for name, figure in figures.items():
        figure.draw_without_rendering()
        caption = plots.caption(figure)
        assert caption.endswith(".") and "nan" not in caption and "\n" not in caption, name
        assert all(axes.get_ylabel() or axes.get_xlabel() for axes in figure.axes), name
        assert all(float(text.get_fontsize()) >= 10 for text in figure.findobj(Text) if text.get_text()), name
    assert figures["step"]._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined] - what a notebook calls
    assert dict(matplotlib.rcParams) == before and pyplot.get_fignums() == windows


def test_settings_do_not_change_a_picture_and_given_axes_keep_their_style(
    guided: Trace, temperatures: ScalePath
) -> None:
    usual = plots.step(guided, 0)._repr_png_()  # type: ignore[attr-defined]
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "hatch.linewidth": 9}):
        assert plots.step(guided, 0)._repr_png_() == usual  # type: ignore[attr-defined]
    with matplotlib.rc_context({"font.size": 7}):
        figure = Figure()
        panels = figure.subplots(2, 2)
        assert plots.order(guided, axes=panels[0, 0]) is figure
        assert plots.order(guided, guided, axes=panels[1]) is figure
        plots.selection(theory.selection_path(APPENDIX_D, 1, 0.1, 10.0), axes=panels[0, 1])
    assert plots.caption(figure) == "" and len(figure.axes) == 4
    assert {label.get_fontsize() for label in panels[0, 1].get_yticklabels()} == {7.0}


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


@pytest.mark.parametrize("said", REFUSED)
def test_misuse_is_refused_in_one_line(said: str) -> None:
    refused(REFUSED[said], said)


def test_what_does_not_fit(guided: Trace, ranked: StepLogits, temperatures: ScalePath, english: WorldPredictor) -> None:
    (short,) = decode(english, "the", Confidence(), Shape(4, 4, 4))
    for said, call in {
        "axes holds 3 panels: this picture needs 1, 1 x 1": lambda: plots.order(guided, axes=AXES),
        "other has 4 positions, trace 12": lambda: plots.order(guided, short),
        "number is 6:": lambda: plots.step(guided, 6),
        "positions holds 99, which is not among those of logits: 0, 1, 2, 3, 4, 5": lambda: CURVES(ranked, [99]),
        "paths are over temperature and temperature: one": lambda: plots.scale_path([temperatures, temperatures]),
        "grid holds 64, outside of 0.01 to 32": lambda: plots.scale_path(temperatures, [64.0]),
        "runs hold [1, 0] traces": lambda: plots.order_map([guided], []),
    }.items():
        refused(call, said)


def test_any_word_can_be_drawn(guided: Trace) -> None:
    words = ["消息", "$x$ and $", "\n", "", "a_{b}^", "Donaudampfschifffahrtsgesellschaft", "🙂"]
    pieces = {token: words[number % 7] for number, token in enumerate(guided.pieces)}
    figure = plots.step(replace(guided, pieces=pieces), 0)
    figure.savefig("/dev/null", format="png")
    assert all(len(label) <= 20 for label in labels(figure.axes[0], "x"))


def test_an_order_marks_each_token_at_the_step_that_committed_it(guided: Trace, plain: Trace) -> None:
    figure = plots.order(guided, plain)
    for axes, trace in zip(figure.axes, (guided, plain), strict=True):
        assert marks(axes, "committed token") == (list(range(12)), trace.commit_step.tolist())
        assert marks(axes, "left to right")[1] == sorted(trace.commit_step.tolist())
        assert upright(axes) == [5.5]  # the edge of the second block
        god = theory.generation_order_deviation(trace.commit_step, "tokens")
        assert f"GOD {god:.2f} tokens" in axes.get_title(loc="left")
    parted = np.flatnonzero((guided.chosen != plain.chosen).any(axis=1))
    said = f"different positions at {len(parted)} of 6 steps, first at step {parted[0]}."
    assert said in plots.caption(figure)
    assert "different positions at no step." in plots.caption(plots.order(guided, guided))


def test_an_order_map_has_the_share_of_prompts_at_each_step(guided: Trace, plain: Trace) -> None:
    figure = plots.order_map([guided, plain], [plain])
    both, one = (panel.images[0].get_array() for panel in figure.axes[:2])
    assert both is not None and one is not None
    assert np.allclose(both, (np.asarray(guided.chosen, float) + plain.chosen) / 2)
    assert np.allclose(one, plain.chosen) and np.allclose(one.sum(axis=0), 1)
    mean = figure.axes[0].lines[0].get_ydata()
    assert np.allclose(mean, (guided.commit_step + plain.commit_step) / 2)
    assert "1 to 2 prompts" in plots.caption(figure)


def test_an_order_shows_what_is_asked_for(guided: Trace) -> None:
    figure = plots.order(guided, values=True, changes=True)
    axes, bar = figure.axes
    (image,) = axes.images
    shown = np.ma.asarray(image.get_array())
    known = ~np.isnan(guided.value)
    assert (~np.ma.getmaskarray(shown) == known).all() and shown.min() == 0 and shown.max() == 1
    assert bar.get_ylabel().startswith("value, within each step")
    changed = (guided.candidate[1:] != guided.candidate[:-1]) & guided.masked[1:]
    assert len(marks(axes, "candidate changed")[0]) == changed.sum() > 0


def test_what_is_not_committed_or_infinite_is_drawn_so(english: WorldPredictor, prompt: str, guided: Trace) -> None:
    (stopped,) = decode(english, prompt, Confidence(), SHAPE, callback=lambda view: view.step == 2)
    figure = plots.order(stopped)
    left = int((stopped.commit_step < 0).sum())
    assert len(marks(figure.axes[0], "committed token")[0]) == 12 - left < 12
    assert f"{left} positions of the answer never committed." in plots.caption(figure)
    value = guided.value.copy()
    value[0, 0], value[0, 5] = np.inf, -np.inf
    figure = plots.step(replace(guided, value=value), 0)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert np.isfinite(heights).all() and heights[0] == max(heights) and heights[5] == min(heights)
    assert [text.get_text() for text in figure.axes[0].texts] == ["∞", "\u2212∞"]


def test_a_step_has_a_bar_for_each_value_and_hatches_what_it_committed(guided: Trace) -> None:
    (step, *_) = np.flatnonzero(guided.changed).tolist()
    figure = plots.step(guided, step)
    (axes,) = figure.axes
    place = np.flatnonzero(~np.isnan(guided.value[step]))
    np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], guided.value[step, place])
    assert [bool(bar.get_hatch()) for bar in axes.patches] == guided.chosen[step, place].tolist()
    words = guided.words(guided.candidate[step, place])
    assert labels(axes, "x") == [f"{word}  {at}" for word, at in zip(words, place, strict=True)]
    would = np.array(marks(axes, "factor 1 would commit")[0], dtype=int)
    assert place[would].tolist() == np.flatnonzero(guided.unscaled[step]).tolist()
    title, committed = axes.get_title(loc="left"), plots.caption(figure).split("(hatched)")[0]
    assert f"factor {guided.factor[step]:.3g}" in title
    assert f"reward {guided.reward_normalised[step]:+.2f} deviations".replace("-", "\u2212") in title
    for at in np.flatnonzero(guided.chosen[step]):
        assert f"“{guided.words([guided.candidate[step, at]])[0]}” at {at}" in committed


def test_a_step_without_known_values_still_shows_what_it_committed(english: WorldPredictor, prompt: str) -> None:
    saving = Savings(certain=True)
    (trace,) = decode(english, prompt, RWS(8.0), SHAPE, reward=load_reward("era"), savings=saving)
    (step, *_) = np.flatnonzero(trace.reward_use == NOT_NEEDED).tolist()
    figure = plots.step(trace, step)
    assert "reward not needed" in figure.axes[0].get_title(loc="left")
    assert "nan" not in figure.axes[0].get_title(loc="left") + plots.caption(figure)
    assert len(labels(figure.axes[0], "x")) >= trace.chosen[step].sum()
    unasked = marks(plots.steps(trace).axes[1], "no reward needed")[0]
    assert unasked == np.flatnonzero(trace.reward_use == NOT_NEEDED).tolist()


def test_many_positions_are_drawn_by_rank_and_their_labels_do_not_overlap(english: WorldPredictor, prompt: str) -> None:
    (trace,) = decode(english, prompt, Confidence(), Shape(64, 16, 64))
    figure = plots.step(trace, 0)
    (axes,) = figure.axes
    assert len(axes.patches) == 36 and "The 36 foremost are drawn." in plots.caption(figure)
    lowest = min(bar.get_height() for bar in axes.patches)
    assert (trace.value[0] > lowest).sum() <= 35 and sum(bool(bar.get_hatch()) for bar in axes.patches) == 4
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 <= right.x0 + 0.5 for left, right in pairwise(boxes))


def test_steps_mark_each_use_of_the_reward_and_where_the_scale_changed_the_commit(guided: Trace, plain: Trace) -> None:
    reward, factor = plots.steps(guided).axes
    shown = {line.get_label(): line for line in factor.lines}
    for use, name in ((1, "scored"), (2, "scored at an earlier step")):
        at = np.flatnonzero(guided.reward_use == use)
        assert (name in shown) == bool(at.size)
        if at.size:
            assert marks(factor, name) == (at.tolist(), guided.factor[at].tolist())
            assert marks(reward, name)[1] == guided.reward_normalised[at].tolist()
    bands = [round(float(band.get_x() + 0.4)) for band in factor.patches]  # type: ignore[attr-defined]
    assert bands == np.flatnonzero(guided.changed).tolist() != []
    alone = plots.steps(plain)
    assert len(alone.axes) == 1 and "No reward was asked at 6 steps." in plots.caption(alone)


def dots(axes: Axes) -> list[tuple[float, float, str]]:
    """Return the crossings that are marked: scale, height, and colour."""
    single = [line for line in axes.lines if line.get_marker() == "o" and len(np.atleast_1d(line.get_xdata())) == 1]
    at = [(float(np.atleast_1d(line.get_xdata())[0]), float(np.atleast_1d(line.get_ydata())[0])) for line in single]
    return [(*place, str(line.get_color())) for place, line in zip(at, single, strict=True)]


def test_curves_are_exact_confidences_and_dots_their_certified_crossings(ranked: StepLogits) -> None:
    figure = plots.confidence_curves(ranked, scale_min=0.05, scale_max=20.0)
    (axes,) = figure.axes
    for row, word in enumerate(ranked.words):
        scale, curve = marks(axes, f"{word} ({ranked.positions[row]})")
        np.testing.assert_allclose(curve, theory.log_odds(ranked.logits[row], np.array(scale)), rtol=1e-12)
    pairs = [theory.crossings(a, b) for i, a in enumerate(ranked.logits) for b in ranked.logits[i + 1 :]]
    inside = [crossing for pair in pairs for crossing in pair.crossings if 0.05 <= crossing.root <= 20]
    shown = dots(axes)
    assert len(shown) == len(inside) > 0
    assert all(any(one.lower <= at <= one.upper for one in inside) for at, _, _ in shown)
    assert f"{len(inside)} crossing" in plots.caption(figure)
    assert upright(axes)[-1] == ranked.factor


@pytest.mark.parametrize(("unit", "positions"), [("log-odds", None), ("probability", [0, 3])])
def test_names_stand_beside_their_curves(ranked: StepLogits, unit: Any, positions: Sequence[int] | None) -> None:
    figure = plots.confidence_curves(ranked, positions, unit=unit)
    axes = figure.axes[0]
    figure.draw_without_rendering()
    assert axes.get_legend() is None
    names = [text for text in axes.texts if text.get_text()]
    ends = {str(line.get_label()): np.asarray(line.get_ydata())[-1] for line in axes.lines}
    assert {text.get_text() for text in names} <= set(ends) and len(names) == len(positions or ranked.words)
    placed = sorted(names, key=lambda text: Text.get_window_extent(text).y0)  # without its line
    boxes = [Text.get_window_extent(text) for text in placed]
    assert all(low.y1 <= high.y0 + 0.5 for low, high in pairwise(boxes))
    assert all(box.x0 >= axes.get_window_extent().x1 for box in boxes)
    heights = [ends[text.get_text()] for text in placed]
    assert heights == sorted(heights)
    many = plots.confidence_curves(np.random.default_rng(0).normal(size=(24, 4)), range(24)).axes[0]
    assert many.get_legend() is not None and not many.texts


def test_a_pair_shows_who_is_ahead() -> None:
    quarters = [0, -7, -7, -21, -22, -28], [0, -5, -13, -14, -20, -36]  # three crossings below 1
    exact = [[Fraction(each, 4) for each in row] for row in quarters]
    figure = plots.confidence_curves(exact, names=["a", "b"], unit="probability")
    curves, ahead = figure.axes
    roots = theory.crossings(*exact).roots
    assert [at for at, _, _ in dots(curves)] == [at for at, _, _ in dots(ahead)] == list(roots)
    assert all(height == 0 for _, height, _ in dots(ahead)) and len(roots) == 3
    assert ahead.get_yscale() == "asinh" and "stretched near 0" in ahead.get_ylabel()
    lines = [np.asarray(line.get_data(), dtype=float) for line in ahead.lines]
    scale, lead = max(lines, key=np.size)
    odds = [theory.log_odds([float(value) for value in row], scale) for row in exact]
    np.testing.assert_allclose(lead, (odds[0] - odds[1]) / scale)
    assert plots.caption(figure).startswith("The curves of a and b cross 3 times, at 0.2969, 0.4545 and 0.8767. ")


def test_touching_equal_and_certain_curves_are_told_apart() -> None:
    touching = [[0, 0, *[-2] * 22, *[-4] * 9], [0, *[-1] * 8, *[-3] * 24]]
    figure = plots.confidence_curves(touching)
    assert [color for _, _, color in dots(figure.axes[1])] == ["white"]
    assert "cross once, at 1.099 (hollow: they touch)" in plots.caption(figure)
    equal = plots.confidence_curves([[1.0, 0.0, 0.5], [2.0, 1.5, 1.0]])
    assert "the same at every scale" in plots.caption(equal) and dots(equal.axes[0]) == []
    certain = plots.confidence_curves([[1.0, -np.inf, -np.inf], [1.0, 0.5, 0.0]])
    assert "not drawn: position 0. " in plots.caption(certain) and "never cross: proved." in plots.caption(certain)


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
    at = [temperatures.at(scale) for scale in GRID]
    assert scales == list(GRID) and lanes == [answers.index(piece.tokens) for piece in at if piece is not None]
    missed = [str(1 + place) for place in range(len(answers)) if place not in lanes]
    caption = plots.caption(figure)
    assert f"one of {len(answers)} answers, in {len(temperatures.pieces)} pieces; this is proved." in caption
    assert len(missed) > 1 and caption.endswith(f"misses answers {', '.join(missed[:-1])} and {missed[-1]}.")


def test_two_paths_are_drawn_with_what_one_alone_reaches(temperatures: ScalePath, reward_scales: ScalePath) -> None:
    figure = plots.scale_path([temperatures, reward_scales])
    (lanes,) = figure.axes
    reach = compare_reach(temperatures, reward_scales)
    assert len(labels(lanes, "y")) == len(reach.outputs)
    notes = [text.get_text() for text in lanes.texts]
    assert sum("RWS only" in note for note in notes) == len(reach.only_reward_scale)
    assert sum("temperature only" in note for note in notes) == len(reach.only_temperature)
    assert len(lanes.patches) == len(temperatures.pieces) + len(reward_scales.pieces)
    assert len(set(notes)) == len(notes)  # each label tells its answer apart


def test_what_is_unexplored_is_hatched_and_breaks_the_lines(english: WorldPredictor, prompt: str) -> None:
    path = scale_path(english, prompt, 0.01, 32.0, LONG, budget=40)
    assert path.unexplored
    figure = plots.scale_path(path)
    assert len(hatched(figure.axes[0])) >= len(path.unexplored)
    assert "or more" in plots.caption(figure) and "what is hatched is open" in plots.caption(figure)
    lines = [np.atleast_1d(line.get_xdata()).astype(float) for line in plots.reward_against_scale(path).axes[0].lines]
    broken = [low.upper != high.lower for low, high in pairwise(path.pieces)]
    assert np.isnan(max(lines, key=len)).sum() == sum(broken) > 0


def test_an_axis_with_one_answer_and_one_with_very_many(temperatures: ScalePath) -> None:
    first = temperatures.pieces[0]
    one = replace(temperatures, scale_max=first.upper, pieces=(first,), breakpoints=())
    assert "gives the same answer, in 1 piece; this is proved." in plots.caption(plots.scale_path(one))
    edges = np.geomspace(0.01, 32.0, 41).tolist()
    pieces = tuple(
        replace(first, lower=low, upper=high, tokens=(place,), text=f"word {place}")
        for place, (low, high) in enumerate(pairwise(edges))
    )
    many = plots.scale_path(replace(temperatures, pieces=pieces))
    assert len(labels(many.axes[0], "y")) == 24 and "The 24 answers with the largest shares" in plots.caption(many)
    assert answers_of([replace(temperatures, pieces=pieces)])[26].number == 27


def test_rewards_are_level_over_each_piece(temperatures: ScalePath, reward_scales: ScalePath) -> None:
    both = [temperatures, reward_scales]  # the first was made without a reward: it has those of the answers they share
    figure = plots.reward_against_scale(both, {"tokens": lambda piece: len(piece.tokens)}, god=True, grid=GRID)
    rewards, log_probs, tokens, god = figure.axes
    known = {piece.tokens: piece.final_reward.normalised for piece in reward_scales.pieces if piece.final_reward}
    for line, path in zip(rewards.lines, both, strict=False):
        np.testing.assert_array_equal(line.get_xdata(), np.array([(p.lower, p.upper) for p in path.pieces]).ravel())
        expected = [known.get(piece.tokens, np.nan) for piece in path.pieces]
        np.testing.assert_array_equal(line.get_ydata(), np.repeat(expected, 2))
    expected = [piece.log_prob for piece in temperatures.pieces]
    np.testing.assert_array_equal(log_probs.lines[0].get_ydata(), np.repeat(np.array(expected, dtype=float), 2))
    assert labels(god, "x") == [f"{scale:g}" for scale in GRID]
    expected = [theory.generation_order_deviation(piece.commit_step, "steps") for piece in temperatures.pieces]
    np.testing.assert_allclose(np.asarray(god.lines[0].get_ydata()), np.repeat(expected, 2))
    assert tokens.get_ylabel() == "tokens" and set(np.asarray(tokens.lines[0].get_ydata())) == {16}
    highest = max(known.values())
    (best, *_) = [piece for piece in reward_scales.pieces if known[piece.tokens] == highest]
    said = f"to {highest:.2f}; it is highest at scales from {best.lower:.4g} to"
    assert said.replace("-", "\u2212") in plots.caption(figure)
    assert len(plots.reward_against_scale(temperatures).axes) == 1  # the log-probability, which the world knows
    unknown = replace(temperatures, pieces=tuple(replace(piece, log_prob=None) for piece in temperatures.pieces))
    refused(lambda: plots.reward_against_scale(unknown), "paths hold no rewards: make them by scale_path(")


def test_orders_are_less_their_mean_and_entropies_averaged_over_decodes() -> None:
    axes = plots.order_spread({"even": [-2.0, -2.0, -2.0], "uneven": [-1.0, -4.0, -4.0]}).axes[0]
    even, uneven = (np.asarray(line.get_xdata()) for line in axes.lines)
    assert even.tolist() == [0.0, 0.0, 0.0] and uneven.tolist() == [2.0, -1.0, -1.0]
    figure = plots.entropy_left({"two": [PATH, replace(PATH, entropy_left=np.array([6.0, 4.0, 3.0]))]})
    assert marks(figure.axes[0], "two") == ([0, 1, 2, 3], [5.0, 4.0, 3.0, 2.0])


def test_texts_at_one_place_share_a_marker_to_the_left_of_the_frontier() -> None:
    figure = plots.frontier(CURVE, {"a": (-3.0, 1.0), "b": (-3.0, 1.0), "c": (-9.0, 2.0)})
    (axes,) = figure.axes
    assert marks(axes, "a\nb") == ([-3.0], [1.0]) and marks(axes, "c") == ([-9.0], [2.0])
    bounds, rewards = marks(axes, "the frontier")
    assert bounds == pytest.approx([CURVE.bound(reward) for reward in rewards])
    assert (rewards[0], rewards[-1]) == (0.0, 3.0)
    said = f"The nearest text is of a, {CURVE.regret(-3.0, 1.0):.3g} nats to its left, and the furthest of c, "
    assert said in plots.caption(figure)


def test_intervals_stand_where_their_numbers_are() -> None:
    series = {"exact": {4: (2.0, 1.5, 3.0), 1: (1.0, 0.5, 1.25)}, "rounded": {1: (7.0, 7.0, 7.0)}}
    figure = plots.intervals(series, "scale", "GOD [tokens]", logarithmic=True)
    (axes,) = figure.axes
    drawn = {bars.get_label(): bars for bars in axes.containers}
    line, _, (upright,) = drawn["exact"].lines
    assert np.column_stack(line.get_data()).tolist() == [[1, 1], [4, 2]]
    assert [part[:, 1].tolist() for part in upright.get_segments()] == [[0.5, 1.25], [1.5, 3.0]]
    assert labels(axes, "x") == ["1", "4"] and axes.get_xscale() == "log"
    alone = plots.intervals({"exact": series["exact"]}, "c", "GOD", level=0.9)
    assert alone.axes[0].get_legend() is None and plots.caption(alone) == "Bars are 90 % intervals."


ROWS = np.random.default_rng(0).normal(0, 3, (6, 40))


def test_bars_cover_the_proved_scales_and_the_cheap_ones() -> None:
    radii = [theory.stability_radius(ROWS, k) for k in (1, 2, 3)]
    figure = plots.stability(radii)
    low, high = figure.axes[0].get_ylim()
    bars = [(patch.get_y(), patch.get_y() + patch.get_height()) for patch in figure.axes[0].patches]  # type: ignore[attr-defined]
    proved = [ends for radius in radii for ends in ((radius.lower, radius.upper), radius.cheap)]
    for (bottom, top), (lower, upper) in zip(bars, proved, strict=True):
        assert bottom == pytest.approx(max(lower, low)) and top == pytest.approx(min(upper, high))
    assert low * high == pytest.approx(1) and high >= 2


def test_what_stays_for_ever_is_marked_at_the_edge_and_counted() -> None:
    radius = theory.stability_radius(APPENDIX_D, 1)
    assert radius.lower == 0 and radius.upper < math.inf
    forever = theory.stability_radius([[3.0, 0.0], [1.0, 0.0]], 1)
    assert (forever.lower, forever.upper) == (0, math.inf)
    figure = plots.stability([radius, forever])
    lines = [line for line in figure.axes[0].lines if line.get_marker() in ("^", "v")]
    beyond = [(int(at), line.get_marker()) for line in lines for at in np.asarray(line.get_xdata())]
    assert sorted(beyond) == [(0, "v"), (1, "^"), (1, "v")]
    said = "The chosen set stays the same at every larger scale at 1 of 2 steps, at every smaller one at 2."
    assert said in plots.caption(figure) and "may be wider" not in plots.caption(figure)


def test_counts_are_those_of_the_pieces() -> None:
    paths = [theory.threshold_path(ROWS, tau, 0.1, 10.0) for tau in (0.5, 0.9)]
    figure = plots.threshold_counts(*paths)
    drawn = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    for patch, path in zip(drawn, paths, strict=True):
        values, edges, _ = patch.get_data()
        assert list(values) == [len(piece.positions) for piece in path.pieces]
        assert list(edges) == [path.pieces[0].lower, *(piece.upper for piece in path.pieces)]
        assert f"Threshold {path.tau:g}: from {values[0]} to {values[-1]}" in plots.caption(figure)


def unproved(a: Any, b: Any) -> theory.Crossings:
    pair = theory.crossings(a, b)
    cluster = replace(pair.crossings[0], lower=4.0, upper=6.0, multiplicity=None)
    return replace(pair, crossings=(cluster,), complete=False)


def test_what_is_not_proved_is_hatched_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    path = theory.selection_path(APPENDIX_D, 1, 0.1, 10.0)
    wide = replace(path, brackets=(replace(path.brackets[0], lower=4.0, upper=6.0),), certified=False)
    counts, radius = theory.threshold_path(ROWS, 0.5, 0.1, 10.0), theory.stability_radius(APPENDIX_D, 1)
    pairs = [
        (plots.selection(path), plots.selection(wide)),
        (plots.threshold_counts(counts), plots.threshold_counts(replace(counts, certified=False))),
        (plots.stability([radius]), plots.stability([replace(radius, certified=False)])),
    ]
    proved = plots.confidence_curves(APPENDIX_D)
    monkeypatch.setattr("rws_decode.extra.scale_paths.curves.crossings", unproved)
    pairs.append((proved, plots.confidence_curves(APPENDIX_D)))
    for sure, unsure in pairs:
        assert "not proved" not in plots.caption(sure) and "hatched" in plots.caption(unsure)
    for sure, unsure in (pairs[0], pairs[2], pairs[3]):
        assert len(hatched(unsure.axes[0])) == len(hatched(sure.axes[0])) + 1
    nothing = theory.StabilityRadius(1, (0,), 1.0, 1.0, (1.0, 1.0), False)
    assert "median" not in plots.caption(plots.stability([nothing]))


def test_shares_have_their_intervals_and_limits() -> None:
    series = {16: theory.ReversalShare(20, 100), 64: theory.ReversalShare(30, 100)}
    limit = theory.reversal_limit("weibull", 3.0)
    figure = plots.reversal_shares({"bounded": series, "other": series}, {"bounded": limit}, border=20.0)
    (panel,) = figure.axes
    drawn = [each for each in panel.containers if isinstance(each, ErrorbarContainer)]
    assert len(drawn) == 2
    for container in drawn:
        line, _, (bars,) = container.lines
        assert np.allclose(np.asarray(line.get_ydata()), [0.2, 0.3])
        for segment, share in zip(bars.get_segments(), series.values(), strict=True):
            assert segment[:, 1] == pytest.approx(list(share.interval()))
    (level,) = [line.get_ydata()[0] for line in panel.lines if list(line.get_xdata()) == [0, 1]]  # type: ignore[index]
    assert limit.lower <= level <= limit.upper
    assert any(list(line.get_xdata()) == [20.0, 20.0] for line in panel.lines)
    assert plots.caption(figure).endswith("limits for many tokens: 33.5 % (bounded).")
