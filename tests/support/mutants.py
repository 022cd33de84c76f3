"""Plant faults in a copy of the project, one at a time, and show which test catches each: `make mutants`.

Each fault is what a tired colleague could write: one place of the source, changed. It is planted in a copy of the
working tree, where the tests that it names and the doctests of its file run until one fails. The tests that failed run
once more without a fault: those that fail then, too, show nothing. The exit status is 0 if every fault was caught, 1 if
one survived, and 2 if one could not be planted or its test fails without it.

A fault is written as

    name: package, test files
    - what stands in the source
    + what stands there with the fault

The text must occur once in its package, so files may be moved. Test files are named without folders.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SECONDS = 300  # for the tests of one fault: what takes longer hangs, and so is caught

FAULTS = r"""
tango-z: paper_figures, test_paired_proportions
- norm.ppf((1 + level) / 2)
+ norm.ppf(level)
abc-plain: paper_figures, test_means
- * shifted / (1 - skew * shifted) ** 2
+ * shifted
holm-one-family: paper_figures, test_summaries
- tuple(row[name] for name in same)
+ ()
p-can-be-zero: paper_figures, test_summaries
- (count + 1) / (total + 1)
+ count / total
max-t-uncorrected: paper_figures, test_max_t
- np.maximum.accumulate(reached[:, ::-1], axis=1)[:, ::-1]
+ reached
tost-lesser-p: paper_figures, test_equivalence
- max(stats.norm.cdf(below), 
+ min(stats.norm.cdf(below), 
mid-ranks: paper_figures, test_win_rates
- groups * (2 * before + ties)
+ groups * (2 * before)
clustered-error: paper_figures, test_calibration
- weights=values - mean
+ weights=values
draw-at-tolerance: paper_figures, test_win_rates
- - default_scores) > tolerance
+ - default_scores) >= tolerance
paired-by-position: paper_figures, test_summaries
- here.merge(there, on=list(pair), suffixes=("", "_base"), validate="one_to_one")
+ here.reset_index(drop=True).join(there.reset_index(drop=True), rsuffix="_base", how="inner")
arms-unsorted: paper_figures, test_evidence_comparisons
- group.sort_values("prompt").reset_index
+ group.reset_index
judges-second-order: paper_figures, test_judging
- {"1": "loss", "2": "win", "tie"
+ {"1": "win", "2": "loss", "tie"
scale-from-test: paper_figures, test_evidence_comparisons
- (answers["split"] == "validation")
+ (answers["split"] == "test")
constant-mean: paper_figures, test_evidence_study
- float(factors[name].mean())
+ float(np.median(factors[name]))
not-shuffled: paper_figures, test_controls_experiment
- rng.permutation(list(run["rewards"])).tolist()
+ list(run["rewards"])
own-rewards-swapped: paper_figures, test_evidence_study
- np.roll(around, 1)
+ np.roll(around, 0)
sign-not-turned: rws_decode, test_strategy_reference
- view._replace(reward=-view.reward)
+ view._replace(reward=view.reward)
every-other-step: rws_decode, test_strategy_reference
- return step % self.every == 0
+ return (step + 1) % self.every == 0
axis-of-fig-1: paper_figures, test_paper_figures
- "position in the answer  [tokens, from 0]"
+ "diffusion step"
unit-of-god: rws_decode, test_plots
- GOD {each.god_tokens:.2f} tokens
+ GOD {each.god_steps:.2f} tokens
win-and-loss-bars: paper_figures, test_win_rate_figures
- _LOOKS.items(), ("win", "loss"), strict=True):
+ _LOOKS.items(), ("loss", "win"), strict=True):
caption-count: paper_figures, test_win_rate_figures
- Mean over {data.guides} guides
+ Mean over {len(data.rows)} guides
beta-left-out: rws_decode, test_entrgi test_steering_laws test_steering_reference
- weights = self.beta * ensemble.values()
+ weights = ensemble.values()
resampling-threshold: rws_decode, test_entrgi test_steering_laws test_steering_reference
- * ensemble.copies * EVEN
+ * EVEN
gibbs-path-lost: rws_decode, test_entrgi test_steering_laws test_steering_reference
- np.concatenate([[0], drawn[1:]]) if paths else drawn
+ drawn
no-square-root: rws_theory, test_tilting test_numerics
- (reward_scale * np.sqrt(sigmoid(values) + eps))
+ (reward_scale * (sigmoid(values) + eps))
normalised-late: rws_theory, test_tilting test_numerics
- np.isfinite(difference), difference / std
+ np.isfinite(difference), values / std - mean
remainder-last: rws_decode, test_schedule
- + (step < rest)
+ + (step >= steps - rest)
two-blocks-at-once: rws_decode, test_decode
- number == torch.where(masked, number, masked.shape[1])
+ number >= torch.where(masked, number, masked.shape[1])
end-of-text-first: rws_decode, test_rounding
- = candidates & ~deferred, candidates & deferred
+ = candidates & deferred, candidates & ~deferred
guidance-scale: rws_decode, test_gaps
- unconditional + (cfg + 1) *
+ unconditional + cfg *
masks-in-the-answer: rws_decode, test_decode
- sorted({predictor.mask_id, *padding,
+ sorted({*padding,
gumbel-temperature: rws_decode, test_sampling
- (-torch.log(uniform)) ** temperature
+ (-torch.log(uniform)) * temperature
rightmost-first: rws_decode, test_ranking
- order = np.lexsort((-value, ~open_), axis=-1)
+ order = value.shape[1] - 1 - np.lexsort((-value[:, ::-1], ~open_[:, ::-1]), axis=-1)
threshold-strict: rws_decode, test_counting
- return in_rows(view.log_odds >= least_odds(threshold)
+ return in_rows(view.log_odds > least_odds(threshold)
entropy-bound-leeway: rws_decode, test_counting
- - Entropy.abilities.sensitivity * view.leeway
+ + Entropy.abilities.sensitivity * view.leeway
near-branches: rws_decode, test_counting
- left <= (least + 2 * reach)[branch]
+ left <= (least - 2 * reach)[branch]
near-tie-half: rws_decode, test_rounding
- near = self.lead <= 2 * self.seen.error
+ near = self.lead <= self.seen.error
padding-side: rws_decode, test_decode
- if padding == "left" else 0
+ if padding == "right" else 0
gate-and-up-exchanged: rws_decode, test_families
- {_BLOCK}ff_proj\.": rf"{_LAYER}mlp.gate_proj."
+ {_BLOCK}ff_proj\.": rf"{_LAYER}mlp.up_proj."
logits-not-shifted: rws_decode, test_families
- config.vocab_size, shifted=True
+ config.vocab_size
padded-last-token: rws_decode, test_causal_reward
- hidden_states(self.model, texts)[torch.arange(len(texts)), last]
+ hidden_states(self.model, texts)[:, -1]
god-in-tokens: rws_decode, test_trace
- self.commit_step[self.commit_step >= 0], "steps"
+ self.commit_step[self.commit_step >= 0], "tokens"
version-4-read: rws_decode, test_outcome
- _READ = (5, VERSION)
+ _READ = (4, 5, VERSION)
column-lost: rws_decode, test_trace test_revising
- "masked_again": (trace.masked_again | trace.edited)[rows]
+ "masked_again": (trace.provisional | trace.edited)[rows]
replay-without-ties: rws_decode, test_replay
- same and int(selection.ties) == trace.ties[step]
+ same
diff-without-tokens: rws_decode, test_diff
- if ours == theirs and not revised:
+ if ours.keys() == theirs.keys() and not revised:
raw-rewards: rws_decode, test_cli_generate
- for reward in trace.reward_raw.tolist()]
+ for reward in trace.reward_normalised.tolist()]
check-always-well: paper_figures, test_cli_check
- return 0 if diff.same else 1
+ return 0
preset-block: rws_decode, test_presets
- "LLaDA-8B-Instruct on GSM8K, block by block", 256, 8,
+ "LLaDA-8B-Instruct on GSM8K, block by block", 256, 32,
printed-god: rws_theory, test_claims
- "scale": 0.01, "perplexity": 13.57, "god": 0.91
+ "scale": 0.01, "perplexity": 13.57, "god": 0.19
digest-without-models: paper_figures, test_units
- [[model, origin.models[model]] for model in unit.models]
+ [[model, None] for model in unit.models]
stubs-not-digested: paper_figures, test_units
- if stub.is_file():
+ if not stub.is_file():
done-units-again: paper_figures, test_runner
- skipped = done if retry_failed else done | failed
+ skipped = done
csv-rounded: paper_figures, test_paper_figures
- pd.DataFrame(rows, dtype=object).to_csv
+ pd.DataFrame(rows).round(6).to_csv
stability-far-end: rws_theory, test_stability
- nearest.lower if upwards else nearest.upper
+ nearest.upper if upwards else nearest.lower
crossings-parity: rws_theory, test_theorem1
- (1 if power_sum > 0 else -1) * (-1) ** order
+ 1 if power_sum > 0 else -1
always-certified: rws_theory, test_stability
- narrow = all(bracket.breakpoint and
+ narrow = all(True or bracket.breakpoint and
log-z-of-no-context: rws_theory, test_ngram
- - self.log_partition(text.size, before)
+ - self.log_partition(text.size)
viterbi-forgets: rws_theory, test_ngram
- + rewards[reader, chain.last]
+ + rewards[0, chain.last]
pieces-off-by-one: rws_decode, test_scale_path
- index, begin = index + bracket.breakpoint, max(
+ index, begin = index + 1, max(
"""


class Fault(NamedTuple):
    """A fault: its name, the package, the files of tests that must fail, a text and what replaces it."""

    name: str
    package: str
    tests: list[str]
    before: str
    after: str


def faults() -> list[Fault]:
    """Return the faults of the list above."""
    blocks = re.findall(r"^(\S+): (\w+), (.*)\n- (.*)\n\+ (.*)$", FAULTS, flags=re.MULTILINE)
    return [Fault(name, package, tests.split(), *texts) for name, package, tests, *texts in blocks]


def copied(root: Path, to: Path) -> Path:
    """Copy the files that git knows or would add below `root`, as they are now."""
    command = ["git", "ls-files", "-zco", "--exclude-standard"]
    for name in subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0"):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes((root / name).read_bytes())
    return to


def sources(root: Path, package: str) -> dict[Path, str]:
    """Return the texts of a package's code, data and templates."""
    paths = (path for end in ("py", "json", "jinja") for path in sorted((root / package).rglob(f"*.{end}")))
    return {path: path.read_text(encoding="utf-8") for path in paths}


def place_of(fault: Fault, texts: dict[Path, str]) -> tuple[Path, str, str]:
    """Return the file of a fault, its text, and its text with the fault; ValueError unless it occurs, and once."""
    count = sum(text.count(fault.before) for text in texts.values())
    if count != 1:
        raise ValueError(f"{fault.name}: its text occurs {count} times in {fault.package}, not once")
    path = next(path for path, text in texts.items() if fault.before in text)
    return path, texts[path], texts[path].replace(fault.before, fault.after)


def tests_of(fault: Fault, root: Path) -> list[str]:
    """Return the paths of a fault's tests; ValueError where no file has such a name."""
    found = [str(path.relative_to(root)) for name in fault.tests for path in (root / "tests").rglob(f"{name}.py")]
    if not found:
        raise ValueError(f"{fault.name}: no file of tests is named {' or '.join(fault.tests)}")
    return found


def pytest_collection() -> None:
    """Let Hypothesis end at the first example that fails, without a search for a smaller one; pytest calls it."""
    from hypothesis import Phase, settings  # late: pytest rewrites it before

    settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutants")


def failing(root: Path, words: Sequence[str]) -> list[str]:
    """Return the tests that fail, without their parameters; what does not end in time is one of that name."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "--tb=no", "-rfE", *words]
    env = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{Path(__file__).parent}"}
    try:
        run = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"no end in {SECONDS} s"]
    lines = [line.split(" ", 1)[1] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if run.returncode not in (0, 1) and not lines:
        raise ValueError(f"pytest {' '.join(words)}: {(run.stdout + run.stderr).strip().splitlines()[-1]}")
    return list(dict.fromkeys(line.split(" - ")[0].split("[")[0] for line in lines))


def outcomes(chosen: Sequence[Fault], root: Path) -> Iterator[dict[str, Any]]:
    """Plant each fault, run its tests, and take it out again; yield what became of it."""
    for number, fault in enumerate(chosen, 1):
        began, result = time.monotonic(), {"name": fault.name, "file": None, "outcome": "error", "by": ""}
        try:
            path, before, after = place_of(fault, sources(root, fault.package))
            result["file"] = str(path.relative_to(root))
            doctests = [result["file"]] * (path.suffix == ".py")
            try:
                path.write_text(after, encoding="utf-8")
                os.utime(path, (number, 2 * number))  # bytecode of another state is known by its time
                failed = failing(root, ["-x", *tests_of(fault, root), *doctests])
            finally:
                path.write_text(before, encoding="utf-8")
                os.utime(path, (number, 2 * number + 1))
            result |= {"outcome": "caught", "by": failed[0]} if failed else {"outcome": "survived"}
        except ValueError as error:
            result["by"] = str(error)
        yield result | {"seconds": round(time.monotonic() - began, 1)}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, run, and say what became of each fault."""
    parser = argparse.ArgumentParser(description="plant faults, one at a time, and show which test catches each")
    names = [fault.name for fault in faults()]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="some faults (all)")
    options = parser.parse_args(argv)
    chosen = [fault for fault in faults() if fault.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        root, results = copied(ROOT, Path(folder)), []
        for result in outcomes(chosen, root):
            results.append(result)
            print("{outcome:8}  {name:24}  {by}  ({seconds:.0f} s)".format(**result), flush=True)
        caught = [result for result in results if result["outcome"] == "caught"]
        named = sorted({result["by"] for result in caught if "::" in result["by"]})
        always = failing(root, named) if named else []
    for result in (result for result in caught if result["by"] in always):
        result["outcome"] = "error"
        print(f"error     {result['name']:24}  {result['by']} fails without it, too")
    ends = [result["outcome"] for result in results]
    print(*(f"{ends.count(kind)} {kind}" for kind in ("caught", "survived", "error")), sep=", ")
    return 2 if "error" in ends else int("survived" in ends)


if __name__ == "__main__":
    sys.exit(main())
