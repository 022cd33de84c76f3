"""Step 2: the rewards of completed answers, each text of a row scored once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rws_decode.canvas.layout import Prompt
from rws_decode.common.later import Floats
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel, bounds_of, check_scores, prompts_for, session_of
from rws_decode.text.dialogue import Dialogue, before_gap, filled, from_gap
from rws_decode.trace.data import NOT_NEEDED, REUSED, SCORED
from rws_theory.gain import normalise


class Rewards(NamedTuple):
    """The rewards of b rows: raw and normalised, float64 [b], NaN where not needed.

    use: int8 [b], one of `data.SCORED`, REUSED, NOT_NEEDED. assumed: the normalised rewards, with one within the
    model's bounds where none was needed: any leads to the same choice.
    """

    raw: Tensor
    normalised: Tensor
    use: Tensor
    assumed: Tensor


class Scorer:
    """Scores the answers to prompts, which are numbered as `prompts` are.

    reuse: a text that was scored before for its row is not scored again. cache: a reward model that offers a session
    (`rewards.base.SessionReward`) remembers what it read of each row. Neither changes a score but for rounding. Of a
    dialogue, a model that reads turns is given these, another its plain text (`rewards.base.prompts_for`). The answer
    to a prompt with gaps is what follows the text before the first of them, completed: `rests` holds it, ids from the
    first mask on. ValueError where there is no text to read.
    """

    def __init__(
        self,
        predictor: MaskPredictor,
        model: RewardModel,
        prompts: Sequence[Prompt],
        *,
        reuse: bool = True,
        cache: bool = True,
    ) -> None:
        self.predictor = predictor
        self.rests = [from_gap(prompt.ids, predictor.mask_id) for prompt in prompts]
        self.model = model
        sources = [
            before_gap(prompt.text or "") if rest else prompt.said
            for prompt, rest in zip(prompts, self.rests, strict=True)
            if prompt.said is not None
        ]
        if len(sources) < len(prompts) or predictor.decode_answer([]) is None:
            raise ValueError(f"reward {model.name} reads text: predictor {predictor.name} has no tokenizer")
        self.prompts = prompts_for(model, sources)
        self.reuse = reuse
        self.bounds = low, high = bounds_of(model)
        self.rewards = ((low - model.mean) / model.std, (high - model.mean) / model.std)  # the normalised ones' bounds
        self._session = session_of(model, len(self.prompts), cache=cache)
        self._known: list[dict[str, Any]] = [{} for _ in prompts]
        self._asked, self._scored = Counter[int](), Counter[int]()  # texts of each row
        self.uses: dict[int, int] = {}  # of each row of the last call, whether its text was scored or reused

    def score(self, rows: Sequence[int], answers: Sequence[list[int]]) -> tuple[Floats, Floats]:
        """Return raw and normalised rewards of the answers of some rows, [len(rows)] each, new texts in one batch."""
        raw = np.array(self.scores(rows, [self.text(*pair) for pair in zip(rows, answers, strict=True)]))
        return raw, np.asarray(normalise(raw, self.model.mean, self.model.std))

    def scores(self, rows: Sequence[int], texts: Sequence[str]) -> list[Any]:
        """Return the raw scores of texts of some rows, [len(rows)], new texts in one batch."""
        pairs = list(zip(rows, texts, strict=True))
        new = [(row, text) for row, text in pairs if not self.has(row, text)]
        new = list(dict.fromkeys(new)) if self.reuse else new  # copies of a prompt may have one text
        for (row, text), score in zip(new, self.ask(new) if new else (), strict=True):
            self._known[row][text] = score
        self.uses = dict.fromkeys(rows, REUSED) | {row: SCORED for row, _ in new}
        self._asked.update(rows)
        self._scored.update(row for row, _ in new)
        return [self._known[row][text] for row, text in pairs]

    def has(self, row: int, text: str) -> bool:
        """Return whether `scores` would reuse the score of a row's text."""
        return self.reuse and text in self._known[row]

    def ask(self, new: Sequence[tuple[int, str]]) -> Any:
        """Return the model's scores of texts, given with their rows."""
        prompts = [self.prompts[row] for row, _ in new]
        return self.check(prompts, self._session.score([row for row, _ in new], prompts, [text for _, text in new]))

    def check(self, prompts: Sequence[str | Dialogue], scores: Sequence[float]) -> list[float]:
        """Return the scores; ValueError, naming the model, where one is not finite or outside the model's bounds."""
        checked = check_scores(self.model.name, prompts, scores)
        for score in checked:
            if not self.bounds[0] <= score <= self.bounds[1]:
                raise ValueError(f"reward model {self.model.name} scored {score}: its bounds are {self.bounds}")
        return checked

    def recall(self, row: int, answer: Sequence[int]) -> float | None:
        """Return the raw score that is known of a row's answer, None if its text was not scored."""
        return self._known[row].get(self.text(row, answer))

    def text(self, row: int, answer: Sequence[int]) -> str:
        """Return the text that is scored for a row's answer: with gaps, the rest that it completes."""
        rest = self.rests[row]
        return self.predictor.decode_answer(filled(rest, answer, self.predictor.mask_id) if rest else answer) or ""

    def costs(self, row: int) -> dict[str, int]:
        """Return what a row's rewards cost, by the names of `trace.Trace`: texts, scores reused, tokens."""
        scored, session = self._scored[row], self._session
        costs = {"reward_calls": scored, "reward_calls_saved": self._asked[row] - scored}
        return costs | {"reward_tokens": session.tokens[row], "reward_tokens_saved": session.tokens_saved[row]}


def score_rows(scorer: Scorer, rows: Tensor, tokens: Tensor, needed: Tensor) -> Rewards:
    """Score the completed answers of the rows that need it.

    rows: int64 [b], the prompts' numbers; tokens: int64 [b, n], the completed answers; needed: bool [b].
    """
    raw, normalised = (torch.full((len(rows),), torch.nan, dtype=torch.float64) for _ in range(2))
    use = torch.full((len(rows),), NOT_NEEDED, dtype=torch.int8)
    scored = rows[needed].tolist()
    if scored:
        places = needed.cpu()
        raw[places], normalised[places] = map(torch.from_numpy, scorer.score(scored, tokens[needed].tolist()))
        use[places] = torch.tensor([scorer.uses[row] for row in scored], dtype=torch.int8)
    inside = float(np.clip(0.0, *scorer.rewards))
    return Rewards(raw, normalised, use, torch.where(normalised.isnan(), inside, normalised))
