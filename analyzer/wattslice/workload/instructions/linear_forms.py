"""Sums, scalings and products of integers: linear forms, as addresses and index arithmetic need them."""

from __future__ import annotations

from wattslice.ir import Type
from wattslice.workload.instructions.environment import Environment
from wattslice.workload.instructions.expansions import measured
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.value_graph import Cost, Shape, Value, deepest, linear, varying

MOST_TERMS = 8
"""Terms of a sum above which its operands are no longer looked into: sums of sums would grow without end."""


class LinearForms(Environment):
    """Integer arithmetic that folds into linear forms."""

    def sum(self, a: Value, b: Value, sign: int, region: int, bits: int, *, is_wide: bool = False) -> Value:
        """a + sign*b as a linear form."""
        terms_a, offset_a, varying_a = linear(a)
        terms_b, offset_b, varying_b = linear(b)
        total = dict(terms_a)
        wide = a.is_wide or b.is_wide or is_wide
        for term, coefficient in terms_b:
            total[term] = total.get(term, 0) + sign * coefficient
        terms = tuple((term, c) for term, c in total.items() if c)
        if len(terms) > MOST_TERMS and not (a.is_pointer or b.is_pointer):
            return self.linear_value(((a, 1), (b, sign)), 0, (), region, bits, is_wide=wide)
        return self.linear_value(
            terms, offset_a + sign * offset_b, (*varying_a, *varying_b), region, bits, is_wide=wide
        )

    def scaled(self, value: Value, factor: int, region: int, bits: int) -> Value:
        """value * factor as a linear form."""
        terms, offset, varied = linear(value)
        scaled = tuple((term, c * factor) for term, c in terms if factor)
        copies = tuple((copy, c * factor) for copy, c in varied if factor)
        wide = value.is_wide
        return self.linear_value(scaled, offset * factor, copies, region, bits, is_wide=wide)

    def linear_value(
        self,
        terms: tuple[tuple[Value, int], ...],
        offset: int,
        copies: tuple[tuple[Value, int], ...],
        region: int,
        bits: int,
        *,
        is_wide: bool = False,
    ) -> Value:
        """A linear form: constant, single term, or sum."""
        if not terms:
            among = [copy for copy, _ in copies]
            return Value(
                Shape.CONSTANT,
                deepest(among, self.stack),
                region,
                number=None if copies else offset,
                bits=bits,
                copies=copies,
                is_uniform=True,
                varies=varying(among),
            )
        if len(terms) == 1 and terms[0][1] == 1 and offset == 0 and not copies:
            return terms[0][0]
        key = ("sum", frozenset(terms), offset, *copies, bits, is_wide)
        values = (*(term for term, _ in terms), *(copy for copy, _ in copies))
        return self.shared(
            key,
            region,
            values,
            shape=Shape.INT_SUM,
            inputs=[],
            terms=terms,
            offset=offset if not copies else offset or 1,
            copies=copies,
            is_wide=is_wide,
            bits=bits,
            is_pointer=any(term.is_pointer for term, _ in terms),
        )

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
                    if _depth(moving) > max(_depth(fixed), _depth(rest)):
                        return self.product(moving, self.product(fixed, rest, type_, region), type_, region)
        cost: Cost = ((K.IMAD, 1.0),)
        if type_.bits == 64:
            cost = measured("mul.int64") or cost
        value = self.shared(
            ("product", frozenset((a, b))) if a is not b else ("square", a),
            region,
            (a, b),
            shape=Shape.INT_PRODUCT,
            cost=cost,
            bits=type_.bits,
        )
        for moving, fixed in ((a, b), (b, a)):
            if moving.step is not None and deepest((fixed,), self.stack) is not moving.level:
                value.step = fixed
        return value


def _depth(value: Value) -> int:
    return value.level.depth if value.level is not None else 0
