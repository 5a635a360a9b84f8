"""From files to analyses: one launch, one file, many files, what is kept of them."""
