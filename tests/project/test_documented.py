"""Every documented command, executed as it is written, with options added that make it small."""

import ast
import contextlib
import importlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from checkpoint_files import in_the_cache
from command_lines import rws
from documented_commands import ROOT, documented, page, words_of
from figure_runs import TINY, sketch
from judge_server import JudgeServer, longer

from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.rewards import PUBLISHED
from rws_decode.rewards.registry import SKYWORK_V2

LLADA = "GSAI-ML/LLaDA-8B-Instruct"
A2D = "dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1"
V2 = "skywork-v2-qwen3-0.6b"
SIX = ("skywork-v0.2", "llamaob", "intern", "eurus", "grm", "qrm")
CPU = "--device cpu --length 8 --steps 4 --block 8"
SHORT = "--length 8 --steps 4 --block 8"
SMALL = f"--prompts 2 {SHORT} --workers 1"
STUDY = f"{CPU} --workers 1 --rewards skywork-v0.2 grm --data reward-bench:filtered.json --prompts 5 --reward-scale 8"
DRAWN = "rws score .* --draw 15"

# What is added to a command so that it is small: the first pattern that matches it says what.
SMALLER: dict[str, str] = {
    "python3 -m venv .*": "--without-pip",
    "rws claims": "T1b-printed D-gaps",
    "rws claims --json": "D-gaps",
    "rws presets llada-gsm8k": "",
    "rws (generate|compare) --preset llada-gpqa .*": "--length 16",
    "rws (generate|compare) (--preset|.*--infill) .*": "",
    "rws generate --model mini .*--compare .*": "",
    "rws compare .* best-of.*": "--length 4 --steps 4 --block 4",
    f"rws generate --model {A2D} .*": "--length 16 --steps 8 --block 8",
    f"rws (generate|check) .*{LLADA} .*": CPU,
    f"rws ablate .*{LLADA} .*": f"{CPU} --validation 8 --until 8",
    "rws ablate --model english .*": f"{SHORT} --validation 8 --until 8",
    "rws check .* --settings": f"threads=2 --prompt 'write a story .' {SHORT}",
    "rws check .* --against .*": "",
    "rws scale-path .* --over reward-scale .*": "--length 16 --steps 8 --block 16",
    "rws (generate|compare|check|scale-path) .*": SHORT,
    "rws steering .*": "--draws 20 --budgets 16",
    f"{DRAWN} .* --counts .*": "--draw 1 --prompts 20 --counts 1 1",
    f"{DRAWN} --prompts 40 .*": "--draw 1 --prompts 20 --length 2 --steps 2",
    DRAWN: "--draw 1 --length 4",
    "rws bench": f"{SHORT} --prompts 1 --repeats 1",
    f"rws experiment reward-bench .*{LLADA}.*": f"{STUDY} --methods rws",
    "rws experiment reward-bench .*": f"{SMALL} --validation 1 --reward-scale 8 --rewards mini --methods rws",
    "rws experiment controls .*": f"{SMALL} --reward-scale 8 --methods rws constant",
    "rws experiment commit-order .*": SHORT,
    "rws experiment rivals --out out/steering .*": (
        f"{SMALL} --worlds mini:mini --budget 8 --strategies tree-search guided-particles"
    ),
    "rws experiment rivals .*": f"{SMALL} --strategies rws:8 threshold:0.9",
    "rws experiment temperature .*": f"{SMALL} --scales 1 8 --methods rws constant",
    "rws experiment scale-path .*": f"{SMALL} --causal none",
    "rws experiment precision .*": f"{SMALL} --scales 8 --strategies temperature",
    "rws judge .*": "--yes --settings '{\"repeats\": 1}'",
    "rws frontier --model .*": "--strategies default --searches 2 --length 2 --steps 1 --block 2",
    "rws frontier .*": "--strategies default --searches 2",
    "rws verify .*": "--sample 1",
}

