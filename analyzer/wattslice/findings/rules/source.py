"""PW001-PW009, PW060, PW061: source text that could not be read as written; PW099: our own failures."""

from __future__ import annotations

from wattslice.findings.rules.rule import Rule

SOURCE_RULES = (
    Rule(
        id="PW001",
        name="parse-problem",
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
        what="A kernel calls a device function whose body is nowhere in the translation unit.",
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
        what="A kernel, or a file's kernels together, are larger or nest deeper than the analysis follows.",
        why=(
            "The analysis must answer within seconds whatever it is given. No power is told for such a "
            "kernel: a part of it would look like the whole. The bounds of a file are 60 000 operations "
            "(with what is inlined), 400 levels of statements and 1 000 kernels."
        ),
        example="a generated kernel with 20 000 statements in a row",
        remedy="Split the file, or write repeated statements as a loop: the counts stay the same.",
    ),
    Rule(
        id="PW060",
        name="ptx-not-followed",
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
        what="wattslice itself failed on this kernel or file, or the process that analysed it gave no "
        "result: it was killed for its memory, crashed, or ran where the files are not. The others are not "
        "affected.",
        why="This is a defect of wattslice or of the workers, not of your code. No figures are printed "
        "rather than wrong ones.",
        example="internal error while slicing kernel 'lud_diagonal'",
        remedy="Run the file alone with `wattslice --debug COMMAND` and report the traceback, if possible "
        "with the kernel. Of a process that died: use fewer --jobs, or look at the worker's log.",
    ),
)
