"""The rivals study: its rows are what decoding gives, and its table compares each strategy with the default."""

import json
from pathlib import Path

import numpy as np
import pytest
from single_stage_runs import run

from paper_figures.runner import read_unit_rows
from paper_figures.statistics import clustered_interval, load_causal, perplexity
from rws_decode import Shape, WorldPredictor, decode, load_predictor, load_reward, steer
from rws_decode.steering import is_method
from rws_decode.strategies import as_strategy
from rws_decode.text.words import split_words

STRATEGIES = ["rws:8", "threshold:0.9", "threshold:0.9+rws:8", "random-order", "best-of:3", "tree-search:2"]
WORLDS = ["--models", "mini:mini", "english:era"]
SIZE = ["--prompts", "2", "--length", "8", "--steps", "4", "--block", "8", "--strategies", *STRATEGIES]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run("rivals", out, [*SIZE, *WORLDS]) == 0
    return out


@pytest.mark.parametrize(("model", "reward"), [("mini", "mini"), ("english", "era")])
def test_rows_are_what_decoding_gives(finished: Path, model: str, reward: str) -> None:
    frame = read_unit_rows(finished)
    assert len(frame) == 2 * 2 * (1 + len(STRATEGIES))
    predictor, guide = load_predictor(model), load_reward(reward)
    for method in ("default", *STRATEGIES):
        counts = method.startswith("threshold")
        rows = frame[(frame["predictor"] == model) & (frame["method"] == method)].sort_values("example")
        shape, prompts = Shape(8, 8 if counts else 4, 8), rows["prompt"].tolist()
        if is_method(method):
            run_ = steer(predictor, prompts, method, shape, reward=guide)
        else:
            run_ = decode(predictor, prompts, as_strategy(method), shape, reward=guide)
        made = run_.to_frame()
        assert rows["forwards"].tolist() == made["forwards"].tolist()
        assert np.allclose(rows["final_reward"], made["reward"]) and np.allclose(rows["god_steps"], made["god_steps"])
        assert rows["text"].tolist() == run_.texts
        if model == "english":
            assert np.allclose(rows["log_prob"], [trace.log_prob for trace in run_])
        else:
            assert rows["rules_broken"].tolist() == [len(trace.rules_broken or ()) for trace in run_]


def test_a_budget_gives_methods_their_numbers(tmp_path: Path) -> None:
    size = ["--model", "english", "--reward", "era", "--prompts", "2", "--length", "8", "--steps", "8", "--block", "8"]
    methods = ["--strategies", "best-of", "particle-gibbs+sweeps:2", "svdd:2"]
    assert run("rivals", tmp_path, [*size, *methods, "--budget", "32"]) == 0
    frame = read_unit_rows(tmp_path)
    assert set(frame["method"]) == {"default", "best-of:4", "particle-gibbs:2+sweeps:2", "svdd:2"}
    assert frame["forwards"].max() <= 32


def test_perplexities_are_those_of_the_world_and_of_the_causal_model(tmp_path: Path) -> None:
    size = ["--model", "english", "--reward", "era", "--data", "examples:opening", "--prompts", "12", "--length", "8"]
    more = ["--steps", "4", "--block", "8", "--strategies", "rws:8", "--causal", "mini-causal"]
    assert run("rivals", tmp_path, [*size, *more]) == 0
    frame, predictor, causal = read_unit_rows(tmp_path), load_predictor("english"), load_causal("mini-causal")
    assert isinstance(predictor, WorldPredictor)
    texts = {row["prompt"]: split_words(row["answer"])[:8] for row in predictor.examples if len(row["answer"]) > 0}
    for row in frame.to_dict("records"):
        (score,) = perplexity(causal, [row["text"]], prompts=[row["prompt"]]).scores
        assert row["log_perplexity"] == pytest.approx(score.nll / score.tokens, rel=1e-5)
        ids, context = predictor.words.ids(row["text"]), predictor.encode_prompt(row["prompt"])
        known = -1 not in ids
        assert np.isnan(row["world_nll"]) != known
        assert not known or row["world_nll"] == pytest.approx(-predictor.world.log_prob(ids, context) / 8)
        assert row["method"] != "held-out" or split_words(row["text"]) == texts[row["prompt"]]
    long = {prompt for prompt in frame["prompt"] if len(texts[prompt]) == 8}
    assert set(frame[frame["method"] == "held-out"]["prompt"]) == long

    table = {row["method"]: row for row in json.loads((tmp_path / "rivals" / "results.json").read_text())["perplexity"]}
    assert list(table) == ["default", "held-out", "rws:8"]
    own, default = (frame[frame["method"] == each].set_index("prompt") for each in ("rws:8", "default"))
    default = default.loc[own.index]
    change = own["log_perplexity"] - default["log_perplexity"]
    assert table["rws:8"]["causal"] == table["rws:8"]["causal_clustered"] == pytest.approx(change.mean())
    ends = clustered_interval(change, own["address"])
    assert (table["rws:8"]["causal_clustered_low"], table["rws:8"]["causal_clustered_high"]) == pytest.approx(ends[1:])
    assert table["rws:8"]["world_perplexity"] == pytest.approx(np.exp(own["world_nll"].mean()))
    other = own["text"] != default["text"]
    same = np.sign(change[other]) == np.sign((own["world_nll"] - default["world_nll"])[other])
    assert (table["rws:8"]["differ"], table["rws:8"]["agree"]) == (other.sum(), pytest.approx(same.mean()))