# What is there in place of parts of commands.
STANDS: dict[str, str] = {
    "device=cuda": "device=cpu",
    "--reward smollm2": "--reward mini",
    "--causal smollm2": "--causal mini-causal",
    "STEPMAP -o TRACE": "runs.jsonl -o out/maps",
    "replay FILE": "replay out/rws/trace.parquet",
    "diff A B --model NAME": "diff out/rws/trace.parquet out/default/trace.parquet --model mini",
}

# Commands whose files others read.
TRACES = ("rws generate --model mini .* --trace out/rws", "rws generate --model mini .* --trace out/default")
FIRST: dict[str, tuple[str, ...]] = {
    "rws view out/first/.*": ("rws generate --model english .* --trace out/first",),
    r"\. \.venv/bin/activate": (r"python3 -m venv \.venv",),
    r"rws path logits\.npy .*": ('python -c "import numpy; .*',),
    "rws check mini --reward mini --against .*": ("rws check mini --reward mini -o .*",),
    "rws (view|diff) out/runs/.*": (r"rws import runs\.jsonl .*",),
    r"rws replay .*|rws (view|diff) (out/default/.*|A B .*)": TRACES,
    f"rws generate --model {A2D} .*": (f"rws calibrate --reward {V2} .*",),
    "rws figures .* --runs out/llada .*": ("rws experiment reward-bench --out out/llada .*",),
    "rws summarize out/runs": ("rws experiment controls .*",),
}

# What commands print of what pages say that they print.
SAYS: dict[str, tuple[str, ...]] = {
    r"rws crossings .*": ("crossing at r = 4.8121182506", "these are all (proved"),
    r"rws path .*": ("scales 0.01 to 2.122", "to 4.812", "to 32: positions 1", "certified at every scale"),
    "rws presets .*": ("gen_length = 512 -> length 512", "EVAL.md line 74"),
    "rws generate --preset llada-gsm8k .*": ("--steps 32 and --block 32 follow",),
    "rws generate --model mini .*--compare .*": ("overtakes", "rules broken: 3", "saved"),
    "rws generate --model mini --strategy temperature.*": ("reward calls: 0",),
    "rws generate .* --infill .*": ("we ask the congress ", " with spain.\n"),
    r"rws check mini --reward mini -o mini\.json": ("On another machine, run",),
    "rws check mini .*(--against .*|device=cuda)": ("Nothing differs: ",),
    r"rws import runs\.jsonl .*": ("a█ is█", "A step map does not tell: strategy"),
    "rws diff out/runs/.*": ("not compared, as a step map", "step 0"),
    "rws replay .*": ("the same",),
    "rws ablate --model .*": ("factor varies",),
    "rws factor-paths .*": ("at -4 SD: the factor varies by 48.7 %, from 0.76 to 6.45; a schedule has 78 % of this",),
    "rws summarize .*": ("# controls", "own_score"),
    "rws verify --study .*": ("1 of 1 recorded",),
}

