"""A masked language model of residues or of SMILES as a mask predictor."""

from __future__ import annotations

from typing import Any

from rws_decode.extra.sequences.alphabets import Alphabet
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.text.dialogue import Dialogue, masks_in, without_gaps
from rws_theory.show import quoted


class SequencePredictor(HFMaskPredictor):
    """A masked language model of residues or of SMILES, which fills gaps: the tokens around them have no blanks.

    A prompt is a sequence with gaps [MASK:n], or [CLS], tokens and masks, and [SEP] as ids. Only tokens of the alphabet
    are committed: no [UNK], [CLS] or [SEP] and no unused one. ValueError for a text without a gap, since masks after
    its [SEP] would be of no sequence, and for unknown tokens.
    """

    def __init__(self, model: Any, alphabet: Alphabet, *, name: str, mask_id: int | None = None, **more: Any) -> None:
        tokenizer = alphabet.tokenizer(model.config.max_position_embeddings)
        super().__init__(model, tokenizer, name=name, mask_id=mask_id, end_ids=(), **more)
        self.alphabet = alphabet
        words = set(alphabet.words.values())
        self.forbidden_ids = tuple(token for token in range(self.vocab_size) if token not in words)

    def encode_dialogue(self, dialogue: Dialogue) -> list[int]:
        """Return [CLS], a sequence's tokens with masks in its gaps, and [SEP]; ValueError as of the class."""
        text = dialogue.text
        self.alphabet.check(self.name, without_gaps(text))
        if not masks_in(text):
            raise ValueError(
                f"prompt is {quoted(text, 60)}: {self.name} fills gaps, give one, as in --infill "
                f"{text.strip()[:60] + '[MASK:20]'!r}"
            )
        return super().encode_dialogue(dialogue)
