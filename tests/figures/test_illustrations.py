"""Figures 2, 3 and 4 from traces made here: words, numbers and colours are the traces', the step the rule's."""

from pathlib import Path

import numpy as np
import pytest
import torch
from handmade_runs import END, MASK, write_commit_order
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from paper_figures.exhibits import fig3_method, fig4_worked_decode, styled
from rws_decode import CallableReward
from rws_theory import reward_factor

LENGTH, STEPS, BLOCK, VOCABULARY, SCALE = 16, 8, 8, 9, 4.0


def _logits() -> torch.Tensor:
    table = torch.randn(2 + LENGTH, VOCABULARY, generator=torch.Generator().manual_seed(3)) * 2
    table[-3:, END] = 9.0  # the last three positions end the text
    table[:-3, END] = -9.0
    return table


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    guide = CallableReward(lambda prompt, answer: 0.1 * len(answer), mean=1.0, std=2.0, name="length")
    folder, prompts = tmp_path_factory.mktemp("parted") / "runs", {7: "a <prompt> of $5"}
    return write_commit_order(folder, _logits(), prompts, guide, SCALE, steps=STEPS, block=BLOCK)


def test_the_method_shows_the_first_step_that_parts(runs: Path) -> None:
    data = fig3_method.compute(runs)
    default, rws = data.orders.of("default"), data.orders.of("rws")
    parted = [step for step in range(STEPS) if not np.array_equal(default.chosen[step], rws.chosen[step])]
    assert data.parted and data.number == parted[0]
    raw, normalised, factor = (data.of(name) for name in ("reward_raw", "reward_normalised", "factor"))
    assert factor == pytest.approx(float(reward_factor((raw - 1.0) / 2.0, SCALE)))
    logits = _logits()[2:].double()
    logits[:, MASK] = -torch.inf
    with styled():
        picture = fig3_method.draw(data)
    shown = {text.get_text() for text in picture.findobj(Text)}
    assert {f"{raw:.3f}", f"{normalised:.3f}", f"{factor:.3f}"} <= shown
    panels = [axes for axes in picture.axes if axes.get_ylabel()]
    ranked = np.flatnonzero(rws.eligible[data.number])
    places = [int(part.split()[-1]) for part in data.committed("rws").split(", ")]
    assert places == np.flatnonzero(rws.chosen[data.number]).tolist()
    for axes, scale, trace in zip(panels, (1.0, factor), (default, rws), strict=True):
        best = (scale * logits[ranked]).softmax(-1).max(-1).values
        assert [bar.get_height() for bar in axes.patches] == pytest.approx(torch.logit(best).tolist())
        assert [bool(bar.get_hatch()) for bar in axes.patches] == trace.chosen[data.number, ranked].tolist()
        assert [label.get_text().split()[-1] for label in axes.get_xticklabels()] == [str(place) for place in ranked]


def test_the_worked_decode_fills_the_cells_that_the_trace_filled(runs: Path) -> None:
    data = fig4_worked_decode.compute(runs)
    assert data.columns == LENGTH - 3 and data.steps == tuple(range(1, STEPS + 1))
    with styled():
        picture = fig4_worked_decode.draw(data)
    for axes, name in zip(picture.axes, data.broken, strict=False):
        trace = data.orders.of(name)
        commit = trace.commit_step[: data.columns]
        cells = np.array([patch for patch in axes.patches if isinstance(patch, Rectangle)])
        cells = cells.reshape(len(data.steps), data.columns)
        for done, row in zip(data.steps, cells, strict=True):
            assert [cell.get_hatch() is None for cell in row] == (commit < done).tolist()
            assert [cell.get_linewidth() > 1 for cell in row] == (commit == done - 1).tolist()
        colors = {step: cells[-1][position].get_facecolor() for position, step in enumerate(commit)}
        assert len(set(colors.values())) == len(set(commit.tolist()))
        words = data.orders.words(trace, trace.tokens[: data.columns])
        assert [label.get_text() for label in axes.get_xticklabels()] == list(words)
        numbers = [text.get_text() for text in axes.texts]
        expected = [f"{value:.2f}" for value in trace.factor] if name == "rws" else []
        assert [number for number in numbers if number in expected] == expected
    assert set(data.broken.values()) == {None}  # no prompt of the language: nothing to judge
