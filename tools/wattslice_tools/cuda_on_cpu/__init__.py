"""A stand-in for CUDA on a CPU: headers, a runtime and the little that the source needs rewriting."""
