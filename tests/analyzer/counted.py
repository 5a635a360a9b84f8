"""Reads and counts a kernel written in a test."""

from pathlib import Path

from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu


def counted(
    tmp_path: Path, source: str, launch: str, *settings: str
) -> tuple[KernelLaunch, ExecutionProfile]:
    """The one kernel of `source` at `launch` (as in `--launch`), on a V100."""
    path = tmp_path / "k.cu"
    path.write_text(source)
    program = read_cuda(path, ParseOptions())
    (found,) = resolve_launches(program, parse_overrides((launch,), settings), load_gpu("v100"))
    return found, count(found)
