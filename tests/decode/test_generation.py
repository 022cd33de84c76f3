"""The generation config and `generate`: names, checks, round trips, seeds, and equality with `decode`."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from grouped import grouped
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import bert_predictor

from rws_decode import RWS, CallableReward, Confidence, RandomOrder, RWSEvery, Savings, Shape, recorded
from rws_decode.adapters.config import CONFIG_NAME
from rws_decode.adapters.generation import RWSGenerationConfig, RWSGenerationOutput, generate
from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor
from rws_decode.strategies.table import OFFERED, STRATEGIES
from rws_decode.testing.networks import EOS
from rws_decode.view.drafts import DraftStreamer

PREDICTOR = bert_predictor()
PROMPTS = ["the cat", "a dog sat on the mat"]
REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20.0, std=5.0)
SMALL = RWSGenerationConfig(max_new_tokens=8, steps=4, block_length=4)
OPTIONS: dict[str, dict[str, Any]] = {
    "temperature": {"scale": 3.0},
    "rws": {"reward_scale": 8.0},
    "rws-every": {"reward_scale": 8.0, "every": 2},
    "rws-flipped": {"reward_scale": 8.0, "eps": 1e-3},
    "rws-random": {"reward_scale": 8.0, "seed": 5},
    "threshold": {"threshold": 0.2},
    "parallel-factor": {"parallel_factor": 1.5, "scale": 2.0},
    "klass": {"threshold": 0.3},
    "certainty-prior": {"sigma": 2.0, "scale": 3.0},
    "remdm": {"eta": 0.6},
    "p2": {"eta": 2.0, "scale": 2.0},
    "wino": {"threshold": 0.2},
    "entropy-bound": {"gamma": 2.0, "reward_scale": 8.0},
    "information-gain": {"hypotheses": 4, "scale": 2.0},
    "lookum": {"hypotheses": 3, "reward_scale": 8.0},
}


@st.composite
def configs(draw: st.DrawFn) -> RWSGenerationConfig:
    """Any valid config whose strategy needs no file."""
    name = draw(st.sampled_from([name for name in OFFERED if "run" not in STRATEGIES[name].reads]))
    blocks, block = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    steps = blocks * draw(st.integers(1, block))
    more = {
        "temperature": draw(st.floats(0, 2)),
        "cfg_scale": draw(st.sampled_from([0.0, 1.5])),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "end_of_text": draw(st.sampled_from(["none", "suppress", "defer", "defer-published"])),
        "eos_token_id": draw(st.sampled_from([None, EOS, (EOS, 7)])),
        "savings": draw(st.sampled_from([Savings(), Savings.everything(), Savings.nothing(memory=5)])),
    }
    size = {"max_new_tokens": blocks * block, "block_length": block, "steps": steps}
    return RWSGenerationConfig(strategy=name, **size, **(more | OPTIONS.get(name, {})))


@given(configs())
def test_a_config_survives_json(config: RWSGenerationConfig) -> None:
    read = json.loads(json.dumps(config.to_dict(), allow_nan=False))
    assert RWSGenerationConfig.from_dict(read) == config
    assert RWSGenerationConfig.from_dict({}) == RWSGenerationConfig()
    config.validate()


def test_a_config_is_saved_in_a_directory_and_read_again(tmp_path: Path) -> None:
    config = SMALL.update(strategy="rws", reward_scale=4.0, eos_token_id=(EOS, 7), savings={"settled": True})
    path = config.save_pretrained(tmp_path / "new" / "folder")
    assert path.name == CONFIG_NAME and [file.name for file in path.parent.iterdir()] == [CONFIG_NAME]
    assert RWSGenerationConfig.from_pretrained(path.parent) == config
    assert RWSGenerationConfig.from_pretrained(path.parent, steps=8) == config.update(steps=8)
    with pytest.raises(FileNotFoundError, match="no generation config at"):
        RWSGenerationConfig.from_pretrained(tmp_path)
    for text, said in (
        ("{", "rws_generation_config.json: "),
        ('{"step": 3}', "step is not an option of RWSGenerationConfig: the nearest is steps"),
        ('{"temperature": NaN}', "temperature is nan"),
        ('{"steps": 33}', "steps is 33: it must be a multiple of 2"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=said) as error:
            RWSGenerationConfig.from_pretrained(path.parent)
        assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gen_length": 8}, "gen_length is not an option of RWSGenerationConfig: the nearest is max_new_tokens"),
        ({"savings": {"settle": True}}, "settle is not an option of Savings: the nearest is settled"),
        ({"max_new_tokens": 7}, "block_length is 4: it must divide length, which is 7, such as 1 or 7"),
        ({"strategy": "rwz"}, "strategy is 'rwz':"),
        ({"strategy": "rws"}, "reward_scale is None: strategy rws needs it"),
        ({"strategy": "schedule"}, "run is None: strategy schedule needs it"),
        ({"eos_token_id": [1, "2"]}, r"eos_token_id is \(1, '2'\): token ids"),
    ],
)
def test_bad_options_are_refused_in_one_line(options: dict[str, Any], said: str) -> None:
    for refused in (lambda: SMALL.update(**options), lambda: generate(PREDICTOR, PROMPTS, SMALL, **options)):
        with pytest.raises(ValueError, match=said) as error:
            refused()
        assert "\n" not in str(error.value)


def test_a_config_is_frozen_and_updates_leave_it_alone() -> None:
    before = SMALL.to_dict()
    assert SMALL.update(steps=8) != SMALL and SMALL.to_dict() == before
    with pytest.raises(AttributeError):
        SMALL.steps = 8  # type: ignore[misc]


@pytest.mark.parametrize("name", [name for name in OFFERED if "run" not in STRATEGIES[name].reads])
def test_generate_is_decode(name: str) -> None:
    config = SMALL.update(strategy=name, **OPTIONS.get(name, {}))
    output = generate(PREDICTOR, PROMPTS, config, reward=REWARD)
    assert isinstance(output, RWSGenerationOutput)
    options: dict[str, Any] = {"length": 8, "steps": 4, "block": 4, "reward": REWARD, "seed": config.seed}
    expected = decode(PREDICTOR, PROMPTS, config.make_strategy(), **grouped(**options))
    assert list(output.traces) == list(expected)
    assert output.sequences.tolist() == expected.tokens.tolist() and output.sequences.dtype == torch.int64
    assert output.texts == expected.texts
    assert (output.forwards, output.reward_calls) == (expected.forwards, expected.reward_calls)
    assert torch.equal(generate(PREDICTOR, PROMPTS, config, reward=REWARD, return_dict=False), output.sequences)


def test_every_option_reaches_the_decode() -> None:
    options: dict[str, Any] = {
        "temperature": 0.7,
        "seed": 3,
        "cfg_scale": 0.5,
        "end_of_text": "defer",
        "eos_token_id": 7,
        "ranking": "probability",
        "precision": "float32",
        "padding": "left",
        "savings": Savings.nothing(),
    }
    untested = {"strategy", "scale", "reward_scale", "eps", "every", "run", "max_new_tokens", "block_length", "steps"}
    untested |= {"threshold", "parallel_factor", "gamma", "sigma", "eta", "hypotheses"}
    assert set(options) | untested == {option.name for option in fields(RWSGenerationConfig)}
    (trace,) = generate(PREDICTOR, PROMPTS[:1], SMALL, **options).traces
    assert (trace.length, trace.steps, trace.block) == (8, 4, 4)
    assert (trace.sampling_temperature, trace.seed, trace.cfg) == (0.7, 3, 0.5)
    assert (trace.end_of_text, trace.end_ids) == ("defer", [7])
    assert (trace.ranking, trace.precision, trace.padding) == ("probability", "float32", "left")
    assert SMALL.update(**options).decode_options()["savings"] == Savings.nothing()
    assert SMALL.update(strategy="rws-every", reward_scale=8, every=3, eps=0.1).make_strategy() == RWSEvery(8, 3, 0.1)


def test_a_run_on_file_is_repeated(tmp_path: Path) -> None:
    config = SMALL.update(strategy="rws", reward_scale=8.0)
    (trace,) = generate(PREDICTOR, PROMPTS[:1], config, reward=REWARD).traces
    path = str(trace.save(tmp_path / "run.parquet"))
    again = config.update(strategy="schedule", run=path)
    assert again.make_strategy() == recorded(trace)
    assert generate(PREDICTOR, PROMPTS[:1], again).sequences.tolist() == [trace.tokens.tolist()]
    with pytest.raises(ValueError, match="a run of 4 steps, steps is 8"):
        again.update(steps=8).make_strategy()
    with pytest.raises(FileNotFoundError, match="no trace at"):
        again.update(run=path + "x").make_strategy()


def test_a_generator_gives_each_row_a_seed_and_moves_on() -> None:
    hot = SMALL.update(temperature=1.5)

    def draw(generator: torch.Generator) -> RWSGenerationOutput:
        output = generate(PREDICTOR, PROMPTS * 2, hot, generator=generator)
        assert isinstance(output, RWSGenerationOutput)
        return output

    generator = torch.Generator().manual_seed(7)
    first, second = draw(generator), draw(generator)
    seeds = [trace.seed for trace in (*first.traces, *second.traces)]
    assert len(set(seeds)) == 8
    assert list(draw(torch.Generator().manual_seed(7)).traces) == list(first.traces)
    assert first.sequences.tolist() != second.sequences.tolist()
    alone = generate(PREDICTOR, PROMPTS[:1], hot, seed=seeds[0])
    assert alone.sequences.tolist() == first.sequences[:1].tolist()
    order = generate(PREDICTOR, PROMPTS, SMALL, strategy="random-order", generator=torch.Generator().manual_seed(1))
    decoding = decode(
        PREDICTOR, PROMPTS, RandomOrder(tuple(trace.seed for trace in order.traces)), Shape(length=8, steps=4, block=4)
    )
    assert order.sequences.tolist() == decoding.tokens.tolist()
    with pytest.raises(ValueError, match="seed is 1: the generator gives the seeds"):
        generate(PREDICTOR, PROMPTS, SMALL, generator=generator, seed=1)


def test_tokens_per_forward_count_the_text_alone() -> None:
    output = generate(PREDICTOR, PROMPTS, SMALL)
    for row, (trace, per) in enumerate(zip(output.traces, output.tokens_per_forward, strict=True)):
        tokens = trace.tokens.tolist()
        kept = tokens.index(EOS) if EOS in tokens else len(tokens)
        assert per == kept / trace.forwards, row


def streamed() -> tuple[DraftStreamer, io.StringIO]:
    out = io.StringIO()
    return DraftStreamer(lambda ids: PREDICTOR.decode_answer(ids), out), out


@pytest.mark.parametrize("last", range(4))
def test_a_stopped_stream_ends_with_what_is_committed(last: int) -> None:
    streamer, out = streamed()
    output = generate(PREDICTOR, PROMPTS[1:], SMALL, streamer=streamer, callback=lambda view: view.step == last)
    assert out.getvalue().splitlines()[-1] == output.texts[0]
    assert output.traces[0].steps_run == last + 1


def test_a_stream_is_closed_however_a_decode_ends() -> None:
    streamer, out = streamed()
    settled = generate(PREDICTOR, PROMPTS[1:], SMALL, savings={"settled": True}, streamer=streamer)
    assert len(out.getvalue().splitlines()) == settled.forwards + 1
    streamer, out = streamed()
    with pytest.raises(ValueError, match="reward is None"):
        generate(PREDICTOR, PROMPTS[:1], SMALL, strategy="rws", reward_scale=8.0, streamer=streamer)
    assert out.getvalue() == "\n"
    with pytest.raises(ValueError, match="streamer shows one prompt at a time: prompts holds 2"):
        generate(PREDICTOR, PROMPTS, SMALL, streamer=streamer)


def test_defaults_are_those_of_decode() -> None:
    predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    (trace,) = generate(predictor, [[2]]).traces
    (same,) = decode(predictor, [[2]], Confidence())
    assert trace == same
    assert SMALL.update(strategy="rws", reward_scale=8).make_strategy() == RWS(8)
