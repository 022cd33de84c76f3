"""Tables 3, 4 and 6 and Figure 6: what results hold is what is shown, beside what was printed, and said in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handmade_runs import Row, summary_row, write_run

from paper_figures.exhibits import fig6_keyword_task, table4_humaneval
from paper_figures.exhibits.shared.exhibit import LINES, styled
from paper_figures.exhibits.shared.results import names_of
from rws_theory.printed import printed_in

BELOW, OVER = "perplexity per text, % below default", "GOD in steps over default's"


@pytest.fixture(autouse=True)
def _house_style() -> Iterator[None]:
    with styled():
        yield


def _claim(guide: str, method: str, quantity: str, ends: tuple[float, float, float] | None, printed: str) -> Row:
    row: Row = {"guide": guide, "reward_scale": 8.0, "method": method, "n": 4}
    row |= {"quantity": quantity, "p": 0.5, "p_holm": 1.0, "printed": printed if method == "rws" else None}
    return row | dict(zip(("value", "low", "high"), ends or (None, None, None), strict=True))


def _keywords(runs: Path, sign: float = 1.0) -> Path:
    """Write a keyword run: RWS is `sign` better in perplexity with the first guide, and the same with the second."""
    means, claims = [], []
    for guide in ("second", "grm"):
        values = guide == "second"
        for method in ("rws", "default", "constant", "shuffled"):
            ends = sorted((sign * 0.5, sign * 1.5))
            minus = () if method == "rws" else (sign, *ends, 0.01) if values else (0.0, -0.25, 0.25, 1.0)
            means += [
                summary_row(guide, method, "perplexity_per_text", 5.0, minus),
                summary_row(guide, method, "god_steps", 2.0, () if method == "rws" else (0.0, 0.0, 0.0, 1.0)),
                summary_row(guide, method, "keywords_included", 2.0, () if method == "rws" else (0.0, 0.0, 0.0, 1.0)),
            ]
            below = (20.0, 17.0, 23.0) if values else (1.0, -3.0, 13.0)
            over = (1.5, 1.25, 1.75) if values else (1.0, 0.9, 2.5)
            none = method == "default"
            claims.append(_claim(guide, method, BELOW, None if none else below, "12 to 16"))
            claims.append(_claim(guide, method, OVER, None if none else over, "more than 2"))
    examples = [
        _example("one", "default", None, "a red kite and a green boat"),
        _example("one", "rws", "second", "the red kites"),
        _example("one", "rws", "grm", "the red kites"),
        _example("two", "default", None, "kite , boat"),
        _example("two", "rws", "second", "kite , boat"),
        _example("two", "rws", "grm", "kite , boat"),
    ]
    return write_run(runs, "keywords", {"perplexity_and_god": means, "claims": claims, "examples": examples})


def _example(name: str, method: str, guide: str | None, answer: str) -> Row:
    row: Row = {"example": name, "prompt": f"write of kite and boat , {name}", "keywords": "kite, boat"}
    row |= {"method": method, "guide": guide, "reward_scale": None if guide is None else 8.0}
    return row | {"included": 0, "answer": answer}


def test_figure_6_draws_the_results_and_the_printed_ranges(tmp_path: Path) -> None:
    data = fig6_keyword_task.compute(_keywords(tmp_path))
    assert names_of(data.means) == ["second", "GRM"]
    levels, below, _, over = fig6_keyword_task.draw(data).axes
    for axes, middle in ((levels, [5.0, 5.0]), (below, [20.0, 1.0]), (over, [1.5, 1.0])):
        drawn = [container for container in axes.containers if container.get_label() == LINES["rws"].label]
        assert [container.lines[0].get_xdata()[0] for container in drawn] == middle
    ends = [
        container.lines[2][0].get_segments()[0][:, 0].tolist()
        for container in below.containers
        if container.get_label() == "RWS"
    ]
    assert ends == [[17.0, 23.0], [-3.0, 13.0]]
    (band,) = [patch for patch in below.patches if patch.get_hatch()]
    assert (band.get_x(), band.get_width()) == (12, 4)
    (band,) = [patch for patch in over.patches if patch.get_hatch()]
    assert band.get_x() == 2 and band.get_x() + band.get_width() == pytest.approx(over.get_xlim()[1])
    assert not [patch for patch in levels.patches if patch.get_hatch()], "levels have no printed number"


def test_figure_6_sets_its_ranges_beside_the_printed_ones(tmp_path: Path) -> None:
    exhibit = fig6_keyword_task.exhibit(_keywords(tmp_path))
    rows = {row["quantity"]: row for row in exhibit.tables[0].rows}
    below = rows["perplexity of RWS below that of the default"]
    assert [below[name] for name in ("paper: low", "paper: high", "here: low", "here: high")] == [12, 16, 1.0, 20.0]
    assert rows["worst perplexity of RWS"]["paper: low"] == 10.84
    cells = {(row["guide"], row["RWS minus"]): row for row in exhibit.tables[1].shown}
    column = "perplexity, mean over answers"
    assert cells["second", "constant of equal mean"][column] == "-1 [-1.5, -0.5], p 0.01 *"
    assert cells["GRM", "constant of equal mean"][column] == "+0 [-0.25, +0.25], p 1"
    assert "the paper says 12 to 16; here second 20 [17, 23]; GRM 1 [-3, 13]." in exhibit.conclusions[0]


def _passes(runs: Path, low: float = 2.0, **settings: Any) -> Path:
    rows = []
    for guide in ("second", "grm"):
        rows.append(summary_row(guide, "rws", "pass@1", 50.0))
        rows.append(summary_row(guide, "default", "pass@1", 40.0, (-10.0, -20.0, -low, 0.04)))
        rows.append(summary_row(guide, "constant", "pass@1", 50.0, (0.0, 0.0, 0.0, 1.0)))
    return write_run(runs, "humaneval", {"pass_at_k": rows}, **settings)


def test_table_4_puts_the_papers_reward_models_in_the_papers_rows(tmp_path: Path) -> None:
    exhibit = table4_humaneval.exhibit(_passes(tmp_path, data="humaneval"))
    rows = {row["method"]: row for row in exhibit.tables[0].rows}
    printed = {f"RWS, {row['model']}": row["pass_at_1"] for row in printed_in("table4_humaneval")["rows"]}
    assert {name: row["paper: pass@1, %"] for name, row in rows.items() if name in printed} == printed
    assert rows["RWS, GRM"]["here: pass@1, %"] == 50.0 and rows["RWS, QRM"]["here: pass@1, %"] is None
    assert rows["confidence (default)"]["paper: pass@1, %"] == printed_in("table4_humaneval")["default"]
    assert "RWS minus the default, pass@1, is higher for 2 of 2 reward models" in exhibit.conclusions[0]
    minus = {row["RWS minus"]: row["pass@1, %"] for row in exhibit.tables[1].shown}
    assert minus["confidence (default)"] == "+10 [+2, +20], p 0.04 *"
    assert minus["constant of equal mean"] == "0 in every prompt"
