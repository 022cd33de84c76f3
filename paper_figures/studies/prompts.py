"""Choose the prompts of a study from a source, as --data, --examples or --prompt name them, before PyTorch is imported.

A source is NAME or NAME:DETAIL, as `--data` takes it (`options.SOURCES`), or a file with a prompt per row
(`paper_figures.data.prompt_files`). `--examples` names held-out prompts of the model by number, and `--prompt` a text;
at most one of the three is given. What cannot be asked is refused here, in one line, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from paper_figures.data.examples import shipped_examples, unknown_words
from paper_figures.data.loaders import Prompt
from paper_figures.data.prompt_files import PROMPT_ENDINGS, PromptRow
from paper_figures.data.prompt_sources import DRAWN, LOADED, named_prompts, numbered_examples
from paper_figures.data.story_sets import judge
from paper_figures.runner.digests import digest
from paper_figures.runner.units import Unit, origin_of
from paper_figures.studies.options import SOURCES, ComparisonOptions, Drawn, PromptOptions, StageOptions, Usual
from rws_decode.canvas.schedule import block_plan
from rws_decode.checkpoints.files import shipped
from rws_decode.cli.options import check_writable
from rws_decode.cli.progress import loading, tell
from rws_decode.common.later import np
from rws_decode.text.dialogue import check_text, masks_in


@dataclass(frozen=True)
class Prompts:
    """The prompts of a study, and the source that they are from.

    Results are about the `test` prompts, and settings are chosen on the `validation` prompts. No text is in both.
    """

    source: str
    test: tuple[Prompt, ...]
    validation: tuple[Prompt, ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of test and validation prompts, for the record."""
        return digest([[[prompt.name, prompt.turns] for prompt in part] for part in (self.test, self.validation)])


def is_file(source: str) -> bool:
    """Return whether a source is a file of prompts, of which all are wanted unless a number is given."""
    return source.partition(":")[0] not in SOURCES or source.partition(":")[0] == "text"


def prompts_of(source: str, count: int | None, validation: int = 0, *, seed: int = 0, model: str = "mini") -> Prompts:
    """Return `count` test prompts of a source or file, and `validation` other prompts to choose settings on.

    If `count` is None, all are taken, or 32 where prompts are sampled. How they are chosen depends on the source:

    - Stories, dialogues and puzzles are sampled by the seed from the language's splits test and validation, on which no
      shipped model was trained.
    - Antibodies and reactions are sampled by the seed, and so are the tokens of each that become gaps.
    - Of benchmarks and keywords, the test prompts are sampled by the seed, then the validation prompts from the rest.
      Both keep the order of the file. They are sampled because the first rows of a file may all be of one category.
    - Of examples and of a file the first `count` are taken, and the validation prompts are sampled from the rest.

    If all prompts of a set or file are wanted, the validation prompts are sampled first, and the test prompts are the
    rest. Prompts of equal turns count once, and no first turn is in both parts. ValueError is raised for an unknown
    source, for too few prompts, and as the loaders say.

    >>> [len(part) for part in (lambda chosen: (chosen.test, chosen.validation))(prompts_of("stories:puzzle", 3, 2))]
    [3, 2]
    """
    name, _, detail = source.partition(":")
    if name not in SOURCES:
        if not source.endswith(PROMPT_ENDINGS) and not Path(source).exists():
            raise ValueError(f"data is {source!r}: no such file, and the sources are {', '.join(SOURCES)}")
        name, detail = "file", source
    if count is not None and count < 1:
        raise ValueError(f"prompts is {count}: at least 1 is needed")
    if validation < 0:
        raise ValueError(f"validation is {validation}: at least 0 is needed")
    if detail and name in ("dialogues", "puzzles", "openings", "keywords"):
        raise ValueError(f"data is {source!r}: {name} have no detail")
    if name in DRAWN:
        draw = DRAWN[name]
        test = draw(detail, 32 if count is None else count, seed, "test")
        # The language splits pairs of prompt and answer, so a prompt alone may be in both splits.
        validation_prompts = draw(detail, validation + len(test), seed, "validation") if validation else []
        other_prompts = _without(validation_prompts, test)
        if len(other_prompts) < validation:
            raise ValueError(
                f"validation is {validation}: {source} has {len(other_prompts)} prompts that are no test prompts"
            )
        return Prompts(source, tuple(test), tuple(other_prompts[:validation]))
    if name == "text" and not detail:
        raise ValueError(f"data is {source!r}: text:FILE is needed")
    loaded = list({prompt.turns: prompt for prompt in LOADED[name](detail or None, model)}.values())
    needed = validation + (1 if count is None else count)
    if len(loaded) < needed:
        parted = f" ({validation} of them for --validation; --reward-scale S needs none)" if validation else ""
        raise ValueError(f"data is {source!r}: it has {len(loaded)} different prompts, {needed} are wanted{parted}")
    if count is None:
        # If all prompts are used, the validation prompts are sampled first, and the test prompts are the rest.
        validation_prompts = [loaded[index] for index in _drawn(len(loaded), validation, seed)]
        return Prompts(source, tuple(_without(loaded, validation_prompts)), tuple(validation_prompts))
    indices = range(count) if name in ("examples", "text", "file") else _drawn(len(loaded), count, seed)
    test = [loaded[index] for index in indices]
    remaining = _without(loaded, test)
    if len(remaining) < validation:
        raise ValueError(f"validation is {validation}: {source} has {len(remaining)} prompts that are no test prompts")
    return Prompts(
        source, tuple(test), tuple(remaining[index] for index in _drawn(len(remaining), validation, seed + 1))
    )


