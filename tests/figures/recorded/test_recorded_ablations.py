"""The records as ablations: the same numbers as a few lines of pandas, and what README and the results page tell."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_lines import printed
from documented_commands import page

from paper_figures.recorded import recorded_ablation, recorded_ablations

FOLDER = Path(__file__).parents[3] / "paper_figures" / "recorded"


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_difference_is_that_of_the_recorded_rewards(scale: float) -> None:
    answers = pd.read_parquet(FOLDER / "answers.parquet").query("world == 'english:era' and steps == 16 and not drawn")
    test, validation = (answers[answers["split"] == split] for split in ("test", "validation"))
    sd = validation.query("method == 'temperature' and number == 1")["reward"].std(ddof=0)
    rws = test.query(f"method == 'rws' and number == {scale}").set_index("prompt")
    result = recorded_ablation(answers, "english:era", scale)
    sides = {each.twin: each for each in result.comparisons}
    for twin, query in {
        "confidence": "method == 'default'",
        "fixed factor": f"method == 'constant' and number == {scale}",
    }.items():
        other = test.query(query).set_index("prompt").loc[rws.index]
        assert sides[twin].difference == pytest.approx(
            np.clip((rws["reward"] - other["reward"]) / sd, -3, 3).mean(), abs=1e-3
        )
        assert sides[twin].equal == (rws["tokens"] == other["tokens"]).sum()
        assert sides[twin].low < sides[twin].difference < sides[twin].high
    assert result.stopped_after == 400 and result.verdict == "only the temperature"
    with pytest.raises(ValueError, match="scale"):
        recorded_ablation(answers, "english:era", 3.0)


@pytest.mark.long
def test_the_tables_are_what_the_command_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = printed(capsys, "ablate", "--record", "all", "-o", str(tmp_path))
    assert max(map(len, shown.splitlines())) <= 80
    _, table = (tmp_path / "ablations.md").read_text(encoding="utf-8").split("\n\n")
    assert table in page("docs/results-numbers.md")
    lines = [line for line in page("README.md").splitlines() if line.startswith("| ")]
    of_readme, rows = (
        [line.strip("| ").split(" | ") for line in text if "---" not in line] for text in (lines, table.splitlines())
    )
    columns = [rows[0].index(name) for name in of_readme[0]]
    assert len(of_readme) == 4 and all(row in [[each[at] for at in columns] for each in rows] for row in of_readme)
    # The exception of another normalisation, in the unit of the first table.
    rows = pd.read_csv(tmp_path / "ablations.csv").set_index(["world", "s_R"])
    two, text = rows.loc["english:era", 2.0], page("docs/results.md") + page("docs/results-numbers.md")
    (unit,) = re.findall(r"^rws:1.5 minus +reward \[SD = (\S+)\]", text, flags=re.MULTILINE)
    found = {
        twin: [float(unit) / two["unit"] * float(number) for number in re.findall(r"[+-]\d\.\d\d", line)]
        for twin, line in re.findall(r"^((?:tuned )?fixed factor) +(\S+ \[\S+ \S+\]) +160", text, flags=re.MULTILINE)
    }
    own, tuned = found["fixed factor"], found["tuned fixed factor"]
    assert f"by\n{own[0]:.2f} [{own[1]:.2f}, {own[2]:.2f}], and the tuned factor beats RWS by {-tuned[0]:.2f}." in text
    assert f"{own[0]:.2f} SD more than its fixed factor. A tuned fixed factor has {-tuned[0]:.2f} SD more" in text
    assert f"{rows.loc['english:era', 1.0]['tuned fixed factor']:.2f} SD. Where each had 84" in text
    assert f"For modern words 1 SD is {two['unit']:.2f} raw" in text
    sentence = (
        f"by {two['fixed factor']:+.2f} at s_R = 2 and, at another mean and SD, by {own[0]:+.2f}. "
        "A tuned fixed factor beats RWS in both."
    )
    readme = " ".join(page("README.md").split())
    assert sentence in readme
    one = rows.loc["english:era", 1.0]
    assert f"Row 1's best of eight factors has {one['tuned fixed factor']:.2f} less." in readme
    assert f"RWS gains {one['confidence']:.2f} SD of reward on confidence decoding" in page("docs/index.md")
    found = recorded_ablations(chosen=True)
    varied = [f"{100 * (result.factor_variation or 0):.0f}" for result in found.values()]
    assert f"by {varied[0]} % and {varied[1]} %" in readme and max(map(int, varied[2:])) <= 3
    of_both = recorded_ablations(("evidence",))
    text = page("docs/results.md")
    for sentence, world in (("With modern words it varies by", "english:era"), ("in stories by", "mini:mini")):
        spread = [100 * (result.factor_variation or 0) for (name, _), result in of_both.items() if name == world]
        assert f"{sentence} {min(spread):.0f} % to {max(spread):.0f} %" in text
    sides = {each.twin: each for each in of_both["english:era", 2.0].comparisons}
    assert sides["fixed factor"].verdict == "better" and sides["tuned fixed factor"].verdict == "worse"
