"""Units and the code digest: what determines a result changes its address, what only draws tables does not."""

import sys
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.runner import Model, Origin, Unit, batch_key, code_digest, origin_of, sources_behind, unit_hash

BASE = Unit(
    experiment="x",
    prompt="why?",
    strategy={"name": "rws", "reward_scale": 8.0, "eps": 1e-5},
    reward="r",
    judges=("j",),
    causal="c",
    settings={"cfg": 0.5},
    labels={"keywords": ["cat", "mat"]},
)
CHANGED: dict[str, Any] = {
    "experiment": "y",
    "prompt": "why ?",
    "history": ("how?", "so."),
    "example": "3",
    "strategy": {"name": "rws", "reward_scale": 8.0, "eps": 1e-6},
    "predictor": "r",
    "reward": None,
    "judges": ("j", "k"),
    "causal": None,
    "seed": 1,
    "length": 32,
    "steps": 16,
    "block": 16,
    "ranking": "topk",
    "precision": "float32",
    "sampling_temperature": 1.0,
    "device": "cuda",
    "settings": {"cfg": 0.25},
    "labels": {"keywords": ["mat", "cat"]},
}
ROLES = {"predictor": ("mini", "r"), "reward": ("r",), "judge": ("j", "k"), "causal": ("c",)}
ORIGIN = Origin("code", {"torch": "2"}, {Model(role, name): role for role, names in ROLES.items() for name in names})
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def test_every_field_changes_the_hash() -> None:
    assert CHANGED.keys() == {field.name for field in fields(Unit)}
    hashes = {unit_hash(replace(BASE, **{name: value}), ORIGIN) for name, value in CHANGED.items()}
    assert len(hashes | {unit_hash(BASE, ORIGIN)}) == len(CHANGED) + 1


def test_code_libraries_and_the_models_used_change_the_hash_and_no_other_model_does() -> None:
    before = unit_hash(BASE, ORIGIN)
    others = [replace(ORIGIN, code="other"), replace(ORIGIN, libraries={"torch": "3"})]
    for model in BASE.models:
        others.append(replace(ORIGIN, models=dict(ORIGIN.models) | {model: "other"}))
    assert len({before, *(unit_hash(BASE, other) for other in others)}) == 7
    unused = dict(ORIGIN.models) | {Model("judge", "k"): "other"}
    assert unit_hash(BASE, replace(ORIGIN, models=unused)) == before
    # The name stands for a folder of results: models are not part of it, code and libraries are.
    assert replace(ORIGIN, models={}).name == ORIGIN.name
    assert len({ORIGIN.name, others[0].name, others[1].name}) == 3


@given(st.dictionaries(st.text(max_size=4).map("k".__add__), JSON, max_size=5), st.randoms(use_true_random=False))
def test_order_of_keys_changes_nothing_and_any_value_does(settings: dict[str, Any], random: Any) -> None:
    keys = list(settings)
    random.shuffle(keys)
    first, second = replace(BASE, settings=settings), replace(BASE, settings={key: settings[key] for key in keys})
    assert first == second and hash(first) == hash(second)
    assert unit_hash(first, ORIGIN) == unit_hash(second, ORIGIN) and batch_key(first) == batch_key(second)
    for key in keys:
        other = replace(BASE, settings=settings | {key: [settings[key]]})
        assert other != first and unit_hash(other, ORIGIN) != unit_hash(first, ORIGIN)


def test_origin_digests_the_files_of_each_model(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text("{}")
    unit = replace(BASE, predictor=str(tmp_path), reward="mini", judges=("exact",), causal=None)
    first = origin_of([unit, unit])
    assert set(first.models) == set(unit.models) and first.checked
    (tmp_path / "config.json").write_text("{ }")
    second = origin_of([unit])
    changed = [model for model in first.models if first.models[model] != second.models[model]]
    assert changed == [Model("predictor", str(tmp_path))] and first.name == second.name
    assert unit_hash(unit, first) != unit_hash(unit, second)


_RUN = """
from dataclasses import replace
from paper_figures.studies.work import measure as work
from paper_figures.runner.units import Unit

unit = Unit(experiment="x", prompt="sort : two one", strategy={"name": "rws", "reward_scale": 8.0}, reward="exact",
            length=8, steps=2, block=8)
plain = replace(unit, predictor=None, reward=None, labels={"answer": "one two ."})
work([unit])
work([replace(plain, strategy={"name": "score"}, judges=("mini",))])
work([replace(plain, strategy={"name": "perplexity"}, causal="mini-causal")])
"""


def ours() -> dict[str, ModuleType]:
    tops = ("paper_figures", "rws_decode", "rws_theory")
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in tops}


def test_every_module_that_work_loads_is_behind_it() -> None:
    before = ours()
    for name in before:
        del sys.modules[name]
    try:
        exec(_RUN, {})
        loaded = {name for name in ours() if not name.startswith("paper_figures")}
    finally:
        for name in ours():
            del sys.modules[name]
        sys.modules.update(before)
    # The models are data, of which units have digests of their own; the others are empty.
    behind = {*sources_behind("paper_figures.studies.work:measure"), "rws_decode.mini", "rws_decode.mini.models"}
    assert "rws_decode.decode" in loaded and not (loaded - behind)


def test_work_of_one_s_own_counts_with_what_it_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file, own = tmp_path / "own_work_of_mine.py", "own_work_of_mine:work"
    source = (
        "import json\nfrom rws_theory.orders.deviation import god\nLIMIT = 3\nTITLE = 'a'\n\n\n"
        "def work(units):\n    return [helped(unit) for unit in units]\n\n\n"
        "def helped(unit):\n    from rws_theory.gain import reward_factor\n    return god(unit, LIMIT)\n\n\n"
        "def tables(frame):\n    import rws_decode.decode\n    return TITLE\n"
    )
    file.write_text(source)
    sources = sources_behind(own)
    assert {"rws_theory.orders.deviation", "rws_theory.gain"} <= set(sources) and "rws_decode.decode" not in sources
    assert "rws_decode.decode" in sources_behind("own_work_of_mine")
    before = code_digest.__wrapped__(own)
    file.write_text(source.replace("TITLE = 'a'", "TITLE = 'b'").replace("import json", "import csv"))
    assert code_digest.__wrapped__(own) == before
    for old, new in (
        ("LIMIT = 3", "LIMIT = 4"),
        ("for unit in units", "for unit in units if unit"),
        ("(unit, LIM", "(LIM"),
    ):
        file.write_text(source.replace(old, new))
        assert code_digest.__wrapped__(own) != before, old


@pytest.mark.parametrize("study", ["evidence", "laws", "precision", "rivals", "scale_path"])
def test_the_tables_of_a_study_are_not_behind_its_work(study: str) -> None:
    name = f"paper_figures.studies.{study}"
    source = sources_behind(f"{name}:work")[name]
    assert b"def work(" in source and b"def tables(" not in source and b"\nclass " not in source
