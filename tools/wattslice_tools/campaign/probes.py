"""Microbenchmarks (probes.cu): what one launch of each does, and what its time and watts say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.program import Choice
from wattslice_corpora.records import MeasuredRow, sha256

SOURCE = Path(__file__).with_name("probes.cu")
DATASET = "probes"

_THREADS = 1024
_LOAD_BYTES = 16
_DRAM_BYTES = 1 << 30
_STEPS = 20_000
_STEPS_NEAR = 200_000
"""In L1 and shared memory: a launch begins with their lines or words missing, and takes time to fill them."""


class Probe(Struct, frozen=True):
    """`kernel` as the program launches it, one launch with `amount` on `blocks` blocks.

    `units`: of `unit` that one launch does. `latency`: the units wait for each other.
    """

    name: str
    kernel: str
    amount: int
    blocks: int
    unit: str
    units: float
    latency: bool = False

    def configuration(self, board: str) -> Configuration:
        """How it is measured."""
        return Configuration(
            name=f"probe-{self.name}",
            version=f"{sha256(SOURCE)[:12]} {self.amount} {self.blocks}",
            dataset=f"{DATASET}-{board}",
            benchmark=self.name,
            source=SOURCE,
            choice=Choice(self.kernel),
            arguments=(_program_name(self.name), str(self.amount), str(self.blocks)),
        )


class ProbeRow(Struct, frozen=True):
    """A line of ``probes.csv``: `time_s` and `energy_above_idle_j` are of one unit. None: not known.

    `cycles`: of one unit that waits for the one before; `per_s`: units in a second, where they do not wait.
    """

    name: str
    unit: str
    time_s: float | None
    cycles: float | None
    per_s: float | None
    power_w: float | None
    energy_above_idle_j: float | None
    reason: str


def probes(sm_count: int) -> tuple[Probe, ...]:
    """All of them, most valuable first."""
    full = 2 * sm_count
    threads = full * _THREADS
    stream = _DRAM_BYTES // (threads * _LOAD_BYTES) // 4 * 4

    def reading(name: str, kernel: str, loads: int) -> Probe:
        return Probe(name, kernel, loads, full, "byte", float(loads) * threads * _LOAD_BYTES)

    def waiting(name: str, steps: int = _STEPS) -> Probe:
        return Probe(name, "chase", steps, 1, "load", float(steps), latency=True)

    def blocks(name: str, block: int, count: int) -> Probe:
        return Probe(name, "empty", block, count, "block", float(count))

    atomics = 2000
    return (
        reading("read_dram", "readAll", stream),
        reading("read_l2", "readAll", 4000),
        reading("read_l1", "readAll", 8000),
        Probe("read_shared", "readShared", 16000, full, "byte", 16000.0 * threads * 4),
        waiting("latency_dram"),
        waiting("latency_l2"),
        waiting("latency_l1", _STEPS_NEAR),
        waiting("latency_shared", _STEPS_NEAR),
        blocks("empty_blocks_32", 32, 1 << 20),
        blocks("empty_blocks_256", 256, 1 << 20),
        blocks("empty_blocks_1024", 1024, 1 << 19),
        Probe("empty_launch", "empty", 32, 1, "launch", 1.0, latency=True),
        reading("write_dram", "writeDram", stream),
        Probe("barriers", "barriers", 20_000, full, "barrier", 20_000.0, latency=True),
        Probe("atomics_apart", "atomics", atomics, full, "atomic", float(atomics) * threads),
        Probe("atomics_same", "atomics", atomics // 10, full, "atomic", float(atomics // 10) * threads),
    )


def gap_probes(sm_count: int) -> tuple[Probe, ...]:
    """Launches of known cycles: the time that a launch takes beyond them is the gap between two."""
    return tuple(
        Probe(f"spin_{cycles}", "spin", cycles, sm_count, "cycle", float(cycles), latency=True)
        for cycles in (200_000, 20_000, 5_000)
    )


def probe_rows(sm_count: int, measured: Iterable[MeasuredRow]) -> tuple[ProbeRow, ...]:
    """What the probes among the measured rows say."""
    of_name = {row.benchmark: row for row in measured if row.dataset.startswith(f"{DATASET}-")}
    known = (*gap_probes(sm_count), *probes(sm_count))
    return tuple(_row(probe, of_name[probe.name]) for probe in known if probe.name in of_name)


def _row(probe: Probe, row: MeasuredRow) -> ProbeRow:
    time_s = None if row.time_s is None else row.time_s / probe.units
    watts_above = (
        None
        if not row.power_valid or row.power_w is None or row.idle_power_w is None
        else row.power_w - row.idle_power_w
    )

    def of(compute: Callable[[float], float], wanted: bool = True) -> float | None:
        return None if time_s is None or not wanted else compute(time_s)

    return ProbeRow(
        name=probe.name,
        unit=probe.unit,
        time_s=time_s,
        cycles=None
        if row.core_mhz is None
        else of(lambda one_s: one_s * (row.core_mhz or 0.0) * 1e6, probe.latency),
        per_s=of(lambda one_s: 1 / one_s, not probe.latency),
        power_w=row.power_w,
        energy_above_idle_j=None if watts_above is None else of(lambda one_s: one_s * watts_above),
        reason=row.reason,
    )


def _program_name(name: str) -> str:
    """What the program calls it: ``empty…`` and ``spin`` take their sizes from the arguments."""
    return "spin" if name.startswith("spin") else name
