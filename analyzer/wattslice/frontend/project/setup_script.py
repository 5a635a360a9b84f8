"""A setup.py that builds extensions: how they are compiled, read as a text and never run."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from wattslice.frontend.parse_options import FAST_MATH
from wattslice.frontend.project.makefile import fits
from wattslice.patterns import regex

_SOURCE = regex(r"\.(?:cu|cpp|cc|cxx|c|C)$")


@lru_cache(maxsize=64)
def words_of(script: str, source: str) -> tuple[str, ...] | None:
    """`-D`, `-I` and `--use_fast_math` of the extension that a file of this name belongs to, if one does.

    Of values that only a run tells, as under conditions, by calls or formats, none is read; of a condition on
    an environment variable the arm is taken of a run in which it is not set.
    """
    try:
        with warnings.catch_warnings():  # of texts with strange escapes
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
        values = _values(tree)
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n.func).endswith("Extension")]
        sources = [[t for t in _texts(call, values, calls=True) if _SOURCE.search(t)] for call in calls]
        own = next(
            (c for c, names in zip(calls, sources, strict=True) if any(fits(n, source) for n in names)), None
        )
        if own is None and len(calls) == 1 and not sources[0]:  # nobody knows of which sources
            own = calls[0]
        return None if own is None else tuple(_words(own, values, is_cuda=source.endswith(".cu")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _values(tree: ast.Module) -> dict[str, ast.expr]:
    """What names stand for that are given one value, under no condition, with what is added to it so."""
    found: dict[str, ast.expr] = {}
    changed: set[str] = set()
    added: set[int] = set()
    owners = (owner for owner in ast.walk(tree) if isinstance(owner, (ast.Module, ast.FunctionDef)))
    plain = {id(stmt) for owner in owners for stmt in _run(owner.body, _given_once(tree))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            changed |= {name} if name in found or id(node) not in plain else set()
            found[name] = node.value
        elif (more := _added(node)) is not None:
            name, value, method = more
            added.add(id(method))
            if id(node) in plain and name in found:
                found[name] = ast.List([found[name], value])
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and id(node) not in added:
            owner = node.value
            changed |= {owner.id} if isinstance(owner, ast.Name) else set()
    return {name: value for name, value in found.items() if name not in changed}


def _given_once(tree: ast.Module) -> dict[str, ast.expr]:
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    names = Counter(target.id for node in given for target in node.targets if isinstance(target, ast.Name))
    return {
        target.id: node.value
        for node in given
        for target in node.targets
        if isinstance(target, ast.Name) and names[target.id] == 1
    }


def _run(body: list[ast.stmt], given: dict[str, ast.expr]) -> Iterator[ast.stmt]:
    """Statements under no condition, or under one of the environment that holds where nothing is set."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, ast.If) and (holds := _unset(stmt.test, given)) is not None:
            yield from _run(stmt.body if holds else stmt.orelse, given)


def _unset(test: ast.expr, given: dict[str, ast.expr]) -> bool | None:
    """Whether a condition on the environment holds where no variable is set; None for another condition."""
    match test:
        case ast.UnaryOp(ast.Not(), inner):
            holds = _unset(inner, given)
            return None if holds is None else not holds
        case ast.Name(id=name):
            return _unset(given[name], {}) if name in given else None
        case ast.Compare(ast.Constant(), [ast.In() | ast.NotIn() as how], [ast.Attribute(attr="environ")]):
            return isinstance(how, ast.NotIn)
        case ast.Compare(ast.Call() as call, [ast.Eq() | ast.NotEq() as how], [ast.Constant(value)]):
            default = _default(call)
            return None if default is None else (default[0] == value) is isinstance(how, ast.Eq)
        case ast.Call():
            default = _default(test)
            return None if default is None else bool(default[0])
        case _:
            return None


def _default(call: ast.Call) -> tuple[object] | None:
    """What `os.environ.get(name, default)` or `os.getenv` gives for a variable that is not set."""
    is_read = _name(call.func) == "getenv" or ast.unparse(call.func).endswith("environ.get")
    if not is_read or not all(isinstance(argument, ast.Constant) for argument in call.args):
        return None
    values = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return (values[1] if len(values) > 1 else None,)


def _added(node: ast.AST) -> tuple[str, ast.expr, ast.expr] | None:
    """The list that `name += more`, `name.append(more)`, `name.extend(more)` add to, what, and how."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name) as how, op=ast.Add(), value=more):
            return name, more, how
        case ast.Expr(
            ast.Call(func=ast.Attribute(ast.Name(id=name), "append" | "extend") as how, args=[more])
        ):
            return name, more, how
        case _:
            return None


def _words(call: ast.Call, values: dict[str, ast.expr], *, is_cuda: bool) -> Iterator[str]:
    for keyword in call.keywords:
        value = keyword.value
        if isinstance(value, ast.Name):
            value = values.get(value.id, value)
        if keyword.arg == "extra_compile_args":
            compiler = "nvcc" if is_cuda else "cxx"
            if isinstance(value, ast.Call) and _name(value.func) == "dict":
                parts = [given.value for given in value.keywords if given.arg == compiler]
            elif isinstance(value, ast.Dict):
                of_compilers = zip(value.keys, value.values, strict=True)
                parts = [v for k, v in of_compilers if isinstance(k, ast.Constant) and k.value == compiler]
            else:
                parts = [value]
            for part in parts:
                yield from (
                    text for text in _texts(part, values) if text.startswith(("-D", "-I", *FAST_MATH))
                )
        elif keyword.arg == "include_dirs":
            yield from (f"-I{text}" for text in _texts(value, values))
        elif keyword.arg == "define_macros" and isinstance(value, ast.List):
            for one in value.elts:
                told = (
                    [e.value for e in one.elts if isinstance(e, ast.Constant)]
                    if isinstance(one, ast.Tuple)
                    else []
                )
                if len(told) == 2:
                    yield f"-D{told[0]}" if told[1] is None else f"-D{told[0]}={told[1]}"


def _texts(node: ast.AST, values: dict[str, ast.expr], *, calls: bool = False) -> Iterator[str]:
    """The texts in an expression; `calls`: also of those that functions are given."""
    waiting, seen = [node], set[str]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Constant):
            if isinstance(one.value, str):
                yield one.value
        elif isinstance(one, ast.Name):
            waiting += [values[one.id]] if one.id in values and one.id not in seen else []
            seen.add(one.id)
        elif not isinstance(one, (ast.IfExp, ast.JoinedStr)) and (calls or not isinstance(one, ast.Call)):
            is_made = isinstance(one, ast.BinOp) and any(map(_is_text, (one.left, one.right)))
            waiting += () if is_made else reversed(list(ast.iter_child_nodes(one)))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
