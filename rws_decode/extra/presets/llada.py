"""LLaDA's published settings: 8B Instruct by task, 8B Base, 1.5, and the demonstration."""

from __future__ import annotations

from rws_decode.extra.presets.preset import Preset, Setting

_CODE = "ML-GSAI/LLaDA b7e6c35"
_TABLES = f"{_CODE} EVAL.md"
_LOOP = f"{_CODE} generate.py"
_WRAPPER = f"{_CODE} opencompass/opencompass/models/dllm.py"
_DEFERRED = (
    "as the code has it: with nothing drawn, end of text and end of turn get confidence 0 and no share in the softmax "
    "of the others. Issue 137 says that it has no effect on end of text; that holds where tokens are drawn. As it is "
    "described: end_of_text defer"
)
_ISSUE = f"{_LOOP} lines 98 and 14-15; issue 137"

# What every loop of these computes.
_EVERY = (
    Setting("temperature = 0", f"{_WRAPPER} line 135; issue 25", "sampling_temperature", 0.0),
    Setting("cfg_scale = 0", f"{_WRAPPER} line 134; issue 25", "cfg", 0.0),
    Setting(
        "remasking = low_confidence",
        f"{_LOOP} lines 101-103 and 116",
        "ranking",
        "topk",
        note="softmax over the whole vocabulary, and torch.topk",
    ),
    Setting(
        "softmax of the logits as they come",
        f"{_LOOP} line 101",
        "precision",
        "model",
        note="until June 2025 (commit f51cb17) it was float64",
    ),
)


def _ending(flag: str, lines: str) -> tuple[Setting, ...]:
    """Return what is done about end of text; flag: which of the two is True, "" for none."""
    where = f"{_TABLES} lines {lines}"
    if flag == "logits":
        first = Setting(
            "logits_eos_inf = True",
            f"{where}; generate.py lines 91-92",
            "end_of_text",
            "suppress",
            note="the end of text alone; the end of turn may be committed",
        )
        return first, Setting("token 126081", f"{_LOOP} line 92", "end_ids", "the first")
    if flag == "confidence":
        source = f"{where}; {_ISSUE}"
        return (Setting("confidence_eos_eot_inf = True", source, "end_of_text", "defer-published", note=_DEFERRED),)
    return (Setting("logits_eos_inf, confidence_eos_eot_inf = False", where, "end_of_text", "none"),)


def _preset(
    name: str, about: str, length: int, block: int, lines: str, example: str, flag: str = "", note: str = ""
) -> Preset:
    """Return the preset of one column of a table. lines: of its length, its block, and its flags."""
    of_length, of_block, of_flags = lines.split()
    steps = (f"{_CODE} opencompass/examples/{example}.py" if example else f"{_TABLES} line {of_length}") + "; issue 25"
    return Preset(
        name,
        about,
        (
            Setting(f"gen_length = {length}", f"{_TABLES} line {of_length}", "length", length, note=note),
            Setting(f"steps = {length}", steps, "steps", length),
            Setting(f"block_length = {block}", f"{_TABLES} line {of_block}", "block", block),
            *_ending(flag, of_flags),
            *_EVERY,
        ),
    )


def _instruct(task: str, length: int, example: str, flag: str = "", note: str = "") -> Preset:
    about = f"LLaDA-8B-Instruct on {task}, one block"
    name = f"llada-{task.lower()}"
    return _preset(name, about, length, length, "74 75 76-77", f"llada_instruct_gen_{example}", flag, note)


def _newer(task: str, length: int, block: int, example: str, flag: str = "confidence") -> Preset:
    name, about = f"llada-1.5-{task.lower()}", f"LLaDA 1.5 on {task}"
    return _preset(name, about, length, block, "101 102 103-104", f"llada_1p5_gen_{example}", flag)


_BASE_SIZES = "the file has 512 and 256 too (lines 50-51); Table 1 of arXiv 2502.09992 has this one"

_DEMONSTRATION = Preset(
    "llada-demo",
    "the demonstration that LLaDA's repository runs",
    (
        Setting("gen_length = 128", f"{_LOOP} line 154; chat.py", "length", 128),
        Setting("steps = 128", f"{_LOOP} line 154; chat.py", "steps", 128),
        Setting("block_length = 32", f"{_LOOP} line 154; chat.py", "block", 32),
        Setting("logits_eos_inf, confidence_eos_eot_inf = False", f"{_LOOP} line 45", "end_of_text", "none"),
        Setting("temperature = 0, cfg_scale = 0", f"{_LOOP} line 154", "sampling_temperature", 0.0),
        *_EVERY[1:],
    ),
)

PRESETS: tuple[Preset, ...] = (
    _DEMONSTRATION,
    _instruct("GSM8K", 512, "gsm8k_length512_block512_confidence", "confidence", "llada-gsm8k-blocks has 256"),
    _instruct("MATH", 512, "math_length512_block512_confidence", "confidence", "another example file has 256"),
    _instruct("GPQA", 64, "gpqa_length64_block64_confidence", "confidence", "another example file has 128, no flag"),
    _instruct("HumanEval", 512, "humaneval_length512_block512_logits", "logits", "another example has blocks of 32"),
    _instruct("MBPP", 256, "mbpp_length256_block256_confidence", "confidence", "another example has 512, blocks of 32"),
    _instruct("MMLU", 3, "mmlu_length3_block3"),
    _instruct("MMLU-Pro", 256, "mmlupro_length256_block256"),
    _instruct("HellaSwag", 3, "hellaswag_length3_block3"),
    _instruct("ARC-C", 512, "arcc_length512_block512"),
    _preset(
        *("llada-gsm8k-blocks", "LLaDA-8B-Instruct on GSM8K, block by block", 256, 8, "89 90 91-92"),
        "llada_instruct_gen_gsm8k_length256_block8",
        note="llada-gsm8k has 512 in one block",
    ),
    _preset(
        *("llada-math-blocks", "LLaDA-8B-Instruct on MATH, block by block", 512, 64, "89 90 91-92"),
        "llada_instruct_gen_math_length512_block64",
    ),
    Preset(
        "llada-base",
        "LLaDA-8B-Base on BBH, GSM8K, MATH, HumanEval and MBPP",
        (
            Setting("gen_length = 1024", f"{_TABLES} line 49", "length", 1024, note=_BASE_SIZES),
            Setting("steps = 1024", f"{_TABLES} line 49", "steps", 1024),
            Setting("block_length = 1024", f"{_TABLES} line 49", "block", 1024),
            Setting("no flag is given", f"{_CODE} eval_llada.py lines 264-265", "end_of_text", "none"),
            *_EVERY,
        ),
    ),
    _newer("GSM8K", 256, 16, "gsm8k_length256_block16_confidence"),
    _newer("MATH", 1024, 128, "math_length1024_block128_confidence"),
    _newer("GPQA", 256, 16, "gpqa_length256_block16", flag=""),
    _newer("HumanEval", 512, 32, "humaneval_length512_block32_confidence"),
    _newer("MBPP", 512, 32, "mbpp_length512_block32_confidence"),
    _newer("IFEval", 256, 16, "ifeval_length256_block16_confidence"),
)
