"""The intermediate representation as readable pseudo-code: what the lowering tests compare."""

from __future__ import annotations

from collections.abc import Iterator

from wattslice import ir


def show_type(type_: ir.Type) -> str:
    """A short name: `f32`, `u64`, `f32x4`, `f32*`."""
    match type_.kind:
        case ir.TypeKind.POINTER:
            return f"{show_type(type_.element)}*" if type_.element else "void*"
        case ir.TypeKind.ARRAY:
            element = show_type(type_.element) if type_.element else "?"
            return f"{element}[{'' if type_.length is None else type_.length}]"
        case ir.TypeKind.INT:
            scalar = f"{'i' if type_.signed else 'u'}{type_.bits}"
        case ir.TypeKind.FLOAT:
            scalar = f"{'b' if type_.bfloat else ''}f{type_.bits}"
        case _:
            scalar = type_.name or type_.kind.value
    return f"{scalar}x{type_.lanes}" if type_.lanes > 1 else scalar


def show_place(place: ir.Place) -> str:
    """`v.x` for registers, `space:type[address]#site` for memory."""
    if isinstance(place, ir.RegisterPlace):
        return ".".join((place.variable.name, *place.path))
    return f"{place.space.value}:{show_type(place.type)}[{show(place.address)}]#{place.site}"


def show(expr: ir.Expr) -> str:
    """One expression on one line; bodies of inlined calls are left out."""
    match expr:
        case ir.Constant(value=value):
            return repr(value)
        case ir.Builtin(kind=kind, axis=axis):
            return kind.value if kind is ir.BuiltinKind.WARP_SIZE else f"{kind.value}.{'xyz'[axis]}"
        case ir.Read(place=place) | ir.Load(place=place):
            return show_place(place)
        case ir.AddressOf(variable=variable):
            return f"&{variable.name}"
        case ir.PointerOffset(pointer=pointer, index=index, scale_bytes=scale, offset_bytes=offset):
            step = "" if index is None else f" {'-' if expr.subtract else '+'} {show(index)}*{scale}"
            return f"({show(pointer)}{step}{f' + {offset}' if offset else ''}{'!' if expr.written else ''})"
        case ir.Unary(op=op, operand=operand):
            return f"{op.value}{show(operand)}"
        case ir.Binary(op=op, left=left, right=right, operand_type=type_):
            return f"({show(left)} {op.value}:{show_type(type_)} {show(right)})"
        case ir.Logical(op=op, left=left, right=right, right_region=region):
            return f"({show(left)} {op.value} r{region}:{show(right)})"
        case ir.Select(condition=condition, then=then, otherwise=otherwise):
            arms = f"r{expr.then_region}:{show(then)} : r{expr.otherwise_region}:{show(otherwise)}"
            return f"({show(condition)} ? {arms})"
        case ir.Cast(operand=operand, type=type_):
            return f"{show_type(type_)}({show(operand)})"
        case ir.Assign(target=target, op=op, value=value, operand_type=type_):
            sign = "=" if op is None else f"{op.value}=:{show_type(type_)}"
            return f"{show_place(target)} {sign} {show(value)}"
        case ir.Increment(target=target, delta=delta):
            return f"{show_place(target)} {'+' if delta > 0 else '-'}= {abs(delta) * expr.step_bytes}"
        case ir.Intrinsic(name=name, arguments=arguments, operations=operations):
            cost = ",".join(f"{o.number:g} {o.operation.value}" for o in operations)
            return f"{name}{{{'?' if expr.is_opaque_call else cost}}}({_list(arguments)})"
        case ir.Atomic(op=op, place=place, arguments=arguments):
            return f"atomic_{op.value}({show_place(place)}; {_list(arguments)})"
        case ir.TextureFetch(texture=texture, coordinates=coordinates):
            name = "?" if texture is None else texture.name
            return f"{'surface_write' if expr.is_store else 'fetch'}({name}; {_list(coordinates)})"
        case ir.Construct(arguments=arguments, type=type_):
            return f"{show_type(type_)}{{{_list(arguments)}}}"
        case ir.Extract(value=value, field=field):
            return f"{show(value)}.{field}"
        case ir.InlinedCall(name=name, parameters=parameters, arguments=arguments):
            bound = ", ".join(f"{p.name}={show(a)}" for p, a in zip(parameters, arguments, strict=True))
            return f"inline {name}({bound})"
        case ir.Call(name=name, arguments=arguments):
            return f"{name}({_list(arguments)})"
        case ir.Text(value=value):
            return repr(value)
        case ir.LaunchCall(kernel_name=name, grid=grid, block=block, arguments=arguments):
            shared = "" if expr.shared_bytes is None else f", {show(expr.shared_bytes)}"
            return f"{name}<<<{show(grid)}, {show(block)}{shared}>>>({_list(arguments)})"


def _list(expressions: tuple[ir.Expr, ...]) -> str:
    return ", ".join(show(e) for e in expressions)


def lines_of(stmt: ir.Stmt, depth: int = 0) -> Iterator[str]:
    """Pseudo-code of a statement; `rN` is its region, inlined bodies follow indented behind `|`."""
    indent = "  " * depth
    head = f"{indent}r{stmt.region} "
    match stmt:
        case ir.ExprStmt(expr=expr):
            yield head + show(expr)
        case ir.Declare(variable=variable, value=value):
            name = f"{show_type(variable.type)} {variable.name}"
            yield head + (name if value is None else f"{name} = {show(value)}")
        case ir.Block():
            yield head + "{"
        case ir.If(condition=condition):
            yield head + f"if {show(condition)}"
        case ir.Loop(kind=kind, condition=condition, step=step, unroll=unroll):
            test = "" if condition is None else show(condition)
            after = "" if step is None else show(step)
            pragma = "" if unroll is None else f" unroll {unroll}"
            header = f"test r{stmt.test_region}: {test}; step r{stmt.step_region}: {after}{pragma}"
            yield f"{head}{kind.value} {header}"
        case ir.Switch(selector=selector):
            yield head + f"switch {show(selector)}"
        case ir.Return(value=value):
            yield head + ("return" if value is None else f"return {show(value)}")
        case ir.Break():
            yield head + "break"
        case ir.Continue():
            yield head + "continue"
    for expr in ir.statement_expressions(stmt):
        for node in ir.walk_expressions(expr):
            if isinstance(node, ir.InlinedCall):
                for line in lines_of(node.body, depth + 1):
                    yield f"{indent}|{line[len(indent) :]}"
    if isinstance(stmt, ir.Switch):
        for case in stmt.cases:
            yield f"{indent}case {', '.join('default' if v is None else str(v) for v in case.labels)}:"
            yield from lines_of(case.body, depth + 1)
    else:
        for inner in ir.nested_statements(stmt):
            yield from lines_of(inner, depth + 1)


def dump(program: ir.Program) -> str:
    """Kernels, host functions and diagnostics of a program."""
    lines: list[str] = []
    for kernel in program.kernels:
        complete = "" if kernel.body_is_complete else " INCOMPLETE"
        parameters = ", ".join(f"{show_type(p.type)} {p.name}" for p in kernel.parameters)
        lines.append(f"kernel {kernel.qualified_name}({parameters}){complete}")
        lines.extend(lines_of(kernel.body, 1))
    for function in program.functions:
        lines.append(f"function {function.name}")
        lines.extend(lines_of(function.body, 1))
    lines.extend(f"global {show_type(v.type)} {v.name} in {v.space.value}" for v in program.globals)
    lines.extend(f"{d.rule} {d.file}:{d.line}: {d.message}" for d in program.diagnostics)
    return "\n".join(lines)
