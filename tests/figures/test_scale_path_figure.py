"""The scale-path experiment against plain decodes, and its figure: what the file holds is drawn, listed and said."""

from pathlib import Path

import pytest
from grouped import grouped
from single_stage_runs import options_of, results_of, run, save_models

from paper_figures.exhibits import scale_path as figure
from paper_figures.exhibits import styled
from paper_figures.studies.options import GRID
from rws_decode import RWS, Decoding, Strategy, Temperature, decode, load_predictor, load_reward
from rws_decode.extra.testing import bert_classifier, tiny_checkpoint

PROMPTS = ["the cat sat on a mat .", "sort : two one"]
SHAPE = {"length": 8, "steps": 4, "block": 8}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_models(tmp_path_factory.mktemp("models"), PROMPTS)
    tiny_checkpoint("classifier", folder / "judge", files={"reward.json": {"mean": 0.5, "std": 2.0}})
    bert_classifier(1).save_pretrained(folder / "judge")
    return folder


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    return options_of(models, judge=models / "judge", prompts=len(PROMPTS), **SHAPE)


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run("scale-path", out, options) == 0
    return out


def test_paths_are_what_decoding_gives(finished: Path, models: Path) -> None:
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))

    def decoded(prompt: str, rule: Strategy) -> Decoding:
        return decode(predictor, [prompt], rule, reward=reward if rule.needs_reward else None, **grouped(**SHAPE))

    results = results_of(finished, "scale-path")
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
    totals = [row for row in results["summary"] if row["prompt"] == "all"]
    assert [row["over"] for row in totals] == ["temperature", "reward-scale"]
    for total in totals:
        prompt_rows = [row for row in results["summary"] if row["over"] == total["over"] and row["prompt"] != "all"]
        for name in ("pieces", "outputs", "missed", "forwards", "certified"):
            assert total[name] == sum(row[name] for row in prompt_rows)


def test_a_budget_leaves_parts_that_are_told_and_drawn(options: list[str], tmp_path: Path) -> None:
    assert run("scale-path", tmp_path, options, "--prompts", "1", "--budget", "4") == 0
    (prompt,) = results_of(tmp_path, "scale-path")["profiles"]
    assert any(path["unexplored"] for path in prompt["paths"])
    with styled():
        exhibit = figure.exhibit(tmp_path)
    assert "as far as was followed" in exhibit.conclusions[0] and "proved" not in exhibit.conclusions[0]
    left = exhibit.pictures[0].figure.axes[1].patches
    assert len(left) == sum(len(path["unexplored"]) for path in prompt["paths"])
