"""Commands, their one line of help, exit statuses. `wattslice --help` reads it: it imports nothing."""

FINE, FINDINGS, FAILED = 0, 1, 2
"""Exit statuses: done; done, and something was found; could not do the job."""

COMMANDS = (
    ("analyze", "Predict watts per kernel, slice and line of CUDA and C sources."),
    ("annotate", "Show sources with the watts of every line in the margin, as text or HTML."),
    ("gate", "Exit with status 1 when a kernel's predicted power is over a budget."),
    ("profile", "Count which way branches go on test data, for analyze --profile."),
    ("measure", "Measure the power of kernels on the GPU of this machine."),
    ("train", "Fit the power models of a GPU to measurements, and choose among them."),
    ("evaluate", "Compare predicted with measured watts, beside what knows nothing."),
    ("roofline", "Show the time, energy and power rooflines of a GPU, with kernels on them."),
    ("project", "Project a workflow onto many nodes: time against energy, and the best choice."),
    ("lsp", "Serve an editor: watts at the lines (Language Server Protocol)."),
    ("gpus", "List the GPUs to predict for."),
    ("instructions", "Tell the energy per PTX instruction, and the shares of a kernel's."),
    ("cache", "Tell what analyses are kept for the next run, or remove them."),
    ("explain", "Explain a rule: what a finding means and what to do about it."),
)
"""Name and one line of help; the command `x` is the function `x` of `wattslice.commands.x`."""
