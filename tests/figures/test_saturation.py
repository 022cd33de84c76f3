"""What rounding does to the order, as the figure says it."""

from pathlib import Path
from typing import Any

import pytest
from json_files import write_json

from paper_figures.exhibits import saturation

SCALES = (1.0, 16.0, 32.0)
SHAPE = {"model": "tiny", "length": 64, "steps": 32, "block": 32}


@pytest.mark.parametrize(("sign", "word"), [(1, "lowers"), (-1, "raises")])
def test_saturation_says_what_the_intervals_say(sign: int, word: str, tmp_path: Path) -> None:
    # bfloat16 alone lowers GOD, at 16 and 32, by 2 and 4 steps of 5
    rows = []
    for strategy in ("temperature", "rws", "constant", "shuffled"):
        for index, scale in enumerate(SCALES):
            for ranking in ("exact", "float32", "bfloat16"):
                due = -2.0 * index if ranking == "bfloat16" else 0.0
                width = 0.5 if due else 0.0
                row: dict[str, Any] = {"strategy": strategy, "scale": scale, "ranking": ranking, "n": 12}
                row |= {"god_steps": 5.0 + due, "god_tokens": 10.0 + 2 * due}
                row |= {"god_steps_due": due, "god_steps_due_low": due - width, "god_steps_due_high": due + width}
                row |= {"god_steps_due_p": 0.01, "god_steps_due_p_holm": 0.03 if due == -4.0 else 0.2}
                row |= {"saturated": 0.1 * index, "inexact": 0.2 * index, "tied": 0.0, "near_tied": 0.0}
                rows.append(row | {"same_tokens": 1.0})
    results: dict[str, Any] = {"settings": SHAPE | {"prompts": 12, "reward": "guide"}, "seconds": 3.5, "summary": rows}
    for row in results["summary"]:
        due, *ends = (sign * row[f"god_steps_due{end}"] for end in ("", "_low", "_high"))
        row |= {"god_steps": 5.0 + due, "god_steps_due": due}
        row |= {"god_steps_due_low": min(ends), "god_steps_due_high": max(ends)}
    write_json(tmp_path / "precision" / "results.json", results)
    claim, more = saturation.exhibit(tmp_path).conclusions
    assert claim.startswith(f"At scale 32, rounding to bfloat16 {word} GOD by 80 %")
    # At 16 the interval excludes zero, and p says no.
    assert "70 to 90 % with 95 % confidence; an effect is shown at 1 of 3 scales" in more
