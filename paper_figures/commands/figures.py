"""`rws figures [NAME ...]`: draw the paper's figures and tables and write the page that shows them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper_figures.exhibits import NAMES, load_exhibit
from rws_decode.cli.app import closest
from rws_decode.cli.options import check_writable, json_option, option
from rws_decode.cli.progress import each, tell
from rws_decode.common.threads import MOST_THREADS

GROUP = "Study"
RESUMES = True
_EDGE = 0.02  # inches beyond a picture that nobody sees


@dataclass(frozen=True)
class FiguresOptions:
    """Which figures and tables are made, from which results, and where they are written."""

    names: tuple[str, ...] = option((), "a figure or table (default: all)", metavar="NAME", positional=True)
    runs: Path = option(Path("out/runs"), "results of experiments", metavar="DIR")
    out: Path = option(Path("out"), "where files go", metavar="DIR")
    workers: int = option(
        2, "processes that run what is missing and make figures; 0: run nothing", least=0, most=MOST_THREADS
    )
    full: bool = option(False, "run missing experiments in their own sizes: about 45 minutes for all")
    width: float | None = option(
        None, "of each picture, in inches, in place of its own; the height follows", metavar="IN", least=1, most=20
    )
    style: Path | None = option(None, "settings of matplotlib over the usual ones", metavar="FILE.mplstyle")
    caption: bool | None = option(True, "write captions, in the page and the files of tables, or leave them out")
    json: bool = json_option("print what was written as JSON on standard output")

    def __post_init__(self) -> None:
        if self.style is not None and not self.style.is_file():
            raise ValueError(f"--style is {self.style}: no such file, one as matplotlib reads it is needed")


_USUAL = FiguresOptions()


def figures(options: FiguresOptions) -> None:
    """Draw the paper's figures and tables, and a page that shows them.

    What the paper printed stands beside them. Experiments whose results are not below --runs are run first, in small
    sizes: some minutes for all.
    """
    written = make(options.names or NAMES, options.runs, options.out, options.workers, options.full, options)
    files = [path.relative_to(options.out).as_posix() for path in written]
    if options.json:
        print(json.dumps({"out": str(options.out), "page": "index.html", "written": files}))
    else:
        tell(f"{len(files)} files below {options.out}; open {options.out / 'index.html'}")


figures.__doc__ = f"{figures.__doc__}\n    Names: {', '.join(NAMES)}.\n"


def make(
    names: Sequence[str], runs: Path, out: Path, workers: int = 0, full: bool = False, look: FiguresOptions = _USUAL
) -> list[Path]:
    """Write the named figures and tables below `out`, then the page of all that exist; return every path written.

    workers: processes that draw, and run the experiments whose results are missing, in the sizes of `plan.PLAN`, or, if
    `full`, in their own sizes; with 0 nothing is run. ValueError for an unknown name or study, and for missing results
    that are not to be made, with the command that makes them; all before any figure is made. Results that cannot be
    plotted raise ValueError too, after all others are written.
    """
    if unknown := [name for name in names if name not in NAMES]:
        meant = closest(unknown[0], NAMES)
        advice = f" (is {meant} meant?)" if meant else ""
        raise ValueError(f"NAME is {unknown[0]!r}{advice}: one of {', '.join(NAMES)} is needed")
    check_writable("--out", out, "directory")
    from paper_figures.plan import FULL, PLAN, make_missing
    from paper_figures.report.page import write_page
    from paper_figures.runner.executors import in_process, kept_open, processes

    modules = {name: load_exhibit(name) for name in NAMES if name in names}
    for name, module in modules.items():
        for need in module.NEEDS:
            if need not in PLAN:
                meant = closest(need, PLAN)
                advice = f" (is {meant} meant?)" if meant else ""
                raise ValueError(f"NEEDS of {name} has {need!r}{advice}: one of {', '.join(PLAN)} is needed")
    needs = dict.fromkeys(need for module in modules.values() for need in module.NEEDS)
    written: list[Path] = []
    refused: list[str] = []
    with kept_open(processes(workers) if workers > 1 else in_process()) as backend:
        if workers:
            make_missing(runs, needs, backend, FULL if full else PLAN)
        _check_present(runs, modules)
        with (backend if len(modules) > 1 else in_process()).open() as pool:
            drawn = [(name, pool.submit(_draw, name, runs, out, look)) for name in modules]
            for name, files in each(drawn, "figures", len(modules), "exhibit"):
                try:
                    written += files.result()
                # Results that cannot be plotted, or a process that died: the others are kept.
                except (ValueError, BrokenExecutor) as error:
                    refused.append(f"{name}: {error}")
    if written:
        written += write_page(runs, out)
    if refused:
        kept = f" (the other exhibits are below {out})" if written else ""
        raise ValueError(f"{'; '.join(refused)}{kept}")
    return written


def _draw(name: str, runs: Path, out: Path, look: FiguresOptions) -> list[Path]:
    """Draw an exhibit, write its files below `out`, and return their paths.

    The reader's own matplotlibrc counts, as matplotlib finds it, and the look's style over it.
    """
    from matplotlib import matplotlib_fname, rcParams

    from paper_figures.exhibits.shared.exhibit import save, styled
    from paper_figures.report.provenance import run_facts

    module = load_exhibit(name)
    with styled(matplotlib_fname(), *([] if look.style is None else [look.style])):
        exhibit, facts = module.exhibit(runs), {need: run_facts(runs, need) for need in module.NEEDS}
        for picture in exhibit.pictures if look.width or look.style else ():
            width, height = picture.figure.get_size_inches()
            columns = look.width or width
            picture.figure.set_size_inches(columns, height * columns / width)
            picture.figure.set_dpi(rcParams["savefig.dpi"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of what does not fit, which the note tells
                picture.figure.draw_without_rendering()
            picture.figure.set_layout_engine("none")
            if (shown := picture.figure.get_tightbbox()).x0 < -_EDGE or shown.x1 > columns + _EDGE:
                tell(f"note: {picture.stem} is cut off at {columns:g} inches: what it shows is {shown.width:.1f} wide")
        if not look.caption:
            bare = {
                part: [replace(each, caption="") for each in getattr(exhibit, part)] for part in ("pictures", "tables")
            }
            exhibit = replace(exhibit, **bare)
        return save(name, exhibit, out, {need: fact for need, fact in facts.items() if fact})


def _check_present(runs: Path, modules: Mapping[str, Any]) -> None:
    """Raise ValueError for the first exhibit whose results are missing, with the command that makes them."""
    from paper_figures.plan import command

    absent: dict[str, str] = {}  # an experiment -> the first exhibit that needs it
    for name, module in modules.items():
        absent |= {
            need: name for need in module.NEEDS if need not in absent and not (runs / need / "results.json").is_file()
        }
    if absent:
        (need, name), *others = absent.items()
        path = runs / need / "results.json"
        further = f"; missing too: {', '.join(other for other, _ in others)}" if others else ""
        raise ValueError(f"{name} needs {path}, which is missing: make it with {command(need, runs)}{further}")
