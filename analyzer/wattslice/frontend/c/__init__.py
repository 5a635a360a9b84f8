"""Plain C through pycparser: a small preprocessor, types, and lowering to the IR."""
