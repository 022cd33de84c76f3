"""Studies on anyone's prompts and models: named in any way they are the same units, and every study runs by options."""

import json
import shutil
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from command_lines import figures as main
from command_lines import outcome

from paper_figures.runner import read_failures, read_unit_rows
from paper_figures.studies import STUDIES
from rws_decode.extra.testing import tiny_checkpoint

TEXTS = ["the cat sat on a mat .", "a dog ran"]
LAYOUTS = {"llada": "llada", "dream": "dream", "guide": "classifier", "other": "classifier", "causal": "causal"}
SHAPE = ["--length", "4", "--steps", "2", "--block", "2"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a predictor with examples, models of LLaDA's and Dream's layout, two rewards and a causal model."""
    root = tmp_path_factory.mktemp("models")
    examples = [{"kind": "a", "prompt": text} for text in ("it was red", *TEXTS)]
    tiny_checkpoint("bert", root / "model", files={"examples.json": examples})
    for seed, (name, layout) in enumerate(LAYOUTS.items()):
        tiny_checkpoint(layout, root / name, seed=seed)
    return root


def test_the_same_prompts_are_the_same_units(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second and third held-out prompt of the model, by number, as texts, and in files."""
    files = {"rows.jsonl": "".join(json.dumps({"prompt": text}) + "\n" for text in TEXTS)}
    files |= {"rows.json": json.dumps([{"id": 7, "prompt": text} for text in TEXTS])}
    files |= {"rows.csv": "\n".join(["prompt", *TEXTS]) + "\n", "rows.txt": "\n".join(TEXTS), "rows": "\n".join(TEXTS)}
    ways = {"examples": ["--examples", "1", "2"], "prompt": [word for text in TEXTS for word in ("--prompt", text)]}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        ways[name] = ["--data", f"text:{tmp_path / name}" if name == "rows" else str(tmp_path / name)]
    words = ["experiment", "precision", "--out", str(tmp_path / "out"), "--model", str(models / "model"), *SHAPE]
    words += ["--json", "--scales", "2", "--strategies", "temperature", "--reward", str(models / "guide")]
    results = {}
    for number, way in enumerate(ways):
        status, out, _ = outcome(main, [*words, *ways[way]], capsys)
        assert status == 0
        report = json.loads(out)
        assert (report["units"]["computed"] == 0) is (number > 0), way
        results[way] = report["tables"]
    assert len({json.dumps(tables) for tables in results.values()}) == 1
    assert set(read_unit_rows(tmp_path / "out")["example"]) == {"1", "2"}


@pytest.mark.parametrize("option", ["--model", "--rewards", "--judges", "--causal", "a bare function"])
def test_a_model_that_cannot_be_loaded_ends_a_study_before_its_units(
    option: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bare.py").write_text("def length(answer): return float(len(answer))")
    shutil.copytree(models / ("model" if option == "--model" else "causal" if option == "--causal" else "guide"), "bad")
    Path("bad/model.safetensors").unlink()
    given = ["--rewards", "bare:length"] if option.startswith("a") else [option, "./bad"]
    words = [*words_of("controls", models, "model", tmp_path), *given, "--prompt", TEXTS[0]]
    status, _, err = outcome(main, words, capsys)
    assert status == 2 and ("bare" if option.startswith("a") else "bad") in err.splitlines()[-1]
    assert not [*tmp_path.glob("controls/*/*.failed.json"), *tmp_path.glob("controls/*/*.parquet")]


@pytest.mark.parametrize(("study", "seconds"), [("controls", 20.0), ("controls", 0.0), ("precision", 20.0)])
def test_what_a_study_will_take_is_foretold_and_nothing_is_written(
    study: str, seconds: float, models: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paper_figures.studies.study._TIMING", seconds)
    words = [*words_of(study, models, "model", tmp_path / "out"), "--prompts", "2", "--json"]
    status, out, err = outcome(main, [*words, "--dry-run"], capsys)
    plan = json.loads(out)
    assert status == 0 and not (tmp_path / "out").exists() and plan["seconds"] > 0
    # The model does not speak the language of examples:keywords, so its own prompts are asked.
    assert study != "controls" or "note: --data is examples:a, prompts that" in err
    status, out, _ = outcome(main, words, capsys)
    rows, count = read_unit_rows(tmp_path / "out"), json.loads(out)["units"]["asked"]
    assert (status, plan["prompts"]) == (0, 2) and count <= plan["units"] <= 2 * count
    assert plan["forwards"] == rows["forwards" if study == "controls" else "steps_run"].sum()
    # One kind of each set of models is timed at least; the others have their own numbers of calls.
    assert plan["timed_units"] == 4 if not seconds else plan["timed_units"] > 4


# What a study needs besides a model, a prompt and reward models.
MORE = {
    "commit-order": [],
    "rivals": ["--strategies", "threshold:0.9", "rws:8"],
    "precision": ["--scales", "2"],
    "scale-path": ["--causal", "none"],
    "temperature": ["--scales", "2", "--causal", "none"],
    "frequency": ["--repetitions", "1"],
    "overhead": ["--repetitions", "1"],
}
FEW = ("controls", "reward-bench", "mt-bench", "diversity", "temperature", "frequency", "overhead", "keywords")
REFUSED = {
    "humaneval": "has no right answer to be checked: --data humaneval has tests",
    "keywords": "has no keywords, which this study counts: --data FILE with the fields prompt and keywords has",
}


def words_of(study: str, models: Path, model: str, out: Path) -> list[str]:
    words = ["experiment", study, "--out", str(out), "--model", str(models / model), *SHAPE, *MORE.get(study, [])]
    if study in ("commit-order", "rivals", "precision", "scale-path"):
        words += ["--reward", str(models / "guide")]
        return words + (["--judge", str(models / "other")] if study == "scale-path" else [])
    words += ["--rewards", str(models / "guide"), "--judges", str(models / "other")]
    words += ["--methods", "rws", "constant"] if study in FEW else []
    return words + ([] if study == "temperature" else ["--reward-scale", "8"])


# A layout of each kind, by turns. The evidence study is of the worlds that it records; its methods run on any model in
# `rivals` and `controls`.
@pytest.mark.long
@pytest.mark.parametrize(
    ("study", "model"),
    [*zip((study for study in STUDIES if study not in ("evidence", "laws")), cycle(["llada", "dream"]))],
)
def test_every_study_runs_on_any_model_and_prompt_or_says_what_is_lacking(
    study: str, model: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words_of(study, models, model, tmp_path / "out"), "--prompt", TEXTS[0], "--prompt", TEXTS[1]]
    status, out, err = outcome(main, words, capsys)
    if study in REFUSED:
        assert (status, out) == (2, "") and err.count("\n") == 1 and not (tmp_path / "out").exists()
        assert REFUSED[study].format(model=models / model) in err
        return
    assert status == 0 and read_failures(tmp_path / "out") == []
    assert err.startswith(f"{study}: loading {models / model}, ")
    assert ("note: coherence is left out" in err) is (study not in ("rivals", "precision"))
    tables, _, last = out.rpartition("\nresults: ")
    assert all(len(line) <= 100 or str(tmp_path) in line for line in tables.splitlines())
    _, _, named = " ".join(last.split()).partition(" tables: ")
    assert named.startswith(str(tmp_path / "out" / study)) and named.endswith(".csv")
