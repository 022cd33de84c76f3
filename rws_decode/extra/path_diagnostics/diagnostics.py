"""What a decode's order costs: the probability of its commits, the entropy left, and how far the order matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor, forbidden_ids, logits_at, prompt_ids
from rws_decode.replay.step_logits import check_predictor, masked_rows
from rws_decode.trace.labels import strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import finite
from rws_theory.show import quoted, table_html

if TYPE_CHECKING:
    import pandas

_CANVASES, _BATCH = 16, 64  # of one forward: whole answers, and canvases with one token more


@dataclass(frozen=True, eq=False)
class PathDiagnostics:
    """Each of the R steps of a run, at factor 1: the log-likelihood of its tokens, and the entropy before it.

    tokens: int64 [R], tokens that the step committed, those that end the text too; log_likelihood: float64 [R], nats,
    the sum of log p of each of them, given the canvas before the step; entropy_left: float64 [R], nats, the summed
    entropy of the answer's masked positions before the step, in all blocks; tokens_per_forward: as
    `Trace.tokens_per_forward` of the run.
    """

    tokens: NDArray[np.int64]
    log_likelihood: NDArray[np.float64]
    entropy_left: NDArray[np.float64]
    tokens_per_forward: float

    def __repr__(self) -> str:
        rate = f"{self.tokens_per_forward:.2f} tokens per forward"
        return f"PathDiagnostics({len(self.tokens)} steps, {rate}, path log-likelihood {self.total:.4g} nats)"

    def _repr_html_(self) -> str:
        rows = zip(range(len(self.tokens)), self.tokens.tolist(), self.log_likelihood, self.entropy_left, strict=True)
        head = ("step", "tokens", "log-likelihood [nats]", "entropy left [nats]")
        return table_html(head, [[step, count, float(a), float(b)] for step, count, a, b in rows], repr(self))

    @property
    def total(self) -> float:
        """The path log-likelihood, nats."""
        return float(self.log_likelihood.sum())

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of one row for each step, which merges with `Trace.to_frame` on the column `step`.

        Columns: step (from 0), tokens (committed), log_likelihood (of these, nats), path_log_likelihood (of all up to
        the step, nats), entropy_left (before the step, nats).
        """
        import pandas

        columns = {name: getattr(self, name) for name in ("tokens", "log_likelihood", "entropy_left")}
        frame = pandas.DataFrame(columns).rename_axis("step").reset_index()
        frame.insert(3, "path_log_likelihood", frame["log_likelihood"].cumsum())
        return frame


def path_diagnostics(trace: Trace, predictor: MaskPredictor) -> PathDiagnostics:
    r"""Return the log-likelihood and the remaining entropy of each step of a run, by one forward for each step.

    The path log-likelihood is sum_t sum_{i in S_t} log p(x_i | canvas before step t), S_t the positions of step t,
    p = softmax(z) over the tokens that may be committed. One token a step, a model whose conditionals are those of one
    distribution gives every order the same sum, log p(answer): order invariance. Steps of several tokens, and
    conditionals of no distribution, make it depend on the order. Tokens that are masked again or replaced count as
    well: of a run that revises, the sum is not that of the answer.

    ValueError for a predictor with another mask id.

    >>> from rws_decode import Shape, decode
    >>> from rws_decode.extra.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> path = path_diagnostics(decode(predictor, [[]], "default", Shape(2, 2, 2))[0], predictor)
    >>> path.tokens.tolist(), round(float(np.exp(path.total)), 6)
    ([1, 1], 0.5)
    """
    check_predictor(trace, predictor)
    closed = forbidden_ids(predictor)
    likelihood, entropy = np.zeros(trace.steps_run), np.zeros(trace.steps_run)
    for step in range(trace.steps_run):
        rows, _ = masked_rows(trace, step, predictor)
        positions = list(rows)
        logits = torch.tensor(np.stack([rows[position] for position in positions]))
        logits[:, [token for token in closed if token < logits.shape[1]]] = float("-inf")
        log_p = logits.log_softmax(dim=-1)
        entropy[step] = float(torch.special.entr(log_p.exp()).sum())
        committed = [index for index, position in enumerate(positions) if trace.chosen[step, position]]
        tokens = torch.tensor(trace.candidate[step, [positions[index] for index in committed]])
        likelihood[step] = float(log_p[committed, tokens].sum())
    return PathDiagnostics(trace.chosen.sum(axis=1), likelihood, entropy, trace.tokens_per_forward)


