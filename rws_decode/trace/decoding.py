"""The outcome of a decode: the traces of its prompts, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.page import notebook_html
from rws_decode.trace.data import check_known
from rws_decode.trace.labels import constant_factor, constant_note, missing_note, run_label, trace_line
from rws_decode.trace.trace import Trace
from rws_theory.show import clipped, shortened

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Decoding(Sequence[Trace]):
    """The outcome of a decode: a sequence of one Trace per prompt, in order.

    `forwards`: forwards of the predictor, a batch counting once; `reward_calls`: texts scored; `reward_calls_saved`:
    scores reused or not needed.
    """

    traces: tuple[Trace, ...]
    forwards: int

    def __repr__(self) -> str:
        name = type(self).__name__
        if len(self.traces) == 1:
            return f"{name}({trace_line(self.traces[0], 116 - len(name))})"
        labels = sorted({run_label(trace) for trace in self.traces})
        orders = [trace.god_steps for trace in self.traces]
        rewards = [trace.final_reward["raw"] for trace in self.traces if trace.final_reward is not None]
        mean = f", mean reward {np.mean(rewards):.3g}" if rewards else ""
        mean += f"; {note}" if (note := constant_note(self.traces) or missing_note(self.traces)) else ""
        size = f"{len(self.traces)} prompts, {self.forwards} forwards"
        return clipped(f"{name}({shortened(labels, 3)}: {size}, mean GOD {np.mean(orders):.2f} steps{mean})")

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, row: Any) -> Any:
        return self.traces[row]

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of one row for each prompt.

        Columns: prompt (its number), strategy, prompt_text, text, reward and reward_normalised of the final text,
        log_prob (nats), rules_broken (how many), god_tokens, god_steps, forwards, tokens_per_forward
        (`Trace.tokens_per_forward`), revisions (tokens masked again), reward_calls, changed_steps (that would have
        committed otherwise at factor 1), constant_factor (of a reward that scaled all steps alike, within 0.1 %, since
        it was saturated or of one value; NaN of others). NaN or None where something is not known.
        """
        import pandas

        return pandas.DataFrame([_row(number, trace) for number, trace in enumerate(self.traces)])

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Return the answers' token ids, int64 [B, n]."""
        return np.stack([trace.tokens for trace in self.traces])

    @property
    def texts(self) -> list[str | None]:
        """Return the answers' texts, None without a tokenizer."""
        return [trace.text for trace in self.traces]

    @property
    def reward_calls(self) -> int:
        """Return the number of texts scored; ValueError where a step map does not tell it."""
        return self._sum("reward_calls")

    @property
    def reward_calls_saved(self) -> int:
        """Return the number of scores reused or not needed; ValueError where a step map does not tell it."""
        return self._sum("reward_calls_saved")

    def _sum(self, name: str) -> int:
        for trace in self.traces:
            check_known(trace, name)
        return sum(getattr(trace, name) for trace in self.traces)


def _row(number: int, trace: Trace) -> dict[str, Any]:
    reward = {"raw": np.nan, "normalised": np.nan} if trace.final_reward is None else trace.final_reward
    return {
        "prompt": number,
        "strategy": run_label(trace),
        "prompt_text": trace.prompt_text,
        "text": trace.text,
        "reward": reward["raw"],
        "reward_normalised": reward["normalised"],
        "log_prob": np.nan if trace.log_prob is None else trace.log_prob,
        "rules_broken": np.nan if trace.rules_broken is None else len(trace.rules_broken),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "forwards": trace.forwards,
        "revisions": trace.revisions,
        "tokens_per_forward": trace.tokens_per_forward,
        "reward_calls": trace.reward_calls,
        "changed_steps": int(trace.changed.sum()) if trace.unscaled.any() else np.nan,
        "constant_factor": np.nan if (factor := constant_factor(trace)) is None else factor,
    }
