"""Settings of papers on decoding: Fast-dLLM's threshold, the RWS paper's, and DiffusionGemma's loop without masks."""

from __future__ import annotations

from rws_decode.extra.presets.preset import Preset, Setting

_FAST = "NVlabs/Fast-dLLM 24cc59e"
_PAPER = "the RWS paper"
_DETAILS = f"{_PAPER}, appendix on experiments, General Implementation Details"
_SCALES = "0.01, 0.1, 1, 2, 4, 8, 16 or 32"


def _llada(task: str, script: str, line: int) -> Preset:
    """Return the row "parallel" of a script, which has no cache."""
    where, loop = f"{_FAST} llada/{script}", f"{_FAST} llada/generate.py"
    return Preset(
        f"fast-dllm-{task.lower()}",
        f"Fast-dLLM without its cache: LLaDA-8B-Instruct on {task}",
        (
            Setting("gen_length = 256", f"{where} lines 6 and {line}", "length", 256),
            Setting("block_length = 32", f"{where} lines 7 and {line}", "block", 32),
            Setting("threshold = 0.9", f"{where} line {line}", "strategy", "threshold"),
            Setting("threshold = 0.9", f"{where} line {line}; arXiv 2505.22618", "threshold", 0.9),
            Setting(
                "steps = 8",
                f"{where} line {line}; llada/generate.py line 94",
                note="the loop does not read it under a threshold, and runs until a block is full",
            ),
            Setting("temperature = 0", f"{_FAST} llada/eval_llada.py line 310", "sampling_temperature", 0.0),
            Setting("confidence over the whole vocabulary", f"{loop} lines 240-242", "ranking", "topk"),
            Setting("softmax in float64", f"{loop} line 240", "precision", "float64"),
            Setting("no guidance, no flag for end of text", f"{loop} lines 61-62", "end_of_text", "none"),
        ),
    )


_DREAM = f"{_FAST} dream/eval_gsm8k.sh"
_DREAM_LOOP = f"{_FAST} dream/model/generation_utils.py"
_GEMMA = "huggingface/transformers 5493ccf src/transformers/models/diffusion_gemma/generation_diffusion_gemma.py"
_USUAL = f"{_GEMMA} lines 222-230"

PRESETS: tuple[Preset, ...] = (
    _llada("GSM8K", "eval_gsm8k.sh", 26),
    _llada("HumanEval", "eval_humaneval.sh", 25),
    Preset(
        "fast-dllm-dream-gsm8k",
        "Fast-dLLM without its cache: Dream-7B-Base on GSM8K",
        (
            Setting("max_new_tokens = 256", f"{_DREAM} lines 6 and 28", "length", 256),
            Setting("no blocks without a cache", f"{_DREAM_LOOP} lines 416-465", "block", 256),
            Setting("alg = confidence_threshold", f"{_DREAM} line 28", "strategy", "threshold"),
            Setting("threshold = 0.9", f"{_DREAM} line 28", "threshold", 0.9),
            Setting("temperature = 0", f"{_FAST} dream/eval.py line 70", "sampling_temperature", 0.0),
            Setting("top_p = None", f"{_FAST} dream/eval.py line 71"),
            Setting("confidence over the whole vocabulary", f"{_DREAM_LOOP} lines 443-447", "ranking", "topk"),
            Setting("softmax of the logits as they come", f"{_DREAM_LOOP} lines 60-70", "precision", "model"),
            Setting(
                "diffusion_steps = 8",
                f"{_DREAM} line 28; dream/model/generation_utils.py lines 421 and 448-463",
                otherwise="left out",
                note="it caps a step: at most 32 tokens, and as many more as earlier steps left; here nothing caps it",
            ),
        ),
    ),
    Preset(
        "rws-paper",
        "the RWS paper: LLaDA-8B-Instruct, reward-weighted sampling",
        (
            Setting("maximum output length 256", _DETAILS, "length", 256),
            Setting("diffusion steps 128", _DETAILS, "steps", 128),
            Setting("block size 32", _DETAILS, "block", 32),
            Setting("RWS", f"{_PAPER}, section Reward-Weighted Sampling Algorithm", "strategy", "rws"),
            Setting(
                f"reward scale {_SCALES}",
                _DETAILS,
                otherwise="to be given",
                note="chosen for each reward model, and not printed which: give --reward-scale",
            ),
            Setting("epsilon, e.g. 1e-5", f"{_PAPER}, Step 3", note="the value that is used is not printed; here 1e-5"),
            Setting(
                "softmax probabilities of the scaled logits",
                f"{_PAPER}, Step 4",
                "ranking",
                "log-odds",
                note="the same order, without ties at 1; the precision is not printed",
            ),
            Setting(
                "temperature, guidance and end of text are not printed",
                _DETAILS,
                note="here nothing is drawn, nothing guided, and end of text is left alone",
            ),
        ),
    ),
    Preset(
        "diffusion-gemma",
        "DiffusionGemma-26B-A4B, uniform noise",
        (
            Setting("max_denoising_steps = 48", _USUAL, "steps", 48),
            Setting("entropy_bound = 0.1", f"{_USUAL}; arXiv 2505.24857", "entropy_bound", 0.1),
            Setting("t_max = 0.8", _USUAL, "t_max", 0.8),
            Setting("t_min = 0.4", _USUAL, "t_min", 0.4),
            Setting("stability_threshold = 1", _USUAL, "stability", 1),
            Setting("confidence_threshold = 0.005", _USUAL, "confidence", 0.005),
            Setting("max_new_tokens = 256", _USUAL, "canvases", 1, note="the published canvas has 256 tokens"),
        ),
        process="uniform",
    ),
)
