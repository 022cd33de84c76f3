"""Kept keys: a step's logits are those of the whole canvas whose other keys are those of steps before."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import ran, shown
from grouped import grouped
from misuse import refused
from torch import Tensor

from rws_decode import CallableReward, Trace, decode, load_predictor, load_trace, replay_with, step_logits
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.predictors import BidirectionalPredictor, forbidden_ids

LAYOUTS = ("llada", "dream", "llada-moe", "bert")
PROMPTS = [[20, 15, 21], [11, 7, 24, 10, 23]]
Predictors = dict[str, BidirectionalPredictor]
SHAPE: dict[str, Any] = {"length": 8, "steps": 8, "block": 4}
REWARD = CallableReward(lambda prompt, answer: float(len(answer) % 7), mean=3.0, std=2.0)


@pytest.fixture(scope="module")
def predictors(tmp_path_factory: pytest.TempPathFactory) -> Predictors:
    folder = tmp_path_factory.mktemp("models")
    return {name: load_predictor(str(tiny_checkpoint(name, folder / name)), progress=False) for name in LAYOUTS}


def run(predictor: Any, cache: str, strategy: str = "default", prompts: Any = PROMPTS, **options: Any) -> list[Trace]:
    reward = REWARD if strategy.startswith("rws") else None
    return list(decode(predictor, prompts, strategy, reward=reward, **grouped(**SHAPE, key_cache=cache, **options)))


class Patched:
    """Gives attention the keys and values of one forward, but in some columns those of another before it."""

    def __init__(self, fresh: Tensor | None = None, before: "Patched | None" = None) -> None:
        self.fresh, self.before, self.layers = fresh, before, list[tuple[Tensor, Tensor]]()

    def update(self, key: Tensor, value: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        if self.before is not None:
            kept, fresh = self.before.layers[layer], self.fresh
            key, value = (torch.where(fresh[:, None], new, old) for new, old in zip((key, value), kept, strict=True))
        self.layers.append((key, value))
        return key, value

    def get_seq_length(self, *_: Any) -> int:
        return 0


def reference(predictor: Any, trace: Trace) -> list[np.ndarray]:
    """Return the logits of each step's block, [positions, V], from forwards of the whole canvas of this row alone."""
    start, size, keys, outputs, counted = trace.offset, trace.block, Patched(), [], []
    prompt, block, age = trace.prompt.tolist(), None, 0
    kind, _, every = trace.key_cache.partition(":")
    shifted = getattr(predictor, "shifted", False)
    for step in range(trace.steps_run):
        ids = torch.tensor([[*prompt, *trace.canvas[step].tolist()]])
        columns = torch.arange(ids.shape[1])
        current = int((trace.canvas[step] == trace.mask_id).argmax()) // size
        first = len(prompt) + current * size
        fresh = (columns >= first) & ((columns < first + size) | (kind == "prefix"))
        age = age + 1 if current == block else 0
        whole = age == 0
        if kind == "delayed":
            fresh = torch.tensor([False] * len(prompt) + trace.masked[max(step - 1, 0)].tolist())
            whole = age < 2 or age % int(every) == 0
        if shifted:
            fresh |= torch.cat([fresh[1:], torch.tensor([False])])
        counted.append(ids.shape[1] if whole else int(fresh.sum()))
        keys = Patched() if whole else Patched(fresh, keys)
        block = current
        out = predictor.model(input_ids=ids, position_ids=columns[None], past_key_values=keys, use_cache=False)
        masked = first + np.flatnonzero(trace.canvas[step][current * size : (current + 1) * size] == trace.mask_id)
        outputs.append(out.logits[0, masked - shifted].detach().numpy())
        assert start == len(prompt)
    assert trace.computed_columns == sum(counted)
    return outputs


