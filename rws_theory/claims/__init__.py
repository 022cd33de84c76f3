"""The claim check: the statements of the paper that can be checked, each with a verdict that is computed when asked.

One function checks one statement of statements.json; docs/theory.md holds the proofs. `PARTS` lists them by what they
are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rws_theory.claims import example, intuition, method, own_results, reversal, reward, scales
from rws_theory.claims.claim import OURS, PAPER, REMARKS, Check, Claim, Finding, Verdict, named, source
from rws_theory.claims.tables import counts, scores, win_rates
from rws_theory.show import shortened

__all__ = ["CHECKS", "OURS", "PAPER", "PARTS", "REMARKS", "Check", "Claim", "Verdict", "claims", "source"]

# All claims in the order of the claim check, by topic.
_LEDGER: dict[str, dict[str, Callable[[], Finding]]] = {
    "the method": {
        "AB-selective": method.selective,
        "S3-gaps": method.probability_gaps,
        "S3-argmax": method.argmax_unchanged,
        "S3-factor-range": method.factor_bounds,
        "S3-more-reversals": method.more_reversals,
        "S3-adaptive": method.adaptive,
        "S3-reinforce": method.reinforce,
        "GOD-footrule": method.footrule,
        "A-forward": method.forward_process,
    },
    "Theorem 1, rank reversal": {
        "T1-exclusive": reversal.exclusive,
        "T1a-existence": reversal.low_existence,
        "T1a-unique": reversal.low_unique,
        "T1b-printed": reversal.high_printed,
        "T1b-mended": reversal.high_mended,
        "T1c-otherwise": reversal.otherwise,
        "T1-step2": reversal.step_two,
        "T1-step3": reversal.step_three,
        "T1-step4": reversal.step_four,
        "T1-increasing": reversal.strictly_increasing,
        "T1-dimension": reversal.dimension,
        "S52-low": reversal.intuition_low,
        "S52-high": reversal.intuition_high,
        "S4-most-likely": intuition.most_likely,
        "S4-gap-sum": intuition.gap_sum,
        "S4-nearest-gap": intuition.nearest_gap,
    },
    "its worked example": {
        "D-gaps": example.gap_values,
        "D-r1": example.at_one,
        "D-r2": example.at_two,
        "D-crossing": example.crossing,
    },
    "Theorem 2 and Corollary 1, reward": {
        "T2-inequality": reward.inequality,
        "T2-strict": reward.strict,
        "T2-identity": reward.identity,
        "C1-tilted": reward.tilted,
        "C1-printed": reward.as_printed,
        "C1-premise": reward.premise,
        "C1-scaling": reward.scaling,
        "C1-rws": reward.algorithm,
    },
    "tables against tables and text": {
        "TAB-winrate-mean": win_rates.winrate_mean,
        "TAB-winrate-range": win_rates.winrate_range,
        "TAB-rows-sum": win_rates.rows_sum,
        "TAB-rows-distinct": win_rates.identical_rows,
        "TAB-quintile-mean": win_rates.quintile_mean,
        "TAB-quintile-monotone": win_rates.quintile_monotone,
        "S5-god-attribution": win_rates.god_attribution,
        "S6-lowest-fifth": win_rates.lowest_fifth,
        "TAB-judge-mean": win_rates.judge_mean,
        "TAB-humaneval-gain": scores.humaneval,
        "TAB-diversity": scores.diversity,
        "TAB-god-double": scores.god_double,
        "TAB-temperature-text": scores.temperature_text,
        "TAB-temperature-one": scores.temperature_one,
        "TAB-temperature-caption": scores.temperature_caption,
        "F-temperature-quality": scores.temperature_quality,
        "TAB-overhead": scores.overhead,
        "TAB-overhead-prompts": scores.overhead_prompts,
        "TAB-memory": scores.memory,
        "TAB-frequency": scores.frequency,
        "TAB-frequency-tradeoff": scores.tradeoff,
        "TAB-quintile-counts": counts.quintile_counts,
        "TAB-winrate-chance": counts.winrate_chance,
        "TAB-judge-chance": counts.judge_chance,
        "TAB-humaneval-chance": counts.humaneval_chance,
        "J-judge-prompt": scores.judge_prompt,
        "L-coherent": scores.coherent,
    },
    "ours": {
        "N-order-invariance": own_results.order_invariance,
        "N-sampler-law": own_results.sampler_law,
        "N-random-schedule": own_results.random_schedule,
        "N-apart": own_results.apart,
        "N-quarter-law": own_results.quarter_law,
        "N-freezing": own_results.freezing,
        "N-majorisation": scales.majorisation,
        "N-stability-radius": scales.stability,
        "N-scaling-reward": scales.scaling_reward,
        "N-threshold-monotone": scales.threshold_monotone,
    },
}
PARTS = {part: {id: named(id, check) for id, check in checks.items()} for part, checks in _LEDGER.items()}
CHECKS: dict[str, Check] = {id: check for checks in PARTS.values() for id, check in checks.items()}


def claims(ids: Iterable[str] | None = None) -> Iterator[Claim]:
    """Check statements of the paper one by one, and yield the verdict, evidence, counterexample and correction of each.

    Every verdict is computed, by exact arithmetic, certified intervals and exhaustive search; all of them take about a
    minute. ids: those to check; None for all. Claims come in the order of `CHECKS`. ValueError for an unknown id.

    >>> [(claim.id, claim.verdict) for claim in claims(["D-gaps", "T1b-printed"])]
    [('T1b-printed', 'false'), ('D-gaps', 'true')]
    """
    chosen = set(CHECKS if ids is None else ids)
    unknown = sorted(chosen - set(CHECKS))
    if unknown:
        raise ValueError(f"ids has {shortened(unknown, 4)}: the ledger holds {shortened(CHECKS, 8)}")
    return (check() for claim_id, check in CHECKS.items() if claim_id in chosen)
