"""PW020-PW039: what the predicted watts say, and when the models cannot say it."""

from __future__ import annotations

from wattslice.findings.rules.rule import Rule

POWER_RULES = (
    Rule(
        id="PW020",
        name="over-budget",
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
        what="The upper end of the predicted interval reaches the power limit of the GPU.",
        why=(
            "At the limit the GPU lowers its clocks: the kernel then runs longer than predicted, and watts "
            "stay at the limit."
        ),
        example="gemm: 287 W (255-310 W) on a GPU limited to 300 W",
        remedy="Predict at a lower clock with --core-mhz, or measure the kernel on the GPU.",
    ),
    Rule(
        id="PW022",
        name="budget-unverifiable",
        what="`wattslice gate` met a kernel or a file whose power is unknown, or was not to be had before.",
        why="Unknown is neither below the budget nor no worse. By default the gate then fails.",
        example="histogram: power unknown, launch cannot run on this GPU (PW014)",
        remedy="Settle the cause (the message names it), or let such kernels pass with --unknown warn.",
    ),
    Rule(
        id="PW023",
        name="power-regression",
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
        what="A comment suppresses a rule that has nothing to say about the line that it covers.",
        why="It would hide the next finding there, which nobody has looked at.",
        example="float x = a[i];  // wattslice: ignore[PW016] small table",
        remedy="Remove the comment, or move it to the line (or the line above it) that the finding names.",
    ),
    Rule(
        id="PW025",
        name="suppression-ill-formed",
        what="A comment that means to suppress a finding names no rule, an unknown one, or gives no reason.",
        why="It suppresses nothing. The reason is for whoever reads the line next year.",
        example="// wattslice: ignore",
        remedy="Write // wattslice: ignore[PW016] and a reason; several rules are separated by commas.",
    ),
    Rule(
        id="PW026",
        name="budget-without-kernel",
        what="A budget of the settings names a kernel or file that no analysed kernel matches.",
        why="A budget that holds for nothing protects nothing: a typing error, or a kernel since renamed.",
        example='[[gate.budget]]  kernel = "blurr*"  max-power = 200',
        remedy="Correct the pattern, or remove the budget. Patterns are those of a shell: *, ?, [abc], **.",
    ),
    Rule(
        id="PW027",
        name="kernels-changed",
        what="A kernel is new, has vanished or was renamed since the baseline or the other revision.",
        why="There is nothing to compare it with; it does not fail the gate.",
        example="blur: new, not in watts.baseline",
        remedy="Renew the baseline: wattslice gate --update-baseline FILE PATH...",
    ),
    Rule(
        id="PW030",
        name="model-out-of-its-depth",
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
        what="No model can tell the power of this kernel on this GPU; the power is unknown (null).",
        why="An unknown power is never printed as 0 or taken from another GPU behind your back.",
        example="wattslice analyze --gpu l4 --model regression a.cu   # no regression published for L4",
        remedy="Use --model auto, or a GPU that has the model: `wattslice gpus` shows which.",
    ),
)