@pytest.mark.parametrize(
    ("layout", "cache"),
    [
        *((layout, cache) for layout in ("llada", "dream") for cache in ("prefix", "dual", "delayed:3")),
        *(("llada-moe", "delayed:3"), ("bert", "prefix")),
    ],
)
def test_a_step_ranks_the_logits_of_a_canvas_with_kept_keys(layout: str, cache: str, predictors: Predictors) -> None:
    predictor = predictors[layout]
    changed = 0
    for prompt in PROMPTS:
        (trace,), (plain,) = (run(predictor, kind, prompts=[prompt], ranking="probability") for kind in (cache, "none"))
        for step, logits in enumerate(reference(predictor, trace)):
            logits[:, [token for token in forbidden_ids(predictor) if token < logits.shape[1]]] = -np.inf
            best = np.exp(logits.max(axis=1)) / np.exp(logits).sum(axis=1)
            assert trace.value[step][trace.eligible[step]] == pytest.approx(best, abs=1e-4)
            assert trace.candidate[step][trace.eligible[step]].tolist() == logits.argmax(axis=1).tolist()
        changed += not np.allclose(trace.value, plain.value, atol=1e-6, equal_nan=True)
    assert changed  # it is no saving


# What the authors' code wrote with this checkpoint, read by its own network: generate_with_prefix_cache and
# generate_with_dual_cache of NVlabs/Fast-dLLM 24cc59e, llada/generate.py, and generate of horseee/dKV-Cache 49a76fc,
# generation_utils/llada_dkv_cache_decode.py (cache_reloading_step=3); steps=12, gen_length=12, block_length=6. It may
# commit the mask: here no forbidden token is ever the best.
AUTHORS = [
    ("prefix", [20, 45, 31], [234, 194, 194, 194, 194, 194, 194, 140, 101, 194, 194, 194]),
    ("dual", [20, 45, 31], [194, 194, 194, 194, 194, 194, 194, 234, 250, 194, 194, 194]),
    ("prefix", [101, 7, 64, 150, 33], [111, 111, 12, 12, 232, 111, 204, 12, 22, 204, 204, 204]),
    ("dual", [101, 7, 64, 150, 33], [111, 111, 12, 12, 232, 168, 17, 239, 111, 174, 172, 174]),
    ("delayed:3", [20, 45, 31], [234, 194, 194, 194, 194, 194, 33, 101, 194, 194, 194, 194]),
]


def test_the_tokens_are_those_of_the_authors(tmp_path: Path) -> None:
    checkpoint = tiny_checkpoint("llada", tmp_path / "llada", config={"n_kv_heads": 4})
    predictor = load_predictor(str(checkpoint), dtype="float32", progress=False)
    assert isinstance(predictor, BidirectionalPredictor)
    head = predictor.model.get_output_embeddings().weight.data
    head *= 6
    head[[token for token in forbidden_ids(predictor) if token < len(head)]] = 0
    shape = {"length": 12, "steps": 12, "block": 6, "ranking": "topk"}
    for cache, prompt, tokens in AUTHORS:
        (trace,) = decode(predictor, [prompt], "default", **grouped(**shape, key_cache=cache))
        assert trace.tokens.tolist() == tokens, cache


@pytest.mark.parametrize(
    ("cache", "strategy", "padding"),
    [
        *(("dual", "rws:4", "left"), ("prefix", "threshold:0.02", "right")),
        *(("dual", "klass:0.02", "right"), ("delayed:3", "threshold:0.02", "left")),
    ],
)
def test_rows_in_other_blocks_change_no_row(cache: str, strategy: str, padding: str, predictors: Predictors) -> None:
    predictor = predictors["dream"]
    alone = [run(predictor, cache, strategy, [prompt], padding=padding)[0] for prompt in PROMPTS]
    for one, trace in zip(alone, run(predictor, cache, strategy, padding=padding), strict=True):
        assert one.tokens.tolist() == trace.tokens.tolist()
        assert one.commit_step.tolist() == trace.commit_step.tolist()


def test_a_trace_says_so_and_is_replayed(predictors: Predictors, tmp_path: Path) -> None:
    (trace,) = run(predictors["llada"], "dual", "rws:4", PROMPTS[:1])
    trace.save(tmp_path / "kept.parquet")
    loaded = load_trace(tmp_path / "kept.parquet")
    assert loaded.key_cache == "dual" and (trace.candidate >= 0).all()  # later blocks, too
    assert replay_with(loaded, predictors["llada"]).tokens.tolist() == trace.tokens.tolist()
    refused(lambda: step_logits(trace, predictors["llada"], 1), "trace has key_cache 'dual'")


def test_kept_keys_change_what_the_page_shows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran("docs/extra/blocks-key-caches.md")
    assert [capsys.readouterr().out] == shown("docs/extra/blocks-key-caches.md")
