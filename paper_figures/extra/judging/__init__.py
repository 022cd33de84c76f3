"""Which of two answers a language model prefers, asked in both orders behind any OpenAI-compatible endpoint.

The paper's Appendix "LLM-as-a-judge Evaluation Details": two answers, one character back, both orders. Its prompt holds
no question; our own prompt does: `LLMJudge(prompt="with-question")`. `compare` needs `pip install "rws-toolkit[judge]"`
and, for an endpoint elsewhere, the environment variable OPENAI_API_KEY. Reading stored verdicts needs neither.

>>> from tempfile import TemporaryDirectory
>>> judge = LLMJudge("judge", "http://localhost:8000/v1")
>>> pairs = [("Why is the sky blue?", "Rayleigh scattering.", "It is painted."), ("Why?", "Because.", "Because.")]
>>> with TemporaryDirectory() as folder:
...     print(count_requests(judge, pairs, folder).requests, compare(judge, pairs[1:], folder)[0].outcome)
2 draw
"""

from __future__ import annotations

from paper_figures.extra.judging.asking import Pair, RequestCount, compare, count_requests
from paper_figures.extra.judging.judge import PROMPTS, JudgePrompt, LLMJudge, judge_messages, judge_settings
from paper_figures.extra.judging.verdicts import CacheWarning, PairVerdict, Verdict

__all__ = [
    "PROMPTS",
    "CacheWarning",
    "JudgePrompt",
    "LLMJudge",
    "Pair",
    "PairVerdict",
    "RequestCount",
    "Verdict",
    "compare",
    "count_requests",
    "judge_messages",
    "judge_settings",
]
