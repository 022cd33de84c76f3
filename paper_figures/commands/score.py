"""`rws score`: the probability with which strategies write given texts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import each, loading
from rws_decode.commands.options import COUNTS, PredictorOptions, RewardOptions, parse_token_ids, threads_option
from rws_decode.commands.shown import table
from rws_decode.common.threads import torch_threads
from rws_decode.settings import Options, Shape
from rws_decode.strategies.table import check_text

if TYPE_CHECKING:
    from rws_decode.extra.log_prob import TextLaw

GROUP = "Decode"
_FEWEST = 20  # prompts that an interval needs
_LENGTH = 16  # tokens of a sampled text


@dataclass(frozen=True)
class ScoreOptions:
    """The texts, and the strategies whose log-probability of each text is asked for."""

    strategies: tuple[str, ...] = option(("default",), "strategies with their numbers", metavar="NAME[:NUMBER]")
    data: str | None = option(None, "prompts and answers as .jsonl, .json or .parquet", metavar="FILE")
    prompt_field: str | None = option(None, "of the data (default: prompt)", metavar="FIELD")
    answer_field: str | None = option(None, "of the data (default: answers, chosen and rejected, ...)", metavar="FIELD")
    prompt: str | None = option(None, "the prompt of the answer", metavar="TEXT")
    example: int | None = option(None, "or the N-th held-out prompt of the model, from 0", least=0, metavar="N")
    answer: str | None = option(None, "the answer", metavar="TEXT")
    answer_ids: str | None = option(None, "the answer as a JSON list of token ids", metavar="JSON")
    draw: int | None = option(
        None, "in place of texts: KL between the model's distribution and the strategy's, by N texts a prompt", least=1
    )
    prompts: int | None = option(None, f"of --draw: held-out prompts of the model (default: {_FEWEST})", least=_FEWEST)
    length: int | None = option(None, f"of --draw: tokens of a text (default: {_LENGTH})", least=1)
    predictor: PredictorOptions = group(PredictorOptions, "the mask predictor")
    reward: RewardOptions = group(RewardOptions, "the reward model")
    steps: int | None = option(None, "forwards (default: two tokens a step)", least=1)
    block: int | None = option(None, "tokens per block (default: at most 32, a divisor of the length)", least=1)
    counts: tuple[int, ...] | None = option(None, COUNTS, least=1)
    sampling_temperature: float = option(
        1.0, "at which tokens are sampled; 0 takes the best word", metavar="T", least=0
    )
    top_p: float = option(1.0, "draw from the fewest words with this share of the probability", metavar="P")
    top_k: int | None = option(None, "draw from so many of the likeliest words, and all that equal the last")
    seed: int = option(0, "of random-order and rws-random", least=0)
    threads: int | None = threads_option()
    json: bool = json_option()

    def __post_init__(self) -> None:
        single = [name for name in ("prompt", "example", "answer", "answer_ids") if getattr(self, name) is not None]
        texts = [name for name in ("draw", "data") if getattr(self, name) is not None] + single
        if len(texts) > 1 and texts[0] in ("draw", "data"):
            raise ValueError(f"--{texts[1].replace('_', '-')} beside --{texts[0]}: give one of them")
        if self.data is None and self.draw is None:
            for names in (("prompt", "example"), ("answer", "answer_ids")):
                if len(set(names) & set(single)) != 1:
                    one, other = (f"--{name.replace('_', '-')}" for name in names)
                    raise ValueError(f"{one} or {other} is needed, one of them, or --data FILE, or --draw N")
        for name, by in {"prompts": "draw", "length": "draw", "prompt_field": "data", "answer_field": "data"}.items():
            if getattr(self, name) is not None and getattr(self, by) is None:
                raise ValueError(f"--{name.replace('_', '-')} is of --{by}, which is not given: leave it out")
        if self.draw is not None and self.sampling_temperature == 0:
            raise ValueError("--sampling-temperature is 0: the best word alone is written, --draw needs more than 0")
        _drawn(self)
        if self.draw is not None and (self.top_p, self.top_k) != (1, None):
            name = "top-p" if self.top_p != 1 else "top-k"
            raise ValueError(f"--{name} beside --draw: the law lacks words that the world has, KL(p || q) is infinite")
        if self.answer_ids is not None:
            parse_token_ids(self.answer_ids, "--answer-ids")
        for text in self.strategies:
            if "reward" in check_text(text, "--strategies"):
                object.__setattr__(self, "reward", self.reward.needed(self.predictor.model, f"--strategies {text}"))


def score(options: ScoreOptions) -> int:
    """Say with which probability strategies write given texts.

    `--json`: a list with an object for each strategy and text: strategy, prompt, log_prob (nats; null where the
    strategy cannot write the text), per_token (nats; null alike), commit_step. For people: means over prompts.
    With `--draw`, an object for each strategy: strategy, kl_world and kl_sampler, each [mean, low, high] in nats,
    the ends null where all prompts have one value, and forwards, the mean number of a text.
    """
    pairs = [] if options.draw is not None else _pairs(options)
    loading("score", options.predictor.model, options.reward.reward)

    from rws_decode.extra.log_prob import answer_ids

    predictor = options.predictor.load()
    if options.example is not None:
        examples = predictor.examples
        if options.example >= len(examples):
            raise ValueError(f"--example is {options.example}: {predictor.name} ships {len(examples)}")
        pairs = [(examples[options.example]["prompt"], pairs[0][1])]
    reward = None if options.reward.reward is None else options.reward.load(options.predictor.loading.device)
    if options.draw is not None:
        return _divergences(predictor, reward, options)
    texts = [
        (prompt, answer if isinstance(answer, list) else answer_ids(predictor, answer)) for prompt, answer in pairs
    ]
    rows: list[dict[str, Any]] = []
    with torch_threads(options.threads):
        for strategy in each(options.strategies, "score", len(options.strategies), "strategy"):
            rows += _scored(predictor, texts, strategy, reward, options)
    print(json.dumps(rows, allow_nan=False) if options.json else _shown(rows, options))
    return 0


def _pairs(options: ScoreOptions) -> list[tuple[str, str | list[int]]]:
    """Return prompts and answers as they are given; of an example, without its prompt."""
    if options.data is None:
        given = options.answer if options.answer_ids is None else parse_token_ids(options.answer_ids, "--answer-ids")
        assert given is not None
        return [(options.prompt or "", given)]

    from paper_figures.data.pairs import read_pairs
    from paper_figures.data.rows import local_rows

    pairs = read_pairs(local_rows(options.data)[0], options.prompt_field, options.answer_field)
    return [(pair.prompt, pair.answer) for pair in pairs]


def _scored(
    predictor: Any, texts: Sequence[tuple[str, list[int]]], strategy: str, reward: Any, options: ScoreOptions
) -> list[dict[str, Any]]:
    """Return a row for each text, those of one length in one batch."""
    from rws_decode.extra.log_prob import strategy_log_prob

    rows: dict[int, dict[str, Any]] = {}
    decoding, shape = _drawn(options), _steps_of(options)
    for length in sorted({len(answer) for _, answer in texts}):
        numbers = [number for number, (_, answer) in enumerate(texts) if len(answer) == length]
        prompts, answers = zip(*(texts[number] for number in numbers), strict=True)
        size = Shape(length, **shape)
        law: TextLaw = strategy_log_prob(predictor, prompts, answers, strategy, size, reward=reward, options=decoding)
        for number, log_q, when in zip(numbers, law.log_prob.tolist(), law.commit_step.tolist(), strict=True):
            written = math.isfinite(log_q)
            rows[number] = {
                "strategy": strategy,
                "prompt": texts[number][0],
                "log_prob": log_q if written else None,
                "per_token": log_q / length if written else None,
                "commit_step": when,
            }
    return [rows[number] for number in range(len(texts))]


def _divergences(predictor: Any, reward: Any, options: ScoreOptions) -> int:
    """Print how far each strategy's sampling distribution is from the model's, with intervals over prompts."""
    import numpy as np

    from paper_figures.statistics.sampler_divergence import sampler_divergence
    from rws_decode.predictors.world import WorldPredictor

    if not isinstance(predictor, WorldPredictor):
        raise ValueError(f"--draw is given: {predictor.name} is no exact world, use --model english")
    assert options.draw is not None
    count = options.prompts or _FEWEST
    if count > len(predictor.prompts):
        raise ValueError(f"--prompts is {count}: {predictor.name} ships {len(predictor.prompts)}")
    shape, rows = Shape(options.length or sum(options.counts or ()) or _LENGTH, **_steps_of(options)), []
    with torch_threads(options.threads):
        for strategy in each(options.strategies, "score", len(options.strategies), "strategy"):
            found = sampler_divergence(
                predictor,
                predictor.prompts[:count],
                strategy,
                shape,
                draws=options.draw,
                rng=np.random.default_rng(options.seed),
                reward=reward,
                options=_drawn(options),
            )
            row: dict[str, Any] = {"strategy": strategy}
            for name, divergence in (("kl_world", found.world), ("kl_sampler", found.sampler)):
                mean, *ends = found.interval(divergence)
                row[name] = [mean, *(end if math.isfinite(end) else None for end in ends)]
            row["forwards"] = found.forwards.mean()
            rows.append(row)
    if options.json:
        print(json.dumps(rows, allow_nan=False))
        return 0
    lines = [
        [row["strategy"], *(_with_ends(*row[name]) for name in ("kl_world", "kl_sampler")), f"{row['forwards']:.2f}"]
        for row in rows
    ]
    print(table(["", "KL(p || q) [nats]", "KL(q || p) [nats]", "forwards"], lines))
    print(
        f"\np: the world's law; q: the strategy's, which chooses positions by the best words, then draws their words\n"
        f"{count} prompts, {options.draw} texts each, {shape.length} tokens in {len(shape.plan)} steps"
    )
    return 0


def _with_ends(mean: float, low: float | None, high: float | None) -> str:
    return f"{mean:z.2f}" if low is None else f"{mean:z.2f} [{low:z.2f}, {high:z.2f}]"


def _drawn(options: ScoreOptions) -> Options:
    return Options(
        sampling_temperature=options.sampling_temperature,
        drawing="commit",
        top_p=options.top_p,
        top_k=options.top_k,
        seed=options.seed,
    )


def _steps_of(options: ScoreOptions) -> dict[str, Any]:
    return {name: value for name in ("steps", "block", "counts") if (value := getattr(options, name)) is not None}


def _shown(rows: Sequence[dict[str, Any]], options: ScoreOptions) -> str:
    """Return the table of means over prompts, the texts of one prompt first averaged, with 95 % intervals."""
    import numpy as np

    from paper_figures.statistics.intervals import mean_interval

    head, lines = ["", "texts", "log q [nats]", "per token [nats]", "perplexity", "never written"], []
    fewest = math.inf
    for strategy in options.strategies:
        own = [row for row in rows if row["strategy"] == strategy]
        written = [row for row in own if row["log_prob"] is not None]
        grouped: dict[str, list[float]] = {}
        for row in written:
            grouped.setdefault(row["prompt"], []).append(row["per_token"])
        means = [float(np.mean(values)) for values in grouped.values()]
        fewest = min(fewest, len(means))
        cells = ["-", "-", "-"]
        if means:
            total, mean = np.mean([row["log_prob"] for row in written]), float(np.mean(means))
            cells = [f"{total:.2f}", f"{mean:.3f}", f"{math.exp(-mean):.1f}"]
        if len(means) >= _FEWEST:
            _, low, high = mean_interval(means)
            cells[1] += f" [{low:.3f}, {high:.3f}]"
            cells[2] += f" [{math.exp(-high):.1f}, {math.exp(-low):.1f}]"
        lines.append([strategy, str(len(own)), *cells, str(len(own) - len(written))])
    words = "log q: of the sampler that chooses positions by the best words, then draws the words of these positions"
    note = "" if fewest >= _FEWEST else f"\nno interval: it needs {_FEWEST} prompts"
    return f"{table(head, lines)}\n\n{words}{note}"
