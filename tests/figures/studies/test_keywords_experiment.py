"""The keywords and the diversity experiment on tiny checkpoints: numbers of plain decodes, put together by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_lines import figures as main
from grouped import grouped
from study_runs import EXAMPLES, SHAPE, save_models

from paper_figures.runner.results import read_unit_rows
from paper_figures.statistics import AnswerScore, answer_scores, load_causal
from paper_figures.studies import diversity
from paper_figures.studies.answers import answers_of
from paper_figures.studies.keywords import tables
from paper_figures.table import Table
from rws_decode import RWS, Confidence, decode, load_predictor, load_reward

METHODS = ("default", "rws", "constant")


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [*save_models(tmp_path_factory.mktemp("models")), "--methods", *METHODS]


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the experiment once, for tests that only read it."""
    out = tmp_path_factory.mktemp("finished")
    assert main(["experiment", "keywords", *options, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def frame(finished: Path) -> pd.DataFrame:
    return read_unit_rows(finished)


def named(options: list[str], name: str) -> str:
    return options[options.index(f"--{name}") + 1]


@pytest.fixture(scope="module")
def plain(options: list[str], frame: pd.DataFrame) -> dict[str, list[tuple[Any, AnswerScore]]]:
    """Decode the prompts one by one by default and by rws of the first guide, and score the answers."""
    predictor, guide = load_predictor(named(options, "model")), load_reward(named(options, "rewards"))
    causal = load_causal(named(options, "causal"))
    answers: dict[str, list[tuple[Any, AnswerScore]]] = {}
    for method, rule in (("default", Confidence()), ("rws", RWS(8.0))):
        for example in EXAMPLES[:3]:
            prompt = example["prompt"]
            (trace,) = decode(
                predictor, [prompt], rule, reward=guide if rule.needs_reward else None, **grouped(**SHAPE)
            )
            answers.setdefault(method, []).append((trace, *answer_scores(causal, [prompt], [trace.text or ""])))
    return answers


@pytest.fixture(scope="module")
def named_tables(frame: pd.DataFrame) -> dict[str, Table]:
    return {table.name: table for table in tables(frame)}


def table(named_tables: dict[str, Table], name: str) -> pd.DataFrame:
    return pd.DataFrame(named_tables[name].rows)


def per_text(scores: list[AnswerScore]) -> float:
    return sum(score.perplexity for score in scores) / len(scores)


def test_perplexities_are_those_of_plain_decodes(
    options: list[str], named_tables: dict[str, Table], plain: dict[str, list[tuple[Any, AnswerScore]]]
) -> None:
    rows = table(named_tables, "perplexity_and_god")
    rows = rows[rows["guide"] == named(options, "rewards")].set_index(["method", "measure"])
    values = {name: per_text([score for _, score in runs]) for name, runs in plain.items()}
    for method, value in values.items():
        row = rows.loc[(method, "perplexity_per_text")]
        assert row["mean"] == pytest.approx(value, rel=1e-5) and row["low"] <= row["mean"] <= row["high"]
    against = rows.loc[("default", "perplexity_per_text")]
    assert against["difference"] == pytest.approx(values["default"] - values["rws"], rel=1e-4)
    assert against["pairs"] == 3
    assert against["difference_low"] <= against["difference"] <= against["difference_high"]
    for measure in ("god_tokens", "god_steps"):
        mean = sum(getattr(trace, measure) for trace, _ in plain["rws"]) / 3
        assert rows.loc[("rws", measure)]["mean"] == pytest.approx(mean)


@pytest.fixture(scope="module")
def diverse(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Return the rows of the diversity experiment, run once on all four prompts."""
    out = tmp_path_factory.mktemp("diverse")
    more = ["--data", "examples:all", "--prompts", "4"]
    assert main(["experiment", "diversity", *options, *more, "--out", str(out)]) == 0
    return read_unit_rows(out)


@pytest.fixture(scope="module")
def diversity_tables(diverse: pd.DataFrame) -> dict[str, Table]:
    return {table.name: table for table in diversity.tables(diverse)}


def texts_of(answers: pd.DataFrame, guide: str, method: str) -> list[list[str]]:
    rows = answers[(answers["guide"] == guide) & (answers["method"] == method)].sort_values("example")
    return [text.split() for text in rows["text"]]


def distinct(lines: list[list[str]], n: int) -> float:
    grams = {tuple(line[start : start + n]) for line in lines for start in range(len(line) - n + 1)}
    total = sum(len(line) for line in lines)
    return len(grams) / total if total else 0.0


def test_table_counts_different_words_over_all_words(diverse: pd.DataFrame, diversity_tables: dict[str, Table]) -> None:
    rows, answers = pd.DataFrame(diversity_tables["distinct"].rows), answers_of(diverse)
    assert len(rows) == 2 * len(METHODS) and set(rows["answers"]) == {4}
    assert [methods[0] for methods in rows.groupby("guide")["method"].agg(list)] == ["rws", "rws"]
    for _, row in rows.iterrows():
        lines = texts_of(answers, row["guide"], row["method"])
        assert row["distinct_1"] == pytest.approx(distinct(lines, 1))
        assert row["distinct_2"] == pytest.approx(distinct(lines, 2))
        assert row["words"] == sum(map(len, lines)) / 4
        assert row["repeated"] == 1 - len({tuple(line) for line in lines}) / 4
