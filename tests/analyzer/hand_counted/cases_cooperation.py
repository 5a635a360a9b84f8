"""Hand counts: atomics, warps, groups, tensor cores."""

from fractions import Fraction
from math import log2

from .machine import Case, Counts, Kind, Machine, Thread


def atomics() -> Case:
    n, block = 300, 64

    def thread(m: Machine, t: Thread) -> None:
        data, local, tid = m.array("global", Kind.INT), m.array("shared", Kind.INT), t.tx
        local[tid] = 0
        m.count("barrier")
        i = tid
        while m.decide(i < n):
            _ = data[i] >> 2
            m.count("atomic")
            i += t.block_x
        m.count("barrier")
        _ = local[tid]
        m.count("atomic")
        m.count("atomic")

    trips = Fraction(n, block)  # each block visits each element once
    counts = Counts(
        integer=(2 * trips + 1) + trips,
        control=trips + 1,
        global_load=trips,
        shared_load=1,
        shared_store=1,
        atomic=trips + 2,
        barrier=2,
    )
    return Case("atomics.cu", "histogram", (2, 1, 1), (block, 1, 1), counts, thread)


def warp_shuffle() -> Case:
    block, warp = 256, 32

    def thread(m: Machine, t: Thread) -> None:
        x, sums, positive, tid = m.array("global"), m.array("global"), m.array("global", Kind.INT), t.tx
        v = x[tid]
        _ = v > 0.0
        m.count("integer")  # ballot
        offset = m.int(warp) // 2
        while m.decide(offset > 0):
            m.count("integer")  # shuffle
            v += v
            offset //= 2
        if m.decide((tid & 31).equals(0)):
            sums[tid >> 5] = v
            m.count("integer")  # popc
            positive[tid >> 5] = 1

    passes = int(log2(warp))
    leader = Fraction(1, warp)
    counts = Counts(
        fp32=1 + passes,
        # ballot, warpSize / 2, tests, halvings, shuffles, mask and comparison; leader: two shifts, popc
        integer=1 + 1 + (passes + 1) + passes + passes + 2 + 3 * leader,
        control=(passes + 1) + 1,
        global_load=1,
        global_store=2 * leader,
    )
    return Case("warp_shuffle.cu", "warpSums", (1, 1, 1), (block, 1, 1), counts, thread)


def cooperative_groups() -> Case:
    tile = 16

    def thread(m: Machine, t: Thread) -> None:
        x, sums = m.array("global", Kind.INT), m.array("global", Kind.INT)
        cache, rank = m.array("shared", Kind.INT), t.tx
        cache[rank] = x[rank]
        m.count("barrier")
        v = cache[rank]
        offset = m.int(tile // 2)
        while m.decide(offset > 0):
            m.count("integer")  # shuffle
            v += v
            offset //= 2
        m.count("barrier")
        rank_in_tile = m.int(int(rank.value) % tile)
        if m.decide(rank_in_tile.equals(0)):
            sums[rank // tile] = v

    passes = int(log2(tile))
    leader = Fraction(1, tile)
    counts = Counts(
        integer=(2 * passes + 1) + 2 * passes + 1 + leader,
        control=(passes + 1) + 1,
        global_load=1,
        global_store=leader,
        shared_load=1,
        shared_store=1,
        barrier=2,
    )
    return Case("cooperative_groups.cu", "tileSums", (1, 1, 1), (128, 1, 1), counts, thread)


def wmma() -> Case:
    k = 64

    def thread(m: Machine, t: Thread) -> None:
        a, b, c, i = m.array("global", Kind.FP16), m.array("global", Kind.FP16), m.array("global"), m.int(0)
        while m.decide(i < k):
            a[m.int(0) + i]
            b[m.int(0) + i]
            m.count("tensor")
            i += 16
        c[0] = 0.0

    trips = k // 16
    counts = Counts(
        integer=(2 * trips + 1) + 2 * trips,
        tensor=trips,
        control=trips + 1,
        global_load=2 * trips,
        global_store=1,
    )
    return Case("wmma.cu", "tensorProduct", (1, 1, 1), (32, 1, 1), counts, thread)


CASES = (atomics(), warp_shuffle(), cooperative_groups(), wmma())
