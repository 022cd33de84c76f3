"""Read the program out of a model's answer to a HumanEval problem, and make the prompt that it answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from paper_figures.data.loaders import HumanEvalProblem
from paper_figures.sandbox.syntax import Code, begin, dedent, needed, parse, shortened, width
from rws_theory.checks import one_of

How = Literal["continuation", "fenced function", "function", "indented body", "unparsable"]
HOWS: tuple[How, ...] = ("continuation", "fenced function", "function", "indented body", "unparsable")
Style = Literal["completion", "instruct"]
STYLES: tuple[Style, ...] = ("completion", "instruct")
# Where the benchmark ends a completion (Chen et al. 2021, section 2.2).
_STOPS = re.compile(r"\n(?:class|def|#|if|print)")
# More than any honest answer holds; they bound the time that a dishonest one takes.
_MOST_DEFINITIONS, _MOST_BLOCKS = 4, 32
_FENCE = "```"


@dataclass(frozen=True)
class Program:
    """What is run for an answer, and how it was read (`program_of`)."""

    source: str
    how: How


def humaneval_prompt(problem: HumanEvalProblem, style: Style) -> str:
    """Return what a model is given: "completion", the problem's prompt as it is; "instruct", asked for in words.

    The benchmark lets models go on from its prompt. Chat models need an instruction, and scores depend on its wording.
    OpenCompass, with which LLaDA's authors report their Instruct models, puts one line of instruction above the bare
    prompt. lm-evaluation-harness's humaneval_instruct puts the prompt in a fence and also begins the answer with it.
    The instruction here is our own. ValueError for another style.

    >>> problem = HumanEvalProblem("0", "def one():\\n    '''Return 1.'''\\n", "one", "", "    return 1\\n")
    >>> print(humaneval_prompt(problem, "instruct").replace("`", "'"))
    Complete this Python function. Answer with the whole function in one code block.
    <BLANKLINE>
    \'\'\'python
    def one():
        \'\'\'Return 1.\'\'\'
    \'\'\'
    """
    one_of("style", style, STYLES)
    if style == "completion":
        return problem.prompt
    instruction = "Complete this Python function. Answer with the whole function in one code block."
    return f"{instruction}\n\n{_FENCE}python\n{problem.prompt.strip()}\n{_FENCE}"


def program_of(problem: HumanEvalProblem, answer: str) -> Program:
    """Return what is run for a model's answer: the first of these readings that Python can parse.

    1. "continuation": the first line is indented. Prompt and answer, up to a code fence.
    2. "fenced function": of the blocks between ``` marks, closed or not, the first that defines the entry point at its
       margin, in whole.
    3. "function": the same, anywhere in the answer outside of a fence, or in one that was not marked as such.
    4. "continuation" or "indented body": a block as in 1, or whose lines are a body once they are moved to its column.
    5. "indented body": the answer, up to a code fence, moved likewise, or its first line alone.
    6. "unparsable": prompt and answer up to the first of the benchmark's stop words, which runs as it does there.

    A reading that does not parse whole is cut, at a line at the margin, to what does parse (`syntax.shortened`). It is
    not cut inside a function: one that breaks off halfway stays broken, unless its body is written at the margin,
    where it looks like prose. A function must have more in it than a docstring, `pass`, `...` or
    `raise NotImplementedError`; otherwise the next definition is tried. A function found by 2 or 3 replaces the
    prompt's: the imports and helpers before the prompt's function come first, then those of the answer. Bodies that
    are moved, or in a fence (4, 5), must have a return, yield or raise, as prose can parse. After the function,
    definitions that it uses stay. What calls, prints or checks it, a main block, and a second function of its name are
    removed (`syntax.needed`), as the benchmark's stop words do.

    No rule reads the problem's checks or its solution, and nothing is run. Methods of a class, and functions that are
    assigned, are not looked for. At most 4 definitions of a text and 32 blocks are tried, so that time is linear in the
    answer, as far as `ast.parse` is. ValueError only for a problem whose prompt does not define its entry point.

    >>> problem = HumanEvalProblem("0", "def one():\\n    '''Return 1.'''\\n", "one", "", "    return 1\\n")
    >>> for answer in ("    return 1\\n\\nIt is 1.", "Sure:\\n```\\ndef one():\\n    return 1\\n```", "return 1", "1"):
    ...     program_of(problem, answer).how
    'continuation'
    'fenced function'
    'indented body'
    'unparsable'
    """
    head = _head(problem)
    lines = answer.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for source, how in _readings(head, lines):
        if source is not None:
            return Program(source, how)
    return Program(problem.prompt + _STOPS.split(answer, maxsplit=1)[0], "unparsable")


class _Head(NamedTuple):
    """A prompt: the entry point's name, what is before its function, all lines, and the body's indentation."""

    name: str
    before: str
    lines: list[str]
    indentation: str


def _head(problem: HumanEvalProblem) -> _Head:
    name, prompt = problem.entry_point, problem.prompt.removesuffix("\n")
    definitions = list(_definition(name).finditer(prompt))
    if not definitions:
        raise ValueError(f"problem {problem.id}: its prompt does not define its entry point {name!r}")
    lines = prompt.split("\n")
    tree, _ = parse(prompt)
    indentation = "    "
    if tree is not None and isinstance(last := tree.body[-1], ast.FunctionDef | ast.AsyncFunctionDef):
        first = lines[last.body[0].lineno - 1]
        indentation = first[: width(first)] or indentation
    return _Head(name, prompt[: definitions[-1].start()], lines, indentation)


def _definition(name: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(name)}[ \t]*[(\[]", re.MULTILINE)


def _readings(head: _Head, lines: list[str]) -> Iterator[tuple[str | None, How]]:
    bare, blocks = _fences(lines)
    blocks = blocks[:_MOST_BLOCKS]
    if _is_indented(bare):
        yield _continued(head, bare), "continuation"
    for block in blocks:
        yield _function(head, block), "fenced function"
    yield _function(head, lines), "function"
    for block in blocks:
        if _is_indented(block):
            yield _continued(head, block, returns=True), "continuation"
        yield _moved(head, block), "indented body"
    yield _moved(head, bare), "indented body"


def _fences(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the lines before the first mark of a fence, and the lines of each block, the last perhaps unclosed.

    A mark ends its line but for the name of a language; a line with two is text.
    """
    bare: list[str] = []
    blocks: list[list[str]] = []
    block: list[str] | None = bare
    for line in lines:
        text, mark, language = line.rstrip().rpartition(_FENCE)
        text = text.rstrip("`")
        if not mark or _FENCE in text or not re.fullmatch(r"[\w+#.-]*", language):
            if block is not None:
                block.append(line)
            continue
        inside = block is not None and block is not bare
        if text.strip() and block is not None:
            block.append(text)
        if inside and not language:
            block = None
        else:
            block = []
            blocks.append(block)
    return bare, blocks


