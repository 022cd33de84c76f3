"""Options declared as dataclasses: what is read, and what is refused."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from rws_decode.cli.app import read_words
from rws_decode.cli.options import group, json_option, option


@dataclass(frozen=True)
class Size:
    """Plain: no option says how it is read."""

    length: int = 64
    steps: int = 32
    weights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.length % self.steps:
            raise ValueError(f"steps is {self.steps}: it must divide length")


@dataclass(frozen=True)
class Source:
    text: str | None = option(None, "a text")
    number: int | None = option(None, "a number", least=0)


@dataclass(frozen=True)
class Everything:
    folder: Path = option(help="a folder", metavar="DIR", positional=True)
    names: tuple[str, ...] = option((), "names", metavar="NAME", positional=True)
    source: Source = group(Source, "the source: one of", one_of=True)
    scale: float = option(help="must be given", metavar="S")
    ratio: float = option(0.5, "a ratio", least=0)
    factors: tuple[int, ...] = option((1, 4), "factors", least=1)
    kind: Literal["one", "two"] = option("one", "a kind")
    colour: str | None = option(None, "a colour", choices=("red", "green"))
    quick: bool = option(False, "a switch")
    chat: bool | None = option(None, "a switch with a no")
    prompt: tuple[str, ...] | None = option(None, "a text, or several", repeated=True)
    counts: int = option(32, "a number, or several", each=True)
    size: Size = group(Size, "the size", help={"length": "tokens", "steps": "steps"}, default=Size(16, 8))
    json: bool = json_option()


LEAST = ("here", "--text", "t", "--scale", "2")


def test_every_kind_of_value_is_read_and_defaults_are_those_of_the_dataclass() -> None:
    assert read_words(Everything, LEAST) == Everything(folder=Path("here"), scale=2.0, source=Source(text="t"))
    words = "here a b --number 3 --scale -1e-3 --factors 2 8 --kind two --quick --no-chat --length 12 --steps 4 --json"
    words += " --colour green --colour red --ratio 0 --prompt x --prompt y --counts 8 16 32"
    assert read_words(Everything, words.split()) == Everything(
        folder=Path("here"),
        names=("a", "b"),
        source=Source(number=3),
        scale=-0.001,
        ratio=0.0,
        factors=(2, 8),
        kind="two",
        colour="red",
        quick=True,
        chat=False,
        prompt=("x", "y"),
        counts=(8, 16, 32),  # type: ignore[arg-type]
        size=Size(12, 4),
        json=True,
    )
    assert read_words(Everything, [*LEAST, "--counts", "8"]).counts == 8


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ((), ("DIR",)),
        (("here", "--scale", "2"), ("--text, --number",)),
        ((*LEAST, "--number", "2"), ("--text and --number",)),
        ((*LEAST, "--kind", "Two"), ("--kind", '"Two"', '"one", "two"')),
        ((*LEAST, "--colour", "x"), ("--colour", '"x"', '"red", "green"')),
        ((*LEAST, "--quik"), ("--quik", "--quick")),
        ((*LEAST, "--no-quick"), ("--no-quick",)),
        ((*LEAST, "--ratio", "-1"), ("--ratio", "-1", "0")),
        ((*LEAST, "--ratio", "nan"), ("--ratio", "nan")),
        ((*LEAST, "--factors", "2", "0"), ("--factors", "0", "1")),
        ((*LEAST, "--factors", "2.5"), ("--factors", "2.5", "int")),
        (("here", "--scale", "2", "--number", "-1"), ("--number", "-1", "0")),
        ((*LEAST, "--steps", "5"), ("steps is 5",)),
    ],
)
def test_what_is_refused_names_argument_value_and_what_is_right(words: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError) as caught:
        read_words(Everything, words)
    assert all(part in str(caught.value) for part in parts) and "\n" not in str(caught.value)
