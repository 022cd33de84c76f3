"""The Python of the guides, executed as it stands there, and the numbers that they tell."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_lines import decoding as rws_decode
from command_lines import figures, rws
from documented_commands import GUIDES, ROOT, block_lines, page, ran, section, shown, snippets

import rws_theory
from paper_figures.recorded import FOLDER, MEASURES
from paper_figures.studies.evidence_arms import GRID, METHODS, WORLDS

# How many snippets of a page the tests below execute; those of other pages have tests elsewhere.
EXECUTED = {"decode": 1, "studies": 3, "own": 4, "exact-worlds": 2, "claims": 1}
EXECUTED |= {"speed": 1, "plug-ins": 1, "ablate": 1, "add-strategy": 4, "add-study": 2}  # own tests
ABOUT = json.loads((FOLDER / "about.json").read_text(encoding="utf-8"))


def guide(name: str) -> str:
    return f"docs/guides/{name}.md"


def test_every_snippet_is_executed_below() -> None:
    pages = [name for name in GUIDES if not name.startswith("docs/extra/")]  # which have tests of their own
    assert {name: len(snippets(name)) for name in pages if snippets(name)} == {
        guide(name): number for name, number in EXECUTED.items()
    }


def test_no_page_is_long() -> None:
    words = {name: len(page(name).split()) - sum(len(text.split()) for text in shown(name)) for name in GUIDES}
    assert {name: number for name, number in words.items() if number > 800} == {}


def test_the_first_example_is_as_the_text_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ran(guide("decode"))
    assert len(names["guided"].rules_broken) == 3 and names["usual"].rules_broken == []
    assert "RWS breaks three rules" in " ".join(page(guide("decode")).split())
    assert "'the' at 0 overtakes 'worked' at 4 at factor 1.794" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "decodes.html", "order.png"]
    assert 40_000 < (tmp_path / "decodes.html").stat().st_size < 80_000  # "some 60 KB"


def test_the_first_command_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    command, *_ = block_lines(page(guide("decode")))
    assert rws_decode(command.removeprefix("rws ").split()) == 0
    assert [capsys.readouterr().out] == shown(guide("decode"))


def test_results_open_as_a_table_and_two_runs_are_compared_prompt_by_prompt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = "--prompts 4 --length 8 --steps 4 --block 8 --methods rws constant"
    for folder, scale in (("runs", 8), ("other", 0.1)):
        assert figures(f"experiment controls --out out/{folder} {small} --reward-scale {scale}".split()) == 0
    capsys.readouterr()
    scored = ran(guide("studies"))["scored"]
    assert set(scored["strategy"]) == {"rws", "constant", "default"} and len(scored) == 3 * 4 * 2
    assert capsys.readouterr().out.endswith("[]\n")
    assert len(ran(guide("studies"), 1)["record"].answers) > ABOUT["answers"]  # and the better of two scales
    assert ABOUT["command"] in capsys.readouterr().out
    names = ran(guide("studies"), 2)
    first, second = names["first"].to_numpy(), names["second"].to_numpy()
    assert first.size == 4 and (first != second).any()
    (mean,) = re.findall(r"mean=([-.\d]+)", capsys.readouterr().out)
    assert float(mean) == pytest.approx((first - second).mean())


def test_a_decode_is_compared_with_one_read_of_its_logits(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(guide("speed"))["least"] > 0 and "times the exponentials alone" in capsys.readouterr().out


def test_a_strategy_of_ones_own_runs() -> None:
    (snippet, *_) = snippets(guide("own"))
    definition = snippet[snippet.index("@dataclass") : snippet.index("(trace,)")].strip()
    assert len(definition.splitlines()) <= 10
    trace = ran(guide("own"))["trace"]
    assert trace.ranking == "order" and trace.tokens.shape == (64,)
    # Every step commits the positions whose two best tokens hold the most probability, as the section says.
    for step in range(trace.steps):
        chosen, left = trace.chosen[step], trace.eligible[step] & ~trace.chosen[step]
        assert not left.any() or trace.value[step, chosen].min() >= trace.value[step, left].max()
    assert (np.abs(trace.value[trace.eligible] - 0.5) <= 0.5).all()


def test_a_reward_a_predictor_and_a_world_of_ones_own_run() -> None:
    trace = ran(guide("own"), 1)["trace"]
    assert trace.final_reward["raw"] == trace.text.count("the")
    names = ran(guide("own"), 2)
    assert names["trace"].text == "b . ."  # the likeliest successor, each time
    names = ran(guide("own"), 3)
    trace, world = names["trace"], names["world"]
    assert trace.log_prob == pytest.approx(world.log_prob(trace.tokens.tolist(), trace.prompt.tolist()))


def test_an_exact_world_answers(capsys: pytest.CaptureFixture[str]) -> None:
    names = ran(guide("exact-worlds"))
    plain, tilted, best, rewards, slopes, *own = capsys.readouterr().out.splitlines()
    means = [float(line.rsplit(" ", 1)[1]) for line in (plain, tilted)]
    assert means[0] < means[1]  # Theorem 2
    assert float(best.rsplit(" ", 1)[1]) > 0  # how far the tilt has moved
    frontier = json.loads(rewards)
    assert frontier == sorted(frontier) and len(frontier) > 2
    assert slopes.startswith("RewardSlopes(") and names["own"].vocabulary == 3
    assert own == ["[[1.    0.    0.   ]", " [0.104 0.697 0.199]", " [1.    0.    0.   ]]"]


@pytest.mark.long
def test_an_exact_world_says_what_a_schedule_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    names = ran(guide("exact-worlds"))
    capsys.readouterr()
    exec(snippets(guide("exact-worlds"))[1], names)  # which goes on with the names of the first
    chain, drawn, text = capsys.readouterr().out.splitlines()
    assert names["best"].divergence <= names["curve"].schedule((4, 4, 4, 4)).divergence
    assert chain.count("nats") == 2 and "standard error" in drawn and len(text.split()) > 8


def test_the_theory_answers(capsys: pytest.CaptureFixture[str]) -> None:
    ran(guide("claims"))
    crossing, path, verdicts, *cell = capsys.readouterr().out.splitlines()
    assert crossing.startswith("(4.81211825") and crossing.endswith("[1]")
    assert path.startswith("[((0,), 4.81211825") and path.endswith("((1,), 32.0)]")
    assert verdicts == "False ['false']"
    assert [re.findall(r"'([a-z]+)'", line)[0] for line in cell] == ["confidence", "constant", "shuffled", "flipped"]


def test_the_verdicts_are_those_of_the_claim_check() -> None:
    text = page(guide("claims"))
    claims = json.loads((ROOT / "tests/theory/ledger.json").read_text(encoding="utf-8"))
    verdicts = {claim["id"]: claim["verdict"] for claim in claims}
    table = dict(re.findall(r"^\| `([\w-]+)` \|[^|]*\| ([\w ]+) \|", text, re.MULTILINE))
    for start, verdict in (
        ("As printed", "true"),
        ("With a correction", "true with correction"),
        ("Ours, true", "true"),
    ):
        table |= dict.fromkeys(re.findall(r"`([\w-]+)`", text.split(f"{start}: ")[1].split("\n\n")[0]), verdict)
    assert table == verdicts
    assert dict(re.findall(r"^\| ([a-zRWS ]+) \| (\d+) \|$", text, re.MULTILINE)) == {
        verdict: str(list(verdicts.values()).count(verdict)) for verdict in verdicts.values()
    }


@pytest.mark.long
def test_the_tutorial_is_short_and_its_commands_print_what_it_shows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page("docs/tutorial.md")
    assert len(text.split()) <= 1_500
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], encoding="utf-8")
    out = ""
    for kind, block in re.findall(r"^```(bash|text)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if kind == "text":
            assert block in out
        elif block.startswith("rws "):
            assert rws(block.split()[1:]) == 0
            out = capsys.readouterr().out


def test_the_study_is_told_as_it_was_made() -> None:
    text = " ".join(page("docs/evidence.md").split())
    assert f"{ABOUT['prompts']} test prompts, and {ABOUT['validation']} further prompts" in text
    assert f"{ABOUT['seconds']:,} seconds" in text and f"on {ABOUT['date']}" in text
    assert f"{ABOUT['answers']:,} answers and {ABOUT['frontiers']} Pareto fronts" in text
    assert f"at {ABOUT['weights']} weights of the reward" in text
    assert ", ".join(f"{scale:g}" for scale in GRID[:-1]) + f" and {GRID[-1]:g}" in text
    for world, chosen in ABOUT["chosen"].items():
        assert f"s_R = {chosen['rws']:g} and c = {chosen['temperature']:g} in `{world}`" in text
        shape = WORLDS[world]
        assert f"{shape.length} tokens in {shape.steps} steps" in text
    rows = section("docs/evidence.md", "Controls and rivals")
    factors = [line.title for line in METHODS.values() if line.kind == "factor"]
    assert [title for title in factors if f"| {title} |" not in rows] == []


def test_the_margins_are_those_of_the_code() -> None:
    rows = section("docs/evidence-statistics.md", "Measures and margins")
    for measure in MEASURES.values():
        reason = "the same" if measure.name == "nll" else measure.reason
        assert f"| {measure.unit} | {measure.margin * measure.factor:g} | {reason} |" in rows, measure.name


def test_the_coverages_are_those_that_the_tests_meet() -> None:
    tested = (ROOT / "tests/figures/statistics/test_coverage.py").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (0\.\d+) \|$", page("docs/evidence-statistics.md"), re.MULTILINE)
    assert len(rows) == 6
    for data, interval, share in rows:
        assert f'("{interval}", "{data}", 400, {float(share)})' in tested


def test_the_citation_names_this_version() -> None:
    assert f"version {rws_theory.__version__}," in page("docs/cite.md")


def test_every_extra_is_in_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r'^\| `pip install "\.\[([\w-]+)\]"`', page(guide("install")), re.MULTILINE)
    assert named == sorted(set(project["optional-dependencies"]) - {"dev"})
