"""The study on dialogues: judged by reward models, and by a real HTTP server in place of an LLM."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_lines import figures as main
from grouped import grouped
from judge_server import JudgeServer, answers, longer
from scipy import stats
from study_runs import save_dialogues

from paper_figures.extra.judging.dialogues import dialogues_of
from paper_figures.runner import read_unit_rows
from paper_figures.studies.answers import answers_of
from rws_decode import RWS, Confidence, Dialogue, Temperature, decode, load_predictor, load_reward

TURNS = [
    ("the cat sat on a mat .", "then the dog ran"),
    ("red blue", "it was small"),
    ("a dog ran under the tree", "the bird flew over the hill ."),
    ("it was red and blue", "a cat"),
    ("the small bird", "and then ?"),
]
SHAPE = {"length": 8, "steps": 4, "block": 8}
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"question_id": 81 + index, "category": "x", "turns": turns} for index, turns in enumerate(TURNS)]
    return save_dialogues(tmp_path_factory.mktemp("models"), rows)


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    words = ["experiment", "mt-bench", "--data", f"mt-bench:{models / 'questions.jsonl'}", "--prompts", "0"]
    words += ["--model", str(models / "model"), "--rewards", str(models / "one"), str(models / "two")]
    words += ["--reward-scale", "8", "--methods", "constant"]  # the others are test_study's
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def judged(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Tables, JudgeServer]]:
    out = tmp_path_factory.mktemp("judged")
    with JudgeServer(longer) as server:
        code, tables, _ = asked(options, out, server)
        assert code == 0
        yield out, tables, server


def asked(options: list[str], out: Path, server: JudgeServer, *extra: str) -> tuple[int, Tables, dict[str, Any]]:
    """Run with this server as judge; return the exit status, the tables and all that --json prints."""
    words = [*options, "--out", str(out), "--llm-judge", "test", "--base-url", server.url, "--yes", "--json", *extra]
    output = io.StringIO()
    with redirect_stdout(output):
        code = main(words)
    whole = json.loads(output.getvalue()) if code == 0 else {}
    return code, whole.get("tables", {}), whole


def test_turns_are_decoded_after_each_methods_answers(models: Path, judged: tuple[Path, Tables, JudgeServer]) -> None:
    predictor, reward = load_predictor(str(models / "model")), load_reward(str(models / "one"))
    frame = answers_of(read_unit_rows(judged[0]))
    guided = frame[frame["guide"] == str(models / "one")]
    for method in ("rws", "constant", "default"):
        rows = guided[guided["method"] == method].set_index(["example", "turn"])
        for index, (first, second) in enumerate(TURNS[:2]):
            history: tuple[str, ...] = ()
            for turn, prompt in enumerate((first, second)):
                row = rows.loc[str(81 + index), turn]
                rule = {"rws": RWS(8.0), "default": Confidence()}.get(method) or Temperature(row["mean_factor"])
                asks = Dialogue((*history, prompt))
                options: dict[str, Any] = {"reward": reward} if rule.needs_reward else {}
                (trace,) = decode(predictor, [asks], rule, **grouped(**SHAPE, **options))
                assert row["text"] == trace.text and tuple(row["history"]) == history
                (score,) = reward.score([asks], [trace.text or ""])
                assert row[f"score of {models / 'one'}"] == pytest.approx(score, abs=1e-4)
                history = (*history, prompt, trace.text or "")


def test_judge_sees_both_answers_of_a_dialogue_in_both_orders(judged: tuple[Path, Tables, JudgeServer]) -> None:
    out, _, server = judged
    whole = dialogues_of(answers_of(read_unit_rows(out)))
    wanted = set()
    for row in whole[whole["method"].isin(["rws", "constant"])].to_dict("records"):
        ours, default = "\n\n".join(row["replied"]), "\n\n".join(row["default_replied"])
        if ours != default:
            wanted |= {(ours, default), (default, ours)}
    assert len(row["asked"]) == 2
    assert {answers(arrival.body) for arrival in server.arrivals} == wanted
    assert len(server.arrivals) == len(wanted) > 0


def test_tables_follow_from_the_verdicts(judged: tuple[Path, Tables, JudgeServer], models: Path) -> None:
    out, tables, _ = judged
    with open(out / "mt-bench" / "verdicts.csv", newline="") as stream:
        records = list(csv.DictReader(stream))
    assert len(records) == 2 * 2 * 2 * len(TURNS)  # guides, methods, orders
    for guide in (str(models / "one"), str(models / "two")):
        for method in ("rws", "constant"):
            rows = [row for row in records if (row["guide"], row["method"]) == (guide, method)]
            sides = {
                order: {row["example"]: row["choice"] for row in rows if row["order"] == order}
                for order in ("first", "second")
            }
            first = [{"1": 1.0, "2": 0.0, "tie": 0.5}[sides["first"][name]] for name in sides["first"]]
            second = [{"2": 1.0, "1": 0.0, "tie": 0.5}[sides["second"][name]] for name in sides["first"]]
            line = {"guide": guide, "method": method}

            def mean(table: str, measure: str, line: dict[str, str] = line) -> float:
                wanted = line | {"measure": measure}
                return next(row["mean"] for row in tables[table] if wanted.items() <= row.items())

            assert mean("llm_win_rates", "both") == pytest.approx(np.mean([first, second]))
            assert mean("llm_orders", "as_first") == pytest.approx(np.mean(first))
            assert mean("llm_orders", "as_second") == pytest.approx(np.mean(second))
            pairs = list(zip(first, second, strict=True))
            wins, losses = pairs.count((1.0, 1.0)), pairs.count((0.0, 0.0))
            assert mean("llm_win_rates", "win") == pytest.approx(wins / len(TURNS))
            assert mean("llm_orders", "identical") == pairs.count((0.5, 0.5)) / len(TURNS)
            (sign,) = [row for row in tables["llm_sign_tests"] if line.items() <= row.items()]
            assert (sign["wins"], sign["draws"], sign["losses"]) == (wins, len(TURNS) - wins - losses, losses)
            decided = wins + losses
            assert sign["p"] == pytest.approx(stats.binomtest(wins, decided).pvalue if decided else 1.0)
            assert sign["p"] <= sign["p_holm"] <= 1


def test_second_run_and_summarize_ask_nothing(
    options: list[str], models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, out = [*options, "--rewards", str(models / "one"), "--prompts", "3"], tmp_path
    assert main([*options, "--out", str(out)]) == 0
    assert "no LLM judge has judged" in capsys.readouterr().out
    with JudgeServer(longer) as server:
        _, tables, _ = asked(options, out, server)
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
        arrived = len(server.arrivals)
        capsys.readouterr()
        code, again, whole = asked(options, out, server)
        assert code == 0 and again == tables and whole["units"]["computed"] == 0
        assert "0 requests (" in capsys.readouterr().err and arrived == len(server.arrivals) > 0
    assert main(["summarize", str(out / "mt-bench"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["mt-bench"] == tables
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before
