"""Hand counts: memory spaces, vectors, structs, unions, references."""

from fractions import Fraction

from .machine import Case, Counts, Kind, Machine, Thread


def static_shared() -> Case:
    block, radius = 64, 2

    def thread(m: Machine, t: Thread) -> None:
        x, y, tile, total = m.array("global"), m.array("global"), m.array("shared"), m.f32()
        i = t.bx * block + t.tx
        at = t.tx + radius
        tile[at] = x[i]
        if m.decide(t.tx < radius):
            tile[at - radius] = x[i - radius]
            tile[at + block] = x[i + block]
        m.count("barrier")
        k = m.int(-radius)
        while m.decide(k <= radius):
            total += tile[at + k]
            k += 1
        y[i] = total

    trips = 2 * radius + 1
    halo = Fraction(radius, block)
    counts = Counts(
        fp32=trips,
        integer=3 + 1 + 4 * halo + (2 * trips + 1) + trips,
        control=1 + trips + 1,
        global_load=1 + 2 * halo,
        global_store=1,
        shared_load=trips,
        shared_store=1 + 2 * halo,
        barrier=1,
    )
    return Case("static_shared.cu", "stencil", (5, 1, 1), (block, 1, 1), counts, thread)


def extern_shared() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, keys, tid = m.array("global"), m.array("global", Kind.INT), t.tx
        values, order = m.array("shared"), m.array("shared", Kind.INT)
        _ = m.int(0) + t.block_x  # values + blockDim.x
        values[tid] = x[tid]
        order[tid] = keys[tid]
        m.count("barrier")
        other = t.block_x - 1 - tid
        x[tid] = values[other]
        keys[tid] = order[other]

    counts = Counts(integer=3, global_load=2, global_store=2, shared_load=2, shared_store=2, barrier=1)
    return Case("extern_shared.cu", "swapHalves", (1, 1, 1), (128, 1, 1), counts, thread)


def constant_array() -> Case:
    taps = 9

    def thread(m: Machine, t: Thread) -> None:
        x, y, weights, bias, k = (
            m.array("global"),
            m.array("global"),
            m.array("constant"),
            m.array("constant"),
            m.int(0),
        )
        i = t.bx * t.block_x + t.tx
        total = bias[0]
        while m.decide(k < taps):
            total += weights[k] * x[i + k]
            k += 1
        y[i] = total * bias[0]

    counts = Counts(
        fp32=2 * taps + 1,
        integer=2 + (2 * taps + 1) + taps,
        control=taps + 1,
        global_load=taps,
        global_store=1,
        constant_load=taps + 2,
    )
    return Case("constant_array.cu", "convolve", (2, 1, 1), (64, 1, 1), counts, thread)


def texture_object() -> Case:
    width = 32

    def thread(m: Machine, t: Thread) -> None:
        image, out, total, dy = m.array("texture"), m.array("global"), m.f32(), m.int(-1)
        x = t.bx * t.block_x + t.tx
        y = t.by * t.block_y + t.ty
        while m.decide(dy <= 1):
            dx = m.int(-1)
            while m.decide(dx <= 1):
                _ = x + dx, y + dy
                total += image[0]
                dx += 1
            dy += 1
        out[y * m.int(width) + x] = total / 9.0

    side = 3
    counts = Counts(
        fp32=side**2 + 1,
        integer=4 + (2 * side + 1) + side * (2 * side + 1) + 2 * side**2 + 2,
        control=(side + 1) + side * (side + 1),
        global_store=1,
        texture_load=side**2,
    )
    return Case("texture_object.cu", "blur", (2, 4, 1), (16, 8, 1), counts, thread)


def vector_types() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, y, s = m.array("global"), m.array("global"), m.f32()
        i = t.bx * t.block_x + t.tx
        v = x[i]
        v_x = v * s
        _ = v * s
        _ = v * s
        _ = v * s + v_x
        y[i] = v
        y[i] = 0.0

    counts = Counts(fp32=3 + 2, integer=2, global_load=1, global_store=2)
    return Case("vector_types.cu", "scale4", (2, 1, 1), (64, 1, 1), counts, thread)


