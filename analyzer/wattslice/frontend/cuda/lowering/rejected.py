"""Host statements that could not be read: what they may write becomes unknown, what they launch is told.

clang drops a statement with an error in it, or keeps a part. What stands in its text, macros expanded, is
judged word by word: a name that is assigned, incremented, read into (`>>`), whose address is taken, whose
member is called, or that is an argument by itself may have another value afterwards.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Cell, file_scope_variable
from wattslice.frontend.cuda.lowering.lost_kernels import is_kernel
from wattslice.frontend.cuda.lowering.macros import tokens_of
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import Call, Expr, ExprStmt, Span, Stmt, Variable
from wattslice.patterns import regex

_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"})
_REPEATS = frozenset({"for", "while", "do", "if", "switch", "try", "?", "&&", "||", "{"})
"""What stands in a statement that may run what is in it any number of times, or never."""
_STEPS = frozenset({"++", "--"})
_NO_CALL = frozenset({"if", "while", "for", "switch", "return", "sizeof", "alignof", "decltype", ">>>"})
_READ_ONLY = regex(
    r"v?f?printf|f?puts|assert|cudaFree\w*|cudaMemset\w*|free|atoi|atof|min|max|abs|sqrt|ceil"
    r"|gl(?!Get|Gen|Read)[A-Z]\w*|glut[A-Z]\w*"
)


def rejected(
    body: Body, text: str, span: Span, read: Sequence[Stmt] = (), why: str = ir.UNREAD
) -> list[Stmt]:
    """What remains of a statement with this text: `read` of it, then the loss of what it may have written.

    `why`: `ir.UNREAD`, `ir.LOST_JUMP` or `ir.NOT_FOLLOWED`.
    """
    tokens = body.unit.macros.expanded(tokens_of(text))
    result = list(read)
    kept = _runs(body, read)
    runs: list[Stmt] = []
    if not any(isinstance(one, ir.LaunchCall) for one in kept):
        runs += [ExprStmt(launch, body.region(), span) for launch in _launches(body, tokens, span, why)]
    runs += _calls(body, tokens, span, why, {one.name for one in kept if isinstance(one, Call)})
    if runs and not _REPEATS.isdisjoint(tokens):  # any number of times
        runs = [_perhaps(body, runs, span, why)]
    result += runs
    named: dict[str, list[Variable]] = {}
    for variable in body.names.values():
        if isinstance(variable, Variable):
            named.setdefault(variable.name, []).append(variable)
    arguments = tuple(
        place
        for name, is_address in _written(tokens).items()
        for place in _places(body, name, named.get(name, ()), span, is_address=is_address)
    )
    return [*result, ExprStmt(unread(span, arguments, why), body.region(), span)] if arguments else result


def _runs(body: Body, read: Sequence[Stmt]) -> list[ir.LaunchCall | Call]:
    """The launches and calls in statements and in the lambdas that they name."""
    lambdas = {function.mangled_name: function.body for function in body.lambdas}
    found: list[ir.LaunchCall | Call] = []
    waiting = [*read]
    while waiting:
        for expr in ir.expressions_below(waiting.pop()):
            if isinstance(expr, ir.LaunchCall | Call):
                found.append(expr)
            elif isinstance(expr, ir.Text) and expr.value in lambdas:
                waiting.append(lambdas.pop(expr.value))
    return found


_AHEAD_OF_A_LAMBDA = ("", "(", ",", "=", "{", "return")


@lru_cache(maxsize=64)
def jumps_in(text: str) -> tuple[str, ...]:
    """The jumps out of a statement with this text that go by no label, those of lambdas left out: `return`
    and, where no loop or `switch` of its own takes them, `break` and `continue`.
    """
    tokens, found, level, of_lambda = tokens_of(text), dict[str, None](), 0, list[int]()
    is_lambda = False
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        if token == "[" and before in _AHEAD_OF_A_LAMBDA and tokens[at + 1 : at + 2] != ("[",):
            is_lambda = True
        elif token == "{":
            level += 1
            if is_lambda:
                of_lambda.append(level)
            is_lambda = False
        elif token == "}":
            if of_lambda and of_lambda[-1] == level:
                of_lambda.pop()
            level -= 1
        elif token in ("return", "break", "continue") and not of_lambda:
            found[token] = None
    takes = not {"for", "while", "do", "switch"}.isdisjoint(tokens)
    return tuple(word for word in found if word == "return" or not takes)


def unread(span: Span, arguments: tuple[Expr, ...] = (), why: str = ir.UNREAD) -> Call:
    """A value whose text could not be read; what `arguments` point at may be written."""
    return Call(why, ir.UNREAD, arguments, ir.UNKNOWN_TYPE, span)


@lru_cache(maxsize=64)
def _written(tokens: tuple[str, ...]) -> Mapping[str, bool]:
    """The names that a statement of these tokens may write; True: only if it is an address (`f(x + 1)`).

    Kept: a macro that makes many statements is the text of each one in it that was not read.
    """
    found: dict[str, bool] = {}
    callers: list[str] = []  # what stands in front of each open bracket
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        if token in ("(", "[", "{"):
            is_call = token == "(" and (before.isidentifier() or before in (">", ">>>", "]"))
            is_call = is_call or (token == "{" and before.isidentifier())  # an object is made
            is_call = is_call and not (before == ">" and _is_cast(tokens, at - 1))
            callers.append(before if is_call else "")
        elif token in (")", "]", "}") and callers:
            callers.pop()
        if (
            not token.isidentifier()
            or before in (".", "->", "::")
            or tokens[at + 1 : at + 2] in (("::",), ("(",))
        ):
            continue
        end = _end_of_chain(tokens, at)
        behind = tokens[end] if end < len(tokens) else ""
        caller = callers[-1] if callers else ""
        starts = before in ("(", "{", ",") or (
            before == ")" and tokens[at - 2] in ("*", "&")
        )  # behind a cast
        is_argument = starts and bool(caller) and caller not in _NO_CALL and not _READ_ONLY.fullmatch(caller)
        if (
            behind in _ASSIGNS
            or (behind == "(" and end > at + 1)
            or before in _STEPS
            or _has_member_pointer(tokens, at, end)
            or before == ">>"
            or (before == "*" and tokens[at - 2] in (".", "->"))  # of functions, which are called
            or (before == ":" and tokens[at - 2] == "]")  # the range of `auto &[a, b]`
            or (before == "&" and not _is_operand(tokens, at - 2))
            or (is_argument and behind in (")", "}", ","))
        ):
            found[token] = False
        elif is_argument and behind in ("+", "-"):
            found.setdefault(token, True)
    return MappingProxyType(found)


def _is_cast(tokens: Sequence[str], at: int) -> bool:
    """Whether the bracket `>` at this place ends `static_cast<...>` or its like."""
    level = 0
    while at >= 0:
        level += (tokens[at] == ">") - (tokens[at] == "<")
        if not level:
            return at > 0 and tokens[at - 1].endswith("_cast")
        at -= 1
    return False


def _end_of_chain(tokens: Sequence[str], at: int) -> int:
    """Behind `a.b[i]->c`."""
    at += 1
    while at < len(tokens):
        if tokens[at] in (".", "->"):
            at += 2
        elif tokens[at] == "[":
            level = 0
            while at < len(tokens):
                level += (tokens[at] == "[") - (tokens[at] == "]")
                at += 1
                if not level:
                    break
        else:
            break
    return at


def _has_member_pointer(tokens: Sequence[str], begin: int, end: int) -> bool:
    """Whether a pointer tells which member `a.*m` is, or `(*a).*m`: any may be written, or run."""
    while tokens[end : end + 1] == (")",):
        end += 1
    return any(
        tokens[at] in (".", "->") and tokens[at + 1 : at + 2] == ("*",)
        for at in range(begin, min(end + 1, len(tokens)))
    )


def _is_operand(tokens: Sequence[str], at: int) -> bool:
    return at >= 0 and (tokens[at] in (")", "]") or tokens[at][0].isalnum() or tokens[at][0] == "_")


def _places(
    body: Body, name: str, named: Sequence[Variable], span: Span, *, is_address: bool
) -> Iterator[Expr]:
    """Addresses of what a name may mean here, and where it points; `is_address`: unless it is a number.

    `named`: the variables of this name that the function has by now.
    """
    known = list(named)
    alias = body.bindings.get(name)
    if isinstance(alias, Cell):
        yield alias.address
    elif alias is not None:
        known.append(alias.variable)
    if not known and alias is None and (node := body.unit.written_variables.get(name)) is not None:
        known.append(file_scope_variable(body, node))
    addresses = (ir.TypeKind.POINTER, ir.TypeKind.ARRAY, ir.TypeKind.RECORD, ir.TypeKind.UNKNOWN)
    for variable in known:
        if is_address and variable.type.kind not in addresses:
            continue
        if not variable.is_constant:
            yield ir.AddressOf(variable, pointer_to(variable.type), span)
        if variable.type.kind is ir.TypeKind.POINTER:
            yield ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)
    this = body.frame.this
    if not known and isinstance(this, Cell) and any(field.name == name for field in this.type.fields):
        yield this.address


def _launches(body: Body, tokens: Sequence[str], span: Span, why: str) -> Iterator[ir.LaunchCall]:
    """Launches of which only the kernel's name is known, and where this unit defines a kernel of it."""
    for at, token in enumerate(tokens):
        if token == "<<<":
            name = _name_before(tokens, at - 1)
            if name:
                lost = unread(span, why=why)
                unit = body.unit
                own = (
                    unit.spans.file(node)
                    for node in unit.declared
                    if node.spelling == name and is_kernel(node)
                )
                yield ir.LaunchCall(
                    "", name, lost, lost, None, (), ir.UNKNOWN_TYPE, span, defined_in=next(own, "")
                )