def _without(prompts: Sequence[Prompt], others: Sequence[Prompt]) -> list[Prompt]:
    """Return the prompts whose first turn none of the others has.

    Scales are chosen on first turns.
    """
    texts = {prompt.text for prompt in others}
    return [prompt for prompt in prompts if prompt.text not in texts]


def _drawn(total: int, count: int, seed: int) -> list[int]:
    return sorted(np.random.default_rng(seed).choice(total, count, replace=False).tolist()) if count else []


_SHOWN = 8  # unknown words that a note names, at most
Options = TypeVar("Options", bound=ComparisonOptions | StageOptions)


def check_options(options: ComparisonOptions | StageOptions) -> None:
    """Raise ValueError if --out is a file, the shape does not divide, or the seed is out of range."""
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed is {options.seed}: at least 0 and below 2**31 is needed")
    check_writable("--out", Path(options.out), "directory")
    block_plan(options.length, options.steps, options.block)


def begin(
    options: Options, experiment: str, models: Mapping[str, Iterable[str | None]], *, judged: bool = False
) -> tuple[Options, Prompts]:
    """Check the options and read the prompts before PyTorch is imported, and say what is loaded and left out.

    `models` are the reward and causal models by the option that names them. `judged` says whether answers are judged by
    the rules of the story language. Return the options as they are recorded, and the prompts. ValueError as
    `check_options` and `asked_prompts` raise it, and for prompts of several turns.
    """
    check_options(options)
    options = with_usual_data(options)
    prompts = asked_prompts(options)
    one_turn(options, prompts)
    announce(experiment, options.model, prompts, models, judged=judged)
    return recorded(options, prompts), prompts


def given_as(options: PromptOptions) -> str:
    """Return which of `data`, `examples` and `prompt` names the prompts; ValueError if several do."""
    usual = {field.name: field.default for field in fields(options) if field.default is not MISSING}
    named = [name for name in ("prompt", "examples", "data") if getattr(options, name) not in (None, usual.get(name))]
    if len(named) > 1:
        raise ValueError(f"--{named[0]} and --{named[1]} are given: name the prompts by one of them")
    return named[0] if named else "data" if options.examples is None else "examples"


def with_usual_data(options: Options) -> Options:
    """Return the options with the model's own prompts as data, where none is named and the study's are not its own."""
    source, _, kind = str(options.data).partition(":")
    if given_as(options) != "data" or not isinstance(options.data, Usual):
        return options
    # A study decodes an answer after its prompt, and fills no gaps.
    examples = [example for example in shipped_examples(options.model) if not masks_in(example["prompt"])]
    if source == "examples":
        fit = any(kind in ("", "all", example.get("kind")) for example in examples)
    else:
        fit = any(judge(example["prompt"], "").kind != "free" for example in examples)
    if fit or not examples:
        return options
    source = f"examples:{kind}" if (kind := examples[0].get("kind")) else "examples"
    tell(f"note: --data is {source}, prompts that {options.model} ships: it has none of {options.data}")
    return replace(options, data=source)


def asked_prompts(options: Any) -> Prompts:
    """Return the prompts that a study's options name, and those to choose reward scales on if these are not given.

    ValueError, in one line, for prompts that cannot be read, have gaps, or hold no word that the model knows, and for
    a prompt of --validation-data that is a test prompt too. A note on standard error names unknown words of the others.
    """
    choosing: bool = issubclass(type(options), ComparisonOptions) and not options.reward_scale
    wanted, elsewhere = (options.validation, options.validation_data) if choosing else (0, None)
    validation = wanted if elsewhere is None else 0
    how = given_as(options)
    if options.prompts < 0:
        raise ValueError(f"--prompts is {options.prompts}: at least 0 is needed")
    own = how != "data" or is_file(options.data)
    count = None if options.prompts == 0 or (own and isinstance(options.prompts, Drawn)) else int(options.prompts)
    if how == "data":
        prompts = prompts_of(options.data, count, validation, seed=options.seed, model=options.model)
    else:
        prompts = Prompts(*_named(options, how, count, validation))
    for prompt in (*prompts.test, *prompts.validation):
        if gaps := [turn for turn in prompt.turns if masks_in(turn)]:
            raise ValueError(
                f"prompt {prompt.name} has gaps ({gaps[0][:40]!r}): a study decodes an answer after its prompt; "
                "rws generate --infill TEXT fills gaps"
            )
    if validation and (own or count is None):
        parts = f"{len(prompts.validation)} prompts choose the reward scale and {len(prompts.test)} are the test"
        tell(f"note: of {prompts.source} {parts}; --reward-scale S keeps all for the test")
    if own and how != "examples":
        _check_words(options.model, prompts.test)
    if wanted and elsewhere is not None:
        texts = {prompt.text for prompt in prompts.test}  # scales are chosen on first turns
        others = prompts_of(elsewhere, 1, wanted, seed=options.seed, model=options.model).validation
        if any(prompt.text in texts for prompt in others):
            raise ValueError(f"--validation-data is {elsewhere}: a prompt of it is a test prompt too")
        return replace(prompts, source=f"{prompts.source}; validation: {elsewhere}", validation=others)
    return prompts


