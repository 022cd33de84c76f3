"""Dialogues side by side: which are shown follows a rule, and what is shown is what was decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_runs import save_dialogues
from test_mt_bench import SHAPE, TURNS

from paper_figures.__main__ import main
from paper_figures.runner.results import read_unit_rows
from paper_figures.studies.summaries.answers import answers_of, dialogues_of
from paper_figures.studies.summaries.side_by_side import page, pick, side_by_side
from paper_figures.studies.work.measuring import text_pieces
from rws_decode.predictors import load_predictor
from rws_decode.trace.trace import load

NAMES = [str(81 + index) for index in range(len(TURNS))]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = zip(NAMES, TURNS, strict=True)
    rows = [{"question_id": int(name), "category": "x", "turns": turns} for name, turns in named]
    return save_dialogues(tmp_path_factory.mktemp("models"), rows)


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    words = ["experiment", "examples", "--data", f"mt-bench:{models / 'questions.jsonl'}", "--prompts", "0"]
    words += ["--model", str(models / "model"), "--rewards", str(models / "one"), str(models / "two")]
    words += ["--reward-scale", "8"]
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the experiment once, for tests that only read it."""
    out = tmp_path_factory.mktemp("finished")
    assert main([*options, "--out", str(out), "--show", "2"]) == 0
    return out


@pytest.fixture(scope="module")
def answers(finished: Path) -> pd.DataFrame:
    return answers_of(read_unit_rows(finished))


def test_first_dialogues_are_shown_as_they_were_decoded(finished: Path, answers: pd.DataFrame, models: Path) -> None:
    shown = json.loads((finished / "examples" / "examples.json").read_text())
    assert [dialogue["name"] for dialogue in shown["dialogues"]] == ["81", "82"] and shown["test"] == len(TURNS)
    for dialogue, asked in zip(shown["dialogues"], TURNS, strict=False):
        assert [turn["prompt"] for turn in dialogue["turns"]] == list(asked)
        for number, turn in enumerate(dialogue["turns"]):
            who = [(answer["method"], answer["guide"]) for answer in turn["answers"]]
            guides = [str(models / "one"), str(models / "two")]
            pairs = [(method, guide) for method in ("rws", "constant") for guide in guides]
            assert who == [("default", None), *pairs] and turn["answers"][0]["same"]
            for answer in turn["answers"]:
                rows = answers[(answers["example"] == dialogue["name"]) & (answers["turn"] == number)]
                rows = rows[rows["method"] == answer["method"]]
                row = (rows if answer["guide"] is None else rows[rows["guide"] == answer["guide"]]).iloc[0]
                assert answer["text"] == row["text"] and answer["same"] == (row["text"] == turn["answers"][0]["text"])
                assert answer["scores"] == {guide: row[f"score of {guide}"] for guide in guides}


def test_tokens_carry_the_step_of_the_trace(finished: Path, answers: pd.DataFrame, models: Path) -> None:
    predictor = load_predictor(str(models / "model"))
    (folder,) = (finished / "examples").glob("units-*")
    for row in answers.to_dict("records"):
        trace = load(folder / row["trace"])
        assert "".join(row["pieces"]) == trace.text == row["text"]
        assert list(row["piece_steps"]) == trace.commit_step[: len(row["pieces"])].tolist()
        assert predictor.decode_answer(trace.tokens[: len(row["pieces"])].tolist()) == row["text"]


def test_page_states_the_rule_and_how_often_nothing_differs(finished: Path, answers: pd.DataFrame) -> None:
    text = (finished / "examples" / "examples.md").read_text()
    assert f"Shown are 2 of {len(TURNS)} test prompts: the first of the test prompts, whatever was answered." in text
    said = dialogues_of(answers)
    for guide, rows in said[said["method"] == "rws"].groupby("guide"):
        share = (rows["replied"] == rows["default_replied"]).mean()
        assert f"{guide} (s_R 8) in {share:.0%} of the test prompts" in text
    assert "<sub>3</sub>" in text and "> then the dog ran" in text


def test_identical_is_of_all_prompts(
    options: list[str], finished: Path, answers: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.is_file()}
    assert main([*options, "--out", str(finished), "--show", "2", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["units"]["computed"] == 0
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.is_file()} == before
    said = dialogues_of(answers)
    for row in whole["tables"]["identical"]:
        rows = said[(said["guide"] == row["guide"]) & (said["method"] == row["method"])]
        if row["measure"] == "identical":
            assert row["mean"] == (rows["replied"] == rows["default_replied"]).mean() and row["n"] == len(TURNS)
        if row["measure"] == "identical_first":
            assert row["mean"] == (rows["replied"].str[0] == rows["default_replied"].str[0]).mean()


def test_rules_choose_what_they_say(answers: pd.DataFrame) -> None:
    said = dialogues_of(answers)
    rws = said[said["method"] == "rws"]
    changed = set(rws[rws["replied"] != rws["default_replied"]]["example"])
    different = [name for name in NAMES if name in changed]
    assert pick(answers, NAMES, "different", 2)["names"] == different[:2]
    assert pick(answers, NAMES, "different", 9)["different"] == len(different)
    drawn = [tuple(pick(answers, NAMES, "random", 2, seed)["names"]) for seed in range(6)]
    assert drawn[0] == tuple(pick(answers, NAMES, "random", 2, 0)["names"])
    assert len(set(drawn)) > 2 and all(sorted(names, key=NAMES.index) == list(names) for names in drawn)


def test_dialogue_that_broke_off_is_not_shown(answers: pd.DataFrame) -> None:
    broken = answers[~((answers["example"] == "81") & (answers["method"] == "rws") & (answers["turn"] == 1))]
    chosen = pick(broken, NAMES, "first", 2)
    assert chosen["names"] == ["82", "83"] and chosen["test"] == len(TURNS) - 1


def test_page_of_no_dialogue_says_so(answers: pd.DataFrame) -> None:
    same = answers[answers["method"].isin(["default", "rws"])].copy()
    same["text"] = "it"
    shown = side_by_side(same, pick(same, NAMES, "different", 2))
    assert shown["dialogues"] == [] and "Shown are 0 of 5" in page(shown) and "in 100% of" in page(shown)


@given(st.text(max_size=12))
def test_pieces_of_bytes_join_to_the_text(text: str) -> None:
    ids = list(text.encode())
    pieces = text_pieces(lambda given: bytes(given).decode(errors="replace"), ids)
    assert len(pieces) == len(ids) and "".join(pieces) == text


def test_pieces_follow_a_decoder_that_takes_spaces_back() -> None:
    words = ["it", "was", ".", "so"]

    def decode(ids: Any) -> str:
        return " ".join(words[token] for token in ids).replace(" .", ".")

    assert text_pieces(decode, [0, 1, 2, 3]) == ["it", " was", ".", " so"] and text_pieces(decode, []) == []
