"""The evidence study: its arms are what their names say, a run resumes, and its record can be computed again."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_lines import figures as main
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.extra.verify.again import verify
from paper_figures.recorded import FOLDER, FOLDERS, MEASURES, read_recorded, recorded, with_one_score
from paper_figures.recorded.comparisons import MADE, Comparison, compare, confidence_texts
from paper_figures.recorded.completed import completed
from paper_figures.recorded.measures import difference_interval, differences_of, scores_of
from paper_figures.statistics import clustered_interval, text_pairs
from paper_figures.studies import evidence, evidence_arms
from paper_figures.studies.evidence_arms import METHODS, WORLDS, Arm, addresses_of, arms_of, numbers_of_runs
from paper_figures.studies.prompts import prompts_of
from rws_decode.checkpoints import packages
from rws_theory import reward_factor

ROOT = Path(__file__).parents[3]
# The same arms in a smaller world: a quarter of the words, and one tilt.
WORLD = replace(WORLDS["english:era"], reward="keywords:peace", length=8, steps=4, block=8, tilts=(1.0,))
SMALL: dict[str, Any] = {"models": (WORLD.name,), "prompts": 2, "validation": 1, "weights": 2}
SMALL |= {"reward_scale": (2.0,), "drawn_scale": 2.0}


@pytest.fixture(scope="module", autouse=True)
def small_world() -> Iterator[None]:
    """Add the smaller world to those of the study, with fewer scales to choose from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORLDS, WORLD.name, WORLD)
        patch.setattr(evidence_arms, "GRID", (2.0, 8.0))
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the study on two prompts of the exact world."""
    out = tmp_path_factory.mktemp("evidence")
    report = evidence.run(evidence.EvidenceOptions(out=str(out), **SMALL))
    assert report["units"]["failed"] == 0
    yield out


@pytest.fixture(scope="module")
def answers(runs: Path) -> pd.DataFrame:
    """Return the answers of that run, with their regrets."""
    rows = evidence.read_rows(runs)
    return completed(evidence.answers_of(rows), evidence.frontiers_of(rows))


def of(answers: pd.DataFrame, method: str, number: float | None = None, drawn: bool = False) -> pd.DataFrame:
    """Return a test arm's answers by prompt, in its usual number of steps."""
    same = (answers["method"] == method) & (answers["drawn"] == drawn) & (answers["split"] == "test")
    same &= answers["number"].isna() if number is None else answers["number"] == number
    return answers[same & (answers["steps"] == WORLD.steps)].set_index("prompt").sort_index()


RUNS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=2
)


@given(runs=RUNS, seed=st.integers(0, 5))
def test_another_prompts_rewards_are_used_once_each_and_never_ones_own(runs: dict[str, list[float]], seed: int) -> None:
    marked = {name: [float(index), *rewards[1:]] for index, (name, rewards) in enumerate(sorted(runs.items()))}
    swapped = numbers_of_runs("swapped", 8.0, marked, seed)
    given_to = {name: int(numbers["rewards"][0]) for name, numbers in swapped.items()}
    assert sorted(given_to.values()) == list(range(len(runs)))
    assert all(donor != index for index, donor in enumerate(given_to[name] for name in sorted(runs)))


@given(runs=RUNS, scale=st.floats(0.1, 32))
def test_controls_keep_what_their_names_say(runs: dict[str, list[float]], scale: float) -> None:
    factors = {name: np.array([reward_factor(reward, scale) for reward in rewards]) for name, rewards in runs.items()}
    constant, schedule, shuffled = (numbers_of_runs(name, scale, runs) for name in ("constant", "schedule", "shuffled"))
    mean_by_step = [np.mean([factors[name][step] for name in runs]) for step in range(4)]
    for name, rewards in runs.items():
        assert constant[name]["scale"] == pytest.approx(factors[name].mean())
        assert schedule[name]["factors"] == pytest.approx(mean_by_step)
        assert sorted(shuffled[name]["rewards"]) == sorted(rewards)


