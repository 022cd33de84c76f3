"""Measure how far the sampling distribution q of each sampler is from the model's p, and which sources of error add up.

Texts have 16 tokens; a step commits 1, 2 or 4 of them. Of an antibody 64 residues are masked; a step commits 1, 4 or 8.
In an exact model every text has log p, so each sampler whose q is known has KL(q || p) and E_q[R]. The distributions
p exp(beta R) / Z bound both. Four differences, each of two samplers that differ in one thing, split what a strategy
changes (`statistics.leaks`, docs/theory.md, section 21). Of a network p is not known: texts of the data are forced
along different orders instead.

The files below OUT/laws are the units' parts, `leaks.csv|md`, `frontier.csv|md`, `orders.csv|md`, and `about.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from paper_figures.data.loaders import Prompt
from paper_figures.runner.executors import RunOptions
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.drawn_ranking import drawn_ranking_log_prob
from paper_figures.statistics.leaks import BLIND, Leak, leaks, least_divergence, mean_of, order_gaps, sampler_values
from paper_figures.studies.comparison import seed_of
from paper_figures.studies.evidence import renamed
from paper_figures.studies.prompts import prompts_of
from paper_figures.studies.study import about_run, finish, on_device, open_stages
from paper_figures.table import Column, Table, make_table
from rws_decode.cli.options import check_writable, option
from rws_decode.cli.progress import loading, tell
from rws_decode.common.later import NDArray, np, pd
from rws_decode.strategies.factors import Confidence, Temperature
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.table import as_strategy

if TYPE_CHECKING:
    from rws_decode import MaskPredictor, RewardModel

NAME = "laws"
BETAS = (0.02, 0.05, 0.1, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3)


@dataclass(frozen=True)
class LawWorld:
    """A model with its reward, and the methods that are measured.

    laws: by their own texts; split: by their sources of error; given: on given texts. length: masks of a text; words:
    the tokens that a step commits, in turn.
    """

    model: str
    reward: str
    data: str
    laws: tuple[str, ...]
    split: tuple[str, ...]
    given: tuple[str, ...] = ()
    length: int = 16
    words: tuple[int, ...] = (1, 2, 4)


_LAWS = (
    *("default", "random-order", "default+spacing:3", "rws:8", "left-to-right", "temperature:5.6"),
    *("random-order+spacing:3", "rws:1", "rws:8+spacing:3"),
)
_SPLIT = ("default", "rws:8", "random-order")
_GIVEN = ("left-to-right", "default", "random-order", "default+spacing:3")
_GIVEN_ANTIBODY = (*_GIVEN, "default+spacing:8", "random-order+spacing:3", "rws:8")
_TWO = ("default", "rws:8")
WORLDS: dict[str, LawWorld] = {
    "english:era": LawWorld("english", "era", "openings", _LAWS, _SPLIT),
    "mini:exact": LawWorld("mini", "exact", "stories", _SPLIT, _SPLIT, _GIVEN),
    "antibody:human": LawWorld("antibody", "human", "antibodies:64", _TWO, _TWO, _GIVEN_ANTIBODY, 64, (1, 4, 8)),
}
LAW_WORLDS = ("english:era", "mini:exact")  # the other is of a network that `make real` installs


@dataclass(frozen=True)
class LawsOptions(RunOptions):
    """The options of `experiment laws`."""

    models: tuple[str, ...] = option(
        LAW_WORLDS, f"of {' '.join(WORLDS)}", metavar="MODEL:REWARD", choices=tuple(WORLDS)
    )
    device: str = option("cpu", "cpu, cuda, ...")
    prompts: int = option(400, "prompts of each model", least=2)
    seed: int = option(0, "of prompts and samples", least=0)
    batch: int = 100


def run(options: LawsOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_writable("--out", Path(options.out), "directory")
    loading(NAME, *(name for world in options.models for name in (WORLDS[world].model, WORLDS[world].reward)))
    units = [unit for world in options.models for unit in units_of(world, options.prompts, options.seed)]
    units = [on_device(unit, options.device) for unit in units]
    with open_stages(options, units, work) as stages:
        frame = stages.run(NAME, units)
    outcome = stages.outcome()
    tell(f"{NAME}: making the tables ...")
    about = about_run(NAME, options, ("models", "prompts", "seed"))
    about["models"] = {world: asdict(WORLDS[world]) for world in options.models}
    return finish(NAME, options, outcome, tables(frame), about=about)


def prompts_of_world(world: LawWorld, count: int, seed: int) -> list[tuple[Prompt, str]]:
    """Return prompts and, of stories and antibodies, each one's own text, else an empty one."""
    if world.data != "stories":
        test = prompts_of(world.data, count, seed=seed, model=world.model).test
        return [(prompt, prompt.labels["answer"] if world.given else "") for prompt in test]
    from paper_figures.extra.story_tasks import sample_split

    rng, found = Random(f"{NAME} {seed}"), {}
    while len(found) < count:
        task = sample_split(rng, "test")
        found.setdefault(task.prompt, task.answer)
    return [(Prompt(f"test-{number}", (text,)), answer) for number, (text, answer) in enumerate(found.items())]


