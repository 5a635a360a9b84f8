"""Test data for kernels: from a TOML file to arguments, arrays and globals of a launch.

`spec` reads the file, `arguments` makes what one data set says of a kernel's parameters and of the file's
`__constant__` and `__device__` objects, `arrays` and `generators` the contents, `skeleton` a file to start
from.
"""