# Tested where the test says, at the same size.
THERE: dict[str, str] = {
    # The fixture runs them all, by the options' own parsers; it draws all by the command's own `main`.
    rf"rws experiment ({'|'.join(TINY)}) --out (RUNS|FOLDER)": "figure_runs.py::figure_runs",
    r"rws figures( (--full )?--runs (out|out-study)/runs --out \S+ --workers 2)?": ("figure_runs.py::figure_page"),
    "rws experiment normalisation .*": "test_normalisation.py::test_a_tiny_run_goes_on_where_it_stopped",
    "rws --install-completion": "test_console.py::test_shells_complete_it",
    "rws figures fig2_masking .*": "test_report.py::test_a_later_call_keeps_the_others_on_the_page",
    "rws experiment mt-bench .* --llm-judge .*": "test_mt_bench.py::judged",
    r"rws experiment evidence --out out-study/runs .*": ("test_evidence_study.py::test_every_arm_answers_every_prompt"),
    "rws record --runs out-study/runs": ("test_evidence_study.py::test_a_record_of_a_run_is_computed_again"),
    "rws verify --study (antibody|reactions|smollm2) .*": (
        "test_evidence_study.py::test_a_recorded_text_of_a_published_network_is_filled_again"
    ),
    "rws ablate --reward mine:vowels .*": "test_ablation.py::test_the_command_writes_what_the_call_returns",
    "rws ablate --record all": "test_recorded_ablations.py::test_the_tables_are_what_the_command_prints",
    "rws fragility traces .*": "test_fragility.py::test_the_guide_is_as_its_example_says",
    "rws bench --shape .*": ("test_bench_device.py::test_the_command_prints_what_it_writes"),
    r"rws train mini --runs out/training": "test_training.py::test_the_command_trains_and_leaves_a_checkpoint",
    r"rws train english --package FILE\.tgz": (
        "test_training.py::test_the_command_writes_the_files_and_says_what_was_measured"
    ),
    "rws generate .* --strategy above-mean --decay 0.5": (
        "test_first_change.py::test_a_strategy_is_one_file_and_one_line"
    ),
    "rws figures how_sure .*": "test_first_change.py::test_a_figure_is_one_file",
    r"python alike\.py .*": "test_determinism.py::written",
    "rws (generate|compare|ablate) --model (antibody|reactions|reactions-small) .*": (
        "test_sequences.py::test_the_documented_commands_answer"
    ),
    "export RWS_TRACE=.*": "test_notebooks.py::test_a_trace_of_another_model_is_read_without_it",
    r"python3 tests/support/check_proofs\.py.*": "test_proofs.py::test_the_proofs_hold",
    "python -m mkdocs build -q": "test_site.py::site",
    r"python notebooks/refresh\.py": "test_notebooks.py::test_the_command_writes_what_was_stale_and_fails_once",
    r"python docs/site_extras\.py": "test_extras.py::test_the_list_of_extras_is_the_one_that_is_generated",
    r"python tests/support/readme_pictures\.py": "test_animation.py::test_the_pictures_are_small_and_made_anew",
    r"python tests/support/third_party\.py": "test_packaging.py::test_licences_are_those_of_the_installed_metadata",
    r"python tests/support/mutants\.py *": "test_first_change.py::test_each_fault_of_make_mutants_can_be_planted_once",
    r"python tests/support/fuzz_files\.py --seconds 3600 *": "test_fuzz_files.py",
    r"python tests/support/decode_again\.py .*": "test_fragility.py::test_the_script_of_the_tables_counts_what_changes",
}

# What cannot be run as the others are: why, and what covers it.
NOT_HERE: dict[str, str] = {
    r"pip install .*": "needs an index of packages; its files and extras are looked up below, `make package` runs it",
    r"python -m pip install .*": "needs an index of packages; part of `make package`",
    r"python tests/support/try_package\.py --python python3": "makes environments from an index: `make package`",
    "rws experiment words .*": "is of a study that a reader adds",
    "rws experiment humaneval .* --allow-code-execution .*": "runs programs that models write: tests/extra/sandbox",
    "python -m pytest .*": "is what runs this; the files that it names are looked up below",
    "pyright .*|ruff (check|format) .*|codespell.*": "is a check of its own beside the tests: `make lint`",
    r"rws train (NAME|mini(-\w+)?) --runs (DIR|RUNS.*|.* --export.*)": (
        "an hour and more; the first step of `mini` is made above, export is test_training.py's"
    ),
    r"python -m rws_decode\.extra\.adapters\.lm_eval .*": (
        "needs the harness, which is large: that one line says so is test_packaging.py's, its model test_adapters.py's"
    ),
    "jupyter lab notebooks": "serves until it is stopped: that it is installed is tested below",
    r"dask (scheduler|worker) .*|rws experiment NAME .* --scheduler .*": "are run together below",
    r"rws experiment reward-bench --out /\S+ --scheduler .*": "needs a cluster; one is made below",
    r"dask cuda worker .*": "needs the package dask-cuda and a GPU",
    r"make \w+( [A-Z]+=\S+)*": "is what `make -n` says it runs: each of these commands is classified here, too",
}

