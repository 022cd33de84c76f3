"""Split what a sampler does to a text into its sources of error (docs/theory.md, section 21).

A sampler is a method, its tokens a step, and how it samples: "commit" ranks the best tokens and samples those that go,
"completion" ranks the tokens that it sampled, "greedy" commits the best ones; "given" forces texts of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from paper_figures.statistics.intervals import Interval, mean_interval
from rws_decode.common.later import Floats, np, pd

# Orders that read no words: ranking the words that were sampled changes nothing in them.
BLIND = ("random-order", "left-to-right")
MEASURES = ("kl", "log_prob", "reward")
LEAKS = ("no joint law", "words together", "ranking drawn words", "argmax")
_POWER = 2.8  # standard errors: a difference that two-sided tests at 5 % find with probability 0.8


class Leak(NamedTuple):
    """What one change of a sampler does to the mean of a measure: second minus first sampler, over n prompts.

    least: the difference that a test at 5 % would have found with probability 0.8; None where it is 0 by a theorem.
    """

    world: str
    method: str
    words: int
    measure: str
    leak: str
    change: Interval
    least: float | None
    prompts: int


def sampler_values(texts: pd.DataFrame, worlds: pd.DataFrame, world: str) -> dict[tuple[str, int, str], pd.DataFrame]:
    """Return (method, words, drawing) -> a frame by prompt with the columns `MEASURES`, and log_q.

    kl: log q - log p, whose mean over texts of q is KL(q || p), or at least that for "completion"; reward: minus E_p[R]
    of the prompt, where it is known. ("model", 1, "commit") is the exact model, whose p is the distribution of every
    method with one word a step.
    """
    own = worlds[worlds["world"] == world].set_index("prompt").sort_index()
    values: dict[tuple[str, int, str], pd.DataFrame] = {}
    for key, rows in texts[texts["world"] == world].groupby(["method", "words", "drawing"]):
        method, words, drawing = cast(tuple[str, int, str], key)
        frame = rows.set_index("prompt").sort_index()
        reward = frame["reward"] - own["mean"] if len(own) else frame["reward"]
        frame = frame.assign(kl=frame["log_q"] - frame["log_prob"], reward=reward)
        values[method, int(words), drawing] = frame[[*MEASURES, "log_q"]]
    if len(own):
        log_p = [float(np.mean(list(row))) for row in own["log_ps"]]
        values["model", 1, "commit"] = pd.DataFrame({"kl": 0.0, "log_prob": log_p, "reward": 0.0}, index=own.index)
    return values


def leaks(values: Mapping[tuple[str, int, str], pd.DataFrame], world: str) -> Iterator[Leak]:
    """Yield the sources of error along model, one word, several, sampled words ranked, best words (docs/theory.md T86).

    They add up: the sum of a measure's sources is its mean under the last sampler minus that under the first.
    """
    exact = ("model", 1, "commit") in values
    methods = dict.fromkeys(method for method, _, drawing in values if drawing == "greedy")
    for method in methods:
        for words in sorted({w for m, w, drawing in values if m == method and drawing == "greedy"}):
            one = values["model", 1, "commit"] if exact else values[method, 1, "commit"]
            several = values.get((method, words, "commit"), one if words == 1 else None)
            ranked = values.get((method, words, "completion"), several if method in BLIND else None)
            path = [one, several, ranked, values[method, words, "greedy"]]
            if several is None or ranked is None:
                continue
            for measure in MEASURES:
                if path[0][measure].isna().all() or path[-1][measure].isna().all():
                    continue
                if exact:
                    yield Leak(world, method, words, measure, LEAKS[0], Interval(0.0, 0.0, 0.0), None, len(one))
                known = [(name, frame) for name, frame in zip(LEAKS[1:], path[1:], strict=True)]
                before, label = path[0], ""
                for name, frame in known:
                    label = f"{label} and {name}" if label else name
                    if frame[measure].isna().any():
                        continue  # its divergence has no bound: this source and the next are given as one
                    yield _leak(world, method, words, measure, label, frame[measure] - before[measure])
                    before, label = frame, ""


def _leak(world: str, method: str, words: int, measure: str, name: str, difference: Any) -> Leak:
    changes = np.asarray(difference, dtype=float)
    interval, least = mean_of(changes)
    return Leak(world, method, words, measure, name, interval, least, len(changes))


def mean_of(values: Floats) -> tuple[Interval, float | None]:
    """Return the mean over prompts with its 95 % interval, and the least difference that would have been seen.

    Values that are all 0 are so by a theorem, and have neither.
    """
    if not np.any(values):
        return Interval(0.0, 0.0, 0.0), None
    return mean_interval(values), _POWER * float(values.std(ddof=1) / np.sqrt(len(values)))


def order_gaps(values: Mapping[tuple[str, int, str], pd.DataFrame], world: str) -> Iterator[Leak]:
    """Yield E[log q] of given texts minus that of left to right with one word a step, nats.

    It is KL(data || left to right) - KL(data || q): what an order, or several words a step, gains on the data's texts.
    With one word a step all are 0 where the conditionals fit one joint distribution.
    """
    first = values.get(("left-to-right", 1, "given"))
    for (method, words, drawing), frame in values.items():
        if first is not None and drawing == "given" and frame is not first:
            yield _leak(world, method, words, "log_q of the data", "order", frame["log_q"] - first["log_q"])


def least_divergence(reward: Floats, betas: Sequence[float], log_z: Floats) -> Floats:
    """Return max over beta >= 0 of beta R - log Z(beta), nats: no q of mean reward R has a smaller KL(q || p) (T88).

    reward: [points], the mean over prompts of E_q[R]; log_z: the mean over prompts of log E_p[exp(beta R)], [betas].

    >>> least_divergence(np.array([0.0, 2.0]), [0.0, 1.0], np.array([0.0, 0.5])).tolist()
    [0.0, 1.5]
    """
    return (np.multiply.outer(reward, np.asarray(betas)) - log_z).max(axis=-1)
