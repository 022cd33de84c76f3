"""`rws check`: whether a model gives the same answers elsewhere, and what differs if not."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from paper_figures.extra.check.settings import USUAL, Attention, Setting, digests_in, setting_named
from rws_decode.checkpoints.files import locate_model
from rws_decode.cli.options import group, json_option, option, read_options
from rws_decode.cli.progress import each, loading
from rws_decode.commands.options import SHAPE, LoadingOptions, RewardOptions, parse_token_ids
from rws_decode.common.threads import MOST_THREADS
from rws_decode.settings import Shape

if TYPE_CHECKING:
    from paper_figures.extra.check.digest import Digest

GROUP = "Inspect"
_SETTINGS = (
    "compare other settings of this machine, a process each: name=value,... with the names device, dtype, threads, "
    "batch, attention (math) and cpu (default or avx2: only the instructions of an older one); "
    f"without a word: {' '.join(USUAL)}"
)


@dataclass(frozen=True)
class CheckOptions:
    """The model, what it is compared with, and how it is run."""

    model: str = option(help="mask predictor: shipped name, directory or hub id", metavar="MODEL", positional=True)
    out: Path | None = option(
        None, "write the digest to this file", metavar="DIGEST.json", flags=("-o", "--out"), writes="file"
    )
    against: Path | None = option(None, "compare with the digest of another machine", metavar="DIGEST.json")
    settings: tuple[str, ...] | None = option(None, _SETTINGS, metavar="SETTING", may_be_empty=True)
    prompt: tuple[str, ...] | None = option(
        None, "a prompt, in place of the usual ones; may be given again", metavar="TEXT", repeated=True
    )
    input_ids: tuple[str, ...] | None = option(
        None, "a prompt as a JSON list of token ids; may be given again", metavar="JSON", repeated=True
    )
    mask_id: int | None = option(None, "mask token, for a model that does not name its own")
    reward: RewardOptions = group(RewardOptions, "the reward model; with one, rws:8 is decoded too")
    loading: LoadingOptions = group(LoadingOptions, "how the mask predictor is run")
    batch: int = option(16, "prompts at once, at most", least=1)
    threads: int = option(1, "PyTorch threads", least=1, most=MOST_THREADS)
    attention: Attention = option("usual", "kernel: as PyTorch chooses, or its plain form")
    shape: Shape = group(Shape, "the answer", help=SHAPE, default=Shape(32, 16, 32))
    json: bool = json_option()

    @classmethod
    def from_given(cls, given: Mapping[str, Any]) -> Self:
        """Return the options; ValueError for a shape beside --against."""
        named = [field.name for field in fields(Shape) if field.name in given]
        if named and "against" in given:
            name, value = named[0], given[named[0]]
            raise ValueError(f"--{name} is {value}: --against takes the shape of its digest, leave --{name} out")
        return read_options(cls, given)

    def __post_init__(self) -> None:
        locate_model(self.model)
        for text in self.input_ids or ():
            parse_token_ids(text)
        self.settings_asked()
        prompts = self.prompt or self.input_ids
        if self.against is not None and prompts:
            name = "--prompt" if self.prompt else "--input-ids"
            raise ValueError(f"{name} is {prompts[0]!r}: --against takes the prompts of its digest, leave {name} out")

    @property
    def setting(self) -> Setting:
        """Return the setting that the options themselves say."""
        return Setting(self.loading.device, self.loading.dtype or "", self.threads, self.batch, self.attention)

    def settings_asked(self) -> dict[str, Setting]:
        """Return the other settings by their words; none without --settings."""
        words = () if self.settings is None else self.settings or USUAL
        return {word: setting_named(word, self.setting) for word in words}

    @property
    def prompts(self) -> list[str | list[int]] | None:
        """Return the prompts that are given, None for the usual ones."""
        return [*(self.prompt or ()), *map(parse_token_ids, self.input_ids or ())] or None


def check(options: CheckOptions) -> int:
    """Say whether a model answers alike elsewhere, or what differs.

    The status is 1 where model or tokens differ, else 0.

    JSON: without a comparison, the digest; with --against, `same`, `differences`, `last_digits`, `context`,
    `not_compared`, `decodes` and `near_steps`; with --settings, `same`, and `settings`, such a comparison for each with
    its `setting`.
    """
    from paper_figures.extra.check.digest import load_digest

    other = None if options.against is None else load_digest(options.against)
    if sys.stderr.isatty():  # elsewhere a refusal is the only line
        loading("check", options.model, options.reward.reward)
    settings = options.settings_asked()
    make = partial(_digest, options, other)
    first = None
    if not settings or other is None or options.out is not None:
        first = make(options.setting) if not settings else next(digests_in(make, [options.setting]))
    if options.out is not None and first is not None:
        first.save(options.out)
    if settings:
        there = first if other is None else other
        assert there is not None
        return _print_settings(options, there, settings)
    assert first is not None
    if other is None:
        _print_digest(options, first)
        return 0
    from paper_figures.extra.check.compare import compare_digests

    diff = compare_digests(other, first)
    print(json.dumps(diff.as_json(), allow_nan=False) if options.json else diff)
    return 0 if diff.same else 1


def _digest(options: CheckOptions, like: Digest | None, setting: Setting) -> Digest:
    """Load the models as a setting says, and return the digest; also what a process of its own runs."""
    from paper_figures.extra.check.make import check_digest
    from rws_decode.common.threads import torch_threads

    load = replace(options.loading, device=setting.device, dtype=setting.dtype or None)
    predictor = load.load(options.model, options.mask_id)
    reward = None if options.reward.reward is None else options.reward.load(setting.device)
    with torch_threads(setting.threads):
        return check_digest(
            predictor,
            reward,
            prompts=options.prompts,
            shape=options.shape,
            like=like,
            batch=setting.batch,
            attention=setting.attention,
        )


def _print_digest(options: CheckOptions, digest: Digest) -> None:
    if options.json:
        print(json.dumps(digest.as_data(), allow_nan=False))
        return
    print(digest)
    reward = "" if options.reward.reward is None else f" --reward {options.reward.reward}"
    if options.out is None:
        print("To compare another machine with this one, write the digest to a file with -o.")
    else:
        print(f"{options.out}: {options.out.stat().st_size / 1000:.0f} KB. On another machine, run")
        print(f"  rws check {options.model}{reward} --against {options.out}")


def _print_settings(options: CheckOptions, there: Digest, settings: dict[str, Setting]) -> int:
    from paper_figures.extra.check.compare import compare_digests, difference_lines

    make = partial(_digest, options, there)
    digests = each(digests_in(make, list(settings.values())), "check", len(settings), "setting")
    same, results = True, []
    for number, (word, here) in enumerate(zip(settings, digests, strict=True)):
        diff = compare_digests(there, here)
        same = same and diff.same
        if options.json:
            results.append({"setting": word, **diff.as_json()})
            continue
        what = "the options as given" if options.against is None else str(options.against)
        # What differs besides is the setting itself, which stands above.
        lines = [f"{word} (here) and {what} (there):", *(f"  {line}" for line in difference_lines(diff))]
        print("\n".join([*([""] if number else []), *lines]), flush=True)
    if options.json:
        result: dict[str, Any] = {"same": same, "settings": results}
        print(json.dumps(result, allow_nan=False))
    return 0 if same else 1
