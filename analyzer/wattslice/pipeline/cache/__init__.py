"""Analyses kept on the disk from one run to the next, each under a digest of all that it was made of.

`folder.py` is the place on the disk, `keeper.py` what stands there and whether it still holds.
Nothing here can make an analysis fail: what cannot be read is a miss, what cannot be written is left.
"""