# A command's name alone, or what it can be given: --help answers, and has every option that is shown.
NAMES = (
    r"(rws|python -m (rws_theory|rws_decode|paper_figures))( [a-z][\w-]*){0,2}( NAME| COMMAND)?( --help)?",
    r"(rws (figures|judge|view)|python ((notebooks|tests/support)/)?\w+\.py) .*(\[.*\]|[A-Z]{3,}).*",
)
KNOWN = (*THERE, *NOT_HERE)


def matching(command: str, patterns: Iterable[str]) -> list[str]:
    return [pattern for pattern in patterns if re.fullmatch(pattern, command)]


def names_alone() -> list[str]:
    """Return the documented commands that are but a name, or say what can be given."""
    known = [*KNOWN, *map(re.escape, SMALLER)]
    return [command for command in documented() if matching(command, NAMES) and not matching(command, known)]


def executed() -> list[str]:
    """Return the documented commands that this file executes: all that are neither known elsewhere nor a name alone."""
    names = names_alone()
    return [command for command in documented() if command not in names and not matching(command, KNOWN)]


def test_every_pattern_is_of_a_documented_command_and_none_of_two_places() -> None:
    assert {c: matching(c, KNOWN) for c in documented() if len(matching(c, KNOWN)) > 1} == {}
    assert [p for p in KNOWN if not any(re.fullmatch(p, command) for command in documented())] == []
    ours = [*SMALLER, *FIRST, *SAYS, *(need for needs in FIRST.values() for need in needs)]
    assert [p for p in ours if not any(re.fullmatch(p, command) for command in executed())] == []


@dataclass(frozen=True)
class User:
    """A folder as a user has it, with a cache of the hub's; what was run there is not run again."""

    folder: Path
    cache: Path
    server: JudgeServer
    told: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        """Run a command, after those whose files it reads, and return what it printed."""
        for pattern in matching(command, FIRST):
            for needed in (c for need in FIRST[pattern] for c in executed() if re.fullmatch(need, c)):
                self.run(needed)
        if command not in self.told:
            words = f"{command} {next((SMALLER[pattern] for pattern in matching(command, SMALLER)), '')}"
            for part, there in STANDS.items():
                words = words.replace(part, there)
            status, self.told[command] = self.execute(words_of(words))
            assert status == 0, (command, self.told[command])
        return self.told[command]

    def execute(self, words: list[str]) -> tuple[int, str]:
        """Run one command in the folder; return its status and what it printed on either stream."""
        endpoint = {"OPENAI_BASE_URL": self.server.url, "OPENAI_API_KEY": "key"}
        out = io.StringIO()
        with (
            contextlib.chdir(self.folder),
            mock.patch.dict(os.environ, endpoint),
            mock.patch("huggingface_hub.constants.HF_HUB_CACHE", str(self.cache)),
            mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True),
            mock.patch("paper_figures.exhibits.shared.exhibit._printed", sketch),
            mock.patch("paper_figures.extra.check.command.digests_in", map),  # processes of its own: test_cli_check.py
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            status = called(words)
        return status, out.getvalue()


