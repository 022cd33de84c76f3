"""Models that fill block after block: SDAR, Fast-dLLM v2, Dream-Reasoner and A2D's bd3lm, beside plain loops."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from block_layouts import BLOCK_LAYOUTS
from documented_commands import page, ran
from misuse import refused
from torch import Tensor

import rws_decode as rws
from paper_figures.extra.bench.plain_loop import plain_loop, plain_rws
from rws_decode import CallableReward, CompactSavings, Options, Savings, Shape, decode, decode_compact, load_predictor
from rws_decode.extra.blocks.block_causal import BlockCausalPredictor
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.predictors import forbidden_ids

BLOCK = 4
# The name of the folder, the layout, and what its config says of blocks; bd3lm has 32 whatever it says.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "sdar": ("sdar", {"block_size": BLOCK}),
    "fast-dllm-v2": ("fast-dllm-v2", {"bd_size": BLOCK}),
    "dream-reasoner": ("dream-reasoner", {"block_size": BLOCK}),
    "a2d-bd3lm": ("a2d-qwen3", {}),
    "llada2": ("llada2", {"block_size": BLOCK}),
}
SMALL = [name for name in MODELS if name != "a2d-bd3lm"]  # whose blocks are short
FILLED = (0, 4, 5)  # tokens of the answers that are there: each canvas begins with what is kept of the one before
SIDES = ("left", "right")
RULES = [(1, 1.0), (2, 1.0), (1, 0.9), (1, 0.2)]  # tokens a step, and the probability above which more go
EDITS = [(0.9, 0.95, 60.0), (0.5, 0.7, 30.0), (0.0, 0.5, 1.0)]  # edit, threshold, and a factor of all logits
RULED = [(name, *rule) for name in MODELS for rule in (RULES if name in SMALL else RULES[1::2])]
RIVALS = (
    "threshold:0.9+rws:8 entropy-bound:0.5 klass:0.4 parallel-factor:1 dus:2 certainty-prior:2 random-order remdm:0.5 "
    "p2:0.5 wino:0.9 information-gain:2 lookum:2 default+spacing:2 threshold:0.2+spacing:2"
).split()
STEERED = "best-of:2 best-order:2 particles:2+beta:2 particle-gibbs:2 svdd:2 reward-lookahead:2 tree-search:2".split()
# The authors' own networks and loops on these checkpoints (JetAstra/SDAR: generate.py and modeling_sdar.py; dllm: its
# copy of LLaDA2's network, and its samplers llada2 and bd3lm), each draw made the best token that `decode` commits.
# By model, length of the prompt, and tokens a step.
AUTHORS = {
    ("sdar", 8, 1): [196, 196, 12, 12, 228, 228, 195, 195],
    ("sdar", 8, 2): [196, 12, 12, 12, 154, 154, 196, 11],
    ("sdar", 12, 1): [249, 64, 64, 223, 177, 223, 7, 83],
    ("sdar", 12, 2): [249, 249, 64, 64, 177, 249, 249, 249],
    ("llada2", 8, 1): [137, 166, 120, 235, 263, 263, 263, 97],
    ("llada2", 8, 2): [137, 97, 13, 215, 263, 263, 13, 13],
    ("llada2", 12, 1): [187, 187, 204, 204, 204, 204, 265, 187],
    ("llada2", 12, 2): [13, 187, 120, 204, 204, 187, 187, 13],
    ("a2d-bd3lm", 8, 1): [39] * 4 + [44] * 2 + [39] * 3 + [188] * 2 + [44] + [39] * 3 + [188] * 2,
}
Models = dict[str, BlockCausalPredictor]
Networks = dict[str, Callable[..., Tensor]]
SAVINGS = (CompactSavings(), CompactSavings.nothing())
REWARD = CallableReward(lambda prompt, answer: float(sum(map(ord, prompt + answer)) % 97), mean=48.0, std=20.0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("blocks")
    return {name: tiny_checkpoint(layout, root / name, config=config) for name, (layout, config) in MODELS.items()}


@pytest.fixture(scope="module")
def models(folders: dict[str, Path]) -> Models:
    loaded: Any = {name: load_predictor(str(each), chat=False, progress=False) for name, each in folders.items()}
    return loaded


@pytest.fixture(scope="module")
def networks(models: Models) -> Networks:
    """Logits [L, V] of one row by transformers' own class and eager attention, everything at once, nothing kept."""
    made = {}
    for name, model in models.items():
        plain = deepcopy(model.model)
        plain.set_attn_implementation("eager")

        def logits(ids: Tensor, first: int, name: str = name, plain: Any = plain) -> Tensor:
            """first: tokens of the first block, which may be short."""
            block, late = models[name].block, models[name].shifted
            number = [0 if index < first else 1 + (index - first) // block for index in range(len(ids))]
            unseen = torch.tensor([[theirs > own for theirs in number] for own in number])
            mask = torch.zeros(len(ids), len(ids)).masked_fill(unseen, -torch.inf)[None, None]
            with torch.inference_mode():
                out = plain(input_ids=ids[None], attention_mask=mask, use_cache=False).logits[0]
            return torch.cat([out[:1], out[:-1]]) if late else out

        made[name] = logits
    return made


def prompts(*lengths: int) -> list[list[int]]:
    drawn = torch.Generator().manual_seed(3)
    return [torch.randint(0, 250, (length,), generator=drawn).tolist() for length in lengths]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_logits_of_a_batch_are_those_of_each_row(models: Models, networks: Networks, name: str, side: str) -> None:
    model, block = models[name], models[name].block
    rows = [torch.tensor(ids + [model.mask_id] * 8) for ids in prompts(3, 9, 0, 6)]
    width = max(map(len, rows))
    real = torch.stack([torch.arange(width) < len(row) for row in rows])
    real = real.flip(1) if side == "left" else real
    canvas = torch.full((len(rows), width), 77)
    canvas[real] = torch.cat(rows)
    for filled in FILLED:
        rows = [row.clone() for row in rows]
        for row in rows:
            row[len(row) - 8 : len(row) - 8 + filled] = 41
        canvas[real] = torch.cat(rows)
        whole = torch.cat([networks[name](row, len(row) % block or block) for row in rows])
        torch.testing.assert_close(model.logits(canvas, real)[real], whole, rtol=1e-4, atol=2e-5)
        places = (canvas == model.mask_id) & real
        some = model.logits_at(canvas, real, *places.nonzero(as_tuple=True))
        torch.testing.assert_close(some, whole[places[real]], rtol=1e-4, atol=2e-5)


def published_loop(
    logits: Callable[..., Tensor],
    model: BlockCausalPredictor,
    prompt: list[int],
    length: int,
    tau: float,
    each: int,
    edit: float = 1.0,
    after: int = 0,
    factor: float = 1.0,
) -> tuple[list[int], int]:
    """Fill block after block as the loops of SDAR, LLaDA2, Dream-Reasoner and BD3LM do; return tokens and forwards.

    Above tau, or else `each` go. LLaDA2.1: tokens give way above `edit`, in `after` forwards of a full block too.
    """
    forwards = 0
    row, mask, block = torch.tensor(prompt), model.mask_id, model.block
    closed = torch.tensor(forbidden_ids(model))
    first = len(prompt) % block or block
    for _ in range(length // block):
        row, begin, left = torch.cat([row, torch.full((block,), mask)]), len(row), after
        while bool((row == mask).any()) or left:
            masked, forwards = row == mask, forwards + 1
            left -= not bool(masked.any())
            scores = factor * logits(row, first)
            best = scores.index_fill(1, closed, -torch.inf).argmax(-1)
            sure = scores.softmax(-1).gather(1, best[:, None])[:, 0]
            probability = sure.masked_fill(~masked, -torch.inf)
            above = probability > tau
            if int(above.sum()) < each:
                most = probability.topk(min(each, int(masked.sum()))).indices
                above = torch.zeros_like(above).index_fill(0, most, True)
            edited = ~masked & (sure > edit) & (best != row) & (torch.arange(len(row)) >= begin)
            left = left if bool(masked.any() | edited.any()) else 0
            row = torch.where(above | edited, best, row)
    return row[len(prompt) :].tolist(), forwards


@pytest.mark.parametrize(("name", "each", "tau"), RULED)
def test_tokens_are_the_published_loops(models: Models, networks: Networks, name: str, each: int, tau: float) -> None:
    model = models[name]
    block = model.block
    given = prompts(2 * block, block, 7)  # the first two are whole blocks: the loops count from their start too
    shape = Shape(2 * block, 2 * block // each, block)
    strategy = "default" if tau == 1.0 else f"threshold:{tau}"
    traces = decode(model, given, strategy, shape, options=Options(ranking="topk"))
    for prompt, trace in zip(given, traces, strict=True):
        expected = published_loop(networks[name], model, prompt, shape.length, tau, each)
        assert (trace.tokens.tolist(), trace.forwards) == expected


@pytest.mark.parametrize(("edit", "tau", "factor"), EDITS)
def test_replaced_tokens_are_those_of_the_published_loop(
    models: Models, networks: Networks, edit: float, tau: float, factor: float
) -> None:
    model, given, shape = models["llada2"], prompts(2 * BLOCK, BLOCK, 7), Shape(2 * BLOCK, block=BLOCK)
    rule = f"edit:{edit}+threshold:{tau}+temperature:{factor}"
    traces = decode(model, given, rule, shape, options=Options(ranking="topk"))
    for prompt, trace in zip(given, traces, strict=True):
        expected = published_loop(networks["llada2"], model, prompt, shape.length, tau, 1, edit, 16, factor)
        assert (trace.tokens.tolist(), trace.forwards) == expected
    assert sum(trace.edited.sum() for trace in traces) > 0


@pytest.mark.parametrize(("name", "length", "each"), AUTHORS)
def test_tokens_are_those_of_the_authors_code(models: Models, name: str, length: int, each: int) -> None:
    block, expected = models[name].block, AUTHORS[name, length, each]
    given, shape = dict(zip((8, 12), prompts(8, 12), strict=True))[length], Shape(2 * block, 2 * block // each, block)
    (trace,) = decode(models[name], [given], "default", shape, options=Options(ranking="topk"))
    assert trace.tokens.tolist()[: len(expected)] == expected


@pytest.mark.parametrize("name", MODELS)
def test_the_reward_reads_the_answer_up_to_the_end_of_the_block(models: Models, name: str) -> None:
    model, text, read = models[name], "the cat", []

    def score(prompt: str, answer: str) -> float:
        read.append(answer)
        return REWARD.score([prompt], [answer])[0]

    shape = Shape(2 * model.block, model.block, model.block // 2)
    reward = CallableReward(score, REWARD.mean, REWARD.std)
    (trace,) = decode(model, text, "rws:8", shape, reward=reward, savings=Savings.nothing())
    plain = plain_rws(model, REWARD, text, 8.0, shape.length, shape.steps, shape.block)
    assert trace.tokens.tolist() == plain.tokens[0].tolist()
    assert trace.commit_step.tolist() == plain.commit_step[0].tolist()
    for step, planned in enumerate(shape.plan):
        completed = np.where(trace.masked[step], trace.candidate[step], trace.tokens)
        assert (completed[planned.stop :] == -1).all()
        assert read[step] == model.decode_answer(completed[: planned.stop].tolist())
    tokens = plain_loop(model, torch.tensor([model.encode_prompt(text)]), shape.length, shape.steps, shape.block).tokens
    assert decode(model, text, "default", shape)[0].tokens.tolist() == tokens[0].tolist()


@pytest.mark.parametrize("savings", SAVINGS)
@pytest.mark.parametrize("name", SMALL)
def test_compact_decoder_and_every_batch_commit_the_same(models: Models, name: str, savings: CompactSavings) -> None:
    model, texts, shape = models[name], ["the cat", "a longer prompt", "it"], Shape(8, 4)
    given: dict[str, Any] = {"reward": REWARD, "options": Options(padding="left" if name == "sdar" else "right")}
    alone = [decode(model, text, "rws:8", shape, **given)[0] for text in texts]
    together = decode(model, texts, "rws:8", shape, **given)
    compact = decode_compact(model, texts, "rws:8", shape, savings=savings, **given)
    saved = decode(model, texts, "rws:8", shape, savings=Savings.everything(), **given)
    for one, *others in zip(alone, together, compact, strict=True):
        assert all(other.tokens.tolist() == one.tokens.tolist() for other in others)
    assert [trace.text for trace in saved] == [trace.text for trace in alone]


@pytest.mark.parametrize("name", [*RIVALS, *STEERED])
def test_every_way_fills_block_after_block(models: Models, name: str) -> None:
    texts, given = ["the cat", "a longer prompt"], {"reward": REWARD, "shape": Shape(3 * BLOCK)}
    way = rws.steer if name in STEERED else decode
    traces = way(models["sdar"], texts, name, **given)
    for trace in traces:
        blocks = trace.commit_step.reshape(3, BLOCK)
        assert (blocks[:-1].max(1) < blocks[1:].min(1)).all()
    if way is decode:
        assert decode(models["sdar"], texts[0], name, **given)[0].tokens.tolist() == traces[0].tokens.tolist()


@torch.inference_mode()
def test_a_step_computes_its_block_alone(models: Models) -> None:
    model, widths = models["sdar"], []
    hook = model.model.model.embed_tokens.register_forward_hook(lambda _, given, out: widths.append(given[0].shape[1]))
    try:
        decode(model, prompts(9), "default", Shape(12, 12))
    finally:
        hook.remove()
    assert widths == [9, *[4] * 4, 4, *[4] * 4, 4, *[4] * 4]  # what is kept of the prompt, then of each block


def test_blocks_lie_within_the_models(models: Models) -> None:
    model, text = models["sdar"], "the cat"
    (trace,) = decode(model, text, "default", Shape(64))
    assert (trace.block, trace.steps) == (4, 32)
    assert decode(model, text, "default", Shape(3))[0].block == 3
    assert decode(model, text, "threshold:0.9", Shape(8))[0].steps == 8
    (piece, *_) = rws.scale_path(model, text, 1.0, 2.0, Shape(8, 4), over="temperature").pieces
    assert list(piece.tokens) == decode(model, text, "default", Shape(8, 4))[0].tokens.tolist()
    for shape, message in (
        (Shape(64, 32, 32), "block is 32: sdar fills blocks of 4, give 4 or a divisor of it"),
        (Shape(10), "length is 10: sdar fills blocks of 4, give 8 or 12, or less than 4"),
        (Shape(6, counts=(1, 5)), "length is 6: sdar fills blocks of 4, give 4 or 8, or less than 4"),
    ):
        refused(lambda shape=shape: decode(model, text, "default", shape), message)
    gaps = [5, model.mask_id, model.mask_id, 7]
    hint = "sdar fills block after block and reads no text behind them, give a prompt"
    for prompt in (gaps, "the [MASK:8] cat"):  # that the shape does not fit, or a chat has no gaps, is not said first
        refused(lambda prompt=prompt: decode(model, [prompt], "default"), f"prompts[0] has gaps before its end: {hint}")
    refused(
        lambda: decode(model, text, "default", Shape(8), options=Options(key_cache="dual")),
        "key_cache is 'dual': sdar fills block after block and keeps exact keys by itself, leave it out",
    )
    assert decode(model, [gaps[:3]], "default", Shape(2))[0].tokens.shape == (2,)


def test_the_guide_counts_these_cases() -> None:
    table = page("docs/extra/blocks.md").partition("| model | layout |")[2].partition("\n\n")[0].splitlines()[2:]
    named = dict(zip(MODELS, table, strict=True))
    for name, line in named.items():
        layouts = [changes for layout, changes in BLOCK_LAYOUTS if layout == name]
        usual = 4 if name == "sdar" else 32
        sizes = {changes.get("block_size", changes.get("bd_size", usual)) for changes in [*layouts, MODELS[name][1]]}
        logits, tokens = 4 * len(FILLED) * len(SIDES), 3 * sum(name == each for each, *_ in RULED)
        tokens += 3 * len(EDITS) * (name == "llada2")
        compact = 3 * len(SAVINGS) * (name in SMALL)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[1:] == list(map(str, (max(1, len(layouts)), logits, tokens, tokens, len(sizes), compact, 1)))


def test_a_model_of_blocks_decodes_as_the_guide_says() -> None:
    assert ran("docs/extra/blocks.md")["trace"].strategy["name"] == "threshold"
