"""ESCAPE D3.5, 2018: loops on CPUs, on one node and on several."""

from __future__ import annotations

from wattslice_corpora.published.escape2018_cpu import (
    escape2018_bifft_loops,
    escape2018_divided_work,
    escape2018_haswell_states,
    escape2018_loop_work,
    escape2018_skylake_states,
    escape2018_spherical_cases,
)
from wattslice_models.cpu_roofline import loops_time_s
from wattslice_tools.papers.escape2018_inputs import published_rates, spherical_harmonics
from wattslice_tools.papers.markdown import relative_error, table, worst

_NODES = (1, 2, 4, 8)


def escape2018_nodes() -> tuple[str, ...]:
    """The paragraphs and tables on CPUs."""
    return (*_work(), *_spherical_times())


def spherical_time_s(cores: int, nodes: int) -> float:
    """Spherical harmonics TCO639 on `nodes` nodes with `cores` cores of an E5-2697v3 at 2.6 GHz each."""
    state = next(row for row in escape2018_haswell_states() if (row.clock_ghz, row.cores) == (2.6, cores))
    rates = published_rates(state)
    if rates is None:
        raise ValueError(f"the rates of {cores} cores are damaged in print")
    return loops_time_s([loop.divided(nodes) for loop in spherical_harmonics()], rates)


def _work() -> tuple[str, ...]:
    case = next(row for row in escape2018_spherical_cases() if row.name == "TCO639")
    repeats = case.iterations * case.fields
    pairs: list[float] = []
    for row in escape2018_loop_work():
        if row.work_flop is not None and row.flop_per_iteration is not None:
            cells = case.points if row.intensity_flop_per_byte is None else _matrix_cells()
            pairs.append(relative_error(cells * repeats * row.flop_per_iteration, row.work_flop))
        if row.intensity_flop_per_byte is None:
            pairs.append(relative_error(case.points * repeats * row.bytes_per_iteration, row.traffic_bytes))
        elif row.work_flop is not None:
            pairs.append(relative_error(row.work_flop / row.intensity_flop_per_byte, row.traffic_bytes))
    works = {(row.loop, row.quantity): row.amount for row in escape2018_divided_work() if row.nodes == 1}
    shares = [
        relative_error(works[row.loop, row.quantity] / row.nodes, row.amount)
        for row in escape2018_divided_work()
    ]
    peaks = [
        relative_error(row.clock_ghz * 8e9 * row.cores, row.flop_per_s)
        for row in escape2018_haswell_states()
        if row.clock_ghz is not None
    ]
    return (
        "### Tables 24, 25, 31: work, traffic and peaks of the CPU model",
        table(
            ("table", "equation", "numbers", "worst difference"),
            [
                (
                    "24",
                    "W = NSMAX² · GRIDN · 0.833 · ITER · F · 2, Q = W / I; else PTS · ITER · F · Q per "
                    "iteration",
                    str(len(pairs)),
                    worst(pairs),
                ),
                (
                    "25",
                    "clock · 8 · cores (turbo left out: its clock is not printed)",
                    str(len(peaks)),
                    worst(peaks),
                ),
                ("31", "Table 24 / nodes", str(len(shares)), worst(shares)),
            ],
        ),
    )


def _matrix_cells() -> float:
    case = next(row for row in escape2018_spherical_cases() if row.name == "TCO639")
    return case.truncation**2 * case.grid_number * 0.833


def _spherical_times() -> tuple[str, ...]:
    rows = [
        (str(cores), *(f"{spherical_time_s(cores, nodes):.1f}" for nodes in _NODES))
        for cores in (1, 4, 8, 14)
    ]
    skylake: list[tuple[str, str]] = []
    for state in escape2018_skylake_states():
        rates = published_rates(state)
        cell = "L1 damaged in print" if rates is None else f"{loops_time_s(spherical_harmonics(), rates):.1f}"
        skylake.append((str(state.cores), cell))
    return (
        "### Spherical harmonics TCO639 from Tables 24 to 30",
        "`T_func = max(W · T_flop, Q · T_mop)`, summed over the 15 loops, without communication, E5-2697v3 "
        "at 2.6 GHz, in seconds. Figure 14 shows the times of such a model beside a real run, but the text "
        "prints only its errors: 11 to 23 % (mean 15.6 %, standard deviation 4.92 %), with communication 23 "
        "to 62 % (52.4 %, 16.5 %). Neither the times nor the cores of a node are printed, so these can only "
        "stand beside them:",
        table(("cores", *("1 node" if nodes == 1 else f"{nodes} nodes" for nodes in _NODES)), rows),
        "The same loops with the rates of Table 37, on one node with a Xeon Gold 6148 (coefficients of "
        "the other CPU, as in Figure 19): "
        + ", ".join(f"{cores} cores {cell}" for cores, cell in skylake)
        + ".",
        f"BiFFT (Tables 40 and 41, {len(escape2018_bifft_loops())} loops) cannot be timed: work and traffic "
        "of its loops are not printed, only their sums (Tables 38 and 39), and one X is missing.",
    )
