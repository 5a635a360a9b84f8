"""How often everything runs: the integer part of a kernel, evaluated for sampled blocks of threads."""
