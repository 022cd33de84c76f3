"""What guidance costs on the hardware: arithmetic beside the printed numbers, and every number of a measured file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from device_files import as_on_gpu, measured_here
from handmade_runs import Row, assert_whole, read_csv

from paper_figures.bench.device_run import SCHEMA as WRITTEN
from paper_figures.exhibits.exhibit import Exhibit, save
from paper_figures.exhibits.style import styled
from paper_figures.figures import device_cost
from paper_figures.figures.parts.device_cost_least_time import A100, BYTES, least, weights_mib
from paper_figures.figures.parts.device_cost_measured import called
from paper_figures.figures.parts.device_cost_sentences import on_gpu
from paper_figures.measured import COMMAND, FOLDER, SCHEMA, read_measured, read_measurement
from paper_figures.table import Table
from rws_decode.common.files import write_json
from rws_theory.printed import printed_in


@pytest.fixture(autouse=True)
def _house_style() -> Iterator[None]:
    with styled():
        yield


@pytest.fixture(scope="module")
def tiny() -> Row:
    return measured_here()


def _written(folder: Path, **files: Row) -> Path:
    for name, content in files.items():
        write_json(folder / f"{name}.json", content)
    return folder


def _table(exhibit: Exhibit, stem: str) -> Table:
    (matching,) = [table for table in exhibit.tables if table.name == f"device_cost_{stem}"]
    return matching


def test_what_is_committed_is_read_and_drawn(tmp_path: Path) -> None:
    exhibit = device_cost.exhibit(tmp_path)
    assert_whole(exhibit)
    files = sorted(FOLDER.glob("*.json"))
    assert [measurement.name.rpartition("/")[2] for measurement in read_measured()] == [path.name for path in files]
    assert any(COMMAND in line for line in exhibit.conclusions) != bool(on_gpu(read_measured()))


def test_without_a_file_it_says_what_is_not_measured_and_what_measures_it(tmp_path: Path) -> None:
    exhibit = device_cost.exhibit(tmp_path / "runs", tmp_path / "none")
    assert_whole(exhibit)
    assert [table.name for table in exhibit.tables] == [
        f"device_cost_{name}" for name in ("printed", "steps", "prompts")
    ]
    assert exhibit.conclusions[0].endswith("no decode of that scale is measured on a GPU.")
    last = exhibit.conclusions[-1]
    assert last.startswith("Not measured, because no GPU was at hand") and COMMAND in last
    assert exhibit.inputs == ()


def test_operations_are_counted_by_hand() -> None:
    # Llama's layers: 4 square matrices of attention (keys and values narrower), 3 of the MLP; 320 tokens in 128 steps.
    predictor = 32 * (4 * 4096**2 + 3 * 4096 * 12288)
    reward = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    pairs = 4 * 32 * 4096 * 320**2
    # Masked positions of all, and of the block: two fewer at each step, blocks of 16 steps.
    all_masked = sum(256 - 2 * step for step in range(128))
    in_block = 8 * sum(32 - 2 * step for step in range(16))
    head = 2 * 4096 * 126_464
    default = 128 * (2 * predictor * 320 + pairs) + head * in_block
    causal = 4 * 32 * 4096 * 320 * 321 / 2
    rws = 128 * (2 * predictor * 320 + pairs + 2 * reward * 320 + causal + 2 * 4096) + head * all_masked
    floor = least(64)
    assert floor.operations == pytest.approx((default, rws), rel=1e-12)
    assert floor.more_operations == pytest.approx(100 * (rws / default - 1))


def test_least_times_are_bounds_and_fall_with_rarer_calls() -> None:
    floor = least(64)
    rate = floor.operations[0] / A100.rate
    assert rate < floor.default_seconds < 1.1 * rate, "nearly all of it is bound by operations"
    increases = [floor.increase(every) for every in floor.rws_seconds]
    assert increases == sorted(increases, reverse=True)
    assert floor.increase(4) == pytest.approx(floor.increase(1) / 4, rel=0.01)
    for parts, seconds in ((floor.default, floor.default_seconds), (floor.rws, floor.rws_seconds[1])):
        assert 128 * sum(part["ms"] for part in parts) / 1e3 == pytest.approx(seconds)


def test_weights_are_those_of_the_networks() -> None:
    # Counted over the networks themselves in test_bench_floor.py.
    assert weights_mib() == (BYTES * 8_015_581_184 / 2**20, BYTES * 7_504_928_768 / 2**20)


def test_printed_seconds_are_parted_without_loss(tmp_path: Path) -> None:
    data = device_cost.compute(tmp_path, tmp_path)
    table, parts = printed_in("table11_overhead"), device_cost.printed_parts(data)
    seconds = {"default": table["default_seconds"]} | {row["model"]: row["seconds"] for row in table["rows"]}
    assert {name: sum(shares.values()) for name, shares in parts.items()} == pytest.approx(seconds)
    assert [name for name, shares in parts.items() if "reward" in shares] == ["Skywork", "LlamaOB", "QRM"]
    (axes,) = device_cost.draw_seconds(data).axes
    assert [float(text.xy[0]) for text in axes.texts] == pytest.approx(list(seconds.values()))


def test_the_same_extra_seconds_over_a_default_at_its_least(tmp_path: Path) -> None:
    data = device_cost.compute(tmp_path, tmp_path)
    rows = {row["method"]: row for row in device_cost.tables(data)[0].rows}
    base, floor = printed_in("table11_overhead")["default_seconds"], data.assumed.default_seconds
    assert rows["default"]["arithmetic: over the least"] == pytest.approx(base / floor)
    for row in printed_in("table11_overhead")["rows"]:
        line = rows[f"RWS, {row['model']}"]
        assert line["paper: seconds"] == row["seconds"]
        extra = 100 * (row["seconds"] - base) / floor
        assert line["arithmetic: increase with the default at its least, %"] == pytest.approx(extra)


def test_every_number_of_a_file_is_in_the_tables(tiny: Row, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    _written(runs / "bench", mine=as_on_gpu(tiny))
    exhibit = device_cost.exhibit(runs, tmp_path / "none")
    assert_whole(exhibit)
    assert exhibit.inputs == ("bench/mine.json",)
    content, name = as_on_gpu(tiny), "Some GPU, llada-8b"
    (line,) = _table(exhibit, "devices").rows
    assert (line["measured on"], line["date"]) == (name, content["provenance"]["date"])
    assert (line["command"], line["file"]) == ("python -m made-up", "bench/mine.json")
    assert line["commit"] == "abc123 (whether changed is not known)" and line["self-check"] == "1 of 1 passed"
    rows = _table(exhibit, "overhead").rows
    assert (rows[0]["RWS"], rows[0]["paper: memory, MiB"]) == ("RWS, Skywork", 14_812)
    assert [row["here: increase, %"] for row in rows[6:]] == [row["increase"] for row in content["overhead"]]
    assert {row["here: memory, MiB"] for row in rows[6:]} == {14_812.0}
    rows = _table(exhibit, "frequency").rows
    assert [row["asked"] for row in rows] == ["never (default)", "every step", "every 2 steps"]
    assert [row["paper: increase, %"] for row in rows] == [None, 29.4, 17.1]
    assert [row["here: over every step's"] for row in rows] == [row["over_every_step"] for row in content["frequency"]]
    assert [row["here: increase, %"] for row in rows][1:] == [row["increase"] for row in content["frequency"]][1:]
    assert [row["value"] for row in _table(exhibit, "ratios").rows] == [row["value"] for row in content["ratios"]]
    way_rows = _table(exhibit, "ways").rows
    assert [row["ms per step"] for row in way_rows] == [row["ms_per_step"] for row in content["ways"]]
    assert {row["GiB above the weights"] for row in way_rows} == {1.0}
    kernels = _table(exhibit, "kernels").rows
    assert [row["share of copy bandwidth"] for row in kernels] == [row["share"] for row in content["kernels"]["ways"]]
    with styled():
        save("device_cost", exhibit, tmp_path / "out")
    assert len(read_csv(tmp_path / "out" / "tables" / "device_cost_ways.csv")) == len(way_rows)


def test_what_a_gpu_gives_is_said(tiny: Row, tmp_path: Path) -> None:
    measurement = as_on_gpu(tiny)
    lines = device_cost.exhibit(tmp_path, _written(tmp_path / "m", a=measurement)).conclusions
    increases = {row["of"]: row["increase"] for row in measurement["overhead"] if row["batch"] == 1}
    assert lines[0].startswith(
        f"Guidance costs {increases['every step']:+.1f} % (ours, asked at every step), {increases['naive']:+.1f} % "
        "(the naive loop) on Some GPU, llada-8b; the printed +21.8 to +33.4 % are of a default"
    )
    assert len(lines[0].split()) <= 50
    text = " ".join(lines)
    assert "at commit abc123." in text and COMMAND not in text and "not complete" not in text
    assert "G = 1, bfloat16: 70% (aimed at: 80%; missed)" in text
    assert "G = 16, bfloat16: 70% (aimed at: 60%; met)" in text
    over = next(row for row in measurement["ratios"] if row["name"] == "default over floor")
    assert f"default over floor, batch 1: {over['value']:.3g} (aimed at: at most 1.25; missed)" in text
    assert "answers compared have the plain loops' tokens" in text


def test_the_picture_has_the_increases_of_each_device(tiny: Row, tmp_path: Path) -> None:
    folder = _written(tmp_path / "m", a=as_on_gpu(tiny), b=as_on_gpu(tiny, device="Other GPU"), c=tiny)
    data = device_cost.compute(tmp_path, folder)
    (axes,) = device_cost.draw_every(data).axes
    lines = {line.get_label(): line for line in axes.lines}
    frequency = {row["every"]: row["increase"] for row in tiny["frequency"]}
    naive = next(row["increase"] for row in tiny["overhead"] if row["of"] == "naive")
    for name in ("Some GPU, llada-8b", "Other GPU, llada-8b", "cpu, tiny"):
        assert list(lines[f"{name}: ours"].get_ydata()) == [frequency[1], frequency[2]]
        assert list(lines[f"{name}: naive loop"].get_ydata()) == [naive]
    assert lines["as printed"].get_markerfacecolor() == "white"
    assert list(lines["as printed"].get_ydata()) == [29.4, 17.1, 8.8]
    colors = {lines[f"{name}: ours"].get_color() for name in called(data.measured)}
    assert len(colors) == 3


def test_a_small_shape_or_a_cpu_is_shown_but_says_nothing_of_the_papers_setting(tiny: Row, tmp_path: Path) -> None:
    exhibit = device_cost.exhibit(tmp_path, _written(tmp_path / "m", a=tiny))
    assert_whole(exhibit)
    assert "Not of llada-8b in the paper's setting on a GPU, and no word on it: cpu, tiny." in exhibit.conclusions
    assert COMMAND in exhibit.conclusions[-1] and "Guidance costs" not in exhibit.conclusions[0]
    assert {row["aimed at"] for row in _table(exhibit, "ratios").rows} == {None}
    assert [row["value"] for row in _table(exhibit, "ratios").rows] == [row["value"] for row in tiny["ratios"]]


def test_another_setting_or_a_failed_check_is_no_headline(tiny: Row, tmp_path: Path) -> None:
    shorter, failed = as_on_gpu(tiny), as_on_gpu(tiny)
    shorter["settings"]["steps"] = 64
    failed["checks"].append({"name": "the other", "passed": False, "detail": ""})
    for name, content in (("shorter", shorter), ("failed", failed)):
        lines = device_cost.exhibit(tmp_path, _written(tmp_path / name, a=content)).conclusions
        assert "Guidance costs" not in lines[0]
        assert (COMMAND in lines[-1]) == (name == "shorter")
    exhibit = device_cost.exhibit(tmp_path, tmp_path / "failed")
    message = "Some GPU, llada-8b: its self-check failed, so its numbers show nothing: the other."
    assert message in exhibit.conclusions and _table(exhibit, "devices").rows[0]["self-check"] == "1 of 2 passed"


def test_kernels_alone_leave_the_decodes_unmeasured(tiny: Row, tmp_path: Path) -> None:
    measurement = {key: as_on_gpu(tiny)[key] for key in ("schema", "complete", "provenance", "checks", "kernels")}
    exhibit = device_cost.exhibit(tmp_path, _written(tmp_path / "m", a=measurement | {"settings": {"device": "cuda"}}))
    assert_whole(exhibit)
    bandwidth, last = exhibit.conclusions[-2:]
    assert bandwidth.startswith("Some GPU, share of the copy bandwidth") and "G = 16, float32: 70%" in bandwidth
    assert COMMAND in last and "bandwidth" not in last


def test_two_files_of_one_device_are_told_apart(tiny: Row, tmp_path: Path) -> None:
    measured = read_measured(_written(tmp_path, first=tiny, second=tiny))
    assert list(called(measured)) == ["cpu, tiny (first)", "cpu, tiny (second)"]


def test_a_run_that_was_cut_short_is_shown_as_far_as_it_goes(tiny: Row, tmp_path: Path) -> None:
    later = ("overhead", "frequency", "savings", "ways", "ratios")
    content = {key: value for key, value in as_on_gpu(tiny).items() if key not in later}
    exhibit = device_cost.exhibit(tmp_path, _written(tmp_path / "m", a=content | {"complete": False}))
    assert_whole(exhibit)
    assert any(line.endswith("not complete.") for line in exhibit.conclusions)
    assert exhibit.conclusions[0].startswith("A reward of 8B") and _table(exhibit, "kernels").rows
    (line,) = _table(exhibit, "devices").rows
    assert line["run"].startswith("not complete")


def test_ways_that_failed_are_shown_with_the_reason(tiny: Row, tmp_path: Path) -> None:
    content = copy.deepcopy(tiny)
    row = content["ways"][2]
    row |= {key: None for key in row if key not in ("batch", "group", "way", "status", "runs", "seconds")}
    row["status"] = "failed: out of memory"
    exhibit = device_cost.exhibit(tmp_path, _written(tmp_path / "m", a=content))
    assert_whole(exhibit)
    assert _table(exhibit, "ways").shown[2] | {"status": ""} == {
        **dict.fromkeys(_table(exhibit, "ways").shown[2], None),
        **{"measured on": "cpu, tiny", "batch": "1", "way": "naive rws", "status": ""},
    }
    assert _table(exhibit, "ways").shown[2]["status"] == "failed: out of memory"


def _without(part: str, key: str) -> Callable[[Row], Any]:
    def changed(content: Row) -> Row:
        rows = content[part] if isinstance(content[part], list) else [content[part]]
        for row in rows:
            del row[key]
        return content

    return changed


def _with(part: str, key: str, value: Any) -> Callable[[Row], Any]:
    def changed(content: Row) -> Row:
        row = content[part][-1] if isinstance(content[part], list) else content[part]
        row[key] = value
        return content

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda content: [content], "it is not a JSON object", id="list"),
        pytest.param(lambda content: content | {"schema": 2}, "its schema is 2, 1 is needed", id="schema"),
        pytest.param(lambda content: {"settings": {}, "rows": []}, "its schema is None", id="foreign"),
        pytest.param(lambda content: content | {"complete": None}, "whether it is complete", id="complete"),
        pytest.param(_without("provenance", "device"), "provenance has no device", id="device"),
        pytest.param(
            lambda content: content | {"provenance": 3}, "provenance has 3 in place of an object", id="provenance"
        ),
        pytest.param(_without("overhead", "increase"), "overhead has no increase", id="row"),
        pytest.param(_with("overhead", "increase", None), "overhead has None as increase", id="null"),
        pytest.param(_with("ratios", "value", "1"), "ratios has '1' as value", id="text"),
        pytest.param(_with("ways", "agreement", {"answers": 1}), "ways: an agreement has no equal", id="agreement"),
        pytest.param(_with("provenance", "date", None), "provenance has None as date", id="date"),
        pytest.param(_with("provenance", "changed", "no"), "provenance has 'no' as changed", id="changed"),
        pytest.param(_with("kernels", "ways", [{}]), "kernels has no factors", id="kernel"),
        pytest.param(_with("ratios", "value", float("nan")), "ratios has nan as value", id="nan"),
        pytest.param(_with("ratios", "value", 10**400), "as value", id="large"),
        pytest.param(_with("ratios", "goal", [1]), "ratios has [1] as goal", id="goal"),
        pytest.param(_with("settings", "shape", {}), "settings has {} as shape", id="shape"),
        pytest.param(_with("checks", "passed", "no"), "checks has 'no' as passed", id="passed"),
        pytest.param(_with("ways", "agreement", []), "ways: an agreement has [] in place of an object", id="agreed"),
        pytest.param(lambda content: content | {"ways": {}}, "ways is no list", id="table"),
        pytest.param(lambda content: content | {"kernels": [1]}, "kernels is no list", id="kernels"),
    ],
)
def test_what_is_no_measurement_is_refused_in_one_line(
    change: Callable[[Row], Any], message: str, tiny: Row, tmp_path: Path
) -> None:
    path = tmp_path / "bench" / "foreign.json"
    path.parent.mkdir()
    path.write_text(json.dumps(change(copy.deepcopy(tiny))), encoding="utf-8")
    with pytest.raises(ValueError, match="foreign") as raised:
        device_cost.exhibit(tmp_path, tmp_path / "none")
    assert str(path) in str(raised.value) and message in str(raised.value) and "\n" not in str(raised.value)


def test_a_broken_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "half.json"
    path.write_text('{"schema": 1,\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"half\.json cannot be read as JSON") as raised:
        read_measurement(path)
    assert "\n" not in str(raised.value)


def test_the_reader_reads_what_the_bench_writes() -> None:
    assert SCHEMA == WRITTEN
