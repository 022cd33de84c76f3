"""The laws study: its leaks add up, its curve bounds every law, a small run, and its record."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_lines import figures as main
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.data import loaders
from paper_figures.recorded import FOLDERS, read_recorded
from paper_figures.statistics import LEAKS, MEASURES, clustered_interval, least_divergence, sampler_values
from paper_figures.statistics import leaks as leaks_of
from paper_figures.statistics.drawn_ranking import drawn_ranking_log_prob
from paper_figures.studies import laws
from paper_figures.studies.evidence_arms import addresses_of
from rws_decode import Options, Shape, decode, load_predictor, load_reward, strategy_log_prob
from rws_decode.extra.testing import tabulated_predictor
from rws_theory.worlds import MASK, JointTable

ROOT = Path(__file__).parents[3]
LENGTH, WORDS = 3, 2
TEXTS = list(product(range(WORDS), repeat=LENGTH))
TINY = st.integers(0, 2**20)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the study on two prompts of each world, with texts of four words and fewer methods."""
    with pytest.MonkeyPatch.context() as patch:
        for name, world in laws.WORLDS.items():
            given = ("left-to-right", "default") if world.given else ()
            both = ("default", "rws:8")
            patch.setitem(laws.WORLDS, name, replace(world, laws=both, split=both, given=given, length=4, words=(1, 2)))
        out = tmp_path_factory.mktemp("laws")
        report = laws.run(laws.LawsOptions(out=str(out), prompts=2))
        assert report["units"]["failed"] == 0 and report["units"]["computed"] == report["units"]["asked"]
        yield out


def test_a_small_run_has_every_leak_and_resumes(runs: Path) -> None:
    report = laws.run(laws.LawsOptions(out=str(runs), prompts=2))
    assert report["units"]["computed"] == 0
    found = {(row["world"], row["method"], row["measure"], row["leak"]) for row in report["tables"]["leaks"]}
    assert {("english:era", "default", measure, leak) for measure in MEASURES for leak in LEAKS} <= found
    assert ("english:era", "rws:8", "kl", "ranking drawn words and argmax") in found
    assert ("mini:exact", "rws:8", "reward", "words together") in found
    assert {(row["method"], row["words"]) for row in report["tables"]["orders"]} == {
        ("left-to-right", 2), ("default", 1), ("default", 2)
    }  # fmt: skip
    assert {row["method"] for row in report["tables"]["frontier"]} == {"model", "default", "rws:8", "best-of:8"}


