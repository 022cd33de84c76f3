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
from documented_commands import ROOT, documented, listed, page, words_of
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

# Of patterns of commands, what documented_commands.txt says, where || stands between several.
PARTS = {"CPU": CPU, "SHORT": SHORT, "SMALL": SMALL, "STUDY": STUDY, "DRAWN": "rws score .* --draw 15", "LLADA": LLADA}
PARTS |= {"A2D": A2D, "V2": V2, "TINY": "|".join(TINY)}
SMALLER, STANDS, first, says, THERE, NOT_HERE = listed("documented_commands.txt", **PARTS).values()
FIRST = {pattern: value.split("||") for pattern, value in first.items()}
SAYS = {pattern: value.replace("\\n", "\n").split("||") for pattern, value in says.items()}

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
