"""Declare what the evidence study compares: models with rewards, methods, arms, and the units of answers.

An arm is a method with its number, decoded greedily or with sampled tokens. Every arm answers the same prompts. Its
`number` is s_R of RWS and of its controls, c of a temperature, N of the methods that keep N copies, the weight
beta of p exp(beta R) / Z, or the window of a random order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from paper_figures.data.examples import further_prompts
from paper_figures.data.loaders import Prompt
from paper_figures.runner.units import Unit
from paper_figures.studies.comparison import seed_of
from paper_figures.studies.options import GRID
from rws_decode.ablation.twins import by_step, shuffled_rewards
from rws_decode.common.later import NDArray, np, pd
from rws_theory.gain import reward_factor


@dataclass(frozen=True)
class World:
    """A mask predictor with its reward, its prompts, and the shape of an answer.

    - `data` is the source of the prompts; `length`, `steps` and `block` are the shape of an answer.
    - `judges` are further reward models; `causal` is the model of perplexity; None where log p is exact.
    - `tilts` are the weights beta of p exp(beta R) / Z; none where the model is not exact, or cannot count the reward.
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
        """Return whether the model is exact: log p of its texts is known."""
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
    - "reward": it uses the reward while it decodes, or samples p exp(beta R) / Z exactly.
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
    "tilt-decode": Line("decoding the reward-tilted distribution", "reward"),
    "tilt-sample": Line("sampling the reward-tilted distribution", "reward"),
}
# The controls of RWS that have its s_R, in the order of tables.
CONTROLS = tuple(name for name, line in METHODS.items() if line.kind == "factor" and name != "temperature")
# Controls whose numbers follow from the rws runs of the same model, reward, scale and sampling temperature.
FROM_RUN = ("constant", "schedule", "swapped", "shuffled")
_TEMPERATURES = (0.1, 0.5, 2.0, 8.0, 32.0)
_WINDOWS = (4.0, 12.0)
_LEAST_WEIGHT, _LARGEST_WEIGHT = 0.02, 4.0  # of the reward on the Pareto front, per unit of it


class Arm(NamedTuple):
    """A method, its number, the temperature at which tokens are sampled, 0 for none, and how many steps it takes.

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

    scales: s_R of the greedy runs; tuned: c of the temperature that was chosen; drawn: s_R of the runs that sample
    tokens, one of `scales`.
    """
    temperatures = sorted({*_TEMPERATURES, tuned} - {1.0})  # c = 1 is confidence decoding
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
    """Return what all answers of a model and reward share."""
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
    runs = {name: np.asarray(rewards[name], np.float64) for name in sorted(rewards)}
    factors = {name: reward_factor(run, scale) for name, run in runs.items()}
    if method == "constant":
        return {name: {"name": "temperature", "scale": float(run.mean())} for name, run in factors.items()}
    if method == "schedule":
        mean = by_step(list(factors.values()), max(map(len, factors.values()))).mean(axis=0).tolist()
        return {name: {"name": "schedule", "factors": mean} for name in runs}
    if method == "swapped":
        if len(runs) < 2:
            raise ValueError(f"rewards is of {len(runs)} prompts: another prompt's rewards need at least 2")
        names, around = list(runs), np.random.default_rng([seed, len(runs)]).permutation(len(runs))
        given = {names[i]: runs[names[j]] for i, j in zip(around, np.roll(around, 1), strict=True)}
    else:
        given = {name: shuffled_rewards(run, [seed, *name.encode()]) for name, run in runs.items()}
    return {name: {"name": "reward-replay", "reward_scale": scale, "rewards": given[name].tolist()} for name in runs}


def frontier_units(world: World, prompts: Sequence[Prompt], weights: int, seed: int = 0) -> Iterator[Unit]:
    """Yield the units that search the Pareto front of log p and reward after each prompt.

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
    ('RWS 8', 'confidence (default), sampled', 'confidence (default), one token a step')
    """
    method, number, drawn, one_by_one = arm
    title = METHODS[method].title
    if number is not None:
        title = title.replace(" of N", f" of {number:g}") if " of N" in title else f"{title} {number:g}"
        title = title.replace("N particles", "").strip() + " particles" if title.startswith("N particles") else title
    if drawn and METHODS[method].kind in ("rws", "factor", "order"):
        title += ", sampled"
    return title + (", one token a step" if one_by_one and method != "tilt-sample" else "")


def arms_of(answers: pd.DataFrame, world: str) -> dict[Arm, pd.DataFrame]:
    """Return the test answers of a model by arm, each sorted by prompt; arms that lack a prompt are left out."""
    rows = answers[(answers["world"] == world) & (answers["split"] == "test")]
    arms = {}
    for key, group in rows.groupby(["method", "number", "drawn", "steps"], dropna=False):
        method, number, drawn, steps = cast("tuple[str, float, bool, int]", key)
        one_by_one = int(steps) == WORLDS[world].length
        arm = Arm(method, None if number != number else float(number), float(drawn), one_by_one)
        arms[arm] = group.sort_values("prompt").reset_index(drop=True)
    most = max((len(group) for group in arms.values()), default=0)
    return {arm: group for arm, group in arms.items() if len(group) == most}


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
    """Return the speech that each prompt is from; None where the prompts are not of speeches."""
    rows = further_prompts(WORLDS[world].model) if WORLDS[world].data == "openings" else []
    known = {f"opening-{number}": row["address"] for number, row in enumerate(rows)}
    named = [known.get(prompt, "") for prompt in prompts]
    return np.array(named) if all(named) else None


def worlds_of(answers: pd.DataFrame) -> list[str]:
    """Return the models and rewards with test answers, in the order of the study."""
    present = set(answers.loc[answers["split"] == "test", "world"])
    return [world for world in WORLDS if world in present]


def validation_answers(answers: pd.DataFrame, world: str) -> pd.DataFrame:
    """Return the answers of a model to its validation prompts."""
    return answers[(answers["world"] == world) & (answers["split"] == "validation")]


def chosen_scales(answers: pd.DataFrame, world: str) -> dict[str, float]:
    """Return the scale of the greatest mean reward on validation prompts, for rws and for temperature."""
    means = validation_answers(answers, world).groupby(["method", "number"])["reward"].mean()
    methods = ("rws", "temperature")
    return {name: float(means[name].idxmax()) for name in methods if name in means.index.get_level_values(0)}
