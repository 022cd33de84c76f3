"""How much of the theory's premises and events there is in a network, and how likely it finds a text.

Needs: log_prob path_diagnostics
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval, mean_interval
from rws_decode.decode import decode
from rws_decode.predictors.base import MaskPredictor
from rws_decode.settings import Shape
from rws_decode.text.dialogue import filled, row_of
from rws_theory.confidence import log_odds
from rws_theory.gain import factor_range, reward_factor
from rws_theory.selection import selection_path

SCALES = (2.0, 8.0)
_REWARD_SCALE, _DEVIATIONS = 8.0, 3.0
_NEAR, _FAR = 2, 8  # columns
_DRAWS = 4  # tokens of a position
MEASURES = {
    "exchange": "exchange distance of two neighbours",
    "circulation": "circulation of their sampled tokens, nats",
    **{f"changed_{scale:g}": f"share of steps whose set scale {scale:g} changes" for scale in SCALES},
    **{f"reversed_{scale:g}": f"share of pairs that scale {scale:g} reverses" for scale in SCALES},
    "any_reward": "share of steps that some reward can change, s_R = 8",
    "usual_reward": "share that rewards within 3 SD can change",
    "near": "influence of a sampled token, at most 2 columns away",
    "far": "influence of a sampled token, 8 or more columns away",
}


def network_measures(
    predictor: MaskPredictor, prompts: Sequence[str | Sequence[int]], shape: Shape, seed: int = 0
) -> pd.DataFrame:
    """Return a row for each prompt, with the measures of one step of confidence decoding as columns (`MEASURES`).

    The step is sampled from those that leave a choice, the positions from those of its block that are masked:

    - exchange: an unbiased estimate of `exchange_distance` of one position and the nearest other, E[(1 - e^-C)+], and
      circulation, of the divergence KL of the two orders, E[C] in nats: C is `circulation` of tokens sampled in that
      order. Both are 0 where the conditionals are those of one joint distribution, up to rounding.
    - changed_C: 1 where scale C chooses another set than scale 1; reversed_C: the share of pairs of positions that
      stand in another order. Both are of float64 log-odds.
    - any_reward: 1 where two factors of `factor_range(8)` choose other sets (`selection_path`); usual_reward: of
      the factors of normalised rewards from -3 to 3.
    - near, far: the mean total variation between the rows of another position before and after a sampled token is at
      the first one, over positions at most 2, and 8 or more, columns away; NaN where there is none.

    prompts: texts or ids, with gaps or without; seed: of the sampled steps, positions and tokens. ValueError for
    a shape whose steps leave no choice, and as `decode` says.

    >>> from rws_decode import load_predictor
    >>> rows = network_measures(load_predictor("english"), ["we ask for"], Shape(4, 2, 4))
    >>> bool(rows["exchange"].max() < 1e-12), bool(rows["circulation"].max() < 1e-12)
    (True, True)
    """
    rows = []
    for number, trace in enumerate(decode(predictor, prompts, "default", shape)):
        rng = np.random.default_rng([seed, number])
        choices = np.flatnonzero(trace.eligible.sum(axis=1) > trace.chosen.sum(axis=1))
        if not len(choices):
            raise ValueError(f"shape is {shape}: no step leaves a choice of positions, more steps are needed")
        step = rng.choice(choices)
        canvas = np.array(row_of(trace.prompt.tolist(), predictor.mask_id, shape.length))
        columns = np.flatnonzero(canvas == predictor.mask_id)
        canvas[columns] = trace.canvas[step]
        columns = columns[trace.eligible[step]].tolist()
        rows.append(_of_step(predictor, canvas.tolist(), columns, int(trace.chosen[step].sum()), rng))
    return pd.DataFrame(rows)


def _of_step(
    predictor: MaskPredictor, canvas: list[int], columns: list[int], k: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the measures of a canvas, of which k positions at these columns are chosen."""
    from rws_decode.extra.path_diagnostics.diagnostics import circulation, log_probabilities

    log_p = log_probabilities(predictor, [canvas], [(0, column) for column in columns]).numpy()
    p = np.exp(log_p)
    first = int(rng.integers(len(columns)))
    away = np.abs(np.array(columns) - columns[first])
    others = np.argsort(away, kind="stable")[1:]  # the nearest first
    moved, circles = [], []
    for drawn in rng.choice(p.shape[1], _DRAWS, p=p[first] / p[first].sum()).tolist():
        shown = list(canvas)
        shown[columns[first]] = drawn
        after = np.exp(log_probabilities(predictor, [shown], [(0, columns[i]) for i in others]).numpy())
        moved.append(np.abs(after - p[others]).sum(axis=1) / 2)
        second = int(rng.choice(p.shape[1], p=after[0] / after[0].sum()))
        circles.append(circulation(predictor, canvas, (columns[first], drawn), (columns[others[0]], second)))
    influence, distance = np.mean(moved, axis=0), away[others]

    plain = log_odds(log_p, 1.0)
    scaled = {scale: log_odds(log_p, scale) for scale in SCALES}
    pairs = len(columns) * len(others) / 2
    ranges = factor_range(_REWARD_SCALE), reward_factor([-_DEVIATIONS, _DEVIATIONS], _REWARD_SCALE).tolist()
    any_reward, usual = (float(len(selection_path(log_p, k, *ends).pieces) > 1) for ends in ranges)
    return {
        "exchange": float(np.maximum(-np.expm1(-np.array(circles)), 0).mean()),
        "circulation": float(np.mean(circles)),
        **{f"changed_{scale:g}": float(_first(odds, k) != _first(plain, k)) for scale, odds in scaled.items()},
        **{
            f"reversed_{scale:g}": ((plain[:, None] > plain) & (odds[:, None] < odds)).sum() / pairs
            for scale, odds in scaled.items()
        },
        "any_reward": any_reward,
        "usual_reward": usual,
        "near": influence[distance <= _NEAR].mean() if (distance <= _NEAR).any() else np.nan,
        "far": influence[distance >= _FAR].mean() if (distance >= _FAR).any() else np.nan,
    }


