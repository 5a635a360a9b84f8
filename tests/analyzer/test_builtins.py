"""One row a builtin: the stubs, the lowering, the values, the instructions and the CPU follow from it."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.flags import INCOMPLETE, PRELUDE, language_flags
from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.libclang import library
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.frontend.cuda.lowering import library as calls
from wattslice.ir import builtins
from wattslice.workload.instructions.kinds import InstructionKind

_OURS = ("wattslice_builtins.cuh", "wattslice_cuda_math.cuh", "wattslice_cuda_device.cuh")


def test_what_the_prelude_declares_the_table_knows():
    handle = raw_parse(PRELUDE, language_flags("c++17", "sm_80"), INCOMPLETE)
    assert handle is not None
    root = Node(handle, library().clang_getTranslationUnitCursor(handle.unit))
    functions = [n for n in root.walk() if n.kind in (CursorKind.FUNCTION_DECL, CursorKind.FUNCTION_TEMPLATE)]
    names = {n.spelling for n in functions if n.place.path is not None and n.place.path.name in _OURS}
    assert len(names) > 500
    accesses = (calls._ATOMIC, calls._CACHED_LOAD, calls._CACHED_STORE)
    unknown = {n for n in names if builtins.builtin(n) is None and not any(a.match(n) for a in accesses)}
    assert unknown == {"alloca", "__pipeline_memcpy_async"}


def test_each_name_has_one_row():
    rows = builtins._ROWS
    assert [
        name for name, number in Counter(" ".join(r.names for r in rows).split()).items() if number > 1
    ] == []
    assert {row.instruction for row in rows} - {""} <= {kind.value for kind in InstructionKind}
    declared = {name for row in rows if row.declared for name in row.names.split()}
    computed = {name for row in rows if row.value for name in row.names.split()}
    assert computed - declared == {"mul24", "umul24"}  # of libdevice, which programs declare themselves


@pytest.mark.parametrize("declared", ["float({}const float*)", "WS_D float {{}}({}const float *);"])
def test_a_row_for_an_access_is_refused(declared, monkeypatch):
    for before, outputs in (("", ()), ("float*, ", (0,))):
        row = builtins.Row("__ldxx", builtins.Cost.FREE, declared=declared.format(before), outputs=outputs)
        monkeypatch.setattr(builtins, "_ROWS", (row,))
        with pytest.raises(ValueError, match=r"no access of __ldxx\(.*lowering/library\.py"):
            builtins.declarations.__wrapped__()


_ROW = """
from types import MappingProxyType
import wattslice.ir.builtins as table
row = table.Row("__thrice", table.Cost.INT, declared="unsigned(unsigned)", value=lambda a: 3 * a,
                    instruction="imad")
table._ROWS += (row,)
table.BUILTINS = MappingProxyType(table._by_name())
"""
_KERNEL = """__global__ void k(float *x, unsigned n) {
  for (unsigned i = 0; i < __thrice(n); i++) x[__thrice(threadIdx.x)] += 1.0f;
}
int main() { unsigned n = 7; k<<<__thrice(2), 32>>>(0, n); }
"""


def _run(script: str, folder: Path) -> str:
    (folder / "k.cu").write_text(_KERNEL.replace("__thrice(2)", "6"))
    done = subprocess.run(
        [sys.executable, "-c", _ROW + script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
def test_one_row_is_declared_counted_and_priced(tmp_path: Path):
    script = """
from wattslice.cli import main
main(["analyze", "--no-cache", "--gpu", "v100", "--format", "json", "-o", "out.json", "k.cu"])
"""
    _run(f"import contextlib\nwith contextlib.suppress(SystemExit):\n    exec({script!r})", tmp_path)
    answer = json.loads((tmp_path / "out.json").read_text())
    assert not {"PW001", "PW005"} & {found["rule"] for found in answer["diagnostics"]}
    (kernel,) = answer["kernels"]
    counts = kernel["counts_per_thread"]
    assert (counts["fp32"], counts["int"]) == (21, 22 + 21 + 22 + 21)  # 21 steps, 22 tests, their calls


def test_one_row_becomes_its_instruction(tmp_path: Path):
    script = """
from wattslice import ir
from wattslice.workload.instructions.kinds import call_cost
print([(kind.value, number) for kind, number in call_cost("__thrice", ir.UINT32, ())])
"""
    assert _run(script, tmp_path).strip() == "[('imad', 1.0)]"


def test_one_row_is_computed_in_host_code_and_for_lanes(tmp_path: Path):
    script = """
import numpy as np
from wattslice.counting.values import apply
from wattslice.ir import Semantics
from wattslice.launches.host_api import mathematics
print(mathematics("__thrice", (5,)), apply(Semantics.COMPUTED, [np.arange(3)], 32, "__thrice").tolist())
"""
    assert _run(script, tmp_path).strip() == "15 [0, 3, 6]"


def test_one_row_is_interpreted(tmp_path: Path):
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import numpy as np
from pathlib import Path
from tests.analyzer.interpreted import run_kernel
text = "__global__ void k(unsigned *x) {{ x[threadIdx.x] = __thrice(threadIdx.x + 4294967295u); }}"
print(run_kernel(Path("."), text, np.zeros(3, np.uint32), block=3).arrays[0].tolist())
"""
    assert _run(script, tmp_path).strip() == "[4294967293, 0, 3]"
