"""The generation config and `generate`: names, checks, round trips, seeds, and equality with `decode`."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from grouped import grouped
from tiny_models import EOS, bert_predictor

from rws_decode import CallableReward, RandomOrder, RWSEvery, RWSGenerationConfig, Savings, Shape, decode, recorded
from rws_decode.extra.adapters.config import CONFIG_NAME
from rws_decode.extra.adapters.generation import RWSGenerationOutput, generate
from rws_decode.strategies import STRATEGIES, offered

PREDICTOR = bert_predictor()
PROMPTS = ["the cat", "a dog sat on the mat"]
REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20.0, std=5.0)
# Each strategy that needs no file, with usual numbers where it needs some.
NUMBERS: dict[str, dict[str, Any]] = {
    name: {number: entry.usual for number, entry in STRATEGIES[name].numbers.items() if entry.needed}
    for name in offered()
    if "run" not in STRATEGIES[name].reads
}
SMALL = RWSGenerationConfig(max_new_tokens=8, steps=4, block_length=4)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_config_survives_json(name: str) -> None:
    more: dict[str, Any] = {"temperature": 0.5, "cfg_scale": 1.5, "seed": 2**63 - 1, "end_of_text": "defer"}
    more |= {"eos_token_id": (EOS, 7), "savings": Savings.nothing(memory=5)} | NUMBERS[name]
    for config in (SMALL.update(strategy=name, **NUMBERS[name]), SMALL.update(strategy=name, **more)):
        config.validate()
        read = json.loads(json.dumps(config.to_dict(), allow_nan=False))
        assert RWSGenerationConfig.from_dict(read) == config
    assert RWSGenerationConfig.from_dict({}) == RWSGenerationConfig()


def test_a_config_is_saved_in_a_directory_and_read_again(tmp_path: Path) -> None:
    config = SMALL.update(strategy="rws", reward_scale=4.0, eos_token_id=(EOS, 7), savings={"settled": True})
    path = config.save_pretrained(tmp_path / "new" / "folder")
    assert path.name == CONFIG_NAME and [file.name for file in path.parent.iterdir()] == [CONFIG_NAME]
    assert RWSGenerationConfig.from_pretrained(path.parent) == config
    assert RWSGenerationConfig.from_pretrained(path.parent, steps=8) == config.update(steps=8)
    with pytest.raises(FileNotFoundError, match="no generation config at"):
        RWSGenerationConfig.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", NUMBERS)
def test_generate_is_decode(name: str) -> None:
    config = SMALL.update(strategy=name, **NUMBERS[name])
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
    options: dict[str, Any] = {"temperature": 0.7, "seed": 3, "cfg_scale": 0.5, "savings": Savings.nothing()}
    options |= {"end_of_text": "defer", "eos_token_id": 7}
    options |= {"ranking": "probability", "precision": "float32", "padding": "left"}
    untested = {"strategy", "scale", "reward_scale", "eps", "every", "run", "max_new_tokens", "block_length", "steps"}
    untested |= {"threshold", "parallel_factor", "gamma", "sigma", "eta", "hypotheses", "stride", "key_cache"}
    assert set(options) | untested == {option.name for option in fields(RWSGenerationConfig)}
    (trace,) = generate(PREDICTOR, PROMPTS[:1], SMALL, **options).traces
    assert (trace.length, trace.steps, trace.block) == (8, 4, 4)
    assert (trace.sampling_temperature, trace.seed, trace.cfg) == (0.7, 3, 0.5)
    assert (trace.end_of_text, trace.end_ids) == ("defer", [7])
    assert (trace.ranking, trace.precision, trace.padding) == ("probability", "float32", "left")
    assert SMALL.update(**options).decode_options()["savings"] == Savings.nothing()
    assert generate(PREDICTOR, PROMPTS[:1], SMALL, key_cache="dual").traces[0].key_cache == "dual"  # not with guidance
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
    orders = RandomOrder(tuple(trace.seed for trace in order.traces))
    decoding = decode(PREDICTOR, PROMPTS, orders, Shape(length=8, steps=4, block=4))
    assert order.sequences.tolist() == decoding.tokens.tolist()
    with pytest.raises(ValueError, match="seed is 1: the generator gives the seeds"):
        generate(PREDICTOR, PROMPTS, SMALL, generator=generator, seed=1)
