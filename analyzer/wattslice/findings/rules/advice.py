"""From PW040 on: places that cost power, each told with the watts and joules at stake per launch.

At stake is the difference to the same launch predicted again, by the same model, with that cost removed.
"""

from __future__ import annotations

from wattslice.findings.rules.rule import Rule

ADVICE_RULES = (
    Rule(
        id="PW040",
        name="hot-line",
        what=(
            "One source line draws at least three quarters of what all operations of the kernel draw, and"
            " a fifth of the board's power."
        ),
        why=(
            "Work on any other line can hardly show. At stake is what the line draws, not what could be "
            "saved."
        ),
        example="sum += a[row * n + k] * b[k * n + column];   // 84 % of the operations' watts",
        remedy="Start here: a cheaper form of this line, or fewer executions of it.",
    ),
    Rule(
        id="PW041",
        name="uncoalesced-access",
        what=(
            "The lanes of a warp access places of global memory that lie apart, so that a request touches"
            " at least twice the 32-byte sectors that its bytes need. Thread indices and known values "
            "decide it; an address that data decide is PW016."
        ),
        why=(
            "Memory moves whole sectors: of 32 floats in 32 sectors seven eighths are moved for nothing, "
            "and energy goes with the bytes."
        ),
        example="out[column * n + row] = in[row * n + column];   // row made of threadIdx.x: loads lie apart",
        remedy=(
            "Let neighbouring threads (threadIdx.x) access neighbouring elements: swap indices, store "
            "structures as arrays, or go through a tile in shared memory."
        ),
    ),
    Rule(
        id="PW042",
        name="bank-conflict",
        what=(
            "A request of a warp to shared memory takes at least two passes, because lanes need different"
            " words of one bank. Lanes that read the same word do not conflict."
        ),
        why="The passes follow one another: a 32-way conflict makes the access 32 times as long.",
        example="__shared__ float tile[32][32];  x = tile[threadIdx.x][k];   // 32 lanes, one bank",
        remedy=(
            "Pad the rows by one element (tile[32][33]), or let neighbouring threads access neighbouring "
            "words."
        ),
    ),
    Rule(
        id="PW043",
        name="idle-sms",
        what=(
            "The grid has fewer blocks than the GPU has SMs, or the last round of blocks does not fill "
            "it. Only told where the source gives the launch configuration."
        ),
        why=(
            "SMs without a block draw power until the last block is done. At stake is what the same total"
            " work would save dealt out evenly: an upper bound, for a serial recurrence cannot be spread."
        ),
        example="solve<<<16, 256>>>(a);   // 16 blocks for 80 SMs: 80 % of them idle",
        remedy=(
            "More and smaller blocks, a multiple of the number of SMs; or several such launches in streams."
        ),
    ),
    Rule(
        id="PW044",
        name="low-occupancy",
        what=(
            "The kernel waits most of its time (latency limits it), an SM holds at most half of the warps"
            " it could, and the time model says that more would be faster."
        ),
        why="While it waits it draws power for nothing; warps wait side by side.",
        example="__shared__ float tile[8192];   // 32 KiB per block: two blocks on an SM, 16 of 64 warps",
        remedy="Use less of what limits it, which the message names: registers, shared memory, tiny blocks.",
    ),
    Rule(
        id="PW045",
        name="unintended-double",
        what=(
            "Arithmetic whose inputs and result are floats is carried out in double precision, because a "
            "literal has no suffix or the function called is the one for doubles. What the compiler "
            "narrows back to float (x * 0.5) is not told."
        ),
        why=(
            "Each operation takes two conversions and runs at the rate of fp64: half of that of fp32 on a"
            " V100, a 32nd or 64th on most other boards."
        ),
        example="y[i] = 0.1 * x[i] + y[i];   // float *x, *y",
        remedy="Write the suffix (0.1f) and call the function for floats (expf, powf).",
    ),
    Rule(
        id="PW046",
        name="double-precision",
        what=(
            "The kernel computes with variables of type double on a GPU whose fp64 rate is at most an "
            "eighth of its fp32 rate."
        ),
        why=(
            "Whether single precision is enough only you know. At stake is the same kernel with floats: "
            "the arithmetic at the rate of fp32, half the bytes."
        ),
        example="wattslice analyze --gpu rtx_3090 solver.cu   # fp64 at 1/64",
        remedy="Use float where it is enough, or a GPU with full-rate fp64 (V100, A100, H100).",
    ),
    Rule(
        id="PW047",
        name="power-call",
        what="pow or powf with the constant exponent 2, 3 or 0.5.",
        why="nvcc calls the library for it: dozens of instructions where one or two do.",
        example="float d = powf(x - y, 2.0f);",
        remedy="Write x * x, x * x * x, or sqrtf(x).",
    ),
    Rule(
        id="PW048",
        name="float-division",
        what=(
            "A floating-point division by a constant that is no power of two, or by a value that the loop"
            " around it does not change."
        ),
        why=(
            "A division takes about ten instructions, a multiplication one. The compiler must keep the "
            "last bit."
        ),
        example="for (int i = 0; i < n; ++i) x[i] = x[i] / norm;",
        remedy=(
            "Multiply by the reciprocal, computed once, where the last bit does not matter (or "
            "-use_fast_math)."
        ),
    ),
    Rule(
        id="PW049",
        name="integer-division",
        what="An integer division or remainder by a value that the compiler does not know.",
        why="It takes about twenty instructions; by a constant it takes a few, by a power of two one.",
        example="int row = i / width, column = i % width;   // int width: a parameter",
        remedy=(
            "Make the divisor a constant or template parameter, carry quotient and remainder along in the"
            " loop, or use & and >> where it is a power of two."
        ),
    ),
    Rule(
        id="PW050",
        name="divergent-branch",
        what=(
            "Lanes of one warp go different ways at this branch. Thread indices and known values decide "
            "it; branches that data decide are not told."
        ),
        why="The warp issues both ways one after the other, while the other lanes idle.",
        example="if (threadIdx.x % 2 == 0) even(x); else odd(x);",
        remedy="Let whole warps go one way: choose by threadIdx.x / 32, or renumber the work.",
    ),
    Rule(
        id="PW051",
        name="local-array",
        what=(
            "A private array that is indexed at run time, which takes at least a twentieth of the "
            "instructions."
        ),
        why=(
            "Registers cannot be indexed: the array lives in local memory, which is global memory behind "
            "the caches. The models do not know its traffic, so that no watts are told."
        ),
        example="float best[8];  ...  best[label[i]] = distance;",
        remedy="Index it by constants (unroll the loops over it), or keep it in shared memory.",
    ),
    Rule(
        id="PW052",
        name="contended-atomic",
        what=(
            "Several lanes of each warp, in all warps of a block, add floats to one address. Integers are"
            " not told: the compiler makes one atomic per warp of them."
        ),
        why="The additions follow one another. The time model does not know contention: no watts are told.",
        example="atomicAdd(total, x[i]);   // every thread",
        remedy="Add up in the warp first (__shfl_down_sync, cg::reduce), and let one lane add the sum.",
    ),
    Rule(
        id="PW053",
        name="sum-in-memory",
        what="A loop adds to the same place of global memory in each iteration.",
        why=(
            "As far as the compiler knows the other arrays may overlap that place, so that it loads and "
            "stores the sum each time."
        ),
        example="for (int k = 0; k < n; ++k) c[i] += a[k] * b[i];   // no __restrict__",
        remedy=(
            "Sum up in a local variable and store it once behind the loop, or declare the pointers "
            "__restrict__."
        ),
    ),
    Rule(
        id="PW054",
        name="repeated-load",
        what="A loop loads the same place of global memory in each iteration, and stores to another array.",
        why="As far as the compiler knows the store may change what is loaded, so that it loads it again.",
        example="for (int j = 0; j < n; ++j) y[j * m + i] = x[j * m + i] * scale[i];   // no __restrict__",
        remedy="Load it into a local variable before the loop, or declare one of the pointers __restrict__.",
    ),
    Rule(
        id="PW055",
        name="scattered-constant",
        what=(
            "The lanes of a warp read different words of constant memory. Thread indices and known values"
            " decide it."
        ),
        why="Constant memory hands out one word at a time to all lanes that want it: 32 words take 32 turns.",
        example="__constant__ float table[256];  x = table[threadIdx.x];",
        remedy="Keep a table that each lane reads elsewhere in shared or global memory.",
    ),
)
