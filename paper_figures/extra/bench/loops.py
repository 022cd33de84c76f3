"""Time decoding against the loops that users run today, and count the work that it saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from paper_figures.extra.bench.plain_loop import plain_loop, plain_rws
from paper_figures.extra.bench.roofline import measured
from rws_decode.decode import decode
from rws_decode.predictors.base import MaskPredictor, before_end, ends_of
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Savings, Shape
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.trace.decoding import Decoding

_Task = Callable[[], Any]


def bench(
    predictor: MaskPredictor,
    reward: RewardModel,
    prompts: Sequence[str],
    *,
    shape: Shape,
    reward_scale: float = 8.0,
    repeats: int = 2,
    advance: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Decode the prompts in every way, in turn, `repeats` times; a way's seconds are the sum of its fastest decodes.

    advance: called after each prompt of each time.

    The ways, each with its seconds, forwards, reward calls and tokens:
    "plain", the published loop (`plain_loop.plain_loop`), a prompt at a time; "plain at once", the same loop over all
    prompts of one length together; "one" and "all": `decode` with every saving, a prompt at a time and all at once;
    "whole one" and "whole all": without any saving, so that all positions are filled. "naive rws", "rws one",
    "rws all", "rws whole one": the same for RWS (`plain_loop.plain_rws`).

    Each is compared with the plain loop. `same_text`: prompts with the same text; `same_tokens`: with the same tokens,
    up to the first end of text; `same_answer`: with the same tokens to the last (rows that end early are filled with
    the end of text); `near`: of those whose text differs, how many have ties or near-ties in their trace, which explain
    it. `ratios`: throughput over the plain loop's, RWS's overhead over confidence as a share of the naive loop's, and
    seconds of a batch-invariant decode (`Savings.batch_invariant`) over those of one batch.
    """
    sized = shape.resolved()
    sizes = {"length": sized.length, "steps": sized.steps, "block": sized.block}
    ids = [predictor.encode_prompt(prompt) for prompt in prompts]
    by_length: dict[int, list[int]] = {}
    for row, tokens in enumerate(ids):
        by_length.setdefault(len(tokens), []).append(row)

    def plain(rows: list[int]) -> _Task:
        return partial(plain_loop, predictor, torch.tensor([ids[r] for r in rows], device=predictor.device), **sizes)

    def ours(rws: bool, savings: Savings, at_once: bool) -> list[_Task]:
        strategy, model = (RWS(reward_scale), reward) if rws else (Confidence(), None)
        groups = [list(prompts)] if at_once else [[prompt] for prompt in prompts]
        settings: dict[str, Any] = {"shape": shape, "reward": model, "savings": savings}
        return [partial(decode, predictor, group, strategy, **settings) for group in groups]

    every, none = Savings.everything(), Savings.nothing()
    ways: dict[str, list[_Task]] = {
        "plain": [plain([row]) for row in range(len(ids))],
        "plain at once": [plain(rows) for rows in by_length.values()],
        "whole one": ours(False, none, False),
        "whole all": ours(False, none, True),
        "one": ours(False, every, False),
        "all": ours(False, every, True),
        "naive rws": [partial(plain_rws, predictor, reward, prompt, reward_scale, **sizes) for prompt in prompts],
        "rws whole one": ours(True, none, False),
        "rws one": ours(True, every, False),
        "rws all": ours(True, every, True),
    }
    best = {name: [float("inf")] * len(tasks) for name, tasks in ways.items()}
    outcomes: dict[str, list[Any]] = {name: [None] * len(tasks) for name, tasks in ways.items()}
    with torch.inference_mode():
        for _ in range(repeats):
            # Prompt by prompt in turn, so that a machine that slows down slows all ways alike.
            for number in range(len(ids)):
                for name, tasks in ways.items():
                    if number < len(tasks):
                        timed = measured(tasks[number], predictor.device)
                        outcomes[name][number] = timed.outcome
                        best[name][number] = min(best[name][number], timed.seconds)
                advance()
    seconds = {name: sum(times) for name, times in best.items()}
    order = [row for rows in by_length.values() for row in rows]
    together = {row: tokens for row, tokens in zip(order, _answers(outcomes["plain at once"]), strict=True)}
    answers = {name: _answers(runs) for name, runs in outcomes.items()}
    answers["plain at once"] = [together[row] for row in range(len(ids))]
    reference = {rws: answers["naive rws" if rws else "plain"] for rws in (False, True)}
    rows = []
    for name in ways:
        compared = _compared(predictor, outcomes[name], answers[name], reference["rws" in name])
        rows.append({"way": name, "seconds": seconds[name]} | compared)
    return {
        "model": predictor.name,
        "reward": reward.name,
        "prompts": len(prompts),
        **sizes,
        "reward_scale": reward_scale,
        "threads": torch.get_num_threads(),
        "device": str(predictor.device),
        "repeats": repeats,
        "ways": rows,
        "ratios": _ratios(seconds),
    }


def _ratios(seconds: dict[str, float]) -> dict[str, float]:
    overhead = seconds["naive rws"] - seconds["plain"]
    return {
        "one prompt": seconds["plain"] / seconds["one"],
        "all at once": seconds["plain"] / seconds["all"],
        "all at once over plain at once": seconds["plain at once"] / seconds["all"],
        "one prompt, every position": seconds["plain"] / seconds["whole one"],
        "all at once, every position": seconds["plain"] / seconds["whole all"],
        "rws overhead, one prompt": (seconds["rws one"] - seconds["one"]) / overhead,
        "rws overhead, all at once": (seconds["rws all"] - seconds["all"]) / overhead,
        # A batch-invariant decode runs the forwards of a prompt at a time.
        "batch-invariant cost": seconds["one"] / seconds["all"],
        "batch-invariant cost, rws": seconds["rws one"] / seconds["rws all"],
    }


def _answers(runs: Sequence[Any]) -> list[list[int]]:
    """Return the tokens of each prompt, of plain runs or of decodings."""
    return [row.tolist() for run in runs for row in run.tokens]


def _compared(
    predictor: MaskPredictor, runs: Sequence[Any], answers: list[list[int]], reference: list[list[int]]
) -> dict[str, Any]:
    ends = ends_of(predictor)
    traces = [trace for run in runs if isinstance(run, Decoding) for trace in run]
    same = [before_end(a, ends) == before_end(b, ends) for a, b in zip(answers, reference, strict=True)]
    texts = [predictor.decode_answer(a) == predictor.decode_answer(b) for a, b in zip(answers, reference, strict=True)]
    unsure = [
        not equal and bool(trace.ties.any() or trace.near_ties.any() or trace.near_tokens.any())
        for equal, trace in zip(same, traces, strict=bool(traces))
    ]
    return {
        "forwards": sum(run.forwards for run in runs) if traces else None,
        "reward_calls": sum(run.reward_calls for run in runs),
        "reward_calls_saved": sum(trace.reward_calls_saved for trace in traces),
        "reward_tokens_saved": sum(trace.reward_tokens_saved for trace in traces),
        "same_tokens": sum(same),
        "same_answer": sum(a == b for a, b in zip(answers, reference, strict=True)),
        "same_text": sum(texts),
        "near": sum(unsure),
    }
