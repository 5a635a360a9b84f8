"""Executes kernels over the intermediate representation: in lock step, without a compiler or a GPU.

`interpret` runs a launch on a `DeviceMemory` and tells exactly how often each region of the kernel was
executed. What it does and what it does not: docs/profiles.md.
"""
