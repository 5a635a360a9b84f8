"""What `wattslice roofline` prints: the numbers of the machines, and of every kernel, as text or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TextIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wattslice.report.data_words import data_words
from wattslice.report.json import about_run
from wattslice.report.json_values import Json, as_text, fields, finite
from wattslice.report.terminal import (
    Column,
    fitting_table,
    make_console,
    plain_table,
    print_stripped,
    section_title,
    texts,
)
from wattslice.report.text import head_of_gpu
from wattslice.roofline.kernels import Bound, PlacedKernel, PowerSource, Rooflines
from wattslice.roofline.machines import Machine
from wattslice.units import line_ranges, percent, prefixed, printable, tail, three_digits
from wattslice_models.energy_roofline import EnergyRoofline

_NOTHING = "–"


def write_tables(rooflines: Rooflines, file: TextIO) -> None:
    """Write the tables to a file, pipe or terminal."""
    console = make_console(file)
    print_stripped(console, *_parts(rooflines, console.width))


def _parts(rooflines: Rooflines, width: int) -> Iterator[RenderableType]:
    first = rooflines.machines[0]
    head = head_of_gpu(first.name, first.gpu_id, rooflines.gpu_source)
    yield from (head, "", _machine_table(rooflines.machines))
    yield from (_remark(words, width) for words in _sources(rooflines.machines))
    if rooflines.kernels:
        yield from ("", section_title("Kernels", "", width, "bold"), _kernel_table(rooflines.kernels, width))
        yield from (_remark(words, width) for words in _remarks(rooflines.kernels))


def _remark(words: str, width: int) -> Text:
    folded = textwrap.fill(words, width, initial_indent="  ", subsequent_indent="    ")
    return Text(folded, style="dim")


def _machine_table(machines: tuple[Machine, ...]) -> Table:
    table = plain_table(("  roofs",), tuple(machine.precision.value for machine in machines), gap=3)
    for name, cell in _MACHINE_ROWS:
        cells = [cell(machine) for machine in machines]
        table.add_row(f"  {name}", *(Text(text, style="dim" if text == _NOTHING else "") for text in cells))
    return table


def _of_energies(tell: Callable[[EnergyRoofline], str]) -> Callable[[Machine], str]:
    return lambda machine: _NOTHING if machine.energies is None else tell(machine.energies)


def _of_limit(tell: Callable[[EnergyRoofline], str]) -> Callable[[Machine], str]:
    return _of_energies(lambda one: _NOTHING if one.power_limit_w is None else tell(one))


def _per_byte(balance: float) -> str:
    return f"{three_digits(balance)} flop/B"


_MACHINE_ROWS: tuple[tuple[str, Callable[[Machine], str]], ...] = (
    ("peak", lambda machine: prefixed(machine.roofline.peak_flops_per_s, "flop/s")),
    ("bandwidth", lambda machine: prefixed(machine.roofline.bandwidth_bytes_per_s, "B/s")),
    ("energy of a flop, ε_flop", _of_energies(lambda one: f"{1e12 * one.flop_energy_j:.3g} pJ")),
    ("energy of a byte, ε_mem", _of_energies(lambda one: f"{1e12 * one.byte_energy_j:.3g} pJ")),
    ("constant power, π0", _of_energies(lambda one: f"{three_digits(one.constant_power_w)} W")),
    ("time balance, B_τ", lambda machine: _per_byte(machine.roofline.time_balance)),
    ("energy balance, B_ε", _of_energies(lambda one: _per_byte(one.energy_balance))),
    ("effective energy balance", _of_energies(lambda one: _per_byte(one.effective_balance_point))),
    ("flop efficiency, η", _of_energies(lambda one: percent(one.flop_efficiency))),
    ("best energy efficiency", _of_energies(lambda one: prefixed(one.peak_flops_per_j, "flop/J"))),
    ("peak power, at B_τ", _of_energies(lambda one: f"{three_digits(one.peak_power_w)} W")),
    ("power limit", lambda machine: _watts(machine.power_limit_w)),
    ("throttled by the limit", _of_energies(lambda one: _throttled(one))),
    ("peak under the limit", _of_limit(lambda one: prefixed(one.limited_flops_per_s, "flop/s"))),
    ("best efficiency under it", _of_limit(lambda one: prefixed(one.limited_flops_per_j, "flop/J"))),
    ("race to halt", _of_energies(lambda one: "yes" if one.race_to_halt else "no")),
)


def _watts(power_w: float | None) -> str:
    return _NOTHING if power_w is None else f"{three_digits(power_w)} W"


def _throttled(machine: EnergyRoofline) -> str:
    if machine.power_limit_w is None:
        return _NOTHING
    if not machine.is_capped:
        return "no"
    return f"to {percent(machine.relative_speed(machine.time_balance))} at B_τ"


def _sources(machines: tuple[Machine, ...]) -> Iterator[str]:
    sources = dict.fromkeys(machine.source for machine in machines)
    for source in sources:
        of = " and ".join(machine.precision.value for machine in machines if machine.source == source)
        yield f"coefficients{f' of {of}' if len(sources) > 1 else ''}: {source}"
    for why in dict.fromkeys(machine.no_energies for machine in machines if machine.no_energies):
        yield f"energies unknown: {why}"
    yield from dict.fromkeys(doubt for machine in machines for doubt in machine.doubts)


def _kernel_table(kernels: tuple[PlacedKernel, ...], width: int) -> Table:
    def column(heading: str, cell: Callable[[PlacedKernel], str], give_up: int = 0) -> Column:
        cells = (cell(kernel) for kernel in kernels)
        texts = tuple(Text(text, style="dim" if text == _NOTHING else "") for text in cells)
        return Column(heading, texts, right=True, give_up=give_up)

    names = texts(f"  {number} {printable(kernel.name)}" for number, kernel in enumerate(kernels, 1))
    columns = (
        Column("  kernel", names, least=14, wanted=30, stretch=True, cut=True),
        Column("line", tuple(Text(place, style="dim") for place in _places(kernels)), give_up=1),
        column(
            "flops", lambda kernel: _NOTHING if kernel.precision is None else kernel.precision.name.lower()
        ),
        column("flop/B", lambda kernel: _digits(kernel.intensity)),
        column("Gflop/s", lambda kernel: _digits(kernel.flops_per_s, 1e-9)),
        column("of roof", lambda kernel: percent(kernel.share_of_roof), give_up=2),
        column("Gflop/J", lambda kernel: _digits(kernel.flops_per_j, 1e-9)),
        column("W", lambda kernel: _digits(kernel.power_w) + _mark(kernel)),
        column("time", lambda kernel: _bound(kernel.time_bound), give_up=4),
        column("energy", lambda kernel: _bound(kernel.energy_bound), give_up=3),
    )
    return fitting_table(columns, width)


def _mark(kernel: PlacedKernel) -> str:
    return ("*" if kernel.power_source is PowerSource.ROOFLINE else "") + ("†" if kernel.slowdown else "")


def _places(kernels: tuple[PlacedKernel, ...]) -> Iterator[str]:
    """File and line, the line alone where all are of one file."""
    alone = len({kernel.file for kernel in kernels}) == 1
    for kernel in kernels:
        place = printable(PurePath(kernel.file).name)
        yield f"{kernel.line}" if alone else tail(f"{place}:{kernel.line}", 20)


def _digits(value: float | None, factor: float = 1.0) -> str:
    return _NOTHING if value is None else three_digits(factor * value)


def _bound(bound: Bound | None) -> str:
    return _NOTHING if bound is None else bound.value


def _remarks(kernels: tuple[PlacedKernel, ...]) -> Iterator[str]:
    yield data_words(kernels)
    if any(kernel.power_source is PowerSource.ROOFLINE for kernel in kernels):
        yield "* by the roofline: the power model of this GPU knows no watts"
    if slower := [kernel.slowdown for kernel in kernels if kernel.slowdown]:
        most = f"{'up to ' if len(slower) > 1 else ''}{max(slower):.2f} times"
        yield f"† at the power limit: taken to run {most} as long as predicted: its energy fits under it then"
    for why in dict.fromkeys(kernel.why for kernel in kernels if kernel.why):
        numbers = tuple(number for number, kernel in enumerate(kernels, 1) if kernel.why == why)
        yield f"no place for {line_ranges(numbers)}: {why}"


def render_json(rooflines: Rooflines) -> str:
    """One object, indented, with a newline at its end; unknown is null."""
    first, kernels = rooflines.machines[0], rooflines.kernels
    return as_text(
        {
            **about_run(first.gpu_id, first.name, rooflines.gpu_source),
            "rooflines": [_machine_json(machine) for machine in rooflines.machines],
            "kernels": None if kernels is None else [_kernel_json(one) for one in kernels],
        }
    )


def _machine_json(machine: Machine) -> dict[str, Json]:
    roof, energies = machine.roofline, machine.energies
    limited = None if energies is None or energies.power_limit_w is None else energies
    return {
        "precision": machine.precision.name.lower(),
        **fields(machine, "coefficients", "source"),
        **fields(roof, "peak_flops_per_s", "bandwidth_bytes_per_s"),
        **fields(energies, "flop_energy_j", "byte_energy_j", "constant_power_w"),
        "power_limit_w": machine.power_limit_w,
        "time_balance_flops_per_byte": roof.time_balance,
        "energy_balance_flops_per_byte": None if energies is None else energies.energy_balance,
        "effective_balance_flops_per_byte": None if energies is None else energies.effective_balance_point,
        **fields(energies, "flop_efficiency", "peak_flops_per_j", "peak_power_w"),
        "throttled": None if limited is None else limited.is_capped,
        **fields(limited, "limited_flops_per_s", "limited_flops_per_j"),
        **fields(energies, "race_to_halt"),
        "energies_unknown_because": machine.no_energies or None,
        "doubts": list(machine.doubts),
    }


def _kernel_json(kernel: PlacedKernel) -> dict[str, Json]:
    return {
        **fields(kernel, "name", "file", "line"),
        "precision": None if kernel.precision is None else kernel.precision.name.lower(),
        **fields(kernel, "flops", "dram_bytes", "time_s", "throttled_time_s"),
        "intensity_flops_per_byte": finite(kernel.intensity),
        **fields(kernel, "flops_per_s", "share_of_roof", "power_w"),
        "power_from": None if kernel.power_source is None else kernel.power_source.name.lower(),
        **fields(kernel, "flops_per_j", "time_bound", "energy_bound"),
        "data": kernel.launch.data,
        "no_place_because": kernel.why or None,
    }
