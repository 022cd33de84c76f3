"""Every documented command, executed: as it is written, with options added that make it small.

A row of a table below says how the commands of one pattern are executed. A command that none of them knows fails.
"""

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from unittest import mock

import pytest
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
STUDY = f"{CPU} --workers 1 --rewards skywork-v0.2 grm --data reward-bench:filtered.json --prompts 5 --reward-scale 8"
STUDY += " --methods rws"
SHORT = "--length 8 --steps 4 --block 8"
SMALL = f"--prompts 2 {SHORT} --workers 1"


@dataclass(frozen=True)
class Here:
    """Executed by this file. more: options that make it small; first: a documented command whose files it reads;
    stands: words of the command and what is there in their place; says: what it prints; leaves: files it writes."""

    more: str = ""
    first: tuple[str, ...] = ()
    stands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    says: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


GUIDED = "rws generate --model mini --strategy rws --reward mini .* --trace out/rws"
UNGUIDED = "rws generate --model mini --example 3 --trace out/default"
OF_LLADA = rf"rws experiment reward-bench --out out/llada .*{LLADA}.*"
IMPORTED = r"rws import runs\.jsonl .*"
DIGEST = r"rws check mini --reward mini -o mini\.json"
SOME_LOGITS = r'python -c "import numpy; .*logits\.npy.*"'
CONTROLS = "rws experiment controls --out out/runs --workers 2"
CALIBRATED = rf"rws calibrate --reward {V2} .*"
VENV = r"python3 -m venv \.venv"

