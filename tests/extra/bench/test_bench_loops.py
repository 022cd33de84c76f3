"""The bench of whole decodes beside the loops in use."""

from tiny_models import bert_predictor

from paper_figures.extra.bench.loops import bench
from rws_decode import CallableReward, Shape

PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and small"]


def test_the_bench_finds_the_same_tokens_in_every_way() -> None:
    reward = CallableReward(lambda prompt, answer: float(len(answer.split())), name="words")
    results = bench(bert_predictor(), reward, PROMPTS, shape=Shape(12, 6, 6), repeats=1)
    rows = {way["way"]: way for way in results["ways"]}
    assert all(way["same_text"] + way["near"] >= len(PROMPTS) for way in rows.values())
    assert rows["naive rws"]["reward_calls"] == 6 * len(PROMPTS) == rows["rws whole one"]["reward_calls"]
    assert rows["rws one"]["reward_calls"] + rows["rws one"]["reward_calls_saved"] <= 6 * len(PROMPTS)
    assert rows["whole one"]["forwards"] == 6 * len(PROMPTS) and rows["whole all"]["forwards"] == 6
    assert set(results["ratios"]) >= {"one prompt", "all at once", "rws overhead, one prompt"}
    seconds = {name: row["seconds"] for name, row in rows.items()}
    assert results["ratios"]["batch-invariant cost"] == seconds["one"] / seconds["all"]
