"""Watts of a launch: the model that answers, slices and lines, BSPM and BDPM, intervals."""