def test_a_recorded_text_is_computed_again(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--study", "laws", "--record", str(tmp_path)]
    assert main(["record", "--runs", str(runs), *shared]) == 0
    assert main(["verify", "--sample", "24", "--json", *shared]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["checked"] == found["equal"] + found["near_ties"] == 24
    path = tmp_path / "answers.parquet"
    texts = pd.read_parquet(path)
    texts["log_q"] += 0.1
    texts.to_parquet(path)
    assert main(["verify", "--sample", "8", "--json", *shared]) == 1
    assert "words a step" in json.loads(capsys.readouterr().out)["differ"][0]["answer"]


def test_the_pages_tell_the_headroom_and_the_distributions_over_speeches() -> None:
    names = ("sampling-distributions", "headroom", "evidence-findings")
    page, tables, readme = ((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in names)
    readme = " ".join(readme.split())
    cells = re.findall(r"^\| (?:RWS, scale 8|random order) \|.*?\| (\S+) \[(\S+), (\S+)\] \|", tables, re.M)
    rws, other, in_mini, *_ = ("{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * float(end) for end in c)) for c in cells)
    assert f"takes {rws}, as its fixed factor does, random order {other}; in `mini` {in_mini}." in readme
    record = read_recorded(FOLDERS["laws"])
    values = sampler_values(record.answers, record.frontiers, "english:era")
    for key, measure in (("rws:8", "reward"), ("rws:8", "kl"), ("random-order", "reward")):
        own = values[key, 2, "commit"][measure]
        ends = clustered_interval(own, addresses_of("english:era", own.index))[1:]
        assert "[{:.2f}, {:.2f}]".format(*ends) in page


def test_a_text_with_gaps_is_scored_whole() -> None:
    prompt, whole = loaders.Prompt("a", ("Tom has a [MASK:2] and [MASK:2] .",)), "tom has a {} {} and {} {} ."
    for drawing in ("commit", "given"):
        answer = "red ball a dog"
        unit = laws.unit_of("mini:exact", "default", 1, drawing, prompt, answer, 0)
        unit = replace(unit, length=4, steps=4, block=4)
        ((row,),) = laws.work([unit])
        predictor, reward = load_predictor("mini"), load_reward("exact")
        if drawing == "given":
            text = whole.format(*answer.split())
        else:
            options = Options(sampling_temperature=1.0, drawing="commit", seed=unit.seed)
            (trace,) = decode(predictor, [unit.prompt], "default", Shape(4, 4, 4), options=options)
            text = predictor.decode_answer(trace.completed.tolist())
        assert row["final_reward"] == pytest.approx(reward.score(["tom has a"], [text.removeprefix("tom has a ")])[0])


def world_of(seed: int) -> tuple[JointTable, np.ndarray, np.ndarray]:
    """Return a world, p of each text, and a reward of each."""
    rng = np.random.default_rng(seed)
    table = JointTable(rng.normal(0, 1.5, (WORDS,) * LENGTH))
    return table, np.exp([table.log_prob(text) for text in TEXTS]), rng.normal(0, 1, len(TEXTS))


def law_of(table: JointTable, method: str, steps: int) -> np.ndarray:
    shape, seeds = Shape(LENGTH, steps, LENGTH), Options(sampling_temperature=1.0, drawing="commit")
    return np.exp(strategy_log_prob(tabulated_predictor(table), [[]], TEXTS, method, shape, options=seeds).log_prob)


def drawn_first(table: JointTable, commits: int, scale: float) -> tuple[np.ndarray, float]:
    """Return the law of the loop that ranks drawn words, by listing all draws, and the mean of the bound on log q."""
    paths = {((MASK,) * LENGTH, (-1,) * LENGTH): 1.0}
    for step in range(-(-LENGTH // commits)):
        after: dict[Any, float] = {}
        for (canvas, when), mass in paths.items():
            log_p = table.conditionals(np.array(canvas))
            value = scale * log_p - np.logaddexp.reduce(scale * log_p, axis=1, keepdims=True)
            masked = [i for i in range(LENGTH) if canvas[i] == MASK]
            for words in product(range(WORDS), repeat=len(masked)):
                share = np.exp(sum(log_p[i, w] for i, w in zip(masked, words, strict=True)))
                ranked = sorted(zip(masked, words, strict=True), key=lambda pair: (-value[pair], pair[0]))
                new, steps = list(canvas), list(when)
                for i, word in ranked[:commits]:
                    new[i], steps[i] = word, step
                after[tuple(new), tuple(steps)] = after.get((tuple(new), tuple(steps)), 0.0) + mass * share
        paths = after
    law, bound = np.zeros(len(TEXTS)), 0.0
    for (text, when), mass in paths.items():
        law[TEXTS.index(text)] += mass
        bound += mass * drawn_ranking_log_prob(
            lambda canvases: [table.conditionals(canvas) for canvas in canvases], np.array(text), np.array(when), scale
        )
    return law, bound


def greedy_of(table: JointTable, method: str, steps: int) -> np.ndarray:
    (trace,) = decode(tabulated_predictor(table), [[]], method, Shape(LENGTH, steps, LENGTH))
    return np.array([float(trace.tokens.tolist() == list(text)) for text in TEXTS])


@given(TINY, st.sampled_from([(1, 3), (2, 2), (3, 1)]), st.sampled_from([1.0, 3.0]))
def test_the_leaks_add_up_and_one_word_a_step_leaks_nothing(seed: int, size: tuple[int, int], scale: float) -> None:
    table, p, reward = world_of(seed)
    method = "default" if scale == 1.0 else f"temperature:{scale:g}"
    words, steps = size
    one, several = law_of(table, method, LENGTH), law_of(table, method, steps)
    ranked, bound = drawn_first(table, words, scale)
    best = greedy_of(table, method, steps)
    assert np.allclose(one, p) and (words > 1 or np.allclose(several, p))  # T87
    assert ranked.sum() == pytest.approx(1)
    exact = [float(q @ np.log(np.where(q > 0, q, 1.0))) for q in (p, several, ranked, best)]
    assert bound >= exact[2] - 1e-9  # T89
    # As the study has them: means over prompts, here one row with the exact means of each sampler.
    rows = zip((p, several, ranked, best), (exact[0], exact[1], bound, exact[3]), strict=True)
    frames = [
        pd.DataFrame({"kl": log_q - q @ np.log(p), "log_prob": q @ np.log(p), "reward": q @ reward}, index=[0, 1])
        for q, log_q in rows
    ]
    keys = [("model", 1, "commit"), *((method, words, drawing) for drawing in ("commit", "completion", "greedy"))]
    found = list(leaks_of(dict(zip(keys, frames, strict=True)), "tiny"))
    for measure in ("kl", "log_prob", "reward"):
        own = [leak for leak in found if leak.measure == measure]
        assert [leak.leak for leak in own] == list(LEAKS)
        assert sum(leak.change.mean for leak in own) == pytest.approx((frames[-1] - frames[0])[measure].mean())


@given(TINY, st.sampled_from(["default", "temperature:3", "left-to-right", "random-order"]), st.sampled_from([1, 2]))
def test_no_law_is_nearer_than_the_tilt_of_its_reward(seed: int, method: str, steps: int) -> None:
    table, p, reward = world_of(seed)
    betas = np.linspace(0, 4, 81)
    log_z = np.log(np.exp(np.multiply.outer(betas, reward)) @ p)
    ranked, bound = drawn_first(table, 2, 1.0)
    random = np.random.default_rng(seed).dirichlet(np.ones(len(TEXTS)))
    draws = p[:, None] * p  # best of 2
    kept = np.where(reward[:, None] >= reward, np.arange(len(TEXTS))[:, None], np.arange(len(TEXTS)))
    best = np.bincount(kept.ravel(), draws.ravel(), len(TEXTS))
    for q in (law_of(table, method, steps), ranked, greedy_of(table, "default", steps), random, best):
        divergence = float(q @ (np.log(np.where(q > 0, q, 1.0)) - np.log(p)))
        assert divergence >= least_divergence(np.array([q @ reward]), betas, log_z)[0] - 1e-9
    assert best @ (np.log(best) - np.log(p)) <= np.log(2) - 1 / 2 + 1e-9  # T90
    assert bound - ranked @ np.log(p) >= least_divergence(np.array([ranked @ reward]), betas, log_z)[0] - 1e-9
