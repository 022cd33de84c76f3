"""Execute the paired notebooks, keep their outputs, and fail where those kept were stale.

    python notebooks/refresh.py [--check] [--all] [NAME ...]

Each NAME.py (jupytext's percent format) is the source; NAME.ipynb is made from it, executed, with nothing in it that
changes from run to run or tells about a machine. A notebook is stale where its cells are not those of the source, or
where executing them gives other texts than it holds (`differences`): then it is written again, and the exit status is
1, so that a second run passes. --check writes nothing. Pictures are not compared: --all writes every notebook.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rws_decode.common.files import write_text

try:
    import jupytext
    import nbformat
    from jupyter_client import AsyncKernelClient, AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbformat import NotebookNode
except ModuleNotFoundError as error:
    line = f'the package {error.name} is not installed; run pip install "rws-toolkit[notebooks]"'
    if __name__ != "__main__":
        raise ModuleNotFoundError(f"notebooks/refresh.py: {line}", name=error.name) from None
    print(f"notebooks/refresh.py: {line}", file=sys.stderr)
    sys.exit(2)

FOLDER = Path(__file__).resolve().parent
# A printed number may differ this much, relatively, from machine to machine.
TOLERANCE = 1e-3
_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_DRAWN = re.compile(rf"(?:\"|&quot;)-?(?:Infinity|NaN)(?:\"|&quot;)|{_NUMBER.pattern}", re.IGNORECASE)


def pairs(folder: Path = FOLDER) -> list[tuple[Path, Path]]:
    """Return each source with the notebook made from it; sources begin with a number."""
    return [(source, source.with_suffix(".ipynb")) for source in sorted(folder.glob("[0-9]*.py"))]


class Kernel(AsyncKernelManager):
    """A kernel whose clients have no heartbeat: one that is stopped before it began opens files until none is left.

    Whether the kernel lives, this manager knows without it.
    """

    def client(self, **kwargs: Any) -> AsyncKernelClient:
        """Return a client of the kernel; its channels are yet to be started."""
        client = super().client(**kwargs)
        client.start_channels = partial(client.start_channels, hb=False)  # type: ignore[method-assign]
        return client


def execute(source: Path, timeout: int = 300, kernel: Kernel | None = None) -> NotebookNode:
    """Run a source as a notebook, from the repository's root, and return it with outputs, stripped.

    kernel: where it runs, started here unless it runs; a kernel of its own unless told. Raises nbclient's
    CellExecutionError where a cell fails.
    """
    notebook = jupytext.read(source)
    client = NotebookClient(
        notebook,
        km=kernel,
        kernel_manager_class=Kernel,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # how a text is cut into messages depends on the moment
        resources={"metadata": {"path": str(FOLDER.parent)}},
    )
    made = strip(client.execute())
    if kernel is not None:
        client.kc.stop_channels()
    return made


def strip(notebook: NotebookNode) -> NotebookNode:
    """Remove what changes from run to run: cell ids, kernel details, messages on standard error."""
    notebook.metadata = {
        "jupytext": {"formats": "ipynb,py:percent"},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for place, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{place}", {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def stale(source: Path, notebook: Path) -> str | None:
    """Say in what the notebook differs from its source or lacks outputs, None where it does not; executes nothing."""
    if not notebook.is_file():
        return "missing"
    kept = nbformat.read(notebook, as_version=4)
    if [(cell.cell_type, cell.source) for cell in kept.cells] != [
        (cell.cell_type, cell.source) for cell in jupytext.read(source).cells
    ]:
        return "its cells differ from the source"
    if any(cell.cell_type == "code" and cell.execution_count is None for cell in kept.cells):
        return "not executed"
    return None


def differences(kept: NotebookNode, made: NotebookNode) -> list[str]:
    """Say which cells' outputs differ, and where first: those of a notebook kept from those of the same cells executed.

    Texts must be equal but for their numbers, which may differ by `TOLERANCE` relatively where one has a decimal point
    or an exponent: whole numbers must be equal. Of an interactive page the words count, and how many numbers stand
    between them: it draws what rounding does on the machine. Of a picture only its being there counts, and what a
    notebook does not show, since it shows HTML, does not count.
    """
    changes = []
    for place, (old, new) in enumerate(zip(kept.cells, made.cells, strict=True)):
        ours, theirs = _texts(old), _texts(new)
        if [name for name, _ in ours] != [name for name, _ in theirs]:
            changes.append(
                f"cell {place}: outputs {[name for name, _ in ours]}, executed {[name for name, _ in theirs]}"
            )
            continue
        for (_, one), (_, other) in zip(ours, theirs, strict=True):
            if one.startswith("<iframe"):
                one, other = (_DRAWN.sub("#", text) for text in (one, other))
            if (parting := _parting(one, other)) is not None:
                old_text, new_text = (_around(text, at) for text, at in zip((one, other), parting, strict=True))
                changes.append(f"cell {place}: kept {old_text!r}, executed {new_text!r}")
                break
    return changes


def _texts(cell: NotebookNode) -> list[tuple[str, str]]:
    """Return what a cell shows as (stream or media type, text), of pictures without their data."""
    shown: list[tuple[str, str]] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            shown.append((output.name, output.text))
        else:
            data = dict(output.get("data", {}))
            if "text/html" in data:
                data.pop("text/plain", None)
            shown += [(name, "" if name.startswith("image/") else str(data[name])) for name in sorted(data)]
    return shown


def _parting(one: str, other: str) -> tuple[int, int] | None:
    """Return where two texts first differ, a place in each, None where they agree but for rounding."""
    a = b = 0
    for ours, theirs in zip(_NUMBER.finditer(one), _NUMBER.finditer(other), strict=False):
        if one[a : ours.start()] != other[b : theirs.start()]:
            break
        if not _same(ours.group(), theirs.group()):
            return ours.start(), theirs.start()
        a, b = ours.end(), theirs.end()
    if one[a:] == other[b:]:
        return None
    while one[a : a + 1] == other[b : b + 1]:  # one of the two texts may end first
        a, b = a + 1, b + 1
    return a, b


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if not any(mark in text for text in (one, other) for mark in ".eE"):
        return False
    numbers = (float(text.replace("\u2212", "-")) for text in (one, other))
    return math.isclose(*numbers, rel_tol=TOLERANCE)


def _around(text: str, place: int) -> str:
    return text[max(0, place - 20) : place + 40]


def reasons(source: Path, notebook: Path, made: NotebookNode) -> list[str]:
    """Say why a notebook is stale, given its source executed: nothing where it is not."""
    if reason := stale(source, notebook):
        return [reason]
    return differences(nbformat.read(notebook, as_version=4), made)


def main(argv: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Run the command line on the notebooks of a folder and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python notebooks/refresh.py",
        description="Execute the paired notebooks, keep their outputs, and fail where those kept were stale.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="those whose names begin so, as 02 (all)")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--all", action="store_true", help="write those that are not stale, too: for their pictures")
    args = parser.parse_args(argv)
    found = pairs(folder)
    for name in args.names:
        if not any(source.name.startswith(name) for source, _ in found):
            parser.error(f"NAME is {name!r}: one of {', '.join(source.stem for source, _ in found)} is needed")
    wanted = [pair for pair in found if not args.names or pair[0].name.startswith(tuple(args.names))]
    failures = 0
    for source, notebook in wanted:
        print(f"executing {source.name}", file=sys.stderr)
        try:
            made = execute(source)
        except CellExecutionError as error:
            failures += 1
            print(f"{notebook.name}: a cell fails\n{error}", file=sys.stderr)
            continue
        why = reasons(source, notebook, made)
        write = not args.check and (args.all or bool(why))
        if write:
            write_text(notebook, nbformat.writes(made) + "\n")
        failures += bool(why)
        for reason in why:
            print(f"{notebook.name}: {'was' if write else 'is'} stale: {reason}", file=sys.stderr)
    print(f"{len(wanted) - failures} of {len(wanted)} notebooks were up to date", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
