"""Notebook 13: an exact model in which the reward must matter, and random models, which show how rare that is.

Texts are three tokens, each 0, 1 or 2. A model is a table of weights of its 27 texts for each prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

import rws_decode
from paper_figures.exhibits.shared.exhibit import GREY, figure, styled
from rws_decode import CallablePredictor, Shape, Trace, constant_of, decode, load_predictor, load_reward
from rws_decode.ablation.twins import TUNED
from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.extra.leverage.measure import Leverage
from rws_decode.extra.reward_controls import FlippedReward
from rws_decode.extra.testing.exact import exact_predictor
from rws_decode.rewards import CallableReward
from rws_decode.strategies.factors import RWS, Temperature
from rws_decode.strategies.given import RewardReplay, Schedule
from rws_decode.strategies.protocol import Strategy
from rws_theory import reward_factor
from rws_theory.worlds import JointTable

Floats = NDArray[np.float64]

TOKENS, LENGTH, SCALE = 3, 3, 4.0
TEXTS = np.array(list(product(range(TOKENS), repeat=LENGTH)))
ORDERS = [np.array(order) for order in permutations(range(LENGTH))]
RISING = {"001": 9, "010": 9, "020": 7, "101": 6, "120": 1, "121": 7, "212": 2, "220": 6, "221": 9}
FALLING = {"001": 7, "002": 1, "011": 7, "012": 7, "100": 9, "102": 8, "111": 8, "201": 5, "212": 4}
# Of the 4-gram model: as the reward ships, and as it was chosen so that the factor varies (docs/results.md).
NORMALISED = {"published": (-1.12, 2.06, "rws:8"), "chosen": (-6.1, 0.3, "rws:1.5")}


def english_runs(prompts: int, shape: Shape, name: str) -> list[tuple[Trace, Leverage]]:
    """Return runs of the 4-gram model with one of `NORMALISED`, each with its leverage."""
    english, (mean, sd, strategy) = load_predictor("english"), NORMALISED[name]
    reward = load_reward("era", mean=mean, std=sd)
    runs = decode(english, english.prompts[:prompts], strategy, shape, reward=reward)
    return [(run, rws_decode.leverage(run, english)) for run in runs]


def bounds_of(runs: Mapping[str, list[tuple[Trace, Leverage]]]) -> pd.DataFrame:
    """Return what the leverage of runs bounds, a column for each name: steps, tokens, and texts of a fixed factor."""
    columns = {}
    for name, pairs in runs.items():
        found = [leverage for _, leverage in pairs]
        steps = sum(each.steps for each in found)
        still = [run for run, leverage in pairs if not leverage.varied.any()]
        same = sum(decode_again(run, constant_of(run)).text == run.text for run, _ in pairs)
        columns[f"{name}: {NORMALISED[name][2]}"] = {
            "variation of the factor [%]": round(100 * float(np.median([each.variation for each in found])), 1),
            "steps at which any reward could matter": f"{sum(each.attainable.sum() for each in found)} of {steps}",
            "steps at which the run's range could": f"{sum(each.varied.sum() for each in found)} of {steps}",
            "share of tokens that any reward could change": round(float(np.mean([each.later for each in found])), 2),
            "texts proved to be the fixed factor's": f"{len(still)} of {len(pairs)}",
            "texts equal to the fixed factor's": f"{same} of {len(pairs)}",
        }
    return pd.DataFrame(columns)


def decode_again(run: Trace, strategy: Strategy) -> Trace:
    """Return the run of the same prompt by another strategy."""
    shape = Shape(run.length, run.steps, run.block)
    return decode(load_predictor("english"), [run.prompt.tolist()], strategy, shape)[0]


def weights_of(table: Mapping[str, int], renamed: int = 0) -> Floats:
    """Return the weights of all 27 texts, [27]; `renamed` is added to each token, modulo 3."""
    texts = ("".join(str((int(token) - renamed) % TOKENS) for token in text) for text in TEXTS.astype(str))
    return np.array([table.get(text, 0) for text in texts], np.float64)


def ends_alike(prompt: str, answer: str) -> float:
    """Return the reward of an answer: 1 where the first token equals the last, else -1."""
    tokens = answer.split()
    return 1.0 if tokens[0] == tokens[-1] else -1.0


WEIGHTS = np.stack([weights_of(table, renamed) for renamed in (0, 1) for table in (RISING, FALLING)])
PROMPTS = [str(number) for number in range(len(WEIGHTS))]
SD = 1 / 3  # by which the reward is normalised
REWARD = CallableReward(ends_alike, mean=0.0, std=SD, name="ends alike", bounds=(-1.0, 1.0))
SCORES = np.array([ends_alike("", " ".join(map(str, text))) for text in TEXTS.tolist()])


def model_of(weights: Floats = WEIGHTS) -> CallablePredictor:
    """Return the exact model of up to four prompts, "0" to "3", from their weights [prompts, 27]."""
    table = np.zeros((4,) * (1 + LENGTH))  # one token more than texts have, for the fourth prompt
    table[: len(weights), :TOKENS, :TOKENS, :TOKENS] = weights.reshape(-1, TOKENS, TOKENS, TOKENS)
    with np.errstate(divide="ignore"):
        return exact_predictor(JointTable(np.log(table)))


def spread(weights: Floats, scores: Floats = SCORES) -> float:
    """Return the SD of the reward over the model's own texts, of all prompts together."""
    p = weights / weights.sum(-1, keepdims=True)
    mean = (p @ scores).mean()
    return float(np.sqrt((p @ (scores - mean) ** 2).mean()))