def units_of(name: str, count: int, seed: int) -> list[Unit]:
    """Return the units of a model: its Pareto front first, then those of `laws`, `split` and `given`."""
    world = WORLDS[name]
    kinds = [] if world.given else [("world", 1, "commit")]
    kinds += [(method, words, "given") for method in world.given for words in world.words]
    for method in dict.fromkeys((*world.split[:1], *world.laws, *world.split)):
        if method in world.laws:
            kinds += [(method, words, "commit") for words in world.words if words > 1 or world.given]
        if method in world.split:
            drawings = ("greedy",) if method in BLIND else ("completion", "greedy")
            kinds += [(method, words, drawing) for drawing in drawings for words in world.words]
    prompts = prompts_of_world(world, count, seed)
    return [unit_of(name, *kind, prompt, answer, seed) for kind in kinds for prompt, answer in prompts]


def unit_of(name: str, method: str, words: int, drawing: str, prompt: Prompt, answer: str, seed: int) -> Unit:
    """Return the unit of a sampler's text after one prompt."""
    world = WORLDS[name]
    base = Unit(
        experiment=NAME,
        prompt=prompt.text,
        example=prompt.name,
        strategy={"name": method} | ({"betas": list(BETAS)} if method == "world" else {}),
        predictor=world.model,
        reward=world.reward,
        seed=seed,
        length=world.length,
        steps=world.length // words,
        block=world.length,
        sampling_temperature=0.0 if drawing == "greedy" else 1.0,
        settings={"drawing": drawing},
        labels={"world": name, "method": method, "words": words, "answer": answer},
    )
    # Every sampler has seeds of its own, so that differences are of independent texts. With a spacing the seed is of
    # the name that the strategy had when the texts were recorded.
    seeded = method.replace("+spacing:", "+apart:")
    return replace(base, seed=seed_of(base, prompt.name, f"{name} {seeded} {words} {drawing}"))


DRAWS = 8  # texts sampled of an exact model after each prompt


def work(units: Sequence[Unit]) -> list[Rows]:
    """Sample or force texts by a sampler, and say how probable they are: the row of each unit of one batch.

    A text has `tokens`, a digest; `log_q`, nats, of the sampler: exact where its distribution is known, an upper bound
    in the mean where it ranks sampled tokens by a fixed factor, else None; `log_prob`, nats, and `final_reward`, raw.
    """
    from paper_figures.studies.work import digest_of, predictor_for, reward_for
    from rws_decode import Options, Shape, decode, strategy_log_prob
    from rws_decode.extra.log_prob import answer_ids

    if units[0].strategy["name"] == "world":
        return _worlds(units)
    first = units[0]
    drawing, prompts = first.settings["drawing"], [unit.prompt for unit in units]
    predictor, reward = predictor_for(first), reward_for(first, first.reward or "")
    seeds = tuple(unit.seed for unit in units)
    strategy = as_strategy(first.strategy["name"], seed=seeds)
    shape = Shape(first.length, first.steps, first.block)
    options = Options(
        sampling_temperature=first.sampling_temperature,
        drawing="completion" if drawing in ("completion", "greedy") else "commit",
        seed=seeds,
    )
    near: list[dict[str, int]] = [{"near_ties": 0, "near_tokens": 0}] * len(units)
    traces: Sequence[Any] = ()
    if drawing == "given":
        texts = np.array([answer_ids(predictor, unit.labels["answer"])[: first.length] for unit in units])
    else:
        traces = list(decode(predictor, prompts, strategy, shape, reward=reward, options=options))
        texts = np.stack([trace.tokens for trace in traces])
        near = [{name: int(getattr(trace, name).sum()) for name in near[0]} for trace in traces]
    log_q: Sequence[float | None] = [0.0 if drawing == "greedy" else None] * len(units)
    if options.drawing == "commit":
        forced = strategy_log_prob(predictor, prompts, texts, strategy, shape, reward=reward, options=options)
        log_q = forced.log_prob.tolist()
    elif drawing == "completion":
        log_q = [_bound(predictor, trace, strategy) for trace in traces]
    log_p, rewards = _measures(predictor, reward, prompts, texts)
    measured = zip(log_q, log_p, rewards, near, texts, strict=True)
    return [
        [{"tokens": digest_of(text), "log_q": q, "log_prob": p, "final_reward": value} | ties]
        for q, p, value, ties, text in measured
    ]


