"""CPUs whose rates ESCAPE D3.5 prints, by the name that a workflow file says."""

from __future__ import annotations

from functools import cache

from wattslice.projection.workflow import CpuState

_TABLES = {"e5-2697v3": "Tables 25 to 29", "xeon-gold-6148": "Table 37"}


def published_cpus() -> tuple[str, ...]:
    """The names."""
    return tuple(_TABLES)


@cache
def published_states(name: str) -> tuple[tuple[CpuState, ...], str]:
    """The rates at every clock and number of cores that is printed, and the tables they stand in.

    Left out: turbo mode, whose clock falls with the number of cores, and a state with a rate that print
    damaged. Raises ``KeyError`` for another name.
    """
    from wattslice.projection.escape_published import published_rates
    from wattslice_corpora.published import escape2018_haswell_states, escape2018_skylake_states

    rows = {"e5-2697v3": escape2018_haswell_states, "xeon-gold-6148": escape2018_skylake_states}[name]()
    states = tuple(
        CpuState(
            cores=row.cores,
            clock_mhz=float(round(row.clock_ghz * 1000.0)),
            rates=rates,
        )
        for row in rows
        if row.clock_ghz is not None and (rates := published_rates(row)) is not None
    )
    return states, f"ESCAPE D3.5, {_TABLES[name]} ({rows[0].cpu})"