def _first(odds: np.ndarray, k: int) -> set[int]:
    """Return the k most confident positions, the leftmost of equals first."""
    return {*np.argsort(-odds, kind="stable")[:k].tolist()}


def measure_intervals(rows: pd.DataFrame) -> dict[str, Interval]:
    """Return the mean of each of `MEASURES` with its 95 % interval over prompts, those without it left out.

    >>> measure_intervals(pd.DataFrame([{name: 0.5 for name in MEASURES}]))["near"]
    Interval(mean=0.5, low=-inf, high=inf)
    """
    return {name: mean_interval(rows[name].dropna()) for name in MEASURES}


def pseudo_log_likelihood(
    predictor: MaskPredictor,
    prompt: str | Sequence[int],
    answers: Sequence[str],
    most: int | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the pseudo-log-likelihood of each answer to a prompt, float64 [B], nats a token.

    The mean over positions i of log p(x_i | the prompt and all other tokens of the answer) (Besag 1975; Salazar et al.
    2020). It needs no order, and is no likelihood of the text: that takes conditionals of one joint distribution.

    prompt: a text or ids, with gaps or without; answers: texts. most: how many positions, sampled by `seed`, the same
    for answers of one length: an unbiased estimate. ValueError for an answer without tokens, or that does not fill the
    gaps.

    >>> from rws_decode import load_predictor
    >>> good, bad = pseudo_log_likelihood(load_predictor("english"), "we ask", ["for peace", "peace for"])
    >>> bool(0 > good > bad)
    True
    """
    from rws_decode.extra.log_prob import answer_ids
    from rws_decode.extra.path_diagnostics.diagnostics import log_probabilities

    given = predictor.encode_prompt(prompt) if isinstance(prompt, str) else list(prompt)
    values = []
    for answer in answers:
        tokens = answer_ids(predictor, answer)
        row = row_of(given, predictor.mask_id, len(tokens))
        columns = [column for column, token in enumerate(row) if token == predictor.mask_id]
        if len(columns) != len(tokens) or not tokens:
            raise ValueError(f"answers hold {answer!r} of {len(tokens)} tokens: {len(columns)} are needed")
        if most is not None and most < len(columns):
            columns = np.random.default_rng(seed).choice(columns, most, replace=False).tolist()
        text = filled(row, tokens, predictor.mask_id)
        canvases = [[*text[:column], predictor.mask_id, *text[column + 1 :]] for column in columns]
        log_p = log_probabilities(predictor, canvases, list(enumerate(columns)))
        values.append(float(log_p[range(len(columns)), [text[column] for column in columns]].mean()))
    return np.array(values)
