"""The README's Python, executed as it stands there, and what README and guides name, compared with what there is."""

import re

import decode_again
import pytest
from documented_commands import GUIDES, PROGRAM, ROOT, block_lines, options_shown, page, ran, section, shown

from paper_figures.exhibits import NAMES
from paper_figures.studies import STUDIES, every_study
from rws_decode.cli.app import complete_app, entry_points
from rws_decode.strategies import offered

# Options of pytest's, pip's, accelerate's and the harness's own.
OTHERS = {"--multi_gpu", "--num_processes", "--model_args", "--tasks", "--python", "--constraints"}
OTHERS |= {"--no-deps", "--require-hashes", "--seeds", "--decay"}  # the last of what a reader adds


def test_the_readme_is_one_screen_and_its_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    words = len(page("README.md").split())
    assert words <= 600, f"shorten the README to 600 words, it has {words}: a guide of docs/guides may say the rest"
    ran("README.md")
    assert [capsys.readouterr().out] == shown("README.md")


def test_the_home_of_the_docs_is_short_and_links_to_every_guide() -> None:
    text = page("docs/index.md")
    assert len(text.split()) <= 300, "shorten docs/index.md to 300 words"
    guides = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "guides").glob("*.md")}
    unlinked = [guide for guide in sorted(guides) if f"]({guide})" not in text]
    assert unlinked == [], "link to these guides in docs/index.md"


def test_every_experiment_and_figure_is_in_its_table() -> None:
    lines = section("docs/guides/studies.md", "The experiments").splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    studies = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert studies == set(STUDIES), "make the table of docs/guides/studies.md name every study, and no other"
    named = set(re.findall(r"`([a-z]\w+)`", page("docs/guides/figures.md").split("| NAME |")[1]))
    # Two rows give the first and the last of a series.
    series = {name for name in NAMES if re.match(r"fig[2-5]_|table([2-9]|1[01])_(?!pattern)", name)}
    missing, twice = sorted(set(NAMES) - named - series), sorted(series & named)
    assert not missing, f"give each of {missing} a row in the table of docs/guides/figures.md: | `NAME` | what |"
    assert not twice, f"take {twice} out of the table of docs/guides/figures.md: a row of a series has them"


def test_every_strategy_that_is_named_is_there() -> None:
    named = section("docs/guides/strategies.md", "All names").split("shipped ones: ")[1].split("\n\n")[0]
    listed, usual = set(re.findall(r"`([a-z-]+)`", named)), {"default", "temperature", "rws"}
    assert usual <= listed <= set(offered()), "name strategies that there are in docs/guides/strategies.md"


def test_every_option_is_one_of_some_command() -> None:
    app = complete_app("rws")
    apps = [app[name] for name in entry_points() if name != "experiment"] + [
        app["experiment"][name] for name in every_study()
    ]
    known = OTHERS | {*decode_again.options()._option_string_actions, "--help", "--version", "--install-completion"}
    for each in apps:
        known |= {name for argument in each.assemble_argument_collection() for name in argument.names}
    shown = {name: options_shown(page(name)) - known for name in ("README.md", *GUIDES)}
    unknown = {name: options for name, options in shown.items() if options}
    assert unknown == {}, "correct these options in these pages: no command has them"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *GUIDES])
def test_commands_can_be_pasted_into_any_shell(name: str) -> None:
    # zsh takes what follows # in a line typed for words, brackets for patterns; nobody has a file called FILE.
    for line in block_lines(page(name)):
        # What does not look like a command is executed by no test.
        assert re.match(PROGRAM, line), f"fence what is no command as ```python or ```text: {line}"
        plain = re.sub(r'"[^"]*"', "", line)
        assert not re.search(r"#|\.\.\.|[\[\]<>*]|(?<![\w/-])[A-Z]{2,}(?![\w/-])", plain), (
            f"write it so that it can be pasted: {line}"
        )
