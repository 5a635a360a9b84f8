"""Functions of known value: who computes one by name or by a row computes the same as the others."""

import numpy as np
import pytest

from wattslice.counting.values import apply
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.flags import INCOMPLETE, PRELUDE, language_flags
from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.libclang import library
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.ir import Semantics
from wattslice.ir.builtins import builtin, value_of
from wattslice.launches.host_api import mathematics
from wattslice.launches.memory import Unknown
from wattslice.profiling.interpreter.errors import InterpreterError

from .interpreted import run
from .lowered import lower

_S = Semantics
_NO_NUMBER = {_S.OPAQUE, _S.EFFECT, _S.BROADCAST, _S.UNIFORM, _S.IDENTITY, _S.BARRIER, _S.NONE}
_TYPES = {
    "int": np.int32,
    "unsigned int": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "long": np.int64,
    "float": np.float32,
    "double": np.float64,
}


def _declared():
    """Name, result and parameters of all that the prelude declares and whose value the table knows."""
    handle = raw_parse(PRELUDE, language_flags("c++17", "sm_80"), INCOMPLETE)
    assert handle is not None
    root = Node(handle, library().clang_getTranslationUnitCursor(handle.unit))
    found = {}
    for node in root.walk():
        if node.kind is CursorKind.FUNCTION_DECL:
            row = builtin(node.spelling)
            types = [node.type.result.spelling, *(one.type.spelling for one in node.arguments)]
            plain = len(set(types)) == 1 or node.spelling.startswith("__")  # no overload that converts first
            if plain and row is not None and row.semantics not in _NO_NUMBER and set(types) <= set(_TYPES):
                found[node.spelling, *types] = row.semantics
    return found


DECLARED = _declared()
_DIRECTED = ("_rz", "_ru", "_rd")
"""Not interpreted: rounded to another side, which counting need not tell."""
_WORDS = (0, 1, 5, 0x0123_4567, 0x7FFF_FFFF, 0x8000_0000, 0xFEDC_BA98, 0xFFFF_FFFF)
_REALS = (0.5, 1.5, 2.5, 0.25, 3.75, 7.0, 0.75, 1.25)


def _arguments(types: list[str]) -> list[np.ndarray]:
    """Eight of each type, other ones together for each argument."""
    given = []
    for number, name in enumerate(types):
        type_ = np.dtype(_TYPES[name])
        if type_.kind == "f":
            given.append(np.roll(np.array(_REALS, type_), 3 * number))
        else:
            wide = [word * 0x1_0000_0001 & 0x7FFF_FFFF_FFFF_FFFF for word in _WORDS]  # 2**63 is unknown
            words = np.array(wide if type_.itemsize == 8 else _WORDS, np.uint64)
            given.append(np.roll(words.astype(type_), 3 * number))
    return given


def test_the_table_knows_many_values():
    names = {name for name, *_ in DECLARED}
    assert len(names) > 100
    assert {
        "exp2f",
        "sin",
        "__mulhi",
        "__byte_perm",
        "__funnelshift_l",
        "roundf",
        "trunc",
        "__fmaf_ieee_rn",
        "__umul24",
    } <= names


@pytest.mark.slow
def test_known_values_are_counted_as_they_are_interpreted(tmp_path):
    """Each in a kernel of its own, of one file."""
    texts = []
    for number, (name, result, *types) in enumerate(DECLARED):
        parameters = "".join(f", {type_} *p{at}" for at, type_ in enumerate(types))
        call = f"{name}({', '.join(f'p{at}[threadIdx.x]' for at in range(len(types)))})"
        texts.append(
            f"__global__ void k{number}({result} *out{parameters}) {{ out[threadIdx.x] = {call}; }}\n"
        )
    program = lower(tmp_path, "".join(texts))
    assert len(program.kernels) == len(DECLARED)
    for number, (name, result, *types) in enumerate(DECLARED):
        given = _arguments(types)
        type_ = np.dtype(_TYPES[result])
        arrays = [np.zeros(8, type_), *given]
        if name.endswith(_DIRECTED):
            with pytest.raises(InterpreterError, match=f"'{name}' is not interpreted"):
                run(program, number, arrays, block=8)
        else:
            interpreted = run(program, number, arrays, block=8).arrays[0]
            _check(name, DECLARED[name, result, *types], given, interpreted)


def _check(name, semantics, given, interpreted):
    """By lanes, by one number, and by the host."""
    signature = f"{name} of {[a.dtype.name for a in given]}"
    type_ = interpreted.dtype
    bits = 8 * given[0].dtype.itemsize
    lanes = [a.astype(np.float64 if a.dtype.kind == "f" else np.int64) for a in given]
    counted = apply(semantics, lanes, bits, name)
    assert isinstance(counted, np.ndarray), (signature, counted)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(counted.astype(type_), interpreted, rtol=1e-6, err_msg=signature)
    for lane in range(8):
        numbers = [a[lane].item() for a in given]
        alone = apply(semantics, numbers, bits, name)
        hosted = mathematics(name, tuple(numbers))
        if isinstance(hosted, Unknown):
            assert np.isnan(interpreted[lane]), (signature, hosted)
            hosted = None
        for value in (alone, *([] if hosted is None else [hosted])):
            stored = np.array(value & (1 << 64) - 1, np.uint64) if isinstance(value, int) else value
            found = np.asarray(stored).astype(type_)
            np.testing.assert_allclose(found, interpreted[lane], rtol=1e-6, err_msg=signature)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("__mul24", (0x0100_0003, -2), -6),
        ("__mul24", (0x80_0000, 1), -0x80_0000),
        ("__umul24", (0xFF00_0002, 0x0100_0003), 6),
        ("__rhadd", (-3, -4), -3),
        ("__uhadd", (0xFFFF_FFFF, 0xFFFF_FFFE), 0xFFFF_FFFE),
        ("__urhadd", (0xFFFF_FFFF, 0xFFFF_FFFE), 0xFFFF_FFFF),
        ("__sad", (-5, 7, 10), 22),
        ("__usad", (1, 4, 2), 5),
        ("__byte_perm", (0x4433_2211, 0x8877_6655, 0x7514), 0x8866_2255),
        ("__byte_perm", (0x80, 0x8800_0011, 0xFC08), 0xFF00_80FF),  # with the eighth bit set: the byte's sign
        ("__funnelshift_l", (0x8000_0001, 0x1234_5678, 36), 0x2345_6788),
        ("__funnelshift_lc", (0x8000_0001, 0x1234_5678, 36), 0x8000_0001),
        ("__funnelshift_r", (0x8000_0001, 0x1234_5678, 36), 0x8800_0000),
        ("__funnelshift_rc", (0x8000_0001, 0x1234_5678, 36), 0x1234_5678),
        ("round", (-2.5,), -3.0),
        ("round", (0.49999999999999994,), 0.0),
        ("truncf", (-2.75,), -2.0),
        ("rint", (2.5,), 2.0),
        ("nearbyintf", (3.5,), 4.0),
    ],
)
def test_the_values_of_rows(name, arguments, value):
    """By hand, after the CUDA Math API."""
    function = value_of(name)
    assert function is not None
    found = function(*arguments)
    assert found == value if isinstance(found, float) else (found - value) % (1 << 32) == 0
