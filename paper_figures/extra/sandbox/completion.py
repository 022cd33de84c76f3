"""Read the program out of a model's answer to a HumanEval problem, and make the prompt that it answers.

Nothing is run. Times are linear in the text but for `ast.parse`, which is asked a bounded number of times.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from paper_figures.data.loaders import HumanEvalProblem
from rws_theory.checks import one_of

How = Literal["continuation", "fenced function", "function", "indented body", "unparsable"]
Style = Literal["completion", "instruct"]
STYLES: tuple[Style, ...] = ("completion", "instruct")
# Where the benchmark ends a completion (Chen et al. 2021, section 2.2).
_STOPS = re.compile(r"\n(?:class|def|#|if|print)")
# More than any honest answer holds; they bound the time that a dishonest one takes.
_MOST_DEFINITIONS, _MOST_BLOCKS, _MOST_TRIES = 4, 32, 8
_FENCE = "```"
# Filters of warnings belong to the process: threads take turns.
_FILTERS = threading.Lock()
# How a line at the margin begins that can open a program.
_OPENS = re.compile(r"(?:import|from|def|async|class|try|if|for|while|with)\b|@|\w+[ \t]*(?::[^=]*)?=")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


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

    A reading that does not parse whole is cut, at a line at the margin, to what does parse (`shortened`). It is
    not cut inside a function: one that breaks off halfway stays broken, unless its body is written at the margin,
    where it looks like prose. A function must have more in it than a docstring, `pass`, `...` or
    `raise NotImplementedError`; otherwise the next definition is tried. A function found by 2 or 3 replaces the
    prompt's: the imports and helpers before the prompt's function come first, then those of the answer. Bodies that
    are moved, or in a fence (4, 5), must have a return, yield or raise, as prose can parse. After the function,
    definitions that it uses stay. What calls, prints or checks it, a main block, and a second function of its name are
    removed, as the benchmark's stop words do.

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
    name, prompt = problem.entry_point, problem.prompt.rstrip()
    definitions = list(_definition(name).finditer(prompt))
    if not definitions:
        raise ValueError(f"problem {problem.id}: its prompt does not define its entry point {name!r}")
    lines = prompt.split("\n")
    # The last line is the docstring's, or its last.
    indentation = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())] or "    "
    return _Head(name, prompt[: definitions[-1].start()], lines, indentation)


def _definition(name: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(name)}[ \t]*[(\[]", re.MULTILINE)


def _readings(head: _Head, lines: list[str]) -> Iterator[tuple[str | None, How]]:
    bare, blocks = _fences(lines)
    blocks = blocks[:_MOST_BLOCKS]
    if _is_indented(bare):
        yield _with_body(head, bare, _margins(bare)), "continuation"
    for block in blocks:
        yield _function(head, block), "fenced function"
    yield _function(head, lines), "function"
    for block in blocks:
        if _is_indented(block):
            yield _with_body(head, block, _margins(block), returns=True), "continuation"
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
    return next((line for line in lines if line.strip()), "").startswith((" ", "\t"))


def _margins(lines: Sequence[str], first: int = 0) -> list[int]:
    return [number for number, line in enumerate(lines, first) if line.strip() and not line.startswith((" ", "\t"))]


def _dedented(lines: Sequence[str]) -> list[str]:
    """Return the lines without the indentation that all but blank ones share; blank lines keep what is beyond it."""
    widths = [len(line) - len(line.lstrip(" \t")) for line in lines]
    least = min((width for line, width in zip(lines, widths, strict=True) if line.strip()), default=0)
    return [line[min(least, width) :] for line, width in zip(lines, widths, strict=True)]


def _function(head: _Head, lines: Sequence[str]) -> str | None:
    """Return the program of a text that holds the function whole."""
    lines = _dedented(lines)
    pattern = _definition(head.name)
    numbers = (number for number, line in enumerate(lines) if pattern.match(line))
    for number, _ in zip(numbers, range(_MOST_DEFINITIONS), strict=False):
        start = _begin(lines, number)
        kept = lines[start:]
        tree = shortened(kept, _margins(kept), number - start + 1)
        function = None if tree is None else _defined(tree, head.name, number - start)
        if tree is not None and function is not None and not _is_stub(function):
            before, _ = parse(head.before)
            return _program([*(before.body if before else ()), *tree.body], function)
    return None


def _moved(head: _Head, lines: Sequence[str]) -> str | None:
    """Return the prompt with a body that is written at another column, or whose first line alone is."""
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None:
        return None
    body = lines[start:]
    margins = _margins(body)
    # An indented body ends at the margin; one that is written there goes on as long as it parses.
    flat = _dedented(body[: margins[0]] if margins and margins[0] > 0 else body)
    shifted = [head.indentation + line if line.strip() else "" for line in flat]
    source = _with_body(head, shifted, margins, returns=True)
    if source is None and len(body) > 1:
        lines = [head.indentation + body[0].lstrip(" \t"), *body[1:]]
        source = _with_body(head, lines, _margins(body[1:], 1), returns=True)
    return source


def _with_body(head: _Head, lines: Sequence[str], ends: Sequence[int], *, returns: bool = False) -> str | None:
    """Return the prompt with the lines as its function's body, cut at one of `ends` where they do not parse whole."""
    given = len(head.lines)
    tree = shortened([*head.lines, *lines], [given + end for end in ends], given + 1)
    function = None if tree is None else _defined(tree, head.name, head.before.count("\n"))
    if tree is None or function is None:
        return None
    added = [node for node in function.body if node.lineno > given]
    # A body that defines the function again is the whole function, indented.
    again = any(isinstance(node, _Function) and node.name == head.name for node in added)
    return None if again or not added or (returns and not _returns(added)) else _program(tree.body, function)