def _named(options: Any, how: str, count: int | None, validation: int) -> tuple[str, tuple[Prompt, ...]]:
    if validation:
        raise ValueError(
            f"--{how} names no prompts to choose reward scales on: --reward-scale S sets them, "
            f"--validation-data FILE names {validation} others"
        )
    if how == "examples":
        prompts = numbered_examples(options.examples, options.model)
    else:
        for text in options.prompt:
            if not check_text("--prompt", text).strip():
                raise ValueError(f"--prompt is {text!r}: a text is needed")
        prompts = named_prompts([PromptRow((text,)) for text in options.prompt], options.model)
    if count is not None and count > len(prompts):
        raise ValueError(f"--prompts is {count}: --{how} names {len(prompts)} different ones")
    return how if how == "examples" else "the command line", tuple(prompts[:count])


def _check_words(model: str, prompts: Sequence[Prompt]) -> None:
    missed: dict[str, None] = {}
    touched = 0
    for prompt in prompts:
        words, all_unknown = unknown_words(model, " ".join(prompt.turns))
        if all_unknown:
            raise ValueError(f"prompt {prompt.text[:60]!r} holds no word that {model} knows: use others")
        missed |= dict.fromkeys(words)
        touched += bool(words)
    if missed:
        more = f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else ""
        named = " ".join(list(missed)[:_SHOWN]) + more
        tell(f"note: {model} does not know these words of {touched} of {len(prompts)} prompts: {named}")


def one_turn(options: PromptOptions, prompts: Prompts) -> None:
    """Raise ValueError if a prompt has several turns, of which this study would ask only the first."""
    if any(len(prompt.turns) > 1 for prompt in prompts.test):
        how = given_as(options)
        raise ValueError(f"--{how} is {getattr(options, how)}: prompts of one turn are needed")


def require(options: PromptOptions, prompts: Prompts, has: Callable[[Prompt], bool], lacking: str) -> None:
    """Raise ValueError if a prompt lacks what a study needs besides its text; `lacking` says what, and what has it."""
    for prompt in (*prompts.test, *prompts.validation):
        if not has(prompt):
            how = given_as(options)
            value = {"prompt": repr(prompt.text[:60]), "examples": prompt.name, "data": options.data}[how]
            raise ValueError(f"--{how} is {value}: prompt {prompt.name} has {lacking}")


def recorded(options: Options, prompts: Prompts) -> Options:
    """Return the options with the number of prompts that were found, if all were taken."""
    return replace(options, prompts=len(prompts.test)) if isinstance(options.prompts, Drawn) else options


def announce(
    study: str, model: str, prompts: Prompts, readers: Mapping[str, Iterable[str | None]], *, judged: bool = True
) -> None:
    """Say on standard error which models are loaded, and what of the story language does not apply here.

    readers: the reward and causal models by the option that names them, --reward, --judge or --causal, or their plural.
    judged: whether the study judges answers by the rules of the language. ValueError for an unknown name.
    """
    named = {flag: [name for name in dict.fromkeys(names) if name] for flag, names in readers.items()}
    for flag, names in named.items():
        for name in names:
            if not _at_hand(name):
                _check_name(flag, name)
    loading(study, model, *(name for names in named.values() for name in names))

    ours = {name for kind in ("BertForMaskedLM", "ForCausalLM", "ForSequenceClassification") for name in shipped(kind)}
    ours |= {"mini", "exact"}
    foreign = [f"{flag} {name}" for flag, names in named.items() for name in names if name in ours]
    if foreign and model not in ours:
        tell(f"note: {', '.join(foreign)}: made for the language of the shipped models, not of {model}")
    if judged and all(judge(prompt.text, "").kind == "free" for prompt in prompts.test):
        tell("note: coherence is left out: none of the prompts is of the story language, which has rules")


def _at_hand(name: str) -> bool:
    known = ("exact", "mini", "mini-judge", "mini-causal", "era", "keywords")
    return name.partition(":")[0] in known or Path(name).is_dir() or ("/" in name and name[0] not in "./")


def _check_name(flag: str, name: str) -> None:
    """Raise ValueError for a name that stands for no model; which short names there are, only PyTorch's users know."""
    plain = Unit(experiment="", prompt="", strategy={"name": "default"}, predictor=None)
    fields_of = {"--reward": {"reward": name}, "--judge": {"judges": (name,)}, "--causal": {"causal": name}}
    origin_of([replace(plain, **fields_of[flag.removesuffix("s")])])
