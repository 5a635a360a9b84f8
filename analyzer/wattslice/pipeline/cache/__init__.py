"""Analyses kept on the disk from one run to the next, each under a digest of all that it was made of.

`folder.py` is the place on the disk, `entry.py` one kept result, `run_key.py` what all files of a run share,
`current_inputs.py` the look whether the inputs are what they were, `keeper.py` puts these together.
Nothing here can make an analysis fail: what cannot be read is a miss, what cannot be written is left.
"""
