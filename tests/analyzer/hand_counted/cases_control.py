"""Hand counts: straight line, loops, branches, launches. Each case names its sizes first."""

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
        fp32=2 * n,
        integer=4 + (2 * n + 1) + 4 * n + 2,
        control=n + 1,
        global_load=2 * n,
        global_store=1,
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


def boundary() -> Case:
    n, block = 1000, 256
    grid = ceil(n / block)

    def thread(m: Machine, t: Thread) -> None:
        x, y = m.array("global"), m.array("global")
        i = t.bx * t.block_x + t.tx
        if m.decide(i < n):
            y[i] = x[i] * x[i]

    inside = Fraction(n, grid * block)
    counts = Counts(fp32=inside, integer=3, control=1, global_load=2 * inside, global_store=inside)
    return Case("boundary.cu", "square", (grid, 1, 1), (block, 1, 1), counts, thread)


def divergent() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, tid = m.array("global"), t.tx
        if m.decide(tid % 2):
            x[tid] = x[tid] + 1.0
        else:
            x[tid] = (x[tid] - 1.0) * 3.0 / 7.0

    counts = Counts(fp32=Fraction(1 + 3, 2), integer=1, control=1, global_load=1, global_store=1)
    return Case("divergent.cu", "oddEven", (1, 1, 1), (128, 1, 1), counts, thread)


def short_circuit() -> Case:
    width, height = 20, 10
    columns, rows = 2 * 16, 3 * 4  # of threads

    def thread(m: Machine, t: Thread) -> None:
        x, y, stride = m.array("global"), m.array("global"), m.int(width)
        col = t.bx * t.block_x + t.tx
        row = t.by * t.block_y + t.ty
        if m.decide(m.both(col < stride, lambda: row < height)):
            y[row * stride + col] = x[row * stride + col]
        if m.decide(m.either(col.equals(0), lambda: row.equals(0))):
            y[col + row] = 0.0

    left = Fraction(width, columns)
    inside = left * Fraction(height, rows)
    border = Fraction(rows + columns - 1, rows * columns)
    counts = Counts(
        # indices, col < width, row < height, two subscripts; col == 0, row == 0, col + row
        integer=4 + 1 + left + 4 * inside + 1 + Fraction(columns - 1, columns) + border,
        control=4,
        global_load=inside,
        global_store=inside + border,
    )
    return Case("short_circuit.cu", "copyInside", (2, 3, 1), (16, 4, 1), counts, thread)


def conditional_operator() -> Case:
    n, block = 100, 128

    def thread(m: Machine, t: Thread) -> None:
        x, y, size, i = m.array("global"), m.array("global"), m.int(n), t.tx
        source = i if m.decide(i < size) else 2 * size - i - 1
        y[i] = -x[source] if m.decide(i >= size) else x[source]

    beyond = Fraction(block - n, block)
    counts = Counts(fp32=beyond, integer=2 + 3 * beyond, control=2, global_load=1, global_store=1)
    return Case("conditional_operator.cu", "mirror", (1, 1, 1), (block, 1, 1), counts, thread)


def switch_cases() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, tid = m.array("global"), t.tx
        v = x[tid]
        selector = tid % 8
        m.count("control")
        match selector.value:
            case 0:
                v += 1.0
            case 1:
                v *= v
                v -= 2.0
            case 2:
                v -= 2.0
            case 3 | 4:
                v = v / 3.0 + v
            case _:
                m.count("special")
        x[tid] = v

    counts = Counts(
        fp32=Fraction(1 + 2 + 1 + 2 + 2, 8),
        special=Fraction(3, 8),
        integer=1,
        control=1,
        global_load=1,
        global_store=1,
    )
    return Case("switch_cases.cu", "dispatch", (1, 1, 1), (64, 1, 1), counts, thread)


def ceil_division() -> Case:
    rows, cols, block = 300, 18, 128
    grid = ceil(rows / block)

    def thread(m: Machine, t: Thread) -> None:
        a, means, width = m.array("global"), m.array("global"), m.int(cols)
        row = t.bx * t.block_x + t.tx
        if m.decide(row < rows):
            total, start, four = m.f32(), m.int(0), m.int(4)
            while m.decide(start < (width + four - 1) // four):
                total += a[row * width + start * 4]
                start += 1
            means[row] = total

    trips = ceil(cols / 4)
    inside = Fraction(rows, grid * block)
    counts = Counts(
        fp32=inside * trips,
        # the helper costs 3 at each test; then the comparison, the step, the subscript
        integer=3 + inside * (4 * (trips + 1) + trips + 3 * trips),
        control=1 + inside * (trips + 1),
        global_load=inside * trips,
        global_store=inside,
    )
    return Case("ceil_division.cu", "rowMeans", (grid, 1, 1), (block, 1, 1), counts, thread)


def _repeat(grid: int, block: int, rounds: int) -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, r = m.array("global"), m.int(0)
        v = x[t.tx]
        while m.decide(r < rounds):
            v = v * 1.5 + 0.25
            r += 1
        x[t.tx] = v

    counts = Counts(
        fp32=2 * rounds, integer=2 * rounds + 1, control=rounds + 1, global_load=1, global_store=1
    )
    return Case("several_launches.cu", "repeat", (grid, 1, 1), (block, 1, 1), counts, thread)


def launch_api() -> Case:
    n, grid, block = 90, 3, 32

    def thread(m: Machine, t: Thread) -> None:
        x = m.array("global")
        i = t.bx * t.block_x + t.tx
        if m.decide(i < n):
            x[i] = 1.0

    counts = Counts(integer=3, control=1, global_store=Fraction(n, grid * block))
    return Case("launch_api.cu", "fill", (grid, 1, 1), (block, 1, 1), counts, thread)


def command_line_default() -> Case:
    n = 64

    def thread(m: Machine, t: Thread) -> None:
        a, sums, size, total, i = m.array("global"), m.array("global"), m.int(n), m.f32(), m.int(0)
        row = t.bx * t.block_x + t.tx
        while m.decide(i < size):
            total += a[row * size + i]
            i += 1
        sums[row] = total

    counts = Counts(fp32=n, integer=2 + (2 * n + 1) + 2 * n, control=n + 1, global_load=n, global_store=1)
    return Case("command_line_default.cu", "sumRows", (n // 32, 1, 1), (32, 1, 1), counts, thread)


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
    boundary(),
    divergent(),
    short_circuit(),
    conditional_operator(),
    switch_cases(),
    ceil_division(),
    _repeat(1, 64, 10),
    _repeat(2, 32, 100),
    launch_api(),
    command_line_default(),
)
