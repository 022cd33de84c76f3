"""The story grammar: beats, their sentence templates, and which beat may follow which.

A story is a sequence of beats, one sentence each. A beat is sampled by weight from those that keep the story
completable in the sentences left; its template by the shares of a usual, a rarer and a rare wording; every variable
when it is first mentioned. Word classes are disjoint and no sentence matches two templates, so a text has at most one
derivation and its probability is a product (`rws_decode.extra.stories.check`).

Why not uniformly: a decoder that commits two tokens at once takes both from the marginals, and where all wordings are
as likely it mixes two of them in one sentence whatever it has learned.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from rws_decode.extra.stories.lexicon import NAMES, TOPICS, TRAITS, plural, words

# Sentences per story and the answer length (tokens) that always holds it with an end-of-text token to spare.
BANDS: dict[str, tuple[int, ...]] = {"short": (6, 7), "medium": (9, 10), "long": (12, 13)}
CANVAS: dict[str, int] = {"short": 64, "medium": 96, "long": 128}

# Slots. Sampled when first mentioned: H hero, G helper, T trait, J job, P place, Q second place, N number, A adjective,
# O object, Y day, L relation, V task, D deadline, C cause, F feeling. Derived: HE HIS HIM (hero's pronouns), IT WAS
# (number agreement), E effect of C, W past of V, R the ending that T leads to, K who holds the object, U where it is.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "open": (
        "the {T} {J} {H} worked at the {P} .",
        "{H} was the {T} {J} of the {P} .",
        "at the {P} lived {H} , the {T} {J} .",
    ),
    "find": (
        "on {Y} {HE} found {N} {A} {O} .",
        "{HE} owned {N} {A} {O} .",
        "{HE} had bought {N} {A} {O} there .",
    ),
    "meet": (
        "{HIS} {L} {G} wanted to see {IT} .",
        "{HE} showed {IT} to {HIS} {L} {G} .",
        "then {G} , {HIS} {L} , came in .",
    ),
    "promise": (
        "{H} promised to {V} {IT} before {D} .",
        "{G} asked {HIM} to {V} {IT} by {D} .",
        "{HE} swore to {V} the {O} by {D} .",
    ),
    "fulfil": (
        "before {D} {HE} {W} {IT} as agreed .",
        "{H} kept {HIS} word and {W} {IT} .",
        "by {D} {HE} had {W} the {O} .",
    ),
    "forget": (
        "but {H} forgot to {V} {IT} .",
        "{D} came and {HE} never {W} {IT} .",
        "{G} saw that nobody {W} the {O} .",
    ),
    "cause": (
        "then the {C} left the {P} {E} .",
        "the {P} was {E} by the {C} .",
        "after the {C} the {P} looked {E} .",
    ),
    "move": (
        "so {HE} carried {IT} to the {Q} .",
        "{H} moved {IT} into the {Q} .",
        "{HE} hid the {O} inside the {Q} .",
    ),
    "give": (
        "{H} gave the {O} to {G} .",
        "{HE} handed {IT} over to {G} .",
        "later {G} received {IT} from {HIM} .",
    ),
    "steal": (
        "{G} secretly took the {O} .",
        "at night {G} stole {IT} from {HIM} .",
        "{G} grabbed {IT} and ran away .",
    ),
    "return": (
        "{G} returned the {O} to {H} .",
        "soon {G} brought {IT} back to {HIM} .",
        "{G} apologised and gave {IT} back .",
    ),
    "refuse": (
        "{H} refused to sell the {O} .",
        "{G} offered money but {HE} refused .",
        "{HE} would not lend {IT} to {G} .",
    ),
    "state": (
        "now {K} had {IT} at the {U} .",
        "the {O} {WAS} with {K} in the {U} .",
        "{K} kept {IT} safe at the {U} .",
    ),
    "feel": (
        "the {C} made {G} very {F} .",
        "{G} felt {F} about the {C} .",
        "{G} was {F} when the {C} ended .",
    ),
    "news": (
        "{G} wrote to {H} about the {C} .",
        "news of the {C} reached {G} .",
        "{H} told {G} about the {C} .",
    ),
    "look": (
        "everyone praised the {A} {O} .",
        "there {WAS} {N} {O} in the {U} .",
        "people said the {O} {WAS} {A} .",
    ),
    "end": (
        "in the end {H} was {R} .",
        "being {T} , {HE} ended up {R} .",
        "so the {T} {J} was finally {R} .",
    ),
}

# The share of a beat's first, second and third wording.
SHARES: tuple[float, float, float] = (0.7, 0.2, 0.1)

# How much likelier than the others a beat is where several may follow.
WEIGHTS: dict[str, int] = {"meet": 6, "cause": 6, "promise": 3, "fulfil": 6, "state": 3}


class PlotState(NamedTuple):
    """What the plot remembers: the beats used, who holds the object, where it is (first or second place)."""

    used: frozenset[str]
    holder: str
    place: str


START = PlotState(frozenset(), "H", "P")

# Beats that a beat comes after.
_NEEDS = {
    **dict.fromkeys(("promise", "give", "steal", "refuse"), ("meet",)),
    **dict.fromkeys(("feel", "news"), ("meet", "cause")),
    **dict.fromkeys(("fulfil", "forget"), ("promise",)),
    "end": ("cause",),
}
_NEEDS_HERO_HOLDING = {"promise", "fulfil", "forget", "move", "give", "steal", "refuse"}


def allowed_beats(state: PlotState) -> tuple[str, ...]:
    """Return the beats whose preconditions hold, in a fixed order.

    >>> allowed_beats(START)
    ('open',)
    >>> allowed_beats(PlotState(frozenset({'open', 'find', 'meet', 'give'}), 'G', 'P'))
    ('cause', 'return', 'state', 'look')
    """
    used = state.used
    if "open" not in used:
        return ("open",)
    if "find" not in used:
        return ("find",)
    resolved = "fulfil" in used or "forget" in used
    out = []
    for beat in TEMPLATES:
        if beat in used or not used.issuperset(_NEEDS.get(beat, ())):
            continue
        if beat in _NEEDS_HERO_HOLDING and state.holder != "H":
            continue
        if beat == "return" and state.holder != "G":
            continue
        if beat in ("fulfil", "forget") and resolved:
            continue
        if beat == "end" and "promise" in used and not resolved:
            continue
        out.append(beat)
    return tuple(out)


def after(state: PlotState, beat: str) -> PlotState:
    """Return the plot state after one beat.

    >>> after(PlotState(frozenset({'open', 'find', 'meet'}), 'H', 'P'), 'steal').holder
    'G'
    """
    holder = {"give": "G", "steal": "G", "return": "H"}.get(beat, state.holder)
    return PlotState(state.used | {beat}, holder, "Q" if beat == "move" else state.place)


@cache
def _completable(state: PlotState, sentences: int) -> bool:
    if "end" in state.used:
        return sentences == 0
    return sentences > 0 and any(_completable(after(state, beat), sentences - 1) for beat in allowed_beats(state))


@cache
def feasible_beats(state: PlotState, sentences: int) -> tuple[str, ...]:
    """Return the beats from which a complete story of exactly `left` more sentences exists.

    >>> feasible_beats(PlotState(frozenset({'open', 'find', 'cause'}), 'H', 'P'), 1)
    ('end',)
    """
    return tuple(beat for beat in allowed_beats(state) if _completable(after(state, beat), sentences - 1))


def beat_weights(beats: tuple[str, ...]) -> tuple[int, ...]:
    """Return the unnormalised weights by which the next beat is sampled."""
    return tuple(WEIGHTS.get(beat, 1) for beat in beats)


# The class of words that a slot shows, but for pronouns and agreement; an object may be plural.
CLASS = {
    "H": "name", "G": "name", "K": "name", "T": "trait", "J": "job", "P": "place", "Q": "place", "U": "place",
    "N": "number", "A": "adjective", "O": "object", "Y": "day", "L": "relation", "V": "task", "W": "past",
    "D": "deadline", "C": "cause", "E": "effect", "R": "outcome", "F": "feeling",
}  # fmt: skip
_WORDS = {name: tuple(group) for name, group in words().items()}


def domain(variable: str, topic: str, bound: dict[str, str]) -> tuple[str, ...]:
    """Return the words from which a variable is sampled: helper differs from hero, the second place from the first.

    >>> len(domain("Q", "science", {"P": "crater"}))
    13
    """
    every = TOPICS[topic].classes.get(CLASS[variable]) or _WORDS[CLASS[variable]]
    other = {"G": "H", "Q": "P"}.get(variable)
    return tuple(word for word in every if word != bound[other]) if other and other in bound else every


# A derived slot that is read before its base is known ("the lab was flooded by the storm") draws the base.
BASE: dict[str, str] = {"E": "C"}

# Derived slot -> its base, and the word that it shows for each.
_DERIVED = {
    "E": ("C", {cause: effect for topic in TOPICS.values() for cause, effect in topic.causes.items()}),
    "W": ("V", {task: past for topic in TOPICS.values() for task, past in topic.tasks.items()}),
    "R": ("T", TRAITS),
}
_PRONOUNS = {"HE": ("she", "he"), "HIS": ("her", "his"), "HIM": ("her", "him")}


def surface(slot: str, bound: dict[str, str], state: PlotState) -> str | None:
    """Return the word a slot must show given the variables bound so far, or None if that is still open.

    >>> surface("HIS", {"H": "mara"}, START), surface("O", {"O": "lens", "N": "two"}, START)
    ('her', 'lenses')
    >>> surface("H", {}, START) is None
    True
    """
    if slot in _PRONOUNS:
        return _PRONOUNS[slot][NAMES[bound["H"]] == "he"] if "H" in bound else None
    if slot in ("IT", "WAS"):
        many = {"IT": ("it", "them"), "WAS": ("was", "were")}[slot]
        return many[bound["N"] != "one"] if "N" in bound else None
    if slot == "O":
        if "O" not in bound or "N" not in bound:
            return None
        return bound["O"] if bound["N"] == "one" else plural(bound["O"])
    if slot in _DERIVED:
        base, shown = _DERIVED[slot]
        return shown.get(bound.get(base, ""))
    return bound.get({"K": state.holder, "U": state.place}.get(slot, slot))
