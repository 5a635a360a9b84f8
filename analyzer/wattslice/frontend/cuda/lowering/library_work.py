"""Work that host code gives to libraries: it runs on the GPU and is not counted; each call is told.

Thrust and CUB's device-wide algorithms, cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuDNN, cuRAND's generators and the
operators of PyTorch, by the names that the text of the file calls.
"""

from __future__ import annotations

import functools
import re

from wattslice.frontend.cuda.lowering.lost_kernels import code_of
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Severity, Span

_MOST_TOLD = 100
_THRUST_WORDS = """
    adjacent_difference copy copy_if copy_n count count_if equal exclusive_scan exclusive_scan_by_key
    fill fill_n find find_if for_each for_each_n gather generate inclusive_scan inclusive_scan_by_key
    inner_product is_sorted lower_bound max_element merge min_element minmax_element partition reduce
    reduce_by_key remove remove_if replace replace_if reverse scatter sequence set_difference
    set_intersection set_union sort sort_by_key stable_partition stable_sort stable_sort_by_key tabulate
    transform transform_exclusive_scan transform_inclusive_scan transform_reduce unique unique_by_key
    unique_copy upper_bound
"""
_TORCH_WORDS = """
    add addmm arange argmax argsort baddbmm bmm cat clamp conv1d conv2d conv3d cumsum div einsum elu exp
    full linear log matmul max mean min mm mul nonzero norm ones ones_like pow rand rand_like randn
    randn_like relu scatter sigmoid softmax sort sqrt stack sub sum tanh topk where zeros zeros_like
"""
_NO_WORK = (
    r"(?:Create|Destroy|Set|Get|LtCreate|LtDestroy|LtMatrix|LtMatmul\w|XtCreate|XtDestroy|Init|Shutdown"
    r"|Alloc|Free|Err|Check|Status|Safe)"
)


def _either(words: str) -> str:
    return "|".join(words.split())


_LIBRARIES = tuple(b"thrust:: cub:: cublas cufft cusparse cusolver cudnn curand at:: torch::".split())
"""One of these stands in each call."""


_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


@functools.cache
def _call() -> re.Pattern[bytes]:
    return re.compile(
        rf"""(?<![\w.:>])(?P<name>
      (?:::)?thrust::(?:{_either(_THRUST_WORDS)})
    | (?:::)?cub::Device\w+::\w+
    | cublas(?!{_NO_WORK})\w+ | cufftExec\w+ | cufftXtExec\w*
    | cusparse(?!{_NO_WORK})\w*(?:MV|MM|SV|SM|GEMM|SpGEMM|2\w+|mv|mm)\w*(?<!bufferSize)(?<!BufferSize)
    | cusolver(?:Dn|Sp)(?!{_NO_WORK})\w+(?<!bufferSize)(?<!BufferSize)
    | cudnn\w*(?:Forward|Backward)\w*(?<!Size)(?<!Algorithm_v7)(?<!Dim) | curandGenerate\w+
    | (?:at|torch)::(?:{_either(_TORCH_WORDS)})
    )\s*(?:<[^;(){{}}]*>)?\s*\(""".encode(),
        re.VERBOSE,
    )


def report_library_work(unit: Unit) -> None:
    """A note (PW005) for each call of the main file."""
    source = unit.parsed.source
    if not any(library in source for library in _LIBRARIES) or _call().search(source) is None:
        return
    told: set[tuple[bytes, int]] = set()
    own = set(_MACRO.findall(source))
    for call in _call().finditer(code_of(source)):
        name, line = call["name"], source.count(b"\n", 0, call.start()) + 1
        if (name, line) in told or name in own:
            continue
        told.add((name, line))
        if len(told) > _MOST_TOLD:
            break
        where = Span(str(unit.parsed.path), line, 1, line)
        text = f"work of '{name.decode().removeprefix('::')}' on the GPU is not counted: it is a library's"
        unit.report("PW005", Severity.NOTE, where, text)
