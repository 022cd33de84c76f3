"""Same seed, same answer: in other processes, with other threads, workers and orders of sets, and on two devices."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import alike
import pyarrow.parquet as pq
import pytest
import torch
from grouped import grouped
from stand_in_device import DEVICE, Elsewhere, MixedDevices, move, stand_in
from study_runs import save_models
from tiny_models import bert_predictor, full_modernbert_predictor
from torch import nn
from trace_files import trace_bytes

import rws_decode as rws
from rws_decode import RWS, CallablePredictor, CallableReward, Decoding, Savings, decode, load_predictor, load_reward
from rws_decode.common.threads import hold_threads, torch_threads
from rws_decode.extra.testing import tiny_checkpoint

SUPPORT = Path(__file__).parents[1] / "support"
SHAPE: dict[str, Any] = {"length": 32, "steps": 4, "block": 32}


@pytest.fixture(scope="module", params=["1", "2"], ids="workers={}".format)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what this process wrote, `one`, and what one with other threads and another seed did."""
    root = tmp_path_factory.mktemp("alike")
    (root / "models" / "options").parent.mkdir()
    (root / "models" / "options").write_text("\n".join(save_models(root / "models")), encoding="utf-8")
    # Threads of every library that has its own, and the seed that orders sets: here it is drawn anew, or what is set.
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    other = {"PYTHONHASHSEED": "3" if os.environ.get("PYTHONHASHSEED") == "2" else "2", "HF_HUB_OFFLINE": "1"}
    # Else MKL takes no more threads than there are cores; threads that wait shall sleep.
    other |= dict.fromkeys(names, "4") | {"MKL_DYNAMIC": "FALSE", "OMP_WAIT_POLICY": "PASSIVE"}
    other["PYTHONPATH"] = f"{SUPPORT.parents[1]}{os.pathsep}{SUPPORT}"
    words = [sys.executable, str(SUPPORT / "alike.py"), str(root / "models"), str(root / "four"), request.param]
    with (
        (root / "log").open("wb") as log,
        subprocess.Popen(words, env=os.environ | other, stdout=log, stderr=subprocess.STDOUT) as process,
        warnings.catch_warnings(action="ignore"),
    ):
        alike.work(root / "models", root / "one", "1")
    assert process.returncode == 0, (root / "log").read_text(encoding="utf-8")[-3000:]
    return root


def contents(folder: Path) -> dict[str, Any]:
    """Return what each file below a folder holds: its bytes, but of results how long they took and where they lie."""
    files: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "/units-" in name and "/study/" in f"/{name}" and path.suffix == ".parquet":
            files[name] = _without_seconds(path)
        elif path.is_file():
            files[name] = path.read_bytes()
    for name in ("study/controls/results.json", "study/printed.json"):
        if name in files:
            results = json.loads(files[name])
            files[name] = json.dumps({key: results[key] for key in results if key not in ("seconds", "folder")})
    return files


def _without_seconds(path: Path) -> tuple[Any, ...]:
    table = pq.read_table(path)
    kept = [name for name in table.column_names if name != "seconds"]
    # repr tells floats of different bits apart, and takes two NaN for the same.
    return table.schema, repr(table.select(kept).to_pylist())


@pytest.mark.long
def test_bytes_depend_neither_on_the_process_nor_on_its_threads(written: Path) -> None:
    ours, theirs = contents(written / "one"), contents(written / "four")
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    shown = "shipped/batch/2.parquet tiny/rws-text tiny/path.json study/summary.json theory/claims.json"
    assert ours.keys() >= {*shown.split(), "figures/figures/device_cost.pdf", "figures/tables/device_cost_printed.tex"}
    assert sum("/units-" in name and name.endswith(".parquet") for name in ours) > 20


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_the_number_of_threads_that_a_process_has_changes_no_byte() -> None:
    runs, predictor, reward = [], load_predictor("mini"), load_reward("mini")
    for count in (1, 2, 3, 8):
        torch.set_num_threads(count)
        run = decode(predictor, predictor.prompts[:2], RWS(8.0), reward=reward, **grouped(**SHAPE))
        runs.append([*map(trace_bytes, run)])
        assert torch.get_num_threads() == count, "it is set again"
    assert runs[1:] == runs[:-1]


def counting(numbers: list[int]) -> CallablePredictor:
    def logits(canvas: torch.Tensor) -> torch.Tensor:
        numbers.append(torch.get_num_threads())
        return torch.eye(4)[3 - canvas]

    return CallablePredictor(logits, mask_id=0, decode=str)


