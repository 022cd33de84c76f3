"""The story language: what is sampled is coherent, what is broken is named, probabilities are exact."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.extra.story_tasks import KINDS, corrupt, sample_task
from rws_decode.extra.stories import grammar
from rws_decode.extra.stories.answers import judge
from rws_decode.extra.stories.check import VIOLATIONS, read_story
from rws_decode.extra.stories.grammar import START, WEIGHTS, PlotState, after, allowed_beats, domain, feasible_beats
from rws_decode.extra.stories.sample import sample_story

STORY = (
    "the brave chemist mara worked at the crater . she owned two magnetic lenses . her friend ivo wanted to see them . "
    "mara gave the lenses to ivo . ivo kept them safe at the crater . the crater was scorched by the meteor . "
    "in the end mara was honoured ."
)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from(sorted(grammar.BANDS)), st.sampled_from(KINDS))
def test_every_sampled_answer_is_coherent_with_positive_probability(seed: int, band: str, kind: str) -> None:
    task = sample_task(Random(seed), kind, band)
    judged = judge(task.prompt, task.answer)
    assert judged.kind == kind and judged.coherent
    assert judged.log_probability is not None and math.isfinite(judged.log_probability)
    assert len(task.answer.split()) < task.length
    if kind == "keywords":
        assert 40 <= len(task.answer.split()) <= 120


@given(seeds, st.integers(1, 6))
def test_coherence_is_positive_probability_for_broken_texts_too(seed: int, count: int) -> None:
    rng = Random(seed)
    task = sample_task(rng, rng.choice(KINDS))
    judged = judge(task.prompt, corrupt(task.answer, rng, count))
    assert judged.log_probability is not None
    assert judged.coherent == math.isfinite(judged.log_probability)
    assert {violation.kind for violation in judged.violations} <= set(VIOLATIONS)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("ivo kept", "mara kept", "holder"),
        ("safe at the crater", "safe at the quarry", "place"),
        ("she owned", "he owned", "pronoun"),
        ("see them", "see it", "number"),
        ("gave the lenses", "gave the lens", "number"),
        ("gave the lenses", "gave the flasks", "object"),
        ("scorched by the meteor", "darkened by the meteor", "effect"),
        ("honoured", "alone", "ending"),
        ("end mara", "end lena", "name"),
        ("to ivo", "to lena", "name"),
        ("friend ivo", "friend mara", "name"),
        ("mara gave the lenses to ivo . ", "ivo returned the lenses to mara . ", "plot"),
        ("her friend ivo wanted to see them . ", "", "plot"),
        ("she owned two magnetic lenses", "she owned two magnetic drums", "topic"),
        ("wanted to see", "wanted see to", "grammar"),
        ("in the end mara was honoured .", "", "plot"),
        ("mara gave the lenses to ivo . ivo kept them safe at the crater .", "", "length"),
    ],
)
def test_each_rule_broken_is_named(old: str, new: str, kind: str) -> None:
    assert read_story(STORY, band="short").violations == ()
    assert old in STORY
    assert kind in {each.kind for each in read_story(STORY.replace(old, new), band="short").violations}


def _completions(state: PlotState, left: int) -> list[tuple[str, ...]]:
    """All ways to finish, by brute force over the preconditions."""
    if left == 0:
        return [()] if "end" in state.used else []
    if "end" in state.used:
        return []
    return [(beat, *rest) for beat in allowed_beats(state) for rest in _completions(after(state, beat), left - 1)]


def test_feasible_beats_are_those_of_the_plots_that_can_be_finished() -> None:
    for left in (4, 5, 6):
        assert feasible_beats(START, left) == ("open",)
        state = after(after(START, "open"), "find")
        assert set(feasible_beats(state, left)) == {plot[0] for plot in _completions(state, left)}


def _share(beat: str, state: PlotState, left: int) -> float:
    """The probability of a beat, from the printed weights."""
    weights = [WEIGHTS.get(other, 1) for other in feasible_beats(state, left)]
    return WEIGHTS.get(beat, 1) / sum(weights)


def test_log_probability_equals_the_product_written_out() -> None:
    # Sentence count 1/2, topic 1/10, then beat, template and draws of each sentence.
    bound = {"H": "mara", "P": "crater"}
    draws = [
        (24, 10, 76, 14),  # open: trait, job, hero, place
        (18, 10, 34),  # find: number two, adjective, object (the factor 18 = 2 * 9)
        (12, len(domain("G", "science", bound))),  # meet: relation, helper
        (),  # give
        (),  # state
        (8,),  # cause
        (),  # end
    ]
    beats = ("open", "find", "meet", "give", "state", "cause", "end")
    wordings = (0.7, 0.2, 0.7, 0.7, 0.1, 0.2, 0.7)
    expected = -math.log(2) - math.log(10)
    state = START
    for index, (beat, wording, counts) in enumerate(zip(beats, wordings, draws, strict=True)):
        expected += math.log(_share(beat, state, 7 - index) * wording) - sum(map(math.log, counts))
        state = after(state, beat)
    assert read_story(STORY, band="short").log_probability() == pytest.approx(expected)


def test_sampled_frequencies_follow_the_probabilities() -> None:
    rng = Random(7)
    pinned = dict(zip("HTJPNAOC", "mara kind chemist crater one fragile lens leak".split(), strict=True))
    count = 2000
    counts = Counter(sample_story(rng, topic="science", pinned=pinned).beats for _ in range(count))
    for beats, times in counts.most_common(5):
        state, probability = START, 0.5
        for index, beat in enumerate(beats):
            probability *= _share(beat, state, len(beats) - index)
            state = after(state, beat)
        assert abs(times / count - probability) < 5 * math.sqrt(probability / count)
