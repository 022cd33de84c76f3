"""Programs of answers over the runner: each a row, in a thread and in a worker process, and the harness unharmed."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sandboxed import needs_bubblewrap

from paper_figures.data.loaders import human_eval_file, load_humaneval
from paper_figures.runner.executors import Backend, in_process, processes
from paper_figures.runner.runner import Report, run_units
from paper_figures.runner.units import Origin, Unit, batch_key
from paper_figures.sandbox import Limits
from paper_figures.studies.work.programs import EXECUTE, program_settings, run_programs

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


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("problems") / "problems.jsonl"
    row = {
        "task_id": "mine/0",
        "prompt": "def next_of(x):\n    '''Return the next.'''\n",
        "entry_point": "next_of",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(-1) == 0\n",
        "canonical_solution": "    return x + 1\n",
    }
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def unit(answer: str | None, settings: dict[str, Any], problem: str = "mine/0", **fields: Any) -> Unit:
    labels = {} if answer is None else {"answer": answer}
    fields = {"strategy": EXECUTE, "settings": settings, "labels": labels} | fields
    return Unit(experiment="programs", prompt=problem, predictor=None, **fields)


def settings_of(problems: Path, **changes: Any) -> dict[str, Any]:
    return program_settings(problems, allow_code_execution=True, limits=LIMITS) | changes


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


@needs_bubblewrap
def test_rows_follow_from_problems_answer_and_limits(problems: Path) -> None:
    settings = settings_of(problems)
    stored = json.loads(json.dumps(settings))
    assert stored == settings and settings["limits"] == asdict(LIMITS)
    other = settings_of(problems, limits=asdict(Limits(seconds=1)))
    different = [unit("a", settings), unit("b", settings), unit("a", other), unit("a", settings, problem="mine/1")]
    assert len(set(different)) == 4
    # What is not said is as it comes.
    ((row,),) = run_programs([unit("return x + 1", {"allow_code_execution": True, "problems_file": str(problems)})])
    assert row["passed"] and set(row) == {"passed", "status", "detail", "how", "seconds"}


@needs_bubblewrap
def test_problems_of_the_package_are_found_by_id() -> None:
    settings = program_settings(allow_code_execution=True, limits=Limits(seconds=20))
    assert settings["problems_sha256"] == load_humaneval(human_eval_file()).origin.sha256
    problem = load_humaneval(human_eval_file()).rows[50]
    units = [unit(problem.canonical_solution, settings, problem.id), unit("    return ''", settings, problem.id)]
    assert [row["passed"] for (row,) in run_programs(units)] == [True, False]


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
