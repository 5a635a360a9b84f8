"""Sums, scalings and products of integers: linear forms, as addresses and index arithmetic need them."""

from __future__ import annotations

from wattslice.instructions.environment import Environment
from wattslice.instructions.expansions import measured
from wattslice.instructions.kinds import InstructionKind as K
from wattslice.instructions.value_graph import Cost, Shape, Value, deepest, linear
from wattslice.ir import Type


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
        return self.linear_value(
            terms, offset_a + sign * offset_b, (*varying_a, *varying_b), region, bits, is_wide=wide
        )

    def scaled(self, value: Value, factor: int, region: int, bits: int) -> Value:
        """value * factor as a linear form."""
        terms, offset, varying = linear(value)
        scaled = tuple((term, c * factor) for term, c in terms if factor)
        copies = tuple((copy, c * factor) for copy, c in varying if factor)
        wide = value.is_wide
        return self.linear_value(scaled, offset * factor, copies, region, bits, is_wide=wide)

    def linear_value(
        self,
        terms: tuple[tuple[Value, int], ...],
        offset: int,
        varying: tuple[tuple[Value, int], ...],
        region: int,
        bits: int,
        *,
        is_wide: bool = False,
    ) -> Value:
        """A linear form: constant, single term, or sum."""
        if not terms:
            level = deepest((copy for copy, _ in varying), self.stack)
            return Value(
                Shape.CONSTANT,
                level,
                region,
                number=None if varying else offset,
                bits=bits,
                copies=varying,
                is_uniform=True,
            )
        if len(terms) == 1 and terms[0][1] == 1 and offset == 0 and not varying:
            return terms[0][0]
        key = ("sum", frozenset(terms), offset, *varying, bits, is_wide)
        values = (*(term for term, _ in terms), *(copy for copy, _ in varying))
        return self.shared(
            key,
            region,
            values,
            shape=Shape.INT_SUM,
            inputs=[],
            terms=terms,
            offset=offset if not varying else offset or 1,
            copies=varying,
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
