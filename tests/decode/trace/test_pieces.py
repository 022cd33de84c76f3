"""The texts of tokens stand in a trace: each by itself, specials by their names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_trace import made
from tiny_models import bert
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from trace_files import trace_bytes
from transformers import PreTrainedTokenizerFast

from rws_decode import HFMaskPredictor, Options, Shape, Trace, decode, decode_compact, load_predictor, load_trace
from rws_decode.text.words import END

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]"]  # the ids that `tiny_models.bert` has for them
NAMES = dict(zip("pad_token unk_token cls_token sep_token mask_token eos_token".split(), SPECIALS, strict=True))


def word_piece() -> PreTrainedTokenizerFast:
    words = ["walk", "talk", "jump", "##ing", "##ed", "##s", "the", "a", ",", "."]
    core = Tokenizer(models.WordPiece({word: n for n, word in enumerate(SPECIALS + words)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    core.decoder = decoders.WordPiece()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(tokenizer_object=core, **NAMES)


def byte_level() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "c"), ("Ġc", "at"), ("a", "t")]
    merges.sort(key=lambda pair: pair == ("Ġc", "at"))  # "at" is made before it is used
    tokens = SPECIALS + letters + ["".join(pair) for pair in merges]
    core = Tokenizer(models.BPE({token: n for n, token in enumerate(tokens)}, merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    core.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(tokenizer_object=core, **NAMES)


PROMPTS = {
    "mini": "sort : two one",
    "english": "we ask for peace",
    "word piece": "the walking, talks",
    "byte level": "the cat the über",
}


def held(trace: Trace) -> set[int]:
    return {*trace.prompt.tolist(), *trace.tokens.tolist(), *trace.candidate.flatten().tolist()} - {-1}


@pytest.mark.parametrize("name", PROMPTS)
def test_every_id_of_prompt_answer_and_candidates_has_its_piece(name: str, tmp_path: Path) -> None:
    codec: Any = {"word piece": word_piece, "byte level": byte_level}.get(name, lambda: None)()
    predictor: Any = HFMaskPredictor(bert(vocab_size=len(codec)), codec, name=name) if codec else load_predictor(name)
    for options in (Options(), Options(sampling_temperature=1.0)):
        (trace,) = decode(predictor, PROMPTS[name], "default", Shape(8, 8, 8), options=options)
        assert set(trace.pieces) == {str(token) for token in held(trace)} and len(held(trace)) > 4
        for token in held(trace):
            assert trace.words([token]) == [trace.pieces[str(token)]]
            alone = predictor.decode_prompt([token])
            assert alone is not None and trace.pieces[str(token)].strip() in (alone.strip(), *SPECIALS, END, "[END]")
        again = load_trace(trace.save(tmp_path / "t.parquet"))
        assert again == trace and again.pieces == trace.pieces  # read without the predictor
    (compact,) = decode_compact(predictor, PROMPTS[name], "default", Shape(8, 8, 8))
    assert set(compact.pieces) == {str(token) for token in held(compact)}


@pytest.mark.parametrize("shape", [(64, 32, 32), (256, 256, 32), (512, 512, 512)])
@pytest.mark.parametrize("changing", [0.02, 1.0])
def test_pieces_leave_a_trace_within_its_size(shape: tuple[int, int, int], changing: float) -> None:
    trace = made(*shape, changing=changing)
    unscaled = np.zeros_like(trace.unscaled)
    for step in range(trace.steps_run):  # of a run whose scale chose others at every step
        known = np.flatnonzero(trace.eligible[step] & (trace.candidate[step] >= 0))
        unscaled[step, np.random.default_rng(step).permutation(known)[: trace.chosen[step].sum()]] = True
    pieces = {str(token): f" w{token}"[:7] for token in [*held(trace), 126_001]}  # one that it does not hold
    trace = replace(trace, unscaled=unscaled, pieces=pieces)
    assert len(trace_bytes(trace)) <= 1024 * shape[0]
