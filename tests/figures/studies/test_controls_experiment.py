"""Studies, by the controls experiment on tiny checkpoints: rows are those of plain decodes, controls are controls."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command_lines import figures as main
from grouped import grouped
from study_runs import EXAMPLES, save_models

from paper_figures.runner import read_failures, read_unit_rows
from paper_figures.studies.answers import answers_of, best_of
from paper_figures.studies.options import COMPARED
from rws_decode import RWS, Confidence, FlippedReward, Margin, Temperature, decode, load_predictor, load_reward
from rws_decode.extra.testing import tiny_checkpoint

SCALES = (1.0, 8.0)
SHAPE = {"length": 16, "steps": 8, "block": 8}  # of fewer steps most rewards are equal


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("models")
    save_models(root)
    words = ["experiment", "controls", "--prompts", "3", "--reward-scale", *map(str, SCALES)]
    words += ["--model", str(root / "model"), "--rewards", str(root / "guide"), "--judges", str(root / "other")]
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert main([*options, "--out", str(out)]) == 0
    return out


def rows(out: Path, method: str, scale: float) -> pd.DataFrame:
    frame = answers_of(read_unit_rows(out))
    chosen = (frame["method"] == method) & (frame["reward_scale"] == scale)
    return frame[chosen].sort_values("example", ignore_index=True)


def named(options: list[str], name: str) -> str:
    return options[options.index(f"--{name}") + 1]


def test_rows_are_those_of_plain_decodes(options: list[str], finished: Path) -> None:
    predictor = load_predictor(named(options, "model"))
    guide, judge = (load_reward(named(options, name)) for name in ("rewards", "judges"))
    for scale in SCALES:
        factors = rows(finished, "rws", scale)["mean_factor"]
        plain = {
            "rws": [RWS(scale)] * 3,
            "flipped": [FlippedReward(scale)] * 3,
            "constant": [Temperature(factor) for factor in factors],
            "default": [Confidence()] * 3,
            "margin": [Margin()] * 3,
        }
        for method, strategies in plain.items():
            method_rows = rows(finished, method, scale)
            prompts = [example["prompt"] for example in EXAMPLES[:3]]
            assert method_rows["example"].tolist() == ["0", "1", "2"] and method_rows["prompt"].tolist() == prompts
            for prompt, rule, (_, row) in zip(prompts, strategies, method_rows.iterrows(), strict=True):
                (trace,) = decode(
                    predictor, [prompt], rule, reward=guide if rule.needs_reward else None, **grouped(**SHAPE)
                )
                assert row["text"] == trace.text and row["god_steps"] == trace.god_steps
                assert row["mean_factor"] == pytest.approx(trace.factor.mean(), rel=1e-4)
                answer = [prompt], [trace.text or ""]
                assert row["own_score"] == pytest.approx(guide.score(*answer)[0], abs=1e-4)
                assert row[f"score of {named(options, 'judges')}"] == pytest.approx(judge.score(*answer)[0], abs=1e-4)


def test_controls_keep_what_they_should(finished: Path) -> None:
    for scale in SCALES:
        for (_, rws), (_, mixed) in zip(
            rows(finished, "rws", scale).iterrows(), rows(finished, "shuffled", scale).iterrows(), strict=True
        ):
            given = json.loads(mixed["strategy_json"])
            assert sorted(given["rewards"]) == sorted(rws["rewards"]) and given["reward_scale"] == scale
            assert given["rewards"] != list(rws["rewards"])
            assert mixed["mean_factor"] == pytest.approx(rws["mean_factor"]) and mixed["reward_calls"] == 0
    assert len(set(rows(finished, "random", 8.0)["mean_factor"])) == 3


def test_best_of_n_picks_by_the_guide_at_a_cost_near_that_of_rws(finished: Path) -> None:
    frame = read_unit_rows(finished)
    assert set(answers_of(frame)["method"]) == set(COMPARED)
    samples = frame[frame["method"] == "sample"]
    scores = frame[frame["strategy"] == "score"]
    guide = next(iter(frame["reward"].dropna()))
    scored = scores[[judges[0] == guide for judges in scores["judges"]]].set_index(["prompt", "answer"])["score"]
    for scale in SCALES:
        guided = rows(finished, "rws", scale)
        count, cost = best_of(guided), float((guided["forwards"] + guided["reward_calls"]).mean())
        assert all(abs(count * 9 - cost) <= abs(other * 9 - cost) for other in range(1, 9))
        best = rows(finished, "best-of-n", scale)
        assert best["cost"].tolist() == [9.0 * count] * 3 and best["forwards"].tolist() == [8.0 * count] * 3
        for _, row in best.iterrows():
            drawn = samples[(samples["example"] == row["example"]) & (samples["sample"] < count)]
            scores_by_text = {text: scored[row["prompt"], text] for text in drawn["text"]}
            assert len(drawn) == count and row["text"] in scores_by_text
            assert row["own_score"] == pytest.approx(max(scores_by_text.values()), abs=1e-9)
    assert samples["seed"].nunique() == len(samples)


def test_failing_judges_leave_the_rest(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = tmp_path / "odd"
    tiny_checkpoint("classifier", odd)
    tokenizer = json.loads((odd / "tokenizer_config.json").read_text())
    (odd / "tokenizer_config.json").write_text(json.dumps(tokenizer | {"model_max_length": 2}))
    small = ["--out", str(tmp_path / "out"), "--reward-scale", "8", "--methods", "rws", "--judges", str(odd)]
    assert main([*options, *small]) == 0
    output = capsys.readouterr()
    assert "--retry-failed runs them again" in output.out and "units failed, the first by: " in output.err
    failures = read_failures(tmp_path / "out")
    assert failures and {failure["fields"]["strategy"] for failure in failures} == {"score"}
    answers = answers_of(read_unit_rows(tmp_path / "out"))
    assert len(answers) == 6 and answers["own_score"].notna().all()


def test_a_study_whose_units_all_fail_says_why_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = [{"kind": "keywords", "prompt": "the cat sat " * 30, "keywords": ["cat"]}]
    tiny_checkpoint("bert", tmp_path / "model", files={"examples.json": long})
    tiny_checkpoint("classifier", tmp_path / "reward", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    words = ["experiment", "controls", "--prompts", "1", "--reward-scale", "8", "--methods", "constant", "--judges"]
    words += ["exact", "--model", str(tmp_path / "model"), "--rewards", str(tmp_path / "reward")]
    assert main([*words, "--length", "8", "--steps", "4", "--block", "8", "--out", str(tmp_path / "out")]) == 1
    assert "units failed, the first by: length is 8: beside the" in capsys.readouterr().err.splitlines()[-1]
