"""Helper of the tests of launches: CUDA text in, launches out."""

from collections.abc import Iterable

from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch, NamedValue
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")


def launches(folder, text: str) -> tuple[KernelLaunch, ...]:
    """The launches of a file with this text, in the order of its kernels."""
    path = folder / "a.cu"
    path.write_text(text)
    return resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)


def named(values: Iterable[NamedValue]) -> dict[str, int | float]:
    """Values by their names."""
    return {one.name: one.value for one in values}