HERE: dict[str, Here] = {
    # The environment.
    VENV: Here(more="--without-pip", leaves=(".venv/bin/activate",)),
    r"\. \.venv/bin/activate": Here(first=(VENV,), says=(".venv",)),
    # The theory. All claims: tests/test_claims.py.
    "rws claims": Here(more="T1b-printed D-gaps", says=("T1b-printed: FALSE", "D-gaps: TRUE")),
    "rws claims --json": Here(more="D-gaps", says=('"verdict": "true"',)),
    r'rws crossings "\[.*': Here(says=("crossing at r = 4.8121182506", "these are all (proved")),
    SOME_LOGITS: Here(leaves=("logits.npy",)),
    r"rws path logits\.npy .*": Here(
        first=(SOME_LOGITS,),
        says=(
            "scales 0.01 to 2.122",
            "positions 2",
            "to 4.812",
            "positions 0",
            "to 32: positions 1",
            "certified at every scale",
        ),
    ),
    # Decodes of the shipped model, as they stand.
    "rws presets llada-gsm8k": Here(says=("gen_length = 512 -> length 512", "EVAL.md line 74")),
    "rws generate --preset llada-gpqa .*": Here(more="--length 16", says=("forwards: ",)),
    "rws generate --preset llada-gsm8k .*": Here(says=("--steps 32 and --block 32 follow",)),
    "rws compare --preset fast-dllm-gsm8k .*": Here(says=("threshold:0.9: ", "--length 32 is given")),
    "rws generate --model mini --reward mini .*": Here(says=("overtakes", "rules broken: 3", "saved")),
    "rws generate --model mini --strategy temperature.*": Here(says=("crater", "reward calls: 0")),
    r"rws generate --model english --reward (?!smollm2 ).*": Here(more=SHORT, says=("generation order deviation",)),
    "rws generate --model english --strategy default.*": Here(more=SHORT, says=("order deviation",)),
    "rws generate --model english --infill .*": Here(says=("we ask the congress ", " with spain.\n")),
    UNGUIDED: Here(more=SHORT, leaves=("out/default/trace.parquet",)),
    GUIDED: Here(more=SHORT, leaves=("out/rws/trace.parquet",)),
    "rws compare --model mini .*": Here(more=SHORT, says=("rws:8: ", "rules broken", "GOD [tokens]")),
    "rws compare --model english .*--view out/runs.html": Here(
        more=SHORT, says=("rws:8: ",), leaves=("out/runs.html",)
    ),
    "rws compare --model english .* rws:8": Here(says=("log p", "the answer of temperature:4")),
    "rws compare --model english .* best-of.*": Here(
        more="--length 4 --steps 4 --block 4", says=("particles:8+beta:2", "log p", "reward calls")
    ),
    "rws generate --strategy svdd.*": Here(more=SHORT, says=("generation order deviation", "reward calls")),
    "rws steering .*": Here(more="--draws 20 --budgets 16", says=("exact draws", "particles:5")),
    "rws score .* --answer .*": Here(says=("default", "rws:8")),
    "rws score .* --draw 15 --prompts 40 .* --counts .*": Here(
        more="--draw 1 --prompts 20 --counts 1 1", says=("KL(p || q)",)
    ),
    "rws score .* --draw 15 --prompts 40 (?!.*--counts).*": Here(
        more="--draw 1 --prompts 20 --length 2 --steps 2", says=("KL(p || q)",)
    ),
    "rws score .* --draw 15": Here(more="--draw 1 --length 4", says=("left-to-right", "KL(p || q)")),
    DIGEST: Here(more=SHORT, leaves=("mini.json",), says=("On another machine, run",)),
    "rws check mini --reward mini --against .*": Here(first=(DIGEST,), says=("Nothing differs: ",)),
    "rws check mini --reward mini --settings": Here(
        more=f"threads=2 --prompt 'write a story .' {SHORT}", says=("threads=2 (here)",)
    ),
    "rws check mini --settings device=cuda": Here(
        more=SHORT, stands={"device=cuda": "device=cpu"}, says=("Nothing differs: ",)
    ),
    f"rws check {LLADA} --device cuda -o .*": Here(more=CPU, leaves=("llada.json",)),
    IMPORTED: Here(says=("a█ is█", "A step map does not tell: strategy"), leaves=("out/runs/1.parquet",)),
    "rws import STEPMAP -o TRACE": Here(stands={"STEPMAP": "runs.jsonl", "TRACE": "out/maps"}),
    "rws view out/runs/.*": Here(first=(IMPORTED,), leaves=("out/run.html",)),
    "rws playground -o out/playground.html": Here(leaves=("out/playground.html",)),
    "rws playground .* --model mini": Here(leaves=("out/playground-mini.html",)),
    "rws diff out/runs/.*": Here(first=(IMPORTED,), says=("not compared, as a step map", "step 0")),
    "rws view out/default/.*html": Here(first=(GUIDED, UNGUIDED), leaves=("out/decodes.html",)),
    "rws view .*gif": Here(first=(GUIDED, UNGUIDED), leaves=("out/decodes.gif",)),
    "rws scale-path .* --view out/scales.html": Here(more=SHORT, leaves=("out/scales.html",)),
    "rws replay out/rws/.*": Here(first=(GUIDED,), says=("the same",)),
    "rws replay FILE": Here(first=(GUIDED,), stands={"FILE": "out/rws/trace.parquet"}),
    "rws diff out/default/.*": Here(first=(GUIDED, UNGUIDED), says=("part",)),
    "rws diff A B --model NAME": Here(
        first=(GUIDED, UNGUIDED),
        stands={"A": "out/rws/trace.parquet", "B": "out/default/trace.parquet", "NAME": "mini"},
    ),
    "rws scale-path .* --scale-max 32": Here(
        more=SHORT, says=("certified", "a grid of as many points would take", "reward calls on the way: 0")
    ),
    "rws scale-path .* --over reward-scale .*": Here(more="--length 16 --steps 8 --block 16", says=("certified",)),
    "rws bench": Here(more=f"{SHORT} --prompts 1 --repeats 1", says=("naive", "same text")),
    # A2D, LLaDA and their reward models, from a hub's cache that holds small ones of their layout.
    CALIBRATED: Here(says=("sample deviation",), leaves=("skywork-v2.json",)),
    f"rws generate --model {A2D} .*": Here(
        more="--length 16 --steps 8 --block 8", first=(CALIBRATED,), says=("reward calls: ",)
    ),
    f"rws generate --model {LLADA} .* --block 32": Here(more=CPU, says=("reward calls: ",)),
    f"rws generate --model {LLADA} .* --trace traces/rws": Here(more=CPU, leaves=("traces/rws/trace.parquet",)),
    f"rws generate --model {LLADA} .* --trace traces/default": Here(more=CPU, leaves=("traces/default/trace.parquet",)),
    f"rws convert {LLADA} models/llada": Here(leaves=("models/llada/config.json",)),
    r"rws calibrate --reward skywork-v0\.2 .*": Here(says=("mean", "sample deviation")),
    OF_LLADA: Here(more=STUDY, says=("win_rates", "skywork-v0.2"), leaves=("out/llada/reward-bench/results.json",)),
    "rws figures table1_win_rate .* --runs out/llada .*": Here(
        first=(OF_LLADA,), leaves=("out/llada-report/index.html", "out/llada-report/tables/table5_god_quintiles.csv")
    ),
    # Experiments that figures do not read, figures, and what else there is.
    CONTROLS: Here(more=f"{SMALL} --reward-scale 8 --methods rws constant", leaves=("out/runs/controls/results.json",)),
    "rws experiment commit-order --out out/runs --draw": Here(
        more=SHORT, leaves=("out/runs/index.html", "out/runs/figures/fig1_commit_order.png")
    ),
    "rws summarize out/runs": Here(first=(CONTROLS,), says=("# controls", "own_score")),
    "rws experiment rivals --out out/runs .*": Here(
        more=f"{SMALL} --strategies rws:8 threshold:0.9",
        says=("threshold:0.9",),
        leaves=("out/runs/rivals/rivals.csv",),
    ),
    "rws experiment rivals --out out/steering .*": Here(
        more=f"{SMALL} --worlds mini:mini --budget 8 --strategies tree-search guided-particles",
        leaves=("out/steering/rivals/rivals.csv",),
    ),
    "rws experiment rivals --out out/scales .*": Here(
        more=f"{SMALL} --strategies rws:8", leaves=("out/scales/rivals/rivals.csv",)
    ),
    "rws experiment rivals --out out/smollm2 .*": Here(
        more=SMALL, stands={"smollm2": "mini-causal"}, leaves=("out/smollm2/rivals/perplexity.csv",)
    ),
    "rws generate --model english --reward smollm2 .*": Here(stands={"smollm2": "mini"}, says=("reward", "forwards: ")),
    "rws experiment temperature --causal smollm2 .*": Here(
        more=f"{SMALL} --scales 1 8 --methods rws constant",
        stands={"smollm2": "mini-causal"},
        leaves=("out/table8/temperature/summary.csv",),
    ),
    "rws experiment scale-path --out out/runs( --workers 2)?": Here(
        more=f"{SMALL} --causal none", leaves=("out/runs/scale-path/reach.csv",)
    ),
    "rws experiment precision --out out/runs": Here(
        more=f"{SMALL} --scales 8 --strategies temperature", leaves=("out/runs/precision/results.json",)
    ),
    "rws experiment reward-bench --out out/runs --workers 4": Here(
        more=f"{SMALL} --validation 1 --reward-scale 8 --rewards mini --methods rws",
        leaves=("out/runs/reward-bench/results.json",),
    ),
    r"rws judge pairs\.jsonl .*": Here(
        more="--yes --settings '{\"repeats\": 1}'", says=("win",), leaves=("out/judge",)
    ),
    "rws frontier --example 240": Here(
        more="--searches 2 --strategies default", says=("regret", "of our minister at mexico.")
    ),
    "rws frontier --example 3 --length 12 --steps 6": Here(
        more="--strategies default --searches 2", says=("the frontier", "god bless america", "default")
    ),
    "rws frontier --model .*": Here(
        more="--strategies default --searches 2 --length 2 --steps 1 --block 2", says=("the frontier", "default")
    ),
    "rws verify --sample 40": Here(more="--sample 1", says=("recorded answers",)),
    "rws verify --study laws --sample 40": Here(more="--sample 1", says=("1 of 1 recorded",)),
}

