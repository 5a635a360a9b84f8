"""Helper of the tests of launches: CUDA text in, launches out."""

from collections.abc import Iterable

from wattslice import ir
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch, NamedValue, Overrides
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")


def program(folder, text: str) -> ir.Program:
    """A file with this text, as it is read."""
    path = folder / "a.cu"
    path.write_text(text)
    return read_cuda(path)


def launches(folder, text: str, overrides: Overrides = NO_OVERRIDES) -> tuple[KernelLaunch, ...]:
    """The launches of a file with this text, in the order of its kernels."""
    return resolve_launches(program(folder, text), overrides, GPU)


def named(values: Iterable[NamedValue]) -> dict[str, int | float]:
    """Values by their names."""
    return {one.name: one.value for one in values}
