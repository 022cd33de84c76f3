"""The code digest: everything that work reaches counts, nothing that only draws tables does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import unit_work

from paper_figures.runner.digests import code_digest, module_of, modules_behind
from paper_figures.runner.worker import Each

_RUN = """
import json, sys
from paper_figures.studies.work.measuring import work
from paper_figures.runner.units import Unit
from dataclasses import replace

unit = Unit(experiment="x", prompt="sort : two one", strategy={"name": "rws", "reward_scale": 8.0}, reward="exact",
            length=8, steps=2, block=8)
plain = replace(unit, predictor=None, reward=None, labels={"answer": "one two ."})
work([unit])
work([replace(plain, strategy={"name": "score"}, judges=("mini",))])
work([replace(plain, strategy={"name": "perplexity"}, causal="mini-causal")])
work([replace(unit, strategy={"name": "scale-path", "low": 1.0, "high": 2.0})])
names = [name for name in sys.modules if name.split(".")[0] in ("rws_decode", "rws_theory")]
print(json.dumps(names))
"""


def test_every_module_that_work_loads_is_behind_it() -> None:
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    # The models are data, of which units have digests of their own.
    missing = loaded - set(modules_behind("paper_figures.studies.work.measuring")) - {"rws_decode.mini.models"}
    assert "rws_decode.decode" in loaded and not missing


def test_what_only_shows_results_is_not_behind_work() -> None:
    modules = set(modules_behind("paper_figures.studies.work.measuring"))
    shown = ("commands", "exhibits", "figures", "report", "tables", "studies.summaries", "studies.reward_bench")
    assert not any(name.startswith(tuple(f"paper_figures.{part}" for part in shown)) for name in modules)
    assert not any(name.startswith("rws_decode.commands") for name in modules)
    assert {"paper_figures.sandbox.worker", "rws_decode.mini.stories.lexicon", "rws_theory.gain"} <= modules


def test_work_of_one_s_own_counts_with_what_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "own_work_of_mine.py"
    file.write_text("def f(unit):\n    from rws_theory.orders.deviation import god\n    return []\n")
    modules = modules_behind("own_work_of_mine")
    assert modules["own_work_of_mine"] == file and "rws_theory.orders.deviation" in modules
    assert "rws_decode.decode" not in modules
    before = code_digest.__wrapped__("own_work_of_mine")
    assert code_digest.__wrapped__("own_work_of_mine") == before
    file.write_text("def f(unit):\n    return []\n")
    assert code_digest.__wrapped__("own_work_of_mine") != before


def test_module_of_a_wrapped_function_is_the_function_s() -> None:
    assert module_of(Each(unit_work.rows)) == "unit_work" == module_of(unit_work.rows)
    assert module_of(exec) == "builtins"
    with pytest.raises(ValueError, match="root is 'builtins': a module with a source file is needed"):
        modules_behind("builtins")