def test_a_text_has_one_score_and_draws_with_itself() -> None:
    raw, record = read_recorded(FOLDER), recorded()
    texts = ["world", "split", "prompt", "text"]
    rewards = raw.answers.groupby(texts)["reward"]
    spread = rewards.max() - rewards.min()
    assert 0 < spread.max() < 1e-4  # batches turn last digits; another text of the record differs by more
    assert record.answers.groupby(texts)["reward"].nunique().max() == 1
    assert (np.abs(with_one_score(raw.answers)["reward"] - raw.answers["reward"]) <= spread.max()).all()
    arms = arms_of(record.answers, "mini:mini")
    for scale in (2.0, 4.0, 8.0):
        rws = arms[Arm("rws", scale)]
        for other in (arms[Arm(method, scale)] for method in ("constant", "schedule", "swapped")):
            scores = (scores_of(frame, "mini:mini", "net mini-judge") for frame in (rws, other))
            outcomes = differences_of("net mini-judge", *scores)
            same = (rws["text"] == other["text"]).to_numpy()
            assert same.any() and (outcomes[same] == 0).all() and outcomes[~same].any()


def test_every_arm_answers_every_prompt(answers: pd.DataFrame) -> None:
    test = answers[answers["split"] == "test"]
    assert set(test.groupby(["method", "number", "drawn", "steps"], dropna=False).size()) == {2}
    assert set(test["method"]) == set(METHODS)
    assert (test["regret"] > -1e-6).all()


