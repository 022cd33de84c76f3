"""Pass@k by method: programs run only where that is allowed, and the table is counted from the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from sandboxed import needs_bubblewrap

from paper_figures.__main__ import main
from paper_figures.data.loaders import load_humaneval
from paper_figures.runner.results import read_unit_rows
from paper_figures.statistics.pass_at_k import pass_at_k
from paper_figures.studies.humaneval import tables
from rws_decode.mini.stories.answers import judge
from rws_decode.testing import tiny_checkpoint

SHAPE = ["--length", "16", "--steps", "8", "--block", "8"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Save tiny checkpoints; return options that name them, with a fixed reward scale and few methods."""
    root = tmp_path_factory.mktemp("models")
    tiny_checkpoint("bert", root / "model", files={"examples.json": []})
    tiny_checkpoint("classifier", root / "reward", files={"reward.json": {"mean": 0.1, "std": 0.5}})
    words = ["--model", str(root / "model"), "--rewards", str(root / "reward"), "--reward-scale", "8"]
    return ["experiment", "humaneval", *words, "--methods", "rws", "constant", *SHAPE]


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """Write two problems in the benchmark's layout."""
    rows = [
        {
            "task_id": f"HumanEval/{number}",
            "prompt": f"def add{number}(a):\n    '''Return a + {number}.'''\n",
            "entry_point": f"add{number}",
            "canonical_solution": f"    return a + {number}\n",
            "test": f"def check(candidate):\n    assert candidate(1) == {1 + number}\n",
        }
        for number in range(2)
    ]
    path = tmp_path / "problems.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@needs_bubblewrap
def test_nothing_runs_unless_it_is_allowed(
    models: list[str], problems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*models, "--data", f"humaneval:{problems}", "--prompts", "2", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert "--allow-code-execution" in capsys.readouterr().out
    before = read_unit_rows(tmp_path / "out")
    assert "execute" not in set(before["strategy"]) and not (tmp_path / "out/humaneval/pass_at_k.csv").exists()
    assert main([*words, "--allow-code-execution", "--program-seconds", "5", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    after = read_unit_rows(tmp_path / "out")
    runs = after[after["strategy"] == "execute"]
    answers = after[after["method"].notna()][["problem", "text"]].drop_duplicates()
    assert len(runs) == len(answers) and set(zip(runs["prompt"], runs["answer"], strict=True)) == set(
        answers.itertuples(index=False, name=None)
    )
    # The tiny model answers with words: not one is a program.
    assert not runs["passed"].any() and report["units"]["computed"] == len(runs)
    rows = [row for row in report["tables"]["pass_at_k"] if row["measure"] == "pass@1"]
    assert {row["method"]: row["mean"] for row in rows} == {"rws": 0.0, "constant": 0.0, "default": 0.0}


@needs_bubblewrap
def test_programs_of_answers_pass_where_they_are_right(problems: Path) -> None:
    """Half of the answers of rws are the canonical solutions, so pass@1 is 50 percent and that of the default 100."""
    from paper_figures.studies.work.decoding import Unit
    from paper_figures.studies.work.programs import EXECUTE, program_settings, run_programs

    settings = program_settings(problems, allow_code_execution=True)
    rows = []
    for index, problem in enumerate(load_humaneval(problems).rows):
        for method, guide in (("default", None), ("rws", "g")):
            text = problem.canonical_solution if method == "default" or index == 0 else "    return None\n"
            labels = {"problem": problem.id, "method": method, "guide": guide, "reward_scale": 8.0 if guide else None}
            row = {"strategy": method, "prompt": problem.prompt, "history": [], "text": text, "example": problem.id}
            row |= labels | {"split": "test", "turn": 0, "forwards": 8, "reward_calls": 8, "steps": 8}
            rows.append(row | {"reward_cost": 1.0, "god_tokens": 0.0, "judges": []})
            unit = Unit(
                experiment="humaneval",
                prompt=problem.id,
                strategy=EXECUTE,
                predictor=None,
                settings=settings,
                labels={"answer": text},
            )
            ((ran,),) = run_programs([unit])
            rows.append({"strategy": "execute", "prompt": problem.id, "answer": text, "judges": []} | ran)
            rows[-1]["history"] = []
    table = tables(pd.DataFrame(rows))[0]
    measured = {(row["method"], row["measure"]): row for row in table.rows}
    assert measured["rws", "pass@1"]["mean"] == 50.0 and measured["default", "pass@1"]["mean"] == 100.0
    assert measured["default", "pass@1"]["difference"] == 50.0 and measured["default", "pass@1"]["pairs"] == 2


def test_several_samples_of_puzzles_are_counted_without_bias(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*models, "--prompts", "2", "--samples", "5", "--decode-temperature", "2", "--out", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    table_rows = json.loads(capsys.readouterr().out)["tables"]["pass_at_k"]
    frame = read_unit_rows(tmp_path)
    rws = frame[frame["method"] == "rws"]
    assert rws.groupby("example").size().tolist() == [5, 5] and rws["seed"].nunique() == 5
    assert rws.groupby("example")["text"].nunique().min() > 1
    right = [
        [judge(row["prompt"], row["text"]).coherent for _, row in rows.iterrows()] for _, rows in rws.groupby("example")
    ]
    for k in (1, 5):
        (row,) = [row for row in table_rows if (row["method"], row["measure"]) == ("rws", f"pass@{k}")]
        assert row["n"] == 2
        assert row["mean"] == pytest.approx(100 * sum(pass_at_k(5, sum(passes), k) for passes in right) / 2)