def vector_operators() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        position, velocity, energy, dt = m.array("global"), m.array("global"), m.array("global"), m.f32()
        i = t.tx
        v = velocity[i]
        p = position[i]
        for _ in range(3):
            _ = dt * v
        position[i] = [p + v for _ in range(3)]
        energy[i] = 0.5 * (v * v + v * v + v * v)

    counts = Counts(fp32=3 + 3 + 5 + 1, global_load=2, global_store=2)
    return Case("vector_operators.cu", "move", (4, 1, 1), (32, 1, 1), counts, thread)


def struct_members() -> Case:
    n, threads = 100, 2 * 64

    def thread(m: Machine, t: Thread) -> None:
        position, velocity = m.array("global"), m.array("global")
        mass, alive = m.array("global"), m.array("global", Kind.INT)
        dt = m.f32()
        i = t.bx * t.block_x + t.tx
        if m.decide(i >= n):
            return
        p = m.int(0) + i
        for _ in "xy":
            position[p] += dt * velocity[p]
        alive[i] = mass[p] > 0.0

    inside = Fraction(n, threads)
    counts = Counts(
        fp32=5 * inside, integer=3 + inside, control=1, global_load=5 * inside, global_store=3 * inside
    )
    return Case("struct_members.cu", "step", (2, 1, 1), (64, 1, 1), counts, thread)


def struct_copy() -> Case:
    members = 3  # low, high, color (a float4 is one access)

    def thread(m: Machine, t: Thread) -> None:
        source, target, by = m.array("global"), m.array("global"), m.f32()
        low, high, color = source[t.tx], source[t.tx], source[t.tx]
        for value in (low - by, high + by, color):
            target[t.tx] = value

    counts = Counts(fp32=2, global_load=members, global_store=members)
    return Case("struct_copy.cu", "widen", (1, 1, 1), (32, 1, 1), counts, thread)


def union_bits() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        as_float, as_word, i = m.array("global"), m.array("global", Kind.INT), t.tx
        local = as_float[i]
        local_word = local.cast(Kind.INT) ^ 0x80000000
        as_word[i] = local_word
        local = local_word.cast(Kind.FP32) + 1.0
        as_float[i] *= local

    counts = Counts(fp32=2, integer=1, global_load=2, global_store=2)
    return Case("union_bits.cu", "flipSign", (1, 1, 1), (64, 1, 1), counts, thread)


def read_only() -> Case:
    def thread(m: Machine, t: Thread) -> None:
        x, index, y = m.array("global"), m.array("global", Kind.INT), m.array("global")
        i = t.bx * t.block_x + t.tx
        at = index[i]
        y[i] = x[m.int(0) + at] - x[at + 1]

    counts = Counts(fp32=1, integer=2 + 1 + 1, global_load=3, global_store=1)
    return Case("read_only.cu", "gather", (4, 1, 1), (32, 1, 1), counts, thread)


def local_array() -> Case:
    trips, block = 12, 32

    def thread(m: Machine, t: Thread) -> None:
        x, y, calls, i, k = m.array("global"), m.array("global"), m.array("global", Kind.INT), t.tx, m.int(0)
        last = [m.f32()] * 4
        while m.decide(k < trips):
            last[int((k % 4).value)] = x[i + k]
            k += 1
        y[i] += last[0] + last[1] + last[2] + last[3]
        last[0] += 1.0
        if m.decide(i.equals(0)):
            calls[0] = calls[0] + 1

    first = Fraction(1, block)
    counts = Counts(
        fp32=3 + 1 + 1,
        integer=(2 * trips + 1) + 2 * trips + 1 + first,
        control=(trips + 1) + 1,
        global_load=trips + 1 + first,
        global_store=1 + first,
    )
    return Case("local_array.cu", "window", (1, 1, 1), (block, 1, 1), counts, thread)


CASES = (
    static_shared(),
    extern_shared(),
    constant_array(),
    texture_object(),
    vector_types(),
    vector_operators(),
    struct_members(),
    struct_copy(),
    union_bits(),
    read_only(),
    local_array(),
)
