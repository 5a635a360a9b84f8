"""wattslice: static power analysis of CUDA and C kernels."""