def test_a_record_of_a_run_is_computed_again(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--runs", str(runs), "--record", str(tmp_path), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["files"]) == {"answers.parquet", "frontiers.parquet", "about.json"}
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["record", "--runs", str(runs), "--record", str(tmp_path)]) == 0
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main(["verify", "--record", str(tmp_path), "--sample", "12", "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"checked": 12, "equal": 12, "near_ties": 0, "differ": []}


def test_the_shipped_record_is_whole_and_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.suffix == ".parquet") <= 5 * 2**20
    record = recorded()
    test = record.answers[record.answers["split"] == "test"]
    counts = test.groupby(["world", "method", "number", "drawn", "steps"], dropna=False).size()
    assert set(test["world"]) == set(evidence.EVIDENCE_WORLDS) and set(counts) == {record.about["prompts"]}
    assert record.about["prompts"] >= 400 and record.about["validation"] >= 64
    validation = record.answers[record.answers["split"] == "validation"]
    for world, scales in record.about["chosen"].items():
        means = validation[validation["world"] == world].groupby(["method", "number"])["reward"].mean()
        assert {method: means[method].idxmax() for method in ("rws", "temperature")} == scales


@pytest.mark.long
@pytest.mark.parametrize(
    ("study", "world"),
    [
        ("antibody", "antibody:human"),
        ("antibody-laws", "antibody:human"),
        ("reactions", "reactions:balanced"),
        ("smollm2", "english:smollm2"),
    ],
)
def test_a_recorded_text_of_a_published_network_is_filled_again(study: str, world: str) -> None:
    record = read_recorded(FOLDERS[study])
    assert record.about["prompts"] >= 400 and set(record.answers["world"]) == {world}
    network = "smollm2" if study == "smollm2" else world.partition(":")[0]
    if not packages.is_installed(packages.PACKAGED[network]) or not find_spec("rdkit"):
        pytest.skip("published networks (make real)")
    rows = record.answers[record.answers["method"].isin(["default", "rws", "rws:8"])]  # the copies of others take long
    outcome = list(verify(record, rows.iloc[[len(rows) // 2]]))[-1]
    assert outcome.checked == outcome.equal + outcome.near_ties == 1


@pytest.mark.parametrize(
    ("study", "judge", "page"),
    [
        ("antibody", "net humanness", "docs/evidence-antibodies.md"),
        ("reactions", "net qed", "docs/guides/reactions.md"),
        ("smollm2", "log_prob", "docs/evidence-smollm2.md"),
    ],
)
def test_a_real_network_is_told_as_it_was_recorded(study: str, judge: str, page: str) -> None:
    tables, lines = told_of(study), rows_of(page)
    tables = {title: rows for title, rows in tables.items() if title in lines and "reward" in rows}
    assert len(tables) >= 11
    for title, rows in tables.items():
        reward, net = (rows[name].text().replace(f" {MEASURES[name].unit}", "") for name in ("reward", judge))
        assert lines[title].startswith(f"| {title} | {reward} | {net} | {rows['reward'].found.equal} |")
        assert study != "smollm2" or lines[title].endswith(f" | {rows['reward'].found.distinct} |")


@pytest.mark.long
def test_the_variation_of_the_factor_and_the_margin_are_told_as_recorded() -> None:
    text, lines = flat("docs/evidence-limits.md"), rows_of("docs/evidence-limits.md")
    for study in ("evidence", "antibody", "smollm2", "reactions"):
        answers = read_recorded(FOLDERS[study]).answers
        for world in evidence_arms.worlds_of(answers):
            arms = arms_of(answers, world)
            rws = [arms[arm] for scale in (1.0, 2.0, 4.0, 8.0) if (arm := Arm("rws", scale)) in arms]
            shares = [f"{evidence_arms.factor_variation(arm):.1%}" for arm in (*rws, arms[Arm("rws", 8.0, 1.0)])]
            assert re.findall(r"[\d.]+ %", lines[f"`{world}`"]) == [share.replace("%", " %") for share in shares]
            if study != "smollm2":
                (gain,) = (row.found for row in compared_at(study, 8.0)[world] if (row.measure, row.title) == GAIN)
                ends = (gain.difference, gain.low, gain.high)
                assert "{:.2f} [{:.2f}, {:.2f}] in".format(*(-ends[i] for i in (0, 2, 1))) in text
                assert "{:.0f} % [{:.0f}, {:.0f}]".format(*(-10 / end for end in ends)) in text
    assert "varies by [1.9, 0.0 and 2.5 %](evidence-limits.md)" in flat("docs/evidence-findings.md")


@pytest.mark.long
def test_the_exception_at_scale_two_is_told_as_recorded() -> None:
    kept = {(row.measure, row.arm.method): row for row in compared_at("evidence", 2.0)["english:era"]}
    reward, results, limits = (
        kept["reward", "constant"],
        flat("docs/evidence-findings.md"),
        flat("docs/evidence-limits.md"),
    )
    assert f"RWS has more: {reward.text()}" in results and f"is {reward.text()}" in limits
    assert reward.verdict == "better"
    nets = ", ".join(kept["net", method].text().removesuffix(" points") for method in MADE)
    assert f"in points: {nets}." in results
    answers = recorded().answers
    arms, unit = arms_of(answers, "english:era"), confidence_texts(answers, "english:era")["reward"].std(ddof=0)
    rws, fixed = arms[Arm("rws", 2.0)], arms[Arm("constant", 2.0)]
    values = ((rws["reward"] - fixed["reward"]) / unit).to_numpy(float)
    groups = {"prompts": np.arange(values.size), "pairs of texts": text_pairs(rws["tokens"], fixed["tokens"])}
    for name, group in {**groups, "speeches": addresses_of("english:era", rws["prompt"])}.items():
        _, low, high = clustered_interval(values, group)
        assert f"[{low:.2f}, {high:.2f}] over {name}" in limits
        assert name != "pairs of texts" or f"over {name} [{low:.2f}, {high:.2f}]" in results
    assert reward.by_speech is not None and reward.by_speech.verdict == "undecided"
    assert f"[{reward.by_speech.low:.2f}, {reward.by_speech.high:.2f}] with speeches as units" in limits


GAIN = ("reward", "best of 4")


def flat(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@cache
def compared_at(study: str, scale: float, drawn: bool = False) -> dict[str, list[Comparison]]:
    """Return a record's comparisons of RWS at one scale by world."""
    record = read_recorded(FOLDERS[study])
    answers = completed(record.answers, record.frontiers)
    chosen = (answers["number"] == scale) & (answers["drawn"] == drawn)
    found: dict[str, list[Comparison]] = {}
    for row in compare(answers[chosen | (answers["method"] != "rws") | (answers["split"] == "validation")]):
        found.setdefault(row.world, []).append(row)
    return found


def told_of(study: str, drawn: bool = False) -> dict[str, dict[str, Any]]:
    """Return what a record of one world says of RWS 8 minus each other arm, by measure."""
    tables: dict[str, dict[str, Any]] = {}
    (rows,) = compared_at(study, 8.0, drawn).values()
    for row in rows:
        tables.setdefault(row.title, {})[row.measure] = row
    return tables


def rows_of(page: str) -> dict[str, str]:
    """Return the lines of a page's tables by their first cell."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}


def test_results_and_page_tell_of_antibodies_as_they_were_recorded() -> None:
    record, twin = read_recorded(FOLDERS["antibody"]), told_of("antibody")
    text, results = flat("docs/evidence-antibodies.md"), flat("docs/evidence-findings.md")
    usual, best = (twin[title]["reward"] for title in ("confidence (default)", "best of 4"))
    assert f"gains {usual.text()} on confidence decoding" in results
    assert (
        f"in {twin['fixed factor of equal mean']['reward'].found.equal} cases it writes as its fixed factor;" in results
    )
    by_draws = told_of("antibody", True)
    constant, default = (
        by_draws[f"{title}, sampled"]["reward"] for title in ("fixed factor of equal mean", "confidence (default)")
    )
    assert f"RWS minus its fixed factor {constant.text()}, minus confidence decoding {default.text()}." in text
    ends = best.found.difference, best.found.high, best.found.low
    assert "best of 4 gains {:.2f} [{:.2f}, {:.2f}] on RWS".format(*(-end for end in ends)) in results
    assert twin["best of 4"]["net humanness"].text() in results
    arms = arms_of(completed(record.answers, record.frontiers), "antibody:human")
    both = arms[Arm("default", None, 1.0)], arms[Arm("default")]
    drawn = difference_interval(both, "antibody:human", "net humanness")
    assert drawn is not None and "{:.0f} [{:.0f}, {:.0f}] points".format(*(100 * end for end in drawn)) in text
    prompts = {prompt.name: prompt for prompt in prompts_of("antibodies:64", 400, 64).test}
    for arm in (Arm("default"), Arm("rws", 8.0)):
        rows = arms[arm].set_index("prompt")
        alike = [np.mean([*map(str.__eq__, rows["text"][name], prompts[name].labels["answer"])]) for name in rows.index]
        assert f"write {np.mean(alike):.0%} of the residues".replace("%", " %") in text


def test_the_reward_of_each_scale_is_told_as_it_was_recorded() -> None:
    arms = arms_of(recorded().answers, "english:era")
    mean = {arm: f"{scores_of(frame, 'english:era', 'reward').mean():.2f}" for arm, frame in arms.items()}
    one, two, eight = (mean[Arm("rws", scale)] for scale in (1.0, 2.0, 8.0))
    sentence = f"has {one} at s_R = 1, {two} at 2, {eight} at 8; confidence decoding {mean[Arm('default')]}."
    assert sentence in flat("docs/evidence-findings.md")
    addresses = addresses_of("english:era", arms[Arm("default")]["prompt"])
    assert addresses is not None and f"the {len(set(addresses))} speeches as units" in flat("docs/evidence-findings.md")
    counts = np.unique(addresses, return_counts=True)[1]
    assert sorted(counts, reverse=True) == [100, 80, 56, 33, 29, 28, 22, 20, 18, 9, 5]  # of the simulations
    assert addresses_of("mini:mini", ["test-1"]) is None and addresses_of("english:era", ["other"]) is None


@pytest.mark.parametrize("world", ["english:era", pytest.param("mini:mini", marks=pytest.mark.long)])
def test_one_recorded_answer_of_every_twentieth_arm_is_computed_again(world: str) -> None:
    """A change of the decoder that changes an answer fails here, until the record is made anew.

    `make reproduce` computes 40 answers of all arms again.
    """
    record = read_recorded(FOLDER)
    test = record.answers[(record.answers["world"] == world) & (record.answers["split"] == "test")]
    arms = [test["method"], test["number"].fillna(0.0), test["drawn"], test["steps"]]
    rows = test.groupby(arms).sample(1, random_state=0)[::20]
    *_, outcome = verify(record, rows)
    assert outcome.checked == len(rows) and not outcome.differ
