"""Hold what the evidence study asks and measures: worlds, methods, arms, the units of answers, measures with margins.

An arm is a method with its number, decoded greedily or with sampled tokens. Every arm answers the same prompts. Its
`number` is s_R of RWS and of its controls, c of a temperature, N of the methods that keep N copies, the weight
beta of a tilt, or the window of a random order.

No margin of equivalence follows from the results: each has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from numpy.typing import ArrayLike

from paper_figures.data.examples import further_prompts
from paper_figures.data.loaders import Prompt
from paper_figures.runner.units import Unit
from paper_figures.statistics.intervals import (
    Interval,
    clustered_interval,
    exact_share,
    mean_interval,
    paired_differences,
)
from paper_figures.statistics.paired_proportions import net_share
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.win_rates import paired_outcomes
from paper_figures.studies.comparison import seed_of
from paper_figures.studies.options import GRID
from rws_decode.common.later import NDArray, np, pd
from rws_decode.rewards.registry import kind_of, offered_reward
from rws_theory.gain import reward_factor


@dataclass(frozen=True)
class World:
    """A mask predictor with its guide, and what is asked of them.

    - `data` is the source of the prompts; `length`, `steps` and `block` are the shape of an answer.
    - `judges` are further reward models; `causal` is the model of perplexity; None where log p is exact.
    - `tilts` are the weights beta of the exact tilt; none where the world is not exact, or cannot count the reward.
    """

    model: str
    reward: str
    data: str
    length: int
    steps: int
    block: int
    judges: tuple[str, ...] = ()
    causal: str | None = None
    tilts: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Return model and reward as the command line has them."""
        return f"{self.model}:{self.reward}"

    @property
    def exact(self) -> bool:
        """Return whether the world knows log p."""
        return self.model == "english"


# Two tokens a step, as in the paper; blocks of 32 as there, but a chain of residues is one block.
WORLDS: dict[str, World] = {
    "english:era": World("english", "era", "openings", 32, 16, 32, tilts=(0.3, 1.0)),
    "mini:mini": World("mini", "mini", "stories:keywords", 64, 32, 32, ("mini-judge", "exact"), "mini-causal"),
    "antibody:human": World("antibody", "human", "antibodies:64", 64, 32, 64, ("humanness",)),
    "reactions:balanced": World("reactions", "balanced", "reactions:16", 16, 8, 16, ("valid", "qed")),
    "english:smollm2": World("english", "smollm2", "openings", 16, 8, 16),
}


class Line(NamedTuple):
    """A method's line: its title in tables, and what kind of method it is.

    - "rws": RWS itself;
    - "factor": a control that scales logits as RWS does, without the reward of its own text;
    - "order": another order, without a reward;
    - "compute": it spends forwards or samples, and reads the reward at most at the end;
    - "reward": it uses the reward while it decodes, or the exact tilt.
    """

    title: str
    kind: str


METHODS: dict[str, Line] = {
    "default": Line("confidence (default)", "order"),
    "rws": Line("RWS", "rws"),
    "constant": Line("fixed factor of equal mean", "factor"),
    "schedule": Line("mean schedule by step", "factor"),
    "swapped": Line("another prompt's rewards", "factor"),
    "shuffled": Line("own rewards, shuffled", "factor"),
    "flipped": Line("reward's sign turned", "factor"),
    "random": Line("random rewards", "factor"),
    "temperature": Line("temperature", "factor"),
    "margin": Line("margin order", "order"),
    "left-to-right": Line("left to right", "order"),
    "window": Line("random within a window", "order"),
    "random-order": Line("random order", "order"),
    "better-scale": Line("better of two scales", "compute"),
    "best-of": Line("best of N", "compute"),
    "particles": Line("N particles", "reward"),
    "lookahead": Line("reward lookahead", "reward"),
    "tilt-decode": Line("decoding the exact tilt", "reward"),
    "tilt-sample": Line("drawing the exact tilt", "reward"),
}
# The controls of RWS that have its s_R, in the order of tables.
CONTROLS = tuple(name for name, line in METHODS.items() if line.kind == "factor" and name != "temperature")
# Controls whose numbers follow from the rws runs of the same world, scale and sampling temperature.
FROM_RUN = ("constant", "schedule", "swapped", "shuffled")
_TEMPERATURES = (0.1, 0.5, 2.0, 8.0, 32.0)
_WINDOWS = (4.0, 12.0)
_LEAST_WEIGHT, _LARGEST_WEIGHT = 0.02, 4.0  # of the reward on the frontier, per unit of it


