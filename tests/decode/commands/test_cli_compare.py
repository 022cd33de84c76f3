"""`compare` and `strategies`: several strategies side by side, on the shipped models."""

import json
import re
from pathlib import Path

import pytest
from command_lines import printed

from rws_decode.extra.steering import METHODS
from rws_decode.strategies import STRATEGIES, offered
from rws_decode.trace.labels import CUT_OFF

SIZE = ["--length", "16", "--steps", "8"]
MINI = ["--model", "mini", "--reward", "mini", "--example", "3", *SIZE]


def test_generate_takes_the_texts_of_compare_and_options_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        "default": "default",
        "rws:8": "rws --reward-scale 8",
        "threshold:0.9+rws:8": "threshold --threshold 0.9 --reward-scale 8",
        "margin+spacing:2": "margin --spacing 2",
        "best-of:2+rws:8": "default --steer best-of:2+rws:8",
    }
    small = [*MINI[: -len(SIZE)], "--length", "8", "--steps", "4"]
    base = ["generate", *small]
    for text, words in options.items():
        output, given = (printed(capsys, *base, "--strategy", *each.split(), "--json") for each in (text, words))
        (compared,) = json.loads(printed(capsys, "compare", *small, "--strategies", text, "--json"))
        assert output == given and {"strategy": text} | json.loads(output) == compared


def test_compare_prints_texts_and_a_table_and_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strategies = ["default", "temperature:4", "rws:8", "temperature:1"]
    results = json.loads(printed(capsys, "compare", *MINI, "--strategies", *strategies, "--json"))
    out = printed(capsys, "compare", *MINI, "--strategies", *strategies)
    assert f"default: {results[0]['text']}\n" in out and "temperature:1: identical text to default\n" in out
    plain = out.replace("[", "").replace("]", "")
    assert f"temperature:4: {results[1]['text']}\n" in plain and results[1]["text"] != results[0]["text"]
    view = ["--view", tmp_path / "runs.html"]
    assert printed(capsys, "compare", *MINI, "--strategies", *strategies, *view) == out
    page = (tmp_path / "runs.html").read_text(encoding="utf-8")
    assert all(f"<h2>{'ABCD'[n]}: {name}</h2>" in page for n, name in enumerate(strategies))
    cut = [result["strategy"] for result in results if not result["text"].endswith(".")]
    assert out.endswith(f"{', '.join(cut)}: {CUT_OFF}\n")
    for result in results:
        (row,) = [line.split() for line in out.splitlines() if line.startswith(f"{result['strategy']} ")]
        assert row[1:3] == [f"{result['final_reward']['raw']:.3f}", str(len(result["rules_broken"]))]


def test_strategies_explains_each_name_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "strategies")
    assert max(map(len, out.splitlines())) <= 80
    first, second, distance = re.sub(r"\n +", " ", out).split("\n\n")  # what goes on is indented
    assert "default+spacing:3" in distance
    for line, name in zip(first.splitlines(), offered(), strict=True):
        assert line.split()[0] == name and STRATEGIES[name].about in line
        assert all(f"--{option.replace('_', '-')}" in line for option in STRATEGIES[name].reads)
    for line, (name, method) in zip(second.splitlines()[1:], METHODS.items(), strict=True):
        assert line.split()[0] == name and method.about in line
        assert all(f"+{option}:" in line for option in [*method.numbers][1:])
    names = [entry["name"] for entry in json.loads(printed(capsys, "strategies", "--json"))]
    assert names == [*offered(), *METHODS]
