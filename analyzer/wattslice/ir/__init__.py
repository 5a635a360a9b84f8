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

# What these modules define is what the package offers.
# ruff: noqa: F401, F403
# pyright: reportUnusedImport=false

from __future__ import annotations

from wattslice.errors import Severity
from wattslice.ir.operators import *
from wattslice.ir.tree import *
from wattslice.ir.walking import *
