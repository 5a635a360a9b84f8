"""Measures the power of CUDA kernels on the GPU of this machine.

`nvml` reads the board, `builder` and `program` make a program repeat one of its launches, `sampling` reads
the sensors meanwhile, `plateau` and `power` make watts of the trace, `bench` puts these together for one
configuration, `campaign` for many.
"""
