"""Units: equal where they mean the same, and addressed by all that determines their result."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.runner.units import Model, Origin, Unit, batch_key, origin_of, unit_hash

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


@given(st.text(), st.text(), st.floats(0.01, 100), st.floats(0.01, 100), st.integers(0, 9), st.integers(0, 9))
def test_equal_just_where_the_hash_is(
    first_text: str, second_text: str, scale: float, other: float, seed: int, second: int
) -> None:
    pair = [
        Unit(experiment="x", prompt=text, strategy={"name": "temperature", "scale": number}, seed=start)
        for text, number, start in ((first_text, scale, seed), (second_text, other, second))
    ]
    equal = unit_hash(pair[0], ORIGIN) == unit_hash(pair[1], ORIGIN)
    assert equal == (pair[0] == pair[1]) == ((first_text, scale, seed) == (second_text, other, second))
    # Prompt, seed and the scale of a temperature may differ within one decode.
    assert batch_key(pair[0]) == batch_key(pair[1])


def test_survives_pickling_and_the_caller_changing_its_mapping() -> None:
    given_settings = {"cfg": [1]}
    unit = replace(BASE, settings=given_settings)
    before = unit.key
    given_settings["cfg"].append(2)
    assert pickle.loads(pickle.dumps(unit)) == unit and replace(unit).key == before
    assert json.loads(before)["settings"] == {"cfg": [1]}


@pytest.mark.parametrize("name", ["length", "reward", "strategy", "block", "ranking", "settings", "device", "judges"])
def test_units_that_need_another_decode_are_not_batched(name: str) -> None:
    assert batch_key(replace(BASE, **{name: CHANGED[name]})) != batch_key(BASE)


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(ValueError, match=r"settings is .*: JSON without nan"):
        replace(BASE, settings={"cfg": float("nan")})
    with pytest.raises(ValueError, match=r"labels is .*: JSON"):
        replace(BASE, labels={"keywords": {1}})
    with pytest.raises(ValueError, match=r"settings or labels hold \['seed'\]"):
        replace(BASE, labels={"seed": 1})
    with pytest.raises(ValueError, match=r"strategy is .*its name is needed"):
        replace(BASE, strategy={"scale": 1.0})
    with pytest.raises(ValueError, match=r"origin lacks judge 'z'"):
        unit_hash(replace(BASE, judges=("z",)), ORIGIN)


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
