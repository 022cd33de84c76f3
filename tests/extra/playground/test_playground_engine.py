"""The playground's engine, in a browser, against Python: tokens, steps, crossings, rewards, log-probabilities."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from chromium import Chromium, Tab
from numpy.typing import NDArray
from proved_crossings import HIGH, LOW, missed_crossings

from rws_decode import Options, Shape, decode, load_predictor, load_reward
from rws_decode.extra.playground.page import playground_page
from rws_theory import crossings, selection_path


class Setting(NamedTuple):
    strategy: str
    reward: str
    length: int
    steps: int
    block: int


SETTINGS = [
    Setting("default", "era", 16, 16, 16),
    Setting("temperature:4", "era", 16, 8, 16),
    Setting("temperature:0.1", "era", 32, 16, 32),
    Setting("rws:8", "era", 16, 16, 16),
    Setting("rws:1", "era", 16, 8, 16),
    Setting("rws:2", "keywords", 24, 12, 24),
    Setting("rws:8", "keywords:peace,the united states", 48, 24, 24),
    Setting("random-order", "era", 16, 16, 16),
    Setting("left-to-right", "era", 16, 4, 16),
    Setting("default+spacing:3", "era", 16, 8, 16),
    Setting("rws:0.5+spacing:2", "era", 16, 8, 16),
    Setting("random-order+spacing:4", "era", 32, 8, 16),
]
SEED = 3
# Decodes a prompt as the page does. Returns what is compared, and of one step the crossings of some pairs.
DECODE = """async job => {
  globalThis.loaded ??= await loadModel();
  const model = loaded, prompt = model.read(job.prompt).ids, reward = model.rewardNamed(job.reward);
  const run = engine.decode(model, { ...job, prompt, reward, rule: engine.strategy(job.strategy, job.seed) });
  const step = Math.floor(run.steps / 2), { before, places } = run.records[step], seen = engine.look(run, before);
  const curves = new Map(places.map(place => [place, engine.curve(seen.rows.get(place))]));
  const [first, ...others] = curves.values();
  return {
    k: run.records[step].chosen.length, changes: engine.changes(curves, places, run.records[step].chosen.length),
    tokens: run.canvas, commit: run.commitStep, factor: run.records.map(record => record.factor),
    near: run.records.map(record => record.near || record.unsure || 0), ties: run.records.map(record => record.ties),
    reward: engine.rewardOf(run, run.canvas), logProb: model.exact ? model.logProb(prompt, run.canvas) : null,
    before: before.map(token => (token < 0 ? model.mask : token)), places,
    crossings: others.slice(0, 3).map(curve => engine.crossings(first, curve)),
  };
}"""


@pytest.fixture(scope="module")
def tab(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    page = playground_page("english").save(tmp_path_factory.mktemp("english") / "page.html")
    opened = browser.open(page.as_uri(), width=1280)
    opened.until("document.getElementById('answer').dataset.tokens")
    return opened


def check_changes(found: dict[str, Any], logits: NDArray[np.float64]) -> None:
    """Check the factors at which what a step unmasks changes, against the proved path of the chosen set."""
    path = selection_path(logits, found["k"], LOW, HIGH)
    chosen, *rest = (frozenset(found["places"][n] for n in piece.selected) for piece in path.pieces)
    assert path.certified and len(rest) == len(found["changes"])
    for change, piece, after in zip(found["changes"], path.pieces[1:], rest, strict=True):
        assert after == chosen - {change["out"]} | {change["into"]}
        assert change["factor"] == pytest.approx(piece.lower, rel=1e-9)
        chosen = after


def compare(tab: Tab, prompts: list[str], settings: list[Setting], changes: bool = False) -> dict[str, int]:
    """Compare decodes of the page and of Python, and changes of a chosen set if asked; count decodes and near-ties."""
    counts = {"decodes": 0, "near-tied": 0, "otherwise": 0, "missed": 0}
    predictor: Any = load_predictor("english")
    for setting in settings:
        shape = Shape(setting.length, setting.steps, setting.block)
        reward = load_reward(setting.reward)
        run = decode(predictor, prompts, setting.strategy, shape, reward=reward, options=Options(seed=SEED))
        for prompt, trace in zip(prompts, run, strict=True):
            job = json.dumps({"prompt": prompt, "seed": SEED} | setting._asdict())
            found = tab.evaluate(f"({DECODE})({job})")
            counts["decodes"] += 1
            counts["near-tied"] += any(found["near"])
            if found["tokens"] != trace.tokens.tolist() or found["commit"] != trace.commit_step.tolist():
                assert any(found["near"]) or trace.near_tokens.any(), (prompt, setting)
                counts["otherwise"] += 1
                continue
            assert trace.final_reward is not None and trace.log_prob is not None
            assert abs(found["reward"] - trace.final_reward["raw"]) <= 1e-9
            assert abs(found["logProb"] - trace.log_prob) <= 1e-9
            np.testing.assert_allclose(found["factor"], trace.factor, rtol=1e-12)
            assert [near > 0 for near in found["near"]] == (trace.near_ties > 0).tolist()
            assert found["ties"] == trace.ties.tolist()
            ids = predictor.encode_prompt(prompt)
            logits = predictor.logits(torch.tensor([[*ids, *found["before"]]]), None)[0, len(ids) :]
            logits = logits.numpy()[found["places"]]
            counts["missed"] += missed_crossings(logits[:4], found["crossings"], rtol=1e-9)
            if changes:
                check_changes(found, logits)
    return counts


def test_the_page_decodes_as_python_does(tab: Tab) -> None:
    counts = compare(tab, [load_predictor("english").prompts[40]], SETTINGS, changes=True)
    assert counts == {"decodes": 12, "near-tied": counts["near-tied"], "otherwise": 0, "missed": 0}


@pytest.mark.long
def test_the_page_decodes_200_prompts_in_12_settings_as_python_does(tab: Tab) -> None:
    counts = compare(tab, load_predictor("english").prompts[:200], SETTINGS)
    print(counts)
    assert counts["decodes"] == 2400 and counts["otherwise"] <= counts["near-tied"] and counts["missed"] <= 5


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 + 5])
def test_random_numbers_are_those_of_numpy(seed: int, tab: Tab) -> None:
    assert tab.evaluate(f"engine.randoms({seed}, 20)") == np.random.default_rng(seed).random(20).tolist()


def test_the_quick_random_orders_are_those_of_a_decode(tab: Tab) -> None:
    same = """(async () => {
      const model = await loadModel(), prompt = model.read("we ask congress for").ids;
      const job = { prompt, reward: model.rewardNamed("era"), length: 12, steps: 6, block: 12 };
      return [0, 1, 2].map(seed => ({ ...job, rule: engine.strategy("random-order", seed) }))
        .every(job => String(engine.inOrder(model, job)) === String(engine.decode(model, job).canvas));
    })()"""
    assert tab.evaluate(same)


def test_the_steps_with_a_crossing_between_their_factor_and_another_are_those_of_proved_paths(tab: Tab) -> None:
    prompt, factor = "the means at the command of the local", 4.9
    steps = f"""(async () => {{
      const model = await loadModel(), job = {{ prompt: model.read("{prompt}").ids, length: 16, steps: 8, block: 16 }};
      const run = engine.decode(model, {{ ...job, reward: model.rewardNamed("era"), rule: engine.strategy("rws:8") }});
      return run.records.map(record => ({{
        places: record.places, k: record.chosen.length, factor: record.factor,
        before: record.before.map(token => token < 0 ? model.mask : token),
        crossed: engine.crossed(run, record, {factor}),
      }}));
    }})()"""
    predictor: Any = load_predictor("english")
    ids, crossed = predictor.encode_prompt(prompt), []
    for step in tab.evaluate(steps):
        logits = predictor.logits(torch.tensor([[*ids, *step["before"]]]), None)[0, len(ids) :].numpy()
        ends = sorted((step["factor"], factor))
        path = selection_path(logits[step["places"]], step["k"], *ends)
        crossed.append(len(path.pieces) > 1)
        assert step["crossed"] == crossed[-1] and path.certified
    assert set(crossed) == {True, False}


def test_the_factors_at_which_a_spaced_choice_changes_are_those_of_the_choice(tab: Tab) -> None:
    found = tab.evaluate("""(async () => {
      const model = await loadModel(), rule = engine.strategy("temperature:4+spacing:3");
      const job = { prompt: model.read("peace").ids, length: 24, steps: 6, block: 24, rule };
      const run = engine.decode(model, { ...job, reward: model.rewardNamed("era") });
      return run.records.slice(0, 3).map(record => {
        const seen = engine.look(run, record.before);
        const curves = new Map(record.places.map(place => [place, engine.curve(seen.rows.get(place))]));
        const at = factor => engine.choose(run, seen, record.step, factor, record.before).chosen;
        return engine.turns(run, record, curves)
          .map(turn => [turn, at(turn.factor * 0.9995), at(turn.factor * 1.0005)]);
      }).flat();
    })()""")
    assert len(found) > 3
    for turn, before, after in found:
        assert turn["out"] in before and turn["into"] in after
        assert turn["out"] not in after and turn["into"] not in before


def test_two_close_crossings_are_found(tab: Tab) -> None:
    pair = ([0, *[-1.0] * 8, *[-3.0] * 24], [0, *[0.0] * 1, *[-2.0] * 22, *[-4.02] * 9])
    proved = [root for root in crossings(*map(np.array, pair)).roots if 2**-4 <= root <= 2**6]
    rows = ", ".join(f"engine.curve(Float64Array.from({json.dumps(row)}))" for row in pair)
    np.testing.assert_allclose(tab.evaluate(f"engine.crossings({rows})"), proved, rtol=1e-7)


TEXTS = [
    "Don\u2019t! the 1,000.5 men;",
    "the 21st of may, 3rdx",
    "\u0663 peace",
    "\u212a of \u017f",
    "<end> [MASK] and",
    "a\tb\nwe",
    "",
    "THE 4 of",
]


def test_prompts_are_read_as_python_reads_them(tab: Tab) -> None:
    predictor: Any = load_predictor("english")
    read = f"loadModel().then(model => {json.dumps(TEXTS)}.map(text => model.read(text).ids))"
    assert tab.evaluate(read) == [predictor.encode_prompt(text) for text in TEXTS]
    unknown = f"loadModel().then(model => {json.dumps(TEXTS)}.map(text => model.read(text).unknown))"
    assert tab.evaluate(unknown) == [predictor.unknown_words(text) for text in TEXTS]
