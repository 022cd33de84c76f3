"""Experiments and decodes over several launched processes: the same results, and none is left waiting for another."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import unit_work
from launched_processes import UNITS, accelerated, finished, one_by_one
from one_round_runs import PROMPTS, save_models

from rws_decode.__main__ import main
from rws_decode.decode import decode
from rws_decode.distributed import Place, decode_distributed, launched
from rws_decode.experiments.launched import check_launched, own_device
from rws_decode.experiments.results import read_results
from rws_decode.guidance import RWS
from rws_decode.predictors import load_predictor
from rws_decode.rewards import load_reward


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Save tiny checkpoints, and name them in options of the experiment `controls`, whose rounds follow each other."""
    root = save_models(tmp_path_factory.mktemp("models"))
    words = ["experiment", "controls", "--model", str(root / "tiny"), "--rewards", str(root / "reward")]
    words += ["--judges", "exact", "--data", "examples", "--prompts", "3", "--reward-scale", "2", "8", "--batch", "2"]
    words += ["--methods", "rws", "constant", "shuffled", "best-of-n", "--length", "8", "--steps", "4", "--block", "8"]
    return words


def results(out: Path) -> dict[str, Any]:
    """Return what results.json holds, but for how long it took."""
    found = json.loads((out / "controls" / "results.json").read_text(encoding="utf-8"))
    return {name: value for name, value in found.items() if name != "seconds"}


def test_two_processes_of_accelerate_give_the_results_of_one(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, "--out", str(tmp_path / "one"), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    told = accelerated("-m", "rws_decode", *options, "--out", str(tmp_path / "two"), "--json")
    assert told.returncode == 0, told.stderr
    together = json.loads(told.stdout)  # of the first process alone
    assert together["units"] == alone["units"] and together["tables"] == alone["tables"]
    assert together["units"]["computed"] == together["units"]["asked"] > 20
    assert results(tmp_path / "two") == results(tmp_path / "one")
    rows = [read_results(tmp_path / out).drop(columns="seconds").to_dict("records") for out in ("one", "two")]
    assert repr(rows[0]) == repr(rows[1])  # second rounds are those that follow from the first


def test_a_process_that_dies_leaves_none_waiting_and_the_next_run_does_the_rest(tmp_path: Path) -> None:
    script = str(Path(unit_work.__file__).with_name("launched_processes.py"))
    outs = [tmp_path / "without second", tmp_path / "without first"]
    started = [one_by_one([script, str(out)], DYING=dying) for out, dying in zip(outs, ("1 1", "0 3"), strict=True)]
    without_second, without_first = (finished(processes) for processes in started)
    (status, out, err), (killed, *_) = without_second
    assert (status, out, killed) == (2, "", -9)
    assert err.rstrip().endswith("a launched process is gone: run again to do what is missing")
    (killed, *_), silent = without_first
    assert killed == -9 and silent == (1, "", "")
    unit_work.run(tmp_path / "calm", UNITS)
    for out in outs:
        assert 0 < len(set(unit_work.prompts(out))) < UNITS
    # One is finished by one process, the other by two.
    report = unit_work.run(outs[0], UNITS)
    assert report.found and report.computed and not report.failed
    (status, out, err), silent = finished(one_by_one([script, str(outs[1])]))
    assert status == 0 and 0 < int(out.split()[0]) < UNITS and out.split()[1] == "2" and silent == (0, "", "")
    assert all(unit_work.table(out) == unit_work.table(tmp_path / "calm") for out in outs)


def test_workers_of_launched_processes_are_refused_in_one_line_of_the_first(options: list[str], tmp_path: Path) -> None:
    words = ["-m", "rws_decode", *options, "--out", str(tmp_path / "out"), "--workers", "2"]
    (status, out, err), others = finished(one_by_one(words))
    assert status == 2 and not out and err.count("\n") == 1
    assert "--workers is 2: 2 processes were launched, which share the work; leave it out" in err
    assert others == (0, "", "") and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("scheduler", "tcp://127.0.0.1:9", "--scheduler is tcp://127.0.0.1:9: 2 processes were launched"),
        ("device", "cuda:1", "--device is cuda:1: 2 processes were launched, each with its own; name no index"),
        ("reward_device", "cuda:0", "--reward-device is cuda:0: 2 processes"),
        ("threads", 0, "--threads is 0: at least 1 is needed"),
    ],
    ids=["scheduler", "device", "reward-device", "threads"],
)
def test_what_several_processes_do_not_take_is_named(option: str, value: Any, told: str) -> None:
    usual = {"workers": 1, "scheduler": None, "threads": None, "batch": 1, "device": "cuda", "reward_device": None}
    check_launched(Place(0, 0, 2), Namespace(**usual))
    with pytest.raises(ValueError, match=told):
        check_launched(Place(0, 0, 2), Namespace(**(usual | {option: value})))


