"""Measures of a network's conditionals: 0 where they have a joint law, else beside all tokens and pairs one by one."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from documented_commands import ROOT

from paper_figures.extra.network_measures import MEASURES, measure_intervals, network_measures, pseudo_log_likelihood
from paper_figures.recorded import FOLDER
from paper_figures.studies.evidence_arms import WORLDS
from paper_figures.studies.prompts import prompts_of
from rws_decode import CallablePredictor, Shape, load_predictor
from rws_decode.extra.testing import exact_predictor
from rws_theory import max_probability, reward_factor
from rws_theory.worlds import JointTable

MASK, PROMPTS = 3, 60
CANVAS = (MASK, MASK, *[0] * 7, MASK, MASK)  # two neighbours, and two more nine columns on
PLACES = [0, 1, 9, 10]
SHAPE = Shape(4, 2, 4)  # only its first step has a choice: two of four


@pytest.mark.parametrize("seed", range(3))
def test_conditionals_of_a_joint_law_are_at_no_distance(seed: int) -> None:
    table = JointTable(np.random.default_rng(seed).normal(0, 2, (3,) * 4))
    rows = network_measures(exact_predictor(table), [[]] * 5, Shape(4, 4, 4), seed)
    assert rows["exchange"].max() < 1e-12 and rows["circulation"].abs().max() < 1e-12
    assert rows["far"].isna().all() and rows["near"].max() > 0.01


def of_no_law(seed: int) -> CallablePredictor:
    """Return a predictor whose rows depend on the canvas, and on nothing that would make them agree."""

    @cache
    def rows(canvas: tuple[int, ...]) -> torch.Tensor:
        logits = np.random.default_rng([seed, *canvas]).normal(0, 2, (len(canvas), MASK + 1))
        logits[:, MASK] = -np.inf
        return torch.from_numpy(logits)

    return CallablePredictor(lambda ids: torch.stack([rows(tuple(row)) for row in ids.tolist()]), mask_id=MASK)


@pytest.mark.parametrize("seed", [0, 5])
def test_measures_are_those_of_all_tokens_and_pairs_one_by_one(seed: int) -> None:
    predictor = of_no_law(seed)

    def law(*shown: tuple[int, int]) -> np.ndarray:
        canvas = list(CANVAS)
        for column, token in shown:
            canvas[column] = token
        return predictor.logits(torch.tensor([canvas]), None)[0].softmax(dim=-1).numpy()[:, :MASK]

    start, expected = law(), []
    for first in PLACES:
        second = min((column for column in PLACES if column != first), key=lambda column: abs(column - first))
        ahead = np.array([[start[first, u] * law((first, u))[second, v] for v in range(MASK)] for u in range(MASK)])
        behind = np.array([[start[second, v] * law((second, v))[first, u] for v in range(MASK)] for u in range(MASK)])
        moved = sum(start[first, u] * np.abs(law((first, u)) - start).sum(axis=1) / 2 for u in range(MASK))
        far = [moved[column] for column in PLACES if abs(column - first) > 2]
        distance, divergence = np.abs(ahead - behind).sum() / 2, (ahead * np.log(ahead / behind)).sum()
        expected.append([distance, divergence, moved[second], np.mean(far)])
    rows = network_measures(predictor, [list(CANVAS)] * PROMPTS, SHAPE)
    drawn = rows[["exchange", "circulation", "near", "far"]]
    assert (np.abs(drawn.mean() - np.mean(expected, axis=0)) < 4 * drawn.std() / PROMPTS**0.5).all()
    assert np.mean(expected, axis=0)[0] > 0.1

    confidence = {c: max_probability(np.log(start[PLACES]), c) for c in (1.0, 2.0, 8.0)}
    for scale in (2.0, 8.0):
        pairs = [(i, j) for i in range(4) for j in range(i)]
        turned = [
            (confidence[1.0][i] - confidence[1.0][j]) * (p[i] - p[j]) < 0 for p in [confidence[scale]] for i, j in pairs
        ]
        assert np.allclose(rows[f"reversed_{scale:g}"], np.mean(turned))
        best, plain = ({*np.argsort(-confidence[c])[:2].tolist()} for c in (scale, 1.0))
        assert (rows[f"changed_{scale:g}"] == (best != plain)).all()
    for name, span in (("any_reward", 40), ("usual_reward", 3)):
        factors = reward_factor(np.linspace(-span, span, 2001), 8.0)
        ranked = np.argsort(-max_probability(np.log(start[PLACES])[None], factors[:, None]), axis=1)
        sets = {frozenset(order[:2]) for order in ranked.tolist()}
        assert (rows[name] == (len(sets) > 1)).all()


def test_the_page_tells_the_recorded_measures() -> None:
    record = pd.read_csv(FOLDER / "networks.csv")
    found = {name: measure_intervals(rows) for name, rows in record.groupby("model")}
    page = (ROOT / "docs" / "extra" / "network_measures.md").read_text(encoding="utf-8")
    (head,) = (line for line in page.splitlines() if line.startswith("| 64 prompts each"))
    models = [name.strip("` ") for name in head.split("|")[2:-1]]
    assert {*models} == {*found} and (record["model"].value_counts() == 64).all()
    for measure, title in MEASURES.items():
        cells = [found[name][measure] for name in models]
        texts = [f"{mean:.2f} [{low:.2f}, {high:.2f}]" if abs(mean) > 1e-9 else "0" for mean, low, high in cells]
        assert f"| {title} | {' | '.join(texts)} |" in page


def test_a_recorded_prompt_is_measured_again() -> None:
    world = WORLDS["english:era"]
    prompts = [prompt.text for prompt in prompts_of(world.data, 64, model="english").test]
    shape = Shape(world.length, world.steps, world.block)
    rows = network_measures(load_predictor("english"), prompts[:2], shape)
    record = pd.read_csv(FOLDER / "networks.csv").query("model == 'english'").head(2)
    pd.testing.assert_frame_equal(rows, record[rows.columns], check_dtype=False, rtol=1e-3, atol=1e-9)


def test_pseudo_log_likelihood_is_the_mean_of_each_word_given_all_others() -> None:
    predictor = load_predictor("english")
    prompt, answer = "of the united [MASK:2] and of [MASK:1]", "states of war"
    context, words = predictor.encode_prompt("of the united"), predictor.encode_prompt("states of and of war")
    expected = []
    for place in (0, 1, 4):
        canvas = [-1 if index == place else word for index, word in enumerate(words)]
        expected.append(predictor.world.conditionals(canvas, context)[place, words[place]])
    (whole,) = pseudo_log_likelihood(predictor, prompt, [answer])
    assert whole == pytest.approx(np.mean(expected))
    single = {round(float(pseudo_log_likelihood(predictor, prompt, [answer], 1, seed)[0]), 6) for seed in range(20)}
    assert single == {round(float(value), 6) for value in expected}
    with pytest.raises(ValueError, match=r"answers hold 'states of' of 2 tokens: 3 are needed"):
        pseudo_log_likelihood(predictor, prompt, ["states of"])
