"""Hand counts: templates, device functions, macros, folding, types, PTX."""

from fractions import Fraction

from .machine import Case, Counts, Kind, Machine, Number, Thread


def template_type(kind: Kind, grid: int, block: int) -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, a = m.array("global", kind), m.array("global", kind), m.int(2).cast(kind)
        i = t.bx * t.block_x + t.tx
        y[i] += a * x[i]

    counts = Counts(
        fp32=2 if kind is Kind.FP32 else 0,
        fp64=2 if kind is Kind.FP64 else 0,
        integer=2,
        global_load=2,
        global_store=1,
    )
    return Case("template_type.cu", "axpy", (grid, 1, 1), (block, 1, 1), counts, thread)


def template_value() -> Case:
    taps = 5

    def thread(m: Machine, t: Thread) -> None:
        x, y, i, total, k = m.array("global"), m.array("global"), t.tx, m.f32(), m.int(0)
        while m.decide(k < 2 * taps + 1):
            total += x[i + k]
            k += 1
        y[i] = total / taps

    trips = 2 * taps + 1
    counts = Counts(
        fp32=trips + 1, integer=(2 * trips + 1) + trips, control=trips + 1, global_load=trips, global_store=1
    )
    return Case("template_value.cu", "movingSum", (1, 1, 1), (64, 1, 1), counts, thread)


def early_return() -> Case:
    block, used, margin = 128, 96, 16

    def shrink(m: Machine, value: Number, i: Number) -> Number | float:
        if m.decide(i < margin):
            return 0.0
        return value * 0.5 - 1.0

    def thread(m: Machine, t: Thread) -> None:
        x, y, i = m.array("global"), m.array("global"), t.tx
        if m.decide(i >= used):
            return
        y[i] = shrink(m, x[i], i)

    alive = Fraction(used, block)
    counts = Counts(
        fp32=2 * Fraction(used - margin, block),
        integer=1 + alive,
        control=1 + alive,
        global_load=alive,
        global_store=alive,
    )
    return Case("early_return.cu", "shrinkAll", (2, 1, 1), (block, 1, 1), counts, thread)


def recursion() -> Case:
    depth = 5

    def factorial(m: Machine, k: Number) -> Number:
        if m.decide(k <= 1):
            return m.int(1)
        return k * factorial(m, k - 1)

    def thread(m: Machine, t: Thread) -> None:
        out = m.array("global", Kind.INT)
        out[t.tx] = factorial(m, m.int(depth))

    counts = Counts(integer=depth + 2 * (depth - 1), control=depth, global_store=1)
    return Case("recursion.cu", "factorials", (1, 1, 1), (32, 1, 1), counts, thread)


def half_scalar() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, a, i = m.array("global", Kind.FP16), m.array("global", Kind.FP16), m.f16(), t.tx
        v = x[i]
        v = v * a
        v = v + a
        v = v * a + x[i]
        y[i] = v

    counts = Counts(fp16=1 + 1 + 2, global_load=2, global_store=1)
    return Case("half_scalar.cu", "halfMath", (1, 1, 1), (64, 1, 1), counts, thread)


def half2_vector() -> Case:
    n, lanes = 7, 2

    def thread(m: Machine, t: Thread) -> None:
        x, y, i, k = m.array("global", Kind.FP16), m.array("global", Kind.FP16), t.tx, m.int(0)
        total = [m.f16()] * lanes
        while m.decide(k < n):
            a, b = x[i], x[k]
            total = [a * b + lane for lane in total]
            k += 1
        c = x[i]
        y[i] = [lane * (lane + c) for lane in total]

    counts = Counts(
        fp16=2 * lanes * n + 2 * lanes,
        integer=2 * n + 1,
        control=n + 1,
        global_load=2 * n + 1,
        global_store=1,
    )
    return Case("half2_vector.cu", "half2Math", (1, 1, 1), (32, 1, 1), counts, thread)


def inline_ptx() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, i = m.array("global"), m.array("global"), t.tx
        a = x[m.int(0) + i]  # ld.global
        b = a * a + a  # fma
        a = b + b  # add
        a = a * b  # mul
        m.count("barrier")  # bar.sync
        y[i] = a

    counts = Counts(fp32=2 + 1 + 1, integer=1, global_load=1, global_store=1, barrier=1)
    return Case("inline_ptx.cu", "ptxMath", (1, 1, 1), (64, 1, 1), counts, thread)


def ptx_loop() -> Case:
    n = 12

    def thread(m: Machine, t: Thread) -> None:
        x, y, k, total = m.array("global"), m.array("global"), m.int(0), m.f32()
        while m.decide(k < n):
            total += x[(m.int(0) + k * 64) + t.tx]
            k += 1
        y[m.int(0) + t.tx] = total  # one access of two floats

    counts = Counts(fp32=n, integer=(2 * n + 1) + 3 * n + 1, control=n + 1, global_load=n, global_store=1)
    return Case("ptx_loop.cu", "ptxLoop", (2, 1, 1), (64, 1, 1), counts, thread)


def macros() -> Case:
    width = 16
    trips = width * width // 32

    def thread(m: Machine, t: Thread) -> None:
        x, y, tid, k = m.array("global"), m.array("global"), t.tx, m.int(0)
        while m.decide(k < trips):
            y[k * width + tid] = (x[tid] - x[k]) * (x[tid] - x[k]) * float(width * width)
            k += 1

    counts = Counts(
        fp32=4 * trips,  # the macro's argument is evaluated twice
        integer=(2 * trips + 1) + 2 * trips,
        control=trips + 1,
        global_load=4 * trips,
        global_store=trips,
    )
    return Case("macros.cu", "distances", (1, 1, 1), (width, 1, 1), counts, thread)


