"""Dream's published settings: 7B Instruct and 7B Base by task, the planning tasks, and the README's example."""

from __future__ import annotations

from rws_decode.extra.presets.preset import Preset, Setting

_CODE = "DreamLM/Dream fac0a7f"
_LOOP = "NVlabs/Fast-dLLM 24cc59e dream/model/generation_utils.py, a copy of Dream's loop,"
_INSTRUCT = f"{_CODE} eval_instruct/eval.sh"
_BASE = f"{_CODE} eval/eval_dream_gen.sh"
_PLANNING = f"{_CODE} eval/eval_dream_gen_planning.sh"
_README = f"{_CODE} README.md"


def _preset(
    name: str, about: str, size: int, temperature: float, top_p: float, sources: tuple[str, str], rest: str
) -> Preset:
    """Return a preset. sources: of the size, and of temperature and top_p; rest: of alg and alg_temp."""
    of_size, of_drawing = sources
    nucleus = "tokens beyond the nucleus have no share in the entropy; here all tokens count"
    if temperature:
        cut = [
            Setting(f"top_p = {top_p:g}", of_drawing, "top_p", top_p),
            Setting(
                "entropy of softmax(z / temperature) in the nucleus",
                f"{_LOOP} lines 63-64 and 87-90",
                otherwise="left out",
                note="the order here is by the entropy of softmax(z), of all tokens",
            ),
        ]
    else:
        cut = [Setting(f"top_p = {top_p:g}", of_drawing, otherwise="left out", note=nucleus)]
    uneven = "the first commits none and the last two" if size < 1024 else "the first two commit none, the last three"
    return Preset(
        name,
        about,
        (
            Setting(f"max_new_tokens = {size}", of_size, "length", size),
            Setting(f"diffusion_steps = {size}", of_size, "steps", size),
            Setting("no blocks", f"{_LOOP} lines 423-425", "block", size, note="the whole answer is one block"),
            Setting(
                "alg = entropy",
                rest,
                "strategy",
                "entropy",
                note="diffusion_generate itself has alg = origin, at random",
            ),
            Setting(f"temperature = {temperature:g}", of_drawing, "sampling_temperature", temperature),
            *(cut if top_p < 1 else [Setting("top_p = 1", of_drawing)]),
            Setting("alg_temp = 0", rest),
            Setting(
                "eps = 0.001",
                f"{_LOOP} lines 411 and 476-477",
                otherwise="left out",
                note=f"it sets how many tokens a step commits: of {size} steps, {uneven}; here each commits one",
            ),
        ),
    )


def _instruct(task: str, size: int, line: int) -> Preset:
    where = f"{_INSTRUCT} line {line}"
    rest = f"{where}; lm_eval/models/diffllm.py line 181"
    name, about = f"dream-{task.lower()}", f"Dream-7B-Instruct on {task}"
    return _preset(name, about, size, 0.1, 0.9, (where, where), rest)


def _base(task: str, size: int, temperature: float, lines: str = "2-5 and 31") -> Preset:
    where = f"{_BASE} lines {lines}"
    rest = f"{_CODE} eval/eval.py lines 49-50"
    name, about = f"dream-base-{task.lower()}", f"Dream-7B-Base on {task}"
    return _preset(name, about, size, temperature, 0.95, (where, where), rest)


def _planning(task: str, size: int, lines: str) -> Preset:
    where = f"{_PLANNING} lines {lines}"
    return _preset(f"dream-base-{task.lower()}", f"Dream-7B-Base on {task}", size, 0.0, 1.0, (where, where), where)


PRESETS: tuple[Preset, ...] = (
    _preset(
        *("dream-demo", "the example of Dream's README", 512, 0.2, 0.95),
        (f"{_README} lines 52-55", f"{_README} lines 56-57"),
        f"{_README} lines 58-59",
    ),
    _instruct("MMLU", 128, 3),
    _instruct("MMLU-Pro", 128, 14),
    _instruct("GSM8K", 256, 25),
    _instruct("MATH", 512, 36),
    _instruct("HumanEval", 768, 58),
    _instruct("MBPP", 1024, 69),
    _instruct("IFEval", 1280, 80),
    _base("HumanEval", 512, 0.2, "16"),
    _base("GSM8K", 256, 0.0),
    _base("MBPP", 512, 0.2),
    _base("MATH", 512, 0.0),
    _base("BBH", 512, 0.0),
    _planning("Sudoku", 24, "4-10"),
    _planning("Countdown", 32, "12-18"),
    _planning("Trip", 256, "20-26"),
)
