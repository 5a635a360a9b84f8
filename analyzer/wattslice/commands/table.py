"""Commands, their one line of help, exit statuses. `wattslice --help` reads it: it imports nothing."""

COMPLETE_VARIABLE = "_WATTSLICE_COMPLETE"
"""With it in the environment, wattslice completes words for a shell."""

FINE, FINDINGS, FAILED = 0, 1, 2
"""Exit statuses: done; done, and something was found; could not do the job."""

COMMANDS = (
    ("analyze", "analyze", "Predict watts per kernel, slice and line of CUDA and C sources."),
    ("annotate", "analyze", "Show sources with the watts of every line in the margin, as text or HTML."),
    ("watch", "watch", "Analyze again what changes, and tell the difference at once."),
    ("gate", "gate", "Exit with status 1 when a kernel's predicted power is over a budget."),
    ("profile", "profile", "Count which way branches go on test data, for analyze --profile."),
    ("measure", "measure", "Measure the power of kernels on the GPU of this machine."),
    ("train", "train", "Fit the power models of a GPU to measurements, and choose among them."),
    ("calibrate", "train", "Fit the energy model to your own board by a few readings of its watts."),
    ("evaluate", "train", "Compare predicted with measured watts, beside what knows nothing."),
    ("roofline", "roofline", "Show the time, energy and power rooflines of a GPU, with kernels on them."),
    ("sweep", "sweep", "Predict every variant of a kernel that macros span, and tell the best."),
    ("project", "project", "Project a workflow onto many nodes: time against energy, and the best choice."),
    ("lsp", "about", "Serve an editor: watts at the lines (Language Server Protocol)."),
    ("gpus", "about", "List the GPUs to predict for."),
    ("instructions", "instructions", "Tell the energy per PTX instruction, and the shares of a kernel's."),
    ("cache", "about", "Tell what analyses are kept for the next run, or remove them."),
    ("completion", "completion", "Print what completes these words in bash, zsh or fish."),
    ("explain", "about", "Explain a rule: what a finding means and what to do about it."),
)
"""Name, module of `wattslice.commands` whose function of that name it is, and one line of help."""
