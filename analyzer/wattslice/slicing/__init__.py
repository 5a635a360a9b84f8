"""Dependence graph of a kernel and its slices by memory space; `docs/slicing.md` tells the rules."""
