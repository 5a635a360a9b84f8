"""Analyses a kernel written in a test and returns what it is advised."""

from pathlib import Path

from wattslice.analysis import Advice, KernelAnalysis
from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files


def analysed(folder: Path, source: str, *, gpu: str = "v100") -> KernelAnalysis:
    """The one kernel launched in `source`."""
    path = folder / "k.cu"
    path.write_text(source)
    found = analyze_files(make_config(Options(paths=(path,), gpu=gpu)))
    assert not [entry for entry in found.diagnostics if entry.rule in ("PW099", "PW001")], found.diagnostics
    (kernel,) = found.kernels
    return kernel


def advised(folder: Path, source: str, *, gpu: str = "v100") -> dict[str, list[Advice]]:
    """What the kernel is advised, by rule."""
    found: dict[str, list[Advice]] = {}
    for advice in analysed(folder, source, gpu=gpu).advice:
        found.setdefault(advice.rule, []).append(advice)
    return found


def known(figure: float | None) -> float:
    """A figure that must be there."""
    assert figure is not None
    return figure


def saved(worse: KernelAnalysis, better: KernelAnalysis) -> tuple[float, float]:
    """Watts and joules between two ways to write a kernel, as `Advice` has them."""
    return known(worse.power_w) - known(better.power_w), known(worse.energy_j) - known(better.energy_j)
