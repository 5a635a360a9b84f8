"""Our static counts beside hardware counters: ``python -m wattslice_tools.public_sets.counters --help``.

`nvprof` turns the public table of counters into the project's own, `quantities` says which of our figures
stands against which counter, `launches` analyses the counted launches in a checkout of their sources,
`geometry` what the host code alone tells of them, `causes` reads why we miss, and `document` writes the
comparison.
"""