def test_every_process_sees_its_own_device() -> None:
    places = [Place(rank, rank % 2, 4) for rank in range(4)]
    assert [own_device(place, None) for place in places] == ["0", "1", "0", "1"]
    assert [own_device(place, "GPU-7,GPU-9") for place in places[:2]] == ["GPU-7", "GPU-9"]
    assert own_device(places[1], "3") == own_device(places[0], "") == ""


def test_a_process_by_itself_is_not_among_several() -> None:
    assert launched({}) is None
    one = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    assert launched(one) is None and launched(one | {"WORLD_SIZE": "2"}) == Place(0, 0, 2)


_SCRIPT = """
import json, sys
from rws_decode import RWS, load_predictor, load_reward
from rws_decode.decode import decode
from rws_decode.distributed import decode_distributed, launched

place, folder = launched(), sys.argv[1]
predictor, reward = (load(f"{folder}/{name}", progress=False) for load, name in
                     ((load_predictor, "tiny"), (load_reward, "reward")))
prompts, seeds, asked = [each["prompt"] for each in predictor.examples], [5, 6, 7], []

def own(prompts, seeds):
    asked.extend(prompts)
    shape = {"length": 8, "steps": 4, "block": 8, "sampling_temperature": 1.0}
    return decode(predictor, prompts, RWS(8.0), reward=reward, seed=seeds, **shape)

def failing(prompts):
    raise KeyError("no such prompt")

traces = decode_distributed(own, prompts, seeds)
one = decode_distributed(own, prompts[:1], seeds[:1])
found = {"asked": asked, "texts": [trace.text for trace in traces], "one": [trace.text for trace in one]}
try:
    decode_distributed(lambda own: failing(own) if place.rank else [None] * len(own), prompts)
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
open(f"{folder}/found-{place.rank}.json", "w").write(json.dumps(found))
"""


def test_prompts_are_decoded_by_all_processes_in_order(tmp_path: Path) -> None:
    models = save_models(tmp_path)
    (tmp_path / "mine.py").write_text(_SCRIPT)
    told = accelerated(str(tmp_path / "mine.py"), str(models))
    assert told.returncode == 0, told.stderr
    first, second = (json.loads((models / f"found-{rank}.json").read_text()) for rank in range(2))
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    shape: dict[str, Any] = {"length": 8, "steps": 4, "block": 8, "sampling_temperature": 1.0}
    alone = decode(predictor, PROMPTS, RWS(8.0), reward=reward, seed=[5, 6, 7], **shape).texts
    assert first["texts"] == second["texts"] == alone and first["one"] == second["one"] == alone[:1]
    assert first["asked"] == [PROMPTS[0], PROMPTS[2], PROMPTS[0]] and second["asked"] == [PROMPTS[1]]
    assert second["error"] == "KeyError: 'no such prompt'"
    assert first["error"] == "RuntimeError: process 1 failed: KeyError: 'no such prompt'"


def test_shares_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"columns are \[1\] long: one entry per prompt, 2, is needed"):
        decode_distributed(lambda own, seeds: [], ["a", "b"], [1])
    with pytest.raises(ValueError, match="decode returned 0 traces for 2 prompts"):
        decode_distributed(lambda own: [], ["a", "b"])
    assert decode_distributed(lambda own: [], []) == []
