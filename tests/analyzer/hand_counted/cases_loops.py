"""Hand counts: straight line and loops. Each case names its sizes first."""

from fractions import Fraction
from math import ceil

from .machine import Case, Counts, Kind, Machine, Thread


def straight_line() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, a = m.array("global"), m.array("global"), m.f32()
        i = t.bx * t.block_x + t.tx
        y[i] = a * x[i] + y[i]

    counts = Counts(fp32=2, integer=2, global_load=2, global_store=1)
    return Case("straight_line.cu", "saxpy", (8, 1, 1), (128, 1, 1), counts, thread)


def nested_loops() -> Case:
    rows, cols = 6, 10

    def thread(m: Machine, t: Thread) -> None:
        a, sums, total, i, width = m.array("global"), m.array("global"), m.f32(), m.int(0), m.int(cols)
        while m.decide(i < rows):
            j = m.int(0)
            while m.decide(j < width):
                total += a[i * width + j]
                j += 1
            i += 1
        sums[t.tx] = total

    counts = Counts(
        fp32=rows * cols,
        # outer: rows + 1 tests, rows steps; inner: cols + 1 tests, cols steps; subscript: 2
        integer=(2 * rows + 1) + rows * (2 * cols + 1) + 2 * rows * cols,
        control=(rows + 1) + rows * (cols + 1),
        global_load=rows * cols,
        global_store=1,
    )
    return Case("nested_loops.cu", "sumMatrix", (1, 1, 1), (32, 1, 1), counts, thread)