def unrolled() -> Case:
    n = 8

    def thread(m: Machine, t: Thread) -> None:
        a, b, out, i, total, k = (
            m.array("global"),
            m.array("global"),
            m.array("global"),
            t.tx,
            m.f32(),
            m.int(0),
        )
        while m.decide(k < n):
            total = a[i * 8 + k] * b[k] + total
            k += 1
        out[i] = total

    counts = Counts(fp32=2 * n, integer=(2 * n + 1) + 2 * n, control=n + 1, global_load=2 * n, global_store=1)
    return Case("unrolled.cu", "dot8", (3, 1, 1), (32, 1, 1), counts, thread)


def pointer_walk() -> Case:
    n = 6

    def thread(m: Machine, t: Thread) -> None:
        source, target, size = m.array("global"), m.array("global"), m.int(n)
        p = m.int(0) + t.tx * size
        q = m.int(0) + (t.tx + 1) * size
        end = p + size
        while m.decide(p < end):
            q -= 1
            value = source[p]
            p += 1
            target[q] = value

    counts = Counts(integer=2 + 3 + 1 + (n + 1) + 2 * n, control=n + 1, global_load=n, global_store=n)
    return Case("pointer_walk.cu", "copyBackwards", (1, 1, 1), (32, 1, 1), counts, thread)


def special_functions() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, z, i = m.array("global"), m.array("global"), m.array("global", Kind.FP64), t.tx

        def special(value: Number) -> Number:
            m.count("special")
            return value

        def two_operands(a: Number, b: Number | float) -> Number:  # fminf, fmaxf
            return a + b

        v = -x[i]  # fabsf
        v = two_operands(special(v), 100.0) / (1.0 + special(-v))
        v = special(v) + special(v) + (v * v + v)
        y[i] = two_operands(v, special(v))
        wide = v.cast(Kind.FP64)
        z[i] = special(wide) * 2.0 + (wide * 3.0 + 1.0)

    counts = Counts(fp32=1 + 4 + 4 + 1, fp64=1 + 2 + 1, special=2 + 2 + 1 + 1, global_load=1, global_store=2)
    return Case("special_functions.cu", "functions", (1, 1, 1), (64, 1, 1), counts, thread)


def integer_widths() -> Case:
    n = 5

    def thread(m: Machine, t: Thread) -> None:
        data, out, size, k = m.array("global", Kind.INT), m.array("global", Kind.INT), m.int(n), m.int(0)
        i = t.bx * t.block_x + t.tx
        state = m.int(14695981039346656037)
        while m.decide(k < size):
            state = state ^ data[i * size + k]
            state = state * 1099511628211
            state = (state << 13) | (state >> 51)
            k += 1
        if m.decide(not (i & 1).value):
            state = ~state
        m.count("integer", 2)  # abs, min
        out[i] = -i

    counts = Counts(
        integer=2 + (2 * n + 1) + (3 + 1 + 3) * n + 1 + Fraction(1, 2) + 3,
        control=(n + 1) + 1,
        global_load=n,
        global_store=1,
    )
    return Case("integer_widths.cu", "hash", (2, 1, 1), (32, 1, 1), counts, thread)


def constant_folding() -> Case:
    block, first, stride, limit = 32, 4 * 12 + (12 * 4 - 1), 64, 1000

    def thread(m: Machine, t: Thread) -> None:
        x = m.array("global")
        i = t.tx + first
        x[i] = x[i] * 6.0 + -1.0
        while True:
            i += stride
            if m.decide(i > limit):
                break
            x[i] = 1.0

    # i reaches first + tid + stride * pass; 10 of 32 threads need 15 passes to exceed 1000, 22 need 14
    passes = 14 + Fraction(10, block)
    counts = Counts(
        fp32=2, integer=1 + 2 * passes, control=passes, global_load=1, global_store=1 + (passes - 1)
    )
    return Case("constant_folding.cu", "folded", (1, 1, 1), (block, 1, 1), counts, thread)


def mixed_types() -> Case:
    n, step = 20, 3

    def thread(m: Machine, t: Thread) -> None:
        x, y, i, total, k = m.array("global"), m.array("global", Kind.FP64), t.tx, m.f64(), m.int(0)
        while m.decide(k < n):
            total += x[k] * 2.0
            total = total - x[k].cast(Kind.FP64) * 0.5
            if m.decide(k.cast(Kind.FP32) < 4.5):
                total += 1.0
            k += step
        y[i] = i * total

    trips, below = 7, 2  # k = 0, 3, .. 18; of these 0 and 3 are below 4.5
    counts = Counts(
        fp32=2 * trips,  # x[k] * 2.0f, k < 4.5f
        fp64=3 * trips + below + 1,
        integer=2 * trips + 1,
        control=(trips + 1) + trips,
        global_load=2 * trips,
        global_store=1,
    )
    return Case("mixed_types.cu", "mixed", (1, 1, 1), (32, 1, 1), counts, thread)


CASES = (
    template_type(Kind.FP32, 4, 64),
    template_type(Kind.FP64, 2, 32),
    template_value(),
    early_return(),
    recursion(),
    half_scalar(),
    half2_vector(),
    inline_ptx(),
    ptx_loop(),
    macros(),
    unrolled(),
    pointer_walk(),
    special_functions(),
    integer_widths(),
    constant_folding(),
    mixed_types(),
)
