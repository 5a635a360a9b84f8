"""PW010-PW019: what the source text does not tell and had to be assumed, or could not be told at all."""

from __future__ import annotations

from wattslice.findings.rules.rule import Rule

ASSUMED_RULES = (
    Rule(
        id="PW010",
        name="size-assumed",
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
        what="Data decide this branch; the probability of its arms is a stated default, or by heuristics.",
        why="Both arms are weighted by it. In a branch-dense kernel the prediction rests on these weights.",
        example="if (text[i] == pattern[0]) matches += compare(text + i, pattern);",
        remedy="Give measured probabilities with --profile FILE (JSON: file, line, arm, probability).",
    ),
    Rule(
        id="PW013",
        name="trip-count-unknown",
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
        what="The launch asks for more than the GPU has: threads per block, shared memory or registers.",
        why="CUDA refuses such a launch, so there is no power to predict: it is reported as unknown.",
        example="work<<<64, 2048>>>(x);   // at most 1024 threads per block",
        remedy="Correct the launch, choose another GPU with --gpu, or override with --launch.",
    ),
    Rule(
        id="PW015",
        name="evaluation-budget-exceeded",
        what="Following the kernel's integer part for sampled blocks took more steps than its budget.",
        why=(
            "The analysis must not hang on long loops. One iteration then stands for each whole loop; a "
            "kernel too long even for that has no counts, so its power is unknown."
        ),
        example="for (long i = 0; i < 1000000000L; ++i) state = step(state);",
        remedy="Give smaller representative values with --set: watts hardly depend on how long a loop runs.",
    ),
    Rule(
        id="PW016",
        name="address-depends-on-data",
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
        what="The profile speaks of a line without a branch, or of a kernel that was not analysed.",
        why="The entry has no effect: a typing error, another file's profile, or a source that has changed.",
        example='{"file": "match.cu", "line": 400, "arm": "then", "probability": 0.03}',
        remedy="Correct file and line, or measure the profile again on the present source.",
    ),
    Rule(
        id="PW018",
        name="profile-outdated",
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
        what="The profile says of a branch what the values of the analysed launch do not.",
        why=(
            "Where the values are assumed, the measured probability is used (of loops: not). Where thread "
            "indices and known sizes decide, the count of this launch is: the profile was measured with "
            "another one."
        ),
        example="if (i + length <= n && begins(text + i, word, length)) ++found;   // length assumed 1024",
        remedy="Give the sizes the profile was measured with (--set), or measure it with this launch.",
    ),
)