def grid_2d() -> Case:
    n = 32

    def thread(m: Machine, t: Thread) -> None:
        a, b, c, size, total, k = (
            m.array("global"),
            m.array("global"),
            m.array("global"),
            m.int(n),
            m.f32(),
            m.int(0),
        )
        row = t.by * t.block_y + t.ty
        col = t.bx * t.block_x + t.tx
        while m.decide(k < size):
            total += a[row * size + k] * b[k * size + col]
            k += 1
        c[row * size + col] = total

    counts = Counts(
        fp32=2 * n, integer=4 + (2 * n + 1) + 4 * n + 2, control=n + 1, global_load=2 * n, global_store=1
    )
    return Case("grid_2d.cu", "matMul", (n // 16, n // 8, 1), (16, 8, 1), counts, thread)


def grid_stride() -> Case:
    n, threads = 1000, 4 * 64

    def thread(m: Machine, t: Thread) -> None:
        x, s = m.array("global"), m.f32()
        i = t.bx * t.block_x + t.tx
        while m.decide(i < n):
            x[i] *= s
            i += t.block_x * t.grid_x

    trips = Fraction(n, threads)  # all threads together visit each of the n elements once
    counts = Counts(
        fp32=trips,
        integer=2 + (trips + 1) + 2 * trips,
        control=trips + 1,
        global_load=trips,
        global_store=trips,
    )
    return Case("grid_stride.cu", "scale", (4, 1, 1), (64, 1, 1), counts, thread)


def down_counting() -> Case:
    degree = 9

    def thread(m: Machine, t: Thread) -> None:
        coefficients, x, y, value, i = (
            m.array("global"),
            m.array("global"),
            m.array("global"),
            m.f32(),
            m.int(degree),
        )
        while m.decide(i >= 0):
            value = value * x[t.tx] + coefficients[i]
            i -= 1
        y[t.tx] = value

    trips = degree + 1
    counts = Counts(
        fp32=2 * trips, integer=2 * trips + 1, control=trips + 1, global_load=2 * trips, global_store=1
    )
    return Case("down_counting.cu", "horner", (2, 1, 1), (64, 1, 1), counts, thread)


def halving() -> Case:
    block, passes = 128, 7  # 2^7 threads

    def thread(m: Machine, t: Thread) -> None:
        x, sums, cache, tid = m.array("global"), m.array("global"), m.array("shared"), t.tx
        cache[tid] = x[t.bx * t.block_x + tid]
        m.count("barrier")
        s = t.block_x // 2
        while m.decide(s > 0):
            if m.decide(tid < s):
                cache[tid] += cache[tid + s]
            m.count("barrier")
            s >>= 1
        if m.decide(tid.equals(0)):
            sums[t.bx] = cache[0]

    adds = Fraction(block - 1, block)  # a tree over `block` leaves has block - 1 inner nodes
    once = Fraction(1, block)
    counts = Counts(
        fp32=adds,
        # block index 2, s 1, tests, tid < s, s >>= 1, tid + s, tid == 0
        integer=2 + 1 + (passes + 1) + passes + passes + adds + 1,
        control=(passes + 1) + passes + 1,
        global_load=1,
        global_store=once,
        shared_load=2 * adds + once,
        shared_store=1 + adds,
        barrier=1 + passes,
    )
    return Case("halving.cu", "reduce", (3, 1, 1), (block, 1, 1), counts, thread)


def doubling() -> Case:
    block, passes = 64, 6  # 2^6 threads

    def thread(m: Machine, t: Thread) -> None:
        x, tid, s = m.array("global"), t.tx, m.int(1)
        while m.decide(s < t.block_x):
            if m.decide((tid % (2 * s)).equals(0)):
                x[tid] += x[tid + s]
            m.count("barrier")
            s *= 2

    adds = Fraction(block - 1, block)
    counts = Counts(
        fp32=adds,
        integer=(passes + 1) + passes + 3 * passes + adds,
        control=(passes + 1) + passes,
        global_load=2 * adds,
        global_store=adds,
        barrier=passes,
    )
    return Case("doubling.cu", "reduceInterleaved", (1, 1, 1), (block, 1, 1), counts, thread)


def while_loop() -> Case:
    word = 1000

    def thread(m: Machine, t: Thread) -> None:
        out, rest, bits = m.array("global", Kind.INT), m.int(word), m.int(0)
        while m.decide(not rest.equals(0)):
            bits += rest & 1
            rest >>= 1
        out[t.tx] = bits

    trips = word.bit_length()
    counts = Counts(integer=(trips + 1) + 3 * trips, control=trips + 1, global_store=1)
    return Case("while_loop.cu", "countBits", (1, 1, 1), (32, 1, 1), counts, thread)


def do_while() -> Case:
    n, step = 50, 8

    def thread(m: Machine, t: Thread) -> None:
        x, out, total, i = m.array("global"), m.array("global"), m.f32(), m.int(0)
        while True:
            total += x[i]
            i += step
            if not m.decide(i < n):
                break
        out[t.tx] = total

    trips = ceil(n / step)
    counts = Counts(fp32=trips, integer=2 * trips, control=trips, global_load=trips, global_store=1)
    return Case("do_while.cu", "sumEvery", (1, 1, 1), (32, 1, 1), counts, thread)


def triangular() -> Case:
    n = 12

    def thread(m: Machine, t: Thread) -> None:
        a, out, size, total, i = m.array("global", Kind.FP64), m.array("global"), m.int(n), m.f64(), m.int(0)
        while m.decide(i < size):
            j = m.int(0)
            while m.decide(j < i):
                total += a[i * size + j]
                j += 1
            i += 1
        out[t.tx] = total

    inner = n * (n - 1) // 2
    counts = Counts(
        fp64=inner,
        integer=(2 * n + 1) + (2 * inner + n) + 2 * inner,
        control=(n + 1) + (inner + n),
        global_load=inner,
        global_store=1,
    )
    return Case("triangular.cu", "sumLower", (1, 1, 1), (32, 1, 1), counts, thread)


def triangular_thread() -> Case:
    block = 96

    def thread(m: Machine, t: Thread) -> None:
        x, out, total, i = m.array("global", Kind.INT), m.array("global"), m.int(0), m.int(0)
        while m.decide(i <= t.tx):
            total += x[i]
            i += 1
        out[t.tx] = total

    trips = Fraction(block + 1, 2)  # the mean of 1 .. block
    counts = Counts(integer=3 * trips + 1, control=trips + 1, global_load=trips, global_store=1)
    return Case("triangular_thread.cu", "prefix", (1, 1, 1), (block, 1, 1), counts, thread)


def break_known() -> Case:
    n, limit = 1000, 150

    def thread(m: Machine, t: Thread) -> None:
        x, out, total, i = m.array("global"), m.array("global"), m.f32(), m.int(0)
        while m.decide(i < n):
            if m.decide(i * i > limit):
                break
            total += x[i]
            i += 1
        out[t.tx] = total

    whole = 13  # 0² .. 12² do not exceed 150, 13² does
    counts = Counts(
        fp32=whole,
        integer=(whole + 1) + 2 * (whole + 1) + whole,
        control=2 * (whole + 1),
        global_load=whole,
        global_store=1,
    )
    return Case("break_known.cu", "sumUntilSquare", (1, 1, 1), (32, 1, 1), counts, thread)


def continue_known() -> Case:
    n = 20

    def thread(m: Machine, t: Thread) -> None:
        x, out, total, i = m.array("global"), m.array("global"), m.f32(), m.int(0)
        while m.decide(i < n):
            if not m.decide((i % 3).equals(0)):
                total += x[i]
            i += 1
        out[t.tx] = total

    kept = n - ceil(n / 3)
    counts = Counts(
        fp32=kept, integer=(2 * n + 1) + 2 * n, control=(n + 1) + n, global_load=kept, global_store=1
    )
    return Case("continue_known.cu", "sumNotThird", (1, 1, 1), (32, 1, 1), counts, thread)


CASES = (
    straight_line(),
    nested_loops(),
    grid_2d(),
    grid_stride(),
    down_counting(),
    halving(),
    doubling(),
    while_loop(),
    do_while(),
    triangular(),
    triangular_thread(),
    break_known(),
    continue_known(),
)
