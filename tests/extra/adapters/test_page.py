"""The page of the adapters: its Python, executed as it stands there, and the hours that it tells."""

import json

import pytest
from documented_commands import ROOT, page, ran

from paper_figures.extra.bench.roofline import Ceilings, decode_parts, least_seconds
from paper_figures.extra.bench.shapes import shapes_named
from rws_decode import Shape
from rws_decode.extra import presets

PAGE = "docs/extra/adapters.md"
LLADA = shapes_named("llada-8b")


def test_configs_streams_and_perplexity_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = ran(PAGE)
    assert names["stopped"].traces[0].steps_run == 8
    assert 1.0 < names["found"].pooled < 100.0
    assert "█" in capsys.readouterr().out


def test_the_hours_of_a_harness_are_those_of_the_roofline() -> None:
    record = json.loads((ROOT / "paper_figures/extra/bench/h100-llada-8b.json").read_text(encoding="utf-8"))
    for name, problems in (("llada-gsm8k", 1319), ("llada-mbpp", 500)):
        values, hours = presets.load(name).values, []
        plan = Shape(values["length"], values["steps"], values["block"]).plan
        for prompt, rewarded in ((100, False), (1000, False), (100, True), (1000, True)):
            parts = decode_parts(LLADA, plan, rows=1, prompt=prompt, itemsize=2, rewarded=rewarded)
            hours.append(problems * least_seconds(parts, Ceilings(**record["ceilings"])) / 3600)
        row = f"| `{name}` | {problems * len(plan):,} | {hours[0]:.1f} h | {hours[1]:.1f} h |"
        assert row in page(PAGE)
        assert all(1.9 < more / less < 2.1 for less, more in zip(hours[:2], hours[2:], strict=True))  # "about twice"
