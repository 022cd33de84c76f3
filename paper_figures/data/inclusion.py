"""Which keywords a text includes: whole words in order, in any case and regular inflection."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Letters and digits, with apostrophes inside; a hyphen parts words, so that "fire-break" is read as "fire break".
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SPACE = re.compile(r"['\u2019]?\s+")  # a possessive may end in its apostrophe
_HYPHEN = re.compile(r"[-\u2010\u2011]")
_VOWEL = re.compile(r"[aeiouy]")
_IRREGULAR = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "men": "man",
    "mice": "mouse",
    "people": "person",
    "teeth": "tooth",
    "women": "woman",
}
# Words in -s, -ed or -ing that are no inflection of what is left when the ending is taken off.
_WHOLE = frozenset(
    "always bed breed building ceiling during evening everything feed hundred indeed morning need news nothing "
    "offspring perhaps proceed red seed series something species speed succeed weed wing".split()
)


def lemmas(word: str) -> frozenset[str]:
    """Return the words that `word`, in lower case, can be a regular inflection of, itself included.

    Rules: -'s; plural and third person -s, -es, -ies (y), -ves (f, fe); past and participle -ed, -ied (y), -ing, with
    a final e restored or a doubled consonant undone, where at least three letters and a vowel are left; eight
    irregular plurals; and a short list of words that only look inflected (evening, news). Irregular verbs and
    comparatives are not known, and derivation (-er, -ly, -ness) makes another word.

    >>> sorted(lemmas("stopped")), sorted(lemmas("leaves")), sorted(lemmas("news"))
    (['stop', 'stopp', 'stoppe', 'stopped'], ['leaf', 'leafe', 'leav', 'leave', 'leaves'], ['news'])
    """
    word = word.replace("\u2019", "'")
    word = word.removesuffix("'s").removesuffix("'")
    if word in _WHOLE:
        return frozenset({word})
    forms = {word, _IRREGULAR.get(word, word)}
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms.add(word[:-1])
        if word.endswith("ies"):
            forms.add(word[:-3] + "y")
        elif word.endswith("ves"):
            forms |= {word[:-3] + "f", word[:-3] + "fe"}
        if word.endswith("es"):
            forms.add(word[:-2])
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2 or not _VOWEL.search(stem):
            continue
        forms |= {stem, stem + "e"}
        if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
            forms.add(stem[:-1])
        if ending == "ed" and stem.endswith("i"):
            forms.add(stem[:-1] + "y")
    return frozenset(lemma for lemma in forms if lemma == word or (len(lemma) >= 3 and lemma[-1] != "'"))


def same_word(first: str, second: str) -> bool:
    """Return whether two words, in lower case, are inflections of one.

    >>> same_word("batteries", "battery"), same_word("planning", "planned"), same_word("wing", "win")
    (True, True, False)
    """
    return first == second or not lemmas(first).isdisjoint(lemmas(second))


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case and composed form; a hyphen separates words.

    >>> words_of("Papier-mâché: it's HERE")
    ['papier', 'mâché', "it's", 'here']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def included_keywords(keywords: Sequence[str], text: str) -> tuple[bool, ...]:
    """Return, for each keyword, whether the text includes it: the sum over four is the paper's rate (Section 5.4).

    A keyword is included where its words stand in the text one after another, each in any case and inflection (see
    `lemmas`), with nothing but space, or a hyphen, between them. Parts of longer words do not count, compounds with a
    hyphen among them, nor do words that a full stop or a comma parts. ValueError for a keyword without a word.

    >>> included_keywords(["fire break", "lookout tower", "crew"], "Fire-breaks saved the towers; the screw held.")
    (True, False, False)
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    # A text is runs of words that only space or a hyphen parts, each with whether it is a hyphen that stands before it;
    # a keyword is sought within one run.
    runs: list[list[tuple[str, bool]]] = []
    end = -1
    for match in _WORD.finditer(plain):
        hyphen = end >= 0 and _HYPHEN.fullmatch(plain, end, match.start()) is not None
        if not hyphen and not (end >= 0 and _SPACE.fullmatch(plain, end, match.start())):
            runs.append([])
        runs[-1].append((match[0], hyphen))
        end = match.end()
    included: list[bool] = []
    for keyword in keywords:
        words = words_of(keyword)
        if not words:
            raise ValueError(f"keyword is {keyword!r}: at least one word is needed")
        included.append(any(_stands_in(words, run) for run in runs))
    return tuple(included)


def _stands_in(words: list[str], run: list[tuple[str, bool]]) -> bool:
    glued = [hyphen for _, hyphen in run] + [False]
    return any(
        all(same_word(word, run[start + offset][0]) for offset, word in enumerate(words))
        and not glued[start]
        and not glued[start + len(words)]
        for start in range(len(run) - len(words) + 1)
    )
