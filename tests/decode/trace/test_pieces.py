"""The texts of tokens stand in a trace: each by itself, specials by their names, and none without a tokenizer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from test_trace import made
from tiny_models import bert_predictor, llada_predictor
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rws_decode import CallablePredictor, HFMaskPredictor, Options, Shape, decode, load_predictor
from rws_decode.extra.testing.networks import EOS, MASK, bert
from rws_decode.gpu import decode_compact
from rws_decode.predictors.base import MaskPredictor, pieces_of
from rws_decode.text.words import END
from rws_decode.trace.checks import PIECES
from rws_decode.trace.file import SCHEMA, trace_bytes
from rws_decode.trace.trace import Trace, load

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]"]  # the ids that `tiny_models.bert` has for them
NAMES = dict(
    zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "eos_token"), SPECIALS, strict=True)
)


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


def named(name: str) -> MaskPredictor:
    if name in ("mini", "english"):
        return load_predictor(name)
    codec = {"word piece": word_piece, "byte level": byte_level}[name]()
    return HFMaskPredictor(bert(vocab_size=len(codec)), codec, name=name)


PROMPTS = {
    "mini": "sort : two one",
    "english": "we ask for peace",
    "word piece": "the walking, talks",
    "byte level": "the cat the über",
}


def held(trace: Trace) -> set[int]:
    """Return the ids that a trace holds."""
    ids = {*trace.prompt.tolist(), *trace.tokens.tolist(), *trace.candidate.flatten().tolist()}
    return ids - {-1}


@pytest.mark.parametrize("name", PROMPTS)
def test_every_id_of_prompt_answer_and_candidates_has_its_piece(name: str, tmp_path: Path) -> None:
    predictor = named(name)
    for options in (Options(), Options(sampling_temperature=1.0)):
        (trace,) = decode(predictor, PROMPTS[name], "default", Shape(8, 8, 8), options=options)
        assert set(trace.pieces) == {str(token) for token in held(trace)} and len(held(trace)) > 4
        for token in held(trace):
            assert trace.words([token]) == [trace.pieces[str(token)]]
            alone = predictor.decode_prompt([token])
            assert alone is not None and trace.pieces[str(token)].strip() in (alone.strip(), *SPECIALS, END, "[END]")
        again = load(trace.save(tmp_path / "t.parquet"))
        assert again == trace and again.pieces == trace.pieces  # read without the predictor
    (compact,) = decode_compact(predictor, PROMPTS[name], "default", Shape(8, 8, 8))
    assert set(compact.pieces) == {str(token) for token in held(compact)}


def test_pieces_keep_what_a_text_would_change() -> None:
    walking = named("word piece")
    assert isinstance(walking, HFMaskPredictor)
    ids = walking.encode_prompt("the walking")
    assert [pieces_of(walking, ids)[str(token)] for token in ids] == ["the", "walk", "##ing"]
    letters = named("byte level")
    ids = letters.encode_prompt("the cat ü")
    pieces = [pieces_of(letters, ids)[str(token)] for token in ids]
    assert pieces == ["the", " cat", " ", "\ufffd", "\ufffd"]  # the two bytes of ü are no text by themselves


def test_a_function_that_decodes_is_not_asked_for_masks_and_ends_of_text() -> None:
    """It reads ids before the first end of text, so that they may be nothing to it."""
    words = {2: "no", 3: "yes"}
    table = torch.tensor([[0.0, 9.0, 1.0, 2.0], [0.0, 1.0, 3.0, 2.0]])
    predictor = CallablePredictor(
        lambda canvas: table.repeat(2, 1)[: canvas.shape[1]].expand(len(canvas), -1, -1).clone(),
        mask_id=0,
        end_id=1,
        encode=lambda text: [2],
        decode=lambda ids: " ".join(words[token] for token in ids),
    )
    (trace,) = decode(predictor, [[0, 2, 0, 0]], "default", Shape(3, 3, 3))
    assert trace.pieces == {"0": "[MASK]", "1": END, "2": "no"} and trace.words(trace.tokens) == [END, END, "no"]
    (trace,) = decode(llada_predictor(), "the cat", "default", Shape(6, 6, 6))
    assert trace.pieces[str(EOS)] == END and trace.pieces["6"] == "the"  # its texts leave special tokens out


def test_without_a_tokenizer_there_are_no_pieces_and_words_gives_ids() -> None:
    silent = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, end_id=3)
    (trace,) = decode(silent, [[2]], "default", Shape(3, 3, 3))
    assert trace.pieces == {} and trace.text is None
    assert trace.words([3, 0, -1, 2]) == trace.words(np.array([3, 0, -1, 2])) == ["3", "0", "", "2"]
    mute = HFMaskPredictor(bert(), None, name="mute", mask_id=MASK)
    (trace,) = decode(mute, [[7]], "default", Shape(3, 3, 3))
    assert trace.pieces == {} and trace.to_frame(words=True)["word"].tolist() == [
        str(token) for token in trace.to_frame()["candidate"]
    ]


def test_the_table_gives_each_candidate_its_word_if_asked() -> None:
    (trace,) = decode(bert_predictor(), "the cat sat", "temperature:4", Shape(12, 5, 12))
    plain, frame = trace.to_frame(), trace.to_frame(words=True)
    assert [*frame.columns] == [*plain.columns[:6], "word", *plain.columns[6:]] and plain.columns[5] == "candidate"
    assert frame["word"].tolist() == [trace.pieces[str(token)] for token in frame["candidate"]]
    assert frame.drop(columns="word").equals(plain)


def with_pieces(trace: Trace) -> Trace:
    """Return the trace with a piece for each of its tokens, and for one that it does not hold."""
    return replace(trace, pieces={str(token): f" w{token}"[:7] for token in [*held(trace), 126_001]})


@pytest.mark.parametrize("shape", [(64, 32, 32), (256, 256, 32), (512, 512, 512)])
@pytest.mark.parametrize("changing", [0.02, 1.0])
def test_pieces_leave_a_trace_within_its_size(shape: tuple[int, int, int], changing: float) -> None:
    trace = made(*shape, changing=changing)
    unscaled = np.zeros_like(trace.unscaled)
    for step in range(trace.steps_run):  # of a run whose scale chose others at every step
        known = np.flatnonzero(trace.eligible[step] & (trace.candidate[step] >= 0))
        unscaled[step, np.random.default_rng(step).permutation(known)[: trace.chosen[step].sum()]] = True
    trace = with_pieces(replace(trace, unscaled=unscaled))
    assert len(trace_bytes(trace)) <= 1024 * shape[0]


@pytest.mark.parametrize("changing", [0.02, 1.0])
def test_pieces_of_further_candidates_are_kept_up_to_the_limit(changing: float, tmp_path: Path) -> None:
    trace = with_pieces(made(256, 256, 32, changing=changing))
    different = np.unique(trace.candidate[trace.candidate >= 0])
    assert trace.whole_candidates and (different.size > PIECES * 256) == (changing == 1.0)
    kept = np.isfinite(trace.value) | trace.chosen
    always = {*trace.prompt.tolist(), *trace.tokens.tolist(), *trace.candidate[kept].tolist()}
    everything = {*always, *different.tolist()}
    assert {int(token) for token in trace.pieces} == (always if changing == 1.0 else everything)
    assert load(trace.save(tmp_path / "t.parquet")) == trace
    footer = json.loads(pq.read_metadata(tmp_path / "t.parquet").metadata[SCHEMA.encode()])
    assert footer["trace"]["pieces"] == trace.pieces
    without = next(iter(everything - always))
    assert trace.words([without]) == ([str(without)] if changing == 1.0 else [trace.pieces[str(without)]])


class Spelling(CallablePredictor):
    """A predictor that knows the text of each token by itself."""

    def pieces(self, ids: Any) -> list[str]:
        return [f"<{token}>" for token in ids]


def test_a_predictor_may_spell_its_tokens_itself() -> None:
    predictor = Spelling(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, decode=lambda ids: "text")
    (trace,) = decode(predictor, [[2]], "default", Shape(3, 3, 3))
    assert trace.words([2, 0]) == ["<2>", "0"] and trace.pieces["3"] == "<3>"