class Arm(NamedTuple):
    """A method, its number, the temperature at which tokens are drawn, 0 for none, and how many steps it takes.

    `one_by_one`: it commits one token a step, in as many steps as the answer has tokens.
    """

    method: str
    number: float | None = None
    sampling_temperature: float = 0.0
    one_by_one: bool = False


def validation_arms() -> tuple[Arm, ...]:
    """Return RWS and temperature on the paper's grid; the best of each on validation prompts is its tuned one."""
    return tuple(Arm(method, scale) for method in ("rws", "temperature") for scale in GRID)


def independent(world: World, scales: Sequence[float], tuned: float, drawn: float) -> tuple[Arm, ...]:
    """Return the arms that need no run of another.

    scales: s_R of the greedy runs; tuned: c of the temperature that was chosen; drawn: s_R of the runs that draw
    tokens, one of `scales`.
    """
    temperatures = sorted({*_TEMPERATURES, tuned} - {1.0})  # c = 1 is the default
    orders = [Arm("left-to-right"), *(Arm("window", width) for width in _WINDOWS), Arm("random-order")]
    arms = [Arm("default"), *(Arm("temperature", scale) for scale in temperatures)]
    arms += [Arm("rws", scale) for scale in scales]
    arms += [Arm("flipped", drawn), Arm("random", drawn), Arm("margin"), *orders, Arm("lookahead", 4.0)]
    arms += [arm._replace(one_by_one=True) for arm in (Arm("default"), *orders)]
    arms += [Arm("tilt-decode", beta) for beta in world.tilts]
    arms += [Arm("default", None, 1.0), Arm("rws", drawn, 1.0)]
    arms += [Arm("best-of", 2.0, 1.0), Arm("best-of", 4.0, 1.0), Arm("particles", 4.0, 1.0)]
    return (*arms, *(Arm("tilt-sample", beta, 1.0, True) for beta in (0.0, *world.tilts) if world.tilts))


def from_run(scales: Sequence[float], drawn: float) -> tuple[Arm, ...]:
    """Return the controls that are made from the rws runs."""
    usual = ("constant", "schedule", "swapped")
    greedy = (Arm(method, scale) for method in usual for scale in scales)
    return (*greedy, Arm("shuffled", drawn), *(Arm(method, drawn, 1.0) for method in usual))


def base_unit(world: World, seed: int) -> Unit:
    """Return what all answers of a world share."""
    return Unit(
        experiment="evidence",
        prompt="",
        strategy={"name": "default"},
        predictor=world.model,
        reward=world.reward,
        judges=world.judges,
        causal=world.causal,
        seed=seed,
        length=world.length,
        steps=world.steps,
        block=world.block,
    )


def unit_of(
    world: World, arm: Arm, prompt: Prompt, split: str, seed: int = 0, run: Mapping[str, Any] | None = None
) -> Unit:
    """Return the unit of one answer. `run`: numbers of the strategy that follow from rws runs (`numbers_of_runs`)."""
    base = base_unit(world, seed)
    strategy, settings = _strategy(arm, base, prompt.name, run), {}
    if arm.method in ("best-of", "particles", "lookahead"):
        kind = "reward-lookahead" if arm.method == "lookahead" else arm.method
        settings["steer"] = f"{kind}:{arm.number:g}"
    if arm.method.startswith("tilt"):
        settings["tilt"] = arm.number
    labels = {"world": world.name, "method": arm.method, "number": arm.number, "split": split}
    return replace(
        base,
        prompt=prompt.text,
        example=prompt.name,
        strategy=strategy,
        steps=world.length if arm.one_by_one else world.steps,
        sampling_temperature=arm.sampling_temperature,
        seed=seed_of(base, prompt.name, "tokens") if arm.sampling_temperature else seed,
        settings=settings,
        labels=labels,
    )


