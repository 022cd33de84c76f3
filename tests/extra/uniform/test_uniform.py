"""DiffusionGemma and the loop of uniform noise: beside transformers' class and generate."""

import itertools
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import ran
from misuse import refused

from rws_decode import RWS, CallableReward, DiffusionGemma, UniformOptions, decode_uniform, load_uniform
from rws_decode.extra import presets
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.extra.uniform.decode import accepted
from rws_theory import normalise, reward_factor

PROMPT = [2, 6, 8, 3]
REWARD = CallableReward(lambda prompt, answer: float(answer.count("cat")), mean=0.5, std=1.0)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> DiffusionGemma:
    folder = tiny_checkpoint("diffusion-gemma", tmp_path_factory.mktemp("checkpoints") / "tiny")
    loaded = load_uniform(str(folder), progress=False)
    with torch.no_grad():  # layers that say less: a random network never comes to rest
        for name, weights in loaded.model.named_parameters():
            weights.mul_(0.3 if "post_" in name else 1.0)
    return loaded


def test_logits_are_those_of_the_class_with_its_soft_cap(predictor: DiffusionGemma) -> None:
    first, second = (torch.randint(28, (1, 12), generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    prompt = torch.tensor([PROMPT])
    with torch.inference_mode():
        prefix = predictor.prefix(prompt)
        logits = predictor.logits(prefix, first, None)
        torch.testing.assert_close(logits, predictor.model(input_ids=prompt, decoder_input_ids=first).logits)
        hidden = predictor.model.model(input_ids=prompt, decoder_input_ids=first).last_hidden_state
        torch.testing.assert_close(logits, 30 * torch.tanh(predictor.model.lm_head(hidden) / 30))
        # With the logits of the step before, and with the first canvas as part of what is read.
        longer = predictor.prefix(first, prefix)
        conditioned = predictor.logits(longer, second, logits)
        whole = torch.cat([prompt, first], dim=1)
        by_hand = predictor.model(input_ids=whole, decoder_input_ids=second, self_conditioning_logits=logits).logits
        torch.testing.assert_close(conditioned, by_hand, rtol=1e-4, atol=1e-4)
        assert not torch.allclose(conditioned, predictor.logits(longer, second, None), atol=1e-2)


class Rewarded:
    """RWS as a logits processor of transformers: what its own loop needs to do what ours does."""

    def __init__(self, predictor: DiffusionGemma, scale: float) -> None:
        self.predictor, self.scale = predictor, scale

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, cur_step: Any) -> torch.Tensor:
        best = [*input_ids[0, len(PROMPT) :].tolist(), *scores[0].argmax(dim=-1).tolist()]
        (score,) = REWARD.score(["the cat"], [self.predictor.decode_answer(best) or ""])
        return scores * float(reward_factor(normalise(score, REWARD.mean, REWARD.std), self.scale))


PARITY = {
    "few steps": UniformOptions(steps=5),
    "two canvases": UniformOptions(steps=4, entropy_bound=0.7, canvases=2),
    "an end at once": UniformOptions(steps=4, entropy_bound=0.7, canvases=2, seed=5),
    "stopped early": UniformOptions(40, 1.0, t_max=0.2, t_min=0.1, confidence=1.0, canvases=3, seed=2),
    "three stable steps": UniformOptions(40, 1.0, t_max=0.2, t_min=0.1, stability=3, confidence=1.0, seed=3),
    "sure alone": UniformOptions(9, t_max=0.9, stability=0, confidence=0.2, seed=6),
    "never stopped": UniformOptions(steps=6, confidence=None, stability=0, seed=4),
}


@pytest.mark.parametrize(
    ("options", "scale"), list(zip(PARITY.values(), itertools.cycle([1.5, None]), strict=False)), ids=PARITY
)
def test_it_agrees_with_transformers(predictor: DiffusionGemma, options: UniformOptions, scale: float | None) -> None:
    from transformers import LogitsProcessorList
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import EntropyBoundSamplerConfig

    settings = {} if scale is None else {"strategy": RWS(scale), "reward": REWARD}
    options = replace(options, canvases=options.canvases or 1)
    (ours,) = decode_uniform(predictor, [PROMPT], options=options, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        theirs = predictor.model.generate(
            torch.tensor([PROMPT]),
            max_new_tokens=12 * (options.canvases or 1),
            max_denoising_steps=options.steps,
            sampler_config=EntropyBoundSamplerConfig(options.entropy_bound),
            t_min=options.t_min,
            t_max=options.t_max,
            stability_threshold=options.stability,
            confidence_threshold=1e-30 if options.confidence is None else options.confidence,
            eos_token_id=list(predictor.end_ids),
            pad_token_id=predictor.pad_id,
            logits_processor=None if scale is None else LogitsProcessorList([Rewarded(predictor, scale)]),
        )
    assert ours.tokens.tolist() == theirs.sequences[0, len(PROMPT) :].tolist()
    written = int((ours.tokens != predictor.pad_id).sum())
    assert written / ours.forwards == pytest.approx(float(theirs.tokens_per_forward))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_accepted_is_what_a_plain_loop_accepts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entropy, bound = rng.exponential(0.2, size=(3, 9)).astype(np.float32), float(rng.exponential(0.4))
    found = accepted(torch.from_numpy(entropy), bound).numpy()
    for row, kept in zip(entropy, found, strict=True):
        spent, wanted = 0.0, set[int]()
        for place in sorted(range(9), key=lambda place: row[place]):
            if spent <= bound:
                wanted.add(place)
            spent += row[place]
        assert set(np.flatnonzero(kept)) == wanted


def test_a_trace_tells_when_each_token_settled(predictor: DiffusionGemma, tmp_path: Path) -> None:
    options = UniformOptions(steps=6, t_max=0.2, t_min=0.1, entropy_bound=3.0, canvases=2, confidence=None, seed=1)
    (run,) = decode_uniform(predictor, "the cat", options=options)
    for position, step in enumerate(run.settled):
        canvas, place = divmod(position, 12)
        held = [(forward, words[place]) for forward, words in enumerate(run.draft) if run.canvas[forward] == canvas]
        assert all(word == held[-1][1] for forward, word in held if forward >= step)
        assert step == held[0][0] or dict(held)[step - 1] != held[-1][1]
    trace = run.trace(predictor.tokenizer)
    order = np.argsort(run.settled, kind="stable")
    assert (np.diff(trace.commit_step[order]) >= 0).all() and trace.tokens.tolist() == run.tokens.tolist()
    assert (trace.predictor, trace.prompt_text) == ("tiny", "the cat")
    trace.save(tmp_path / "trace.parquet")
    assert repr(run).startswith(f"UniformDecode({len(run.tokens)} tokens in {run.forwards} forwards")


def test_the_guide_decodes_with_and_without_a_reward() -> None:
    names = ran("docs/extra/uniform.md")
    assert (names["plain"].factor == 1).all() and (names["scaled"].factor > 1).all()
    assert names["trace"].tokens.tolist() == names["scaled"].tokens.tolist()


def test_settings_are_the_checkpoints_and_else_the_published(predictor: DiffusionGemma, tmp_path: Path) -> None:
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import DiffusionGemmaGenerationConfig

    theirs = DiffusionGemmaGenerationConfig._get_default_generation_params()
    preset = presets.load("diffusion-gemma").values
    usual = preset | {"seed": 0, "canvases": None}
    assert asdict(UniformOptions()) == usual == asdict(UniformOptions(**predictor.settings))
    published = [theirs[name] for name in ("max_denoising_steps", "t_max", "t_min", "stability_threshold")]
    assert published == [preset[name] for name in ("steps", "t_max", "t_min", "stability")]
    assert theirs["confidence_threshold"] == preset["confidence"]
    assert theirs["sampler_config"].entropy_bound == preset["entropy_bound"]
    config = {"max_denoising_steps": 3, "max_new_tokens": 13, "eos_token_id": [1, 5], "confidence_threshold": 0.1}
    config["sampler_config"] = {"_cls_name": "EntropyBoundSamplerConfig", "entropy_bound": 2.0}
    folder = tiny_checkpoint("diffusion-gemma", tmp_path / "own", files={"generation_config.json": config})
    own = load_uniform(str(folder), progress=False)
    assert own.end_ids == (1, 5)
    assert UniformOptions(**own.settings) == UniformOptions(3, 2.0, confidence=0.1)
    assert decode_uniform(own, [PROMPT])[0].forwards <= 6


CAPS = [(None, None), (None, 16), (None, 17), (None, 28), (24, None), (24, 10), (256, 28), (500, 17)]


@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_an_answer_is_as_long_as_transformers_has_it(caps: tuple[int, int], tmp_path: Path) -> None:
    config = dict(zip(("max_new_tokens", "max_length"), caps, strict=True))
    files = {"generation_config.json": config | {"max_denoising_steps": 1}}
    own = load_uniform(str(tiny_checkpoint("diffusion-gemma", tmp_path / "own", files=files)), progress=False)
    torch.manual_seed(0)
    theirs = own.model.generate(torch.tensor([PROMPT]), eos_token_id=list(own.end_ids), pad_token_id=own.pad_id)
    for options in (None, UniformOptions(steps=1)):
        (run,) = decode_uniform(own, [PROMPT], options=options)
        assert len(run.tokens) == theirs.sequences.shape[1] - len(PROMPT)
    if caps == (None, 16):
        refused(lambda: decode_uniform(own, [PROMPT * 4]), "its caps leave 0, give options=UniformOptions(canvases=4)")
