"""Pairwise comparison of answers by a language model behind any OpenAI-compatible endpoint.

The paper's Appendix "LLM-as-a-judge Evaluation Details": two answers, one character back, both orders. Its prompt holds
no question; `LLMJudge(prompt="with-question")` is our own that does. `compare` needs `pip install "rws-toolkit[judge]"`
and, for an endpoint elsewhere, the environment variable OPENAI_API_KEY; the rest, such as reading stored verdicts, does
not.

>>> from tempfile import TemporaryDirectory
>>> judge = LLMJudge("judge", "http://localhost:8000/v1")
>>> pairs = [("Why is the sky blue?", "Rayleigh scattering.", "It is painted."), ("Why?", "Because.", "Because.")]
>>> with TemporaryDirectory() as folder:
...     print(estimate_cost(judge, pairs, folder).requests, compare(judge, pairs[1:], folder)[0].outcome)
2 draw
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paper_figures.judging.cache import CacheWarning
from paper_figures.judging.comparing import compare
from paper_figures.judging.cost import CostEstimate, estimate_cost
from paper_figures.judging.judge import LLMJudge
from paper_figures.judging.plan import Pair
from paper_figures.judging.prompts import PROMPTS, JudgePrompt, judge_messages
from paper_figures.judging.verdicts import Comparison, Verdict

if TYPE_CHECKING:
    from paper_figures.judging.rates import JudgeRates, judge_rates

__all__ = [
    "PROMPTS",
    "CacheWarning",
    "Comparison",
    "CostEstimate",
    "JudgePrompt",
    "JudgeRates",
    "LLMJudge",
    "Pair",
    "Verdict",
    "compare",
    "estimate_cost",
    "judge_messages",
    "judge_rates",
]


def __getattr__(name: str) -> Any:
    # Rates take their intervals from paper_figures.statistics.metrics, which imports PyTorch: asking a judge needs none.
    if name in ("JudgeRates", "judge_rates"):
        from paper_figures.judging import rates

        return getattr(rates, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