def _returns(body: Sequence[ast.stmt]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise):
            return True
        # Those of a function within are its own.
        if not isinstance(node, (*_DEFINES, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _defined(tree: ast.Module, name: str, line: int) -> _Function | None:
    """Return the function of that name that the tree defines at that line, from 0, of its margin."""
    functions = (node for node in tree.body if isinstance(node, _Function))
    return next((node for node in functions if (node.name, node.lineno) == (name, line + 1)), None)


def _is_stub(function: _Function) -> bool:
    def empty(node: ast.stmt) -> bool:
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
        return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    return all(map(empty, function.body))


def _program(statements: Sequence[ast.stmt], target: _Function) -> str | None:
    """Return the statements that a function needs, as a source; what only uses it is left out.

    Before the function everything stays, with three exceptions: other functions of its name, statements without effect
    (a bare name or text; prose parses as these), and calls of the function before it is defined. After the function,
    definitions, imports and assignments stay if something kept reads their names, directly or through each other, and
    if they neither bind the function's own name nor are computed from it. Calls, checks, prints and main blocks go.
    Imports from __future__ come first of all. A name read only through a text or `globals()` is not seen. None for what
    is nested too deep to be written.
    """
    middle = next(number for number, node in enumerate(statements) if node is target)
    kept = {number for number in range(middle) if _has_effect(statements[number], target.name)} | {middle}
    makers: dict[str, list[int]] = {}
    for number, node in enumerate(statements[middle + 1 :], middle + 1):
        binds, reads = _names(node)
        assigned = isinstance(node, _ASSIGNS) and target.name in reads
        if isinstance(node, (*_DEFINES, *_IMPORTS, *_ASSIGNS)) and target.name not in binds and not assigned:
            for bound in binds:
                makers.setdefault(bound, []).append(number)
    waiting = list(kept)
    while waiting:
        for read in _names(statements[waiting.pop()])[1]:
            found = [number for number in makers.pop(read, ()) if number not in kept]
            kept.update(found)
            waiting += found
    body = [statements[number] for number in sorted(kept)]
    body.sort(key=lambda node: not (isinstance(node, ast.ImportFrom) and node.module == "__future__"))
    try:
        return ast.unparse(ast.Module(body, [])) + "\n"
    except RecursionError:
        return None


def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement binds at the margin, and those that it reads."""
    binds: set[str] = set()
    reads: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            (reads if isinstance(inner.ctx, ast.Load) else binds).add(inner.id)
        elif isinstance(inner, _IMPORTS):
            binds.update((each.asname or each.name).split(".")[0] for each in inner.names)
        elif isinstance(inner, _DEFINES):
            binds.add(inner.name)
    return ({node.name} if isinstance(node, _DEFINES) else binds), reads


def _has_effect(node: ast.stmt, name: str) -> bool:
    if isinstance(node, _DEFINES):
        return node.name != name
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and name not in _names(node)[1]
    return not (isinstance(node, ast.AnnAssign) and node.value is None)


def parse(source: str) -> tuple[ast.Module | None, int]:
    """Return the tree of a source, or None and the line, from 1, at which Python gives up (0 where it does not say).

    Any text is taken: null bytes, lone surrogates and expressions nested too deep have no tree.

    >>> parse("x = 1")[1], parse("x = 1\\nx = ="), parse("-" * 100_000 + "1")
    (0, (None, 2), (None, 0))
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\\d" in a text is no reason to speak, nor to fail
        try:
            return ast.parse(source), 0
        except SyntaxError as error:
            return None, error.lineno or 0
        except (ValueError, RecursionError, MemoryError):
            return None, 0


def shortened(lines: Sequence[str], ends: Sequence[int], least: int) -> ast.Module | None:
    """Return the tree of the longest beginning found that parses, of all lines or up to one of `ends`, or None.

    ends: rising, the lines, from 0, at which the text may be cut; least: how many lines the beginning must have. Cut is
    at the last of `ends` up to which Python gets, again and again; after 8 cuts, at the first that leaves `least`.
    """
    allowed = [end for end in ends if end >= least]
    size = len(lines)
    for _ in range(_MOST_TRIES):
        tree, line = parse("\n".join(lines[:size]))
        if tree is not None:
            return tree
        while allowed and (allowed[-1] >= size or (line and allowed[-1] >= line)):
            allowed.pop()
        if not allowed:
            return None
        size = allowed[-1] if line else allowed[0]
    return parse("\n".join(lines[: allowed[0]]))[0]


def _begin(lines: Sequence[str], definition: int) -> int:
    """Return the first line of the code above a definition, from 0: its imports, helpers and decorators.

    It is at the margin, can open a program, and all lines from there to the definition parse. Tried are the first line
    in the text that can open a program, and the seven nearest.
    """
    opening = [line for line in range(definition) if _OPENS.match(lines[line])]
    tried = opening[:1] + opening[1:][1 - _MOST_TRIES :]
    # A decorator does not parse without what it decorates.
    parses = (line for line in tried if parse("\n".join([*lines[line:definition], "def _(): pass"]))[0] is not None)
    return next(parses, definition)