def _strategy(arm: Arm, base: Unit, name: str, run: Mapping[str, Any] | None) -> dict[str, Any]:
    method, scale = arm.method, arm.number
    if method in FROM_RUN:
        if run is None:
            raise ValueError(f"run is None: {method} is made from rws runs, see numbers_of_runs")
        return dict(run)
    if method == "temperature":
        return {"name": "temperature", "scale": scale}
    if method in ("rws", "flipped"):
        return {"name": "rws" if method == "rws" else "rws-flipped", "reward_scale": scale}
    if method == "random":
        return {"name": "rws-random", "reward_scale": scale, "seed": seed_of(base, name, "noise")}
    if method in ("margin", "left-to-right"):
        return {"name": method}
    if method in ("random-order", "window"):
        window = {"window": scale} if method == "window" else {}
        return {"name": "random-order", "seed": seed_of(base, name, "order"), **window}
    return {"name": "tilt-sample" if method == "tilt-sample" else "default"}


def numbers_of_runs(
    method: str, scale: float, rewards: Mapping[str, Sequence[float]], seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return the strategy of each prompt's control, made from the normalised rewards of the rws runs by prompt.

    - "constant": the mean factor of the prompt's own run;
    - "schedule": the mean factor of all runs, step by step, the same for every prompt;
    - "swapped": the rewards of another prompt's run; each run is used once;
    - "shuffled": the prompt's own rewards, in another order of steps.

    >>> runs = {"a": [0.0, 1.0], "b": [1.0, 2.0]}
    >>> numbers_of_runs("swapped", 8.0, runs)["a"]
    {'name': 'reward-replay', 'reward_scale': 8.0, 'rewards': [1.0, 2.0]}
    >>> numbers_of_runs("schedule", 8.0, runs)["a"] == numbers_of_runs("schedule", 8.0, runs)["b"]
    True
    """
    names = sorted(rewards)
    factors = {name: reward_factor(np.asarray(rewards[name]), scale) for name in names}
    if method == "constant":
        return {name: {"name": "temperature", "scale": float(factors[name].mean())} for name in names}
    if method == "schedule":
        mean = np.mean([factors[name] for name in names], axis=0).tolist()
        return {name: {"name": "schedule", "factors": mean} for name in names}
    if method == "swapped":
        if len(names) < 2:
            raise ValueError(f"rewards is of {len(names)} prompts: another prompt's rewards need at least 2")
        around = np.random.default_rng([seed, len(names)]).permutation(len(names))
        donor = {names[i]: names[j] for i, j in zip(around, np.roll(around, 1), strict=True)}
        given = {name: list(rewards[donor[name]]) for name in names}
    else:
        given = {
            name: np.random.default_rng([seed, *name.encode()]).permutation(list(rewards[name])).tolist()
            for name in names
        }
    return {name: {"name": "reward-replay", "reward_scale": scale, "rewards": given[name]} for name in names}


def frontier_units(world: World, prompts: Sequence[Prompt], weights: int, seed: int = 0) -> Iterator[Unit]:
    """Yield the units that search the frontier of log p and reward after each prompt.

    weights: how many weights of the reward are searched, 0 and others from 0.02 to 4 per unit of it, evenly in their
    logarithm.
    """
    betas = [0.0, *(round(float(beta), 4) for beta in np.geomspace(_LEAST_WEIGHT, _LARGEST_WEIGHT, weights - 1))]
    searched = {"name": "frontier", "betas": betas}
    base = replace(base_unit(world, seed), experiment="evidence-frontier", judges=(), strategy=searched)
    for prompt in prompts:
        labels = {"world": world.name, "method": "frontier", "number": None, "split": "test"}
        yield replace(base, prompt=prompt.text, example=prompt.name, labels=labels)


def title_of(arm: Arm) -> str:
    """Return an arm's name in tables and figures.

    >>> title_of(Arm("rws", 8.0)), title_of(Arm("default", None, 1.0)), title_of(Arm("default", one_by_one=True))
    ('RWS 8', 'confidence (default), drawn', 'confidence (default), one token a step')
    """
    method, number, drawn, one_by_one = arm
    title = METHODS[method].title
    if number is not None:
        title = title.replace(" of N", f" of {number:g}") if " of N" in title else f"{title} {number:g}"
        title = title.replace("N particles", "").strip() + " particles" if title.startswith("N particles") else title
    if drawn and METHODS[method].kind in ("rws", "factor", "order"):
        title += ", drawn"
    return title + (", one token a step" if one_by_one and method != "tilt-sample" else "")


@dataclass(frozen=True)
class Measure:
    """A measure of answers: how two answers of a prompt are compared, and the margin of equivalence.

    - kind "mean": their difference. kind "share": who has the greater score, +1, 0 or -1, as in a net win rate.
    - `margin` is in the unit of the measure; `reason` says why it is that. `factor` makes points of shares for reading.
    """

    name: str
    title: str
    unit: str
    kind: Literal["mean", "share"]
    margin: float
    reason: str
    factor: float = 1.0

    def text(self, value: float, sign: bool = True) -> str:
        """Return a value for reading, with its sign and without its unit.

        >>> MEASURES["coherent"].text(0.123), MEASURES["log_prob"].text(-0.0004), MEASURES["god"].text(2, sign=False)
        ('+12.3', '0.000', '2.00')
        """
        digits = 1 if self.factor > 1 else 3 if self.margin < 0.1 else 2
        rounded = round(self.factor * value, digits) + 0.0  # no minus zero
        return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}"


_RATE = "half of the 21.9 points that the paper's Table 1 has between RWS and its default, on average"
_NATS = "a perplexity that is 5.8 % higher, about half of the 12 % of the paper's Section 5.4"
# The only place where margins are chosen.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("reward", "reward", "SD", "mean", 0.1, "half of what is called a small effect, 0.2 SD"),
        Measure("net", "net win rate by the guide", "points", "share", 0.11, _RATE, 100.0),
        Measure("net mini-judge", "net win rate by the other judge", "points", "share", 0.11, _RATE, 100.0),
        Measure("net exact", "net win rate by the exact rules", "points", "share", 0.11, _RATE, 100.0),
        Measure("net humanness", "net win rate by humanness", "points", "share", 0.11, _RATE, 100.0),
        Measure("net valid", "net win rate by valid", "points", "share", 0.11, _RATE, 100.0),
        Measure("net qed", "net win rate by qed", "points", "share", 0.11, _RATE, 100.0),
        Measure("log_prob", "log p", "nats a word", "mean", 0.057, _NATS),
        Measure("nll", "log perplexity", "nats a token", "mean", 0.057, _NATS),
        Measure("coherent", "coherent answers", "points", "share", 0.05, "one answer in 20: fewer do not count", 100.0),
        Measure("god", "GOD", "tokens", "mean", 0.5, "about half of the rise in the paper's Table 1, from 1.4 to 2.6"),
    )
}
_TIE = 1e-9  # raw reward; scores that differ by less are equal


def measures_of(world: str) -> tuple[str, ...]:
    """Return the measures of a world, those that matter most first.

    >>> measures_of("english:era")
    ('log_prob', 'reward', 'net', 'god')
    """
    if WORLDS[world].exact:
        return ("log_prob", "reward", "net", "god")
    judges = tuple(f"net {judge}" for judge in WORLDS[world].judges)
    language = ("coherent", "nll") if WORLDS[world].causal else ()
    return (*judges, *language, "reward", "net", "god")


def arms_of(answers: pd.DataFrame, world: str) -> dict[Arm, pd.DataFrame]:
    """Return the test answers of a world by arm, each sorted by prompt; arms that lack a prompt are left out."""
    rows = answers[(answers["world"] == world) & (answers["split"] == "test")]
    arms = {}
    for key, group in rows.groupby(["method", "number", "drawn", "steps"], dropna=False):
        method, number, drawn, steps = cast("tuple[str, float, bool, int]", key)
        one_by_one = int(steps) == WORLDS[world].length
        arm = Arm(method, None if number != number else float(number), float(drawn), one_by_one)
        arms[arm] = group.sort_values("prompt").reset_index(drop=True)
    most = max((len(group) for group in arms.values()), default=0)
    return {arm: group for arm, group in arms.items() if len(group) == most}


def scores_of(answers: pd.DataFrame, world: str, measure: str) -> NDArray[np.float64]:
    """Return the scores of one arm's answers, shape (n,), in the measure's unit; NaN where an answer has none."""
    setting = WORLDS[world]
    if measure == "log_prob":
        return answers["log_prob"].to_numpy(float) / setting.length
    if measure in ("reward", "net"):
        mean, deviation = _guide(setting.reward)
        return (answers["reward"].to_numpy(float) - mean) / deviation
    if measure.startswith("net "):
        judge = setting.judges.index(measure.removeprefix("net "))
        return np.array([scores[judge] for scores in answers["judge_scores"]], dtype=np.float64)
    if measure == "coherent":
        broken = answers["rules_broken"].to_numpy(float)
        return np.where(np.isnan(broken), np.nan, broken == 0)
    if measure == "nll":
        with np.errstate(divide="ignore", invalid="ignore"):
            return answers["nll"].to_numpy(float) / answers["causal_tokens"].to_numpy(float)
    return answers["god_tokens"].to_numpy(float)


def differences_of(measure: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return first - second of a mean, or +1, 0, -1 of a share; 0 where they differ by rounding alone."""
    if MEASURES[measure].kind == "share":
        return paired_outcomes(first, second, tolerance=_TIE).astype(np.float64)
    return paired_differences(first, second)


def interval_of(
    values: ArrayLike, kind: Literal["mean", "share", "net"], pairs: NDArray[np.int64] | None = None
) -> Interval:
    """Return the mean of values with its 95 % interval: ABC, exact of a share of 0 and 1, Tango's of a net win rate.

    pairs: those of `text_pairs`; where pairs repeat, the interval is over distinct pairs (`clustered_interval`).
    """
    array = np.asarray(values, dtype=np.float64)
    if pairs is not None and pairs.max() + 1 < pairs.size:
        if np.ptp(array) > 0:
            found = clustered_interval(array, pairs)
            return Interval(*np.clip(found, -1.0, 1.0).tolist()) if kind == "net" else found
        array = array[: pairs.max() + 1]  # one value for each pair
    return _interval(array.tobytes(), kind)


# Of the differences of a measure.
KINDS: dict[str, Literal["mean", "net"]] = {"mean": "mean", "share": "net"}


def difference_interval(answers: Sequence[pd.DataFrame], world: str, measure: str) -> Interval | None:
    """Return the first arm's answers less the second's with a 95 % interval; None where a measure is missing.

    It is over distinct pairs of texts where pairs repeat.
    """
    first, second = (scores_of(frame, world, measure) for frame in answers)
    if not np.isfinite([first, second]).all():
        return None
    pairs = text_pairs(*(frame["tokens"] for frame in answers))
    return interval_of(differences_of(measure, first, second), KINDS[MEASURES[measure].kind], pairs)


@lru_cache(maxsize=4096)
def _interval(buffer: bytes, kind: str) -> Interval:
    values = np.frombuffer(buffer)
    if kind == "share":
        return exact_share(int(values.sum()), values.size)
    return net_share(values) if kind == "net" else mean_interval(values)


def factor_variation(rws: pd.DataFrame) -> float | None:
    """Return how much the factor of an arm of RWS varies within a run; None where its answers have no rewards.

    It is the median over prompts of the factor's SD over the steps as a share of its mean. Near 0 RWS is a fixed factor
    by its normalisation, so that its equivalence to one could not fail.

    >>> factor_variation(pd.DataFrame({"number": [8.0], "rewards": [[0.0, 0.0]]}))
    0.0
    """
    if rws["rewards"].isna().any():
        return None
    factors = [reward_factor(list(run), scale) for run, scale in zip(rws["rewards"], rws["number"], strict=True)]
    return float(np.median([np.std(run) / np.mean(run) for run in factors]))


def addresses_of(world: str, prompts: Iterable[str]) -> NDArray[np.str_] | None:
    """Return the address that each opening of a world is from; None where its prompts are no openings."""
    rows = further_prompts(WORLDS[world].model) if WORLDS[world].data == "openings" else []
    known = {f"opening-{number}": row["address"] for number, row in enumerate(rows)}
    named = [known.get(prompt, "") for prompt in prompts]
    return np.array(named) if all(named) else None


def worlds_of(answers: pd.DataFrame) -> list[str]:
    """Return the worlds with test answers, in the order of the study."""
    present = set(answers.loc[answers["split"] == "test", "world"])
    return [world for world in WORLDS if world in present]


@lru_cache(maxsize=8)
def _guide(reward: str) -> tuple[float, float]:
    """Return mean and deviation of a reward model over texts."""
    from rws_decode import load_reward
    from rws_decode.extra.packages.likelihood import STATISTICS

    # A record is read where its network is not installed.
    known = getattr(offered_reward(reward), "statistics", None) if kind_of(reward) == "offered" else None
    if known is not None:
        return known(reward)
    if reward in STATISTICS:
        return STATISTICS[reward]
    model = load_reward(reward)
    return float(model.mean), float(model.std)