def runs_of(strategy: Strategy | str, predictor: CallablePredictor) -> list[Trace]:
    """Return the runs of all prompts, one token a step."""
    return [*decode(predictor, PROMPTS, strategy, Shape(LENGTH, LENGTH, LENGTH), reward=REWARD)]


def twins(predictor: CallablePredictor) -> dict[str, list[list[Trace]]]:
    """Return the runs of RWS and of each of its twins: of some twins several, whose mean counts."""
    rws = runs_of(RWS(SCALE), predictor)
    factors, rewards = (np.array([getattr(run, name) for run in rws]) for name in ("factor", "reward_normalised"))

    def replayed(given: Floats) -> list[Trace]:
        return runs_of(RewardReplay(SCALE, tuple(map(tuple, given.tolist()))), predictor)

    tuned = [runs_of(Temperature(float(factor)), predictor) for factor in TUNED]
    return {
        "RWS": [rws],
        "confidence": [runs_of("default", predictor)],
        "fixed factor": [runs_of(constant_of(rws), predictor)],
        "one fixed factor": [runs_of(Temperature(float(factors.mean())), predictor)],
        "tuned fixed factor": [max(tuned, key=mean_score)],
        "factor by step": [runs_of(Schedule(tuple(factors.mean(axis=0).tolist())), predictor)],
        "other prompts' rewards": [replayed(np.roll(rewards, other, axis=0)) for other in (1, 2, 3)],
        "shuffled rewards": [replayed(rewards[:, order]) for order in ORDERS[1:]],
        "sign turned": [runs_of(FlippedReward(SCALE), predictor)],
    }


def mean_score(runs: list[Trace]) -> float:
    """Return the mean reward of the final texts."""
    return float(np.mean([ends_alike("", run.text or "") for run in runs]))


def table_of(found: Mapping[str, list[list[Trace]]]) -> pd.DataFrame:
    """Return a row for each twin: its texts, the mean reward, and what RWS has more, in SD over the model's texts."""
    rows = {}
    most, unit = mean_score(found["RWS"][0]), spread(WEIGHTS)
    for name, runs in found.items():
        mean = float(np.mean([mean_score(each) for each in runs]))
        texts = {
            f"prompt {n}": " / ".join(dict.fromkeys(str(each[n].text) for each in runs)) for n in range(len(PROMPTS))
        }
        rows[name] = texts | {"mean reward": round(mean, 2), "RWS minus it [SD]": round((most - mean) / unit, 2)}
    return pd.DataFrame.from_dict(rows, orient="index")


