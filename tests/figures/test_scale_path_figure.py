"""The scale-path experiment against plain decodes, and its figure: what the file holds is drawn, listed and said."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import single_stage_runs
from grouped import grouped
from single_stage_runs import options_of, save_models

from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.exhibits.style import styled
from paper_figures.figures import scale_path as figure
from paper_figures.statistics.causal_scores import answer_scores, load_causal
from paper_figures.studies.design.options import GRID
from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.rewards import load_reward
from rws_decode.strategies.factors import RWS, Temperature
from rws_decode.strategies.protocol import Strategy
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import bert_classifier
from rws_decode.trace.decoding import Decoding

PROMPTS = ["the cat sat on a mat .", "a dog ran", "sort : two one"]
SHAPE = {"length": 8, "steps": 4, "block": 8}
SCALES = (2.0, 8.0)


run = partial(single_stage_runs.run, "scale-path")
results_of = partial(single_stage_runs.results_of, experiment="scale-path")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_models(tmp_path_factory.mktemp("models"), PROMPTS)
    tiny_checkpoint("classifier", folder / "judge", files={"reward.json": {"mean": 0.5, "std": 2.0}})
    bert_classifier(1).save_pretrained(folder / "judge")
    return folder


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    return options_of(models, judge=models / "judge", reward_scale=SCALES, **SHAPE)


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run(out, options) == 0
    return out


def test_paths_and_walks_are_what_decoding_gives(finished: Path, models: Path) -> None:
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))

    def decoded(prompt: str, rule: Strategy) -> Decoding:
        return decode(predictor, [prompt], rule, reward=reward if rule.needs_reward else None, **grouped(**SHAPE))

    results = results_of(finished)
    assert results["grid"] == list(GRID)
    rows = {(row["prompt"], row["over"]): row for row in results["summary"]}
    for prompt in results["profiles"]:
        outputs = [tuple(output["tokens"]) for output in prompt["outputs"]]
        for path, rule in zip(prompt["paths"], (Temperature, RWS), strict=True):
            row, on_grid = rows[prompt["index"], path["over"]], set()
            for scale in GRID:
                (trace,) = decoded(prompt["prompt"], rule(scale))
                (piece, *_) = [piece for piece in path["pieces"] if piece["lower"] <= scale <= piece["upper"]]
                assert trace.tokens.tolist() == prompt["outputs"][piece["output"]]["tokens"]
                assert trace.commit_step.tolist() == piece["commit_step"]
                assert (trace.god_tokens, trace.god_steps) == (piece["god_tokens"], piece["god_steps"])
                on_grid.add(tuple(trace.tokens.tolist()))
            reached = {outputs[piece["output"]] for piece in path["pieces"]}
            assert (row["outputs"], row["grid_outputs"]) == (len(reached), len(on_grid))
            assert (row["missed"], row["pieces"]) == (len(reached - on_grid), len(path["pieces"]))
            assert (row["certified"], row["unexplored"], path["unexplored"]) == (1, 0.0, [])
        for walk, scale in zip(prompt["walks"], SCALES, strict=True):
            (trace,) = decoded(prompt["prompt"], RWS(scale))
            assert walk["factors"] == trace.factor.tolist() and walk["on_path"] is True
            assert outputs[walk["output"]] == tuple(trace.tokens.tolist())
    totals = [row for row in results["summary"] if row["prompt"] == "all"]
    assert [row["over"] for row in totals] == ["temperature", "reward-scale"]
    for total in totals:
        prompt_rows = [row for row in results["summary"] if row["over"] == total["over"] and row["prompt"] != "all"]
        for name in ("pieces", "outputs", "missed", "forwards", "certified"):
            assert total[name] == sum(row[name] for row in prompt_rows)
        assert total["best_judge"] == pytest.approx(np.mean([row["best_judge"] for row in prompt_rows]))


def test_scores_are_those_of_the_models(finished: Path, models: Path) -> None:
    causal = load_causal("mini-causal")
    for prompt in results_of(finished)["profiles"]:
        texts = [output["text"] for output in prompt["outputs"]]
        asked = [prompt["prompt"]] * len(texts)
        for name in ("reward", "judge"):
            model = load_reward(str(models / name))
            scores = (np.array(model.score(asked, texts)) - model.mean) / model.std
            assert [output[name] for output in prompt["outputs"]] == pytest.approx(scores.tolist(), abs=1e-5)
        wanted = [score.perplexity for score in answer_scores(causal, asked, texts)]
        assert [output["perplexity"] for output in prompt["outputs"]] == pytest.approx(wanted, rel=1e-5)
        # A puzzle of the story language has a checker, other text none.
        has_checker = prompt["prompt"].startswith("sort")
        assert all((output["coherent"] is not None) == has_checker for output in prompt["outputs"])


def test_a_budget_leaves_parts_that_are_told_and_drawn(options: list[str], tmp_path: Path) -> None:
    assert run(tmp_path, options, "--prompts", "1", "--budget", "4") == 0
    (prompt,) = results_of(tmp_path)["profiles"]
    assert any(path["unexplored"] for path in prompt["paths"])
    with styled():
        exhibit = figure.exhibit(tmp_path)
    assert "as far as was followed" in exhibit.conclusions[0] and "proved" not in exhibit.conclusions[0]
    left = exhibit.pictures[0].figure.axes[1].patches
    assert len(left) == sum(len(path["unexplored"]) for path in prompt["paths"])


def made_up(**changes: Any) -> dict[str, Any]:
    """Return results of one prompt: answers A, B, A over c, of which no grid point gives B; A and C over s_R."""
    common = {"violations": None, "coherent": None}
    scores = [(1.0, 0.5, 2.0), (3.0, 0.75, 1.5), (2.0, 0.25, 4.0)]
    reached = [(True, True), (True, False), (False, True)]
    outputs = [
        {"tokens": [index], "text": f"text {index}", "by_temperature": c, "by_reward_scale": s}
        | {"temperature_width": 0.1, "reward_width": 0.2, "reward": guide, "judge": judge, "perplexity": ppl}
        | common
        for index, ((guide, judge, ppl), (c, s)) in enumerate(zip(scores, reached, strict=True))
    ]

    def path(over: str, *cuts: tuple[float, float, int]) -> dict[str, Any]:
        pieces = [
            {"lower": low, "upper": high, "output": output, "commit_step": [0], "god_tokens": 2.0, "god_steps": 1.25}
            for low, high, output in cuts
        ]
        counts = {"certified": True, "states": 3, "forwards": 3, "grid_forwards": 6, "reward_calls": 0}
        return {"over": over, "pieces": pieces, "unexplored": [], "near_tokens": 0} | counts

    paths = [path("temperature", (0.01, 3.0, 0), (3.0, 3.5, 1), (3.5, 32.0, 0))]
    paths.append(path("reward-scale", (0.01, 1.5, 0), (1.5, 32.0, 2)))
    walk = {"reward_scale": 2.0, "factors": [1.25, 1.75], "output": 2, "tokens": [2], "text": "text 2"}
    walk |= {"commit_step": [0], "god_tokens": 2.0, "god_steps": 1.25, "on_path": True}
    row = {"prompt": "0", "pieces": 3, "outputs": 2, "texts": 2, "grid_outputs": 1, "missed": 1}
    row |= {"missed_width": 0.154, "missed_pieces": 1, "best_judge": 0.75, "grid_best_judge": 0.5}
    row |= {"unexplored": 0.0, "certified": 1, "forwards": 3, "reward_calls": 0}
    summary = [{"over": over} | row for over in ("temperature", "reward-scale")]
    settings = {"model": "tiny", "reward": "guide", "judge": "other", "causal": "causal", "data": "examples"}
    settings |= {"scale_min": 0.01, "scale_max": 32.0, "reward_scale": [2.0], "length": 1, "steps": 1, "block": 1}
    prompt = {"index": "0", "prompt": "why ?", "outputs": outputs, "paths": paths, "walks": [walk]}
    results = {"profiles": [prompt], "summary": summary, "grid": list(GRID), "settings": settings, "seconds": 1.5}
    return results | changes


def shown(folder: Path, results: dict[str, Any]) -> Exhibit:
    write_json(folder / "scale-path/results.json", results)
    with styled():
        return figure.exhibit(folder)


def test_what_the_file_holds_is_drawn_and_listed(tmp_path: Path) -> None:
    exhibit = shown(tmp_path, made_up())
    lanes, reward, judge, perplexity, god = exhibit.pictures[0].figure.axes
    for axes, heights in ((reward, [1.0, 3.0, 1.0]), (judge, [0.5, 0.75, 0.5]), (perplexity, [2.0, 1.5, 2.0])):
        over_c, over_s = axes.lines[:2]
        assert over_c.get_xdata().tolist() == [0.01, 3.0, 3.0, 3.5, 3.5, 32.0]
        assert over_c.get_ydata().tolist() == [height for height in heights for _ in "ab"]
        assert over_s.get_xdata().tolist() == [0.01, 1.5, 1.5, 32.0]
    assert god.lines[0].get_ydata().tolist() == [0.0] * 6  # of a single token
    bars = np.array([(bar.get_x(), bar.get_width()) for bar in lanes.patches])
    assert bars == pytest.approx(np.array([(0.01, 2.99), (3, 0.5), (3.5, 28.5), (0.01, 1.49), (1.5, 30.5)]))
    marks = {line.get_label(): line.get_xdata().tolist() for line in lanes.lines}
    assert marks["grid, temperature"] == marks["grid, RWS"] == list(GRID)
    (answers,) = exhibit.tables
    assert [row["grid of c"] for row in answers.rows] == ["gives it", "misses it", None]
    assert [row["perplexity"] for row in answers.rows] == [2.0, 1.5, 4.0]
    assert exhibit.inputs == ("scale-path/results.json",)


def test_the_headline_follows_from_the_counts(tmp_path: Path) -> None:
    (headline,) = shown(tmp_path, made_up()).conclusions
    assert "2 distinct answers, which is proved;" in headline and "give 1 and miss 1." in headline
    results = made_up()
    results["summary"][0]["certified"] = 0
    assert "proved" not in shown(tmp_path, results).conclusions[0]


def test_a_real_run_makes_a_whole_exhibit(figure_runs: Path) -> None:
    with styled():
        exhibit = figure.exhibit(figure_runs)
    results = json.loads((figure_runs / "scale-path/results.json").read_text())
    outputs = results["profiles"][0]["outputs"]
    assert [row["text"] for row in exhibit.tables[0].rows] == [output["text"] for output in outputs]
    assert all(output["coherent"] is not None for output in outputs)
