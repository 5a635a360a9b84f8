"""Branch probabilities by running a program: counters in its source (Wang & Chen 2013, section 4.4)."""

from wattslice.profiling.probes.counts import (
    DEFAULT_FILE,
    FILE_VARIABLE,
    Counts,
    InstrumentedSource,
    NotProbed,
    Probe,
    ProbeError,
    ProbeKind,
    read_counts,
)
from wattslice.profiling.probes.emit import emit_probes
from wattslice.profiling.probes.running import Build, Counted, ProbedProgram, build_probed, run_probed

__all__ = [
    "DEFAULT_FILE",
    "FILE_VARIABLE",
    "Build",
    "Counted",
    "Counts",
    "InstrumentedSource",
    "NotProbed",
    "Probe",
    "ProbeError",
    "ProbeKind",
    "ProbedProgram",
    "build_probed",
    "emit_probes",
    "read_counts",
    "run_probed",
]