def _measures(
    predictor: MaskPredictor, reward: RewardModel, prompts: Sequence[str], texts: NDArray[np.int64]
) -> tuple[list[float | None], list[float]]:
    """Return log p of each text, None where the model is not exact, and its reward."""
    from rws_decode import WorldPredictor
    from rws_decode.job import encode_prompts
    from rws_decode.rewards.world import WorldReward
    from rws_decode.step.cached_reward import Scorer

    if isinstance(predictor, WorldPredictor) and isinstance(reward, WorldReward):
        pairs = zip(prompts, texts, strict=True)
        log_p = [predictor.world.log_prob(text, predictor.encode_prompt(prompt)) for prompt, text in pairs]
        return list(log_p), [reward.world_reward.score(text) for text in texts]
    encoded = encode_prompts(predictor, prompts, texts.shape[1])
    raw, _ = Scorer(predictor, reward, encoded).score(range(len(prompts)), texts.tolist())
    return [None] * len(texts), raw.tolist()


def _bound(predictor: MaskPredictor, trace: Any, strategy: Strategy) -> float | None:
    """Return the bound on log q of a decode that ranked sampled tokens by a fixed factor, else None."""
    from rws_decode import WorldPredictor

    if not isinstance(predictor, WorldPredictor) or not isinstance(strategy, Confidence | Temperature):
        return None
    world, context = predictor.world, trace.prompt.tolist()
    scale = strategy.scale if isinstance(strategy, Temperature) else 1.0
    assert isinstance(scale, float)
    return drawn_ranking_log_prob(
        lambda canvases: world.conditionals_batch(canvases, [context] * len(canvases), predictor.memory),
        trace.tokens,
        trace.commit_step,
        scale,
    )


def _worlds(units: Sequence[Unit]) -> list[Rows]:
    """Return the row of each unit of an exact model.

    `mean` is E_p[R], `log_z` log E_p[exp(beta R)] at each of the unit's betas; `log_ps` and `rewards` are of texts
    sampled from p.
    """
    from paper_figures.studies.work import exact_world

    predictor, guide = exact_world(units[0])
    world, reward, length = predictor.world, guide.world_reward, units[0].length
    betas = units[0].strategy["betas"]
    tilts = [world.tilt(reward, beta) for beta in betas]
    rows: list[Rows] = []
    for unit in units:
        context, rng = predictor.encode_prompt(unit.prompt), np.random.default_rng(unit.seed)
        texts = [world.sample(length, rng, context) for _ in range(DRAWS)]
        row = {"betas": betas, "mean": world.mean(reward, length, context)}
        row["log_z"] = [tilt.log_partition(length, context) for tilt in tilts]
        row["log_ps"] = [world.log_prob(text, context) for text in texts]
        rows.append([row | {"rewards": [reward.score(text) for text in texts]}])
    return rows


KEY = ("world", "prompt", "method", "words", "drawing")
COLUMNS = (*KEY, "tokens", "log_q", "log_prob", "reward", "near_ties", "near_tokens")
WORLD_COLUMNS = ("world", "prompt", "betas", "mean", "log_z", "log_ps", "rewards")


def answers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the texts among a study's rows, with the columns `COLUMNS`; numbers are rounded to 1e-4."""
    texts = renamed(rows[rows["method"] != "world"]).reindex(columns=list(COLUMNS)).reset_index(drop=True)
    numbers = ["log_q", "log_prob", "reward"]
    return texts.assign(**{name: texts[name].astype(float).round(4) for name in numbers})


