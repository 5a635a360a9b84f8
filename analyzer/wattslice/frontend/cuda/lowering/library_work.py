"""Work that host code gives to libraries: it runs on the GPU and is not counted; each call is told.

Thrust and CUB's device-wide algorithms, cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuDNN, cuRAND's generators and the
operators of PyTorch, by the names that the text of the file calls.
"""

from __future__ import annotations

import functools
import re

from wattslice.frontend.cuda.lowering.lost_kernels import code_of
from wattslice.frontend.cuda.lowering.macros import DEFINITION
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Severity, Span
from wattslice.patterns import regex

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


_LIBRARIES = {
    b"thrust::": "Thrust",
    b"cub::": "CUB",
    b"cublas": "cuBLAS",
    b"cufft": "cuFFT",
    b"cusparse": "cuSPARSE",
    b"cusolver": "cuSOLVER",
    b"cudnn": "cuDNN",
    b"curand": "cuRAND",
    b"at::": "PyTorch",
    b"torch::": "PyTorch",
}
"""By what stands in each call."""


@functools.cache
def _call() -> re.Pattern[bytes]:
    return re.compile(
        rf"""(?<![\w.:>])(?P<name>
      (?:::)?thrust::(?:{_either(_THRUST_WORDS)})
    | (?:::)?cub::Device\w+::\w+
    | cublas(?=[A-Z])(?!{_NO_WORK})\w+ | cufftExec\w+ | cufftXtExec\w*
    | cusparse(?!{_NO_WORK})\w*(?:MV|MM|SV|SM|GEMM|SpGEMM|2\w+|mv|mm)\w*(?<!bufferSize)(?<!BufferSize)
    | cusolver(?:Dn|Sp)(?!{_NO_WORK})\w+(?<!bufferSize)(?<!BufferSize)
    | cudnn\w*(?:Forward|Backward)\w*(?<!Size)(?<!Algorithm_v7)(?<!Dim) | curandGenerate\w+
    | (?:at|torch)::(?:{_either(_TORCH_WORDS)})
    )\s*(?:<[^;(){{}}]*>)?\s*\(""".encode(),
        re.VERBOSE,
    )


def report_library_work(unit: Unit) -> None:
    """A note (PW005) for each call of the main file, also by a macro of the user that makes one."""
    source = unit.parsed.source
    macros = {name: body for text in unit.texts for name, body in DEFINITION.findall(text)}
    wrapping = {name: call["name"] for name, body in macros.items() if (call := _call_in(body)) is not None}
    words = _WORD.findall(source) if wrapping else ()
    if _call_in(source) is None and wrapping.keys().isdisjoint(words):
        return
    told: set[tuple[bytes, int]] = set()
    code = code_of(source)
    used = (call for call in _USE.finditer(code) if call["name"] in wrapping) if wrapping else ()
    for call in (*_call().finditer(code), *used):
        name, line = call["name"], code.count(b"\n", 0, call.start()) + 1
        name = wrapping.get(name, name)
        is_own = name in macros and not macros[name].strip().startswith(name)  # no new version of itself
        functions = unit.functions_by_name.get(name.decode(), ())
        if (name, line) in told or is_own or any(one.definition is not None for one in functions):
            continue
        told.add((name, line))
        if len(told) > _MOST_TOLD:
            break
        where = Span(str(unit.parsed.path), line, 1, line)
        name = name.removeprefix(b"::")
        library = next(one for begin, one in _LIBRARIES.items() if name.startswith(begin))
        text = f"work of '{name.decode()}' on the GPU is not counted: it is that of {library}"
        unit.report("PW005", Severity.NOTE, where, text)


_USE = regex(rb"\b(?P<name>[A-Za-z_]\w*)\s*\(")
_WORD = regex(rb"\w+")


def _call_in(text: bytes) -> re.Match[bytes] | None:
    return _call().search(text) if any(library in text for library in _LIBRARIES) else None
