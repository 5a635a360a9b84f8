"""CUDA to the tree: parsed by libclang, lowered here."""
