"""PTX kernels that run one instruction again and again: a chain, each instance waiting for the one before.

Written after the idea of Arafa et al. 2020, section III (their listing is another one): a loop with the
instances, the same loop without them; what the difference of the two costs, the instances cost. So that the
assembler neither removes nor merges instances, nor unrolls one loop other than the other:

- every iteration begins the chain with new random bits and folds its end into a result that is stored;
- the other operands and the number of iterations come from memory;
- what could be folded with itself (``not``, ``xor`` twice …) is guarded by two predicates that are true, but
  not for the assembler: it would have to know that to merge two instances;
- ``.pragma "nounroll"``.
"""

from __future__ import annotations

from msgspec import Struct

from wattslice_corpora.instruction_kernels.operands import Operand

ENTRY = "chain"
_STEPS = (("a", "c", "p"), ("b", "d", "q"))


class ChainInstruction(Struct, frozen=True):
    """A PTX instruction, or several that only make sense together, as one instance of a chain.

    `name`: the opcode; several joined by ``+``. `text`: an instance, `{x}` the register that the chain runs
    through (`{y}`: the upper word of a number of two, where `split`), `{a}`, `{c}` other operands, `{guard}`
    the predicate. `category`, `table_row`: where Table I of Arafa et al. has it; empty when it has not.
    `instances`: how many stand in the loop. `helper`: stands before every instance, in both kernels, so that
    x does not become a number that nothing changes any more, or one for which there is a slow path.
    """

    name: str
    text: str
    operand: Operand
    category: str = ""
    table_row: str = ""
    instances: int = 64
    split: bool = False
    helper: str = ""

    @property
    def file_stem(self) -> str:
        """`name`, fit for a file."""
        return self.name.replace(".", "_").replace("+", "-")


def chain_ptx(
    instruction: ChainInstruction,
    with_instances: bool,
    optimized: bool = True,
    version: str = "6.4",
    target: str = "sm_75",
) -> str:
    """A module with one kernel: with the instances in its loop, or the one they are measured against.

    ``chain(values, results, iterations)``: `values` as of `Operand.values`, 8 bytes each; a 32-bit result for
    every thread; `iterations` above 0.
    """
    return module_ptx((chain_entry(instruction, with_instances, optimized),), version, target)


def module_ptx(entries: tuple[str, ...], version: str = "6.4", target: str = "sm_75") -> str:
    """A module of kernels; one for ``sm_75`` can be assembled for every newer chip."""
    return "\n\n".join((f".version {version}\n.target {target}\n.address_size 64", *entries)) + "\n"


def chain_entry(
    instruction: ChainInstruction, with_instances: bool, optimized: bool, name: str = ENTRY
) -> str:
    """The kernel alone, as `name`; see `chain_ptx`."""
    operand = instruction.operand
    steps = range(instruction.instances)
    chain = tuple(
        _filled(text, number, optimized)
        for number in steps
        for text in (instruction.helper, instruction.text if with_instances else "")
        if text
    )
    loads = (
        *(
            f"ld.volatile.global.u32 %{name}, [%values+{8 * at}];"
            for at, name in enumerate(("m", "o", "f", "g"))
        ),
        *(_load(operand, name, 8 * at) for at, name in enumerate(("a", "b", "c", "d"), start=4)),
    )
    body = (*_begun(instruction), *chain, *_folded(instruction))
    lines = (
        f".visible .entry {name}(.param .u64 values, .param .u64 results, .param .u32 iterations) {{",
        *(f"    .reg {register} {names};" for register, names in _registers(instruction)),
        "    ld.param.u64 %values, [values];",
        "    ld.param.u64 %results, [results];",
        "    ld.param.u32 %i, [iterations];",
        "    cvta.to.global.u64 %values, %values;",
        "    cvta.to.global.u64 %results, %results;",
        *(f"    {line}" for line in loads),
        "    setp.ne.u32 %p, %f, 0;",
        "    setp.ne.u32 %q, %g, 0;",
        "    mov.u32 %t, %ctaid.x;",
        "    mov.u32 %n, %ntid.x;",
        "    mov.u32 %l, %tid.x;",
        "    mad.lo.u32 %t, %t, %n, %l;",
        "    mad.lo.u32 %s, %t, %f, %g;",
        "    mov.u32 %r, %t;",
        "LOOP:",
        '    .pragma "nounroll";',
        "    mad.lo.u32 %s, %s, %f, %g;",
        *(f"    {line}" for line in body),
        "    sub.u32 %i, %i, 1;",
        "    setp.ne.u32 %more, %i, 0;",
        "    @%more bra LOOP;",
        "    mul.wide.u32 %at, %t, 4;",
        "    add.u64 %results, %results, %at;",
        "    st.global.u32 [%results], %r;",
        "    ret;",
        "}",
    )
    return "\n".join(lines)


def _registers(instruction: ChainInstruction) -> tuple[tuple[str, str], ...]:
    register = ".b32" if instruction.split else instruction.operand.register
    return (
        (".pred", "%p, %q, %more"),
        (".b32", "%m, %o, %f, %g, %i, %t, %n, %l, %s, %r, %h, %k"),
        (".b64", "%values, %results, %at"),
        (".b16", "%u"),
        (register, "%x, %y, %a, %b, %c, %d"),
    )


def _load(operand: Operand, name: str, offset: int) -> str:
    bits = {"b64": "b64", "f64": "f64", "f32": "f32", "f16": "b16"}.get(operand.label, "b32")
    return f"ld.volatile.global.{bits} %{name}, [%values+{offset}];"


def _filled(text: str, number: int, guarded: bool) -> str:
    a, c, predicate = _STEPS[number % 2]
    guard = f"@%{predicate} " if guarded else ""
    return text.format(x="%x", y="%y", a=f"%{a}", c=f"%{c}", guard=guard, m="%m", o="%o")


def _begun(instruction: ChainInstruction) -> tuple[str, ...]:
    """From random bits %s to %x."""
    bits = "lop3.b32 %h, %s, %m, %o, 0xEA;"  # (s & mask) | pattern
    if instruction.split:
        return (bits, "mov.b32 %x, %h;", "mul.lo.u32 %y, %s, %f;")
    match instruction.operand:
        case Operand.B64 | Operand.F64:
            return (bits, "mul.lo.u32 %k, %s, %g;", "mov.b64 %x, {%k, %h};")
        case Operand.F16:
            return (bits, "mov.b32 {%x, %u}, %h;")
        case _:
            return (bits, "mov.b32 %x, %h;")


def _folded(instruction: ChainInstruction) -> tuple[str, ...]:
    """From %x into the result %r."""
    fold = "xor.b32 %r, %r, %h;"
    if instruction.split:
        return ("xor.b32 %r, %r, %x;", "xor.b32 %r, %r, %y;")
    match instruction.operand:
        case Operand.B64 | Operand.F64:
            return ("mov.b64 {%k, %h}, %x;", fold, "xor.b32 %r, %r, %k;")
        case Operand.F16:
            return ("mov.b32 %h, {%x, %x};", fold)
        case _:
            return ("mov.b32 %h, %x;", fold)