def _is_indented(lines: Sequence[str]) -> bool:
    return width(next((line for line in lines if line.strip()), "")) > 0


def _margins(lines: Sequence[str], first: int = 0) -> list[int]:
    return [number for number, line in enumerate(lines, first) if line.strip() and not width(line)]


def _function(head: _Head, lines: Sequence[str]) -> str | None:
    """Return the program of a text that holds the function whole."""
    lines = dedent(lines)
    pattern = _definition(head.name)
    numbers = (number for number, line in enumerate(lines) if pattern.match(line))
    for number, _ in zip(numbers, range(_MOST_DEFINITIONS), strict=False):
        start = begin(lines, number)
        kept = lines[start:]
        code = shortened(kept, _margins(kept), number - start + 1)
        function = None if code is None else _defined(code, head.name, number - start)
        if code is not None and function is not None and not _is_stub(function):
            return needed(code, function, head.name, before=head.before)
    return None


def _continued(head: _Head, lines: Sequence[str], *, returns: bool = False) -> str | None:
    """Return the prompt with the lines as its function's body."""
    return _with_body(head, lines, _margins(lines), returns)


def _moved(head: _Head, lines: Sequence[str]) -> str | None:
    """Return the prompt with a body that is written at another column, or whose first line alone is."""
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None:
        return None
    body = lines[start:]
    margins = _margins(body)
    # An indented body ends at the margin; one that is written there goes on as long as it parses.
    flat = dedent(body[: margins[0]] if margins and margins[0] > 0 else body)
    shifted = [head.indentation + line if line.strip() else "" for line in flat]
    source = _with_body(head, shifted, margins, True)
    if source is None and len(body) > 1:
        source = _with_body(head, [head.indentation + body[0].lstrip(" \t"), *body[1:]], _margins(body[1:], 1), True)
    return source


def _with_body(head: _Head, lines: Sequence[str], ends: Sequence[int], returns: bool) -> str | None:
    given = len(head.lines)
    code = shortened([*head.lines, *lines], [given + end for end in ends], given + 1)
    if code is None:
        return None
    function = _defined(code, head.name, head.before.count("\n"))
    if function is None:
        return None
    added = [node for node in function.body if node.lineno > given]
    if not added or (returns and not _returns(added)):
        return None
    # A body that defines the function again is the whole function, indented.
    again = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == head.name for node in added)
    return None if again else needed(code, function, head.name, given=given)


def _returns(body: Sequence[ast.stmt]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise):
            return True
        # Those of a function within are its own.
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _defined(code: Code, name: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function of that name that the tree defines at that line, from 0, of its margin."""
    for node in code.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.name, node.lineno) == (name, line + 1):
            return node
    return None


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    def empty(node: ast.stmt) -> bool:
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
        return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    return all(map(empty, function.body))
