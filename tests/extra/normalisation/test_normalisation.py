"""The study of normalisation: a tiny run from end to end, and its record, recomputed in pandas."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_lines import figures as main

from paper_figures.extra.normalisation import again, search, study
from paper_figures.statistics import holm

NAME = "english:era/16/8"
ROOT = Path(__file__).parents[3]
WORDS = ["experiment", "normalisation", "--cells", NAME, "--prompts", "5", "--most-settings", "6"]


def test_a_tiny_run_goes_on_where_it_stopped(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "RUNGS", ((6, 2), (3, 4), (2, 6)))
    small = study.CELLS[NAME]._replace(length=8, steps=4)
    for name in (NAME, small.name):
        monkeypatch.setitem(study.CELLS, name, small)
    first, second = tmp_path / "first", tmp_path / "second"
    assert main([*WORDS, "--out", str(first), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    twins = [row["twin"] for row in report["tables"]["normalisation"]]
    assert {"confidence", "fixed factor", "tuned fixed factor", "sign turned"} < set(twins) and len(twins) == 9
    assert all(
        row["n"] == 5 and 0 <= row["observed"] <= row["attainable"] <= 1 for row in report["tables"]["normalisation"]
    )

    rows = pd.read_parquet(first / "normalisation" / "answers.parquet")
    validation = rows[rows["stage"] == "validation"]
    tries = validation[validation["setting"].str.contains("rws|temperature")].groupby("setting").size()
    for kind in ("rws", "temperature"):  # equal numbers of tries, on as many prompts
        assert sorted(tries[tries.index.str.contains(kind)]) == [2, 2, 2, 4, 6, 6]
    # One that was stopped goes on: only what is missing is decoded.
    for file in (first / "normalisation").rglob("decoded.jsonl"):
        kept = second / file.relative_to(first)
        kept.parent.mkdir(parents=True)
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    assert main([*WORDS, "--out", str(second)]) == 0
    files = ("answers.parquet", "normalisation.csv")
    assert [(first / "normalisation" / name).read_bytes() for name in files] == [
        (second / "normalisation" / name).read_bytes() for name in files
    ]

    capsys.readouterr()
    # A cell stops at the first look at which all four comparisons are decided.
    monkeypatch.setattr(study, "LOOK", 2)
    monkeypatch.setattr(study, "DECIDED", ("undecided", *study.DECIDED))
    assert main([*WORDS, "--out", str(second / "short"), "--until", "decided", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {row["n"] for row in report["tables"]["normalisation"]} == {2}


@pytest.mark.parametrize("cell", study.CELLS.values(), ids=str)
def test_further_test_prompts_are_new_ones_and_the_first_ones_stay(cell: Any) -> None:
    first, found = (study.cell_prompts(cell, count, 1) for count in (cell.first, study.TEST_PROMPTS))
    assert found.test[: cell.first] == first.test and found.validation == first.validation
    for part in ("text", "name"):
        assert len({getattr(prompt, part) for prompt in (*found.test, *found.validation)}) == 400 + 48


def test_texts_of_the_record_are_computed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, about = study.read_record()
    arms = frame[frame["stage"] == "test"].groupby(["arm", "cell"]).head(1)
    few = pd.concat(
        [arms[arms["cell"] == NAME], frame[(frame["cell"] == NAME) & (frame["stage"] == "validation")][::900]]
    )
    words = ["verify", "--study", "normalisation", "--sample", "1000", "--json"]
    monkeypatch.setattr(again, "read_record", lambda: (few, about))
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["checked"] == found["equal"] >= 7
    monkeypatch.setattr(again, "read_record", lambda: (few.assign(reward=few["reward"] + 0.1), about))
    assert main(words) == 1
    assert len(json.loads(capsys.readouterr().out)["differ"]) == found["checked"]


def test_cells_of_absent_networks_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "is_installed", lambda entry: False)
    with pytest.warns(UserWarning, match="reactions:balanced/16/8.*make real"):
        size, _, computed = again.again(1, 0)
    assert size == 1 and next(computed).checked == 1


def test_all_settings_are_those_of_the_plan() -> None:
    found = search.rws_settings(-1.0, 2.0, [-5.0, -6.0], [[-7.0, -7.5], [-6.0, -6.5]])
    assert len(found) == len({setting.name for setting in found}) == search.RUNGS[0][0]
    named = {(setting.centre, setting.spread): setting for setting in found}
    assert len(named) * len(search.SCALES) == len(found)
    assert (named["drafts", "third of it"].mean, named["drafts", "third of it"].sd) == (-6.75, 0.25 / 3)
    assert named["running", "SD of texts"].strategy.endswith("+sd:0.25")  # 0.5 in published SD
    factors = [float(setting.strategy.partition(":")[2]) for setting in search.factor_settings(84)]
    assert (factors[0], factors[-1]) == (0.1, 32) and np.ptp(np.diff(np.log(factors))) < 1e-4


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    assert main(["experiment", "normalisation", "--recorded", "--out", str(folder)]) == 0
    return folder / "normalisation"


def test_the_table_of_the_record_follows_from_its_rows_in_pandas(tables: Path) -> None:
    table = pd.read_csv(tables / "normalisation.csv").set_index(["cell", "twin"])
    rows = pd.read_parquet(study.RECORD / "answers.parquet")
    for cell, answers in rows.groupby("cell"):
        # What was chosen has the greatest mean reward of those that were tried on all 48 validation prompts.
        tried = answers[answers["stage"] == "validation"].groupby("setting")["reward"].agg(["size", "mean"])
        means = tried[tried["size"] == 48]["mean"]
        first = table.loc[cell].iloc[0]
        for name, kind in ((first["setting"], "rws"), (f" temperature:{first['tuned']:.6g}".strip(), "temperature")):
            of_kind = means[means.index.str.contains(kind)]
            assert len(of_kind) == 8 and of_kind[name] == pytest.approx(of_kind.max(), abs=1e-5)
        test = answers[answers["stage"] == "test"].astype({"reward": float})
        rewards, texts = (test.pivot(index="prompt", columns="arm", values=name) for name in ("reward", "text"))
        source = test.drop_duplicates("prompt").set_index("prompt")["source"].loc[rewards.index]
        for twin, row in table.loc[cell].iterrows():
            d = (rewards["strategy"] - rewards[twin]) / test["unit"].iloc[0]
            assert (len(d), (texts["strategy"] == texts[twin]).sum()) == (row["n"], row["same_text"])
            assert d.mean() == pytest.approx(row["difference"], abs=1e-6)
            sums, sizes = (d - d.mean()).groupby(source).sum(), d.groupby(source).size()
            error = np.sqrt((1 - 1 / len(sums)) * ((sums / (len(d) - sizes)) ** 2).sum())
            middle = (row["low_source"] + row["high_source"]) / 2
            assert np.isnan(middle) or middle == pytest.approx(row["difference"], abs=1e-6)
            assert np.isnan(middle) or row["low_source"] < d.mean() - 1.9 * error < d.mean() < row["high_source"]
            if row["pairs"] == len(d) and (d != 0).sum() >= 20:  # no cluster: the interval is about that of the normal
                width = 2 * 1.96 * d.std() / len(d) ** 0.5
                assert row["low"] < d.mean() < row["high"] and 0.7 < (row["high"] - row["low"]) / width < 1.5
    for page, name in (("results-numbers.md", "by_cell"), ("extra/normalisation.md", "planned")):
        by_cell = (tables / f"normalisation_{name}.md").read_text(encoding="utf-8")
        assert by_cell[by_cell.index("|") :].strip() in (ROOT / "docs" / page).read_text(encoding="utf-8")
    primary = table[table["p_different_holm"].notna()]
    assert len(primary) == 4 * table.index.get_level_values("cell").nunique()
    for name in ("p_different", "p_equivalent"):
        assert primary[f"{name}_holm"].tolist() == pytest.approx(holm(primary[name].tolist()))


def test_the_results_page_tells_what_the_table_holds(tables: Path) -> None:
    table = pd.read_csv(tables / "normalisation.csv")
    pages = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("results.md", "results-numbers.md"))
    page = " ".join(" ".join(pages).split())
    own, tuned = (table[table["twin"] == name] for name in ("fixed factor", "tuned fixed factor"))
    (equal, equal_tuned), (less_own, less) = (
        [(each["verdict"] == verdict).sum() for each in (own, tuned)] for verdict in ("equivalent", "worse")
    )
    assert "better" not in {*own["verdict"], *tuned["verdict"]} and less_own == 0
    word = ["none", "one", "two", "three", "four"][less]
    for name in ("README.md", "docs/index.md"):
        assert f"loses to the tuned one in {word}." in " ".join((ROOT / name).read_text(encoding="utf-8").split())
    samples = table[table["twin"] == "best of 2"].set_index("cell")["cut"]
    modern, smollm2 = samples[samples.index.str.contains("era")], samples["english:smollm2/16/8"]
    assert f"has {-modern.max():.1f} to {-modern.min():.1f} SD more than RWS in all six" in page and len(modern) == 6
    rest = samples.drop([*modern.index, "english:smollm2/16/8"]).abs().max()
    assert f"it has {smollm2:.1f} SD less. Elsewhere the means differ by at most {rest:.2f} SD." in page
    assert (
        f"equivalent to its own in {equal}, and to the tuned one in {equal_tuned}. The tuned one has more in {less}. "
        in page
    )
    observed, attainable = (round(100 * own[name].max()) for name in ("observed", "attainable"))
    assert f"at {observed} % of steps at most, while up to {attainable} % were attainable" in page
    assert f"{own['strategy'].str.contains('0.5', regex=False).sum()} of the ten settings have s_R = 0.5" in page
    units = table[table["cell"].str.startswith("english:era")]["unit"]
    assert f"One SD is {units.min():.2f} to {units.max():.2f} raw for modern words" in page
    by_plan = [(each["p_equivalent_holm"] < 0.05).sum() for each in (own, tuned)]
    assert "equivalent to its own factor in {} cases and to the tuned one in {}.".format(*by_plan) in page
    both = pd.concat([own, tuned])
    for row in both[both["p_different_holm"] < 0.05].itertuples():
        assert f"{row.difference:+.2f} SD, Holm's p = {row.p_different_holm:.2g}, on the {row.twin}" in page
    least = both.groupby(both["p_equivalent_holm"] < 0.05)["least"].agg(["min", "max"])
    found, low, high = least.loc[True, "max"], least.loc[False, "min"], least.loc[False, "max"]
    assert f"{found:.2f} SD where these tests say equivalent, {low:.2f} to {high:.2f} SD elsewhere" in page
    blind = pd.concat([both, table[table["twin"] == "confidence"]])
    for row in (blind.loc[blind["low"].idxmax()], blind.loc[blind["high"].idxmin()]):
        assert "{:+.2f} SD [{:+.2f}, {:+.2f}] on ".format(*row[["difference", "low", "high"]]) in page
    primary = table[table["p_different_holm"].notna()].groupby("cell")
    after = primary["decided_after"].agg(lambda values: values.max(skipna=False)).dropna()
    share = 1 - after.sum() / primary["n"].first()[after.index].sum()
    assert f"after {after.min():.0f} to {after.max():.0f} prompts in {len(after)} cases" in page
    assert f"taken {100 * share:.0f} % fewer prompts" in page