def path_frame(traces: Sequence[Trace], predictor: MaskPredictor) -> pandas.DataFrame:
    """Return the diagnostics of several runs as one table, a row for each prompt and step.

    traces: a decode, or traces of any runs of this predictor. Columns: prompt (the trace's number, from 0), strategy,
    and those of `PathDiagnostics.to_frame`. One forward for each step of each run. ValueError for no trace.

    >>> from rws_decode import Shape, decode
    >>> from rws_decode.extra.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> frame = path_frame(decode(predictor, [[], []], "default", Shape(2, 2, 2)), predictor)
    >>> frame[["prompt", "step", "tokens"]].to_numpy().tolist()
    [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
    >>> round(float(np.exp(frame["path_log_likelihood"].iloc[-1])), 6)
    0.5
    """
    import pandas

    if isinstance(traces, Trace) or not len(traces):
        raise ValueError(f"traces is {quoted(traces)}: a list of traces is needed, such as what decode(...) returns")
    frames = []
    for number, trace in enumerate(traces):
        frame = path_diagnostics(trace, predictor).to_frame()
        frame.insert(0, "prompt", number)
        frame.insert(1, "strategy", strategy_label(trace.strategy))
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def order_log_likelihood(
    predictor: MaskPredictor, prompt: str | Sequence[int], tokens: Sequence[int], commit_step: Sequence[int]
) -> float:
    r"""Return the log-likelihood of an answer's tokens when they are committed in this order, in nats.

    sum_t sum_{i in S_t} log p(x_i | the prompt and all tokens of earlier steps), S_t the positions with commit step t,
    p as in `path_diagnostics`. Any order can be given, also one that decoding did not take: with one token a step, a
    model whose conditionals are those of one distribution gives log p(answer) for all of them. prompt: text, or ids;
    tokens, commit_step: n numbers each.

    ValueError for lengths that differ.

    >>> from rws_decode.extra.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> orders = ([0, 1], [1, 0], [0, 0])
    >>> [round(float(np.exp(order_log_likelihood(predictor, [], [1, 1], order))), 6) for order in orders]
    [0.5, 0.5, 0.36]
    """
    if len(tokens) != len(commit_step) or not len(tokens):
        raise ValueError(f"commit_step has {len(commit_step)} steps: one for each of {len(tokens)} tokens is needed")
    before = list(prompt_ids(predictor, prompt) if isinstance(prompt, str) else prompt)
    answer, when = np.asarray(tokens, dtype=np.int64), np.asarray(commit_step)
    total = 0.0
    steps = np.unique(when)
    for part in np.array_split(steps, -(-len(steps) // _CANVASES)):
        canvases = [before + np.where(when < step, answer, predictor.mask_id).tolist() for step in part]
        places = [(row, int(i)) for row, step in enumerate(part) for i in np.flatnonzero(when == step)]
        log_p = log_probabilities(predictor, canvases, [(row, len(before) + i) for row, i in places])
        total += sum(float(log_p[index, answer[i]]) for index, (_, i) in enumerate(places))
    return total


def log_probabilities(
    predictor: MaskPredictor, canvases: Sequence[Sequence[int]], places: Sequence[tuple[int, int]]
) -> torch.Tensor:
    """Return log p of every token, float64 [N, V], at N places of some canvases: (row, column), rows rising."""
    with torch_threads(), torch.inference_mode():
        row, column = torch.tensor(places, device=predictor.device).T
        ids = torch.tensor(canvases, device=predictor.device)
        logits = logits_at(predictor, ids, None, row, column).double().cpu()
        logits[:, [token for token in forbidden_ids(predictor) if token < logits.shape[1]]] = float("-inf")
    return logits.log_softmax(dim=-1)


def circulation(
    predictor: MaskPredictor, canvas: Sequence[int], first: tuple[int, int], second: tuple[int, int]
) -> float:
    r"""Return how much the order of two commits matters to the model, in nats.

    log p(a | C) + log p(b | C, a) - log p(b | C) - log p(a | C, b), p = softmax(z) over the tokens that may be
    committed: 0 for every canvas C, and every two commits a and b, exactly where the model's conditionals are those of
    one distribution. canvas: ids of prompt and answer, with masks; first, second: a masked column of the canvas, from
    0, and the token that it takes.

    ValueError for columns that are not masked, or the same.

    >>> from rws_decode.extra.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> abs(circulation(predictor, [2, 2], (0, 0), (1, 1))) < 1e-12
    True
    """
    row = canvas_with_masks(predictor, canvas, {"first": first[0], "second": second[0]})
    canvases = [list(row) for _ in range(3)]
    canvases[1][first[0]], canvases[2][second[0]] = first[1], second[1]
    commits = [(0, first), (0, second), (1, second), (2, first)]
    log_p = log_probabilities(predictor, canvases, [(which, column) for which, (column, _) in commits])
    values = [float(log_p[index, token]) for index, (_, (_, token)) in enumerate(commits)]
    return values[0] + values[2] - values[1] - values[3]


def canvas_with_masks(predictor: MaskPredictor, canvas: Sequence[int], columns: dict[str, int]) -> list[int]:
    """Return a canvas as a list; ValueError if it is a text, or one of two columns, by their names, is not masked."""
    if isinstance(canvas, str):
        raise ValueError(f"canvas is {quoted(canvas)}: ids are needed, such as predictor.encode_prompt(...) and masks")
    row = list(canvas)
    for name, column in columns.items():
        if not 0 <= column < len(row) or row[column] != predictor.mask_id:
            raise ValueError(f"{name} is column {column}: a masked column of the canvas is needed")
    if len({*columns.values()}) < len(columns):
        raise ValueError(f"first and second are both column {columns['first']}: two columns are needed")
    return row


def exchange_distance(
    predictor: MaskPredictor, canvas: Sequence[int], first: int, second: int, left_out: float = 0.0
) -> tuple[float, float]:
    r"""Bound the total variation between sampling one masked position before another and after it, between 0 and 1.

    A token of each position is sampled: q_i(u) q_j(v | u) in one order, q_j(v) q_i(u | v) in the other. The distance of
    the two distributions is 0 on every canvas exactly if the model's conditionals are those of one joint distribution
    (docs/theory.md, eq. (T67)). A distance that is positive beyond rounding proves that there is none.

    Every token that is sampled first costs a canvas of a forward. With `left_out` above 0 the least likely tokens of
    each position, of at most that probability together, cost none. The result is (lower, upper). They differ by at most
    twice `left_out`, and by rounding only if it is 0. `circulation` is the same question for one token each.

    canvas : ids of prompt and answer, with masks. first, second : masked columns, from 0. left_out : a probability
    below 1/2. ValueError for other values.

    >>> from rws_decode.extra.testing import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> max(exchange_distance(predictor, [2, 2], 0, 1)) < 1e-12
    True
    """
    row = canvas_with_masks(predictor, canvas, {"first": first, "second": second})
    finite("left_out", left_out, least=0, below=0.5)
    first_p, second_p = np.exp(log_probabilities(predictor, [row], [(0, first), (0, second)]).numpy())
    firsts, seconds = _likely(first_p, left_out), _likely(second_p, left_out)
    first_ahead = first_p[firsts, None] * _after(predictor, row, first, second, firsts)
    second_ahead = second_p[seconds, None] * _after(predictor, row, second, first, seconds)
    inside = float(np.abs(first_ahead[:, seconds] - second_ahead[:, firsts].T).sum())
    # Of each distribution: the probability computed outside the pairs of both orders, and that not computed. The latter
    # may lie where the other distribution is computed, or where neither is: the lower bound takes the nearest place.
    covered = [float(np.delete(p, ids, axis=1).sum()) for p, ids in ((first_ahead, seconds), (second_ahead, firsts))]
    uncovered = [float(np.delete(p, ids).sum()) for p, ids in ((first_p, firsts), (second_p, seconds))]
    gaps = [max(0.0, covered[0] - uncovered[1]), max(0.0, covered[1] - uncovered[0])]
    lower = max(sum(gaps), abs(covered[0] + uncovered[0] - covered[1] - uncovered[1]))
    return (inside + lower) / 2, (inside + sum(covered) + sum(uncovered)) / 2


def _likely(p: NDArray[np.float64], left_out: float) -> NDArray[np.int64]:
    """Return the tokens of positive probability without the least likely, of at most `left_out` together."""
    order = np.argsort(p, kind="stable")
    rest = int(np.searchsorted(np.cumsum(p[order]), left_out, side="right")) if left_out else 0
    return np.array([token for token in order[rest:] if p[token] > 0])


def _after(
    predictor: MaskPredictor, canvas: Sequence[int], earlier: int, later: int, tokens: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probabilities of one column, [tokens, vocabulary], after each of these tokens in another."""
    rows = []
    for part in np.array_split(tokens, -(-len(tokens) // _BATCH)):
        canvases = [[*canvas[:earlier], int(token), *canvas[earlier + 1 :]] for token in part]
        places = [(index, later) for index in range(len(part))]
        rows.append(np.exp(log_probabilities(predictor, canvases, places).numpy()))
    return np.concatenate(rows)
