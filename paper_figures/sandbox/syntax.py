"""Find Python code amid other text: the program that some lines begin with, and the part of it that is needed.

Nothing is run. Times are linear in the text but for `ast.parse`, which is asked a bounded number of times.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Sequence
from typing import NamedTuple

_MOST_TRIES = 8
# Filters of warnings belong to the process: threads take turns.
_FILTERS = threading.Lock()
# How a line at the margin begins that can open a program.
_OPENS = re.compile(r"(?:import|from|def|async|class|try|if|for|while|with)\b|@|\w+[ \t]*(?::[^=]*)?=")
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


class Code(NamedTuple):
    """Lines that parse, and their tree."""

    lines: list[str]
    tree: ast.Module


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


def width(line: str) -> int:
    """Return how many blanks and tabs a line begins with."""
    return len(line) - len(line.lstrip(" \t"))


def dedent(lines: Sequence[str]) -> list[str]:
    """Return the lines without the indentation that all but blank ones share; blank lines keep what is beyond it.

    >>> dedent(["  a", " ", "    b"])
    ['a', '', '  b']
    """
    least = min((width(line) for line in lines if line.strip()), default=0)
    return [line[min(least, width(line)) :] for line in lines]


def shortened(lines: Sequence[str], ends: Sequence[int], least: int) -> Code | None:
    """Return the longest beginning found that parses, of all lines or up to one of `ends`; None where there is none.

    ends: rising, the lines, from 0, at which the text may be cut; least: how many lines the beginning must have. Cut is
    at the last of `ends` up to which Python gets, again and again; after 8 cuts, at the first that leaves `least`.
    """
    allowed = [end for end in ends if end >= least]
    size = len(lines)
    for _ in range(_MOST_TRIES):
        tree, line = parse("\n".join(lines[:size]))
        if tree is not None:
            return Code(list(lines[:size]), tree)
        while allowed and (allowed[-1] >= size or (line and allowed[-1] >= line)):
            allowed.pop()
        if not allowed:
            return None
        size = allowed[-1] if line else allowed[0]
    size = allowed[0]
    tree, _ = parse("\n".join(lines[:size]))
    return None if tree is None else Code(list(lines[:size]), tree)


def begin(lines: Sequence[str], definition: int) -> int:
    """Return the first line of the code above a definition: its imports, helpers and decorators.

    definition: its line, from 0. The first line is at the margin, can open a program, and all lines from there to the
    definition parse. Tried are the first line in the text that can open a program, and the seven nearest.

    >>> begin(["From this it follows:", "import math", "@cache", "def f(x):"], 3)
    1
    """
    opening = [at for at in range(definition) if _OPENS.match(lines[at])]
    tried = opening[:1] + opening[1:][1 - _MOST_TRIES :]
    # A decorator does not parse without what it decorates.
    parses = (at for at in tried if parse("\n".join([*lines[at:definition], "def _(): pass"]))[0] is not None)
    return next(parses, definition)


class _Piece(NamedTuple):
    """Statements that share lines: first and last line, from 0; names that they bind at the margin, and read."""

    first: int
    last: int
    nodes: list[ast.stmt]
    binds: set[str]
    reads: set[str]


def _pieces(tree: ast.Module) -> list[_Piece]:
    pieces: list[_Piece] = []
    for node in tree.body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
        last = (node.end_lineno or node.lineno) - 1
        binds = {node.name} if isinstance(node, _DEFINES) else set()
        reads = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                (reads if isinstance(inner.ctx, ast.Load) else binds).add(inner.id)
            elif isinstance(inner, _IMPORTS):
                binds.update((each.asname or each.name).split(".")[0] for each in inner.names)
            elif isinstance(inner, _DEFINES):
                binds.add(inner.name)
        if isinstance(node, _DEFINES):
            binds = {node.name}
        if pieces and first <= pieces[-1].last:
            before = pieces.pop()
            first, last = before.first, max(before.last, last)
            pieces.append(_Piece(first, last, [*before.nodes, node], before.binds | binds, before.reads | reads))
        else:
            pieces.append(_Piece(first, last, [node], binds, reads))
    return pieces


def needed(code: Code, target: ast.stmt, name: str, *, given: int = 0, before: str = "") -> str:
    """Return the part of the code that its function `target`, called `name`, needs; what only uses it is left out.

    given: lines at its start that are kept as they are; before: code to put before it.

    Before the function everything stays, with three exceptions: other functions of its name, statements without effect
    (a bare name or text; prose parses as these), and calls of the function before it is defined. After the function,
    definitions, imports and assignments stay if something kept reads their names, directly or through each other, and
    if they neither bind the function's own name nor are computed from it. Calls, checks, prints and main blocks go.
    Imports from __future__ come first of all. A name read only through a text or `globals()` is not seen.

    >>> code = Code(lines := ["def f(x):", "    return g(x)", "f(1)", "def g(x): return x", "y = f(2)"],
    ...     ast.parse("\\n".join(lines)))
    >>> needed(code, code.tree.body[0], "f")
    'def f(x):\\n    return g(x)\\ndef g(x): return x\\n'
    """
    pieces = _pieces(code.tree)
    middle = next(index for index, piece in enumerate(pieces) if target in piece.nodes)
    above = range(middle)
    kept = {middle, *(at for at in above if pieces[at].last < given or _has_effect(pieces[at], name))}
    makers: dict[str, list[int]] = {}
    for index in range(middle + 1, len(pieces)):
        if _defines(pieces[index], name):
            for bound in pieces[index].binds:
                makers.setdefault(bound, []).append(index)
    waiting = list(kept)
    while waiting:
        for read in pieces[waiting.pop()].reads:
            for index in makers.pop(read, ()):
                if index not in kept:
                    kept.add(index)
                    waiting.append(index)
    chosen = [pieces[index] for index in sorted(kept) if pieces[index].first >= given or index == middle]
    future = [piece for piece in chosen if any(_is_future(node) for node in piece.nodes)]
    # The function may begin among the given lines.
    spans = [code.lines[max(piece.first, given) : piece.last + 1] for piece in chosen if piece not in future]
    first = [line for piece in future for line in code.lines[piece.first : piece.last + 1]]
    last = [line for span in [code.lines[:given], *spans] for line in span]
    return "".join(f"{line}\n" for line in first) + before + "\n".join(last) + "\n"


def _has_effect(piece: _Piece, name: str) -> bool:
    for node in piece.nodes:
        if isinstance(node, _DEFINES) and node.name == name:
            return False
        shown = isinstance(node, ast.Expr) and (not isinstance(node.value, ast.Call) or name in piece.reads)
        if not (shown or (isinstance(node, ast.AnnAssign) and node.value is None)):
            return True
    return False


def _defines(piece: _Piece, name: str) -> bool:
    assigns = any(isinstance(node, _ASSIGNS) for node in piece.nodes)
    return (
        all(isinstance(node, (*_DEFINES, *_IMPORTS, *_ASSIGNS)) for node in piece.nodes)
        and name not in piece.binds
        and not (assigns and name in piece.reads)
    )


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
