"""Variants of a kernel that differ in macros: which there are, what each is predicted to take."""
