"""The closed vocabularies of the tree: operators, builtins, operation classes, semantics."""

from __future__ import annotations

from enum import Enum


class IdentityEnum(Enum):
    """Hashed by identity: members are singletons, and they are keys in every hot loop."""

    __hash__ = object.__hash__


class UnaryOp(IdentityEnum):
    """Unary operators without side effects."""

    NEGATE = "-"
    INVERT = "~"
    NOT = "!"


class BinaryOp(IdentityEnum):
    """Binary operators without short circuit."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    SHL = "<<"
    SHR = ">>"
    AND = "&"
    OR = "|"
    XOR = "^"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="
    COMMA = ","


NEGATED = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}
"""`a op b` does not hold: this does, of numbers that have an order."""
MIRRORED = {
    BinaryOp.LT: BinaryOp.GT,
    BinaryOp.LE: BinaryOp.GE,
    BinaryOp.GT: BinaryOp.LT,
    BinaryOp.GE: BinaryOp.LE,
    BinaryOp.EQ: BinaryOp.EQ,
    BinaryOp.NE: BinaryOp.NE,
}
"""`a op b` as `b` sees it."""
COMPARISONS = frozenset(NEGATED)


class LogicalOp(IdentityEnum):
    """Short-circuit operators."""

    AND = "&&"
    OR = "||"


class BuiltinKind(IdentityEnum):
    """The predefined variables of a kernel."""

    THREAD_IDX = "threadIdx"
    BLOCK_IDX = "blockIdx"
    BLOCK_DIM = "blockDim"
    GRID_DIM = "gridDim"
    WARP_SIZE = "warpSize"


class OperationClass(IdentityEnum):
    """The classes of `counts_per_thread` in the JSON contract; values are the JSON keys."""

    FP32 = "fp32"
    FP64 = "fp64"
    INT = "int"
    SPECIAL = "special"
    FP16 = "fp16"
    TENSOR = "tensor"
    CONTROL = "control"
    GLOBAL_LOAD = "global_load"
    GLOBAL_STORE = "global_store"
    SHARED_LOAD = "shared_load"
    SHARED_STORE = "shared_store"
    CONSTANT_LOAD = "constant_load"
    TEXTURE_LOAD = "texture_load"
    ATOMIC = "atomic"
    BARRIER = "barrier"


class Semantics(IdentityEnum):
    """What the evaluator knows about an intrinsic's value (arguments as written)."""

    OPAQUE = "opaque"  # result unknown, may differ between threads
    EFFECT = "effect"  # opaque, and happens whether or not anybody uses the result (asm volatile)
    BROADCAST = "broadcast"  # what the lane has that an argument names (shuffles)
    UNIFORM = "uniform"  # result unknown, the same in the whole warp (votes, blockDim-like)
    ADD = "add"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    FMA = "fma"  # a*b+c
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    MUL24 = "mul24"
    POPC = "popc"
    CLZ = "clz"
    FFS = "ffs"
    BREV = "brev"
    CEIL = "ceil"
    FLOOR = "floor"
    RINT = "rint"  # to the nearest whole number, of two the even one
    SQRT = "sqrt"
    COMPUTED = "computed"  # by the function of its name: in its row of `builtins.py`, or of real numbers
    IDENTITY = "identity"  # the first argument (static_cast-like helpers, __ldg's address, std::move)
    BARRIER = "barrier"
    NONE = "none"  # no value (printf, fences)


class AtomicOp(IdentityEnum):
    """The read-modify-write of an atomic."""

    ADD = "add"
    SUB = "sub"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"
    CAS = "cas"
    INC = "inc"
    DEC = "dec"
