"""Scores of a decode's texts: which are asked, which reused, and what it costs."""

from collections.abc import Sequence

import pytest
from tiny_models import bert_predictor

from rws_decode.canvas.layout import Prompt
from rws_decode.rewards import CallableReward, RewardSession, SessionReward
from rws_decode.step.cached_reward import Scorer

PREDICTOR = bert_predictor()
PROMPTS = [Prompt([2], text) for text in ("the cat", "a dog")]
SAT, RAN = (PREDICTOR.encode_prompt(word)[1:-1] for word in ("sat", "ran"))


class Counted(CallableReward):
    """The number of letters, with a session that says how often it was asked."""

    def __init__(self) -> None:
        super().__init__(lambda prompt, answer: len(prompt) + len(answer), mean=1.0, std=2.0, name="letters")
        self.batches: list[list[str]] = []

    def score(self, prompts: list[str], answers: list[str]) -> list[float]:
        self.batches.append(answers)
        return super().score(prompts, answers)


class Remembering(Counted):
    def session(self, rows: int, *, cache: bool = True) -> RewardSession:
        outer = self

        class Session:
            tokens = [0] * rows
            tokens_saved = [0] * rows

            def score(self, rows: Sequence[int], prompts: Sequence[str], answers: Sequence[str]) -> list[float]:
                for row in rows:
                    self.tokens[row] += 1 if cache else 5
                    self.tokens_saved[row] += 4 if cache else 0
                return outer.score(list(prompts), list(answers))

        return Session()


def costs(scorer: Scorer, row: int) -> tuple[int, ...]:
    """Return texts scored, scores reused, tokens run and tokens kept."""
    return tuple(scorer.costs(row).values())


def test_a_text_is_scored_once_per_row_in_one_batch() -> None:
    reward = Counted()
    scorer = Scorer(PREDICTOR, reward, PROMPTS)
    raw, normalised = scorer.score([0, 1], [SAT, SAT])
    assert (raw.tolist(), normalised.tolist()) == ([10.0, 8.0], [4.5, 3.5])
    assert reward.batches == [["sat", "sat"]] and scorer.uses == {0: 1, 1: 1}
    raw, _ = scorer.score([0, 1], [RAN, SAT])
    assert raw.tolist() == [10.0, 8.0] and reward.batches[1:] == [["ran"]] and scorer.uses == {0: 1, 1: 2}
    raw, _ = scorer.score([1], [SAT])
    assert raw.tolist() == [8.0] and len(reward.batches) == 2 and scorer.uses == {1: 2}
    assert costs(scorer, 0) == (2, 0, 0, 0) and costs(scorer, 1) == (1, 2, 0, 0)  # tokens are not told


def test_without_reuse_every_text_is_scored() -> None:
    reward = Counted()
    scorer = Scorer(PREDICTOR, reward, PROMPTS, reuse=False)
    for _ in range(3):
        assert scorer.score([0, 1], [SAT, SAT])[0].tolist() == [10.0, 8.0] and scorer.uses == {0: 1, 1: 1}
    assert len(reward.batches) == 3 and costs(scorer, 0)[:2] == (3, 0)


@pytest.mark.parametrize(("cache", "counts"), [(True, (2, 8)), (False, (10, 0))])
def test_a_session_is_used_where_a_reward_model_has_one(cache: bool, counts: tuple[int, int]) -> None:
    reward = Remembering()
    assert isinstance(reward, SessionReward) and not isinstance(Counted(), SessionReward)
    scorer = Scorer(PREDICTOR, reward, PROMPTS, cache=cache)
    for answer in (SAT, RAN, SAT):
        scorer.score([1], [answer])
    assert costs(scorer, 1)[2:] == counts and costs(scorer, 0)[2:] == (0, 0)
    assert reward.batches == [["sat"], ["ran"]]


def test_a_session_that_scores_no_number_is_named() -> None:
    reward = Remembering()
    reward.score = lambda prompts, answers: [float("nan")]  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=r"reward model letters scored nan for prompt 'the cat'"):
        Scorer(PREDICTOR, reward, PROMPTS).score([0], [SAT])
