"""A causal language model of this process as a judge: which of the replies 1 and 2 it finds more likely."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from paper_figures.extra.judging.verdicts import Reply
from paper_figures.statistics.causal_scores import CausalScorer
from rws_decode.common.threads import torch_threads


@dataclass(frozen=True)
class LocalEndpoint:
    """The model in the place of an endpoint: its verdict is the likelier of the tokens 1 and 2 that begin its reply.

    So it has no temperature, and every reply is a verdict unless both are as likely. ValueError for a model without a
    chat template, or messages longer than it reads.
    """

    causal: CausalScorer
    client: Any = field(default_factory=nullcontext)

    def __post_init__(self) -> None:
        if not self.causal.tokenizer.chat_template:
            raise ValueError(f"judge {self.causal.name} has no chat template: name a chat model, such as smollm2")

    async def ask(self, body: dict[str, Any]) -> Reply:
        """Return the reply to one request, of which the messages alone are read."""
        started, tokenizer = time.perf_counter(), self.causal.tokenizer
        text = tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) > self.causal.max_length:
            most = self.causal.max_length
            raise ValueError(f"judge {self.causal.name} reads at most {most} tokens: a pair makes {len(ids)}")
        first, second = (tokenizer(digit, add_special_tokens=False)["input_ids"][-1] for digit in "12")
        with torch_threads(), torch.inference_mode():
            logits = self.causal.model(input_ids=torch.tensor([ids], device=self.causal.model.device)).logits[0, -1]
        one, two = float(logits[first]), float(logits[second])
        raw = "" if one == two else "1" if one > two else "2"
        return Reply(raw, self.causal.name, "stop", len(ids), 1, time.perf_counter() - started)
