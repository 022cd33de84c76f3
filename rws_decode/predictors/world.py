"""An n-gram model as a mask predictor: its logits are the exact log-probabilities of the masked tokens."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.predictors.base import before_end
from rws_decode.text.dialogue import filled, gap_ids, masks_in, row_of, without_gaps
from rws_decode.text.words import Words
from rws_theory.show import clipped, printable, quoted
from rws_theory.worlds.joint_table import MASK
from rws_theory.worlds.part_memory import PartMemory

if TYPE_CHECKING:
    from rws_theory.worlds.ngram import NGram

# What config.json of a stored n-gram model says.
MODEL_TYPE = "ngram-world"

# What reading an archive of arrays raises where it is damaged.
_DAMAGED = (OSError, ValueError, EOFError, BadZipFile, zlib.error, NotImplementedError, MemoryError)


class WorldPredictor:
    """A mask predictor from an n-gram model: ids are those of the model, and the mask comes after them.

    Logits are log-probabilities in nats, float64, given all revealed words: those of the prompt, and those of the
    answer on both sides. -inf marks the mask, and at revealed positions every other word. words: the text of the ids.
    name: goes into traces. examples: held-out prompts. ValueError where the words are not as many as the model's.

    >>> from rws_theory.worlds import NGram
    >>> words = Words(["peace", "and", "war"])
    >>> world = NGram.fit([words.ids("peace and war and peace")], order=2, vocabulary=3)
    >>> predictor = WorldPredictor(world, words)
    >>> canvas = predictor.canvas("war [MASK:1] peace")
    >>> predictor.logits(canvas, None)[0, 1].exp().numpy().round(3).tolist()
    [0.244, 0.634, 0.122, 0.0]
    """

    pad_id = None
    max_length = None
    forbidden_ids: tuple[int, ...] = ()
    logits_dtype = torch.float64
    tokenizer = None

    def __init__(
        self, world: NGram, words: Words, *, name: str = "world", examples: Sequence[dict[str, Any]] = ()
    ) -> None:
        if len(words) != world.vocabulary:
            raise ValueError(f"words are {len(words)}: the world has {world.vocabulary}, name each of them")
        self.world = world
        self.words = words
        self.name = name
        self.checkpoint: Checkpoint | None = None
        self.examples = tuple(examples)
        self.device = torch.device("cpu")
        self.mask_id = world.vocabulary
        self.vocab_size = world.vocabulary + 1
        self.end_id = words.end
        self.memory: PartMemory | None = PartMemory()  # parts of canvases that a commit left alone

    def __repr__(self) -> str:
        examples = f", {len(self.examples)} examples" if self.examples else ""
        return clipped(f"{type(self).__name__}({quoted(self.name, 40)}, {self.world!r}{examples})")

    @property
    def prompts(self) -> list[str]:
        """Return the texts of `examples`."""
        return [example["prompt"] for example in self.examples]

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return log-probabilities [B, L, V + 1]; 0 on padding."""
        real = torch.ones_like(canvas, dtype=torch.bool) if attention_mask is None else attention_mask
        row, column = real.nonzero(as_tuple=True)
        logits = torch.zeros(*canvas.shape, self.vocab_size, dtype=torch.float64)
        logits[row, column] = self.logits_at(canvas, attention_mask, row, column)
        return logits

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the log-probabilities [N, V + 1] at N positions, row rising: those of all rows at once."""
        texts, contexts, wanted_columns = [], [], []
        for number in row.unique().tolist():
            wanted = column[row == number]
            real = range(canvas.shape[1]) if attention_mask is None else attention_mask[number].nonzero()[:, 0].tolist()
            shown = canvas[number, real[0] : real[-1] + 1].numpy()
            shown = np.where(shown == self.mask_id, MASK, shown)
            begin = int((shown == MASK).argmax()) if (shown == MASK).any() else len(shown)
            begin = min(begin, int(wanted.min()) - real[0])
            end = self._end(shown, int(wanted.max()) - real[0])
            texts.append(shown[begin:end])
            contexts.append(shown[:begin])
            wanted_columns.append(wanted.numpy() - real[0] - begin)
        logits = np.full((len(row), self.vocab_size), -np.inf)
        done = 0
        for rows, columns in zip(
            self.world.conditionals_batch(texts, contexts, self.memory), wanted_columns, strict=True
        ):
            logits[done : done + len(columns), :-1] = rows[columns]
            done += len(columns)
        return torch.from_numpy(logits)

    def _end(self, shown: NDArray[np.int64], last: int) -> int:
        """Return the end of the words that matter to the last one wanted: masks after all revealed words do not.

        With a reward they do: p exp(beta R) / Z is a distribution over texts of one length.
        """
        if self.world.tilted:
            return len(shown)
        revealed = np.flatnonzero(shown != MASK)
        return max(last, int(revealed[-1]) if len(revealed) else 0) + 1

    def canvas(self, text: str) -> Tensor:
        """Return a text with gaps [MASK:n] of n words as a canvas, int64 [1, L]; ValueError for unknown words."""
        if unknown := self.unknown_words(text):
            raise ValueError(f"text holds {' '.join(unknown)}: {self.name} does not know these words, use others")
        return torch.tensor([gap_ids(text, self.words.ids, self.mask_id)], dtype=torch.int64)

    def log_prob(self, prompt: Sequence[int], answer: Sequence[int]) -> float:
        """Return log p(answer | prompt), nats, of ids; in gaps, given the words on both sides."""
        row = row_of([int(token) for token in prompt], self.mask_id, len(answer))
        begin = row.index(self.mask_id)
        canvas = [MASK if token == self.mask_id else token for token in row[begin:]]
        text = filled(row, [int(token) for token in answer], self.mask_id)[begin:]
        both = self.world.log_partition(text, row[:begin])
        return both - self.world.log_partition(canvas, row[:begin])

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids of the words after the last unknown one: the model knows no text with an unknown word.

        A text with gaps is read as `canvas` does.
        """
        if masks_in(text):
            return self.canvas(text)[0].tolist()
        ids = self.words.ids(text)
        return ids[len(ids) - [*reversed(ids), -1].index(-1) :]

    def unknown_words(self, text: str) -> list[str]:
        return self.words.unknown(without_gaps(text))

    def decode_prompt(self, ids: Sequence[int]) -> str | None:
        return self.words.text(ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the word of each id, `END` and the mask by their names."""
        return ["[MASK]" if token == self.mask_id else self.words.words[token] for token in ids]

    def decode_answer(self, ids: Sequence[int]) -> str | None:
        return self.words.text(before_end(ids, () if self.end_id is None else (self.end_id,)))


def load_world(checkpoint: Checkpoint, examples: Sequence[dict[str, Any]] = ()) -> WorldPredictor:
    """Load an n-gram model, as `training.english` stores it, from `world.npz` and words.json; ValueError if damaged."""
    from rws_theory.worlds.stored import world_of  # here, so that networks do not wait for SciPy's sparse matrices

    words, path = checkpoint.read_json("words.json"), checkpoint.directory
    try:
        if path is None or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("words.json is not a list of words")
        with open(path / "world.npz", "rb") as file, np.load(file, allow_pickle=False) as stored:
            world = world_of(stored)
        return WorldPredictor(world, Words(words), name=checkpoint.name, examples=examples)
    except _DAMAGED as error:
        raise checkpoint.refused(printable(str(error), 200)) from error