@pytest.mark.usefixtures("threads")
def test_decoding_has_one_thread_or_as_many_as_are_asked_for() -> None:
    torch.set_num_threads(3)
    numbers: list[int] = []
    shape = {"length": 1, "steps": 1, "block": 1}
    scored = CallableReward(lambda prompt, answer: float(numbers.append(torch.get_num_threads()) or 0))
    decode(counting(numbers), [[2]], RWS(1.0), reward=scored, **grouped(**shape))
    with torch_threads(2) as count:
        decode(counting(numbers), [[2]], RWS(1.0), reward=scored, **grouped(**shape))
        with torch_threads() as inner, torch_threads(4):
            decode(counting(numbers), [[2]], rws.Confidence(), **grouped(**shape))
    assert numbers == [1, 1, 2, 2, 4] and (count, inner) == (2, 2) and torch.get_num_threads() == 3
    with pytest.raises(KeyError), torch_threads(2):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_a_count_that_is_held_is_a_threads_own() -> None:
    def held() -> int:
        with torch_threads() as count:
            return count

    with ThreadPoolExecutor(1, initializer=hold_threads, initargs=(2,)) as pool:
        assert (pool.submit(held).result(), held()) == (2, 1)


TWO = ["the cat sat on a mat .", "a dog ran"]
FOUR: dict[str, Any] = {"length": 4, "steps": 2, "block": 4}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], Any]]:
    root = tmp_path_factory.mktemp("models")
    tiny_checkpoint("classifier", root / "pair", files={"reward.json": {"mean": 0.0, "std": 0.3}})
    loaders: dict[str, Callable[[], Any]] = {"bert": bert_predictor, "modernbert": full_modernbert_predictor}
    for name in ("llada", "dream"):
        folder = str(tiny_checkpoint(name, root / name))
        loaders[name] = lambda folder=folder: load_predictor(folder)
    loaders |= {"pair": lambda: load_reward(str(root / "pair"))}
    for name in ("skywork", "qrm"):
        folder = str(tiny_checkpoint(name, root / name))
        loaders[name] = lambda folder=folder, name=name: load_reward(folder, published=name)
    return loaders


def both(predictor: rws.HFMaskPredictor, reward: rws.RewardModel, **options: Any) -> Decoding:
    return decode(predictor, TWO, RWS(8.0), reward=reward, **grouped(**FOUR | options))


def same(first: Decoding, second: Decoding) -> bool:
    pairs = zip(first, second, strict=True)
    return all(
        (a.tokens == b.tokens).all() and (a.commit_step == b.commit_step).all() and a.text == b.text for a, b in pairs
    )


def test_the_stand_in_computes_and_refuses_what_two_devices_refuse() -> None:
    with stand_in():
        here, there = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], device=DEVICE)
        assert isinstance(there * 2 + 1, Elsewhere) and (there * 2 + 1).tolist() == [7.0, 9.0]
        assert there.device.type == DEVICE and (here + there.cpu()).tolist() == [4.0, 6.0]
        assert there[torch.tensor([1])].tolist() == there[:, None][[1], 0].tolist() == [4.0]
        assert (there + torch.tensor(1.0)).tolist() == [4.0, 5.0]
        for mixed in (lambda: here + there, lambda: torch.where(here > 1, there, 0.0), lambda: here[there > 3]):
            with pytest.raises(MixedDevices):
                mixed()
    with pytest.raises(RuntimeError, match="meta"):
        torch.ones(1, device=DEVICE).item()  # outside it holds nothing


@pytest.mark.parametrize("moved", ["predictor", "reward"])
@pytest.mark.parametrize(("predictor", "reward"), [("bert", "pair"), ("modernbert", "skywork"), ("llada", "qrm")])
def test_devices_are_not_mixed(predictor: str, reward: str, moved: str, models: dict[str, Callable[[], Any]]) -> None:
    mask_predictor, guide = models[predictor](), models[reward]()
    options: list[dict[str, Any]] = [
        {"savings": Savings()},
        {"savings": Savings.everything()},
        {"ranking": "topk", "precision": "model", "cfg": 0.5, "end_of_text": "suppress"},
        {"sampling_temperature": 1.0, "seed": [1, 2], "end_of_text": "defer"},
    ]
    options = options if predictor == "bert" else options[1:3]  # what else there is is the same for every network
    plain = [both(mask_predictor, guide, **settings) for settings in options]
    mask_predictor, guide = models[predictor](), models[reward]()  # which remember nothing of the other device
    away = vars(mask_predictor if moved == "predictor" else guide)
    for network in [part for part in away.values() if isinstance(part, nn.Module)]:
        move(network)
    with stand_in():
        for settings, wanted in zip(options, plain, strict=True):
            assert same(both(mask_predictor, guide, **settings), wanted)