# Tested where the test says, at the same size.
THERE: dict[str, str] = {
    # The fixture runs them all, by the options' own parsers; it draws all by the command's own `main`.
    rf"rws experiment ({'|'.join(TINY)}) --out (RUNS|FOLDER)": "figure_runs.py::figure_runs",
    r"rws figures( (--full )?--runs (out|out-study)/runs --out \S+ --workers 2)?": ("figure_runs.py::figure_page"),
    "rws --install-completion": "test_console.py::test_shells_complete_it",
    "rws figures fig2_masking .*": "test_report.py::test_a_later_call_keeps_the_others_on_the_page",
    "rws experiment mt-bench .* --llm-judge .*": "test_mt_bench.py::judged",
    r"rws experiment evidence --out out-study/runs .*": ("test_evidence_study.py::test_every_arm_answers_every_prompt"),
    "rws record --runs out-study/runs": ("test_evidence_study.py::test_a_record_of_a_run_is_computed_again"),
    "rws verify --study (antibody|reactions|smollm2) .*": (
        "test_evidence_study.py::test_a_recorded_text_of_a_published_network_is_filled_again"
    ),
    "rws ablate --reward mine:vowels .*": "test_ablation.py::test_the_command_writes_what_the_call_returns",
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
    "rws (generate|compare) --model (antibody|reactions|reactions-small) .*": (
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
KNOWN = (*HERE, *THERE, *NOT_HERE)


def commands_of(pattern: str) -> list[str]:
    """Return the documented commands of a pattern."""
    return [command for command in documented() if re.fullmatch(pattern, command)]


def names_alone() -> list[str]:
    """Return the documented commands that are but a name, or say what can be given."""
    known = [command for command in documented() if any(re.fullmatch(pattern, command) for pattern in KNOWN)]
    return [c for c in documented() if c not in known and any(re.fullmatch(pattern, c) for pattern in NAMES)]


def test_every_documented_command_is_known_once() -> None:
    known = {command: [p for p in KNOWN if re.fullmatch(p, command)] for command in documented()}
    names = names_alone()
    unknown = {c: documented()[c] for c, patterns in known.items() if not patterns and c not in names}
    assert unknown == {}, "write into tests/test_documented.py how they are executed"
    assert {command: patterns for command, patterns in known.items() if len(patterns) > 1} == {}
    assert [pattern for pattern in KNOWN if not commands_of(pattern)] == []


@dataclass(frozen=True)
class User:
    """A folder as a user has it, with a cache of the hub's; what was run there is not run again."""

    folder: Path
    cache: Path
    server: JudgeServer
    told: dict[str, str] = field(default_factory=dict)

    def run(self, pattern: str) -> list[str]:
        """Run the commands of a pattern, after what they need, and return what each printed."""
        case = HERE[pattern]
        for needed in case.first:
            self.run(needed)
        for command in commands_of(pattern):
            if command not in self.told:
                words = [case.stands.get(word, word) for word in words_of(f"{command} {case.more}")]
                status, self.told[command] = self.execute(words)
                assert status == 0, (command, self.told[command])
        return [self.told[command] for command in commands_of(pattern)]

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
            mock.patch("rws_decode.extra.check.command.digests_in", map),  # processes of its own: test_cli_check.py
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
        checkpoint = cache / f"models--{hub_id.replace('/', '--')}"
        (checkpoint / "refs").mkdir(parents=True)
        (checkpoint / "refs" / "main").write_text(str(commit))
        snapshot = checkpoint / "snapshots" / str(commit)
        tiny_checkpoint(name, snapshot, files={"reward.json": None})  # none of them has its statistics beside it
    texts = ["the cat ?", "a dog ?", "red or blue ?", "why ?", "a small bird ?", "the hill ?", "then ?", "it was ?"]
    rows = [
        {"id": number, "subset": "alpacaeval-easy", "prompt": text, "chosen": "it was red", "rejected": "a cat"}
        for number, text in enumerate(texts)
    ]
    (folder / "filtered.json").write_text(json.dumps(rows))
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = [{"id": number, "question": "why ?", "first": "a", "second": text} for number, text in enumerate(texts)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "runs.jsonl").write_text(page("docs/extra/step_maps.md").split("```json\n")[1].split("```")[0])
    with JudgeServer(longer) as server:
        yield User(folder, cache, server)


@pytest.mark.long
@pytest.mark.parametrize("pattern", HERE)
def test_a_documented_command_runs(pattern: str, user: User) -> None:
    for output in user.run(pattern):
        assert "Traceback" not in output
        assert [words for words in HERE[pattern].says if words not in output] == [], output
    assert [path for path in HERE[pattern].leaves if not (user.folder / path).exists()] == []


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
