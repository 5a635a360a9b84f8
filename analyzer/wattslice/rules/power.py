"""PW020-PW039: what the predicted watts say, and when the models cannot say it."""

from __future__ import annotations

from wattslice.rules.rule import Rule

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
        what="`wattslice gate` met a kernel or a file whose power is unknown.",
        why="Unknown is not below the budget. By default the gate fails rather than pass it unjudged.",
        example="histogram: power unknown, launch cannot run on this GPU (PW014)",
        remedy="Settle the cause (the message names it), or let such kernels pass with --unknown warn.",
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
