"""wattslice: static power analysis of CUDA and C kernels."""

__version__ = "0.1.0"