def _perhaps(body: Body, statements: Sequence[Stmt], span: Span, why: str) -> Stmt:
    """The statements behind a test that could not be read."""
    inner = ir.Block(tuple(statements), body.region(), span)
    return ir.If(unread(span, why=why), inner, None, body.region(), span)


def _calls(body: Body, tokens: tuple[str, ...], span: Span, why: str, kept: Container[str]) -> Iterator[Stmt]:
    """Calls of functions of the program, the innermost first, but for those `kept`: they may launch.

    Numbers among the arguments are given, and what a library gives by its name.
    """
    functions = body.unit.functions_by_name
    for at in range(len(tokens) - 1, 0, -1):
        name = _name_before(tokens, at - 1) if tokens[at] == "(" and tokens[at - 1] not in _NO_CALL else ""
        if not name or name in kept or name not in functions:
            continue
        given = tuple(_given(body, part, span, why) for part in _arguments_at(tokens, at))
        may_be = [one for one in functions[name] if len(given) <= _most_given(one)]
        for one in may_be:
            of_object = (unread(span, why=why),) if one.kind == C.CXX_METHOD and not one.is_static else ()
            linked_as = one.mangled_name or name
            call = Call(linked_as, name, (*of_object, *given), ir.UNKNOWN_TYPE, span, is_of_program=True)
            run = ExprStmt(call, body.region(), span)
            is_certain = len(may_be) == 1 and one.kind != C.FUNCTION_TEMPLATE
            yield run if is_certain else _perhaps(body, [run], span, why)


