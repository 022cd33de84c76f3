"""Pictures of stability, thresholds and reversals hold the numbers that they were given."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import StepPatch

from rws_decode import plots
from rws_theory import ReversalShare, StabilityRadius, reversal_limit, stability_radius, threshold_path

APPENDIX_D = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
ROWS = np.random.default_rng(0).normal(0, 3, (6, 40))


def test_bars_cover_the_proved_scales_and_the_cheap_ones() -> None:
    radii = [stability_radius(ROWS, k) for k in (1, 2, 3)]
    figure = plots.stability(radii)
    low, high = figure.axes[0].get_ylim()
    bars = [(patch.get_y(), patch.get_y() + patch.get_height()) for patch in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert len(bars) == 2 * len(radii)
    for step, radius in enumerate(radii):
        for (bottom, top), (lower, upper) in zip(
            bars[2 * step :], [(radius.lower, radius.upper), radius.cheap], strict=False
        ):
            assert bottom == pytest.approx(max(lower, low)) and top == pytest.approx(min(upper, high))
    assert low * high == pytest.approx(1) and high >= 2


def test_what_stays_for_ever_is_marked_at_the_edge_and_counted() -> None:
    radius = stability_radius(APPENDIX_D, 1)
    assert radius.lower == 0 and radius.upper < math.inf
    forever = stability_radius([[3.0, 0.0], [1.0, 0.0]], 1)
    assert (forever.lower, forever.upper) == (0, math.inf)
    figure = plots.stability([radius, forever])
    lines = [line for line in figure.axes[0].lines if line.get_marker() in ("^", "v")]
    beyond = [(int(at), line.get_marker()) for line in lines for at in np.asarray(line.get_xdata())]
    assert sorted(beyond) == [(0, "v"), (1, "^"), (1, "v")]
    said = "The chosen set stays the same at every larger scale at 1 of 2 steps, at every smaller one at 2."
    assert said in plots.caption(figure) and "may be wider" not in plots.caption(figure)


def test_what_may_be_wider_is_hatched() -> None:
    radius = replace(stability_radius(APPENDIX_D, 1), certified=False)
    figure = plots.stability([radius])
    assert [bool(patch.get_hatch()) for patch in figure.axes[0].patches] == [True, False]
    assert "At 1 steps the interval may be wider (hatched)." in plots.caption(figure)
    nothing = StabilityRadius(1, (0,), 1.0, 1.0, (1.0, 1.0), False)
    assert "median" not in plots.caption(plots.stability([nothing]))


def test_counts_are_those_of_the_pieces() -> None:
    paths = [threshold_path(ROWS, tau, 0.1, 10.0) for tau in (0.5, 0.9)]
    figure = plots.threshold_counts(*paths)
    drawn = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    for patch, path in zip(drawn, paths, strict=True):
        values, edges, _ = patch.get_data()
        assert list(values) == [len(piece.positions) for piece in path.pieces]
        assert list(edges) == [path.pieces[0].lower, *(piece.upper for piece in path.pieces)]
        at_one = next(len(piece.positions) for piece in path.pieces if piece.lower <= 1 <= piece.upper)
        assert f"Threshold {path.tau:g}: from {values[0]} to {values[-1]}" in plots.caption(figure)
        assert f", {at_one} of them at scale 1." in plots.caption(figure)
    assert plots.caption(figure).endswith("No number falls as the scale grows: proved.")


def test_counts_that_are_not_proved_are_said_and_ranges_must_agree() -> None:
    path = threshold_path(ROWS, 0.5, 0.1, 10.0)
    assert "not all is proved at 0.5 (hatched)" in plots.caption(plots.threshold_counts(replace(path, certified=False)))
    with pytest.raises(ValueError, match="paths cover 2 ranges: one range is needed"):
        plots.threshold_counts(path, threshold_path(ROWS, 0.5, 0.1, 20.0))
    assert "at scale 1." not in plots.caption(plots.threshold_counts(threshold_path(ROWS, 0.5, 2.0, 10.0)))


def test_shares_have_their_intervals_and_limits() -> None:
    series = {16: ReversalShare(20, 100), 64: ReversalShare(30, 100)}
    limit = reversal_limit("weibull", 3.0)
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
