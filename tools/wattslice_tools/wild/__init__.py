"""Checks against public code that nobody here wrote; README.md tells what each script is for."""