def _most_given(function: Node) -> int:
    return sum(child.kind == C.PARM_DECL for child in function.children)


def _given(body: Body, argument: tuple[str, ...], span: Span, why: str) -> Expr:
    """What an argument gives: a number, what a function of a library does, or what is not known."""
    while argument[:1] == ("(",) and argument[-1] == ")":
        argument = argument[1:-1]
    if len(argument) == 1 and argument[0].isdecimal():
        return ir.Constant(int(argument[0]), ir.INT32, span)
    name = argument[0] if argument[1:2] == ("(",) and argument[-1] == ")" else ""
    lost = unread(span, why=why)
    if not name.isidentifier() or name in body.unit.functions_by_name:
        return lost
    return Call(name, name, (lost,) * len(_arguments_at(argument, 1)), ir.INT32, span)


def _arguments_at(tokens: tuple[str, ...], at: int) -> list[tuple[str, ...]]:
    """The arguments in the brackets that begin at a place; a comma between `<` and `>` is not told apart."""
    level, begin = 0, at + 1
    found: list[tuple[str, ...]] = []
    for end in range(at, len(tokens)):
        level += (tokens[end] in ("(", "[", "{")) - (tokens[end] in (")", "]", "}"))
        if not level or (level == 1 and tokens[end] == ","):
            found += [tokens[begin:end]] if end > begin else []
            begin = end + 1
        if not level:
            break
    return found


def _name_before(tokens: Sequence[str], at: int) -> str:
    """`k` of `k<float, 4>`."""
    level = 0
    while at >= 0:
        level += {">": 1, ">>": 2, "<": -1}.get(tokens[at], 0)
        if not level and tokens[at].isidentifier():
            return tokens[at]
        at -= 1
    return ""
