"""Published settings of models that fill block after block: SDAR, Fast-dLLM v2, LLaDA2, Dream-Reasoner, A2D's bd3lm."""

from __future__ import annotations

from rws_decode.extra.presets.preset import Preset, Setting

_SDAR = "JetAstra/SDAR c2041a8"
_DLLM = "ZHZisZZ/dllm ca17675"
_BD3LM = f"{_DLLM} examples/a2d/bd3lm/sample.py"
_LLADA2 = f"{_DLLM} dllm/pipelines/llada2/sampler.py"
_LLADA21 = f"{_DLLM} dllm/pipelines/llada21/sampler.py"
_FAST = "NVlabs/Fast-dLLM b9cf368 v2/run_chatbot.py"
_FAST_LOOP = "ghostchoir/Fast-dLLM 5fb7362 v2/generation_functions.py, a fork's copy of the loop,"
_REASONER = "DreamLM/DreamReasoner 0a67f06 README.md"

_FROM_THE_PROMPT = "blocks are counted from the prompt's first token; here from the answer's"


def _shape(
    length: int, where: str, block: int, of_block: str, steps: int | None = None, note: str = ""
) -> list[Setting]:
    settings = [
        Setting(f"{length} tokens", where, "length", length),
        Setting(f"blocks of {block}", of_block, "block", block, note=note),
    ]
    return settings if steps is None else [*settings, Setting("a token a step", of_block, "steps", steps)]


def _confidence(where: str) -> list[Setting]:
    return [
        Setting("confidence over the whole vocabulary", where, "ranking", "topk"),
        Setting("softmax of the logits as they come", where, "precision", "model"),
    ]


def _threshold(tau: float, where: str, strategy: str = "threshold") -> list[Setting]:
    return [Setting(f"all above {tau:g}", where, "strategy", strategy), Setting(f"{tau:g}", where, "threshold", tau)]


def _llada2(name: str, about: str, where: str, lines: str, more: tuple[Setting, ...]) -> Preset:
    """Return a preset of dLLM's sampler. lines: of length, block, temperature, threshold and softmax."""
    length, block, temperature, tau, softmax = (f"{where} line {line}" for line in lines.split())
    settings = [
        *_shape(128, length, 32, block, note=_FROM_THE_PROMPT),
        *_threshold(0.95, tau, "edit" if more else "threshold"),
        *_confidence(softmax),
        Setting("temperature = 0", temperature, "sampling_temperature", 0.0),
    ]
    return Preset(name, about, (*settings, *more))


_EDITING = (
    Setting("editing_threshold = 0.9", f"{_LLADA21} lines 83 and 248-270", "edit", 0.9),
    Setting("max_post_steps = 16", f"{_LLADA21} lines 84 and 213-216", note="as edit has it"),
)

PRESETS: tuple[Preset, ...] = (
    Preset(
        "sdar",
        "SDAR's evaluation, greedy and static",
        (
            *_shape(128, f"{_SDAR} generate.py line 62", 4, f"{_SDAR} README.md line 182", 128, _FROM_THE_PROMPT),
            *_confidence(f"{_SDAR} generate.py line 41"),
            Setting("greedy", f"{_SDAR} README.md line 182", "sampling_temperature", 0.0),
        ),
    ),
    Preset(
        "sdar-dynamic",
        "SDAR's example, dynamic and drawn",
        (
            *_shape(256, f"{_SDAR} README.md line 109", 4, f"{_SDAR} README.md line 111", note=_FROM_THE_PROMPT),
            *_threshold(0.9, f"{_SDAR} README.md line 113"),
            *_confidence(f"{_SDAR} generate.py line 41"),
            Setting("temperature = 1", f"{_SDAR} README.md line 106", "sampling_temperature", 1.0),
        ),
    ),
    Preset(
        "fast-dllm-v2",
        "Fast-dLLM v2's example, in parts of 8",
        (
            *_shape(2048, f"{_FAST} line 62", 8, f"{_FAST} line 63", note=f"of the model's 32; {_FROM_THE_PROMPT}"),
            *_threshold(0.9, f"{_FAST} line 64"),
            Setting("temperature = 0", f"{_FAST_LOOP} line 31", "sampling_temperature", 0.0),
            Setting(
                "the first token of a block goes by itself, as the best one after the block before",
                f"{_FAST_LOOP} lines 44-51 and 86-93",
                otherwise="left out",
                note="here it is ranked with the others of its block",
            ),
        ),
    ),
    _llada2("llada2", "LLaDA2.0 by dLLM's sampler", _LLADA2, "84 85 87 90 67", ()),
    _llada2("llada2.1", "LLaDA2.1 by dLLM's sampler", _LLADA21, "76 78 79 82 59", _EDITING),
    Preset(
        "dream-reasoner",
        "Dream-Reasoner's example",
        (
            *_shape(2048, f"{_REASONER} line 50", 32, f"{_REASONER} line 51", note=_FROM_THE_PROMPT),
            Setting(
                "the rule of block_diffusion_generate",
                f"{_REASONER} line 48",
                otherwise="to be given",
                note="its code could not be read: give --strategy",
            ),
        ),
    ),
    Preset(
        "a2d-bd3lm",
        "the example of A2D's bd3lm",
        (
            *_shape(128, f"{_BD3LM} line 27", 32, f"{_BD3LM} lines 26 and 28", 128),
            *_confidence(f"{_DLLM} dllm/core/samplers/bd3lm.py line 107"),
            Setting("temperature = 0", f"{_BD3LM} line 29", "sampling_temperature", 0.0),
        ),
    ),
)
