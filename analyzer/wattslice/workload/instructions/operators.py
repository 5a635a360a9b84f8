"""Operators and conversions on values: what each costs, what folds (integer sums into linear forms) or
fuses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from struct import pack, unpack

from wattslice.ir import (
    COMPARISONS,
    FLOAT32,
    INT32,
    MIRRORED,
    NEGATED,
    UINT32,
    BinaryOp,
    BuiltinKind,
    LogicalOp,
    Type,
    TypeKind,
    UnaryOp,
)
from wattslice.workload.instructions.forwarding import GROUP
from wattslice.workload.instructions.kinds import Cost, measured
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.value_graph import (
    AT_START,
    MOST_LOOKED_AT,
    NO_FORM,
    Computation,
    Environment,
    LinearForm,
    LoopLevel,
    Numbers,
    Shape,
    Value,
    counter_in,
    deepest,
    depth,
    inputs_key,
    linear,
    varying,
)

FLOAT_KINDS: dict[int, tuple[K, K, K, K]] = {  # bits: sum, product, fused, comparison
    16: (K.HFMA2, K.HFMA2, K.HFMA2, K.HFMA2),
    32: (K.FADD, K.FMUL, K.FFMA, K.FSETP),
    64: (K.DADD, K.DMUL, K.DFMA, K.DSETP),
}
MOST_TERMS = 8
"""Terms of a sum above which its operands are no longer looked into: sums of sums would grow without end."""
_NATURAL = ((BinaryOp.GE, 0), (BinaryOp.GT, -1))
"""Comparisons with numbers that tell a sign."""
_LOWER, _UPPER = (BinaryOp.GE, BinaryOp.GT), (BinaryOp.LT, BinaryOp.LE)
"""Comparisons with limits of a range."""
MOST_NUMBERS = 1024
"""Pairs of numbers, one of each of two constants, that are looked at: what more come to is not known."""
TRUTH_BITS = 1
"""Bits of an integer that is 0 or 1 because it was a truth value."""
_AS_IT_IS = (False, 1)
"""How a truth is used as 0 or 1: not turned, and added."""
JOINING = {BinaryOp.AND: LogicalOp.AND, BinaryOp.OR: LogicalOp.OR}
"""Bitwise operators that join two truths to one."""

MOST_PLACES = 64
"""Places by which no word is shifted."""
_Folds = dict[BinaryOp, Callable[[float, float], float]]
_FOLD: _Folds = {BinaryOp.ADD: operator.add, BinaryOp.SUB: operator.sub, BinaryOp.MUL: operator.mul}


def per_operation(bits: int, lanes: int) -> float:
    """Instructions of a floating-point operation on all lanes of a vector: two half lanes fill one HFMA2."""
    return max(1.0, lanes / 2) if bits == 16 else float(max(1, lanes))


_RECIPROCAL: Cost = ((K.CONVERSION, 2.0), (K.MUFU, 1.0), (K.IMAD, 2.0), (K.MOV, 1.0))
_OF_DIVISOR: dict[str, Cost] = {
    "int32": (*_RECIPROCAL, (K.IADD, 3.0)),
    "uint32": (*_RECIPROCAL, (K.IADD, 2.0)),
}
"""The share of a division that all divisions by the same number have in common (SASS of nvcc 13)."""
_BY_LATE: dict[tuple[BinaryOp, str], Cost] = {
    (BinaryOp.DIV, "uint32"): ((K.IMAD, 2.0), (K.IADD, 3.0), (K.ISETP, 2.0)),
    (BinaryOp.MOD, "uint32"): ((K.IMAD, 2.0), (K.IADD, 2.0), (K.ISETP, 2.0)),
    (BinaryOp.DIV, "int32"): ((K.IMAD, 2.0), (K.IADD, 5.0), (K.ISETP, 3.0), (K.LOP, 1.0)),
    (BinaryOp.MOD, "int32"): ((K.IMAD, 2.0), (K.IADD, 3.0), (K.ISETP, 3.0), (K.MOV, 1.0)),
}
"""What is left of a division by `warpSize` behind that (SASS of nvcc 13): the optimiser does not know it."""


def _up(word: float, places: float) -> float:
    return int(word) << int(places)


def _down(word: float, places: float) -> float:
    return int(word) >> int(places)


def _quotient(word: float, divisor: float) -> float:
    """`word / divisor` of integers, towards zero; 0 where it has none."""
    whole = int(abs(word)) // int(abs(divisor)) if abs(divisor) >= 1 else 0
    return whole if (word < 0) == (divisor < 0) else -whole


FOLD_WORDS = _FOLD | {BinaryOp.SHL: _up, BinaryOp.SHR: _down, BinaryOp.DIV: _quotient}
"""What the compiler makes of two integers."""


class LinearForms(Environment):
    """Integer arithmetic that folds into linear forms."""

    def numbers(self, constant: Value) -> Numbers:
        """What a constant is in each copy of unrolled loops; nothing where that is not known."""
        if constant.number is not None:
            return {frozenset(): constant.number}
        if not constant.form.copies:
            return self.known.numbers.get(constant, {})
        found: Numbers = {frozenset(): constant.form.offset}
        for copy, coefficient in constant.form.copies:
            term = _in_copies(BinaryOp.MUL, self.numbers(copy), {frozenset(): coefficient})
            found = _in_copies(BinaryOp.ADD, found, term)
        return found

    def sum(self, a: Value, b: Value, sign: int, region: int, bits: int, *, is_wide: bool = False) -> Value:
        """a + sign*b as a linear form."""
        terms_a, offset_a, varying_a = linear(a)
        terms_b, offset_b, varying_b = linear(b)
        total = dict(terms_a)
        wide = is_wide or a.form.is_wide or b.form.is_wide
        for term, coefficient in terms_b:
            total[term] = total.get(term, 0) + sign * coefficient
        terms = tuple((term, c) for term, c in total.items() if c)
        if len(terms) > MOST_TERMS and not (a.is_pointer or b.is_pointer):
            return self.linear_value(LinearForm(((a, 1), (b, sign)), is_wide=wide), region, bits)
        differing = dict(varying_a)
        for copy, coefficient in varying_b:
            differing[copy] = differing.get(copy, 0) + sign * coefficient
        copies = tuple((copy, c) for copy, c in sorted(differing.items(), key=_by_birth) if c)
        form = LinearForm(terms, offset_a + sign * offset_b, copies, wide)
        return self.linear_value(form, region, bits)

    def scaled(self, value: Value, factor: int, region: int, bits: int) -> Value:
        """value * factor as a linear form."""
        terms, offset, varied = linear(value)
        scaled = tuple((term, c * factor) for term, c in terms if factor)
        copies = tuple((copy, c * factor) for copy, c in varied if factor)
        form = LinearForm(scaled, offset * factor, copies, value.form.is_wide)
        return self.linear_value(form, region, bits)

    def linear_value(self, form: LinearForm, region: int, bits: int) -> Value:
        """A linear form: constant, single term, or sum."""
        terms, offset, copies = form.terms, form.offset, form.copies
        if not terms:
            value = self.copied([copy for copy, _ in copies], region, bits)
            value.form = LinearForm(offset=offset, copies=copies) if copies else NO_FORM
            value.number = None if copies else offset
            return value
        if len(terms) == 1 and terms[0][1] == 1 and offset == 0 and not copies:
            return terms[0][0]
        key = ("sum", frozenset(terms), offset, *copies, bits, form.is_wide)
        values = (*(term for term, _ in terms), *(copy for copy, _ in copies))
        is_pointer = any(term.is_pointer for term, _ in terms)
        what = Computation(Shape.INT_SUM, bits=bits, inputs=(), is_pointer=is_pointer, form=form)
        return self.shared(key, region, values, what)

    def product(self, a: Value, b: Value, type_: Type, region: int) -> Value:
        """Product of two integers."""
        if a.shape is Shape.CONSTANT:
            a, b = b, a
        if b.shape is Shape.CONSTANT and b.number is not None:
            return self.scaled(a, int(b.number), region, type_.bits)
        for whole, rest in ((a, b), (b, a)):
            if whole.shape is Shape.INT_PRODUCT:
                for moving, fixed in (whole.inputs, whole.inputs[::-1]):
                    # (i * n) * n: what the inner loop does not change is multiplied outside of it
                    if depth(moving) > max(depth(fixed), depth(rest)):
                        return self.product(moving, self.product(fixed, rest, type_, region), type_, region)
        for number, pitch in ((a, b), (b, a)):
            if type_.bits == 32 and (row := self.row(number, pitch, type_, region)) is not None:
                return row
        cost: Cost = ((K.IMAD, 1.0),)
        if type_.bits == 64 and max(a.bits, b.bits) > 32:  # else IMAD.WIDE
            cost = measured("mul.int64") or cost
        key = ("product", frozenset((a, b))) if a is not b else ("square", a)
        value = self.shared(key, region, (a, b), Computation(Shape.INT_PRODUCT, cost, type_.bits))
        for moving, fixed in ((a, b), (b, a)):
            counter = counter_in(moving)
            if counter is not None and deepest((fixed,), self.stack) is not counter.place.level:
                value.step = fixed
        return value

    def row(self, number: Value, pitch: Value, type_: Type, region: int) -> Value | None:
        """`(y + 8) * w` where `y * w` is there: that and `8 * w`; so in the copies of a loop over what is
        added, unless they decide whether they need it.

        Not in a loop that moves the row itself, where pointers advance; nor above those that are there.
        """
        terms, offset, copies = linear(number)
        is_moved = counter_in(number) is not None and not copies
        if not terms or pitch.shape is Shape.CONSTANT or is_moved:
            return None
        if copies:
            loops = [copy.place.level for copy, _ in copies]
            if any(loop is None or loop.arm_depth < self.arm_depth for loop in loops):
                return None
            first = self.linear_value(LinearForm(terms, offset), region, type_.bits)
            further = self.linear_value(LinearForm(copies=copies), region, type_.bits)
            rows = self.product(first, pitch, type_, region)
            return self.sum(rows, self.product(further, pitch, type_, region), 1, region, type_.bits)
        known = self.known.rows.setdefault((frozenset(terms), pitch), [])
        for before in known:
            first = linear(before)[1]
            start = self.available.get(("product", frozenset((before, pitch))))
            if start is not None and first < offset:
                further = self.linear_value(LinearForm(((pitch, offset - first),)), region, type_.bits)
                return self.sum(start, further, 1, region, type_.bits)
        known.append(number)
        return None


class Operators(LinearForms):
    """Unary, binary and conversion operators."""

    def cast(self, value: Value, source: Type, target: Type, region: int) -> Value:
        """A conversion; free between integers of 32 and 64 bits."""
        if value.shape is Shape.CONSTANT:
            return value
        if target.kind is TypeKind.BOOL:
            return self.truth(value, source, region)
        is_float = (source.kind is TypeKind.FLOAT, target.kind is TypeKind.FLOAT)
        truth = self.known.truths.get(value)
        if source.kind is TypeKind.BOOL and value.access is None:
            truth = value
        if truth is not None and target.is_float and target.bits in (32, 64):
            return self.as_float(truth, target, region)
        if any(is_float):
            if all(is_float) and source.bits == target.bits:
                return value
            narrow = self.narrowed(value, target, region) if all(is_float) and target.bits == 32 else None
            if narrow is not None:
                return narrow
            lanes = float(max(1, target.lanes))
            if all(is_float) and (source.bits, target.bits) == (16, 32):  # HADD2.F32, the upper half
                kind = K.SHF if source.bfloat else K.HFMA2  # PRMT before Hopper, on the same units
                return self.plain(("from half", source.bfloat), region, (value,), ((kind, lanes),), 32)
            cost = ((_conversion(source, target), lanes),)
            converted = self.plain(("cast", target.bits, is_float), region, (value,), cost, target.bits)
            if all(is_float) and (source.bits, target.bits) == (32, 64) and not self.is_machine_code:
                self.known.floats[converted] = value
            return converted
        if source.kind is TypeKind.BOOL and target.kind is TypeKind.INT:
            return self.as_integer(value, region, *_AS_IT_IS)
        if source.bits > target.bits and target.bits in (8, 16):
            return self.plain(("narrow", target.bits), region, (value,), ((K.LOP, 1.0),))
        if (source.bits, target.bits) == (32, 64) and source.kind is target.kind is TypeKind.INT:
            self.known.widened[value] = source.signed
        return value  # widening is part of IMAD.WIDE, narrowing to 32 bits takes the low register

    def bit_field(self, inputs: list[Value], type_: Type, region: int) -> Value:
        """So many bits of a word from one on: a shift to the end of the word and back, or a mask.

        Whole bytes are loaded as such.
        """
        whole, bits = inputs[0], type_.bits or 32
        width, start = (int(one.number or 0) for one in inputs[1:])
        if width % 8 == 0 and start % 8 == 0 and width in (8, 16, 32, 64):
            return whole
        is_last = start + width == bits
        shifts = 1.0 if is_last else 2.0 if type_.signed else float(start > 0)
        masks = 0.0 if is_last or type_.signed else 1.0
        cost = ((K.SHF, shifts), (K.LOP, masks)) if masks else ((K.SHF, shifts),)
        return self.plain(("bits", width, start, type_.signed), region, (whole,), cost, whole.bits)

    def narrowed(self, value: Value, target: Type, region: int) -> Value | None:
        """What a double becomes that was a float, or one operation on such: that operation on floats."""
        if (known := self.known.floats.get(value)) is not None:
            return known
        if (done := self.known.doubles.get(value)) is None:
            return None
        op, a, b = done
        floats = self.as_floats(a, b)
        return None if floats is None else self.floating(op, *floats, target, region)

    def as_floats(self, a: Value, b: Value) -> tuple[Value, Value] | None:
        """The floats that two doubles are, or were made from; None where one of them is more than that."""
        floats = [one if _is_float(one.number) else self.known.floats.get(one) for one in (a, b)]
        return None if floats[0] is None or floats[1] is None else (floats[0], floats[1])

    def truth(self, value: Value, source: Type, region: int) -> Value:
        """Whether a value is not zero: a comparison, which the LOP3 that makes 32 bits does along.

        Bit 0 is compared all the same; tests of neighbouring bits may share one R2P: `charging.py`.
        """
        if source.kind is TypeKind.BOOL:
            return value
        if source.kind is TypeKind.FLOAT:
            return self.plain("truth", region, (value,), ((FLOAT_KINDS[max(32, source.bits)][3], 1.0),))
        if value in self.known.remainders:
            number, power = self.known.remainders[value]  # of any sign: no bit below the power
            below = self.binary(BinaryOp.SUB, power, self.constant(1, source), source, region)
            value = self.logic(BinaryOp.AND, (number, below), source, region)
        if value.shape is Shape.LOGIC and value.bits == 32:
            _, mask = self.known.masked.get(value, (value, None))
            cost = ((K.ISETP, 1.0),) if mask is not None and mask.number == 1 else ()
            return self.shared(("truth", value), region, (value,), Computation(Shape.TRUTH, cost))
        if value.bits == TRUTH_BITS:
            return self.known.truths.get(value, value)
        wide = 2.0 if source.bits == 64 or source.kind is TypeKind.POINTER else 1.0
        return self.plain("truth", region, (value,), ((K.ISETP, wide),))

    def counted(self, truth: Value, region: int, is_turned: bool, up: int) -> Value:
        """What a counter goes `up` by under a condition: the bit or the sign that it tests, or 0 or 1.

        `is_turned`: where the condition is not true.
        """
        if up == 1 and not is_turned and truth.shape is Shape.TRUTH:
            _, mask = self.known.masked.get(truth.inputs[0], (truth, truth))
            if mask.number is not None and is_power(mask.number):
                place = self.constant(int(mask.number).bit_length() - 1, UINT32)
                return self.shift(BinaryOp.SHR, truth.inputs[0], place, UINT32, region)
        op, word, limit = self.known.compared.get(truth, (None, truth, truth))
        if up == 1 and not is_turned and (op, limit.number) == (BinaryOp.LT, 0):
            return self.shift(BinaryOp.SHR, word, self.constant(31, UINT32), UINT32, region)
        return self.as_integer(truth, region, is_turned, up)

    def as_integer(self, truth: Value, region: int, *how: object) -> Value:
        """A truth as 0 or 1, one for each way `how` it is used."""
        value = self.plain(("bool to int", *how), region, (truth,), ((K.ISETP, 1.0),), TRUTH_BITS)
        if value.shape is not Shape.CONSTANT and how == _AS_IT_IS:
            self.known.truths[value] = truth
        return value

    def as_float(self, truth: Value, type_: Type, region: int) -> Value:
        """A truth as 0 or 1: a comparison of floats gives that itself (FSET), another one selects it."""
        is_set = {kind for kind, _ in truth.cost} == {K.FSETP} and type_.bits == 32
        high = ((K.MOV, 1.0),) if type_.bits == 64 else ()  # the lower half is 0
        cost = () if is_set else ((K.FSETP, 1.0), *high)
        return self.plain(("bool to float", type_.bits), region, (truth,), cost, type_.bits)

    def unary(self, op: UnaryOp, value: Value, type_: Type, region: int) -> Value:
        """A unary operator; float negation and `!` are modifiers of whatever uses them."""
        if op is UnaryOp.NOT or (op is UnaryOp.NEGATE and type_.kind is TypeKind.FLOAT):
            return value  # a modifier of whatever uses it
        if op is UnaryOp.NEGATE:
            return self.scaled(value, -1, region, type_.bits)
        return self.logic(op, (value,), type_, region)

    def binary(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """A binary operator in `type_`."""
        if op is BinaryOp.COMMA:
            return b
        if a.shape is Shape.CONSTANT and b.shape is Shape.CONSTANT:
            number = None
            if op in _FOLD and a.number is not None and b.number is not None:
                number = _FOLD[op](a.number, b.number)
            scaled = None if number is not None else _scaled_constant(op, a, b)
            if scaled is not None and type_.kind is TypeKind.INT:
                value = self.scaled(*scaled, region, type_.bits)
            elif number is None and type_.kind is TypeKind.INT and op in (BinaryOp.ADD, BinaryOp.SUB):
                value = self.sum(a, b, -1 if op is BinaryOp.SUB else 1, region, type_.bits)
            elif (known := self.available.get(named := ("constant", op, *inputs_key((a, b))))) is not None:
                return known
            else:
                value = self.copied((a, b), region, type_.bits)
                self.hide(named, value)
                value.number = number
                folds = FOLD_WORDS if type_.kind is TypeKind.INT else _FOLD
                self.known.numbers[value] = _in_copies(op, self.numbers(a), self.numbers(b), folds)
            scales = op in (BinaryOp.MUL, BinaryOp.DIV) and self.is_power(b)
            if self.is_power(a) and (scales or op in (BinaryOp.SHL, BinaryOp.SHR)):
                self.known.powers.add(value)
            if a in self.known.late or b in self.known.late:
                self.known.late.add(value)
            return value
        if type_.kind is TypeKind.FLOAT:
            if type_.bits == 64 and op in COMPARISONS and (floats := self.as_floats(a, b)) is not None:
                return self.floating(op, *floats, FLOAT32, region)
            value = self.floating(op, a, b, type_, region)
            if type_.bits == 64:
                self.known.doubles[value] = op, a, b
            return value
        wide = 2.0 if type_.bits == 64 or type_.kind is TypeKind.POINTER else 1.0
        if op in (BinaryOp.EQ, BinaryOp.NE) and a.bits == b.bits == TRUTH_BITS:
            # predicates compared: the later comparison takes the earlier one along
            return self.plain(op, region, (a.inputs[0], b.inputs[0]), (), TRUTH_BITS)
        if op in (BinaryOp.EQ, BinaryOp.NE) and a.shape is Shape.LOGIC and b.number in (0, 1):
            _, mask = self.known.masked.get(a, (a, None))
            if b.number == 0 or (mask is not None and mask.number == 1):
                return self.truth(a, type_, region)
        if op in (BinaryOp.EQ, BinaryOp.NE) and b.number == 0 and a in self.known.remainders:
            return self.truth(a, type_, region)
        if op in COMPARISONS and type_.bits == 64 and type_.kind is TypeKind.INT and self.is_widened(a, b):
            type_, wide = INT32 if self.known.widened[a] else UINT32, 1.0
        if op in COMPARISONS:
            signs = self.extended((a, b)) if wide > 1.0 else 0.0
            share = self.share_of_copies(op, a, b)
            cost = ((K.ISETP, wide * share), *(((K.SHF, signs),) if signs else ()))
            compared = self.plain(op, region, (a, b), cost)
            if share < 1.0:
                self.known.shares[compared] = share
                compared.inputs = []  # the counter as each round has it
            is_fixed = b.is_given or b.number is not None
            if op in (BinaryOp.EQ, BinaryOp.NE) and is_fixed and self.is_of_thread(a):
                self.known.one_thread[compared] = op is BinaryOp.EQ
            if type_.signed and type_.bits == 32:
                is_turned = a.shape is Shape.CONSTANT
                self.known.compared[compared] = (MIRRORED[op], b, a) if is_turned else (op, a, b)
            return compared
        if op in (BinaryOp.ADD, BinaryOp.OR, BinaryOp.XOR) and (
            (funnel := self.funnel(a, b, type_, region)) is not None
        ):
            return funnel
        match op:
            case BinaryOp.ADD if (
                whole := self.divided_whole(a, b, region) or self.divided_whole(b, a, region)
            ) is not None:
                return whole
            case BinaryOp.ADD | BinaryOp.SUB:
                is_wide = type_.bits == 64 and type_.kind is not TypeKind.POINTER
                sign = -1 if op is BinaryOp.SUB else 1
                return self.sum(a, b, sign, region, type_.bits, is_wide=is_wide)
            case BinaryOp.MUL:
                return self.product(a, b, type_, region)
            case BinaryOp.SHL | BinaryOp.SHR:
                value = self.shift(op, a, b, type_, region)
                if value.shape is not Shape.CONSTANT and (op is BinaryOp.SHL or not type_.signed):
                    self.known.shifts[value] = (op, a, b)
                return value
            case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
                return self.logic(op, (a, b), type_, region)
            case BinaryOp.DIV | BinaryOp.MOD:
                return self.division(op, a, b, type_, region)
            case _:
                return self.plain(op, region, (a, b), ((K.SHF, wide),), type_.bits)

    def share_of_copies(self, op: BinaryOp, counter: Value, number: Value) -> float:
        """How many of the copies of a loop ask: one in four whether a counter by ones is a number, `k == 3`.

        The others know. So they do whether it is past the number that it starts at: `k > 0`.
        """
        level, start = counter.place.level, self.known.starts.get(counter)
        if level is None or start is None or number.number is None or level not in self.stack[-1:]:
            return 1.0
        if level.is_unrolled or level.unroll < GROUP or counter.step is None or counter.step.number != 1:
            return 1.0
        is_first = (op, number.number - start) in _AT_FIRST
        return 1.0 / GROUP if is_first or op in (BinaryOp.EQ, BinaryOp.NE) else 1.0

    def is_of_thread(self, value: Value) -> bool:
        """Whether a number is an index of the thread in its block, or that and what all of a block have."""
        indices = [self.available.get(("builtin", BuiltinKind.THREAD_IDX, axis)) for axis in range(3)]
        own = [term for term, _ in linear(value)[0] if not term.is_uniform]
        return len(own) == 1 and any(own[0] is index for index in indices)

    def both(self, op: LogicalOp, a: Value, b: Value, region: int) -> Value:
        """`a && b` or `a || b`: one of two comparisons takes the other's truth along (`charging.py`)."""
        name = ("logical", op)
        is_chain = self.available.get((name, *inputs_key(a.inputs))) is a
        for number, part in enumerate(a.inputs if is_chain else [a]):
            if (one := self.as_one(op, part, b, region)) is not None:
                return self.both(op, one, a.inputs[1 - number], region) if is_chain else one
        both = self.plain(name, region, (a, b), ())
        if both.shape is not Shape.CONSTANT:
            both.shape = Shape.BOTH
        return both

    def as_one(self, op: LogicalOp, a: Value, b: Value, region: int) -> Value | None:
        """The comparison that two are together: of signs, that of both words in a LOP3; of two numbers as the
        limits of a word, one without a sign of its distance from the lower. None for others.
        """
        if a not in self.known.compared or b not in self.known.compared:
            return None
        (of_a, word, low), (of_b, other, high) = self.known.compared[a], self.known.compared[b]
        if is_or := op is LogicalOp.OR:
            of_a, of_b = NEGATED[of_a], NEGATED[of_b]
        naturals = (of_a, low.number) in _NATURAL, (of_b, high.number) in _NATURAL
        if all(naturals):
            signs = self.logic(BinaryOp.OR, (word, other), INT32, region)
            compares = BinaryOp.LT if is_or else BinaryOp.GE
            return self.binary(compares, signs, self.constant(0, INT32), INT32, region)
        if {of_a, of_b} & set(_LOWER) and {of_a, of_b} & set(_UPPER) and word is other:
            of_low, least = (of_a, low) if of_a in _LOWER else (of_b, high)
            if low.shape is high.shape is Shape.CONSTANT and least.number is not None:
                start = self.constant(least.number + (of_low is BinaryOp.GT), INT32)
                distance = self.sum(word, start, -1, region, 32)
                return self.plain(("within", a, b), region, (distance,), ((K.ISETP, 1.0),))
        return None

    def is_widened(self, a: Value, b: Value) -> bool:
        """Whether numbers of 64 bits are compared as the words that they were made of."""
        is_signed = self.known.widened.get(a)
        if is_signed is None or b.number is None:
            return is_signed is not None and self.known.widened.get(b) is is_signed
        return -(is_signed << 31) <= b.number < 1 << 31

    def extended(self, operands: tuple[Value, ...]) -> float:
        """Signs of operands of 32 bits that are extended to 64, in which an address has them then, too."""
        wide = [one for one in operands if one in self.known.widened and not one.is_uniform]
        new = [one for one in wide if not one.is_extended and self.known.widened[one]]
        for one in wide:
            one.is_extended = True
        return float(len(new))

    def shift(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """`a << b` or `a >> b`."""
        if b.number == 0:
            return a
        if op is BinaryOp.SHL and b.shape is Shape.CONSTANT and b.number is not None:
            return self.scaled(a, 1 << (int(b.number) & 63), region, type_.bits)
        takes_half = type_.bits == 64 and b.number == 32  # the high register
        cost = () if takes_half else ((K.SHF, 2.0 if type_.bits == 64 else 1.0),)
        if op is BinaryOp.SHL or b.shape is not Shape.CONSTANT or a.shape is Shape.CONSTANT:
            return self.plain((op, type_.signed), region, (a, b), cost, type_.bits)
        shape = Shape.PLAIN if type_.bits != 32 else Shape.SHIFTED if b.number is None else Shape.SHIFT
        key = (op, type_.signed, *inputs_key((a, b)))
        value = self.shared(key, region, (a, b), Computation(shape, cost, type_.bits))
        self.known.halves[value] = a
        return value

    def funnel(self, a: Value, b: Value, type_: Type, region: int) -> Value | None:
        """`x >> s | y << bits - s`, a rotation where x is y: one SHF, two in 64 bits; None for others.

        A sum takes it along by LEA.HI, where `s` is a number.
        """
        up, down = self.known.shifts.get(a), self.known.shifts.get(b)
        if up is None or down is None or up[0] is down[0]:
            return None
        if up[0] is BinaryOp.SHR:
            up, down = down, up
        total = self.sum(up[2], down[2], 1, region, 32)
        if total.shape is not Shape.CONSTANT or total.number != type_.bits:
            return None
        cost = ((K.SHF, 2.0 if type_.bits == 64 else 1.0),)
        value = self.plain("funnel", region, (up[1], down[1], down[2]), cost, type_.bits)
        if type_.bits == 32 and down[2].shape is Shape.CONSTANT is not value.shape:
            value.shape = Shape.SHIFT
        return value

    def floating(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """A floating-point operator."""
        bits = type_.bits if type_.bits in FLOAT_KINDS else 16 if type_.bits < 32 else 64
        add, multiply, _, compare = FLOAT_KINDS[bits]
        lanes = per_operation(bits, type_.lanes)
        if op in (BinaryOp.ADD, BinaryOp.SUB):
            a, b = (self.added(op, one, type_, region) for one in (a, b))
        key = (op, bits, *inputs_key((a, b)))
        if op in COMPARISONS:
            return self.shared(key, region, (a, b), Computation(cost=((compare, lanes),)))
        if op in (BinaryOp.ADD, BinaryOp.SUB):
            what = Computation(Shape.FLOAT_SUM, ((add, lanes),), bits)
            return self.noted_half(self.shared(key, region, (a, b), what), type_)
        further, powers = 1.0, 0.0  # copies with another number than one, and with another power of two
        for one, other in ((a, b), (b, a)):
            if other.shape is Shape.CONSTANT and (op is BinaryOp.MUL or other is b):
                numbers = list(self.numbers(other).values())
                further -= sum(abs(number) == 1 for number in numbers) / max(1, len(numbers))
                if not further:
                    return one
                powers = sum(map(_is_power_but_one, numbers)) / max(1, len(numbers))
        is_fast = op is BinaryOp.DIV and bits == 32 and self.is_fast
        if is_fast and b.shape is not Shape.CONSTANT:  # MUFU.RSQ of what else had a MUFU.SQRT
            of = b.inputs if b in self.known.roots and a.number == 1 else (b,)
            b = self.plain(("reciprocal", of is b.inputs), region, tuple(of), ((K.MUFU, lanes),), bits)
            return b if a.number == 1 else self.floating(BinaryOp.MUL, a, b, type_, region)
        if op is BinaryOp.DIV and b.number and _is_power_but_one(b.number):
            return self.floating(BinaryOp.MUL, a, self.constant(1.0 / b.number, type_), type_, region)
        if op is BinaryOp.DIV and b.number is None and self.are_powers(b):
            inverse = self.copied((b,), region, bits)
            self.known.numbers[inverse] = {copy: 1.0 / number for copy, number in self.numbers(b).items()}
            return self.floating(BinaryOp.MUL, a, inverse, type_, region)
        if op is BinaryOp.MUL or is_fast:
            is_doubled = 2.0 in (a.number, b.number) and not self.is_machine_code  # x + x
            cost = ((add if is_doubled else multiply, lanes * further),)
            what = Computation(Shape.FLOAT_PRODUCT, cost, bits)
            return self.noted_half(self.shared(key, region, (a, b), what), type_)
        name = "rcp" if a.shape is Shape.CONSTANT and a.number == 1 else "div"
        if b.shape is Shape.CONSTANT and bits == 32:  # its reciprocal is a number, too; not that of doubles
            name = "div_constant"
        cost = measured(f"{name}.fp{max(32, bits)}") or ((K.MUFU, 1.0),)
        cost = tuple((kind, number * lanes * (further - powers)) for kind, number in cost)
        cost += ((multiply, lanes * powers),) * (powers > 0)
        return self.shared(key, region, (a, b), Computation(cost=cost, bits=bits))

    def noted_half(self, value: Value, type_: Type) -> Value:
        """`value`, which copies of an unrolled loop may do two at a time where it is a half."""
        level = self.stack[-1] if self.stack else None
        if type_.bits == 16 and type_.lanes <= 1 and level is not None and level.is_unrolled:
            self.known.halves_alone[value] = level
        return value

    def pair_halves(self) -> None:
        """Two copies of an unrolled loop do one operation on halves each in one instruction, where there is
        an even number and none needs what the one before it made.
        """
        for value, level in self.known.halves_alone.items():
            is_even = (level.trips or 1.0) % 2 == 0.0 and level in varying((value,))
            if is_even and not _needs_copy_before(value, level):
                value.cost = tuple((kind, number / 2) for kind, number in value.cost)

    def added(self, op: BinaryOp, operand: Value, type_: Type, region: int) -> Value:
        """An operand of a sum: `2 * x` is `x + x` before subtractions take in products (SASS of nvcc 13), and
        to add `-2 * x` is to subtract."""
        if operand.shape is Shape.FLOAT_PRODUCT and not self.is_machine_code:
            for factor, doubled in (operand.inputs, operand.inputs[::-1]):
                if factor.number == (2.0 if op is BinaryOp.SUB else -2.0):
                    return self.floating(BinaryOp.ADD, doubled, doubled, type_, region)
        return operand

    def selection(self, type_: Type) -> Cost:
        """One of two values of `type_`, as a predicate says."""
        kind = K.FSETP if type_.kind is TypeKind.FLOAT else K.ISETP
        return ((kind, 2.0 if type_.bits == 64 or type_.kind is TypeKind.POINTER else 1.0),)

    def logic(self, op: object, inputs: tuple[Value, ...], type_: Type, region: int) -> Value:
        """A bitwise operator."""
        if op is BinaryOp.AND and (known := next((one.number for one in inputs if one.number), None)):
            rest = next((one for one in inputs if one.number is None), None)
            if rest is not None and is_power(known + 1) and self.is_settled(rest, int(known) + 1):
                return self.copied((rest,), region, type_.bits)
        truths = [self.known.truths[one] for one in inputs if one in self.known.truths]
        if op in (BinaryOp.AND, BinaryOp.OR) and len(truths) == 2:
            both = self.both(JOINING[op], truths[0], truths[1], region)  # no numbers are made of them
            return self.as_integer(both, region, *_AS_IT_IS)
        cost = ((K.LOP, 2.0 if type_.bits == 64 else 1.0),)  # charging.py: how many operators one LOP3 does
        key = ("logic", op, *inputs_key(inputs))
        value = self.shared(key, region, inputs, Computation(Shape.LOGIC, cost, type_.bits))
        if op is BinaryOp.AND and Shape.CONSTANT in (inputs[0].shape, inputs[1].shape):
            bits, mask = inputs if inputs[1].shape is Shape.CONSTANT else inputs[::-1]
            self.known.masked[value] = bits, mask
        return value

    def bit_mask(self, condition: Value, region: int) -> Value | None:
        """All ones where the bit that `condition` tests is set, by two shifts; None for other conditions."""
        if condition.shape is not Shape.TRUTH or condition.inputs[0] not in self.known.masked:
            return None
        bits, mask = self.known.masked[condition.inputs[0]]
        if mask.number is not None and not is_power(mask.number):
            return None
        return self.plain("bit mask", region, (bits, mask), ((K.SHF, 2.0),))

    def division(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """Integer division or remainder, from the measured table."""
        name = "div" if op is BinaryOp.DIV else "mod"
        is_known = b.shape is Shape.CONSTANT and b not in self.known.late
        if is_known:
            name += "_power" if self.is_power(b) else "_constant"
        is_natural = not type_.signed or (a in self.known.naturals and is_known)
        if op is BinaryOp.MOD and is_known and b.number is not None and self.is_settled(a, int(b.number)):
            return self.copied((a,), region, type_.bits)
        key = "int64" if type_.bits == 64 else "uint32" if is_natural else "int32"
        divisors = [abs(int(number)) for number in self.numbers(b).values()] if type_.bits == 32 else []
        if name == "mod_power" and is_natural and type_.bits == 32:
            mask = self.binary(BinaryOp.SUB, b, self.constant(1, type_), type_, region)
            value = self.logic(BinaryOp.AND, (a, mask), type_, region)
        elif is_known and any(divisor > 1 and not is_power(divisor) for divisor in divisors):
            cost = _mean([_by_number(divisor, key) for divisor in divisors])
            value = self.plain(("quotient", is_natural), region, (a, b), cost)
            if op is BinaryOp.MOD:
                share = sum(divisor > 1 for divisor in divisors) / len(divisors)
                value = self.plain("remainder", region, (a, value), ((K.IMAD, share),))
        elif not is_known:
            value = self.by_divisor(op, a, b, (key, type_.signed), region)
        else:
            cost = measured(f"{name}.{key}") or ((K.IMAD, 1.0),)
            what = Computation(cost=cost, bits=type_.bits)
            named = (op, type_.signed, *inputs_key((a, b)))
            value = self.shared(named, region, (a, b), what)
            if name == "mod_power" and type_.bits == 32:
                self.known.remainders[value] = a, b
        if a in self.known.naturals and is_natural:
            self.known.naturals.add(value)
        if b.shape is not Shape.CONSTANT or is_known:
            self.known.divided[value] = op, a, b
        return value

    def divided_whole(self, product: Value, rest: Value, region: int) -> Value | None:
        """What was divided, of `a / b * b + a % b`, also where both are multiplied by the same."""
        op, whole, divisor = self.known.divided.get(rest, (None, rest, rest))
        if op is BinaryOp.MOD:
            quotient = _beside(product, divisor)
            op, same, by = self.known.divided.get(quotient or rest, (None, rest, rest))
            is_same = same is whole and (
                by is divisor or (by.number is not None and by.number == divisor.number)
            )
            return whole if op is BinaryOp.DIV and is_same else None
        if rest.shape is Shape.INT_PRODUCT:
            for remainder, factor in (rest.inputs, rest.inputs[::-1]):
                beside = _beside(product, factor)
                made = None if beside is None else self.divided_whole(beside, remainder, region)
                if made is not None:
                    return self.product(made, factor, INT32, region)
        return None

    def by_divisor(self, op: BinaryOp, a: Value, b: Value, kind: tuple[str, bool], region: int) -> Value:
        """Division or remainder by what is no number; `kind`: as the measured table has it, and with a sign.

        Whoever needs both, in whatever order, divides once: the remainder is `a - a / b * b` then. Words
        share the reciprocal. That of what the assembler knows needs no test for zero and no number turned
        negative.
        """
        key, _ = kind
        is_late = b.shape is Shape.CONSTANT and key != "int64"
        bits, once = (64, ()) if key == "int64" else (32, _OF_DIVISOR[key])

        def computed(one: BinaryOp) -> Value:
            cost = measured(f"{'div' if one is BinaryOp.DIV else 'mod'}.{key}") or ()
            cost = tuple((each, number - dict(once).get(each, 0.0)) for each, number in cost)
            named = (one, kind, *inputs_key((a, b)))
            what = Computation(cost=_BY_LATE[one, key] if is_late else cost, bits=bits)
            return self.shared(named, region, (a, b, reciprocal), what, may_trap=True)

        what = Computation(cost=(*_RECIPROCAL, (K.IADD, 1.0)) if is_late else once)
        named = ("reciprocal", kind, *inputs_key((b,)))
        reciprocal = self.shared(named, region, (b,), what, may_trap=True)
        quotient = computed(BinaryOp.DIV)  # costs nothing where nobody needs it
        if op is BinaryOp.MOD:
            remainder = computed(op)
            if quotient in self.known.quotients:
                self.take_from(quotient, remainder)
            self.known.moduli[quotient] = remainder
            return remainder
        self.known.quotients.add(quotient)
        if (beside := self.known.moduli.get(quotient)) is not None:
            self.take_from(quotient, beside)
        return quotient

    def take_from(self, quotient: Value, remainder: Value) -> None:
        """Have a remainder made of the quotient that is there beside it."""
        remainder.inputs = [*remainder.inputs[:2], quotient]
        if remainder.bits == 64:
            remainder.cost = ((K.IMAD, 1.0), (K.IADD, 1.0), (K.MOV, 1.0))
        else:
            is_late = remainder.inputs[1].shape is Shape.CONSTANT
            remainder.cost = ((K.IMAD, 1.0), (K.IADD, 1.0))[: 2 - is_late]

    def is_settled(self, value: Value, modulus: int) -> bool:
        """Whether each copy of a loop that is unrolled in part knows the remainder of its counter."""
        terms, _, _ = linear(value)
        for term, coefficient in terms:
            level, step, start = term.place.level, term.step, self.known.starts.get(term, -1.0)
            if level is None or step is None or step.number is None or level.is_unrolled or start < 0:
                return False
            if step.number < 0 or coefficient * step.number * level.unroll % modulus:
                return False
        return bool(terms)

    def are_powers(self, constant: Value) -> bool:
        """Whether a constant is a power of two in each copy of a loop, or of a half, or one."""
        numbers = self.numbers(constant).values()
        known = (number and (abs(number) == 1 or _is_power_but_one(number)) for number in numbers)
        return constant.shape is Shape.CONSTANT and bool(numbers) and all(known)

    def is_power(self, value: Value) -> bool:
        """Whether a value is a constant power of two, another one in each copy of a loop perhaps."""
        is_known = value.shape is Shape.CONSTANT and value.number is not None
        return value in self.known.powers or (is_known and is_power(value.number or 0))


def _needs_copy_before(value: Value, level: LoopLevel) -> bool:
    """Whether a copy of an unrolled loop needs what the one before it made for a value."""
    stack, seen = [value], set[Value]()
    while stack and len(seen) < MOST_LOOKED_AT:
        one = stack.pop()
        if one in seen or one in level.separate or one.place.level is not level:
            continue
        if one.guards == (level.guard,):
            return True
        seen.add(one)
        stack += one.inputs
    return bool(stack)


def _beside(product: Value, factor: Value) -> Value | None:
    """What is multiplied by `factor` in a product; None where that is no factor."""
    if factor.number is not None:
        terms, offset, copies = linear(product)
        is_one = len(terms) == 1 and not offset and not copies
        return terms[0][0] if is_one and terms[0][1] == factor.number else None
    if product.shape is Shape.INT_PRODUCT and factor in product.inputs:
        return product.inputs[product.inputs[0] is factor]
    return None


_AT_FIRST = ((BinaryOp.GT, 0), (BinaryOp.LE, 0), (BinaryOp.GE, 1), (BinaryOp.LT, 1))
"""Comparisons with a distance from where a counter starts that tell its first number from all others."""


def _conversion(source: Type, target: Type) -> K:
    """What converts between numbers, one of them floating-point (SASS of nvcc 13)."""
    if 64 in (source.bits, target.bits):
        return K.WIDE_CONVERSION
    if source.kind is TypeKind.BOOL:
        return K.FSETP
    if target.kind is TypeKind.FLOAT and source.kind is TypeKind.FLOAT:
        return K.PACK if (source.bits, target.bits) == (32, 16) else K.CONVERSION
    is_word = source.bits == 32 or not source.signed  # a smaller one of no sign is one as it is
    return K.INT_TO_FLOAT if target.kind is TypeKind.FLOAT and target.bits == 32 and is_word else K.CONVERSION


def _by_multiplication(divisor: int, *, is_signed: bool) -> Cost:
    """Division of 32 bits by a constant that is no power of two: the high half of a product, and a shift.

    Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figures 4.2 and
    5.2; what each step becomes is the SASS of nvcc 13.
    """
    width = 31 if is_signed else 32
    shift = next(s for s in range(33) if -(1 << 32 + s) % divisor <= 1 << s + 32 - width)
    factor = -(-(1 << 32 + shift) // divisor)
    if (
        is_signed
    ):  # a factor beyond 31 bits is negative: the number itself is added, from a register of its own
        wraps = factor >= 1 << 31
        return ((K.IMAD, 1.0), (K.IADD, 1.0), *((K.SHF, 1.0),) * (shift > 0), *((K.MOV, 1.0),) * wraps)
    if factor < 1 << 32:
        return ((K.IMAD, 1.0), *((K.SHF, 1.0),) * (shift > 0))
    if divisor % 2 == 0:  # shifted before, too
        return ((K.IMAD, 1.0), (K.SHF, 2.0))
    return ((K.IMAD, 1.0), (K.IADD, 2.0), (K.SHF, 1.0))


def _by_number(divisor: int, key: str) -> Cost:
    """Division of 32 bits by a number; `key`: in the measured table."""
    if divisor <= 1:
        return ()
    if is_power(divisor):
        return measured(f"div_power.{key}") or ()
    return _by_multiplication(divisor, is_signed=key == "int32")


def _mean(costs: list[Cost]) -> Cost:
    """The mean of what copies of a loop cost."""
    total: dict[K, float] = {}
    for kind, number in (part for cost in costs for part in cost):
        total[kind] = total.get(kind, 0.0) + number
    return tuple((kind, number / len(costs)) for kind, number in total.items())


def _is_power_but_one(number: float) -> bool:
    """Whether a floating-point number is a power of two, or of a half, of either sign, but not one."""
    return math.frexp(abs(number))[0] == 0.5 and abs(number) != 1


def is_minimum(condition: Value) -> bool:
    """Whether `condition` is a comparison of two integers: IMNMX makes a choice between them with it."""
    return condition.cost == ((K.ISETP, 1.0),) and len(condition.inputs) == 2


def is_there(value: Value, began: int) -> bool:
    """Whether `value` is known before birth `began`: also a constant, and what a kernel is given."""
    return value.shape is Shape.CONSTANT or value.birth < began or value.place is AT_START


def is_updated(before: Value, value: Value, began: int) -> bool:
    """Whether an integer `value` is `before` with a variable from before `began` added or joined to it."""
    if value.shape is Shape.LOGIC:
        others = [one for one in value.inputs if one is not before]
        return len(others) == 1 and others[0].shape is not Shape.CONSTANT and is_there(others[0], began)
    if value.shape is not Shape.INT_SUM:
        return False
    terms, added = dict(linear(before)[0]), dict(linear(value)[0])
    if any(added.pop(term, 0) != number for term, number in terms.items()):
        return False
    return bool(added) and all(is_there(term, began) for term in added)


def counted_up(before: Value, value: Value) -> int:
    """1 where a word `value` is `before` and one, -1 where it is less one, else 0."""
    if value.shape is not Shape.INT_SUM or value.bits == 64:
        return 0
    (terms, offset, copies), (old, old_offset, old_copies) = linear(value), linear(before)
    is_alike = (dict(terms), copies) == (dict(old), old_copies)
    return offset - old_offset if is_alike and abs(offset - old_offset) == 1 else 0


def as_float(number: float) -> float | None:
    """The nearest number of 32 bits; None when there is none."""
    try:
        return unpack("f", pack("f", number))[0]
    except OverflowError:
        return None


def _is_float(number: float | None) -> bool:
    return number is not None and as_float(number) == number


def is_power(number: float) -> bool:
    """Whether a number is a power of two."""
    return number > 0 and number == int(number) and (int(number) & (int(number) - 1)) == 0


def _in_copies(op: BinaryOp, a: Numbers, b: Numbers, folds: _Folds = _FOLD) -> Numbers:
    """What `op` makes of two constants in each copy that has both."""
    found: Numbers = {}
    is_shift = op in (BinaryOp.SHL, BinaryOp.SHR)
    if op not in folds or len(a) * len(b) > MOST_NUMBERS:
        return found
    if is_shift and not all(0 <= places < MOST_PLACES for places in b.values()):
        return found
    for (of_a, x), (of_b, y) in product(a.items(), b.items()):
        both = of_a | of_b
        if len({counter for counter, _ in both}) == len(both):
            found[both] = folds[op](x, y)
    return found


def _scaled_constant(op: BinaryOp, a: Value, b: Value) -> tuple[Value, int] | None:
    """A constant that differs between copies, and the known one that it is multiplied by."""
    if op is BinaryOp.SHL and b.number is not None:
        return a, 1 << (int(b.number) & 63)
    if op is not BinaryOp.MUL:
        return None
    return next(((one, int(by.number)) for one, by in ((a, b), (b, a)) if by.number is not None), None)


def _by_birth(term: tuple[Value, int]) -> int:
    return term[0].birth
