"""Every rule wattslice reports, under a stable id: what it says, why it matters, and what to do about it.

This is the one table of rules: docs/rules.md, `wattslice explain` and the rules of a SARIF file are made
from it. A new rule is a row here, and, where it is advice, the check that the row names (plus its test and
its place in docs/rules.md, which a command writes). An id is never reused and never changes its meaning; a
retired rule keeps its row.

PW001-PW009, PW060 and PW061: source text that could not be read as written. PW010-PW019: what the source
does not tell and had to be assumed. PW020-PW039: what the predicted watts say, and when the models cannot
say it. From PW040 on: places that cost power, each with the watts and joules at stake per launch. PW099: our
own failures.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from wattslice.errors import Severity, WattsliceError

if TYPE_CHECKING:  # what checks need loads when the first of them is asked, not for `wattslice explain`
    from wattslice.analysis import Advice
    from wattslice.config.rule_choices import RuleChoices
    from wattslice.findings.advice.facts import LaunchFacts

Check = Callable[["LaunchFacts"], "Iterator[Advice]"]
"""Looks for places of a launch that cost power."""


class Rule(Struct, frozen=True):
    """One kind of finding: `what` happened, `why` it matters, an `example`, and the `remedy`.

    `severity`: how much such findings matter as a rule; each of them tells its own. `told_by`: the stage (a
    folder of the package) that finds it; of advice `check`: the module of `findings.advice` and the function
    in it that does. `explains_unknown`: its place among the rules that can explain an unknown power, 1 for
    the likeliest. `can_be_suppressed`: a defect of ours must not be hidden in somebody's source, and no
    suppression hides what is wrong with one. `needs_profile`: it fires only where a branch profile was given.
    """

    id: str
    name: str
    severity: Severity
    what: str
    why: str
    example: str
    remedy: str
    told_by: str = "findings"
    check: str = ""
    explains_unknown: int | None = None
    can_be_suppressed: bool = True
    needs_profile: bool = False

    def load_check(self) -> Check | None:
        """The function that finds it in a launch; None for what is no advice."""
        if not self.check:
            return None
        module, _, name = self.check.partition(".")
        return getattr(importlib.import_module(f"wattslice.findings.advice.{module}"), name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="PW001",
        name="parse-problem",
        severity=Severity.WARNING,
        told_by="frontend",
        explains_unknown=7,
        what="The parser rejected a piece of the source.",
        why=(
            "The rest of the file is still analysed, but a statement that was dropped is missing from the "
            "counts, so a kernel around that line may be predicted too low. A kernel that is lost as a "
            "whole, for something in front of it, is an error: it is listed, and its power is unknown."
        ),
        example="__global__ void scale(float *x, flaot k) { ... }   // unknown type name 'flaot'",
        remedy=(
            "Correct the line. If the real compiler accepts it, a macro or language standard is missing: "
            "pass -D NAME[=VALUE], --std c++17, or -p DIR with a compile_commands.json."
        ),
    ),
    Rule(
        id="PW002",
        name="include-not-found",
        severity=Severity.WARNING,
        told_by="frontend",
        what="A header that the file includes was not found.",
        why=(
            "Types, constants and device functions from that header are unknown. CUDA's own headers and the "
            "standard library need no installation; wattslice brings declarations for them."
        ),
        example='#include "helper_math.h"   // lies in a folder that was not named',
        remedy="Name the folder with -I DIR, or pass -p DIR with a compile_commands.json.",
    ),
    Rule(
        id="PW005",
        name="call-without-body",
        severity=Severity.NOTE,
        told_by="frontend",
        explains_unknown=6,
        what="A kernel calls a device function whose body is nowhere in the translation unit, or host code "
        "calls a library whose kernels are unseen (Thrust, CUB, cuBLAS, cuFFT, PyTorch).",
        why="What the function executes is unknown, so its work is missing from the counts.",
        example="extern __device__ float shade(float3 p);   // defined in another .cu file",
        remedy=(
            "Give the folder of the header that defines it with -I DIR. Separately compiled device code "
            "cannot be followed: include the definition to have it counted."
        ),
    ),
    Rule(
        id="PW006",
        name="unsupported-construct",
        severity=Severity.NOTE,
        told_by="frontend",
        explains_unknown=8,
        what="A construct that the analysis does not model, e.g. recursion beyond the bound.",
        why=(
            "The construct is counted as what is known about it (at least its class); anything beyond is "
            "missing from the counts."
        ),
        example="__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }",
        remedy="Rewrite the construct, or take the kernel's figures as a lower bound.",
    ),
    Rule(
        id="PW007",
        name="too-large",
        severity=Severity.WARNING,
        told_by="frontend",
        explains_unknown=4,
        what="A kernel, or a file's kernels together, are larger or nest deeper than the analysis follows.",
        why=(
            "The analysis must answer within seconds whatever it is given. No power is told for such a "
            "kernel: a part of it would look like the whole. The bounds of a file are 200 000 operations "
            "(with what is inlined), 400 levels of statements and 1 000 kernels. From 60 000 operations on, "
            "statements that repeat each other but for their numbers are counted as loops; a note says so."
        ),
        example="a generated kernel with 20 000 statements in a row",
        remedy="Split the file, or write repeated statements as a loop: the counts stay the same.",
    ),
    Rule(
        id="PW010",
        name="size-assumed",
        severity=Severity.NOTE,
        told_by="counting",
        what="A problem size or the trip count that depends on it is not known and was assumed.",
        why=(
            "Time and energy grow with the size; power changes through the mix of the loop's body and "
            "whatever surrounds it."
        ),
        example="for (int i = 0; i < n; ++i) sum += a[i];   // n comes from argv",
        remedy="Give the value: --set KERNEL.n=4096 (or --set n=4096 for all kernels).",
    ),
    Rule(
        id="PW011",
        name="geometry-assumed",
        severity=Severity.NOTE,
        told_by="launches",
        what=(
            "The launch configuration (grid, block) could not be read from the host code: it depends on a "
            "variable whose value is assumed, directly or through a branch, or is assumed as a whole; or the "
            "launch is not reached with the values read; or a host loop launches with others each time."
        ),
        why="SM saturation and occupancy follow from it, and the published models start from saturation.",
        example="dim3 grid(atoi(argv[1]));  work<<<grid, 256>>>(x);",
        remedy=(
            "Give it: --launch 'work=1024:256', or the host variables it is made of: --set n=1048576. "
            "A kernel launched from another file is read when both files are one translation unit."
        ),
    ),
    Rule(
        id="PW012",
        name="branch-probability-assumed",
        severity=Severity.NOTE,
        told_by="counting",
        what="Data decide this branch; the probability of its arms is a stated default.",
        why="Both arms are weighted by it. In a branch-dense kernel the prediction rests on these weights.",
        example="if (text[i] == pattern[0]) matches += compare(text + i, pattern);",
        remedy="Give measured probabilities with --profile FILE (JSON: file, line, arm, probability).",
    ),
    Rule(
        id="PW013",
        name="trip-count-unknown",
        severity=Severity.NOTE,
        told_by="counting",
        what="Data decide how often this loop runs, or how early it ends; a stated default was used.",
        why="Everything inside the loop is scaled by that default.",
        example="while (node != NULL) node = next[node];",
        remedy=(
            "Give the mean number of iterations with --set KERNEL.trip_L<line>=VALUE, or the probability of "
            'another iteration with --profile FILE (arm "loop").'
        ),
    ),
    Rule(
        id="PW014",
        name="launch-cannot-run",
        severity=Severity.WARNING,
        told_by="power",
        explains_unknown=2,
        what="The launch asks for more than the GPU has: threads per block, shared memory or registers.",
        why="CUDA refuses such a launch, so there is no power to predict: it is reported as unknown.",
        example="work<<<64, 2048>>>(x);   // at most 1024 threads per block",
        remedy="Correct the launch, choose another GPU with --gpu, or override with --launch.",
    ),
    Rule(
        id="PW015",
        name="evaluation-budget-exceeded",
        severity=Severity.NOTE,
        told_by="counting",
        explains_unknown=3,
        what="Following the kernel's integer part would take more steps than its budget.",
        why=(
            "The analysis must not hang on long loops. Iterations that differ from each other are looked at "
            "together, and some stand for the others; where that is not exact the message says how far off "
            "the counts may be. A loop that is cut says after how many iterations. A kernel too long even "
            "for that has no counts, so its power is unknown."
        ),
        example="for (long i = 0; i < 1000000000L; ++i) if (i * i % n < k) state = step(state);",
        remedy="Give smaller representative values with --set: watts hardly depend on how long a loop runs.",
    ),
    Rule(
        id="PW016",
        name="address-depends-on-data",
        severity=Severity.NOTE,
        told_by="pipeline",
        what="Which memory a thread touches is decided by data, so nothing is known about coalescing there.",
        why=(
            "Each lane of a warp is taken to touch a 32-byte sector of its own, the most that can move. "
            "Neighbouring addresses would move up to eight times less, and draw less. Where the size of the "
            "array is known (cudaMalloc in the host code), it is taken to be read uniformly at random: what "
            "of it fits L2 is not fetched from DRAM again."
        ),
        example="y[i] = x[column[i]];",
        remedy="None from outside: where neighbours are near in truth, take bytes and watts as upper bounds.",
    ),
    Rule(
        id="PW017",
        name="profile-matches-nothing",
        severity=Severity.WARNING,
        told_by="branch_profile",
        needs_profile=True,
        what="The profile speaks of a line without a branch, or of a kernel that was not analysed.",
        why="The entry has no effect: a typing error, another file's profile, or a source that has changed.",
        example='{"file": "match.cu", "line": 400, "arm": "then", "probability": 0.03}',
        remedy="Correct file and line, or measure the profile again on the present source.",
    ),
    Rule(
        id="PW018",
        name="profile-outdated",
        severity=Severity.WARNING,
        told_by="branch_profile",
        needs_profile=True,
        what="The source has changed since the profile was made, and with it the line of a branch.",
        why=(
            "What was measured of the old branch need not hold for the new one, so the entry is not used. "
            "Branches whose lines only moved keep theirs."
        ),
        example="if (text[i] == first)   // was: if (text[i] == first && i < last)",
        remedy="Make the profile anew: the finding gives the command.",
    ),
    Rule(
        id="PW019",
        name="profile-contradicted",
        severity=Severity.NOTE,
        told_by="counting",
        needs_profile=True,
        what="The profile says of a branch what the values of the analysed launch do not.",
        why=(
            "Where the values are assumed, the measured probability is used (of loops: not). Where thread "
            "indices and known sizes decide, the count of this launch is: the profile was measured with "
            "another one."
        ),
        example="if (i + length <= n && begins(text + i, word, length)) ++found;   // length assumed 1024",
        remedy="Give the sizes the profile was measured with (--set), or measure it with this launch.",
    ),
    Rule(
        id="PW020",
        name="over-budget",
        severity=Severity.ERROR,
        told_by="gate",
        what="The predicted power of a kernel is above the budget given to `wattslice gate`.",
        why="This is the finding the gate exists for: it makes the command exit with status 1.",
        example="wattslice gate --max-power 200 src/   # blur: 231 W",
        remedy=(
            "Look at the hottest lines (`wattslice analyze FILE`), lower the clocks (--core-mhz, --mem-mhz), "
            "or raise the budget on purpose."
        ),
    ),
    Rule(
        id="PW021",
        name="may-hit-power-limit",
        severity=Severity.WARNING,
        told_by="findings",
        what="Watts reach the power limit of the GPU, or do so in one case of six or more.",
        why=(
            "At the limit the GPU lowers its clocks: the kernel runs longer, watts stay at the limit. Where "
            "the predicted watts exceed it, the seconds are those at the clock that fits."
        ),
        example="gemm: 287 W (255-310 W) on a GPU limited to 300 W",
        remedy="Predict at a lower clock with --core-mhz, or measure the kernel on the GPU.",
    ),
    Rule(
        id="PW022",
        name="budget-unverifiable",
        severity=Severity.ERROR,
        told_by="gate",
        what="`wattslice gate` met a kernel or a file whose power is unknown, or was not to be had before.",
        why="Unknown is neither below the budget nor no worse. By default the gate then fails.",
        example="histogram: power unknown, launch cannot run on this GPU (PW014)",
        remedy="Settle the cause (the message names it), or let such kernels pass with --unknown warn.",
    ),
    Rule(
        id="PW023",
        name="power-regression",
        severity=Severity.ERROR,
        told_by="gate",
        what="A kernel draws significantly more than before: than its baseline, or than in another revision.",
        why=(
            "Two versions of one kernel share most of the error of a prediction, so their ratio can be "
            "trusted further than the watts themselves (docs/ci.md says how far). What is below the "
            "tolerance, or what the models cannot tell from no change, is not reported."
        ),
        example="wattslice gate --against main src/   # blur: energy +41 % (+12 to +78 %) against main",
        remedy=(
            "Look at the lines that the finding names. When the change is wanted, renew the baseline "
            "(--update-baseline), or say so above the kernel: // wattslice: ignore[PW023] reason."
        ),
    ),
    Rule(
        id="PW024",
        name="suppression-unused",
        severity=Severity.WARNING,
        told_by="findings",
        can_be_suppressed=False,
        what="A comment suppresses a rule that has nothing to say about the line that it covers.",
        why="It would hide the next finding there, which nobody has looked at.",
        example="float x = a[i];  // wattslice: ignore[PW016] small table",
        remedy="Remove the comment, or move it to the line (or the line above it) that the finding names.",
    ),
    Rule(
        id="PW025",
        name="suppression-ill-formed",
        severity=Severity.WARNING,
        told_by="findings",
        can_be_suppressed=False,
        what="A comment that means to suppress a finding names no rule, an unknown one, or gives no reason.",
        why="It suppresses nothing. The reason is for whoever reads the line next year.",
        example="// wattslice: ignore",
        remedy="Write // wattslice: ignore[PW016] and a reason; several rules are separated by commas.",
    ),
    Rule(
        id="PW026",
        name="budget-without-kernel",
        severity=Severity.WARNING,
        told_by="gate",
        what="A budget of the settings names a kernel or file that no analysed kernel matches.",
        why="A budget that holds for nothing protects nothing: a typing error, or a kernel since renamed.",
        example='[[gate.budget]]  kernel = "blurr*"  max-power = 200',
        remedy="Correct the pattern, or remove the budget. Patterns are those of a shell: *, ?, [abc], **.",
    ),
    Rule(
        id="PW027",
        name="kernels-changed",
        severity=Severity.NOTE,
        told_by="gate",
        what="A kernel is new, has vanished or was renamed since the baseline or the other revision.",
        why="There is nothing to compare it with; it does not fail the gate.",
        example="blur: new, not in watts.baseline",
        remedy="Renew the baseline: wattslice gate --update-baseline FILE PATH...",
    ),
    Rule(
        id="PW028",
        name="counts-sampled",
        severity=Severity.NOTE,
        told_by="counting",
        what="Which blocks run a part of the kernel could not be solved: some, at random, stand for all.",
        why=(
            "Guards that are linear in the thread's place (i < n, also after division by a constant, and of "
            "remainders) cut the grid into pieces whose counts are exact. A hash or a square of the index "
            "does not, nor do thousands of different pieces. The message gives the bound of the error."
        ),
        example="if (i * i % 7 < 3) y[i] = x[i];",
        remedy="None needed: figures are estimates within the bound. A small grid is counted as a whole.",
    ),
    Rule(
        id="PW029",
        name="kernel-not-whole",
        severity=Severity.NOTE,
        told_by="counting",
        what="Something in the kernel could not be followed: its counts lack what that does.",
        why=(
            "A goto, a case label inside a loop, a call that goes too deep or has no body, a line that could "
            "not be read: the diagnostic of that line (PW001, PW005, PW006) says which. What runs there is "
            "missing in the figures of the kernel, or runs once where it should run often."
        ),
        example="again: ...; if (++i < n) goto again;",
        remedy="Write it as a loop, or give the function that is called.",
    ),
    Rule(
        id="PW030",
        name="model-out-of-its-depth",
        severity=Severity.NOTE,
        told_by="pipeline",
        what=(
            "The model has something to say about its own answer: a feature or clock outside what it was "
            "fitted on, coefficients of another board, a limit it ran into, an effect it does not know."
        ),
        why="There the prediction extrapolates, and its interval promises less than elsewhere.",
        example="arithmetic density 2.7 outside the fitted range [7.1, 8200]",
        remedy="Choose another model with --model or clocks with --core-mhz, or take the figure as a trend.",
    ),
    Rule(
        id="PW031",
        name="no-model",
        severity=Severity.WARNING,
        told_by="power",
        explains_unknown=1,
        what="No model can tell the power of this kernel on this GPU; the power is unknown (null).",
        why="An unknown power is never printed as 0 or taken from another GPU behind your back.",
        example="wattslice analyze --gpu l4 --model regression a.cu   # no regression published for L4",
        remedy="Use --model auto, or a GPU that has the model: `wattslice gpus` shows which.",
    ),
    Rule(
        id="PW040",
        name="hot-line",
        severity=Severity.WARNING,
        check="launches.hot_line",
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
        severity=Severity.WARNING,
        check="memory.uncoalesced",
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
        severity=Severity.WARNING,
        check="memory.serialised",
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
        severity=Severity.WARNING,
        check="launches.idle_sms",
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
        severity=Severity.WARNING,
        check="launches.low_occupancy",
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
        severity=Severity.WARNING,
        check="arithmetic.doubles",
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
        severity=Severity.WARNING,
        check="arithmetic.doubles",
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
        severity=Severity.WARNING,
        check="arithmetic.replaceable",
        what="pow or powf with the constant exponent 2, 3 or 0.5.",
        why="nvcc calls the library for it: dozens of instructions where one or two do.",
        example="float d = powf(x - y, 2.0f);",
        remedy="Write x * x, x * x * x, or sqrtf(x).",
    ),
    Rule(
        id="PW048",
        name="float-division",
        severity=Severity.WARNING,
        check="arithmetic.replaceable",
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
        severity=Severity.WARNING,
        check="arithmetic.replaceable",
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
        severity=Severity.WARNING,
        check="launches.divergent_branches",
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
        severity=Severity.WARNING,
        check="memory.local_arrays",
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
        severity=Severity.WARNING,
        check="memory.contended_atomics",
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
        severity=Severity.WARNING,
        check="loop_memory.repeated_accesses",
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
        severity=Severity.WARNING,
        check="loop_memory.repeated_accesses",
        what="A loop loads the same place of global memory in each iteration, and stores to another array.",
        why="As far as the compiler knows the store may change what is loaded, so that it loads it again.",
        example="for (int j = 0; j < n; ++j) y[j * m + i] = x[j * m + i] * scale[i];   // no __restrict__",
        remedy="Load it into a local variable before the loop, or declare one of the pointers __restrict__.",
    ),
    Rule(
        id="PW055",
        name="scattered-constant",
        severity=Severity.WARNING,
        check="memory.serialised",
        what=(
            "The lanes of a warp read different words of constant memory. Thread indices and known values"
            " decide it."
        ),
        why="Constant memory hands out one word at a time to all lanes that want it: 32 words take 32 turns.",
        example="__constant__ float table[256];  x = table[threadIdx.x];",
        remedy="Keep a table that each lane reads elsewhere in shared or global memory.",
    ),
    Rule(
        id="PW060",
        name="ptx-not-followed",
        severity=Severity.WARNING,
        told_by="frontend",
        explains_unknown=9,
        what="A piece of a PTX file could not be read, or a function in it not be turned into statements.",
        why=(
            "A declaration or function that does not parse is left out, the others are analysed. Loops that "
            "are entered at several places (hand-written PTX, `goto` into a loop) have no counterpart in "
            "structured code: the kernel is listed, its power is unknown."
        ),
        example="@%p1 bra INSIDE;  LOOP: ...  INSIDE: ...  @%p2 bra LOOP;   // two ways into the loop",
        remedy="Regenerate the file with nvcc -ptx, or write the loop with one entry.",
    ),
    Rule(
        id="PW061",
        name="ptx-source-differs",
        severity=Severity.WARNING,
        told_by="frontend",
        what="The source that a PTX file names is newer than the PTX, or has not the same kernels.",
        why=(
            "Launches, arguments and names of parameters of a kernel from PTX are read in the source that "
            "-lineinfo noted. Where the source has changed since, they may be those of another program. "
            "Nothing is taken for a kernel that the source has not, or has with other parameters: its launch "
            "is assumed."
        ),
        example="'scale' has other parameters in scale.cu, nothing is taken from there: 3, here 2",
        remedy=(
            "Compile again. Where macros make the difference, pass the -D and -I that nvcc was given; or say "
            "--launch and --set."
        ),
    ),
    Rule(
        id="PW099",
        name="internal-error",
        severity=Severity.ERROR,
        told_by="pipeline",
        explains_unknown=5,
        can_be_suppressed=False,
        what=(
            "wattslice itself failed on this kernel or file, or the process that analysed it gave no result: "
            "it was killed for its memory, crashed, or ran where the files are not. The others are not "
            "affected."
        ),
        why=(
            "This is a defect of wattslice or of the workers, not of your code. No figures are printed "
            "rather than wrong ones."
        ),
        example="internal error while slicing kernel 'lud_diagonal'",
        remedy=(
            "Run the file alone with `wattslice --debug COMMAND` and report the traceback, if possible "
            "with the kernel. Of a process that died: use fewer --jobs, or look at the worker's log."
        ),
    ),
)


def checks() -> tuple[Check, ...]:
    """What finds advice, in the order of the table; one check may serve several rules."""
    return tuple(dict.fromkeys(check for rule in RULES if (check := rule.load_check()) is not None))


def advise(facts: LaunchFacts) -> tuple[Advice, ...]:
    """What every rule has to say about one launch, most joules first, what has none last."""
    if facts.work.workload is None:
        return ()
    found = [advice for check in checks() for advice in check(facts)]
    return tuple(sorted(found, key=lambda one: (-(one.energy_j or 0.0), one.line, one.rule)))


class UnknownRuleError(WattsliceError):
    """No rule of that id or name; the remedy names close matches."""

    def __init__(self, wanted: str) -> None:
        spellings = {rule.id.lower(): rule.id for rule in RULES} | {rule.name: rule.id for rule in RULES}
        found = difflib.get_close_matches(wanted.lower(), spellings, n=3, cutoff=0.55)
        close = tuple(dict.fromkeys(spellings[spelling] for spelling in found))
        remedy = f"did you mean {' or '.join(close)}?" if close else "`wattslice explain` lists all"
        super().__init__(f"no rule {wanted!r}", remedy=remedy)


def check_choices(choices: RuleChoices) -> None:
    """Raises `WattsliceError` for a pattern of `select`, `ignore` or `severity` that no rule has."""
    for option, chosen in (
        ("select", choices.select),
        ("ignore", choices.ignore),
        ("severity", choices.severities),
    ):
        for one in chosen:
            if not any(fnmatchcase(rule.id, one.rule) for rule in RULES):
                message = f"--{option}: no rule has an id like {one.rule}"
                raise WattsliceError(message, remedy="`wattslice explain` lists them")


def find_rule(wanted: str) -> Rule:
    """The rule of an id (``PW010``, in either case) or a name (``size-assumed``).

    Raises `UnknownRuleError` with close matches.
    """
    for rule in RULES:
        if wanted.strip().lower() in (rule.id.lower(), rule.name):
            return rule
    raise UnknownRuleError(wanted)
