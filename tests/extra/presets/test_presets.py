"""Presets: what is printed elsewhere, with its source; what is given wins; and each runs."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from command_lines import decoding as main
from documented_commands import listed
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import llada_predictor

from rws_decode import CallableReward, Options, Shape, decode
from rws_decode.extra import presets
from rws_decode.strategies import offered

NAMES = sorted(name for name, preset in presets.PRESETS.items() if preset.process == "absorbing")
PREDICTOR = llada_predictor()
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)

LLADA, DREAM, BLOCKS = (
    {name: ast.literal_eval(numbers) for name, numbers in rows.items()}
    for rows in listed("../extra/presets/printed.txt").values()
)


@pytest.mark.parametrize("name", BLOCKS)
def test_block_by_block_has_the_numbers_of_its_scripts(name: str) -> None:
    values = presets.load(name).values
    entry = tuple(values.get(option) for option in ("length", "block", "threshold", "sampling_temperature"))
    assert entry == BLOCKS[name] and values.get("steps", values["length"]) == values["length"]


@pytest.mark.parametrize("name", LLADA)
def test_llada_has_the_numbers_of_its_tables(name: str) -> None:
    length, block, logits, confidence = LLADA[name]
    values = presets.load(name).values
    assert (values["length"], values["steps"], values["block"]) == (length, length, block)
    policy = "suppress" if logits else "defer-published" if confidence else "none"
    assert (values["end_of_text"], values["cfg"], values["sampling_temperature"]) == (policy, 0.0, 0.0)
    assert (values["ranking"], values["precision"]) == ("topk", "model")


@pytest.mark.parametrize("name", DREAM)
def test_dream_has_the_numbers_of_its_scripts_and_names_what_is_left_out(name: str) -> None:
    size, temperature, top_p = DREAM[name]
    preset = presets.load(name)
    values = preset.values
    assert (values["length"], values["steps"], values["block"]) == (size, size, size)
    assert (values["strategy"], values["sampling_temperature"]) == ("entropy", temperature)
    left_out = [setting.published for setting in preset.left_out]
    assert values.get("top_p", 1.0) == (top_p if temperature else 1.0) and "eps = 0.001" in left_out
    assert (f"top_p = {top_p:g}" in left_out) == (top_p < 1 and not temperature)
    assert ("entropy of softmax(z / temperature) in the nucleus" in left_out) == (temperature > 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_source_and_is_one_of_decode(name: str) -> None:
    preset = presets.load(name)
    known = {*vars(Options()), "length", "steps", "block", "strategy", "threshold", "edit", "end_ids"}
    assert preset.name == name and set(preset.values) <= known
    assert preset.values.get("strategy", "default") in offered()
    for setting in preset.settings:
        cited = re.search(r"^[\w-]+/[\w-]+ [0-9a-f]{7} [\w./-]+|^the RWS paper, |arXiv \d{4}\.\d{5}", setting.source)
        assert cited and (setting.option or setting.otherwise == "nothing to set" or setting.note)
    options = [setting.option for setting in preset.settings if setting.option]
    assert len(options) == len(set(options))
    flagged = any("confidence_eos_eot_inf = True" in setting.published for setting in preset.settings)
    assert (preset.values.get("end_of_text") == "defer-published") == flagged


@pytest.mark.parametrize("name", NAMES[::3])
def test_a_preset_decodes(name: str) -> None:
    preset = presets.load(name)
    settings: dict[str, Any] = {"reward_scale": 8.0} if name == "rws-paper" else {}
    arguments = preset.arguments(PREDICTOR, length=8, **settings)
    (trace,) = decode(PREDICTOR, ["the cat sat"], **arguments, reward=REWARD if settings else None)
    values = preset.values
    assert trace.block == (8 if values["block"] == values["length"] else min(8, values["block"]))
    assert trace.steps == (8 if "steps" not in values else 8 * values["steps"] // values["length"])
    for option, usual in (("end_of_text", "none"), ("sampling_temperature", 0.0)):
        assert getattr(trace, option) == values.get(option, usual)
    assert trace.strategy["name"] == values.get("strategy", "default")


GIVEN = {
    "length": st.sampled_from([8, 16, 64]),
    "steps": st.sampled_from([8, 16]),
    "block": st.sampled_from([4, 8]),
    "end_of_text": st.sampled_from(["none", "suppress", "defer"]),
    "cfg": st.sampled_from([0.0, 1.5]),
    "sampling_temperature": st.sampled_from([0.0, 0.7]),
    "ranking": st.sampled_from(["log-odds", "topk"]),
    "seed": st.integers(0, 9),
}


@given(st.sampled_from(NAMES), st.fixed_dictionaries({}, optional=GIVEN))
def test_what_is_given_wins_and_the_rest_is_the_presets(name: str, settings: dict[str, Any]) -> None:
    preset = presets.load(name)
    settings |= {"block": 8, "steps": 8, "length": 16} if "steps" in settings or "block" in settings else {}
    arguments = preset.arguments(PREDICTOR, **settings)
    assert isinstance(arguments["shape"], Shape)
    have = vars(arguments["shape"]) | vars(arguments["options"]) | arguments
    assert {option: have[option] for option in settings} == settings
    rest = set(preset.values) - set(settings) - {"steps", "block", "end_ids"}
    rest -= {"top_p"} if settings.get("sampling_temperature") == 0 else set()  # nothing is drawn
    assert {option: have[option] for option in rest} == {option: preset.values[option] for option in rest}


GUIDE = (Path(__file__).parents[3] / "docs" / "extra" / "presets.md").read_text(encoding="utf-8")


def test_its_notes_are_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (notes,) = re.findall(r"```text\n(note: .*?)```", GUIDE, flags=re.DOTALL)
    (command,) = re.findall(r"rws (generate --preset llada-gsm8k .*)", GUIDE)
    assert main(command.split()) == 0
    assert capsys.readouterr().err == notes
