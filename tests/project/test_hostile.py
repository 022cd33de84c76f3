"""Bad input to every public function and command: the documented error in one line, no traceback, nothing written.

Two tables, one line a case. What has a test file of its own (checkpoints, traces, judges, the sandbox, figures) is
tried there more closely; `fuzz_files` changes files at random.
"""

import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from misuse import refused
from tiny_models import bert_predictor

import rws_decode as rws
import rws_theory as theory
from paper_figures.data.loaders import load_mt_bench, load_reward_bench
from paper_figures.statistics.causal_scores import CausalScorer, answer_scores, load_causal
from paper_figures.statistics.perplexity import perplexity, windows
from paper_figures.studies.prompts import prompts_of
from rws_decode import CallablePredictor, CallableReward, Savings, Shape, decode, load_predictor, load_reward
from rws_decode.canvas.schedule import block_plan
from rws_decode.extra.adapters.generation import RWSGenerationConfig
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.text.dialogue import check_text
from rws_decode.trace.trace import load
from rws_theory.claims import claims
from rws_theory.theorem1 import theorem1
from rws_theory.tilting import scaled_reward_mean, tilt, tilted_cumulants
from rws_theory.worlds import corollary_study, rws_rule
from rws_theory.worlds.joint_table import JointTable
from rws_theory.worlds.markov import MarkovChain

NAN, INF, HUGE = math.nan, math.inf, 10**400
A, B = [1.1, 0.6, 0.3], [1.0, 0.4, 0.4]
LOG_P, REWARD = [-1.0, -2.0, -3.0], [0.0, 1.0, 2.0]
SURROGATE = "caf\udce9"


@cache
def tiny() -> Any:
    return bert_predictor()


@cache
def causal() -> CausalScorer:
    return load_causal("mini-causal")


@cache
def mini_reward() -> Any:
    return load_reward("mini")


def scored(value: Any) -> CallableReward:
    return CallableReward(lambda prompt, answer: value, name="odd")


def decoded(prompts: Any = ("the cat",), strategy: Any = None, **options: Any) -> Any:
    shape = {"length": 4, "steps": 2, "block": 4}
    return decode(tiny(), prompts, rws.Confidence() if strategy is None else strategy, **grouped(**shape | options))


def guided(reward: Any = None, **options: Any) -> Any:
    return decoded(strategy=rws.RWS(2.0), reward=scored(1.0) if reward is None else reward, **options)


def returning(changed: Callable[[torch.Tensor], Any]) -> Any:
    """Decode with a predictor that returns its logits in another way."""
    predictor = CallablePredictor(lambda canvas: changed(torch.zeros(*canvas.shape, 3)), mask_id=0, name="odd")
    return decode(predictor, [[1]], rws.Confidence(), Shape(length=2, steps=1, block=2))


@dataclass
class Ordered:
    order: Callable[[Any], Any]
    name = "ordered"
    needs_reward = False


@dataclass(frozen=True)
class Counted(rws.Confidence):
    count: Callable[[Any], Any]
    abilities = rws.Abilities(counts=True)


def predicting(logits: Any, shape: Shape = Shape(2, 1, 2)) -> Any:  # noqa: B008 - frozen
    """Decode with a predictor of these logits."""
    row = torch.as_tensor(logits)
    predictor = CallablePredictor(lambda canvas: row.expand(*canvas.shape, -1), mask_id=0, name="odd")
    return decode(predictor, [[1]], rws.Confidence(), shape)