def called(words: list[str]) -> int:
    """Run a command of this project in this process, another one as a process; return its status."""
    if words[0] == "rws":
        return rws(words[1:])
    if words[:2] == ["python", "-m"]:
        module, rest = words[2], words[3:]
        package = importlib.util.find_spec(module)
        whole = f"{module}.__main__" if package and package.submodule_search_locations else module
        return importlib.import_module(whole).main(rest)
    if words[:2] == ["python", "-c"]:
        exec(compile(words[2], "-c", "exec"), {"__name__": "__main__"})
        return 0
    if words[0] == "python":
        runpy.run_path(words[1], run_name="__main__")
        return 0
    words = ["sh", "-c", f"{' '.join(words)} && command -v python"] if words[0] == "." else words
    words = [sys.executable if words[0] == "python3" else words[0], *words[1:]]
    outcome = subprocess.run(words, capture_output=True, text=True)
    print(outcome.stdout, outcome.stderr)
    return outcome.returncode


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Yield a folder with the files that documented commands read, beside a cache with small checkpoints."""
    folder, cache = (tmp_path_factory.mktemp(name) for name in ("user", "hub"))
    entries = {LLADA: "llada", A2D: "a2d-qwen3", SKYWORK_V2[V2].hub_id: "skywork-v2-qwen3"}
    for hub_id, name in (entries | {PUBLISHED[name].hub_id: name for name in SIX}).items():
        commit = PUBLISHED[name].revision if name in PUBLISHED else "0" * 40
        # None of them has its statistics beside it.
        tiny_checkpoint(name, in_the_cache(cache, hub_id, str(commit)), files={"reward.json": None})
    texts = ["the cat ?", "a dog ?", "red or blue ?", "why ?", "a small bird ?", "the hill ?", "then ?", "it was ?"]
    rows = [
        {"id": number, "subset": "alpacaeval-easy", "prompt": text, "chosen": "it was red", "rejected": "a cat"}
        for number, text in enumerate(texts)
    ]
    (folder / "filtered.json").write_text(json.dumps(rows))
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    prompts = [json.dumps({"prompt": f"{text} {more}"}) for more in ("a", "the", "it", "red", "was") for text in texts]
    (folder / "prompts.jsonl").write_text("\n".join(prompts) + "\n")
    pairs = [{"id": number, "question": "why ?", "first": "a", "second": text} for number, text in enumerate(texts)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "runs.jsonl").write_text(page("docs/extra/step_maps.md").split("```json\n")[1].split("```")[0])
    with JudgeServer(longer) as server:
        yield User(folder, cache, server)


@pytest.mark.long
@pytest.mark.parametrize("command", executed())
def test_a_documented_command_runs(command: str, user: User) -> None:
    output, words = user.run(command), words_of(command)
    assert "Traceback" not in output
    assert [text for pattern in matching(command, SAYS) for text in SAYS[pattern] if text not in output] == [], output
    written = [there for option, there in pairwise(words) if option in ("-o", "--out", "--view", "--trace")]
    written = [f"{there}/{words[2]}" if "experiment" in words else there for there in written if there != "TRACE"]
    assert [path for path in written if not (user.folder / path).exists()] == []


def test_a_name_alone_is_answered_with_what_it_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_alone()
    assert "rws presets" in names and len(names) > 10
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for name in names:
        words, out = name.split(), io.StringIO()
        if words[0] == "python" and "-m" not in words and "--" not in name:
            # A part of the tests, for no other use: the tests run it.
            assert Path(words[1]).stem in tests, name
            continue
        start = words[: next((i for i, word in enumerate(words) if not word.islower()), len(words))]
        start = [str(ROOT / word) if "/" in word else word for word in start]
        monkeypatch.setattr(sys, "argv", [*start[1:2], "--help"])
        with contextlib.redirect_stdout(out):
            try:
                status = called([*start, "--help"])
            except SystemExit as ended:  # of scripts
                status = ended.code
        help_text = out.getvalue()
        assert status == 0 and "usage: " in help_text.lower(), name
        options = re.findall(r"--[a-z][\w-]*", name.removesuffix("--help"))
        assert [option for option in options if option not in help_text] == [], name


@pytest.mark.parametrize("pattern", THERE)
def test_what_is_tested_elsewhere_is_there(pattern: str) -> None:
    file, _, name = THERE[pattern].partition("::")
    (path,) = (ROOT / "tests").rglob(file)
    functions = [
        node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    ]
    assert (name in functions) if name else any(function.startswith("test_") for function in functions)
