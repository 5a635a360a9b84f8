"""Rooflines of a GPU in time, energy and power, and kernels on them."""
