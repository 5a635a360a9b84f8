"""Launch geometry: grid, block, shared memory and arguments of every kernel, read from the host code."""