def choices(predictor: CallablePredictor) -> pd.DataFrame:
    """Return the texts of prompts 0 and 1 for each choice of a small or a great factor at steps 0 and 1."""
    small, great = (float(reward_factor(sign / SD, SCALE)) for sign in (-1.0, 1.0))
    columns = {}
    for name, factors in zip(product(("small", "great"), repeat=2), product((small, great), repeat=2), strict=True):
        columns[", then ".join(name)] = [run.text for run in runs_of(Schedule((*factors, great)), predictor)[:2]]
    return pd.DataFrame(columns, ["prompt 0", "prompt 1"])


# Many models at once, as arrays of rows; tests compare them with the decoder.


def conditionals(weights: Floats, canvas: NDArray[np.int64]) -> Floats:
    """Return the unnormalised conditionals of each row's canvas, [rows, 3, 3]; -1 is a mask."""
    open_ = weights * ((canvas[:, None] < 0) | (canvas[:, None] == TEXTS)).all(axis=-1)
    return np.stack(
        [[open_[:, TEXTS[:, i] == token].sum(axis=1) for token in range(TOKENS)] for i in range(LENGTH)]
    ).transpose(2, 0, 1)


def drafts(weights: Floats, canvas: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row's completed text."""
    best = np.where(canvas < 0, conditionals(weights, canvas).argmax(axis=-1), canvas)
    return best @ TOKENS ** np.arange(LENGTH)[::-1]


def committed(weights: Floats, canvas: NDArray[np.int64], factor: Floats) -> NDArray[np.int64]:
    """Return each row's canvas after a step that commits its most confident position."""
    p = conditionals(weights, canvas)
    with np.errstate(divide="ignore"):
        others = np.sort(np.exp(factor[:, None, None] * np.log(p / p.max(axis=-1, keepdims=True))), axis=-1)[..., :-1]
    rest = np.where(canvas < 0, others.sum(axis=-1), np.inf)  # the surest has the least
    place, row = rest.argmin(axis=1), np.arange(len(canvas))
    after = canvas.copy()
    after[row, place] = p[row, place].argmax(axis=-1)
    return after


def run_all(weights: Floats, rule: Callable[[int, NDArray[np.int64]], Floats]) -> NDArray[np.int64]:
    """Return the final texts of all rows, by number; rule: (step, drafts) -> factors of all rows."""
    canvas = np.full((len(weights), LENGTH), -1)
    for step in range(LENGTH):
        canvas = committed(weights, canvas, rule(step, drafts(weights, canvas)))
    return drafts(weights, canvas)


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of four prompts each: by how much RWS has more reward than each twin, in SD over texts, [settings]."""

    differences: dict[str, Floats]

    def least(self, without: str = "") -> Floats:
        """Return what RWS has more than the best of its twins, one of them left out."""
        return np.min([each for name, each in self.differences.items() if name != without], axis=0)


def compared(weights: Floats, scores: Floats, scales: Floats, sd: float | None = None) -> Settings:
    """Compare RWS with its twins in many settings: weights [settings, 4, 27], scores [settings, 27], s_R [settings].

    sd: the reward is normalised by mean 0 and this SD; None: by mean and SD over the model's texts.
    """
    settings, prompts = weights.shape[:2]
    p = weights / weights.sum(axis=-1, keepdims=True)
    mean = np.einsum("spx,sx->s", p, scores) / prompts
    unit = np.sqrt(np.einsum("spx,sx->s", p, (scores - mean[:, None]) ** 2) / prompts)
    z = (scores - mean[:, None]) / unit[:, None] if sd is None else scores / sd
    flat, scale, setting = (
        weights.reshape(-1, len(TEXTS)),
        np.repeat(scales, prompts),
        np.repeat(np.arange(settings), prompts),
    )
    gaps: list[Floats] = []

    def factor(rewards: Floats) -> Floats:
        return scale * reward_factor(rewards, 1.0)

    def reward(step: int, texts: NDArray[np.int64]) -> Floats:
        gaps.append(z[setting, texts])
        return factor(gaps[-1])

    def mean_of(rule: Callable[[int, NDArray[np.int64]], Floats]) -> Floats:
        return (scores / unit[:, None])[setting, run_all(flat, rule)].reshape(settings, prompts).mean(axis=1)

    rws = mean_of(reward)
    own = np.array(gaps)  # rewards of steps, [3, rows]
    applied = np.array([factor(each) for each in own]).reshape(LENGTH, settings, prompts)

    def fixed(factors: Floats) -> Floats:
        rows = np.broadcast_to(factors, (LENGTH, settings, prompts)).reshape(LENGTH, -1)
        return mean_of(lambda step, _: rows[step])

    def replayed(rewards: Floats) -> Floats:
        return mean_of(lambda step, _: factor(rewards.reshape(LENGTH, -1)[step]))

    by_prompt = own.reshape(LENGTH, settings, prompts)
    twin = {
        "confidence": fixed(np.ones(1)),
        "fixed factor": fixed(applied.mean(axis=0)),
        "one fixed factor": fixed(applied.mean(axis=(0, 2))[:, None]),
        "tuned fixed factor": np.max([fixed(np.full(1, each)) for each in TUNED], axis=0),
        "factor by step": fixed(applied.mean(axis=2, keepdims=True)),
        "other prompts' rewards": np.mean([replayed(np.roll(by_prompt, k, axis=2)) for k in range(1, prompts)], axis=0),
        "shuffled rewards": np.mean([replayed(own[order]) for order in ORDERS[1:]], axis=0),
        "sign turned": mean_of(lambda step, texts: factor(-z[setting, texts])),
    }
    return Settings({name: rws - each for name, each in twin.items()})


def with_jitter(noises: tuple[float, ...], copies: int, seed: int = 0) -> pd.DataFrame:
    """Return by how much RWS beats its best twin where every weight is off by some noise, a row for each noise.

    Columns: the mean over copies of what RWS has more than the best of its twins, in SD, and the share of copies in
    which that is more than 1 SD; the reward normalised by SD 1/3, and by SD 1.
    """
    rows = {}
    for noise in noises:
        off = np.exp(noise * np.random.default_rng(seed).standard_normal((copies, *WEIGHTS.shape)))
        row = {}
        for name, sd in (("SD 1/3", SD), ("SD 1", 1.0)):
            least = compared(WEIGHTS * off, np.tile(SCORES, (copies, 1)), np.full(copies, SCALE), sd).least()
            row |= {
                f"{name}: least lead [SD]": least.mean().round(2),
                f"{name}: above 1 SD": (least > 1).mean().round(3),
            }
        rows[f"{noise:.0%}"] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def random_settings(number: int, seed: int = 0) -> Settings:
    """Compare RWS with its twins in random settings: sampled log weights, scores and s_R, four prompts each."""
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.standard_normal((number, len(PROMPTS), len(TEXTS))))
    scores, scales = rng.standard_normal((number, len(TEXTS))), rng.choice([1.0, 2.0, 4.0, 8.0], number)
    return compared(weights, scores, scales)


def draw_settings(random: Settings, exact: float) -> Figure:
    """Draw RWS minus its fixed factor in random settings, and the exact model beside them."""
    with styled():
        picture = figure(7.0, 3.4)
        panel = picture.add_subplot()
        found = random.differences["fixed factor"]
        edges = np.linspace(-2.225, 2.225, 90).tolist()  # ties have a bin of their own
        panel.hist(found, edges, color=BLUE, label=f"{len(found)} random settings")
        panel.axvline(0, color=GREY, linewidth=0.8)
        panel.axvline(exact, color=VERMILION, linewidth=2.5, label="the model above")
        panel.set_yscale("log")
        panel.set_xlabel("reward of RWS minus that of its own fixed factor [SD over texts]")
        panel.set_ylabel("settings")
        panel.legend(loc="upper left")
        return picture
