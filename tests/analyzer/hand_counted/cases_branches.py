"""Hand counts: branches, and the ways in which a launch is written."""

from fractions import Fraction
from math import ceil

from .machine import Case, Counts, Machine, Thread


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
