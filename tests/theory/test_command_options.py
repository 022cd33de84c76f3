"""Options declared as dataclasses: what is parsed, what is refused, what the help shows."""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from rws_decode.cli.app import Parser
from rws_decode.cli.options import add_options, fixed, group, json_option, option, read_options


@dataclass(frozen=True)
class Shape:
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
    shape: Shape = group(Shape, "the shape", help={"length": "tokens", "steps": "steps"}, default=Shape(16, 8))
    json: bool = json_option()


def read(kind: type, *words: str) -> Any:
    parser = Parser(prog="p")
    add_options(parser, kind)
    return read_options(kind, parser.parse_args(words))


LEAST = ("here", "--text", "t", "--scale", "2")


def test_every_kind_of_value_is_read_and_defaults_are_those_of_the_dataclass() -> None:
    assert read(Everything, *LEAST) == Everything(folder=Path("here"), scale=2.0, source=Source(text="t"))
    assert read(Everything, *LEAST).shape == Shape(16, 8)
    words = ["here", "a", "b", "--number", "3", "--scale", "1e-3", "--factors", "2", "8", "--kind", "two", "--quick"]
    words += ["--no-chat", "--length", "12", "--steps", "4", "--json", "--colour", "red", "--ratio", "0"]
    assert read(Everything, *words) == Everything(
        folder=Path("here"),
        names=("a", "b"),
        source=Source(number=3),
        scale=0.001,
        ratio=0.0,
        factors=(2, 8),
        kind="two",
        colour="red",
        quick=True,
        chat=False,
        shape=Shape(12, 4),
        json=True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "p: the following arguments are required: DIR, --scale\n"),
        (("here", "--scale", "2"), "p: one of the arguments --text --number is required\n"),
        ((*LEAST, "--number", "2"), "p: argument --number: not allowed with argument --text\n"),
        ((*LEAST, "--kind", "Two"), "p: argument --kind: invalid choice: 'Two' (is two meant? choose from one, two)\n"),
        ((*LEAST, "--colour", "x"), "p: argument --colour: invalid choice: 'x' (choose from red, green)\n"),
        ((*LEAST, "--quik"), "p: unrecognized arguments: --quik (is --quick meant?)\n"),
    ],
)
def test_what_cannot_be_parsed(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        read(Everything, *words)
    assert stop.value.code == 2 and tuple(capsys.readouterr()) == ("", message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*LEAST, "--ratio", "-1"), "--ratio is -1.0: at least 0 is needed"),
        ((*LEAST, "--ratio", "nan"), "--ratio is nan: at least 0 is needed"),
        ((*LEAST, "--factors", "2", "0"), "--factors is 0: at least 1 is needed"),
        (("here", "--scale", "2", "--number", "-1"), "--number is -1: at least 0 is needed"),
        ((*LEAST, "--steps", "5"), "steps is 5: it must divide length"),
    ],
)
def test_values_out_of_range_are_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        read(Everything, *words)


def test_the_help_shows_groups_and_defaults_and_not_what_is_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    parser = argparse.ArgumentParser(prog="p")
    add_options(parser, Everything)
    help_text = parser.format_help()
    for line in ("--scale S             must be given", "--factors N [N ...]   factors (default: 1 4)", "the shape:"):
        assert f"{line}\n" in help_text
    assert "weights" not in help_text


def test_a_name_that_is_declared_twice_is_an_error() -> None:
    @dataclass(frozen=True)
    class Twice:
        first: Any = group(Shape, help={"length": "tokens"})
        length: int = option(1, "again")

    with pytest.raises(argparse.ArgumentError, match="--length"):
        add_options(argparse.ArgumentParser(), Twice)


@dataclass(frozen=True)
class Base:
    judges: tuple[str, ...] = option(("a",), "judges", flags=("--judges", "--judge"), may_be_empty=True)
    workers: int = option(1, "processes", least=1)
    scheduler: str | None = option(None, "in their place", instead_of="workers")
    compact: Literal[True] | None = option(None, "a switch")
    grid: tuple[float, ...] | None = option(None, "a grid")


@dataclass(frozen=True)
class Derived(Base):
    judges: tuple[str, ...] = ("b", "c")
    grid: tuple[float, ...] | None = fixed((2.0,))
    scale: float = option(1.0, "a scale")


def test_inherited_declarations_and_options_instead_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(Derived) == Derived(judges=("b", "c"), grid=(2.0,))
    assert read(Derived, "--judge", "--compact", "--scale", "2") == Derived(judges=(), compact=True, scale=2.0)
    with pytest.raises(SystemExit):
        read(Derived, "--grid", "1")
    assert "unrecognized arguments: --grid" in capsys.readouterr().err
    assert read(Base, "--scheduler", "here") == Base(scheduler="here")
    with pytest.raises(SystemExit):
        read(Base, "--scheduler", "here", "--workers", "2")
    assert "argument --workers: not allowed with argument --scheduler" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        read(Base, "--no-compact")
