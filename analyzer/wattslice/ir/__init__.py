"""The intermediate representation: one immutable tree for CUDA and C.

Frontends build it, everything else reads it. Three conventions carry the whole design:

* **Device calls are inlined.** A call to a `__device__` function becomes an `InlinedCall` that holds
  a fresh copy of the callee's body, its parameters bound to fresh variables. So counting and slicing
  see one procedure per kernel, and every node keeps the line it was written on. Recursion is cut at a
  bound by the frontend (with a diagnostic) and becomes an `Intrinsic` of semantics `OPAQUE`.
  Host functions are not inlined: there a call is a `Call`.
* **Regions.** Everything that may run a different number of times has a `region` number, dense from 0
  in each kernel: every statement, both arms of `Select`, the right side of `Logical`, the test and
  the step of a `Loop`. An execution profile is an array indexed by region.
* **Places.** Registers and memory are told apart when the tree is built: reading a register variable
  is `Read(RegisterPlace)`, reading memory is `Load(MemoryPlace)`, whose address is an expression in
  bytes. `A[i]` is a `Load` of `PointerOffset(Read(A), i)`. Every textual access has a `site` number,
  dense from 0 in each kernel.
"""

# What is imported here is what the package offers.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from __future__ import annotations

from wattslice.errors import Severity
from wattslice.ir.operators import (
    COMPARISONS,
    AtomicOp,
    BinaryOp,
    BuiltinKind,
    LogicalOp,
    OperationClass,
    Semantics,
    UnaryOp,
)
from wattslice.ir.tree import (
    ADDRESS_OF,
    BIT_FIELD,
    BOOL,
    DIM3,
    ELEMENT_METHODS,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    UNKNOWN_TYPE,
    UNREAD,
    VOID,
    AddressOf,
    ArgumentPart,
    Assign,
    Atomic,
    Binary,
    Block,
    Break,
    Builtin,
    Call,
    Case,
    Cast,
    Constant,
    Construct,
    Continue,
    Declare,
    Diagnostic,
    Expr,
    ExprStmt,
    Extract,
    Field,
    Function,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    LaunchCall,
    Load,
    Logical,
    Loop,
    LoopKind,
    MachineInstruction,
    MemoryPlace,
    MemorySpace,
    OperationCount,
    Place,
    PointerOffset,
    Program,
    Read,
    RegisterPlace,
    Return,
    Select,
    Span,
    Stmt,
    Switch,
    Text,
    TextureFetch,
    Type,
    TypeKind,
    Unary,
    Variable,
    VariableRole,
    made_up_offset,
    numbered_lines,
)
from wattslice.ir.walking import (
    RegisterKey,
    children,
    comma_parts,
    expressions_below,
    is_decision,
    nested_statements,
    never_falls_through,
    read_variable,
    register_key,
    statement_expressions,
    strip_casts,
    values_given,
    walk_expressions,
    walk_statements,
)
