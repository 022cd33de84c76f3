"""What a command that takes long says on standard error: a bar on a terminal, and elsewhere a line now and then.

Standard output is left to the result, so `--json` stays one document.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from rws_theory.show import Note, printable

T = TypeVar("T")

_EVERY = 10.0  # seconds from one line to the next where there is no terminal


class Progress:
    """How far a command is; this one shows nothing."""

    def advance(self, count: int = 1) -> None:
        """Count some more units as done."""

    def remark(self, text: str) -> None:
        """Set what is said after the numbers, such as "3 failed"."""


def tell(line: str) -> None:
    """Print one line on standard error at once, as `show.printable` makes it."""
    print(printable(line), file=sys.stderr, flush=True)


@contextmanager
def notes() -> Iterator[None]:
    """Print each `show.Note` that is warned of meanwhile as a line of its own, once."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, Note):
            usual(message, category, *where, **more)
        elif str(message) not in printed:
            printed.add(str(message))
            tell(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", Note)
        usual, warnings.showwarning = warnings.showwarning, show
        yield


def loading(command: str, *names: str | None) -> None:
    """Say which models a command loads: the first line of a command that is about to import PyTorch."""
    models = ", ".join(dict.fromkeys(name for name in names if name))
    tell(f"{command}: loading {models or 'libraries'} ...")


@contextmanager
def progress(name: str, total: int, unit: str, *, done: int = 0, shown: bool = True) -> Iterator[Progress]:
    """Show how many of `total` units are done: a bar on a terminal, else a line at first, every ten seconds, and last.

    name: what stands before the numbers. unit: one of what is counted, such as "prompt". done: units that were done
    before. shown: False shows nothing.
    """
    if not shown:
        yield Progress()
    elif sys.stderr.isatty() and find_spec("tqdm") is not None:  # the theory alone needs no bar
        from tqdm import tqdm

        with tqdm(total=total, initial=done, desc=name, unit=unit, file=sys.stderr, dynamic_ncols=True) as bar:
            yield _Bar(bar)
    else:
        lines = _Lines(name, total, unit, done)
        if total > 1:
            lines.say()
        try:
            yield lines
        finally:
            if lines.said < lines.done:
                lines.say()


def each(items: Iterable[T], name: str, total: int, unit: str) -> Iterator[T]:
    """Yield the items and show how many are done, an item as soon as the next is asked for."""
    with progress(name, total, unit) as shown:
        for item in items:
            yield item
            shown.advance()


class _Bar(Progress):
    def __init__(self, bar: Any) -> None:
        self.bar = bar

    def advance(self, count: int = 1) -> None:
        self.bar.update(count)

    def remark(self, text: str) -> None:
        self.bar.set_postfix_str(text)


class _Lines(Progress):
    def __init__(self, name: str, total: int, unit: str, done: int) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = self.before = done
        self.remarked, self.said = "", done
        self.begun = self.last = time.monotonic()

    def advance(self, count: int = 1) -> None:
        self.done += count
        if time.monotonic() - self.last >= _EVERY:
            self.say()

    def remark(self, text: str) -> None:
        self.remarked = text

    def say(self) -> None:
        self.last, self.said = time.monotonic(), self.done
        seconds, now = self.last - self.begun, self.done - self.before
        several = f"{self.unit[:-1]}ies" if self.unit.endswith("y") else f"{self.unit}s"
        line = f"{self.name}: {self.done} of {self.total} {self.unit if self.total == 1 else several}"
        line += f", {self.remarked}" if self.remarked else ""
        if now:
            line += f", {duration(seconds)}"
            left = seconds / now * (self.total - self.done)
            line += f", about {duration(left)} left" if self.done < self.total else ""
        tell(line)


def duration(seconds: float) -> str:
    """Return a duration for reading."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