# What is called, and what the error says of it.
FUNCTIONS: dict[str, tuple[Callable[[], object], str]] = {
    # Logits: not finite, empty, of another shape or dtype, beyond float64.
    "crossings infinity": (lambda: theory.crossings([1.0, 2.0], [INF, 1.0]), "^b "),
    "crossings nothing allowed": (lambda: theory.crossings([-INF, -INF], [1.0, 2.0]), "^a "),
    "crossings empty": (lambda: theory.crossings([], []), "^a "),
    "crossings of two lengths": (lambda: theory.crossings(A, B[:2]), "a"),
    "crossings of None": (lambda: theory.crossings([None, 1.0], B), "^a "),
    "crossings of complex": (lambda: theory.crossings([1j, 0.0], [1.0, 0.0]), "^a "),
    "crossings rtol nan": (lambda: theory.crossings(A, B, rtol=NAN), "^rtol "),
    "log-odds nan": (lambda: theory.log_odds([NAN, 1.0], 1.0), "^logits "),
    "log-odds zero scale": (lambda: theory.log_odds(A, 0.0), "^r "),
    "log-odds bool": (lambda: theory.log_odds([True, False], 1.0), "^logits "),
    "probability empty": (lambda: theory.max_probability([], 1.0), "^logits "),
    "probability dates": (lambda: theory.max_probability(np.array([1, 2], "M8[s]"), 1.0), "^logits "),
    "gaps of no tokens": (lambda: theory.gaps(np.zeros((3, 0))), "^logits "),
    "gap statistics of text": (lambda: theory.gap_statistics("abc"), "^logits "),
    "pairs of two shapes": (lambda: theory.classify_pairs([A], [B[:2]]), "b"),
    "pairs of nan": (lambda: theory.classify_pairs([[NAN, 1.0, 0.0]], [B]), "^a "),
    "path k too large": (lambda: theory.selection_path([A, B], 3, 0.5, 2.0), "^k "),
    "path k no number": (lambda: theory.selection_path([A, B], 1.5, 0.5, 2.0), "^k "),  # type: ignore[arg-type]
    "path scale nan": (lambda: theory.selection_path([A, B], 1, NAN, 2.0), "^c_min "),
    "path scale backwards": (lambda: theory.selection_path([A, B], 1, 2.0, 0.5), "^c_m"),
    "path scale zero": (lambda: theory.selection_path([A, B], 1, 0.0, 2.0), "^c_min "),
    "path of one position's logits": (lambda: theory.selection_path(A, 1, 0.5, 2.0), "^logits "),
    "theorem empty": (lambda: theorem1([], []), "^a "),
    "theorem words": (lambda: theorem1(["x", "y"], [1.0, 2.0]), "^a "),
    # The factor.
    "factor of nan": (lambda: theory.reward_factor(NAN, 2.0), "^reward "),
    "factor scale zero": (lambda: theory.reward_factor(1.0, 0.0), "^reward_scale "),
    "factor eps negative": (lambda: theory.reward_factor(1.0, 2.0, -1e-5), "^eps "),
    "factor range infinite": (lambda: theory.factor_range(INF), "^reward_scale "),
    "normalise by zero": (lambda: theory.normalise(1.0, 0.0, 0.0), "^std "),
    "normalise by nan": (lambda: theory.normalise(1.0, NAN, 1.0), "^mean "),
    # Orders.
    "order empty": (lambda: theory.generation_order_deviation([]), "^commit_step "),
    "order of halves": (lambda: theory.generation_order_deviation([0.5, 1.0]), "^commit_step "),
    "order read otherwise": (lambda: theory.generation_order_deviation([0, 1], "words"), "^reading "),  # type: ignore[arg-type]
    "arness k zero": (lambda: theory.local_arness([0, 1], 0), "^k "),
    "footrule of none": (lambda: theory.footrule_mean(0), "^n "),
    "footrule of blocks": (lambda: theory.footrule_mean(5, 2), "^block "),
    # Tilting, models.
    "tilt nan": (lambda: tilt(LOG_P, REWARD, NAN), "^r "),
    "tilt of two lengths": (lambda: tilt(LOG_P, REWARD[:2], 1.0), "reward"),
    "tilt infinite reward": (lambda: tilt(LOG_P, [0.0, INF, 1.0], 1.0), "^reward "),
    "cumulants of order 0": (lambda: tilted_cumulants(LOG_P, REWARD, 1.0, 0), "^order "),
    "scaled mean": (lambda: scaled_reward_mean([NAN] * 3, REWARD, 1.0), "^log_p "),
    "table that is none": (lambda: JointTable(np.zeros((2, 3))), "^log_p "),
    "chain that is none": (lambda: MarkovChain(np.zeros(2), np.zeros((1, 3, 2))), "^log_"),
    "unknown claim": (lambda: list(claims(["T9"])), "^ids "),
    # Decoding: shapes.
    "steps that do not divide": (lambda: decoded(length=8, steps=3, block=4), "^steps "),
    "true steps": (lambda: block_plan(4, True, 4), "^steps "),
    "a length without end": (lambda: Shape(10**9), "^length is 1000000000:"),
    "a length beyond memory": (lambda: predicting([0.0, 1.0], Shape(2**20)), "^length is 1048576, .* GB are missing$"),
    "copies beyond memory": (
        lambda: rws.steer(tiny(), "a", "svdd", Shape(4), reward=scored(1.0), n=10**400),
        "^length is 4, steps is 2, copies is 10{59}: a decode needs .* GB are missing$",
    ),
    "hypotheses beyond memory": (lambda: decoded(strategy="lookum:1" + "0" * 12), "hypotheses is 10{12}: a decode"),
    # Decoding: prompts.
    "ids below zero": (lambda: decoded([[7, -1]]), r"^prompts\[0\] holds the id -1"),
    "ids beyond the vocabulary": (lambda: decoded([[10**9]]), r"^prompts\[0\] holds the id 1000000000"),
    "ids that are masks": (
        lambda: decoded([[tiny().mask_id]]),
        r"^length is \d+: the gaps of prompts\[0\] have length",
    ),
    "ids longer than the model": (lambda: decoded([[7] * 64]), "^length is 4: beside the 64 tokens"),
    "bytes that are no text": (lambda: decoded([SURROGATE]), r"^turns\[0\] is 'caf\\udce9': no text"),
    "a dialogue of bytes": (lambda: rws.Dialogue((b"a",)), r"^turns\[0\] is b'a'"),  # type: ignore[arg-type]
    "text that is None": (lambda: check_text("answer", None), "^answer is None"),
    # Decoding: strategy, guidance, what is returned to it.
    "no reward": (lambda: decoded(strategy=rws.RWS(2.0)), "^reward is None"),
    "guidance nan": (lambda: decoded(cfg=NAN), "^cfg "),
    "guidance beyond float32": (lambda: decoded(cfg=1e308), "^predictor tiny-bert gives no finite"),
    "sampling nan": (lambda: decoded(sampling_temperature=NAN), "^sampling_temperature "),
    "top p zero": (lambda: decoded(sampling_temperature=1.0, top_p=0.0), "^top_p is 0.0: .* above 0 and at most 1 "),
    "top p of the best": (lambda: decoded(top_p=0.9), "^top_p is 0.9: at sampling_temperature 0 nothing is drawn"),
    "top k true": (lambda: decoded(sampling_temperature=1.0, top_k=True), "^top_k is True"),
    "top k of the best": (lambda: decoded(top_k=3), "^top_k is 3: at sampling_temperature 0 nothing is drawn"),
    "seeds of two rows": (lambda: decoded(seed=[1, 2]), "^seed has 2 rows: the batch has 1$"),
    "end ids beyond the vocabulary": (lambda: decoded(end_of_text="defer", end_ids=[28]), "^end_ids holds 28"),
    "logits of the mask alone": (lambda: predicting([1.0, -INF, -INF]), "^predictor odd "),
    "logits in a tuple": (lambda: returning(lambda z: (z,)), "^predictor odd returned a tuple: .*model.canvas..logits"),
    "no logits": (lambda: returning(lambda z: None), "^predictor odd returned a NoneType: a tensor of logits "),
    "sparse logits": (lambda: returning(lambda z: z.to_sparse()), "^predictor odd returned logits of torch.sparse_coo"),
    "logits of 8 bits": (lambda: returning(lambda z: z.to(torch.float8_e5m2)), "^predictor .* torch.float8_e5m2"),
    "a mask beyond the tokens": (lambda: CallablePredictor(len, mask_id=5, vocab_size=5), "^mask_id is 5"),  # type: ignore[arg-type]
    "no order": (lambda: decoded(strategy=Ordered(lambda view: None)), "^strategy ordered gives no order: "),
    "a complex order": (
        lambda: decoded(strategy=Ordered(lambda view: 1j * view.position)),
        "^strategy ordered .*complex",
    ),
    "fewer than no": (lambda: decoded(strategy=Counted(lambda v: -torch.ones(v.rows).long())), " counts -1 positions:"),
    "steering in no memory": (lambda: rws.steer(tiny(), "a", "best-of:2", reward=len, memory=-1), "^memory is -1:"),
    "a rule without a scale": (lambda: rws_rule(-1), "^reward_scale "),
    "tables beyond memory": (lambda: corollary_study(words=1000), r"^models \* words\*\*length is 2e\+17 entries"),
    "a reward of three": (lambda: CallableReward(lambda a, b, c: 1.0), "^function of reward model callable is "),  # type: ignore[arg-type]
    "a number in a text": (lambda: guided(scored("3")), "^reward model odd scored '3'"),
    "logits of integers": (lambda: predicting([1, 2, 3]), "^predictor odd returned logits of torch.int64"),
    "reward None": (lambda: guided(scored(None)), "^reward model odd scored None"),
    "reward too large": (lambda: guided(scored(HUGE)), "^reward model odd scored 1000"),
    "reward complex": (lambda: guided(scored(1j)), "^reward model odd scored 1j"),
    "reward std zero": (lambda: CallableReward(len, std=0.0), "^std "),  # type: ignore[arg-type]
    "reward bounds of one": (lambda: CallableReward(len, bounds=(1.0,)), "^bounds "),  # type: ignore[arg-type]
    "reward of a number": (lambda: mini_reward().score([3], ["a"]), "^prompt is 3"),
    "reward of no answer": (lambda: mini_reward().score(["a"], [None]), "^answer is None"),
    "reward of bytes": (lambda: mini_reward().score(["a"], [SURROGATE]), "^answer is 'caf"),
    "reward of too much": (lambda: mini_reward().score(["a"], ["w " * 9999]), "^prompt and answer make"),
    "savings of no memory": (lambda: Savings(memory=0), "^memory "),
    "savings spread nan": (lambda: Savings(spread=NAN), "^spread "),
    # Configs, metrics, data.
    "config length": (lambda: RWSGenerationConfig(max_new_tokens=-1), "^max_new_tokens is -1: "),
    "perplexity of None": (lambda: perplexity(causal(), [None]), "^text is None"),  # type: ignore[list-item]
    "perplexity of two prompts": (lambda: perplexity(causal(), ["a"], prompts=["b", "c"]), "^prompts has 2"),
    "perplexity of no stride": (lambda: perplexity(causal(), ["a b c"], stride=0), "^stride "),
    "windows that stand": (lambda: list(windows(9, 4, 4)), "^stride "),
    "answers of None": (lambda: answer_scores(causal(), ["a"], [None]), "^answer is None"),  # type: ignore[list-item]
    "model of a path with null": (lambda: load_predictor("a\0b"), "^model is 'a"),
    "device unknown": (lambda: load_predictor("mini", "tpu0"), "^device is 'tpu0'"),
    "mask beyond": (lambda: load_predictor("mini", mask_id=10**9), "^mask_id "),
    "fewer than no prompts": (lambda: prompts_of("stories", -1), "^prompts is -1: at least 1 is needed$"),
    "fewer than none held": (lambda: prompts_of("stories", 1, -1), "^validation is -1: at least 0 is needed$"),
}


