"""Steering methods against an obvious slow version: one canvas at a time, one prompt, lists and loops."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused

import rws_decode as rws
from rws_decode import SVDD, BestOf, Options, RewardLookahead, Shape, decode, load_predictor, steer
from rws_decode.extra.steering import METHODS, GuidedParticles, TreeSearch, as_method
from rws_decode.extra.steering.particles import EVEN
from rws_decode.extra.steering.table import fitted, forwards_of, reward_calls_of

PREDICTOR = load_predictor("english")
REWARD = rws.load_reward("era")
PROMPT = PREDICTOR.encode_prompt("we ask for")
N = 5
SHAPE = Shape(N, N, N)
SAMPLED = Options(sampling_temperature=1.0, seed=7)
END = PREDICTOR.words.end
WORTH = np.array(REWARD.score([""] * END, [PREDICTOR.decode_answer([word]) or "" for word in range(END)]))


def logits(answer: list[int]) -> torch.Tensor:
    return PREDICTOR.logits(torch.tensor([PROMPT + answer]), None)[0, len(PROMPT) :]


def full(answer: list[int], z: torch.Tensor) -> list[int]:
    best = z.argmax(-1).tolist()
    return [best[place] if token == PREDICTOR.mask_id else token for place, token in enumerate(answer)]


def worth(answer: list[int]) -> float:
    return float(REWARD.score([""], [PREDICTOR.decode_answer(answer) or ""])[0])


@dataclass
class Copy:
    seed: int
    answer: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)

    def logits(self) -> torch.Tensor:
        return logits([*self.answer, *[PREDICTOR.mask_id] * (N - len(self.answer))])[len(self.answer) :]

    def step(self, beta: float | None = None) -> float:
        """Draw a word, guided at a weight beta; return its ln p / q."""
        z = self.logits()
        guided = z[0] if beta is None else z[0] + beta * self.worths(z.argmax(-1).tolist())
        uniform = torch.rand(z.shape, generator=self.generator, dtype=torch.float64)
        word = int((guided.exp() / -uniform[0].log()).argmax())
        self.answer = [*self.answer, word]
        return float(z[0].log_softmax(0)[word] - guided.log_softmax(0)[word])

    def worths(self, best: list[int]) -> torch.Tensor:
        """Return the reward of the best completion with each word at the next place; nothing counts after an end."""

        def until_end(words: list[int]) -> float:
            return float(WORTH[words[: words.index(END)] if END in words else words].sum())

        before, after = until_end(self.answer), until_end(best[1:])
        return torch.from_numpy(before + np.append(WORTH + after, [0, 0]) * (END not in self.answer))

    def value(self) -> float:
        completed = self.answer + (self.logits().argmax(-1).tolist() if len(self.answer) < N else [])
        return worth(completed)


def copies(n: int) -> list[Copy]:
    seeds = [7] + [int(np.random.SeedSequence([7, j]).generate_state(1)[0]) for j in range(1, n)]
    return [Copy(seed) for seed in seeds]


def share(log_weights: list[float]) -> list[float]:
    weights = [math.exp(value - max(log_weights)) for value in log_weights]
    return [weight / sum(weights) for weight in weights]


def slow_particles(n: int, beta: float, ess_threshold: float, sweeps: int = 0, guided: bool = False) -> list[int]:
    """Resample in equal steps; in sweeps of particle Gibbs each parent alone, and copy 0 repeats the last answer."""
    rng, slots = np.random.default_rng([7, 0, 1]), copies(n)
    last: list[int] = []
    for _ in range(max(sweeps, 1)):
        for slot in slots:
            slot.answer = []
        weights, values = [0.0] * n, [beta * slot.value() for slot in slots]
        for step in range(N):
            ratios = [slot.step(beta if guided else None) for slot in slots]
            if last:
                slots[0].answer = last[: step + 1]
            now = [beta * slot.value() for slot in slots]
            parts = zip(weights, now, values, ratios, strict=True)
            weights = [weight + new - old + (ratio if guided else 0.0) for weight, new, old, ratio in parts]
            values, shares = now, share(weights)
            if step < N - 1 and 1 / sum(part**2 for part in shares) < ess_threshold * n * EVEN:
                if sweeps:
                    parents = [0, *rng.choice(n, n, p=shares).tolist()[1:]] if last else rng.choice(n, n, p=shares)
                else:
                    offset, ends = rng.random(), np.cumsum(shares)
                    parents = [min(int((ends <= (offset + j) / n).sum()), n - 1) for j in range(n)]
                answers = [slots[parent].answer for parent in parents]
                for slot, answer in zip(slots, answers, strict=True):
                    slot.answer = answer
                values, weights = [values[parent] for parent in parents], [0.0] * n
        last = slots[int(rng.choice(n, p=share(weights)))].answer
    return last


def slow_svdd(n: int, beta: float) -> list[int]:
    rng, slots = np.random.default_rng([7, 0, 1]), copies(n)
    for _ in range(N):
        for slot in slots:
            slot.step()
        answer = slots[int(rng.choice(n, p=share([beta * slot.value() for slot in slots])))].answer
        for slot in slots:
            slot.answer = answer
    return answer


def slow_best_of(n: int, beta: float) -> list[int]:
    """Return the best of n answers where beta is infinite, else one drawn by exp(beta R)."""
    rng, slots = np.random.default_rng([7, 0, 1]), copies(n)
    for slot in slots:
        for _ in range(N):
            slot.step()
    values = [slot.value() for slot in slots]
    index = int(np.argmax(values) if math.isinf(beta) else rng.choice(n, p=share([beta * value for value in values])))
    return slots[index].answer


BETAS = st.floats(-2, 4)
SLOW: dict[str, tuple[Any, Callable[[Any], list[int]]]] = {
    "best-of": (st.builds(BestOf, st.integers(1, 6)), lambda m: slow_best_of(m.n, math.inf)),
    "soft-best-of": (st.builds(rws.SoftBestOf, st.integers(1, 6), BETAS), lambda m: slow_best_of(m.n, m.beta)),
    "particle-gibbs": (
        st.builds(rws.ParticleGibbs, st.integers(2, 5), st.integers(1, 4), BETAS | st.just(6.1e-05), st.just(1.0)),
        lambda m: slow_particles(m.n, m.beta, 1.0, m.sweeps),
    ),
    "particles": (
        st.builds(rws.Particles, st.integers(1, 6), BETAS, st.sampled_from([0.0, 0.5, 1.0])),
        lambda m: slow_particles(m.n, m.beta, m.ess_threshold),
    ),
    "guided-particles": (
        st.builds(GuidedParticles, st.integers(1, 6), BETAS, st.sampled_from([0.0, 0.5, 1.0])),
        lambda m: slow_particles(m.n, m.beta, m.ess_threshold, guided=True),
    ),
    "svdd": (st.builds(SVDD, st.integers(1, 6), BETAS), lambda m: slow_svdd(m.n, m.beta)),
}


@pytest.mark.parametrize("name", SLOW)
@settings(max_examples=examples(50))
@given(data=st.data())
def test_a_method_is_the_slow_one(name: str, data: st.DataObject) -> None:
    methods, slow = SLOW[name]
    method = data.draw(methods)
    run = steer(PREDICTOR, [PROMPT], method, SHAPE, reward=REWARD, strategy="left-to-right", options=SAMPLED)
    assert run[0].tokens.tolist() == slow(method)


def slow_lookahead(width: int, beta: float) -> list[int]:
    canvas = [PREDICTOR.mask_id] * N
    while PREDICTOR.mask_id in canvas:
        z = logits(canvas).log_softmax(-1)
        commits = [
            (float(z[place, token]), place, token)
            for place in range(N)
            if canvas[place] == PREDICTOR.mask_id
            for token in z[place].topk(width).indices.tolist()
        ]
        commits.sort(key=lambda commit: -commit[0])
        tried: list[tuple[float, list[int]]] = []
        for log_p, place, token in commits[:width]:
            after = [*canvas[:place], token, *canvas[place + 1 :]]
            value = worth(full(after, logits(after)))
            tried.append((value if math.isinf(beta) else log_p + beta * value, after))
        canvas = max(tried, key=lambda score: score[0])[1]
    return canvas


def slow_tree(n: int, children: int) -> list[int]:
    rng, canvases = np.random.default_rng([0, 0, 1]), [[PREDICTOR.mask_id] * N] * n
    for _ in range(N):
        tried: dict[tuple[int, ...], float] = {}
        for canvas in canvases:
            z = logits(canvas)
            place = int(rng.choice([place for place in range(N) if canvas[place] == PREDICTOR.mask_id]))
            for token in z[place].topk(children).indices.tolist():
                child = [*canvas[:place], token, *canvas[place + 1 :]]
                tried.setdefault(tuple(child), worth(full(child, z)))
        best = sorted(tried, key=lambda child: -tried[child])[:n]
        canvases = [list(child) for child in best + best[:1] * (n - len(best))]
    return canvases[0]


@pytest.mark.parametrize(("n", "children"), [(1, 1), (1, 6), (4, 1), (4, 5), (20, 2)])
def test_tree_search_is_the_slow_one(n: int, children: int) -> None:
    run = steer(PREDICTOR, [PROMPT], TreeSearch(n, children), SHAPE, reward=REWARD)
    assert run[0].tokens.tolist() == slow_tree(n, children)
    assert run[0].forwards <= 1 + n * (N - 1) and run.cost.reward_calls <= n * children * N


@pytest.mark.parametrize(("width", "beta"), [(1, 0.7), (3, 0.0), (3, math.inf), (8, 0.7)])
def test_reward_lookahead_is_the_slow_one(width: int, beta: float) -> None:
    run = steer(PREDICTOR, [PROMPT], RewardLookahead(width, beta), SHAPE, reward=REWARD)
    assert run[0].tokens.tolist() == slow_lookahead(width, beta)
    assert run[0].forwards <= RewardLookahead(width, beta).forwards(N) == 1 + width * (N - 1)


@settings(max_examples=examples(100))
@given(st.integers(1, 6), st.integers(0, 2**31), st.sampled_from(["", "+random-order+spacing:2"]))
def test_best_order_is_the_best_of_decodes_in_those_orders(n: int, seed: int, more: str) -> None:
    seeds = [seed] + [int(np.random.SeedSequence([seed, j]).generate_state(1)[0]) for j in range(1, n)]
    shape, strategy = Shape(6, 3, 6), more.removeprefix("+") or "random-order"
    slow = [decode(PREDICTOR, [PROMPT], strategy, shape, reward=REWARD, options=Options(seed=s))[0] for s in seeds]
    run = steer(PREDICTOR, [PROMPT], f"best-order:{n}{more}", shape, reward=REWARD, options=Options(seed=seed))
    best = max(slow, key=lambda trace: trace.final_reward["raw"])  # type: ignore[index] - a reward was given
    assert run.tokens.tolist() == [best.tokens.tolist()] and run[0].final_reward == best.final_reward
    assert run[0].commit_step.tolist() == best.commit_step.tolist()
    assert run.cost.forwards <= BestOf(n).forwards(3) and run.cost.reward_calls <= n
    with pytest.raises(ValueError, match="the copies of best-order would all be alike, give one that draws its order"):
        steer(PREDICTOR, [PROMPT], f"best-order:{n}+rws:8", shape, reward=REWARD)


@pytest.mark.parametrize("name", METHODS)
def test_a_steered_trace_is_whole_and_says_what_it_cost(name: str, tmp_path: Any) -> None:
    run = steer(PREDICTOR, ["we ask for", "peace"], f"{name}:4", Shape(8, 4, 8), reward=REWARD)
    for trace in run:
        assert rws.load_trace(trace.save(tmp_path / "a.parquet")) == trace
        assert trace.strategy["name"] == name and trace.reward_model == REWARD.name
        assert 4 <= trace.forwards <= forwards_of(f"{name}:4", 4)
        assert 0 < trace.reward_calls <= reward_calls_of(f"{name}:4", 4)
        assert trace.final_reward is not None and trace.log_prob is not None
        assert name in repr(trace)
    assert run.cost.forwards == sum(trace.forwards for trace in run) and run.cost.seconds > 0
    assert run.cost.reward_calls + run.cost.gradients == run.reward_calls


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from([name for name in METHODS if name != "gradient-guidance"]),
    budget=st.integers(300, 900),  # from what the dearest takes at least
    steps=st.integers(2, 32),
    cost=st.sampled_from([forwards_of, reward_calls_of]),
    base=st.sampled_from(["", "+rws:8"]),
)
def test_a_budget_is_used_up(name: str, budget: int, steps: int, cost: Callable[[str, int], int], base: str) -> None:
    more = ("+sweeps:2" if name == "particle-gibbs" else "") + (base if as_method(f"{name}:2").draws else "")
    fits = fitted(name + more, budget, lambda text: cost(text, steps))
    one_more = f"{name}:{as_method(fits).copies + 1}{more}"
    assert cost(fits, steps) <= budget < cost(one_more, steps)


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("gradient-guidance:3+mix:soft", {"mix": "hard"}, "mix is 'hard': method  ... says 'soft', leave one out"),
        ("best-of:4", {"options": Options()}, "sampling_temperature is 0.0: the copies of best-of would all"),
        ("reward-lookahead:4", {"strategy": "rws:8"}, "strategy is 'rws:8': reward-lookahead chooses"),
        ("guided-particles:4+rws:8", {}, "strategy is  ... : guided-particles needs an order without logits"),
        ("guided-particles:4", {"options": replace(SAMPLED, end_of_text="defer")}, "end_of_text is 'defer': guided"),
        ("best-of:4", {"strategy": "threshold:0.9"}, "strategy is  ... : copies stay in step"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(method: str, arguments: dict[str, Any], message: str) -> None:
    refused(lambda: steer(PREDICTOR, [PROMPT], method, SHAPE, reward=REWARD, **arguments), message)
