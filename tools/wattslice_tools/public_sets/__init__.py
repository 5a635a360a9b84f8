"""Makes the committed tables of public measurements: ``python -m wattslice_tools.public_sets --help``.

`measured` turns a public table of watts into the project's own, `dcgm` one of counters; `checkout` finds out
what a checkout of public sources holds and `features` analyses its kernels. `wattslice.training` trains on
these tables and judges by them.
"""
