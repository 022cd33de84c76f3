from __future__ import annotations

import json
import math

import pytest

from paper_figures.__main__ import main
from rws_decode import load_predictor, load_reward
from rws_decode.decode import decode
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Confidence
from rws_theory.printed import printed_in
from rws_theory.worlds import reward_slopes

SMALL = "grid --examples 3 --scales 1 8 --length 8 --steps 4 --block 8".split()


def test_the_rows_are_means_of_decodes_beside_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    rows, slopes = result["rows"], result["slopes"]
    assert [(row["method"], row["scale"]) for row in rows] == [
        *(("default", None), ("temperature", 1), ("temperature", 8), ("rws", 1), ("rws", 8)),
    ]
    english = load_predictor("english")
    prompts = [example["prompt"] for example in english.examples[:3]]
    traces = decode(english, prompts, Confidence(), Shape(8, 4, 8))
    assert rows[0]["god_tokens"] == pytest.approx(sum(trace.god_tokens for trace in traces) / 3)
    exact = [
        english.world.log_prob(trace.tokens, english.encode_prompt(prompt))
        for prompt, trace in zip(prompts, traces, strict=True)
    ]
    assert rows[0]["log_prob"] == pytest.approx(sum(exact) / 3)
    assert {name: rows[1][name] for name in rows[0] if "paper" not in name and name not in ("method", "scale")} == {
        name: rows[0][name] for name in rows[0] if "paper" not in name and name not in ("method", "scale")
    }
    era = load_reward("era").world_reward
    first = [reward_slopes(english.world, era, 8, english.encode_prompt(prompt)) for prompt in prompts]
    assert slopes["tilting"] == pytest.approx(sum(slope.tilting for slope in first) / 3)
    assert slopes["scaling"] == pytest.approx(sum(slope.scaling for slope in first) / 3)
    printed = {row["scale"]: row["god"] for row in printed_in("table8_temperature")["rows"]}
    assert [row["paper_god"] for row in rows] == [None, printed[1], printed[8], None, None]
    assert main(SMALL) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 10 and f"| {math.exp(-rows[0]['log_prob'] / 8):.2f} |" in shown[2]
