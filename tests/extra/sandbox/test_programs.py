"""Programs of models' answers: run only where that is allowed, and each once."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from command_lines import figures as main
from sandboxed import needs_bubblewrap
from study_runs import save_small_models

from paper_figures.extra.sandbox import EXECUTE, Limits, program_settings, run_programs
from paper_figures.runner import Backend, Origin, Report, Unit, batch_key, read_unit_rows, run_units
from paper_figures.runner.executors import in_process, processes


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return ["experiment", "humaneval", *save_small_models(tmp_path_factory.mktemp("models"))]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("problems") / "problems.jsonl"
    row = {"entry_point": "next_of", "canonical_solution": "    return x + 1\n"}
    row |= {"test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(-1) == 0\n"}
    prompts = {f"mine/{n}": f"def next_of(x):\n    '''Return the next of {n}.'''\n" for n in range(2)}
    rows = [row | {"task_id": name, "prompt": prompt} for name, prompt in prompts.items()]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
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


ORIGIN = Origin("code", {}, {})
LIMITS = Limits(seconds=1.5, cpu_seconds=4)
FENCE = "```"
# What a model says of `next_of(x)`, x + 1 -> (status, how it is read).
ANSWERS = {
    "    return x + 1\n": ("passed", "continuation"),
    f"Here:\n{FENCE}python\ndef next_of(x):\n    return x + 1\n{FENCE}\nDone.": ("passed", "fenced function"),
    "    return x\n": ("wrong", "continuation"),
    "I cannot write programs.": ("error", "unparsable"),
    "    import os\n    os._exit(0)\n": ("ended", "continuation"),
    "    raise ValueError('\\ud800')\n": ("error", "continuation"),
    "return x + 1": ("passed", "indented body"),
}


def unit(answer: str | None, settings: dict[str, Any], problem: str = "mine/0", **fields: Any) -> Unit:
    labels = {} if answer is None else {"answer": answer}
    fields = {"strategy": EXECUTE, "settings": settings, "labels": labels} | fields
    return Unit(experiment="programs", prompt=problem, predictor=None, **fields)


def settings_of(problems: Path, **changes: Any) -> dict[str, Any]:
    return program_settings(problems, LIMITS) | changes


def ran(out: Path, problems: Path, backend: Backend) -> Report:
    units = [unit(answer, settings_of(problems)) for answer in ANSWERS]
    assert len({batch_key(unit) for unit in units}) == 1
    return run_units(units, run_programs, out, origin=ORIGIN, backend=backend, batch=4, progress=False)


@needs_bubblewrap
@pytest.mark.parametrize("backend", [in_process(), processes(1)], ids=["thread", "process"])
def test_every_answer_is_a_row_and_the_harness_unharmed(
    backend: Backend, problems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # the program's user is another
        monkeypatch.setenv("TMPDIR", scratch)
        monkeypatch.setattr(tempfile, "tempdir", scratch)
        report = ran(tmp_path, problems, backend)
        monkeypatch.undo()
        assert os.listdir(scratch) == []
    assert not report.failed and len(report.computed) == len(ANSWERS)
    rows = report.read()
    assert list(zip(rows["status"], rows["how"], strict=True)) == list(ANSWERS.values())
    assert rows["answer"].tolist() == list(ANSWERS)
    assert rows["passed"].tolist() == [status == "passed" for status, _ in ANSWERS.values()]
    assert all(0 <= seconds < 60 for seconds in rows["seconds"])
    assert rows["detail"].iloc[-2] == "ValueError: ?"
    # Nothing is run twice.
    again = ran(tmp_path, problems, backend)
    assert not again.computed and len(again.found) == len(ANSWERS)


@pytest.mark.parametrize(
    ("changes", "fields", "message"),
    [
        ({"allow_code_execution": False}, {}, "allow_code_execution is False: generated programs run only"),
        ({"allow_code_execution": 1}, {}, "allow_code_execution is 1"),
        ({"problems_sha256": "0" * 64}, {}, "problems_sha256 is 000"),
        ({"limits": {"seconds": 0}}, {}, "seconds is 0:"),
        ({"problems_file": "nowhere.jsonl"}, {}, "file is nowhere.jsonl: no such file"),
        ({}, {"problem": "mine/7"}, "prompt is 'mine/7': no problem has that id; the first is 'mine/0'"),
    ],
    ids=["not-allowed", "not-true", "digest", "limit", "file", "problem"],
)
def test_misuse_is_refused_before_anything_is_run(
    changes: dict[str, Any], fields: dict[str, Any], message: str, problems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    good = unit("    return x + 1\n", settings_of(problems))
    wrong = unit(**({"answer": "    return x + 1\n", "settings": settings_of(problems, **changes)} | fields))
    with pytest.raises(ValueError, match=message):
        run_programs([good, wrong])