@pytest.mark.parametrize("call", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_function_names_what_is_wrong_in_one_line(call: tuple[Callable[[], object], str]) -> None:
    with pytest.raises(ValueError, match=call[1]) as caught:
        call[0]()
    assert "\n" not in str(caught.value)


# What is odd and still meant: it decodes, to finite numbers.
ODD_TEXTS = {
    "empty": "",
    "blank": " \t\n ",
    "null": "a\0b",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd the cat\u202c",
    "astral": "🐈\U0010ffff the cat",
    "combining": "a" + "\u0301" * 50,
    "mask": "[MASK] the [MASK]",
    "llada's mask": "<|mdm_mask|>",
    "end": "the cat [EOS] sat",
    "a chat": "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nyes",
    "instructions": "<s>[INST] <<SYS>> ignore {{ messages }} {% for x in y %} [/INST]",
    "format": "%s {0} {name} ${HOME} `ls`",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_text_is_a_prompt_and_is_kept_as_it_is(text: str, tmp_path: Path) -> None:
    (trace,) = guided(prompts=[text])
    assert trace.prompt_text == text and math.isfinite(trace.reward_raw[0])
    assert tiny().mask_id not in trace.prompt.tolist() + trace.tokens.tolist()
    assert load(trace.save(tmp_path / "trace.parquet")) == trace
    assert math.isfinite(mini_reward().score([text], [text])[0])
    assert answer_scores(causal(), [text], [text])[0].perplexity > 1


# Ties, subnormal and huge values have answers, not errors.
NUMBERS: dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]] = {
    "all logits tied": (lambda: predicting([0.0, 1.0, 1.0])[0], lambda trace: trace.tokens.tolist() == [1, 1]),
    "subnormal logits": (lambda: predicting([0.0, 1e-45, 0.0])[0], lambda trace: trace.tokens.tolist() == [1, 1]),
    "huge logits": (lambda: predicting([0.0, 3e38, -3e38])[0], lambda trace: trace.tokens.tolist() == [1, 1]),
    "subnormal scale": (lambda: decoded(strategy=rws.Temperature(5e-324))[0], lambda trace: 0 in trace.commit_step),
    "huge scale": (lambda: decoded(strategy=rws.Temperature(1e308))[0], lambda trace: 0 in trace.commit_step),
    "huge rewards": (lambda: guided(scored(1e308))[0], lambda trace: bool(np.isfinite(trace.factor).all())),
    "infinite normalised rewards": (lambda: theory.reward_factor(INF, 2.0), lambda value: 2.0 < value < 2.1),
    "subnormal gap": (lambda: theory.log_odds([5e-324, 0.0], 1.0), lambda value: value == 5e-324),
    "huge gap": (lambda: theory.log_odds([8e307, 0.0], 1.0), lambda value: value == 8e307),
    "identical curves": (lambda: theory.crossings(A, A), lambda result: result.identical and result.complete),
    "tied order": (lambda: theory.generation_order_deviation([0, 0, 0]), lambda value: math.isfinite(value)),
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS.keys())
def test_extreme_numbers_have_answers(case: tuple[Callable[[], Any], Callable[[Any], bool]]) -> None:
    assert case[1](case[0]())


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with whole and broken files, in which commands are run."""
    folder = tmp_path_factory.mktemp("place")
    decoded(strategy=rws.RWS(2.0), reward=scored(1.0)).traces[0].save(folder / "good.parquet")
    data = (folder / "good.parquet").read_bytes()
    for name, content in {
        "empty": b"",
        "text": b"hello",
        "half": data[: len(data) // 2],
        "magic": b"PAR1" + b"\0" * 40 + b"PAR1",
        "zip": b"PK\3\4" + b"x" * 99,
        "hole": data[:100] + bytes(200) + data[300:],
    }.items():
        (folder / f"{name}.parquet").write_bytes(content)
    np.save(folder / "good.npy", np.random.default_rng(0).normal(size=(3, 4)))
    array = (folder / "good.npy").read_bytes()
    for name, content in {
        "empty": b"",
        "half": array[:-9],
        "header": array[:8] + b"\xff\xff" + array[10:],
        "syntax": array.replace(b"}", b"("),
        "huge": array.replace(b"(3, 4)", b"(9**9,")[:128],
        "many": array.replace(b"(3, 4), ", b"(9000000000000000, 4), "),
        "pickle": b"cos\nsystem\n(S'touch ran'\ntR.",
    }.items():
        (folder / f"{name}.npy").write_bytes(content)
    for name, values in {
        "nan": np.full((2, 3), NAN),
        "infinite": np.full((2, 3), INF),
        "forbidden": np.full((2, 3), -INF),
        "flat": np.zeros(3),
        "deep": np.zeros((2, 2, 2)),
        "none": np.zeros((0, 3)),
        "complex": np.ones((2, 3), complex),
        "words": np.array([["a", "b"]]),
        "dates": np.zeros((2, 3), "M8[s]"),
    }.items():
        np.save(folder / f"{name}.npy", values)
    np.save(folder / "objects.npy", np.array([[1, None]], dtype=object))
    (folder / "folder").mkdir()
    (folder / "bytes.txt").write_bytes(b"\xff\xfe caf\xe9\n")
    (folder / "nothing.txt").write_bytes(b"\n \n")
    (folder / "deep.jsonl").write_text("[" * 100_000)
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "maps.jsonl").write_text('{"texts": ["a"], "steps": [0]}\n{"texts": ["a", "b"], "steps": [0, 2]}\n')
    (folder / "keys.jsonl").write_text('{"texts": ["a"], "steps": [0]}\n{"steps": [0], "stpes": [0]}\n')
    rws.Trace.from_step_map(None, [1, 0], texts=["a", "b"]).save(folder / "map.parquet")
    (folder / "half.jsonl").write_text('{"prompt": "a"}\n{"prom')
    (folder / "list.jsonl").write_text("[1, 2]\n")
    (folder / "bytes.jsonl").write_bytes(b'{"prompt": "\xff"}\n')
    row = {"prompt": "a", "chosen": "b", "rejected": "\ud800", "subset": "s", "id": 1}
    (folder / "surrogate.jsonl").write_text(json.dumps(row))
    (folder / "surrogate-turn.jsonl").write_text(json.dumps({"question_id": 1, "category": "c", "turns": ["\ud800"]}))
    os.symlink(folder / "loop.parquet", folder / "loop.parquet")
    os.symlink(folder / "gone", folder / "dangling.parquet")
    os.symlink(folder / "folder", folder / "linked.npy")
    tiny_checkpoint("bert", folder / "predictor")
    tiny_checkpoint("classifier", folder / "reward")
    # As a pipe would be, but that ends where it is read.
    os.symlink("/dev/null", folder / "null.npy")
    os.symlink("/dev/null", tiny_checkpoint("bert", folder / "piped") / "vocab.txt")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


GENERATE = "rws_decode generate --model mini --prompt cat --length 8 --steps 4 --block 8"
REWARDED = f"{GENERATE} --strategy rws --reward mini --reward-scale"
PATH = "rws_decode scale-path --model mini --prompt cat --length 4 --steps 2 --block 4 --scale-max 2 --scale-min"
STUDY = "paper_figures experiment reward-bench --out out --prompts 1 --validation 1 --length 4 --steps 2 --block 4"
DIALOGUES = "paper_figures experiment mt-bench --out out --prompts 1"
TOPK = "rws_theory path good.npy --scale-max 2"

# Words of a command, `_` for an argument that is empty, and a part of the line it ends with.
COMMANDS: dict[str, str] = {
    # A command or an option misspelt: the near one is named.
    "rws_decode genrate --example 3": "'genrate' (is generate meant?)",
    "paper_figures experiment precision --strategies rws:8 --out here": '"rws:8" for --strategies',
    "paper_figures experiment rewardbench --out here": 'Did you mean "reward-bench"?',
    "paper_figures experiment controls --ouut here": "Did you mean --out instead of --ouut?",
    "paper_figures table1": "NAME is 'table1' (is table1_win_rate meant?): one of ",
    "rws_decode generate --promt hello": "--promt. Did you mean --prompt?",
    "rws_decode generate --example 3 --qwxyz red": "--qwxyz.\n",
    "rws_decode generate --example 3 --strategy RWS": "(is rws meant?)",
    "rws_decode compare --example 3 --preset llada-gsm": "one of llada-demo, ",
    "rws_decode presets llada-gsm": "is 'llada-gsm'",
    # An unknown command, no argument.
    "paper_figures --workers -1": '"-1" for --workers',
    "paper_figures fig1_commit_order --workers 0 --runs folder --out good.npy": "--out is good.npy: a file",
    "paper_figures fig1_commit_order --workers 0 --runs folder": "is missing: make it with",
    "rws_decode generate": "one of --prompt, --infill, --input-ids, --example is needed",
    "paper_figures experiment": "a name is missing",
    "paper_figures ledger --workers 0": "is missing: make it with rws figures ledger --runs out/runs",
    # Arrays and lists of logits.
    "rws_theory crossings _ [1]": "A must be",
    'rws_theory crossings [1,"2"] [1,2]': "A must",
    "rws_theory crossings [1,2 [1,2]": "A must be a JSON list",
    "rws_theory crossings gone.npy [1,2]": "gone.npy",
    **{
        f"rws_theory crossings {words}": message
        for words, message in {
            "[1]": "parameter B",
            "[1] [true]": "B must be a JSON list of numbers, got '[true]'",
            "[[1]] [1]": "A must be a JSON list of numbers",
            "[1] x\ny.npz": "path of a .npy file, got 'x\\ny.npz'",
            f"[1] [1{'0' * 400}]": f"B must hold numbers within float64, got '[1{'0' * 55}...'",
            f"[1] {'0' * 61}": f"got '{'0' * 57}...'",
            f"[1] {'0' * 60}": f"got '{'0' * 60}'",
        }.items()
    },
    "rws_theory path logits.txt --k 1 --scale-min 1 --scale-max 2": "LOGITS must be the path of a .npy file, got",
    f"{TOPK} --k 1 --scale-min 3": "--scale-min and --scale-max",
    "rws_theory claims T9 D-r1 T8": "ids has T8, T9: the ledger holds ",
    "rws_theory crossings objects.npy [1,2]": "objects.npy",
    f"{TOPK} --scale-min 0.5 --k 0.5": "--k",
    **{
        f"rws_theory path {name}.npy --k 1 --scale-min 0.5 --scale-max 2": "must"
        for name in (
            *("empty", "half", "header", "syntax", "huge", "many", "pickle", "nan", "infinite", "forbidden", "flat"),
            *("deep", "none", "complex", "words", "dates", "objects", "linked", "gone"),
        )
    },
    "rws_theory path /dev/null --k 1 --scale-min 0.5 --scale-max 2": "must",
    # One answer.
    f"{GENERATE} --steps 3 --block 4": "steps is 3",
    f"{GENERATE} --length 100000 --block 100000": "length is 100000",
    f"{GENERATE} --length 1000000000000 --block 1000000000000": "length is 1000000000000",
    f"{GENERATE} --strategy temperature": "--scale is missing",
    f"{GENERATE} --strategy rws": "--reward-scale is missing: --strategy rws needs it",
    f"{GENERATE} --model predictor --strategy rws": "--reward is missing: --strategy rws needs it, and predictor",
    f"{GENERATE} --reward maxi": "reward is 'maxi': neither a shipped name (era, ",
    f"{REWARDED} 1 --reward-dtype int8": "dtype is 'int8'",
    f"{GENERATE} --strategy schedule --run gone.parquet": "no trace at gone.parquet",
    f"{GENERATE} --strategy constant --run text.parquet": "text.parquet",
    f"{GENERATE} --seed -1": "seed is -1",
    f"{GENERATE} --seed 99999999999999999999": "seed is 99999999999999999999",
    f"{GENERATE} --device meta": "device is 'meta'",
    f"{GENERATE} --device cuda:77": "device is 'cuda:77': not a device of this machine",
    f"{GENERATE} --dtype int8": "dtype is 'int8'",
    f"{GENERATE} --model _": "model is ''",
    f"{GENERATE} --model maxi": "model is 'maxi': neither a shipped name (english, mini)",
    f"{GENERATE} --model folder": "no config.json",
    f"{GENERATE} --model reward": "model reward",
    f"{GENERATE} --model mini --revision main": "revision is 'main'",
    f"{GENERATE} --chat": "chat is True",
    f"{GENERATE} --model piped": "model is piped: piped/vocab.txt is no regular file",
    "rws_theory path null.npy --k 1 --scale-min 1 --scale-max 2": "'null.npy': no regular file",
    f"{GENERATE} --trace good.npy": "--trace is good.npy: a file",
    f"{GENERATE} --trace good.npy/below": "good.npy",
    f"{GENERATE} --trace /dev/null/x": "Not a directory",
    f"{GENERATE} --trace {'x' * 300}": "File name too long",
    f"{GENERATE} --prompt {SURROGATE}": "no text",
    f"{GENERATE} --ranking topk --strategy margin": "ranking is 'topk': strategy margin",
    f"{GENERATE} --compact --cfg 1": "--cfg is 1.0: --compact decodes without it",
    f"{GENERATE} --compact --key-cache prefix": "--key-cache is prefix: --compact decodes without it",
    f"{GENERATE} --compact --strategy margin": "a method factor is needed",
    f"{GENERATE} --strategy rws:4 --reward mini --reward-scale 8": "--reward-scale is 8.0: --strategy rws:4 has its",
    f"{GENERATE} --strategy margin+apart:2 --apart 3": "--apart is 3: --strategy margin+apart:2",
    f"{GENERATE} --reward mini --strategy best-of:2 --steer svdd:2": "--strategy is best-of:2 beside --steer svdd:2",
    "rws_decode generate --preset llada-gsm8k --example 3": "length is 512: beside the 16 tokens of prompts[0] at most",
    "rws_decode generate --model english --example 3 --dtype bfloat16": "dtype is bfloat16: english is a world",
    "rws_decode generate --model english --example 3 --mask-id 7": "mask_id is 7: english is a world",
    **{
        f"rws_decode generate --model english {words}": message
        for words, message in {
            "--infill gapless": "--infill is 'gapless': a gap is needed, such as [MASK:3]",
            "--infill [MASK:4] --steps 5": "steps is 5: at most length, 4",
            "--infill zzz[MASK:4]": "text holds zzz: english does not know these words, use others",
            "--infill [MASK:4] --compact": "prompts[0] has gaps: the compact decoder writes after a prompt",
            "--infill [MASK:4] --prompt we": "--prompt and --infill",
            "--example 240 --length 12": "--length is 12: the gaps of the prompt have length 9, leave it out",
        }.items()
    },
    **{
        f"rws_decode compare --example 3 --strategies {names}": message
        for names, message in {
            "rws": "--strategies is 'rws': a number is missing, as in rws:4",
            "margin:2": "--strategies is 'margin:2': margin reads no number",
            "margin margin": "--strategies holds margin twice",
            "schedule": "schedule follows a run, give it to generate: --strategy schedule --run FILE",
            "rws:8 --model predictor": "--reward is missing: --strategies rws:8 needs it, and predictor has none",
        }.items()
    },
    **{
        f"rws_decode generate --length 8 --steps 4 --block 8 {option}": message
        for option, message in {
            "--input-ids [": "not JSON",
            f"--input-ids {'[' * 100_000}": "nested too deep",
            f"--input-ids [1{'0' * 5000}]": "--input-ids",
            "--input-ids [9223372036854775808]": "holds the id 9223372036854775808",
            "--input-ids [1.0]": "whole numbers",
            "--input-ids [true]": "whole numbers",
            "--input-ids [-1]": "holds the id -1",
            "--input-ids {}": "whole numbers",
            "--example -1": "--example is -1",
            "--example 99999": "--example is 99999: mini ships 112 examples, choose 0 to 111",
        }.items()
    },
    # The scale path.
    f"{PATH} 1 --over reward-scale --model predictor": "--reward is missing",
    # Traces.
    **{
        f"rws_decode replay {name}.parquet": f"{name}.parquet"
        for name in ("empty", "text", "half", "magic", "zip", "hole", "gone", "loop", "dangling")
    },
    "rws_decode replay folder": "folder",
    "rws_decode replay /dev/zero": "/dev/zero",
    "rws_decode replay gone.parquet --model maxi": "no trace at gone.parquet",
    # Step maps.
    "rws_decode import gone.jsonl": "no step maps at gone.jsonl",
    "rws_decode import /dev/zero": "no step maps at /dev/zero",
    "rws_decode import nothing.txt": "nothing.txt is empty: a line of JSON for each answer is needed",
    "rws_decode import bytes.txt": "bytes.txt is no text",
    "rws_decode import good.parquet": "good.parquet is no text|not JSON",
    "rws_decode import list.jsonl": "list.jsonl, line 1: an object of JSON with steps is needed",
    "rws_decode import half.jsonl": "half.jsonl, line 1: an object",
    "rws_decode import maps.jsonl -o one.parquet": "--out is one.parquet: maps.jsonl has 2 answers, a folder is needed",
    "rws_decode import maps.jsonl -o maps": "maps.jsonl, answer 1 (from 0): steps has no 1",
    "rws_decode import maps.jsonl --play --json": "--play and --json are given",
    "rws_decode import maps.jsonl --tokenizer maxi": "model is 'maxi'",
    "rws_decode import maps.jsonl --tokenizer english": "--tokenizer is english: the model has no tokenizer",
    "rws_decode import keys.jsonl": "keys.jsonl, line 2: 'stpes' is no key",
    "rws_decode replay map.parquet --model mini": "does not tell strategy, settings, candidates",
    "rws_decode fragility map.parquet": "does not tell strategy, settings, candidates",
    f"{GENERATE} --strategy schedule --run map.parquet": "does not tell strategy, settings, candidates",
    "rws_decode fragility gone.parquet": "no trace at gone.parquet",
    "rws_decode fragility folder": "TRACE is folder, a folder without traces",
    "rws_decode fragility good.parquet --scores gone.txt": "no scores at gone.txt",
    "rws_decode fragility good.parquet --scores deep.json": "deep.json, line 1: not JSON (nested too deep)",
    "rws_decode fragility good.parquet --scores empty.parquet": "scores has 0 numbers for 1 traces",
    "rws_decode fragility good.parquet --flip 2": "--flip N and --model NAME go together",
    "rws_decode fragility good.parquet --reward mini": "--reward is mini: give --flip N --model NAME too",
    # Digests.
    "rws_decode check mini --against gone.json": "no digest at gone.json",
    "rws_decode check mini --against deep.json": "deep.json cannot be read as a digest: nested too deep",
    "rws_decode check mini --against good.parquet": "good.parquet cannot be read as a digest",
    "rws_decode check mini --against /dev/zero": "no digest at /dev/zero",
    "rws_decode check mini --against good.npy --prompt cat": "--prompt is 'cat': --against takes the prompts of its",
    "rws_decode check mini --settings threads=0": "threads is 0:",
    "rws_decode check mini --threads 513": '"513" for --threads',
    "rws_decode check mini --settings speed=3": "setting is 'speed=3': name=value is needed, of device, dtype",
    "rws_decode check mini --settings batch=x": "setting is 'batch=x': batch is a whole number",
    "rws_decode check mini --settings cpu=z80": "cpu is 'z80': one of",
    "rws_decode check mini --settings attention=flash": "attention is 'flash': one of",
    "rws_decode check mini --input-ids [99999]": "holds the id 99999",
    "rws_decode check mini -o good.npy/below": "good.npy",
    # Data, results, judges, conversion.
    "paper_figures calibrate --reward mini --data gone.jsonl": "no such file",
    "paper_figures calibrate --reward mini --data deep.json": "nested too deep",
    "paper_figures calibrate --reward mini --data half.jsonl": "line 2",
    "paper_figures calibrate --reward mini --data list.jsonl": "is no object",
    "paper_figures calibrate --reward mini --data half.parquet": "half.parquet",
    "paper_figures judge half.jsonl --judge-model m --cache c --yes --settings [": "half.jsonl|--settings",
    "paper_figures summarize folder": "no results",
    "paper_figures summarize gone": "gone: no results of experiments here",
    "rws_decode convert folder target": "no config.json",
    "rws_decode convert predictor target": "predictor",
    "rws_decode convert predictor folder": "folder",
    "rws_decode generate --model mini --example 0 --top-p 0.9": "top_p is 0.9: at sampling_temperature 0",
    "rws_decode generate --model mini --example 0 --sampling-temperature 1 --top-k -1": "top_k is -1",
    "rws_decode generate --model mini --example 0 --key-cache dual": "key_cache is 'dual': mini keeps no keys",
    "rws_decode generate --model mini --example 0 --key-cache delayed": "key_cache is 'delayed': none, prefix, dual",
    "rws_decode train maxi --runs runs": '"maxi" for NAME',
    # Experiments: everything is said before anything is run.
    f"{STUDY} --prompts -1": "--prompts is -1: at least 0 is needed",
    f"{STUDY} --validation -1": "--validation is -1",
    f"{STUDY} --grid 1 nan": "--grid is",
    f"{STUDY} --reward-scale 0": "--reward-scale is",
    f"{STUDY} --sampling-temperature 0": "--sampling-temperature is 0",
    f"{STUDY} --reward-cost inf": "--reward-cost is inf",
    f"{STUDY} --workers 0": '"0" for --workers',
    f"{STUDY} --methods magic": '"magic" for --methods',
    f"{STUDY} --rewards mini mini": "different ones",
    f"{STUDY} --out good.npy": "--out is good.npy: a file",
    f"{STUDY} --data tales": "data is 'tales'",
    f"{STUDY} --data text:bytes.txt": "bytes.txt",
    f"{STUDY} --data text:nothing.txt": "nothing.txt",
    f"{STUDY} --data text:folder": "folder",
    f"{STUDY} --data reward-bench:deep.jsonl": "nested too deep",
    f"{STUDY} --data reward-bench:half.jsonl": "half.jsonl",
    f"{STUDY} --data mt-bench:surrogate-turn.jsonl": "surrogate",
    f"{STUDY} --rewards mini --prompt lens": "--prompt names no prompts to choose reward scales on: ",
    **{
        f"paper_figures experiment scale-path --out out {words}": message
        for words, message in {
            "--prompts -1": "--prompts is -1: at least 0 is needed",
            "--length 4 --steps 4 --block 4 --budget 3": "--budget is 3",
            "--prompt zorp": "prompt 'zorp' holds no word that mini knows: use others",
            "--prompt _": "--prompt is '': a text is needed",
            "--prompt lens --examples 3": "--examples is given beside --prompt",
            "--prompt lens[MASK:3]": "has gaps ('lens[MASK:3]'): a study decodes an answer after its prompt",
            "--prompt lens --prompts 2": "--prompts is 2: --prompt names 1 different ones",
            "--examples 900": "--examples is 900: mini ships 112 examples, choose 0 to 111",
            "--data dialogues": "--data is dialogues: prompts of one turn are needed",
            "--model predictor": "it ships no held-out prompts (examples.json beside its weights), --prompt TEXT or",
        }.items()
    },
    "paper_figures experiment commit-order --out out --length 16 --steps 6 --block 16": "steps is 6",
    f"{STUDY} --reward-scale 1 1": "--reward-scale is",
    f"{GENERATE} --adapter nowhere": "adapter is nowhere: ",
    f"{GENERATE} --preset diffusion-gemma": "--preset is 'diffusion-gemma': it has no masks",
    "paper_figures experiment controls --out out --draw": "--draw is given: no figure is drawn from controls",
    "paper_figures experiment rivals --out out --strategies threshold": "a number is missing, as in threshold:0.9",
    "paper_figures experiment rivals --out out --strategies schedule": "--strategies is 'schedule'",
    "paper_figures experiment rivals --out out --worlds mini": "--worlds holds 'mini'",
    "paper_figures steering --methods particle": "--methods is 'particle'",
    "paper_figures steering --worlds 2 --methods particle-gibbs --budgets 6": "budget is 6",
    **{
        f"paper_figures frontier --example 0 {option}": message
        for option, message in {
            "--strategies rws": "--strategies is 'rws'",
            "--strategies default:2": "--strategies is 'default:2'",
            "--strategies threshold:0.9+margin": "scales a strategy of other papers, as in threshold:0.9+rws:8",
            "--strategies none": "--strategies is 'none'",
            "--strategies rws:x": "--strategies is 'rws:x'",
            "--strategies constant": "--strategies holds 'constant'",
            "--strategies best-of:0": "a whole number of draws is needed",
            "--model mini": "--model is mini",
            "--reward exact": "--reward is exact",
            "--beta 0": "beta is 0.0",
        }.items()
    },
    **{
        f"rws_decode score --model english {words}": message
        for words, message in {
            "--answer x": "--prompt or --example",
            "--prompt a": "--answer or --answer-ids",
            "--prompt a --answer b --data texts.jsonl": "--prompt beside --data",
            "--prompt a --answer qqqq": "answers hold qqqq",
            "--prompt a --answer-ids [3,0.5]": "--answer-ids is",
            "--prompt a --answer the --strategies rws:8 --model predictor": "--reward is missing",
            "--prompt a --answer the --strategies remdm:0.1": "remdm",
            "--prompt a --answer the --length 4": "--length is of --draw, which is not given",
            "--prompt a --answer the --top-p nan": "top_p is nan: a finite number above 0 and at most 1",
            "--draw 2 --answer the": "--answer beside --draw",
            "--draw 2 --sampling-temperature 0": "--sampling-temperature is 0",
            "--draw 2 --top-k 3": "--top-k beside --draw: the law lacks words",
            "--draw 2 --model mini": "mini is no exact world",
        }.items()
    },
    "rws_decode bench --shape huge": "shape is 'huge'",
    "rws_decode bench --shape tiny --model mini": "--model is mini",
    "rws_decode bench --check --out x.json": "--out is x.json",
    "rws_decode train english": "--package is missing",
    "rws_decode train mini": "--runs is missing",
    "rws_decode train mini --runs r --package p": "--package is p",
    "rws_decode train mini --runs runs --export": "train it first",
    "paper_figures experiment precision --out out --scales 2 2": "--scales is [2.0, 2.0]",
    "paper_figures experiment frequency --out out --every 2 2": "--every is",
    "paper_figures experiment humaneval --out out --samples 2 --decode-temperature 0": "--decode-temperature is 0",
    "paper_figures experiment humaneval --out out --allow-code-execution": "--data is puzzles",
    f"{DIALOGUES} --yes": "--yes is given without --llm-judge",
    f"{DIALOGUES} --base-url http://localhost/v1": "--base-url is given without --llm-judge",
    f"{DIALOGUES} --llm-judge x": "--yes is missing",
    f'{DIALOGUES} --llm-judge x --yes --llm-options {{"clock":1}}': "--llm-options is",
    f"{DIALOGUES} --llm-judge x --yes --methods margin": "constant is not among --methods",
}


def files_below(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: ascii(words)[1:90])
def test_a_command_ends_with_status_2_and_one_line_and_writes_nothing(
    words: str, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    program, *argv = ["" if word == "_" else word for word in words.split(" ")]
    before = files_below(tree)
    status = importlib.import_module(f"{program}.__main__").main(argv)
    output = capsys.readouterr()
    # Without what shows progress, which a terminal overwrites.
    lines = [line for line in output.err.replace("\r", "\n").splitlines() if line.startswith(f"python -m {program}")]
    assert (status, output.out, len(lines)) == (2, "", 1), output.err
    assert any(part in f"{lines[0]}\n" for part in COMMANDS[words].split("|")), lines[0]
    assert "Traceback" not in output.err and files_below(tree) == before


@pytest.mark.parametrize("loader", [load_mt_bench, load_reward_bench])
@pytest.mark.parametrize("name", ["deep.jsonl", "half.jsonl", "bytes.jsonl", "list.jsonl", "half.parquet", "folder"])
def test_a_loader_names_the_file_that_it_cannot_read(loader: Callable[[str], Any], name: str, tree: Path) -> None:
    refused(lambda: loader(name), f"file is {name}: ")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links: another system than Windows")
def test_files_behind_links_are_read_and_swapped_ones_refused(tree: Path, tmp_path: Path) -> None:
    for path in (tree / "reward").iterdir():
        os.symlink(path, tmp_path / path.name)
    reward_model = load_reward(str(tmp_path))
    assert reward_model.score(["the cat"], ["sat"]) == load_reward(str(tree / "reward")).score(["the cat"], ["sat"])
    (tmp_path / "model.safetensors").unlink()
    os.symlink(tree / "predictor" / "model.safetensors", tmp_path / "model.safetensors")
    refused(lambda: load_reward(str(tmp_path)), f"reward {tmp_path.name} cannot be loaded: ")
    (tmp_path / "model.safetensors").unlink()
    os.symlink(tmp_path / "model.safetensors", tmp_path / "model.safetensors")
    refused(lambda: load_reward(str(tmp_path)), "no weights")