def frontiers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the models among a study's rows, with the columns `WORLD_COLUMNS`; lists are rounded to 1e-4."""
    worlds = renamed(rows[rows["method"] == "world"]).reindex(columns=list(WORLD_COLUMNS)).reset_index(drop=True)
    lists = {name: [np.round(list(row), 4).tolist() for row in worlds[name]] for name in ("log_ps", "rewards")}
    return worlds.assign(log_z=[np.round(list(row), 6).tolist() for row in worlds["log_z"]], **lists)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> Sequence[Table]:
    """Return the study's tables from its rows. No number depends on `seed`."""
    return tables_of(answers_of(frame), frontiers_of(frame)) if len(frame) else []


def tables_of(texts: pd.DataFrame, worlds: pd.DataFrame) -> list[Table]:
    """Return the tables of sources of error, of KL and reward of each sampler, and of orders on given texts."""
    samplers = {world: sampler_values(texts, worlds, world) for world in dict.fromkeys(texts["world"])}
    split = [leak for world, values in samplers.items() for leak in leaks(values, world)]
    gaps = [gap for world, values in samplers.items() for gap in order_gaps(values, world)]
    places = [row for world, values in samplers.items() for row in frontier_rows(values, worlds, world)]
    leak_columns = [Column("world"), Column("method"), Column("words"), Column("measure"), Column("leak")]
    leak_columns += [
        Column("change", form="+.2f", ends=("low", "high")),
        Column("least", form=".2f"),
        Column("prompts"),
    ]
    note = "Means over prompts, 95 % intervals; least: the difference that a test would find with probability 0.8."
    place_columns = [Column("world"), Column("method"), Column("words"), Column("drawing"), Column("prompts")]
    place_columns += [Column(name, form=".2f", ends=(f"{name}, low", f"{name}, high")) for name in ("kl", "reward")]
    place_columns += [Column("least kl", form=".2f")]
    made = [
        make_table("leaks", _rows(split), leak_columns, f"What each change of the sampler does to a measure. {note}"),
        make_table(
            "frontier",
            places,
            place_columns,
            "KL(q || p) in nats and E_q[R] - E_p[R], raw; of completion and best-of-8 an upper bound of KL. least kl: "
            f"that no law with this reward can go below. {note}",
        ),
        make_table("orders", _rows(gaps), leak_columns, f"log q of given texts minus left to right, one word. {note}"),
    ]
    return [table for table in made if table.rows]


def _rows(found: Sequence[Leak]) -> list[dict[str, Any]]:
    return [leak._asdict() | dict(zip(("change", "low", "high"), leak.change, strict=True)) for leak in found]


def frontier_rows(values: Any, worlds: pd.DataFrame, world: str) -> list[dict[str, Any]]:
    """Return KL and reward of each sampler whose q is known or bounded, and of best of N; none if p is not exact."""
    own = worlds[worlds["world"] == world]
    if not len(own):
        return []
    rows = []
    for (method, words, drawing), frame in values.items():
        if drawing not in ("given", "greedy") and frame["kl"].notna().all():
            rows.append(_place(world, method, words, drawing, frame["kl"], frame["reward"]))
    # N samples of p, the best kept: KL <= log N - (N - 1) / N (T90).
    best = np.array([max(row) for row in own["rewards"]]) - own["mean"].to_numpy()
    n = len(own["rewards"].iloc[0])
    rows.append(_place(world, f"best-of:{n}", 1, "commit", np.full(len(own), np.log(n) - (n - 1) / n), best))
    betas, log_z = list(own["betas"].iloc[0]), np.mean([list(row) for row in own["log_z"]], axis=0)
    for row in rows:
        least = least_divergence(np.array([row["reward"] + own["mean"].mean()]), [0.0, *betas], np.array([0.0, *log_z]))
        row["least kl"] = float(least[0])
    return rows


def _place(world: str, method: str, words: int, drawing: str, kl: Any, reward: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"world": world, "method": method, "words": words, "drawing": drawing, "prompts": len(kl)}
    for name, values in (("kl", kl), ("reward", reward)):
        array = np.asarray(values, dtype=float)
        interval = (array[0],) * 3 if np.ptp(array) == 0 else mean_of(array)[0]
        row |= dict(zip((name, f"{name}, low", f"{name}, high"), map(float, interval), strict=True))
    return row
